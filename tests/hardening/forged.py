"""Files of the package with changed parts, and all checksums and the seal computed again."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

from kernelpath.utils import archive
from kernelpath.utils.archive import ArchiveKind


def members(content: bytes, kind: ArchiveKind) -> tuple[bytes, dict[str, np.ndarray]]:
    """Text of the header and arrays of a file."""
    with zipfile.ZipFile(io.BytesIO(content)) as outer:
        text, npz = outer.read(kind.header_name), outer.read("arrays.npz")
    with np.load(io.BytesIO(npz)) as stored:
        return text, dict(stored)


def forged(
    kind: ArchiveKind,
    content: bytes,
    change: Callable[[dict[str, Any]], Any] = lambda header: None,
    arrays: dict[str, np.ndarray | None] | None = None,
) -> bytes:
    """Change header and arrays as one who knows the format would; None takes an array out."""
    text, stored = members(content, kind)
    header = json.loads(text)
    stored = {n: a for n, a in (stored | (arrays or {})).items() if a is not None}
    npz = io.BytesIO()
    own = {"arrays": archive._write_npz(stored, npz)}
    digest = hashlib.sha256(npz.getvalue()).hexdigest()
    own["arrays_npz"] = {"bytes": len(npz.getvalue()), "sha256": digest}
    change(header)
    text = json.dumps(header | own).encode()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as outer:
        outer.writestr("arrays.npz", npz.getvalue())
        outer.writestr(kind.header_name, text)
        outer.writestr("SHA256", hashlib.sha256(text).hexdigest())
        outer.comment = b"0" * 64
    archive._seal(file)
    return file.getvalue()
