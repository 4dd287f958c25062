"""Tracing again inside every fold, tuning inside the training part, scoring on held-out rows."""

RULE_NAMES = ("best", "one_se", "budget", "tolerance", "stable", "fdr")
"""What picks the number of features; here, since the command line needs the names alone."""
