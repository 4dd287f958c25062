"""An interrupted run keeps what is finished, and goes on from there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_selection import f_classif
from sklearn.naive_bayes import GaussianNB

from evaluation.helpers import (
    LOG,
    STOP,
    Spy,
    SpyNB,
    fits,
    numbered,
    path_cv,
    ring,
    same_scores,
    traces,
)

X, Y = numbered()
SIZES = [1, 2, 4]


@pytest.fixture(autouse=True)
def _empty_log():
    LOG.clear()
    yield
    LOG.clear()


def _interrupt(model, *data, **params):
    with pytest.raises(KeyboardInterrupt) as caught:
        model.fit(*data, **params)
    return " ".join(caught.value.__notes__)


def _whole(**options):
    model = path_cv(Spy(), predictor=SpyNB(), cv=3, n_features=SIZES, **options).fit(X, Y)
    count = fits(), traces()
    LOG.clear()
    return model, count


class Stop:
    """A scorer that stops at one of its calls; hashes alike whatever it has counted."""

    calls = 0
    stop_at = None

    def __call__(self, estimator, X, y):
        Stop.calls += 1
        if Stop.stop_at is not None and Stop.calls >= Stop.stop_at:
            raise KeyboardInterrupt
        return float(np.mean(estimator.predict(X) == y))


def test_number_of_fits_is_what_was_asked_for():
    model, (n_fits, n_traces) = _whole()
    assert n_fits == 3 * len(SIZES) + 1  # and the final model
    assert n_traces == 3 + 1
    assert model.plan_.n_fits == 3 * len(SIZES)
    assert model.plan_.n_tuning_fits == 0
    assert model.plan_.n_traces == n_traces - 1


def test_finished_folds_are_kept():
    model = path_cv(Spy(), predictor=GaussianNB(), cv=3, n_features=SIZES, scoring=Stop())
    Stop.calls, Stop.stop_at = 0, None
    model.fit(X, Y)
    whole = model.scores_
    Stop.calls = 0
    # one check before the work, then per fold: chance and three sizes
    Stop.stop_at = 1 + 4 + 3
    note = _interrupt(model, X, Y)
    Stop.stop_at = None
    assert "1 of 3 folds are finished" in note
    assert "fit again" in note
    assert model.scores_.finished.tolist() == [True, False, False]
    np.testing.assert_array_equal(model.scores_.per_fold[0], whole.per_fold[0])
    assert np.isnan(model.scores_.per_fold[1:]).all()
    for name in ("operating_point_", "model_", "stability_"):
        assert not hasattr(model, name)
    Stop.calls = 0
    same_scores(model.fit(X, Y).scores_, whole)
    assert Stop.calls < 1 + 3 * 4  # fold 0 and the first size of fold 1 were not scored again


@pytest.mark.parametrize("stop_at", [1, 2, 5, 8, 9, 10])
def test_predictor_interrupted_at_any_fit(stop_at, monkeypatch):
    whole, (n_fits, _) = _whole()
    assert n_fits == 10
    model = path_cv(Spy(), predictor=SpyNB(), cv=3, n_features=SIZES)
    # From outside: a parameter that stops, or other code, would make it another predictor.
    monkeypatch.setitem(STOP, "fit", lambda: fits() + 1 >= stop_at)
    note = _interrupt(model, X, Y)
    monkeypatch.delitem(STOP, "fit")
    done = stop_at - 1
    assert f"{min(done // 3, 3)} of 3 folds" in note
    assert hasattr(model, "scores_") == (done >= 3)
    assert fits() == done
    model.fit(X, Y)
    assert fits() == n_fits  # both runs together: nothing was fitted twice
    same_scores(model.scores_, whole.scores_)
    assert model.operating_point_ == whole.operating_point_
    np.testing.assert_array_equal(model.predict(X), whole.predict(X))
    LOG.clear()
    model.fit(X, Y)
    assert fits() == n_fits  # a finished run is not remembered


def test_selector_interrupted(monkeypatch):
    whole, (n_fits, _) = _whole()
    model = path_cv(Spy(), predictor=SpyNB(), cv=3, n_features=SIZES)
    monkeypatch.setitem(STOP, "trace", lambda: traces() + 1 == 4)
    assert "2 of 3 folds" in _interrupt(model, X, Y)
    monkeypatch.delitem(STOP, "trace")
    assert fits() == 6
    LOG.clear()
    same_scores(model.fit(X, Y).scores_, whole.scores_)
    assert (fits(), traces()) == (n_fits - 6, 1)  # that of all rows is known, too


def test_nested_loop_interrupted(monkeypatch):
    """What was finished is not computed again: folds, the final model, folds of the outer loop."""
    model = path_cv(Spy(), predictor=SpyNB(), cv=3, n_features=SIZES, nested=True)
    monkeypatch.setitem(STOP, "fit", lambda: fits() + 1 > 15)
    assert "3 of 3 folds" in _interrupt(model, X, Y)
    assert model.scores_.finished.all()
    monkeypatch.delitem(STOP, "fit")
    assert fits() == 15
    model.fit(X, Y)
    assert fits() == 10 + 3 * 10
    whole = path_cv(Spy(), predictor=SpyNB(), cv=3, n_features=SIZES, nested=True).fit(X, Y)
    assert model.nested_score_ == whole.nested_score_


def test_edited_code_of_the_user_is_other_work(tmp_path, monkeypatch):
    class Ranking(Spy):
        def fit(self, X, y):
            return super().fit(X, y)

    def run():
        LOG.clear()
        model = path_cv(Ranking(), predictor=SpyNB(), cv=3, n_features=SIZES, memory=tmp_path)
        model.fit(X, Y)
        return fits()

    assert (run(), run()) == (10, 1)

    def edited(self, X, y):
        Spy.fit(self, X, -y)
        return self

    monkeypatch.setattr(Ranking, "fit", edited)
    assert run() == 10


def test_an_error_in_the_rule_loses_nothing():
    def broken(scores):
        raise RuntimeError("no size is good enough")

    model = path_cv(Spy(), predictor=SpyNB(), cv=3, n_features=SIZES, rule=broken)
    with pytest.raises(RuntimeError, match="good enough"):
        model.fit(X, Y)
    assert model.scores_.finished.all()
    LOG.clear()
    model.set_params(rule="best").fit(X, Y)
    assert fits() == 1


def test_other_data_or_settings_do_not_reuse(tmp_path):
    def run(table=X, target=Y, weight=None, **options):
        LOG.clear()
        given = {"cv": 3, "n_features": SIZES, "memory": tmp_path, "predictor": SpyNB(), **options}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The .* Spy.* takes no sample_weight")
            path_cv(given.pop("selector", Spy()), **given).fit(table, target, sample_weight=weight)
        return fits()

    assert run() == 10
    assert run() == 1
    assert run(n_jobs=1, verbose=0, rule="budget", budget=3) == 1
    assert run(rule="tolerance", tolerance=0.5) == 1
    changed = X.copy()
    changed[3, 2] += 1e-9
    flipped = Y.copy()
    flipped[0] = 1 - flipped[0]
    assert run(table=changed) == 10
    assert run(target=flipped) == 10
    assert run(cv=2) == 7
    assert run(random_state=1) == 10
    assert run(n_features=[1, 2]) == 7
    assert run(scoring="balanced_accuracy") == 10
    assert run(selector=f_classif) == 10
    assert run(weight=np.arange(1.0, 61.0)) == 10
    assert run() == 1


def test_an_edited_function_is_another_function(tmp_path):
    def ranking(sign):
        def rank(X, y):
            return sign * X[0]

        return rank

    def scores(rank):
        model = path_cv(rank, memory=tmp_path, predictor=GaussianNB()).fit(X[:, 1:], Y)
        return model.scores_.supports[0].toarray()

    up, down = scores(ranking(1)), scores(ranking(-1))
    assert not np.array_equal(up, down)
    np.testing.assert_array_equal(scores(lambda X, y: X[0]), up)
    np.testing.assert_array_equal(scores(lambda X, y: -X[0]), down)


def test_new_object_reads_the_folder(tmp_path):
    options = {"cv": 3, "n_features": SIZES, "predictor": "auto", "inner_cv": 2}
    X2, y2 = ring(60)
    first = path_cv(memory=tmp_path / "new" / "folder", **options).fit(X2, y2)
    plain = path_cv(**options).fit(X2, y2)
    again = path_cv(memory=str(tmp_path / "new" / "folder"), **options).fit(X2, y2)
    for model in (first, again):
        same_scores(model.scores_, plain.scores_)
        np.testing.assert_array_equal(model.scores_.parameters, plain.scores_.parameters)
        np.testing.assert_array_equal(model.scores_.chance, plain.scores_.chance)
        assert model.operating_point_ == plain.operating_point_
        assert model.stability_ == plain.stability_


@pytest.mark.parametrize("damage", ["empty", "cut", "byte", "text", "other"])
def test_damaged_files_are_computed_again(tmp_path, damage):
    options = {"predictor": SpyNB(), "cv": 3, "n_features": SIZES, "memory": tmp_path}
    whole = path_cv(Spy(), **options).fit(X, Y)
    files = sorted(tmp_path.glob("*.kpfold"))
    assert len(files) == 3
    content = files[0].read_bytes()
    middle = len(content) // 2
    files[0].write_bytes(
        {
            "empty": b"",
            "cut": content[:middle],
            "byte": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
            "text": b"not a fold at all",
            "other": _saved_path(whole),
        }[damage]
    )
    LOG.clear()
    again = path_cv(Spy(), **options).fit(X, Y)
    assert fits() == 3 + 1
    same_scores(again.scores_, whole.scores_)
    LOG.clear()
    path_cv(Spy(), **options).fit(X, Y)
    assert fits() == 1  # the damaged file was replaced


def _saved_path(model):
    import io

    buffer = io.BytesIO()
    model.path_.save(buffer)
    return buffer.getvalue()


def test_no_folder_no_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path_cv().fit(*ring(40))
    assert not list(tmp_path.iterdir())


def test_baselines_resume_too(tmp_path):
    options = {"predictor": SpyNB(), "memory": tmp_path, "baselines": {"f": f_classif}}
    path_cv(Spy(), **options).fit(X, Y)
    assert fits() == 2 * 2 * 2 + 1
    LOG.clear()
    path_cv(Spy(), **options).fit(X, Y)
    assert fits() == 1


SCRIPT = """
import sys, time
sys.path.insert(0, {tests!r})
import kernelpath as kp
from kernelpath.evaluation import checkpoint
from evaluation.helpers import ring
from sklearn.feature_selection import f_classif
from sklearn.naive_bayes import GaussianNB

