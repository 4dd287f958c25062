"""Fit terms: how well a kernel explains the target, as a maximum over dual coefficients."""
