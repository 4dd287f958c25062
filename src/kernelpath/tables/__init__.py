"""What users bring: tables, targets, weights, new rows, and the files they are in."""
