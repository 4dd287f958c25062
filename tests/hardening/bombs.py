"""Small files that declare or unpack to gigabytes: refused in words, in little memory."""

from __future__ import annotations

import bz2
import gzip
import lzma
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from hardening.forged import forged
from hardening.tally import Tally
from kernelpath.utils.archive import MODEL, PATH

MEMORY = 200 * 2**20  # that a refusal may take on top of what importing takes
REFUSED = "refused in words"

# In a process of its own, with a hard limit: an allocation beyond it fails.
CHILD = """
import io, json, resource, sys
import numpy, scipy.sparse, pandas, pyarrow, pyarrow.csv, pyarrow.parquet, pyarrow.ipc
import sklearn.datasets, kernelpath as kp
from kernelpath.tables.read import read_table
from kernelpath.estimators.model_file import load_model
from kernelpath.path.file import load_path
import kernelpath.tracers.lp_kta.trace
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + {memory}, used + {memory}))
for file in sys.argv[1:]:
    read = {{"kpath": load_path, "kpmodel": load_model}}.get(file.split(".")[-1])
    try:
        held = (read or (lambda file: read_table(file, label_first=True)))(file)
        said = f"read: {{held!r}}"
    except (kp.DataError, kp.PathFileError) as error:
        said = "several lines" if chr(10) in str(error) else "refused in words"
    except BaseException as error:
        said = f"{{type(error).__name__}}: {{error}}"
    print(" ".join(said.split())[:200], flush=True)
"""


