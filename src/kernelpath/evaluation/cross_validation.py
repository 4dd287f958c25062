"""One cross-validation: its folds, what is finished of them, and the models of all rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelpath.errors import DataError, FinishedFolds, tell_finished
from kernelpath.evaluation.checkpoint import FoldStore, Tracer, fold_key, fold_keys
from kernelpath.evaluation.contest import Contest
from kernelpath.evaluation.folds import FoldResult, tune_once
from kernelpath.evaluation.references import UNSERVED, Reference, ReferenceScore
from kernelpath.evaluation.run import collect, n_inner, n_known, run_folds
from kernelpath.evaluation.scores import PathScores
from kernelpath.evaluation.selector_choice import choose_variant, variants_of
from kernelpath.evaluation.study import Split, Study
from kernelpath.evaluation.tuning import TunedChoice, n_candidates, n_tuning_fits
from kernelpath.evaluation.work_plan import WorkMeter, WorkPlan
from kernelpath.path.feature_path import FeaturePath
from kernelpath.predictors.base import LARGE_ROWS, TrainingRows
from kernelpath.predictors.models import ConstantModel
from kernelpath.tables.encoding import TableEncoder
from kernelpath.utils.progress import begin, no_progress, remark
from kernelpath.utils.provenance import fingerprint

KERNELS = {"weighted_kernel", "joint_rbf"}  # predictors that hold matrices of all pairs of rows


class FittedModel(NamedTuple):
    """A model of all rows at one size, and the settings that were chosen for it."""

    model: Any
    settings: dict[str, Any]


class FullPoint(NamedTuple):
    """The point of all rows at one size."""

    support: NDArray[np.bool_]
    weights: NDArray[np.float64]
    parameter: float
    names: tuple[str, ...]


@dataclass
class CrossValidation:
    """Everything that a fit of PathCV works on, and the steps that take long.

    Attributes
    ----------
    study : Study
        What all folds share.
    splits : list of pairs of ndarray
        Rows to learn from and rows to judge on.
    part : TrainingRows
        All rows, with their path.
    path : FeaturePath
        That path, at the sizes to score.
    encoder : TableEncoder
        How new rows are read.
    plan : WorkPlan
    meter : WorkMeter
    scoring : str
        Name of the measure.
    fingerprint : str
        Of table and target.
    baselines : dict of str to Study
    references : dict of str to Reference
        Plain models of all columns.
    store : FoldStore
        What is finished, of this run and of earlier ones.
    settled : Study or None
        The study with the variant of the selector that was chosen from all rows.
    n_jobs : int or None
        Folds at the same time.
    costs : ndarray of shape (n_sizes,) or None
        What the features of every size cost on the path of all rows.
    contest : Contest or None
        Where the selector was chosen among several, how they did.
    chooser : estimator or None
        What chose it.
    """

    study: Study
    splits: list[Split]
    part: TrainingRows
    path: FeaturePath
    encoder: TableEncoder
    plan: WorkPlan
    meter: WorkMeter
    scoring: str
    fingerprint: str
    baselines: dict[str, Study]
    store: FoldStore
    settled: Study | None = None
    n_jobs: int | None = None
    costs: NDArray[np.float64] | None = None
    references: dict[str, Reference] = field(default_factory=dict)
    contest: Contest | None = None
    chooser: Any = None

    # -- folds ---------------------------------------------------------------------------------

    def say_what_is_known(self) -> None:
        """Say in one line how much of the work an earlier run has done."""
        work = [(study, self.splits) for study in (self.study, *self.baselines.values())]
        work += [(one.study, one.splits) for one in self.references.values() if one.study]
        known = sum(n_known(*one, self.fingerprint, self.store) for one in work)
        if known and not self.meter.verbose:  # which says it of every ranking
            total = max(self.meter.total, known)
            remark(f"Going on from an earlier run: {known:,} of {total:,} models are known.")

    def run(self) -> dict[str, PathScores]:
        """Scores of the path, under the name "", and of the baselines."""
        with no_progress():  # of single steps: the meter counts them all
            return {
                name: self._scored(name, study, self.meter)
                for name, study in {"": self.study, **self.baselines}.items()
            }

    def score_baseline(self, name: str, study: Study, verbose: int) -> PathScores:
        """Scores of another ranking, on the same folds."""
        meter = WorkMeter(make_plan(study, self.splits, 1).total, verbose, begin(name))
        with no_progress():
            return self._scored(name, study, meter)

    def score_references(self) -> tuple[dict[str, ReferenceScore], dict[str, str]]:
        """Scores of the references, and why others have none."""
        scores, left_out = {}, {}
        for name, one in self.references.items():
            if one.study is None:
                left_out[name] = one.note
                continue
            try:
                per_fold = self.plain_scores(name, one.study, one.splits, self.meter)
                n_features = int(one.study.sizes[0])
                scores[name] = ReferenceScore(per_fold, n_features, self.scoring, one.note)
            except UNSERVED as error:
                left_out[name] = f"left out: it does not serve this table ({error})"
        return scores, left_out

    def plain_scores(
        self, name: str, study: Study, splits: list[Split], meter: WorkMeter
    ) -> list[float]:
        """Score in every fold of a study with one size."""
        with no_progress(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the model of the user is another
            folds = run_folds(
                study, splits, self.fingerprint, self.store, meter, n_jobs=self.n_jobs,
                label=f"{name}, ",
            )  # fmt: skip
        return [float(fold.scores[0]) for fold in folds]

    def _scored(self, name: str, study: Study, meter: WorkMeter) -> PathScores:
        label = f"{name}, " if name else ""
        folds = run_folds(
            study, self.splits, self.fingerprint, self.store, meter, n_jobs=self.n_jobs,
            label=label,
        )  # fmt: skip
        costs = self.costs if study is self.study else None
        return collect(study, folds, self.scoring, self.n_columns, costs)

    @property
    def n_columns(self) -> int:
        """Number of columns of the table."""
        return self.study.rows.shape[1]

    def finished(self) -> list[FoldResult | None]:
        """Complete folds of the path itself, None for the others."""
        known = [self.store.results.get(self.store.work_of(key)) for key in self._keys()]
        return [result if result is not None and result.complete else None for result in known]

    def _keys(self) -> list[str]:
        return fold_keys(self.study, self.fingerprint, self.splits)

    def variants_of_folds(self) -> list[int]:
        """Position of the variant of the selector that was chosen in every fold."""
        chosen = self.store.chosen
        return [chosen[key].position if key in chosen else 0 for key in self._keys()]

    def scores_so_far(self) -> PathScores | None:
        """Scores of the finished folds; None if there are none."""
        results = self.finished()
        if all(result is None for result in results):
            return None
        return collect(self.study, results, self.scoring, self.n_columns, self.costs)

    def explain(self, interrupt: KeyboardInterrupt) -> None:
        """Let an interrupt say what the run has to show, and how to go on."""
        folds = FinishedFolds(sum(r is not None for r in self.finished()), len(self.splits))
        seen = " (see scores_)" if folds.done else ""
        where = f" from {self.store.folder}" if self.store.folder is not None else ""
        note = (
            f"{folds.done} of {folds.total} folds are finished{seen}; calling fit again with "
            f"the same data goes on{where}."
        )
        tell_finished(interrupt, folds, note)

    # -- all rows ------------------------------------------------------------------------------

    def settle(self) -> int:
        """Choose among the variants of the selector from all rows, and trace that path.

        The path so far, of the first one, said which sizes there are.  Returns the position.
        """
        if not self.study.variants:
            return 0
        rows = np.arange(self.study.rows.n_rows)
        every = (rows, rows[:0])
        one, *_ = variants_of(self.study)
        done, total = 0, len(self.study.variants) * n_tuning_fits(one, n_inner(one))
        update = begin("settings of the selector")

        def step(count: int) -> None:
            nonlocal done
            done += count
            update(done, total)

        with no_progress():  # of single steps
            chosen = choose_variant(self.study, every, self.fingerprint, self.store, step)
        self.settled = replace(chosen.study, compared=False)
        tracing = Tracer(self.store, self.settled, self.fingerprint, report=True)
        own = self.settled.part(rows, tracing=tracing)
        self.part = replace(own, task=self.study.task)
        method = self.path.method
        self.path = own.traced.as_path(self.study.sizes, self.path.feature_names, method)
        if self.costs is not None and self.study.constraints is not None:
            columns = [own.traced.at(int(k)).columns for k in self.study.sizes]
            self.costs = np.array([self.study.constraints.cost(some) for some in columns])
        return chosen.position

    def check_unchanged(self) -> None:
        """Refuse training rows that were changed since fit: the table is shared, not copied."""
        if fingerprint(self.study.rows.values, self.study.y) != self.fingerprint:
            raise DataError(
                "X or y was changed since fit, so that nothing more can be fitted on it. Fit "
                "again, or ask for other sizes and baselines before changing the table."
            )

    def model_at(self, k: int) -> FittedModel:
        """Fit on all rows at one size; predictor and settings are chosen for that size."""
        study = replace(self.settled or self.study, sizes=np.array([k]))
        rows = np.arange(study.rows.n_rows)
        key = fold_key(study, self.fingerprint, (rows, rows[:0]))
        if key not in self.store.models:
            self.store.models[key] = self._fit_at(study, k, key, rows)
        return self.store.models[key]

    def _fit_at(self, study: Study, k: int, key: str, rows: NDArray[np.intp]) -> FittedModel:
        if self.part.traced.nearest(k) == 0:
            return FittedModel(ConstantModel.fit(self.part), {})
        choice = self._choice(study, key, rows)[k]
        predictor = study.predictors[choice.predictor]
        (found,) = predictor.models(self.part, [(k, [choice.setting])], None)
        return FittedModel(found.build(), choice.setting)

    def _choice(self, study: Study, key: str, rows: NDArray[np.intp]) -> dict[int, TunedChoice]:
        """Predictor and settings from all rows; what is compared is kept as that of a fold."""
        store = self.store
        result = store.get(key, study) or FoldResult.empty(self.n_columns, len(study.sizes))
        single = n_candidates(study) == 1  # nothing to compare, nothing to keep
        tracing = Tracer(store, study, self.fingerprint)
        try:
            keep = None if single else (lambda now: store.put(key, now))
            return tune_once(study, rows, result, keep=keep, tracing=tracing)
        finally:
            if not single:
                store.put(key, result, force=True)

    def point_at(self, k: int) -> FullPoint:
        """Support, weights and names at one size of the path of all rows."""
        traced = self.part.traced
        point = traced.at(k)
        support = np.zeros(traced.n_columns, dtype=bool)
        support[point.columns] = True
        weights = np.zeros(traced.n_columns)
        if point.weights is not None:
            weights[point.columns] = point.weights
        elif len(point.columns):
            stored = self.path.at(n_features=_stored(self.path, k))
            weights[point.columns] = stored.weights[point.columns]
        order = point.columns[np.argsort(-weights[point.columns], kind="stable")]
        names = tuple(str(self.path.feature_names[j]) for j in order)
        return FullPoint(support, weights, point.parameter, names)


def _stored(path: FeaturePath, k: int) -> int:
    """Smallest stored size of a ranking that holds ``k`` features."""
    sizes = np.sort(path.n_selected)
    return int(sizes[min(int(np.searchsorted(sizes, k)), len(sizes) - 1)])


def make_plan(
    study: Study,
    splits: Sequence[Split],
    n_paths: int,
    references: Mapping[str, Reference] = MappingProxyType({}),
) -> WorkPlan:
    """How much there is to do."""
    inner = n_inner(study)
    variants = [n_tuning_fits(one, inner) for one in variants_of(study)]
    each = [n_tuning_fits(study, inner)] * (n_paths - bool(variants)) + variants
    n = max(len(train) for train, _ in splits)
    wide = n if n <= LARGE_ROWS else 500
    if not KERNELS.intersection(predictor.name for predictor in study.predictors):
        wide = int(study.sizes[-1])
    one = 8 * n * wide
    return WorkPlan(
        n_rows=study.rows.n_rows,
        n_columns=study.rows.shape[1],
        n_folds=len(splits),
        n_sizes=len(study.sizes),
        n_traces=len(splits) * (n_paths + sum(inner * (fits > 0) for fits in each)),
        n_tuning_fits=len(splits) * sum(each),
        n_fits=n_paths * len(splits) * len(study.sizes),
        n_candidates=n_candidates(study) * max(1, len(variants)),
        n_paths=n_paths,
        memory=4 * one + min(len(study.sizes) * one, study.memory_limit),
        n_reference_fits=sum(
            len(own.splits) * (1 + n_tuning_fits(own.study, inner))
            for own in references.values()
            if own.study is not None
        ),
    )
