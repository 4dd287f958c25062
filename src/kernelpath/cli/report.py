"""``kernelpath report``: the page again, from the results of a run.

A summary is read back as strictly as it was written: form, version and every position in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from kernelpath.catalogue import label
from kernelpath.cli.console import friendly_errors, safe
from kernelpath.cli.manifest import (
    PAGE,
    RUN_FILES,
    Manifest,
    is_in,
    refuse_in_the_way,
    refuse_lone,
    refuse_mismatch,
)
from kernelpath.cli.options import OverwriteOption
from kernelpath.cli.run_files import KEYS, refuse_overwriting, write_page_again, write_page_alone
from kernelpath.cli.run_folder import finish_moves, reading
from kernelpath.errors import PathFileError
from kernelpath.utils.progress import begin, progress_bar

REWRITTEN = ("report.html", "run.json")
NEEDED = ("summary.json", "path.kpath", "model.kpmodel")  # what the page shows, and how to load it
POSITION_IN = "x-position-in"  # keyword of the schema: a number that names an entry of a list
REMEDY = "use another copy of the file, or run kernelpath path again"
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}

RunArgument = Annotated[
    Path,
    typer.Argument(
        metavar="RUN",
        readable=False,
        show_default=False,
        help="Run folder, or a summary.json, .kpath or .kpmodel file.",
    ),
]


def report_command(
    run: RunArgument,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            show_default=False,
            help="File to write. Default: report.html in the run folder, or beside the file.",
        ),
    ] = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Write the page of a run again.

    A run folder holds everything that the page shows. The page of a single .kpath or .kpmodel
    file is without the views of the data, which such a file does not hold.

    Example: `kernelpath report run/ --out page.html`
    """
    with friendly_errors():
        others = [run / name for name in RUN_FILES if name != PAGE]
        refuse_overwriting([out], [run, *others])
        place = out or (run / PAGE if run.is_dir() else run.with_suffix(".html"))
        if run.is_dir():
            finish_moves(run)
        # The page of a run folder is one of its files: run.json has its hash, and gets a new one.
        again = place.name == PAGE and is_in(place, run) and Manifest.of(run).has_hashes
        if again:
            refuse_in_the_way(run, REWRITTEN, overwrite)
        else:
            refuse_lone(place, PAGE, overwrite)
        with progress_bar(patience=0):
            begin(f"reading {run.name}")
            with reading(run):
                summary, details = _read(run)
            begin("writing")
            if again:
                write_page_again(run, overwrite, summary, **details)
            else:
                write_page_alone(place, overwrite, summary, **details)
        typer.echo(f"Wrote {safe(place, 400)}")


