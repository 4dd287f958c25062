"""What the tests of the page share: summaries to draw, and a browser to draw them in."""

from __future__ import annotations

import copy
import shutil
import warnings
from contextlib import contextmanager
from functools import cache

import numpy as np
import pandas as pd
from scipy import sparse

import kernelpath as kp
from kernelpath.errors import ReadingWarning
from kernelpath.report.html import save_html
from kernelpath.report.summary import summarize_cv, summarize_path
from kernelpath.report.words import headline
from path_examples import make_path
from report.display_examples import turning_path

ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-quic",
)  # fmt: skip

HOSTILE = (
    "<script>document.title = 'hacked'</script>",
    "</script><img src=x onerror=\"alert('hacked')\">",
    '" onmouseover="alert(1)" x=\'',
    "=HYPERLINK(1)",
    "+cmd",
    "-2 + 3",
    "@sum",
    "\ttabbed",
    "\rreturned",
    "two\nlines, with a \"quote\" and a 'quote'",
    "שלום עולם \u202e txet desrever",
    "🧬 gene \u2028 separator",
    "x" * 300,
    "{{ 7 * 7 }} ${7 * 7} \\u003c &lt;b&gt;",
    "   ",
    "half a pair \ud83e",
    "\x1b[31mred\x07",
)


@cache
def _scored():
    data = kp.datasets.make_wide(n_samples=120, n_features=60, random_state=0)
    sizes = [1, 2, 3, 5, 8, 12, 20, 40, 60]
    published = kp.LpKTASelector(statistic="alignment", bandwidth="std")  # chooses several
    model = kp.PathCV(
        published, cv=3, predictor="joint_rbf", n_features=sizes, baselines=("f_test",)
    )
    return summarize_cv(model.fit(data.X, data.y))


def scored():
    """Summary with scores, of a small binary problem."""
    return copy.deepcopy(_scored())


@cache
def _traced():
    data = kp.datasets.make_wide(n_samples=120, n_features=300, random_state=0)
    return summarize_path(kp.LpKTASelector().fit(data.X, data.y).path_, data.X, data.y)


def traced():
    """Summary without scores, of a path with more than fifty features."""
    return copy.deepcopy(_traced())


@cache
def _mixed(task):
    rng = np.random.default_rng(0)
    n = 120
    table = pd.DataFrame({f"gene_{i}": rng.normal(size=n) for i in range(6)})
    table["region"] = rng.choice(["north", "south", "<b>east</b>"], n)
    table["copy"] = table["gene_1"]
    level = np.sin(2 * table["gene_0"]) + table["gene_1"] ** 2 + 1.5 * (table["region"] == "north")
    classes = np.array(["low", "mid", "high"])[np.digitize(level, [0.3, 1.6])]
    y = level if task == "regression" else classes
    path = kp.LpKTASelector(kernel="auto").fit(table, y).path_
    return summarize_path(path, table, y)


def mixed(task):
    """Summary of a table with a text column and a copy; three classes or a number to predict."""
    return copy.deepcopy(_mixed(task))


@cache
def _people():
    rng = np.random.default_rng(0)
    n = 160
    table = pd.DataFrame(
        {
            "sex": rng.choice(["women", "men", "not stated"], n, p=[0.5, 0.4, 0.1]),
            "boarded": pd.Timestamp("1912-04-01") + pd.to_timedelta(rng.integers(0, 10, n), "D"),
            "alone": rng.random(n) < 0.5,
            "fare": np.exp(rng.normal(3, 1, n)),
            "a rather long name of a column, in Euro": rng.normal(size=n),
        }
    )
    table.loc[rng.random(n) < 0.1, "sex"] = None
    y = np.where((table["sex"] == "women") | (table["fare"] > 60), "yes", "no")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReadingWarning)
        path = kp.LpKTASelector(kernel="auto").fit(table, y).path_
        return summarize_path(path, table, y)


def people():
    """Summary of a table of text, dates, booleans and missing values."""
    return copy.deepcopy(_people())


def hostile():
    """Summary whose features, classes and categories have names that want to do harm."""
    summary = scored()
    listed = summary["sizes"][-1]["features"]
    for place, name in zip(listed, HOSTILE):
        summary["features"][place]["name"] = name
    summary["data"]["target"]["classes"][0]["label"] = HOSTILE[0]
    for view in summary["views"]:
        view["classes"] = [HOSTILE[1] for _ in view["classes"]]
    summary["baselines"][0]["name"] = HOSTILE[1]
    summary["redundancy"]["similarity"][1][0] = 0.9  # alike enough for a map
    summary["notices"] = [{"kind": "constant", "text": HOSTILE[0]}]
    summary["settings"] |= {HOSTILE[2]: HOSTILE[1]}
    return summary


