"""Solvers of single problems."""