def _read(run: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Summary, and details of the page."""
    if run.is_dir():
        if not (run / "summary.json").exists():
            if Manifest.of(run).content:
                raise PathFileError(
                    f"{run}: summary.json is missing; run kernelpath path again with --overwrite"
                )
            raise PathFileError(
                f"{run}: holds no summary.json, so it is not a run folder; name one that "
                "kernelpath path --out wrote"
            )
        summary = read_summary(run / "summary.json")
        refuse_mismatch(run, NEEDED)
        files = [name for name in _recorded(run).get("files", []) if _is_file_in(run, name)]
        details = {"title": _title(run), "command": _recorded(run).get("command")}
        details["files"] = {KEYS.get(name, name): name for name in files}
        details["method"] = label(summary["method"])
        return summary, details
    if not run.exists():
        raise PathFileError(f"{run}: no such file or folder: check the name")
    if run.suffix == ".kpath":
        from kernelpath.path.feature_path import load_path
        from kernelpath.report.summary import summarize_path

        return _beside(run, "path", summarize_path(load_path(run)))
    if run.suffix == ".kpmodel":
        from kernelpath.estimators.model_file import load_model
        from kernelpath.report.summary import summarize_cv

        return _beside(run, "model", summarize_cv(load_model(run)))
    summary = read_summary(run)
    return summary, {"title": run.stem, "method": label(summary["method"])}


def _beside(run: Path, key: str, summary: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    details = {"title": run.stem, "files": {key: run.name}, "method": label(summary["method"])}
    return summary, details


def _is_file_in(run: Path, name: Any) -> bool:
    return isinstance(name, str) and Path(name).name == name and (run / name).is_file()


def _recorded(run: Path) -> dict[str, Any]:
    """What run.json says, if it is there; the page can do without."""
    if not (run / "run.json").exists():
        return {}
    content = read_json(run / "run.json")
    if not isinstance(content, dict) or not isinstance(content.get("files", []), list | dict):
        return {}
    return content if isinstance(content.get("command"), str | None) else {}


def _title(run: Path) -> str:
    data = _recorded(run).get("data")
    if isinstance(data, dict) and data.get("file"):
        return f"{data['file']}: {data['target']}" if data.get("target") else str(data["file"])
    return run.resolve().name


# -- reading a summary -----------------------------------------------------------------------------


def read_summary(file: Path) -> dict[str, Any]:
    """Read a summary, refusing what is damaged, of another kind or of a newer version.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "summary.json")
    ...     _ = file.write_text("[1, 2")
    ...     try:
    ...         read_summary(file)
    ...     except PathFileError as error:
    ...         print("cannot be read" in str(error))
    True
    """
    from kernelpath.report.form import FORMAT, VERSION, schema

    summary = read_json(file)
    if not isinstance(summary, dict) or summary.get("format") != FORMAT:
        raise PathFileError(
            f"{file}: is not a summary of kernelpath: name a run folder or its file"
        )
    version = summary.get("version")
    if isinstance(version, int) and version > VERSION:
        raise PathFileError(
            f"{file}: is a summary of version {version}, but only versions up to {VERSION} are "
            "known here: use a newer kernelpath"
        )
    for problem in problems(summary, schema(), len(_listed(summary))):
        raise PathFileError(f"{file}: damaged or altered ({problem}): {REMEDY}")
    return summary


def read_json(file: Path) -> Any:
    """Read a JSON file, with one sentence for whatever is wrong with it."""

    def refuse(word: str) -> None:
        raise ValueError(f"{word} is not JSON")

    try:
        return json.loads(file.read_text(encoding="utf-8"), parse_constant=refuse)
    except FileNotFoundError:
        raise PathFileError(f"{file}: no such file: check the name and the folder") from None
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError too
        text = str(error) or type(error).__name__
        raise PathFileError(f"{file}: cannot be read ({text[:120]}): {REMEDY}") from None


def _listed(summary: dict[str, Any]) -> list[Any]:
    features = summary.get("features")
    return features if isinstance(features, list) else []


def problems(value: Any, rule: dict[str, Any], n_listed: int, place: str = "") -> Iterator[str]:
    """Yield what is wrong with a value under a JSON Schema of the kind that summaries have.

    Examples
    --------
    >>> list(problems({"a": -1}, {"properties": {"a": {"type": "integer", "minimum": 0}}}, 0))
    ['a is below 0']
    """
    name = place or "the whole"
    options = rule.get("anyOf") or rule.get("oneOf")
    if options is not None:
        found = [list(problems(value, option, n_listed, place)) for option in options]
        if all(found):
            yield min(found, key=len)[0]
        return
    yield from _word_problems(value, rule, name)
    if not _is_type(value, rule.get("type")):
        yield f"{name} is not {_type_words(rule['type'])}"
        return
    yield from _number_problems(value, rule, n_listed, name)
    if isinstance(value, dict):
        yield from _object_problems(value, rule, n_listed, place)
    elif isinstance(value, list) and "items" in rule:
        for i, item in enumerate(value):
            yield from problems(item, rule["items"], n_listed, f"{place}[{i}]")


def _word_problems(value: Any, rule: dict[str, Any], name: str) -> Iterator[str]:
    if "const" in rule and value != rule["const"]:
        yield f"{name} is not {rule['const']!r}"
    if "enum" in rule and value not in rule["enum"]:
        yield f"{name} is none of {rule['enum']}"


def _number_problems(value: Any, rule: dict[str, Any], n_listed: int, name: str) -> Iterator[str]:
    if isinstance(value, int | float) and value < rule.get("minimum", value):
        yield f"{name} is below {rule['minimum']}"
    if rule.get(POSITION_IN) == "features" and value >= n_listed:
        yield f"{name} names no feature"


def _object_problems(
    value: dict[str, Any], rule: dict[str, Any], n_listed: int, place: str
) -> Iterator[str]:
    known, others = rule.get("properties", {}), rule.get("additionalProperties", True)
    for key in rule.get("required", ()):
        if key not in value:
            yield f"{_below(place, key)} is missing"
    for key, item in value.items():
        if key in known:
            yield from problems(item, known[key], n_listed, _below(place, key))
        elif others is False:
            yield f"{_below(place, key[:40])} is unknown"
        elif isinstance(others, dict):
            yield from problems(item, others, n_listed, _below(place, key[:40]))


def _below(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key


def _is_type(value: Any, wanted: str | list[str] | None) -> bool:
    if wanted is None:
        return True
    names = [wanted] if isinstance(wanted, str) else wanted
    kinds = tuple(kind for name in names for kind in _TYPES[name])
    if isinstance(value, bool):
        return bool in kinds
    return isinstance(value, kinds)


def _type_words(wanted: str | list[str]) -> str:
    return " or ".join([wanted] if isinstance(wanted, str) else wanted)
