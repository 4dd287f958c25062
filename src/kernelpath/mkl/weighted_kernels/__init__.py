"""Kernels with one weight per part: what a fit term is asked of, and nothing else."""
