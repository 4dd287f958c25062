"""What users bring: tables, targets, weights, new rows, and the files they are in."""

MISSING = ("kernel", "impute", "drop", "error")
IDENTIFIERS = ("drop", "keep")
"""What becomes of missing values, and of columns that name rows; here, for the command line."""