def _npz(file: Path, arrays: dict[str, np.ndarray], declared: dict[str, tuple] | None = None,
         zeros: int = 0) -> None:  # fmt: skip
    """NPZ with some arrays, some that only declare a shape, and X of so many bytes of zeros."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as stream:
                np.lib.format.write_array(stream, array)
        for name, shape in (declared or {}).items():
            with archive.open(f"{name}.npy", "w") as stream:
                meta = {"descr": "<f8", "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(stream, meta)
                stream.write(bytes(800))
        if zeros:
            with archive.open("X.npy", "w", force_zip64=True) as stream:
                meta = {"descr": "<f8", "fortran_order": False, "shape": (zeros // 80, 10)}
                np.lib.format.write_array_header_1_0(stream, meta)
                for _ in range(zeros // 2**20):
                    stream.write(bytes(2**20))


def _packed(open_file: Callable, text: bytes, count: int) -> Callable[[Path], None]:
    def write(file: Path) -> None:
        with open_file(file, "wb") as stream:
            for _ in range(count):
                stream.write(text)

    return write


def _parquet(file: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({"y": pa.array(np.zeros(2_000_000, np.int8))})
    with parquet.ParquetWriter(file, table.schema) as writer:
        for _ in range(50):
            writer.write_table(table)


Y3, EMPTY = np.array([0, 1, 0]), np.zeros(0, np.int64)
SPARSE = {"data": np.ones(2), "indices": np.array([0, 1]), "indptr": np.array([0, 1, 2, 2])}
LINES = b"1 1:1 2:1\n0 1:2 2:3\n" * 5000


def _text(text: str) -> Callable[[Path], None]:
    return lambda file: file.write_text(text) and None


TABLES: dict[str, Callable[[Path], None]] = {
    "index.svm": _text("1 2000000000:2\n0 1:3\n"),
    "five million.svm": _text("1 5000000:2\n0 1:3\n"),
    "overflow.svm": _text("1 99999999999999999999:2\n0 1:3\n"),
    "wide.npz": lambda f: _npz(f, {"y": Y3, "shape": np.array([3, 2**40]), **SPARSE}),
    "long.npz": lambda f: _npz(f, {"shape": np.array([2**40, 3]), **SPARSE}),
    "columns.npz": lambda f: _npz(
        f, {"y": Y3, "shape": np.array([2**40, 3]), "format": np.array(b"csc"), "data": np.ones(2),
            "indices": np.array([0, 1]), "indptr": np.array([0, 1, 2, 2])}),
    "coordinates.npz": lambda f: _npz(
        f, {"shape": np.array([2**40, 3]), "format": np.array(b"coo"), "data": np.ones(2),
            "row": np.array([0, 1]), "col": np.array([0, 1])}),
    "negative.npz": lambda f: _npz(f, {"y": Y3, "shape": np.array([3, -5]), **SPARSE}),
    "72 TiB.npz": lambda f: _npz(f, {"y": Y3}, {"X": (3, 3 * 2**40)}),
    "labels.npz": lambda f: _npz(f, {"X": np.ones((3, 2))}, {"y": (2**42,)}),
    "inflated.npz": lambda f: _npz(f, {"y": np.zeros(4)}, zeros=2**30),
    "text.csv.gz": _packed(gzip.open, b"a,y\n" + b"0,0\n" * 25_000, 600),
    "text.csv.xz": _packed(lzma.open, b"a,y\n" + b"0,0\n" * 25_000, 600),
    "text.tsv.bz2": _packed(bz2.open, b"a\ty\n" + b"0\t0\n" * 25_000, 600),
    "rows.svm.gz": _packed(gzip.open, LINES, 600),
    "rows.svm.bz2": _packed(bz2.open, LINES, 600),
    "rows.parquet": _parquet,
}  # fmt: skip


def _archives(n: int) -> dict[str, Callable[[], bytes]]:
    """A path and a model whose arrays or counts are large; a consistent one of ``n`` points too."""
    from hardening.samples import model_bytes, path_bytes

    path, model = path_bytes(), model_bytes()
    zeros = np.zeros(2**24)  # 128 MB, in 130 kB
    found = {
        "kkt.kpath": partial(forged, PATH, path, arrays={"kkt": zeros}),
        "names.kpath": partial(forged, PATH, path, arrays={"names_text": zeros.view(np.uint8)}),
        "foreign.kpath": partial(forged, PATH, path, arrays={"bomb": zeros}),
        "mean.kpmodel": partial(forged, MODEL, model, arrays={"path": zeros.view(np.uint8)}),
    }

    def many_points(header: dict) -> None:
        header.update(n_points=n, extension=None)

    points = dict.fromkeys(("parameters", "values", "kkt", "gaps"), zeros[:n])
    points["weights_indptr"] = np.zeros(n + 1, np.int32)
    points |= {"weights_data": zeros[:0], "weights_steps": np.zeros(0, np.int32)}
    points |= {f"event_{name}": a for name, a in (
        ("kinds", np.zeros(0, np.uint8)), ("features", EMPTY), ("parameters", zeros[:0]),
        ("positions", EMPTY))}  # fmt: skip
    gone: dict = {f"extension.{name}": None for name in ("alignments", "usable", "reference")}
    gone |= {"names_text": None, "names_lengths": None}
    found["consistent.kpath"] = partial(forged, PATH, path, many_points, points | gone)

    def many_columns(header: dict) -> None:
        header.update(n_features=2**40, extension=None)

    found["columns.kpath"] = partial(forged, PATH, path, many_columns, gone)
    found["columns.kpmodel"] = partial(
        forged, MODEL, model, lambda h: h.update(n_features_in=2**40)
    )
    return found


def _outcomes(files: list[Path]) -> list[str]:
    """What reading each of the files leads to, under one limit for all of them."""
    command = [sys.executable, "-c", CHILD.format(memory=MEMORY), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    lines = done.stdout.splitlines()
    return lines + [f"ended: {done.stderr.strip()[-200:]}"] * (len(files) - len(lines))


def trials(long: bool, seed: int) -> list[Tally]:
    """All bombs, or a few of each kind."""
    tables = Tally("bombs: tables that declare or unpack to gigabytes", (REFUSED,))
    archives = Tally("bombs: .kpath and .kpmodel", (REFUSED,))
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder, "tables"), Path(folder, "archives")
        for place in (first, second):
            place.mkdir()
        for name in TABLES if long else ("index.svm", "wide.npz", "72 TiB.npz", "inflated.npz"):
            TABLES[name](first / name)
        # What the short one unpacks to is more than a refusal may take, too: 256 MB.
        forgeries = _archives(2**24 if long else 2**23)
        for name in forgeries if long else ("kkt.kpath", "consistent.kpath", "columns.kpmodel"):
            (second / name).write_bytes(forgeries[name]())
        for tally, place in ((tables, first), (archives, second)):
            files = sorted(place.iterdir())
            for file, outcome in zip(files, _outcomes(files)):
                tally.add(outcome, f"{file.name}, {file.stat().st_size} bytes")
    return [tables, archives]