checkpoint.SHARE_OF_WORK = 0.0  # nothing waits for being written

class Slow(GaussianNB):
    def fit(self, X, y):
        global n
        n += 1
        print("fit", flush=True)
        if n > int(sys.argv[2]):
            time.sleep(600)
        return super().fit(X, y)

n = 0
X, y = ring(60)
model = kp.PathCV(f_classif, predictor=Slow(), cv=3, n_features=[1, 2, 4], memory=sys.argv[1],
    references=False)
model.fit(X, y)
print("done", n, model.scores_.per_fold.ravel().tolist(), flush=True)
"""


@pytest.mark.slow
def test_killed_process_goes_on(tmp_path):
    file = tmp_path / "job.py"
    file.write_text(textwrap.dedent(SCRIPT.format(tests=str(Path(__file__).parents[1]))))
    folder = tmp_path / "memory"

    def start(limit):
        command = [sys.executable, str(file), str(folder), str(limit)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    with start(5) as job:
        for _ in range(6):  # three of fold 0, two of fold 1, and one that hangs
            assert job.stdout.readline() == "fit\n"
        os.kill(job.pid, signal.SIGKILL)
        job.wait()
    assert job.returncode == -signal.SIGKILL
    with start(99) as job:
        lines = job.stdout.read().splitlines()
    assert job.returncode == 0
    n_fits = int(lines[-1].split()[1])
    assert n_fits == 10 - 5  # only the one under way is fitted again
    X2, y2 = ring(60)
    plain = path_cv(f_classif, predictor=GaussianNB(), cv=3, n_features=SIZES).fit(X2, y2)
    assert lines[-1].endswith(str(plain.scores_.per_fold.ravel().tolist()))


@pytest.mark.slow
def test_parallel_run_resumes_from_files(tmp_path):
    X2, y2 = ring(60)
    options = {"cv": 3, "memory": tmp_path}
    whole = path_cv(**options, n_jobs=2).fit(X2, y2)
    files = sorted(tmp_path.glob("*.kpfold"))
    times = [file.stat().st_mtime_ns for file in files]
    files[1].unlink()
    time.sleep(0.01)
    again = path_cv(**options, n_jobs=2).fit(X2, y2)
    same_scores(again.scores_, whole.scores_)
    now = [file.stat().st_mtime_ns for file in files]
    assert [a == b for a, b in zip(times, now)] == [True, False, True]
