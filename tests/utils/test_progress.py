"""Progress bars: where they appear, what they say, and that they stay away elsewhere."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
import time

import pandas as pd
import pytest
from rich.console import Console

import kernelpath as kp
from kernelpath.utils import progress


@pytest.fixture
def screen(monkeypatch):
    """A terminal that is a text."""
    shown = io.StringIO()
    terminal = Console(file=shown, force_terminal=True, width=90)
    monkeypatch.setattr("rich.console.Console", lambda **options: terminal)
    return shown


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is set."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_hostile_names_on_a_terminal(screen):
    with progress.progress_bar(patience=0):
        progress.begin("reading [/red]\x1b[2J.csv")
        progress.begin("alignments")(3, 7)
    assert "[/red]" in screen.getvalue()
    assert "\x1b[2J" not in screen.getvalue()
    assert "alignments: 3 of 7" in screen.getvalue()


def test_short_work_shows_nothing(screen, clock):
    with progress.progress_bar():
        update = progress.begin("work")
        clock[0] += 1.9
        update(1, 2)
        assert screen.getvalue() == ""
        clock[0] += 0.2
        update(1, 2)
    assert "work: 1 of 2" in screen.getvalue()


def test_work_without_counts_appears_by_itself(screen):
    with progress.progress_bar(patience=0.05):
        progress.begin("work")
        deadline = time.monotonic() + 20
        while "work" not in screen.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert "work" in screen.getvalue()


def test_a_bar_does_not_come_back(screen):
    with progress.progress_bar(patience=0.05):
        progress.begin("work")
        bar = progress._active.get()
    bar._clock.join(20)
    bar._picture()
    assert screen.getvalue() == ""


def test_a_clock_rings_for_a_bar_without_a_step(screen):
    with progress.progress_bar(patience=0.01):
        progress._active.get()._clock.join(20)
        assert screen.getvalue() == ""
        progress.begin("work")
        assert "work" in screen.getvalue()


def test_as_a_decorator(monkeypatch):
    seen = _steps(monkeypatch)

    @progress.working("work")
    def double(x: int) -> int:
        return 2 * x

    assert (double(2), double(3)) == (4, 6)
    assert seen == {"work": ()}
    assert progress._active.get() is None
    with progress.progress_bar():
        progress.begin("outside")
        with progress.working("inside"):
            progress.begin("a step inside")
    assert list(seen) == ["work", "outside"]


def test_time_left_does_not_count_what_an_earlier_run_did(screen, clock):
    with progress.progress_bar(patience=0):
        update = progress.begin("folds")
        update(50, 100)
        clock[0] += 10
        update(60, 100)  # ten in ten seconds, forty to go
        assert "folds: 60 of 100, 40 s left" in _last(screen)


def _last(screen):
    progress._active.get()._screen.refresh()
    return screen.getvalue()


def test_the_outermost_bar_is_shown(screen):
    with progress.progress_bar(patience=0):
        progress.begin("outside")
        with progress.progress_bar(patience=0):
            progress.begin("inside")(1, 2)
        with progress.no_progress():
            progress.begin("hidden")(1, 2)
    assert "inside: 1 of 2" in screen.getvalue()
    assert "hidden" not in screen.getvalue()


def test_a_small_beginning_promises_nothing(screen, clock):
    with progress.progress_bar(patience=0):
        update = progress.begin("folds")
        update(10, 1000)
        clock[0] += 60
        update(11, 1000)
        assert "folds: 11 of 1,000" in _last(screen)
        assert "left" not in _last(screen)
        update(60, 1000)
        assert "left" in _last(screen)


def test_a_step_that_was_left_counts_no_more(screen):
    with progress.progress_bar(patience=0):
        early = progress.begin("early")
        progress.begin("late")
        early(1, 2)
        assert "early: 1 of 2" not in _last(screen)


@pytest.mark.parametrize("off", ["function", "thread"])
def test_off(screen, off):
    def work():
        with progress.progress_bar(patience=0):
            progress.begin("work")(1, 2)

    if off == "thread":
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    else:
        kp.show_progress(False)
        try:
            work()
        finally:
            kp.show_progress(True)
    assert screen.getvalue() == ""


def _steps(monkeypatch):
    """All steps with their last counts, as a bar sees them."""
    seen: dict[str, tuple] = {}

    class Watching(progress.Silent):
        def begin(self, stage, amount=""):
            seen.setdefault(stage, ())
            return lambda done, total: seen.update({stage: (done, total)})

    monkeypatch.setattr(progress, "_new_bar", lambda *settings: Watching())
    return seen


def test_steps_of_a_selector(monkeypatch):
    data = kp.datasets.make_ring(n_samples=60, n_features=7, random_state=0)
    seen = _steps(monkeypatch)
    kp.LpKTASelector(norm_strength="noise").fit(data.X, data.y)
    assert seen == {"alignments": (7, 7), "permutations": (5, 5), "path": (100, 101)}
    seen.clear()
    kp.LpKTASelector(solver="predictor_corrector").fit(data.X, data.y)
    assert seen == {"alignments": (7, 7), "path": (100, 101)}
    seen.clear()
    kp.alignments(data.X, data.y)
    assert seen == {"alignments": (7, 7)}


STEPS = ["cross-validation", "fitting on all rows", "outer loop"]


def test_steps_of_a_cross_validation(monkeypatch, tmp_path):
    data = kp.datasets.make_ring(n_samples=60, n_features=5, random_state=0)
    seen = _steps(monkeypatch)
    model = kp.PathCV(cv=2, inner_cv=2, n_features=[1, 2], predictor="joint_rbf", nested=True)
    model.fit(data.X, data.y)
    assert list(seen) == ["alignments", "path", *STEPS]
    assert seen["cross-validation"] == (model.plan_.total, model.plan_.total)
    assert seen["outer loop"] == (2, 2)
    seen.clear()
    pytest.importorskip("matplotlib")
    model.plot(baselines=("f_test",))
    assert seen["f_test"][0] == seen["f_test"][1] > 0
    seen.clear()
    kp.PathCV(cv=2, n_features=[1], predictor="joint_rbf", verbose=1, references=False).fit(
        data.X, data.y
    )
    assert "cross-validation" not in seen  # lines are written instead
    seen.clear()
    model.predict(data.X)
    assert seen == {"predictions": (60, 60)}
    seen.clear()
    kp.save_html(model.summary(), tmp_path / "page.html")
    kp.report_figures(model.summary())
    model.save(tmp_path / "a.kpmodel")
    kp.load_model(tmp_path / "a.kpmodel")
    assert set(seen) >= {"summary", "page", "pictures", "writing", "reading"}


def test_steps_of_gmkl(monkeypatch):
    data = kp.datasets.make_ring(n_samples=60, n_features=4, random_state=0)
    seen = _steps(monkeypatch)
    model = kp.GMKLClassifier(strengths=3).fit(data.X, data.y)
    assert seen == {"reading": (), "kernels": (), "path": (3, 3)}
    seen.clear()
    kp.GMKLClassifier().fit(data.X, data.y)
    assert list(seen) == ["reading", "kernels", "weights"]
    seen.clear()
    model.predict(data.X)
    assert list(seen) == ["predictions"]


def test_steps_of_combined_kernels(monkeypatch):
    data = kp.datasets.make_ring(n_samples=60, n_features=7, random_state=0)
    path = kp.LpKTASelector().fit(data.X, data.y).path_
    seen = _steps(monkeypatch)
    points = kp.combined_kernels(path, data.X, positions=[0, 1, 2], memory_limit="1 MB")
    next(points)
    assert progress._active.get() is None  # between the points the caller works
    list(points)
    assert {"kernels of the columns", "combined kernels"} <= set(seen)
    done, total = seen["combined kernels"]
    assert 0 < done <= total == 3


def test_steps_of_predictions_on_the_command_line(monkeypatch, tmp_path):
    from typer.testing import CliRunner

    from kernelpath.cli.main import app

    data = kp.datasets.make_ring(n_samples=60, n_features=5, random_state=0)
    model = kp.PathCV(
        cv=2, n_features=[2], predictor="joint_rbf", probability=True, references=False
    )
    frame = pd.DataFrame(data.X, columns=[f"x{j}" for j in range(5)])
    model.fit(frame, data.y).save(tmp_path / "a.kpmodel")
    frame.to_csv(tmp_path / "new.csv", index=False)
    seen = _steps(monkeypatch)
    monkeypatch.setattr("kernelpath.cli.predict.MOST_CELLS", 5 * 25)  # blocks of 25 rows
    given = ["predict", str(tmp_path / "a.kpmodel"), str(tmp_path / "new.csv"), "--proba"]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 0, result.output
    assert list(seen) == ["reading a.kpmodel", "reading new.csv", "predictions", "writing"]
    assert seen["predictions"] == (60, 60)
    seen.clear()
    result = CliRunner().invoke(app, ["report", str(tmp_path / "a.kpmodel")])
    assert result.exit_code == 0, result.output
    assert list(seen) == ["reading a.kpmodel", "writing"]


SCRIPT = """
import sys, numpy as np, kernelpath as kp
rng = np.random.default_rng(0)
kp.alignments(rng.normal(size=(50, 40)), rng.integers(0, 2, 50))
from kernelpath.utils import progress
progress.PATIENCE = 0
with progress.progress_bar(patience=0):
    progress.begin("work")(1, 2)