def wandering():
    """Summary whose sizes are not nested."""
    summary = traced()
    summary["entries"]["nested"] = False
    for i, row in enumerate(summary["entries"]["rows"]):
        row["present"][i % len(row["present"])] = 0
    return summary


def without_scores_of_some():
    """Summary with scores of which some are unknown."""
    summary = scored()
    for size in summary["sizes"][::2]:
        size.update(score=None, se=None, frequency=[None] * len(size["features"]))
    summary["baselines"][0]["score"][0] = None
    summary["cv"]["chance"] = None
    summary["stability"]["index"][0] = None
    return summary


def one_point():
    """Summary of a path with one point and one feature."""
    return summarize_path(make_path(np.array([[0.0, 1.0]]), events=()))


def no_feature():
    """Summary of a path that selects nothing."""
    return summarize_path(make_path(np.zeros((2, 3)), events=()))


@cache
def _faint(n_features):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, n_features))
    y = (X[:, :2].sum(axis=1) + rng.normal(size=120) > 0).astype(int)
    return summarize_cv(kp.PathCV(cv=3, predictor="joint_rbf").fit(X, y))


def faint(n_features=9):
    """Summary with scores whose weak features leave before the end; one has a weight only once."""
    summary = copy.deepcopy(_faint(n_features))
    row = [0.01] + [0.0] * (len(summary["points"]["parameter"]) - 1)
    summary["weights"]["others"].append({"feature": 0, "weights": row})
    return summary


@cache
def _ranked():
    data = kp.datasets.make_ring(n_samples=80, n_features=6, random_state=0)
    path = kp.LpKTASelector(norm_strength=1e9).fit(data.X, data.y).path_
    return summarize_path(path, data.X, data.y)


def ranked():
    """Summary of a path that selects nothing, though it can rank the features."""
    return copy.deepcopy(_ranked())


def beaten():
    """Summary with scores, in which another ranking does better, above the chosen size."""
    summary = scored()
    summary["baselines"][0]["score"][2:4] = [0.74, 0.77]
    return summary | {"headline": headline(summary)}


def bare():
    """The least that a summary can hold."""
    summary = one_point()
    summary.update(
        sizes=[], features=[], notices=[], settings={}, versions={}, estimator=None,
        entries={"nested": True, "sizes": [], "rows": []},
        weights={"named": [], "others": [], "n_hidden": 0},
        points={name: [] for name in ("parameter", "n_selected", "value", "kkt", "gap")},
    )  # fmt: skip
    return summary


@cache
def _wide():
    n, n_points = 100_000, 101
    sizes = np.geomspace(n, 60, n_points).astype(int)
    level = 1.0 / np.arange(1, n + 1) ** 0.3
    rows = [np.arange(k) for k in sizes]
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    values = np.concatenate([level[row] * (1 + 0.01 * i) for i, row in enumerate(rows)])
    weights = sparse.csr_array((values, np.concatenate(rows), indptr), shape=(n_points, n))
    names = [f"a rather long name of feature number {i}" for i in range(n)]
    path = make_path(weights, weights > 0, feature_names=names, events=())
    return summarize_path(path) | {key: traced()[key] for key in ("views", "redundancy", "data")}


def wide():
    """Summary of a path of 100,000 features."""
    return copy.deepcopy(_wide())


CASES = {
    "scored": scored,
    "traced": traced,
    "regression": lambda: mixed("regression"),
    "classes": lambda: mixed("classification"),
    "hostile": hostile,
    "wandering": wandering,
    "unknown": without_scores_of_some,
    "one point": one_point,
    "no feature": no_feature,
    "bare": bare,
    "faint": faint,
    "one feature": lambda: faint(1),
    "ranked": ranked,
    "beaten": beaten,
    "people": people,
    "turning": lambda: turning_path().summary(),
}


@contextmanager
def chromium():
    """A headless browser; raises LookupError with the reason if there is none."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise LookupError("playwright is not installed") from None
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        raise LookupError("chromium is not installed")
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


class Page:
    """A page opened from a file, with all that it asks for and complains about."""

    def __init__(self, context, file):
        self.page = context.new_page()
        self.requests, self.complaints, self.dialogs = [], [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", self._dismiss)
        self.page.goto(file.as_uri())

    def _hear(self, message):
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _dismiss(self, dialog):
        self.dialogs.append(dialog.message)
        dialog.dismiss()


def unfold(page):
    """Open all that is folded."""
    page.eval_on_selector_all("details", "all => all.forEach((one) => { one.open = true; })")
    page.wait_for_function(
        "[...document.querySelectorAll('.chart')].every((one) => one.querySelector('svg'))"
    )


@contextmanager
def opened(browser, folder, summary, page=None, **options):
    """The page of a summary, in a fresh context; the options are those of the context.

    ``page`` are arguments of `save_html`.
    """
    file = folder / "report.html"
    save_html(summary, file, **(page or {}))
    context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
    try:
        yield Page(context, file)
    finally:
        context.close()
