"""The shape of the package: who may import whom, what importing costs, what is documented."""

from __future__ import annotations

import ast
import doctest
import functools
import importlib
import inspect
import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import kernelpath as kp

SOURCE = Path(kp.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
MAX_LINES = 400  # of code: docstrings, comments, imports and blank lines are free

# Each may import what stands before it, and itself.  A new one has to be given its place.
ORDER = (
    "_version", "errors", "utils", "tables", "datasets", "kernels", "alignment", "path", "mkl",
    "tracers", "path_kernels", "predictors", "evaluation", "report", "estimators", "baselines",
    "inference", "catalogue", "comparison", "cli", "__main__",
)  # fmt: skip
# Upward by design, imported when called: plotting is a convenience of the path; and methods that
# PathCV is given by name are made by the catalogue, which knows all of them and stands above them.
LAZY_EXCEPTIONS = {
    ("path", "report"),
    ("alignment", "report"),
    ("mkl", "report"),
    ("estimators", "report"),
    ("estimators", "catalogue"),
}


def _module_name(file):
    parts = file.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _layer(module):
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def _is_type_checking(node):
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def _imports(tree):
    """Yield (node, lazy) of all imports that happen at run time."""
    queue = [(node, False) for node in tree.body]
    while queue:
        node, lazy = queue.pop()
        if _is_type_checking(node):
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, lazy
        inside = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        queue += [(child, inside) for child in ast.iter_child_nodes(node)]


def _own_imports(tree):
    """Yield (imported layer, lazy) for imports of the package itself."""
    for node, lazy in _imports(tree):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif node.module == "kernelpath":  # from kernelpath import path_file
            modules = [f"kernelpath.{alias.name}" for alias in node.names]
        else:
            modules = [node.module or ""]
        for module in modules:
            if module.split(".")[0] == "kernelpath":
                yield _layer(module), lazy


@functools.cache
def _trees():
    return [(file, ast.parse(file.read_text(encoding="utf-8"))) for file in FILES]


# -- imports --------------------------------------------------------------------------------------


def test_every_module_has_its_place():
    layers = {_layer(_module_name(file)) for file in FILES} - {"__init__"}
    assert layers == set(ORDER)
    loose = [file.stem for file in SOURCE.glob("*.py") if not file.stem.startswith("__")]
    assert len(loose) <= 10


def test_imports_point_downwards():
    wrong = []
    for file, tree in _trees():
        layer = _layer(_module_name(file))
        if layer == "__init__":
            continue
        for imported, lazy in _own_imports(tree):
            if lazy and (layer, imported) in LAZY_EXCEPTIONS:
                continue
            if ORDER.index(imported) > ORDER.index(layer):
                wrong.append(f"{_module_name(file)} imports {imported}")
    assert not wrong


def test_the_package_itself_imports_nothing_but_its_version():
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    eager = {layer for layer, lazy in _own_imports(tree) if not lazy}
    assert eager <= {"_version"}


def test_no_relative_imports():
    wrong = [
        f"{file.name}:{node.lineno}"
        for file, tree in _trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level > 0
    ]
    assert not wrong


def test_no_pickle_and_no_eval():
    """Files of strangers are read: nothing in the package may execute what it reads."""
    wrong = []
    for file, tree in _trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names] + [getattr(node, "module", "") or ""]
                if {"pickle", "marshal", "shelve", "dill"} & {name.split(".")[0] for name in names}:
                    wrong.append(f"{file.name}:{node.lineno}")
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("eval", "exec"):
                wrong.append(f"{file.name}:{node.lineno}")
    assert not wrong


FRESH = """
import json, sys, time
import kernelpath
spent = time.process_time()
loaded = [m for m in {heavy} if m in sys.modules]
own = sorted(m for m in sys.modules if m.startswith("kernelpath."))
print(json.dumps([spent, loaded, own]))
"""


