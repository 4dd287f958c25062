"""Tracers: from a family of problems to a path."""
