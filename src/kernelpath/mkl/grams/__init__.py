"""Kernel matrices of many rows, which are not held as numbers of double precision."""