def test_importing_is_cheap():
    heavy = ["numba", "sklearn", "pandas", "matplotlib", "pyarrow", "polars", "scipy", "numpy"]
    code = FRESH.format(heavy=heavy)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    spent, loaded, own = json.loads(done.stdout)
    assert spent < 1.5
    assert loaded == []
    assert own == ["kernelpath._version"]
    assert done.stderr == ""


def test_importing_the_command_line_is_cheap():
    """``kernelpath --help`` should not wait for numba and scikit-learn."""
    heavy = ("numba", "sklearn", "pandas")
    code = f"import sys, kernelpath.cli.main; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


# -- files ----------------------------------------------------------------------------------------


def _lines_of_code(tree):
    """Count the lines on which anything but imports and docstrings stands."""
    lines = set()
    free = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) or _is_docstring(node):
            free |= set(range(node.lineno, node.end_lineno + 1))
        elif isinstance(node, ast.expr | ast.stmt | ast.arg | ast.excepthandler):
            lines |= {node.lineno, node.end_lineno}
    return len(lines - free)


def _is_docstring(node):
    return isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_files_are_short_and_say_what_they_are(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), "no module docstring"
    assert _lines_of_code(tree) <= MAX_LINES


# -- documentation --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", kp.__all__)
def test_public_names_resolve_and_are_documented(name):
    value = getattr(kp, name)
    assert name in dir(kp)
    if inspect.isclass(value) or inspect.isfunction(value) or inspect.ismodule(value):
        assert inspect.getdoc(value)


MAIN = {
    "alignments": lambda: kp.alignments,
    "LpKTASelector": lambda: kp.LpKTASelector,
    "FeaturePath": lambda: kp.FeaturePath,
    "load_path": lambda: kp.load_path,
    "PathCV": lambda: kp.PathCV,
    "PathScores": lambda: kp.PathScores,
    "OperatingPoint": lambda: kp.OperatingPoint,
    "Stability": lambda: kp.Stability,
    "StabilityPath": lambda: kp.StabilityPath,
    "knockoff_filter": lambda: kp.knockoff_filter,
    "WeightedKernelSVM": lambda: kp.WeightedKernelSVM,
    "JointRBFSVM": lambda: kp.JointRBFSVM,
    "combined_kernels": lambda: kp.combined_kernels,
    "load_model": lambda: kp.load_model,
    "compare": lambda: kp.compare,
    "Comparison": lambda: kp.Comparison,
    "methods": lambda: kp.methods,
    "make_wide": lambda: kp.datasets.make_wide,
}


@pytest.mark.parametrize("name", MAIN)
def test_main_names_have_examples_and_sections(name):
    value = MAIN[name]()
    doc = inspect.getdoc(value)
    assert "Examples\n--------" in doc
    assert ">>>" in doc
    arguments = [p for p in inspect.signature(value).parameters if not p.startswith("_")]
    missing = [argument for argument in arguments if argument not in doc]
    assert not missing


def test_public_methods_are_documented():
    for cls in (
        kp.LpKTASelector,
        kp.FeaturePath,
        kp.PathPoint,
        kp.PathCV,
        kp.PathScores,
        kp.StabilityPath,
        kp.Comparison,
    ):
        for name, member in vars(cls).items():
            if not name.startswith("_") and (
                inspect.isfunction(member) or isinstance(member, property)
            ):
                assert inspect.getdoc(member), f"{cls.__name__}.{name}"


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'alignment_s'"):
        _ = kp.alignment_s


def _modules():
    found = [kp.__name__]
    found += [info.name for info in pkgutil.walk_packages(kp.__path__, "kernelpath.")]
    return [name for name in found if not name.endswith("__main__")]


@pytest.mark.parametrize("name", _modules())
def test_examples_of_the_documentation_work(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    modules = [importlib.import_module(name) for name in _modules()]
    count = sum(len(test.examples) for module in modules for test in finder.find(module))
    assert count > 40
