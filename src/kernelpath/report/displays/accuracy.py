"""Picture of the score against the number of features.  Stored data first, drawn by ``plot``.

matplotlib is an optional dependency and imported inside the functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kernelpath.evaluation.scores import PathScores, score_text
from kernelpath.report.displays._canvas import (
    GREY,
    INK,
    PALETTE,
    Picture,
    any_glyph,
    chosen_size,
    dressed,
    floats,
    label,
    labels,
    plain_text,
    screenless,
    signed,
    write_sentence,
)
from kernelpath.report.displays._layout import (
    apart,
    free_place,
    measure,
    pixels,
    scale_x,
    write_on_line,
)
from kernelpath.report.words import measure_words, n_usable
from kernelpath.utils.checks import one_of
from kernelpath.utils.words import counted

if TYPE_CHECKING:
    from kernelpath.estimators.path_cv import PathCV
    from kernelpath.evaluation.references import ReferenceScore

SCALES = ("log", "linear", "fraction", "cost")
BACKGROUND = {"fc": "white", "ec": "none", "alpha": 0.85, "pad": 0.8}  # hides the grid
LONGEST_NAME = 30  # letters of a curve
NO_FOLD = "No fold is finished, so there are no scores yet."
NO_SCORES = "The path was not cross-validated: there are no scores."
DASHES = ("-", "--", ":", "-.")  # once all colours are used
MOST_STRETCH = 2.0
"""Levels beside the curves are drawn unless the axis would grow by more than this factor."""


@dataclass(frozen=True, eq=False)  # arrays have no plain answer to ==
class ScoreCurve:
    """Mean score and its standard error against the number of features.

    Attributes
    ----------
    name : str
    n_features, mean, se : ndarray of shape (n_sizes,)
        The scores are NaN where unknown.
    costs : ndarray of shape (n_sizes,) or None
        What the features cost, on average over the folds.
    """

    name: str
    n_features: NDArray[np.int64]
    mean: NDArray[np.float64]
    se: NDArray[np.float64]
    costs: NDArray[np.float64] | None = None

    @classmethod
    def from_summary(cls, one: Mapping[str, Any]) -> ScoreCurve:
        """A curve as summaries write it."""
        return cls(
            name=str(one["name"]),
            n_features=np.array(one["n_features"], dtype=np.int64),
            mean=floats(one["score"]),
            se=floats(one["se"]),
            costs=floats(one["cost_in_folds"]) if "cost_in_folds" in one else None,
        )

    @property
    def known(self) -> bool:
        """Whether there is anything to draw."""
        return not np.isnan(self.mean).all()

    @property
    def shown(self) -> ScoreCurve:
        """The curve at the sizes with a score."""
        at = ~np.isnan(self.mean)
        costs = None if self.costs is None else self.costs[at]
        return ScoreCurve(self.name, self.n_features[at], self.mean[at], self.se[at], costs)


@dataclass(frozen=True)
class AccuracyDisplay(Picture):
    """Score against the number of features: one path, other methods, and no features at all.

    Attributes
    ----------
    main : ScoreCurve
        The path itself, drawn bold with a band of one standard error.
    baselines : tuple of ScoreCurve
        Other methods, drawn thin.
    chosen : int or None
        Number of features of the operating point.
    chance : float
        Mean score without any feature; NaN when unknown.
    scoring : str
    n_columns : int
        Number of columns that can be selected.
    x : {"log", "linear", "fraction", "cost"}
    references : tuple of ScoreCurve
        Plain models of all columns, of one size each, drawn as levels.

    Examples
    --------
    >>> scores = PathScores([1, 2, 5], [[0.6, 0.8, 0.9], [0.7, 0.9, 0.9]], scoring="accuracy")
    >>> display = AccuracyDisplay.from_scores(scores, chosen=2, n_columns=10)
    >>> display.main.n_features, display.chosen
    (array([1, 2, 5]), 2)
    """

    main: ScoreCurve
    baselines: tuple[ScoreCurve, ...]
    chosen: int | None
    chance: float
    scoring: str
    n_columns: int
    x: str = "log"
    references: tuple[ScoreCurve, ...] = ()

    @classmethod
    def from_model(
        cls,
        model: PathCV,
        *,
        baselines: Mapping[str, PathScores] | None = None,
        label: str | None = None,
        x: str = "log",
    ) -> AccuracyDisplay:
        """Take the curves from a fitted cross-validation.

        Parameters
        ----------
        model : PathCV
        baselines : dict of str to PathScores, optional
            Default: those of the model.
        label : str, optional
            Name of the main curve; default the method of the path.
        x : {"log", "linear", "fraction"}
        """
        from kernelpath.report.summary import reference_label, usable_columns

        known = getattr(model, "baseline_scores_", {})
        scored = getattr(model, "reference_scores_", {})
        drawn = (model.scores_, *(known if baselines is None else baselines).values())
        largest = [int(one.n_features[-1]) for one in drawn]
        return cls.from_scores(
            model.scores_,
            chosen=getattr(getattr(model, "operating_point_", None), "n_features", None),
            baselines=known if baselines is None else baselines,
            references={reference_label(name, model.task_): one for name, one in scored.items()},
            n_columns=max(usable_columns(model), *largest),
            label=label or model.path_.method,
            x=x,
        )

    @classmethod
    def from_scores(
        cls,
        scores: PathScores,
        *,
        n_columns: int | None = None,
        chosen: int | None = None,
        baselines: Mapping[str, PathScores] | None = None,
        references: Mapping[str, ReferenceScore] | None = None,
        label: str = "this path",
        x: str = "log",
    ) -> AccuracyDisplay:
        """Take the curves from scores.

        Parameters
        ----------
        scores : PathScores
        n_columns : int, optional
            Number of columns of the table; default from the supports.
        chosen : int, optional
            Number of features to mark; one of ``scores.n_features``.
        baselines : dict of str to PathScores, optional
            Other methods, with the same measure.
        references : dict of str to ReferenceScore, optional
            Plain models of all columns, by what they are called.
        label : str
            Name of the main curve, written only when there is another.
        x : {"log", "linear", "fraction", "cost"}
            Number of features, with "fraction" the share of all columns in percent, or with "cost"
            what the features cost on average over the folds.
        """
        others = dict(baselines or {})
        one_of("x", x, SCALES)
        for name, other in others.items():
            if other.scoring != scores.scoring:
                raise ValueError(
                    f"baseline {name!r} is scored by {other.scoring!r}, not {scores.scoring!r}"
                )
        n_columns = scores.n_columns if n_columns is None else n_columns
        if n_columns is None:
            raise ValueError("n_columns is needed, because the scores hold no supports")
        largest = max(int(s.n_features[-1]) for s in (scores, *others.values()))
        if n_columns < largest:
            raise ValueError(f"n_columns is {n_columns}, but {largest} features were scored")
        named = [(label, scores), *others.items()]
        curves = [ScoreCurve(str(name), s.n_features, s.mean, s.se, s.costs) for name, s in named]
        _check_costs(x, curves)
        return cls(
            main=curves[0],
            baselines=tuple(curves[1:]),
            chosen=None if chosen is None else int(scores.n_features[scores.position(chosen)]),
            chance=scores.chance_mean,
            scoring=scores.scoring,
            n_columns=int(n_columns),
            x=x,
            references=tuple(
                _level(str(name), one.n_features, one.mean, one.se)
                for name, one in (references or {}).items()
            ),
        )

    @classmethod
    def from_summary(cls, summary: Mapping[str, Any], *, x: str = "log") -> AccuracyDisplay:
        """Take the curves from a summary; without a cross-validation there is nothing to draw.

        Parameters
        ----------
        summary : dict
            As ``PathCV.summary()`` returns it.
        x : {"log", "linear", "fraction", "cost"}
        """
        one_of("x", x, SCALES)
        sizes, cv = summary["sizes"], summary["cv"]
        main = {name: [one[name] for one in sizes] for name in ("n_features", "score", "se")}
        costs = [one["cost_in_folds"] for one in sizes if "cost_in_folds" in one]
        main |= {"name": summary["method"], **({"cost_in_folds": costs} if costs else {})}
        curves = [ScoreCurve.from_summary(one) for one in (main, *summary["baselines"])]
        _check_costs(x, curves)
        return cls(
            main=curves[0],
            baselines=tuple(curves[1:]),
            chosen=chosen_size(summary),
            chance=float("nan") if cv is None or cv["chance"] is None else cv["chance"],
            scoring="" if cv is None else cv["scoring"],
            n_columns=n_usable(summary),
            x=x,
            references=tuple(
                _level(one["label"], one["n_features"], *floats([one["score"], one["se"]]))
                for one in summary.get("references", ())
                if one["score"] is not None
            ),
        )

    @property
    def known(self) -> bool:
        """Whether there is a score."""
        return any(curve.known for curve in (self.main, *self.baselines))

    def draw_on(self, figure: Any) -> Any:
        """Draw on an empty figure, with margins that hold all labels, and return the axes."""
        return self._draw(figure.subplots(), fit=True)

    def _draw(self, ax: Any, *, fit: bool) -> Any:
        """Draw; with ``fit`` the figure is ours and its margins are set to hold the labels."""
        if not self.known:
            return write_sentence(ax, NO_FOLD if self.scoring else NO_SCORES)
        complete = replace(
            self, main=self.main.shown, baselines=tuple(curve.shown for curve in self.baselines)
        )
        return complete._draw_known(dressed(ax), fit=fit)

    def _draw_known(self, ax: Any, *, fit: bool) -> Any:
        """Draw curves whose scores are all known, though they may be of no size."""
        curves = [curve for curve in (self.main, *self.baselines) if curve.known]
        self._dress(ax, curves)
        low, high = ax.get_ylim()
        references = [one for one in self.references if low <= one.mean[0] <= high]
        away = [(one.name, float(one.mean[0])) for one in self.references if one not in references]
        chance = self.chance if low <= self.chance <= high else float("nan")
        if np.isnan(chance) and not np.isnan(self.chance):
            away.append(("no features", self.chance))
        self._draw_curves(ax)
        if not np.isnan(chance):
            ax.axhline(chance, color=GREY, lw=1.1, ls=(0, (5, 3)), zorder=2)
        for i, one in enumerate(references):
            self._draw_reference(ax, one, 1 - 0.01 * i)
        self._name(ax, [*self.baselines, *references], fit=fit)
        # Last, because a free place for a text is measured on the finished picture.
        taken = self._obstacles(ax, curves, [chance, *(one.mean[0] for one in references)])
        if not np.isnan(chance):
            taken = np.vstack([taken, write_on_line(ax, "no features", chance, taken)])
        taken = _write_outside(ax, away, taken)
        if self.chosen in self.main.n_features:
            self._mark_chosen(ax, taken)
        return ax

    def _draw_curves(self, ax: Any) -> None:
        """Baselines, and ours above them."""
        for i, curve in enumerate(self.baselines):
            if curve.known:
                # The dot tells where a curve ends, and shows a curve of one size.
                end = {"marker": "o", "markevery": [-1], "ms": 4}
                ax.plot(self._x(curve), curve.mean, lw=1.3, zorder=3, **end, **_style(i))
        if self.main.known:
            self._draw_main(ax)

    def _name(self, ax: Any, others: list[ScoreCurve], *, fit: bool) -> None:
        """Labels at the ends of curves in a figure of ours, else a legend."""
        if others and fit:
            self._label_curves(ax, others)
        elif others:  # beside given axes there may be others
            ax.legend(handles=self._handles(others), frameon=False, fontsize=8)
        if fit:
            with any_glyph():
                ax.figure.tight_layout()

    def _x(self, curve: ScoreCurve) -> Any:
        """Places of the sizes of a curve on the horizontal axis."""
        if self.x == "cost":
            return curve.costs
        return np.asarray(curve.n_features) / (self.n_columns if self.x == "fraction" else 1)

    def _dress(self, ax: Any, curves: list[ScoreCurve]) -> None:
        """Limits, ticks and words around the curves."""
        what = {"fraction": "share of features", "cost": "cost of features"}.get(
            self.x, "number of features"
        )
        name = measure_words(self.scoring)
        name = name if len(name) <= 40 else label(name)
        heading = name[:1].upper() + name[1:]
        title = ax.set_title(f"{heading} against {what}", loc="left")
        for text in (title, ax.set_ylabel(name)):
            plain_text(text)
        words = {
            "fraction": f"share of {counted(self.n_columns, 'feature')}",
            "cost": "cost of the features, mean over folds",
        }
        ax.set_xlabel(words.get(self.x, f"{what} (of {self.n_columns:,})"))
        places = [self._x(curve) if self.x == "cost" else curve.n_features for curve in curves]
        scale_x(ax, self.x, np.concatenate(places), self.n_columns)
        low, high = self._heights(curves)
        if high - low <= 1e-9 * max(abs(low), abs(high), 0.1):  # flat, up to rounding
            low, high = low - 0.05 * max(abs(low), 0.1), high + 0.05 * max(abs(high), 0.1)
        room = 0.07 * (high - low)
        # At the top a strip of 26 points: whatever the curves do, there the chosen size fits.
        strip = min(26 / 72 * ax.figure.dpi / ax.bbox.height, 0.4)
        ax.set_ylim(low - room, high + (high - low + room) * strip / (1 - strip))

    def _heights(self, curves: list[ScoreCurve]) -> tuple[float, float]:
        """Range of the curves, and of levels beside them that do not press the curves flat."""
        spread = np.nan_to_num(self.main.se)
        seen = [*(curve.mean for curve in curves), self.main.mean - spread, self.main.mean + spread]
        heights = np.concatenate(seen)
        low, high = float(np.nanmin(heights)), float(np.nanmax(heights))
        most = MOST_STRETCH * (high - low) if len(heights) > 3 else 0.0  # one point is no curve
        most = most or np.inf
        means = [float(one.mean[0]) for one in self.references]
        errors = [float(one.mean[0] + s * one.se[0]) for one in self.references for s in (-1, 1)]
        for level in (*means, *errors, self.chance):
            if not np.isnan(level) and max(high, level) - min(low, level) <= most:
                low, high = min(low, level), max(high, level)
        return low, high

    def _draw_reference(self, ax: Any, one: ScoreCurve, place: float) -> None:
        """A level across the axes, with its standard error at a place near the right end."""
        color, level = self._color(one), float(one.mean[0])
        ax.axhline(level, color=color, lw=1.3, ls=(0, (1, 2)), zorder=2)
        if not np.isnan(one.se[0]):
            ends = np.clip([level - one.se[0], level + one.se[0]], *ax.get_ylim())
            line = {"color": color, "lw": 1.6, "clip_on": False, "zorder": 3}
            ax.plot([place] * 2, ends, transform=ax.get_yaxis_transform(), **line)

    def _color(self, curve: ScoreCurve) -> str:
        """Colour of a curve: the first belongs to the path, the next ones to its baselines."""
        others = [*self.baselines, *self.references]
        return PALETTE[0] if curve is self.main else _style(others.index(curve))["color"]

    def _handles(self, others: list[ScoreCurve]) -> list[Any]:
        """Entries of a legend; a name is text, whatever is in it."""
        from matplotlib.lines import Line2D

        handles = []
        for curve in (self.main, *others):
            if curve.known:
                name = label(curve.name, LONGEST_NAME).replace("$", r"\$")
                style: dict[str, Any] = {"ls": ":" if curve in self.references else "-"}
                style |= {"lw": 2.4 if curve is self.main else 1.3, "color": self._color(curve)}
                handles.append(Line2D([], [], label=name, **style))
        return handles

    def _draw_main(self, ax: Any) -> None:
        x, curve = self._x(self.main), self.main
        if len(x) == 1:  # neither a line nor a band through one point can be seen
            error = None if np.isnan(curve.se[0]) else curve.se
            ax.errorbar(x, curve.mean, error, color=PALETTE[0], marker="o", capsize=4, zorder=5)
            return
        if not np.isnan(curve.se).all():
            band = {"color": PALETTE[0], "alpha": 0.15, "lw": 0, "zorder": 2}
            ax.fill_between(x, curve.mean - curve.se, curve.mean + curve.se, **band)
        ax.plot(x, curve.mean, color=PALETTE[0], lw=2.4, zorder=4)

    def _label_curves(self, ax: Any, others: list[ScoreCurve]) -> None:
        """Write the names right of the axes, in the colours of the curves, moved apart."""
        ends = [(curve, self._color(curve)) for curve in [*others, self.main] if curve.known]
        ends.sort(key=lambda end: float(end[0].mean[-1]))
        low, high = ax.get_ylim()
        step = min(0.062, 1 / len(ends))
        heights = [(float(curve.mean[-1]) - low) / (high - low) for curve, _ in ends]
        names = labels([curve.name for curve, _ in ends], LONGEST_NAME)
        for place, name, (curve, color) in zip(apart(heights, 0.0, 1.0, step), names, ends):
            # Dotted, so that it is not taken for more of the curve.
            line = {"arrowstyle": "-", "color": color, "lw": 0.8, "ls": ":", "shrinkB": 3}
            level = curve in self.references  # it reaches the edge
            end = ax.get_xlim()[1] if level else self._x(curve)[-1]
            text = ax.annotate(
                name, (end, curve.mean[-1]),
                xytext=(1.03, place), textcoords="axes fraction", color=color, va="center",
                fontsize=9 if step > 0.05 else 7, annotation_clip=False,
                fontweight="bold" if curve is self.main else "normal",
                arrowprops=line | {"relpos": (0.0, 0.5), "shrinkA": 1},
            )  # fmt: skip
            plain_text(text)  # a dollar sign in a name is a dollar sign

    def _obstacles(
        self, ax: Any, drawn: list[ScoreCurve], levels: list[float]
    ) -> NDArray[np.float64]:
        """Pixels and their importance, (n, 3): what a text should not cover."""
        parts = []
        for curve in drawn:
            ours = curve is self.main
            spread = np.nan_to_num(curve.se)
            lines = [(curve.mean, 10.0 if ours else 4.0)]
            if ours:
                lines += [(curve.mean + s * spread, 2.0) for s in (-1, 1)]
            parts += [pixels(ax, self._x(curve), *line) for line in lines]
        for level in levels:
            if not np.isnan(level):
                parts.append(pixels(ax, ax.get_xlim(), np.full(2, level), 4.0))
        return np.vstack(parts)

    def _mark_chosen(self, ax: Any, taken: NDArray[np.float64]) -> None:
        """Dot at the chosen size, with its numbers where they cover little."""
        i = int(np.flatnonzero(self.main.n_features == self.chosen)[0])
        place = (float(self._x(self.main)[i]), float(self.main.mean[i]))
        dot = {"marker": "o", "ms": 9, "mec": "white", "mew": 1.6, "color": PALETTE[0]}
        ax.plot(*place, ls="none", zorder=6, **dot)
        score = score_text(place[1], float(self.main.se[i]), "±").replace("-", "\N{MINUS SIGN}")
        words = f"{counted(int(self.main.n_features[i]), 'feature')}, {score}"
        style = {"fontsize": 9.5, "color": INK, "bbox": BACKGROUND, "zorder": 5}
        size = measure(ax, words, style)
        pixel = ax.transData.transform(place)
        edge = (size + size[1]) / 2  # of the box that holds the centres
        low, high = ax.bbox.p0 + edge, ax.bbox.p1 - edge
        across, up = np.linspace(low, high, 41).T
        across = np.append(across, np.clip(pixel[0], *np.sort([low[0], high[0]])))
        centre = free_place(across, up, size, np.vstack([taken, [*pixel, 200.0]]), pixel)
        x, y = ax.transAxes.inverted().transform(centre)
        # Held at the end next to the margin: in smaller axes the text grows inwards.
        side, half = ("left", -0.5) if x < 0.5 else ("right", 0.5)
        hold = float(np.clip((pixel[0] - centre[0]) / size[0] + 0.5, 0, 1))
        line = {"arrowstyle": "-", "color": INK, "lw": 0.7, "shrinkA": 0, "shrinkB": 6}
        line["relpos"] = (hold, 0.5 if hold in (0, 1) else float(pixel[1] > centre[1]))
        away = np.hypot(*np.maximum(np.abs(centre - pixel) - size / 2, 0))
        ax.annotate(
            words, place, xytext=(x + half * size[0] / ax.bbox.width, y), ha=side, va="center",
            textcoords="axes fraction", arrowprops=line if away > 1.5 * size[1] else None, **style,
        )  # fmt: skip


def plot_scores(scores: PathScores, ax: Any = None, **options: Any) -> Any:
    """Draw scores against the number of features and return the axes.

    Parameters
    ----------
    scores : PathScores
    ax : matplotlib Axes, optional
    **options
        As for :meth:`AccuracyDisplay.from_scores`.
    """
    return AccuracyDisplay.from_scores(scores, **options).plot(ax)


def save_scores(display: AccuracyDisplay, file: Any, format: str = "png") -> None:
    """Write the picture to a file or file object, without a screen."""
    figure = screenless((8, 4.6))
    display.draw_on(figure)
    with any_glyph():
        figure.savefig(file, format=format, metadata=signed(format))


def _check_costs(x: str, curves: list[ScoreCurve]) -> None:
    """Refuse an axis of costs where there are none."""
    if x == "cost" and any(curve.costs is None for curve in curves):
        raise ValueError("x='cost' needs costs of features; fit with costs=")


def _level(name: str, n_features: int, mean: float, se: float) -> ScoreCurve:
    """A plain model of all columns as a curve of one size."""
    one = np.array([mean, se], dtype=np.float64)
    return ScoreCurve(f"{name}, all {n_features:,}", np.array([n_features]), one[:1], one[1:])


def _write_outside(
    ax: Any, levels: list[tuple[str, float]], taken: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Say at the edges which levels are beyond them; what is taken then."""
    bottom, top = ax.get_ylim()
    for word, edge in (("below", bottom), ("above", top)):
        found = [(name, y) for name, y in levels if (y < bottom) == (word == "below")]
        if found:
            words = ", ".join(f"{label(name, LONGEST_NAME)} {y:.3f}" for name, y in found)
            words = f"{word}: {words}".replace("-", "\N{MINUS SIGN}").replace("$", r"\$")
            taken = np.vstack([taken, write_on_line(ax, words, edge, taken)])
    return taken


def _style(i: int) -> dict[str, Any]:
    """Colour and dashes of a baseline; the first colour belongs to the path."""
    colors = PALETTE[1:]
    return {"color": colors[i % len(colors)], "ls": DASHES[i // len(colors) % len(DASHES)]}
