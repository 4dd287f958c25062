"""What in a folder is ours: the files that its run.json lists, as long as they are unchanged.

A name proves nothing: a user may have a report.html too.  Files that were changed since, those of
a run without hashes (version 1 of run.json) and strangers are in the way of a new run, which is
refused before its work begins.  With ``--overwrite`` those that are recognisably of our kind give
way; strangers never do, and nor do symbolic links.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import zipfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelpath.cli.console import safe
from kernelpath.errors import DataError, PathFileError

FORMAT, VERSION = "kernelpath-run", 2
RECORD = "run.json"
RUN_FILES = (
    "path.kpath", "path.csv", "selected.csv", "scores.csv", "model.kpmodel", "summary.json",
    "report.html", "path.png", "accuracy.png", RECORD,
)  # fmt: skip
COMPARISON_FILES = (
    "comparison.csv", "comparison.json", "comparison.html", "comparison.png", RECORD,
)  # fmt: skip
TEST_FILES = ("test.csv", "test.json", "volcano.png", "qq.png", RECORD)
MODEL = "model.kpmodel"
KNOWN = frozenset(RUN_FILES + COMPARISON_FILES + TEST_FILES)
PAGE, PREDICTIONS = "report.html", "predictions.csv"  # stand for the kinds of lone files
_LARGEST_RECORD = 50_000_000
_SEAL = "sha256"
Description = dict[str, Any]  # {"sha256": ..., "bytes": ...}


def describe(file: Path) -> Description | None:
    """Hash and size of a file; None if it is no regular file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "a")
    ...     _ = file.write_bytes(b"alpha")
    ...     describe(file)["bytes"], describe(file)["sha256"][:8], describe(Path(folder))
    (5, '8ed3f6ad', None)
    """
    if not _is_regular(file):
        return None
    with open(file, "rb") as handle:
        digest = hashlib.file_digest(handle, "sha256").hexdigest()
        return {"sha256": digest, "bytes": handle.tell()}


def sealed(content: dict[str, Any]) -> dict[str, Any]:
    """Content of run.json with a hash of itself, so that an edit is seen.

    Examples
    --------
    >>> list(sealed({"format": "kernelpath-run"}))
    ['format', 'sha256']
    """
    rest = {key: value for key, value in content.items() if key != _SEAL}
    text = json.dumps(rest, sort_keys=True, ensure_ascii=True)
    return rest | {_SEAL: hashlib.sha256(text.encode()).hexdigest()}


@dataclass(frozen=True)
class Manifest:
    """What run.json says about the files beside it."""

    folder: Path
    content: dict[str, Any]  # of run.json; empty without one of ours
    files: dict[str, Description | None]  # None: without a hash

    @classmethod
    def of(cls, folder: Path) -> Manifest:
        """Read run.json; one that is not ours counts as none."""
        content = _json(folder / RECORD)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            return cls(folder, {}, {})
        listed = content.get("files")
        entries = listed if isinstance(listed, dict) else {}
        if isinstance(listed, list):  # version 1
            entries = dict.fromkeys((name for name in listed if isinstance(name, str)), None)
        # A record of a stranger could list any file of the machine.
        return cls(folder, content, {name: entries[name] for name in entries if name in KNOWN})

    @property
    def has_hashes(self) -> bool:
        """Whether it can be told which files are unchanged."""
        return isinstance(self.content.get("files"), dict)

    def vouches(self, name: str) -> bool:
        """Whether a file is there just as the run wrote it."""
        if name == RECORD:
            whole = self.content == sealed(self.content) if self.has_hashes else False
            return whole and _is_regular(self.folder / RECORD)
        known = self.files.get(name)
        return known is not None and describe(self.folder / name) == known

    def recognises(self, name: str) -> bool:
        """Whether a file is of our kind, though perhaps changed."""
        file = self.folder / name
        if name.endswith(".png") and name in self.files and not self.has_hashes:
            return _is_regular(file) and _picture(file, b"Matplotlib")  # version 1 did not sign
        return is_our_kind(file, name)


# -- in the way ------------------------------------------------------------------------------------


def in_the_way(folder: Path, names: Sequence[str], overwrite: bool = False) -> list[str]:
    """Names that a run may not replace or remove.

    Parameters
    ----------
    folder : Path
    names : sequence of str
        Files that are to be replaced, or removed if an earlier run left them.
    overwrite : bool
        Whether files that are recognisably of our kind may be replaced.
    """
    manifest = Manifest.of(folder)
    return [
        name
        for name in names
        if os.path.lexists(folder / name)
        and not manifest.vouches(name)
        and not (overwrite and manifest.recognises(name))
    ]


def refuse_in_the_way(folder: Path, names: Sequence[str], overwrite: bool = False) -> None:
    """Refuse to touch a file that no run wrote, or that was changed since."""
    blocking = in_the_way(folder, names, overwrite)
    if not blocking:
        return
    blocking.sort(key=lambda name: name != RECORD)  # without a record, all others seem strange
    one = len(blocking) == 1
    it, verb = ("it", "is") if one else ("them", "are")
    if not overwrite and all(map(Manifest.of(folder).recognises, blocking)):
        remedy = f"replace {it} with --overwrite"
    else:
        remedy = f"move {it} away"
    known = Manifest.of(folder)
    reason = "not written by a run into this folder or changed since"
    if known.content and not known.has_hashes and set(blocking) <= {RECORD, *known.files}:
        reason = f"written by an earlier kernelpath, which kept no hashes of {it}"
    raise DataError(
        f"{folder}: {some(blocking)} {verb} in the way, {reason}; name another place with --out, "
        f"or {remedy}"
    )


def refuse_other_command(folder: Path, names: Sequence[str]) -> None:
    """Refuse a folder with the results of another command, whose record would be lost."""
    other = [name for name in Manifest.of(folder).files if name not in names]
    if other:
        raise DataError(
            f"{folder}: holds the results of another command ({some(other)}); name another folder "
            "with --out"
        )


def refuse_removing(directory: Path | None, name: str, reason: str) -> None:
    """Refuse to take away a file of an earlier run that the new one does not make again."""
    if directory is not None and (directory / name).exists():
        raise DataError(
            f"{directory}: holds the {name} of an earlier run, which {reason} would remove; name "
            "another folder, or remove that file first"
        )


def refuse_lone(file: Path | None, kind: str, overwrite: bool) -> None:
    """Refuse a single file that is there already, unless it is of our kind and may give way."""
    if file is None or not os.path.lexists(file):
        return
    if file.is_symlink():
        raise DataError(f"{file}: is a symbolic link, which is not written through; name the file")
    if file.is_dir():
        raise DataError(f"{file}: cannot be written: is a directory; name a file")
    if not is_our_kind(file, kind):
        raise DataError(
            f"{file}: is there already, and not written by kernelpath; name another file, or move "
            "it away"
        )
    if not overwrite:
        raise DataError(
            f"{file}: is there already; name another file, or replace it with --overwrite"
        )


def is_in(file: Path, folder: Path) -> bool:
    """Whether a file lies right in a folder, however the two are named."""
    return file.parent.resolve() == folder.resolve()


def some(names: Sequence[str], limit: int = 4) -> str:
    """A few names in a sentence.

    Examples
    --------
    >>> some(["a", "b"]), some(["a", "b", "c", "d", "e", "f"])
    ('a and b', 'a, b, c, d and 2 more')
    """
    if len(names) > limit:
        return f"{', '.join(names[:limit])} and {len(names) - limit} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


# -- reading ---------------------------------------------------------------------------------------


def refuse_mismatch(run: Path, names: Iterable[str]) -> None:
    """Refuse a run folder in which one of these files is not that of its run.json.

    A folder without run.json, or with one of version 1, has nothing to compare with; a file that
    is not there is the business of its reader.
    """
    manifest = Manifest.of(run)
    if not manifest.has_hashes:
        return
    for name in names:
        if os.path.lexists(run / name) and not manifest.vouches(name):
            raise PathFileError(
                f"{run}: {name} is not the file that {RECORD} lists, so the folder is altered or "
                f"mixed from two runs: run kernelpath path again with --overwrite, or name the "
                f"file itself, "
                f"{safe(run / name, 400)}"
            )


# -- kinds -----------------------------------------------------------------------------------------


def is_our_kind(file: Path, name: str) -> bool:
    r"""Whether a file is recognisably what we write under a name, by its content.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "scores.csv")
    ...     _ = file.write_text("pupil,mark\n")
    ...     strange = is_our_kind(file, file.name)
    ...     _ = file.write_text("method,n_features,mean,se,fold_0\n")
    ...     strange, is_our_kind(file, file.name)
    (False, True)
    """
    if not _is_regular(file):
        return False
    with suppress(OSError, ValueError, zipfile.BadZipFile):
        return _KINDS[name](file)
    return False


def _archive(member: str) -> Callable[[Path], bool]:
    def check(file: Path) -> bool:
        with zipfile.ZipFile(file) as archive:
            return member in archive.namelist()

    return check


def _table(header: str) -> Callable[[Path], bool]:
    def check(file: Path) -> bool:
        with open(file, encoding="utf-8") as handle:
            return re.fullmatch(header, handle.readline(1_000_000).rstrip("\n")) is not None

    return check


def _format(name: str) -> Callable[[Path], bool]:
    def check(file: Path) -> bool:
        content = _json(file)
        return isinstance(content, dict) and content.get("format") == name

    return check


def _page(file: Path) -> bool:
    with open(file, "rb") as handle:
        return b'<meta name="generator" content="kernelpath">' in handle.read(10_000)


def _picture(file: Path, software: bytes = b"kernelpath") -> bool:
    with open(file, "rb") as handle:
        start = handle.read(1000)
    return start.startswith(b"\x89PNG\r\n") and b"Software\0" + software in start


_KINDS: dict[str, Callable[[Path], bool]] = {
    "path.kpath": _archive("path.json"),
    "model.kpmodel": _archive("model.json"),
    # The second column of path.csv has the name of the path's parameter.
    "path.csv": _table(r"position,[^,]*,n_selected,value,kkt,gap,top_features"),
    "selected.csv": _table(
        r"rank,name,weight,((p_value|q_value|alignment|share_of_folds|cost),)*column"
    ),
    "scores.csv": _table(r"method,n_features,mean,se(,fold_\d+)+"),
    "comparison.csv": _table(r"method,n_features,mean,se(,fold_\d+)+"),
    "test.csv": _table(r"rank,name,alignment,z,p_value,log10_p,q_value,width,discovery,column"),
    PREDICTIONS: _table(r'prediction(,"?probability of .*)?'),
    "summary.json": _format("kernelpath-summary"),
    "comparison.json": _format("kernelpath-comparison"),
    "test.json": _format("kernelpath-test"),
    RECORD: _format(FORMAT),
    PAGE: _page,
    "comparison.html": _page,
    "path.png": _picture,
    "accuracy.png": _picture,
    "comparison.png": _picture,
    "volcano.png": _picture,
    "qq.png": _picture,
}


def _is_regular(file: Path) -> bool:
    try:
        return stat.S_ISREG(os.lstat(file).st_mode)
    except OSError:
        return False


def _json(file: Path) -> Any:
    """Content of a JSON file, None if it is anything else."""
    with suppress(OSError, ValueError, RecursionError):
        if _is_regular(file) and file.stat().st_size <= _LARGEST_RECORD:
            return json.loads(file.read_text(encoding="utf-8"))
    return None
