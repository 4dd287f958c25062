"""Centred, trace-normalised kernel-target alignment of every feature of a table."""

from kernelpath.alignment.api import align_table, alignments

__all__ = ["align_table", "alignments"]
