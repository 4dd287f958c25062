"""Accuracy at every point of a path, and a model at the point that a rule picks."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from kernelpath.errors import DataError, ReadingWarning
from kernelpath.estimators import _path_cv_routing as routing
from kernelpath.estimators._base import NotebookCard, PlainSelector
from kernelpath.estimators._path_cv_checks import baseline_studies, prepare
from kernelpath.estimators._path_cv_constraints import already_told
from kernelpath.estimators._path_cv_grid import settings_of_grid
from kernelpath.evaluation.checkpoint import FoldStore
from kernelpath.evaluation.cross_validation import CrossValidation, FittedModel, FullPoint
from kernelpath.evaluation.leaks import find_leaks, warn_of_leaks
from kernelpath.evaluation.nested import nested_score
from kernelpath.evaluation.operating_point import OperatingPoint, choose
from kernelpath.evaluation.scores import PathScores
from kernelpath.evaluation.stability import stability_of
from kernelpath.evaluation.study import unit_of_scores
from kernelpath.path.feature_path import FeaturePath
from kernelpath.predictors.base import HeldOutRegressor
from kernelpath.predictors.choice import FATE_OF_HOLES, is_own
from kernelpath.tables.any_target import JOINT, as_any_target
from kernelpath.tables.outputs import OUTPUTS
from kernelpath.tables.reading import (
    IMPUTED,
    as_numbers_of_fit,
    read_new,
    say_new_holes,
    say_what_is_new,
    with_all_columns,
)
from kernelpath.tables.repeated import REPEATS, say_repeated_ids
from kernelpath.tables.table import Table
from kernelpath.tracers.any_selector import RANKED
from kernelpath.utils.checks import whole
from kernelpath.utils.progress import begin, no_progress, progress_bar
from kernelpath.utils.units import in_units
from kernelpath.utils.words import counted

if TYPE_CHECKING:
    import os


OUTCOMES = {
    "scores_", "operating_point_", "stability_", "model_", "nested_score_", "baseline_scores_",
    "classes_", "reference_scores_", "reference_notes_", "leaks_", "selector_settings_",
    "selector_settings_per_fold_", "contest_",
}  # fmt: skip


class PathCV(NotebookCard, PlainSelector, BaseEstimator):
    """Cross-validated accuracy along a feature path, the chosen point, and a model there.

    The path is traced again in every fold, from its training rows alone: bandwidths, traces,
    alignments and strengths included.  Folds are aligned on the number of features.  A rule picks
    the number of features, and selector and predictor are fitted on all rows at that point.

    Parameters
    ----------
    selector : estimator or callable, optional
        A selector of this package (default :class:`LpKTASelector`), a scikit-learn estimator that
        ranks features (``scores_``, ``ranking_``, ``feature_importances_`` or ``coef_``), or a
        function ``rank(X, y)`` that returns one score per column.
    predictor : str, predictor or estimator
        What predicts from the chosen features.  ``"weighted_kernel"``: SVM on the weighted sum of
        one-feature kernels, as in the papers.  ``"joint_rbf"``: RBF-SVM on all chosen columns
        together, which sees interactions.  ``"logistic"`` (or ``"ridge"``, the same for numbers),
        ``"boosting"``, ``"forest"``: plain models.  ``"auto"``: the best of a linear one, the
        kernels and, with many rows, boosting instead of kernels, compared inside the training
        part.  Their settings are tuned inside the training part too.
        :class:`WeightedKernelSVM` and :class:`JointRBFSVM` take other grids.  Any scikit-learn
        estimator is fitted as it is on the chosen columns.
    cv : int, splitter or iterable of splits
        A number gives shuffled folds: stratified for classes, by ``groups`` if those are given.
    scoring : str, callable or None
        One measure; by default accuracy, balanced accuracy where a class is rarer than one to
        four, or R2.
    rule : {"one_se", "best", "budget", "tolerance", "stable", "fdr"} or callable
        ``"one_se"``: fewest features within one standard error of the best mean.  ``"budget"``:
        best with at most ``budget`` features.  ``"tolerance"``: fewest within ``tolerance`` of the
        best.  ``"stable"``: most features of which every fold chooses 90 %, beyond what chance
        would, whatever the scores are.  ``"fdr"``: the discoveries at a false discovery rate of
        ``level``, whatever the scores are; without a ``selector`` features are then ranked by their
        p-values.  A callable gets the :class:`PathScores` and returns a
        number of features.
    n_features : int, sequence of int or None
        Sizes to score.  Default: every size up to 30 (10 beyond 50,000 rows), then growing by a
        quarter, up to all.
    n_jobs : int, optional
        Folds at the same time (joblib).
    verbose : int
        0: a progress bar on a terminal or in a notebook (see :func:`kernelpath.show_progress`),
        else silent; 1: lines instead, with the amount of work before it starts and the time left
        every ten seconds; 2: every second.
    random_state : int, RandomState or None
        Shuffling of folds, inner folds and forests.  None means 0: two runs agree, as far as
        selector and predictor themselves are seeded.
    budget : int or float, optional
        Largest number of features to choose, under any named rule; with ``costs``, the largest cost
        of the chosen features together.  Features and groups that do not fit into such a budget
        beside those that must be in are out of reach: they are at no size of the path.
    tolerance : float
        Loss of score that is accepted, for ``rule="tolerance"``.
    inner_cv : int, splitter or None
        Folds inside a training part that choose predictor and settings; default 3.
    baselines : sequence of str or dict of name to str or selector
        Other methods, scored on the same folds with the same predictor, for :meth:`plot`: those of
        :func:`kernelpath.methods` by name, taken as :func:`kernelpath.compare` takes them, or
        selectors.
    nested : bool
        Repeat the whole procedure, the choice of the size included, in an outer loop;
        ``nested_score_`` is then honest for it.  Costs as many runs more as there are folds.
    class_weight : dict, "balanced", "auto" or None
        Weights of the classes in the predictors of this package.  ``"auto"``: every class counts
        alike where the measure ranks rows or balances classes (such as ``"roc_auc"`` and ``"f1"``),
        and, without ``scoring``, where a class is rarer than one to four.
    probability : bool
        Calibrate the SVMs, so that there is ``predict_proba``.
    task : {"auto", "classification", "regression"}
    memory : str or path, optional
        Folder for finished work.  A run that was killed goes on from there: at most the models
        of the last few seconds, and the path or model under way, are computed again.
    memory_limit : int or str
        Bytes for kernel matrices held at the same time, or text such as ``"2GB"``.
    missing : {"kernel", "impute", "drop", "error"}
        What becomes of missing values: see :class:`LpKTASelector`.  Weighted sums of kernels treat
        them as a category; other predictors of this package get the median or the most frequent
        category of the training rows, and a column that says where a number was missing.
        Selectors and estimators of others get the table as it is.
    identifiers : {"drop", "keep"}
        Whether columns that name rows are left out: see :class:`LpKTASelector`.
    must_include : sequence of str or int, or mask, optional
        Columns that are chosen at every size and in every fold, by name, pattern (``"lab_*"``),
        position or mask; also where they are constant, or name rows.
    feature_groups : list of lists of columns, dict of them by name, or labels, optional
        Columns that go in or out together: named as in ``must_include``, or by one label for each
        column.  Sizes count columns.
    costs : dict of str to float, or array of shape (n_features,), optional
        What a column costs to measure, not negative; 1 for those that a dict does not name.
        ``budget`` is then a cost, ``scores_`` and ``operating_point_`` say what features cost, and
        ``plot(x="cost")`` draws scores against it.
    references : bool, str or sequence of str
        Plain models of all columns, scored on the same folds, so that a curve below them is
        noticed: ``"logistic"`` (ridge regression for numbers) and ``"boosting"``.  True: both, but
        boosting only up to 500 columns; False: none.
    max_train_rows : int or None
        Rows of a fold from which the models that are scored learn, at most: a sample with the same
        shares of the classes, said in a warning; 1,000 or more.  The final model learns from all
        rows.  None: no limit.
    selector_grid : dict of str to list, optional
        Settings of the selector and the values to choose from, such as
        ``{"norm_strength": [0.1, 1.0]}``.  Every combination is traced in the inner folds of every
        training part, and the one with the highest mean score over the sizes is taken there.
    level : float
        False discovery rate, for ``rule="fdr"``.

    Attributes
    ----------
    path_ : FeaturePath
        The path of all rows.
    scores_ : PathScores
        ``n_features``, ``mean``, ``se``, ``per_fold``, ``supports``, ``predictors``.
    operating_point_ : OperatingPoint
        ``n_features``, ``score``, ``se``, ``parameter``, ``feature_names``, ``weights``.
    stability_ : Stability
        How far the folds agree on the features at every size.
    baseline_scores_ : dict of str to PathScores
    reference_scores_ : dict of str to ReferenceScore
        Plain models of all columns: ``mean``, ``se``, ``per_fold``, ``n_features``.
    reference_notes_ : dict of str to str
        Why a reference has no score.
    leaks_ : tuple of Leak
        Columns that alone, or for numbers two or three together, reach nearly everything:
        ``name``, ``score``, ``kind``, ``others``; with references.
    nested_score_ : NestedScore
        With ``nested=True``.
    selector_settings_, selector_settings_per_fold_ : dict, list of dict
        What was chosen from ``selector_grid`` for all rows, and in every fold.
    fingerprint_ : str
        Of table and target: the same data have the same.
    task_ : str
        ``"classification"`` or ``"regression"``; ``"outputs"`` for several columns, ``"survival"``.
    model_, classes_, plan_, scorer_, n_features_in_, feature_names_in_

    Notes
    -----
    The best mean of a curve is optimistic: it is the largest of many noisy numbers.  The score of
    the operating point is less so under ``"one_se"``, but only ``nested_score_`` is free of it.

    Beyond 20,000 training rows kernel matrices no longer fit: explicit feature maps and a linear
    SVM take their place (one-dimensional Nystrom maps of the chosen features for
    ``"weighted_kernel"``, a joint one for ``"joint_rbf"``).

    ``must_include``, ``feature_groups`` and ``costs`` go to a selector that has these settings, as
    :class:`LpKTASelector` does.  Scores of any other ranking are put in order here: columns that
    must be in come first, the score of a group is the best of its columns', and scores of which
    none is negative are divided by costs, a group's being the sum of its columns'.  A selector
    whose path is no ranking and that lacks the setting is refused; costs are only counted then,
    with a warning.

    Examples
    --------
    >>> import kernelpath as kp
    >>> data = kp.datasets.make_ring(n_samples=200, n_features=30, random_state=0)
    >>> model = kp.PathCV(kp.LpKTASelector(), cv=3, n_features=[1, 2, 3, 5]).fit(data.X, data.y)
    >>> model.operating_point_.n_features
    2
    >>> model.predict(data.X[:2]).shape, model.transform(data.X).shape
    ((2,), (200, 2))
    """

    def __init__(
        self,
        selector: Any = None,
        *,
        predictor: Any = "auto",
        cv: Any = 5,
        scoring: Any = None,
        rule: Any = "one_se",
        n_features: int | Sequence[int] | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
        budget: float | None = None,
        tolerance: float = 0.01,
        inner_cv: Any = None,
        baselines: Any = (),
        nested: bool = False,
        class_weight: Any = "auto",
        probability: bool = False,
        task: str = "auto",
        memory: str | os.PathLike | None = None,
        memory_limit: int | str = 2**30,
        missing: str = "kernel",
        identifiers: str = "drop",
        must_include: Any = None,
        feature_groups: Any = None,
        costs: Any = None,
        references: bool | str | Sequence[str] = True,
        max_train_rows: int | None = 50_000,
        selector_grid: Any = None,
        level: float = 0.1,
    ) -> None:
        self.selector = selector
        self.predictor = predictor
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.n_features = n_features
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
        self.budget = budget
        self.tolerance = tolerance
        self.inner_cv = inner_cv
        self.baselines = baselines
        self.nested = nested
        self.class_weight = class_weight
        self.probability = probability
        self.task = task
        self.memory = memory
        self.memory_limit = memory_limit
        self.missing = missing
        self.identifiers = identifiers
        self.must_include = must_include
        self.feature_groups = feature_groups
        self.costs = costs
        self.references = references
        self.max_train_rows = max_train_rows
        self.selector_grid = selector_grid
        self.level = level

    # -- fit ----------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        **params: Any,
    ) -> PathCV:
        """Score every size in every fold, choose one, and fit a model there.

        Parameters
        ----------
        X : array, sparse matrix or dataframe of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_outputs), or structured array
            Several columns, or events and times, with a predictor and a scoring of your own, which
            get them as they are: see :class:`LpKTASelector` for the path.
        groups : array of shape (n_samples,), optional
            Rows of one group stay together, in the inner folds too.
        sample_weight : array of shape (n_samples,), optional
            Goes to the selector, the predictor and the scorer where they take it: a row of weight 2
            is a row that is there twice, and one of weight 0 is not there.
        **params : dict
            Metadata to route, with scikit-learn's ``enable_metadata_routing``.

        Returns
        -------
        PathCV

        Notes
        -----
        After an interrupt ``scores_`` holds the finished folds, and ``fit`` with the same data
        goes on from the last model that was scored (from the folder ``memory`` even in a new
        process): what it finds is, to the last bit, what a fit without interrupt finds.
        """
        with self._visible():
            run = prepare(self, X, y, groups, sample_weight, params, self._open_store)
            if run.study.groups is None:
                say_repeated_ids(run.study.rows)
            self._reset(run)
            self._interrupted = run.store  # until all is done: fit goes on after any failure
            try:
                self._work(run)
            except KeyboardInterrupt as interrupt:
                known = run.scores_so_far()
                if known is not None:
                    self.scores_ = known
                run.explain(interrupt)
                raise
        self.__dict__.pop("_interrupted", None)
        return self

    def _open_store(self) -> FoldStore:
        """Finished work: of an interrupted fit of this object, or of the folder ``memory``."""
        kept = getattr(self, "_interrupted", None)
        return kept if kept is not None and self.memory is None else FoldStore(self.memory)

    def _visible(self) -> AbstractContextManager[None]:
        """A progress bar for what is done inside, unless lines are written instead."""
        return nullcontext() if self.verbose else progress_bar()

    def _work(self, run: CrossValidation) -> None:
        """Everything that takes long."""
        run.say_what_is_known()
        grid = settings_of_grid(run.study.selector, self.selector_grid)
        if grid:
            self.selector_settings_ = grid[run.settle()]
            self.path_ = run.path
        scores = run.run()
        if grid:
            self.selector_settings_per_fold_ = [grid[i] for i in run.variants_of_folds()]
        self.scores_ = scores.pop("")
        self.baseline_scores_ = scores
        self.reference_scores_, self.reference_notes_ = run.score_references()
        plain = self.reference_scores_
        self.leaks_ = find_leaks(run, self.scores_, plain) if run.references else ()
        self.stability_ = stability_of(self.scores_, self.path_.feature_names)
        self.operating_point_ = self.choose()
        self.model_ = self._models[self.operating_point_.n_features].model
        run.meter.say(f"PathCV: {self.operating_point_}")
        warn_of_leaks(self.leaks_)
        if self.nested:
            asked = (self.cv, self.n_features, self.rule, self.budget, self.tolerance)
            self.nested_score_ = nested_score(run, self._nested_fit, asked, self.verbose)

    def _nested_fit(self, selector: Any, store: FoldStore, X: Any, y: Any, **params: Any) -> PathCV:
        """The whole procedure on other rows, for the outer loop."""
        task = self.task if self.task_ in JOINT else self.task_
        inner = clone(self).set_params(
            nested=False, baselines=(), references=False, verbose=0, task=task,
            selector=selector, **already_told(selector),
        )  # fmt: skip
        inner._interrupted = store  # its folds are kept with the others
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", REPEATS, ReadingWarning)  # said of all rows
            return inner.fit(X, y, **params)

    def _reset(self, run: CrossValidation) -> None:
        """Forget an earlier fit, and remember what is known before the folds."""
        for name in [name for name in vars(self) if name in OUTCOMES]:
            delattr(self, name)
        self._run = run
        self._models: dict[int, FittedModel] = {}
        self.task_ = run.study.task.kind
        if run.study.task.classes is not None:
            self.classes_: Any = run.study.task.classes
        elif self.task_ == OUTPUTS and is_classifier(self.predictor):  # as scikit-learn has them
            self.classes_ = [np.unique(column) for column in run.study.y.vectors()]
        self.scorer_ = run.study.scorer
        self.plan_ = run.plan
        if run.contest is not None:
            self.contest_ = run.contest
        self.path_ = run.path
        self.fingerprint_ = run.fingerprint
        self._encoder = run.encoder

    # -- use ----------------------------------------------------------------------------------

    def predict(self, X: Any, n_features: int | None = None) -> NDArray:
        """Predict at the operating point, or at any other number of features.

        A model at another size is fitted when it is first asked for, on the rows of ``fit``.
        """
        model = self._model(n_features)
        return model.predict(self._new_rows(X, n_features))

    @available_if(routing.gives("decision_function"))
    def decision_function(self, X: Any, n_features: int | None = None) -> NDArray:
        """Decision values: positive for the second of two classes, a column per class for more."""
        model = self._model(n_features)
        return model.decision(self._new_rows(X, n_features))

    @available_if(routing.gives("predict_proba"))
    def predict_proba(self, X: Any, n_features: int | None = None) -> NDArray:
        """Probability of every class; for the SVMs of this package with ``probability=True``."""
        model = self._model(n_features)
        return model.proba(self._new_rows(X, n_features))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Called for what is not there: say what to set for it."""
            if name == "predict_proba":
                raise AttributeError(routing.why_no_shares(self))
            return self.__getattribute__(name)  # raises what it raised

    def score(
        self, X: Any, y: ArrayLike, *, n_features: int | None = None, **score_params: Any
    ) -> float:
        """Score new rows with the measure of the cross-validation, at any number of features."""
        check_is_fitted(self, "model_")
        if not hasattr(self, "scorer_"):
            raise DataError("The file of this model does not hold its scoring, a function.")
        known = as_any_target(y)
        if self.task_ == "regression":
            unit = unit_of_scores(known, self.scorer_, is_own(self.predictor))
            if unit:
                found = HeldOutRegressor({"predict": self.predict(X, n_features)}).in_units(unit)
                return float(self.scorer_(found, X, in_units(known, unit), **score_params))
        judged = copy(self)
        judged.model_ = self._model(n_features)
        return float(self.scorer_(judged, X, np.asarray(known), **score_params))

    def _new_rows(self, X: Any, n_features: int | None) -> Table:
        """New rows; estimators that are not of this package say themselves what they take."""
        needed, encoder = self._needed(n_features), self._encoder
        table = read_new(self, with_all_columns(X, encoder.names, needed), encoder)
        say_what_is_new(table, encoder, needed)
        if not is_own(self.predictor):
            return table
        name = self._model(n_features).name
        fate = IMPUTED if encoder.fill is not None else FATE_OF_HOLES.get(name, IMPUTED)
        say_new_holes(table, encoder.holes, fate, needed)
        return as_numbers_of_fit(table, encoder)

    def _needed(self, n_features: int | None) -> NDArray[np.intp]:
        """Columns that the model of a size looks at."""
        point = self.operating_point_
        if n_features is None or n_features == point.n_features:
            return np.flatnonzero(point.support)
        if hasattr(self, "_run"):
            return np.flatnonzero(self._run.point_at(int(n_features)).support)
        try:
            return np.flatnonzero(_loaded_point(self.path_, int(n_features)).support)
        except DataError:  # a constant prediction, which looks at none of them
            return np.zeros(0, dtype=np.intp)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "operating_point_")
        return self.operating_point_.support

    def _model(self, n_features: int | None) -> Any:
        check_is_fitted(self, "model_")
        if n_features is None:
            return self.model_
        k = _checked_size(n_features, self.n_features_in_)
        self._fit_at(k)
        return self._models[k].model

    @property
    def sizes_with_model(self) -> list[int]:
        """Numbers of features with a model at hand; a loaded model can predict at no others."""
        check_is_fitted(self, "model_")
        return sorted(self._models)

    def _fit_at(self, k: int) -> None:
        """Fit the model at one size on all rows, unless that was done before."""
        if k in self._models:
            return
        run = getattr(self, "_run", None)
        if run is None:
            known = ", ".join(map(str, sorted(self._models)))
            raise DataError(
                f"There is no model with {counted(k, 'feature')} here, only {known}: copies, "
                f"pickles and files come without the training rows. Use save(file, n_features="
                f"{k}), or predict at that size before copying, or fit again."
            )
        run.check_unchanged()
        few, rows = counted(k, "feature"), counted(run.study.rows.n_rows, "row")
        run.meter.say(f"PathCV: fitting {few} on all {rows}")
        with self._visible():
            begin("fitting on all rows")
            with no_progress():
                self._models[k] = run.model_at(k)

    def choose(
        self, rule: Any = None, *, budget: float | None = None, tolerance: float | None = None
    ) -> OperatingPoint:
        """Operating point under another rule, from the same cross-validation.

        The estimator stays as it is; ``predict(X, n_features=point.n_features)`` predicts there.

        Parameters
        ----------
        rule, budget, tolerance :
            As in the constructor.  Without any of them its own; a budget alone bounds the rule of
            the constructor, and a tolerance alone implies the rule ``"tolerance"``.
        """
        check_is_fitted(self, "scores_")
        rule, budget, tolerance = self._rule(rule, budget, tolerance)
        known = self.path_.n_discoveries(self.level) if rule == "fdr" else None
        position = choose(self.scores_, rule, budget=budget, tolerance=tolerance, discoveries=known)
        k = int(self.scores_.n_features[position])
        if hasattr(self, "_run"):  # a loaded model knows the scores, not the rows
            self._fit_at(k)
        return self._operating_point(k, position, rule)

    def _rule(self, rule: Any, budget: Any, tolerance: Any) -> tuple[Any, Any, Any]:
        """Rule, budget and tolerance meant by the arguments of ``choose``."""
        if rule is None and budget is None and tolerance is None:
            return self.rule, self.budget, self.tolerance
        if rule is None:
            rule = self.rule if tolerance is None else "tolerance"
        if callable(rule) and budget is not None:
            raise ValueError(
                f"budget={budget!r} has no effect on a rule that is a function, which chooses; "
                "name a rule"
            )
        if tolerance is not None and rule != "tolerance":
            raise ValueError(
                f"tolerance={tolerance!r} has no effect under rule={rule!r}; leave out one of the "
                "two"
            )
        if rule == "budget" and budget is None:
            budget = self.budget
        return rule, budget, self.tolerance if tolerance is None else tolerance

    def _operating_point(self, k: int, position: int, rule: Any) -> OperatingPoint:
        """Everything that is known about a size."""
        point = self._run.point_at(k) if hasattr(self, "_run") else _loaded_point(self.path_, k)
        fitted = self._models.get(k)
        costs = self.scores_.full_costs
        return OperatingPoint(
            n_features=k,
            score=float(self.scores_.mean[position]),
            se=float(self.scores_.se[position]),
            parameter=point.parameter,
            feature_names=point.names,
            weights=point.weights,
            support=point.support,
            predictor="" if fitted is None else fitted.model.name,
            settings={} if fitted is None else fitted.settings,
            rule=rule if isinstance(rule, str) else getattr(rule, "__name__", type(rule).__name__),
            scoring=self.scores_.scoring,
            parameter_name=self.path_.parameter_name,
            cost=None if costs is None else float(costs[position]),
        )

    def plot(self, ax: Any = None, *, baselines: Any = None, x: str = "log") -> Any:
        """Draw score against number of features, the chosen point, baselines and references.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        baselines : sequence of str or dict of name to str or selector, optional
            As in the constructor.  Default: all that were scored so far.  Others are scored now,
            on the same folds, which takes as long as ``fit`` did for each.
        x : {"log", "linear", "fraction", "cost"}
            Axis of the number of features; ``"fraction"`` is the share of all columns, and
            ``"cost"`` what the features cost on average over the folds, with ``costs``.

        Returns
        -------
        matplotlib Axes
        """
        from kernelpath.report.displays.accuracy import AccuracyDisplay

        check_is_fitted(self, "scores_")
        drawn = self._baseline_scores(baselines)
        return AccuracyDisplay.from_model(self, baselines=drawn, x=x).plot(ax)

    def _baseline_scores(self, wanted: Any) -> dict[str, PathScores]:
        """Scores of the baselines to draw; those not known yet are computed."""
        known = getattr(self, "baseline_scores_", {})
        if wanted is None:
            return dict(known)
        names = (wanted,) if isinstance(wanted, str) else wanted
        missing = [name for name in names if str(name) not in known]
        if missing:
            run = getattr(self, "_run", None)
            if run is None:
                raise DataError(
                    f"The baselines {missing} were not scored in fit, and the training rows are "
                    "not here any more; fit with baselines=."
                )
            run.check_unchanged()
            some = {name: names[name] for name in missing} if isinstance(names, dict) else missing
            studies = baseline_studies(run.study, some, self.n_features)
            for name, study in studies.items():
                with self._visible():
                    known[name] = run.score_baseline(name, study, self.verbose)
            self.baseline_scores_ = known
        return {str(name): known[str(name)] for name in names}

    def summary(self) -> dict[str, Any]:
        """Everything a report shows, as a plain dict that JSON can hold.

        Its form is promised by :func:`kernelpath.report.summary.schema`, a JSON Schema.  A loaded
        model has no training rows and leaves out what needs them.
        """
        from kernelpath.report.summary import summarize_cv

        check_is_fitted(self, "model_")
        return summarize_cv(self)

    def save_html(self, file: str | os.PathLike, *, title: str | None = None) -> None:
        """Write the page of the result: one file that needs nothing else.

        Parameters
        ----------
        file : str or path-like
        title : str, optional
        """
        from kernelpath.report.html import save_html

        save_html(self, file, title=title)

    def save(self, file: Any, *, n_features: int | Sequence[int] | None = None) -> None:
        """Write the model, its scores and its path to one file, without pickle.

        Parameters
        ----------
        file : str, path-like or writable binary file
            Conventionally ``*.kpmodel``; :func:`kernelpath.load_model` reads it.
        n_features : int or sequence of int, optional
            Further sizes at which the file is to hold a model.
        """
        from kernelpath.estimators import model_file as path_cv_file

        check_is_fitted(self, "model_")
        for k in [] if n_features is None else np.atleast_1d(n_features).tolist():
            self._model(k)
        path_cv_file.save_model(self, file)

    # -- scikit-learn -------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kind = getattr(self, "task_", self.task)
        return routing.with_task_tags(tags, kind, self.predictor, self.scoring)

    def get_metadata_routing(self) -> Any:
        """Who may get metadata: the selector, the predictor, the splitter and the scorer."""
        return routing.metadata_router(self)

    def __getstate__(self) -> Any:
        """Pickle without the training rows; models at sizes asked for before stay."""
        state = dict(super().__getstate__())
        for name in ("_run", "_interrupted"):
            state.pop(name, None)
        return state


def _checked_size(n_features: Any, n_columns: int) -> int:
    """Return a number of features that a user asked for, or say what is wrong with it."""
    whole("n_features", n_features, error=TypeError)
    if not 1 <= n_features <= n_columns:
        raise DataError(f"n_features must lie between 1 and {n_columns}, got {n_features}.")
    return int(n_features)


def _loaded_point(path: FeaturePath, k: int) -> FullPoint:
    """The point of all rows from a path alone, for a model without its training rows."""
    point = path.at(n_features=k)
    ranked = path.parameter_name == RANKED  # a ranking has no parameter of its own
    parameter = float("nan") if ranked else point.parameter
    return FullPoint(point.support, point.weights, parameter, point.names)
