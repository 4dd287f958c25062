"""The kinds of files that the package writes, and the words that messages use for them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ArchiveKind:
    """What tells one kind of file from another, and the words that messages use for it."""

    format: str  # its name, in the header
    version: int  # that is written; older ones are read, newer ones refused
    header_name: str  # member that holds the header; no two kinds share it
    noun: str  # what is saved, as in "is not a saved path"
    writer: str  # what the user calls to write such a file
    reader: str  # and to read it
    remedy: str  # what to do about a damaged file


PATH = ArchiveKind(
    format="kernelpath-path",
    version=1,
    header_name="path.json",
    noun="path",
    writer="FeaturePath.save",
    reader="kernelpath.load_path",
    remedy="use another copy of the file, or trace the path again",
)
MODEL = ArchiveKind(
    format="kernelpath-model",
    version=2,
    header_name="model.json",
    noun="model",
    writer="PathCV.save",
    reader="kernelpath.load_model",
    remedy="use another copy of the file, or fit the model again",
)

FOLD = ArchiveKind(
    format="kernelpath-fold",
    version=2,
    header_name="fold.json",
    noun="fold",
    writer="PathCV(memory=...)",
    reader="PathCV(memory=...)",
    remedy="delete it; the fold will be computed again",
)

#: All kinds: here, so that every reader can name the right one for a file of another kind.
KINDS = (PATH, MODEL, FOLD)