"""


def test_nothing_off_a_terminal():
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, timeout=120)
    assert (run.returncode, run.stdout, run.stderr) == (0, b"", b"")


# -- notebooks ------------------------------------------------------------------------------------

CELL = """
import time, numpy as np, kernelpath as kp
from kernelpath.utils import progress
with progress.progress_bar(patience=0):
    update = progress.begin("folds <b>")
    update(1, 4)
    time.sleep(0.3)
    update(2, 4)
"""
QUIET = """
with progress.progress_bar(patience=0.1):
    progress.begin("no counts")
    time.sleep(1.0)
"""
CARD = """
data = kp.datasets.make_ring(n_samples=60, n_features=5, random_state=0)
kp.LpKTASelector().fit(data.X, data.y)
"""


def test_in_a_real_notebook(tmp_path):
    pytest.importorskip("ipykernel", reason="needs a notebook kernel: pip install ipykernel")
    nbclient = pytest.importorskip("nbclient", reason="needs nbclient: pip install nbclient")
    import nbformat

    book = nbformat.v4.new_notebook()
    book.cells = [nbformat.v4.new_code_cell(cell) for cell in (CELL, QUIET, CARD)]
    drawn = []

    class Client(nbclient.NotebookClient):
        def process_message(self, msg, cell, cell_index):
            if msg["msg_type"] in ("display_data", "update_display_data"):
                drawn.append(msg["content"]["data"].get("text/html", ""))
            return super().process_message(msg, cell, cell_index)

    Client(
        book, timeout=120, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    assert drawn[0].endswith("folds &lt;b&gt;")
    assert any("2 of 4, " in html and "s left" in html for html in drawn)
    assert any(html.endswith("no counts") for html in drawn)
    assert drawn[-1] == ""  # gone when the work is done
    outputs = book.cells[2].outputs
    assert any(
        "from 5 to 4 of 5 features" in out.get("data", {}).get("text/html", "") for out in outputs
    )


# -- lines in a log --------------------------------------------------------------------------------


@pytest.fixture
def log(monkeypatch, clock):
    """A standard error that is a file; nobody looks at it but the steps themselves."""
    written, lines = io.StringIO(), progress.LogLines
    monkeypatch.setattr(progress, "LogLines", lambda stream: lines(written))
    monkeypatch.setattr(progress, "TICK", 3600.0)
    return written


def test_a_log_has_the_amount_of_work_then_a_line_now_and_then(log, clock):
    with progress.progress_bar(patience=0, log=True):
        update = progress.begin("cross-validation", "5 folds, 1,000 models")
        update(0, 1000)
        assert log.getvalue() == ""
        for done in range(1, 1001):
            clock[0] += 0.0625
            update(done, 1000)
    lines = log.getvalue().splitlines()
    assert lines[0] == "kernelpath: 5 folds, 1,000 models"
    assert lines[1] == "kernelpath: cross-validation: 80 of 1,000 (8 %), 58 s left"
    assert lines[2].startswith("kernelpath: cross-validation: 18")
    assert len(lines) == 11  # no line for the last step: the result says it


def test_slow_work_has_a_line_every_half_minute(log, clock):
    with progress.progress_bar(patience=0, log=True):
        update = progress.begin("cross-validation")
        for done in range(1, 61):
            clock[0] += 10
            update(done, 1_000_000)
    assert len(log.getvalue().splitlines()) == 20


def test_steps_that_are_soon_done_leave_no_line(log, clock):
    with progress.progress_bar(patience=0, log=True):
        for stage in ("reading", "alignments", "writing"):
            update = progress.begin(stage, "much")
            clock[0] += 4.9
            update(1, 2)
    assert log.getvalue() == ""


def test_work_without_counts_is_named_in_a_log(log, clock, monkeypatch):
    monkeypatch.setattr(progress, "TICK", 0.01)
    with progress.progress_bar(patience=0, log=True):
        progress.begin("reading big\x1b[2J.csv")
        clock[0] += 6
        patient = threading.Event()
        for _ in range(2000):
            if log.getvalue() or patient.wait(0.01):
                break
    assert log.getvalue() == "kernelpath: reading big\N{REPLACEMENT CHARACTER}[2J.csv\n"


def test_a_log_that_nobody_reads_is_no_reason_to_stop(monkeypatch, log, clock):
    log.close()
    with progress.progress_bar(patience=0, log=True):
        update = progress.begin("work")
        clock[0] += 6
        update(1, 2)


def test_no_lines_where_they_were_not_asked_for(log, clock):
    for quiet in (progress.no_progress(), progress.progress_bar(patience=0)):
        with quiet:
            update = progress.begin("work")
            clock[0] += 60
            update(1, 2)
            progress.aside("compiling")
    with progress.no_progress(), progress.progress_bar(log=True):
        progress.aside("compiling")
    assert log.getvalue() == ""


def test_what_happens_meanwhile_is_said_once_in_a_log(log, clock):
    with progress.progress_bar(patience=0, log=True):
        update = progress.begin("alignments")
        for done in range(3):
            with progress.no_progress():  # of single steps
                progress.aside("compiling, once")
            clock[0] += 40
            update(done, 100)
            progress.aside("")
    lines = log.getvalue().splitlines()
    assert lines.count("kernelpath: compiling, once") == 1
    assert lines[0] == "kernelpath: compiling, once"


def test_what_happens_meanwhile_stands_beside_the_step_on_a_terminal(screen):
    with progress.progress_bar(patience=0):
        update = progress.begin("alignments")
        progress.aside("compiling, once")
        assert "alignments: compiling, once" in screen.getvalue()
        update(3, 7)
        bar = progress._active.get()
        assert bar._words() == "alignments: 3 of 7, compiling, once"
        progress.aside("")
        assert bar._words() == "alignments: 3 of 7"
