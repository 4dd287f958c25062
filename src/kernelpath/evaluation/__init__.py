"""Tracing again inside every fold, tuning inside the training part, scoring on held-out rows."""
