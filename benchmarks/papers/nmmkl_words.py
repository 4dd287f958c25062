"""What the numbers of the NMMKL tables say; conditions and numbers come from the runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from nmmkl_read import BETTER, LEVEL, WORSE, Result
from nmmkl_regression_words import regression_lines, simulated_errors, simulated_picks
from nmmkl_settings import (
    ENOUGH_TRIALS,
    FISHER,
    L0,
    L1,
    LABELS,
    NAMES,
    OURS,
    PAPER_ACCURACY,
    PAPER_SHAPES,
    PAPER_TRIALS,
    PUBLISHED,
    SVM,
    SWAP,
)
from nmmkl_text import bullet, listed

from common import load_shared

Results = dict[str, Result]
Line = tuple[Result, int]  # a data set and a budget
RIVALS = (SVM, FISHER, L1, L0)
MOSTLY, FEW = 0.8, 0.1  # shares of trials


def label(line: Line) -> str:
    result, budget = line
    return f"{LABELS[result.case.data]} {budget}"


def lines_of(results: Results, *tables: str) -> list[Line]:
    """All data sets and budgets of some tables, where there are enough trials for a test."""
    enough = [one for one in results.values() if one.n_trials >= ENOUGH_TRIALS]
    chosen = [one for one in enough if one.case.table in tables]
    return [(one, budget) for one in chosen for budget in one.case.budgets]


def with_methods(lines: Iterable[Line], *methods: str) -> list[Line]:
    return [line for line in lines if all(method in line[0].trials for method in methods)]


# -- the toy ---------------------------------------------------------------------------------------


def found(result: Result, method: str) -> tuple[int, int]:
    """In how many trials the best one and the best two features were selected."""
    one = sum(set(pick) == {2} for pick in result.features(method, 1))
    two = sum(set(pick) == {0, 1} for pick in result.features(method, 2))
    return one, two


def only(counts: tuple[int, ...], n: int) -> bool:
    """Whether the first happens mostly and the second hardly ever."""
    return counts[0] >= MOSTLY * n and counts[1] <= FEW * n


def toy(results: Results) -> str:
    """Table 1."""
    tuned = results.get("toy")
    if tuned is None or not {PUBLISHED, SWAP, SVM} <= set(tuned.trials):
        return ""
    n = tuned.n_trials
    counts = {method: found(tuned, method) for method in tuned.methods}
    both = [NAMES[m] for m in tuned.methods if min(counts[m]) >= MOSTLY * n]
    text = "; ".join(f"{NAMES[m]} {a} and {b}" for m, (a, b) in counts.items() if m in OURS)
    sentences = [
        "**Table 1.** The paper says of NMMKL that it selects Z as the best one and X and Y as the "
        f"best two. With C and tau chosen for each budget, times out of {n}: {text}.",
        f"Both in at least {100 * MOSTLY:.0f} % of the trials: {listed(both)}.",
    ]
    pairs = [NAMES[m] for m in tuned.methods if only(counts[m][::-1], n)]
    single = [NAMES[m] for m in tuned.methods if only(counts[m], n)]
    if pairs and single:
        sentences.append(
            f"X and Y but hardly ever Z: {listed(pairs)}; Z but hardly ever X and Y: "
            f"{listed(single)}."
        )
    for data, words in (("toy_small_C", "With 0.001 among the values of C, and tau = 1"),
                        ("toy_one_C", "With C = 0.1 and tau = 1 for both budgets")):  # fmt: skip
        other = results.get(data)
        if other is not None:
            counts = {method: found(other, method) for method in other.methods}
            text = "; ".join(f"{NAMES[m]} {a} and {b}" for m, (a, b) in counts.items())
            sentences.append(
                f"{words}, times that Z, and that X and Y, were selected out of {other.n_trials}: "
                f"{text}."
            )
    if finds_both(results.get("toy_small_C"), SVM):
        sentences.append(
            "So the contrast of the paper depends on the smallest C that is tried: a very small C "
            "makes SVM-LW a ranking by correlation, which finds Z."
        )
    return bullet(*sentences)


def finds_both(result: Result | None, method: str) -> bool:
    """Whether a method mostly finds the best one and the best two."""
    if result is None or method not in result.trials:
        return False
    return min(found(result, method)) >= MOSTLY * result.n_trials


# -- accuracies ------------------------------------------------------------------------------------


def beside_paper(line: Line, method: str, paper_method: str) -> tuple[str, str]:
    """Whether a mean agrees with the paper's within two standard errors, and by how much not."""
    result, budget = line
    mean, deviation = result.number(method, budget)
    told, told_deviation = PAPER_ACCURACY[result.case.data, budget][paper_method]
    error = math.sqrt(deviation**2 / result.n_trials + told_deviation**2 / PAPER_TRIALS)
    gap = mean - told
    verdict = LEVEL if abs(gap) <= 2 * error else BETTER if gap > 0 else WORSE
    return verdict, f"{label(line)} ({gap:+.1f})"


def agreement(results: Results) -> str:
    """Table 3 against the paper's numbers."""
    lines = lines_of(results, "table3")
    counts = {LEVEL: 0, BETTER: 0, WORSE: 0}
    for line in lines:
        for method in PAPER_ACCURACY[line[0].case.data, line[1]]:
            if method in line[0].trials:
                counts[beside_paper(line, method, method)[0]] += 1
    total = sum(counts.values())
    if not total:
        return ""
    sentences = [
        f"**Table 3 beside the paper.** Of {total} numbers {counts[LEVEL]} agree within two "
        f"standard errors of the difference, {counts[BETTER]} are higher here and {counts[WORSE]} "
        "lower."
    ]
    for method in OURS:
        found = [beside_paper(line, method, PUBLISHED) for line in with_methods(lines, method)]
        parts = [
            f"{words} {listed(text for verdict, text in found if verdict == kind)}"
            for kind, words in ((LEVEL, "agrees on"), (BETTER, "higher on"), (WORSE, "lower on"))
        ]
        sentences.append(f"{NAMES[method]} against the paper's NMMKL: {'; '.join(parts)}.")
    wpbc = load_shared("wpbc")
    if wpbc is not None:
        share = 100.0 * max(np.mean(wpbc[1] == one) for one in np.unique(wpbc[1]))
        sentences.append(f"The larger class of Wpbc has {share:.1f} % of its rows.")
    return bullet(*sentences)


def verdicts(lines: Sequence[Line], one: str, other: str) -> dict[str, list[str]]:
    """Labels of the lines on which one method is better, level or worse than another."""
    found: dict[str, list[str]] = {BETTER: [], LEVEL: [], WORSE: []}
    for line in with_methods(lines, one, other):
        verdict, gap = line[0].compare(one, other, line[1])
        found[verdict].append(f"{label(line)} ({gap:+.1f})")
    return found


def against_rivals(results: Results) -> list[str]:
    """NMMKL against the baselines on all accuracies but those of the toy."""
    lines = lines_of(results, "table3", "figure2")
    bullets = []
    for own in OURS:
        counts = []
        for rival in RIVALS:
            found = verdicts(lines, own, rival)
            total = sum(map(len, found.values()))
            if total:
                text = f"{NAMES[rival]}: better on {len(found[BETTER])}, worse on "
                counts.append(f"{text}{len(found[WORSE])}, level on {len(found[LEVEL])} of {total}")
        if not counts:
            continue
        words = [f"**Does {NAMES[own]} beat the others?** Lines of Table 3 and Figure 2, against "
                 f"{'; '.join(counts)}."]  # fmt: skip
        for rival in (SVM, FISHER) if own == SWAP else ():
            found = verdicts(lines, own, rival)
            words.append(
                f"Better than {NAMES[rival]} on {listed(found[BETTER])}; worse on "
                f"{listed(found[WORSE])}."
            )
        bullets.append(bullet(*words))
    return bullets


def margin(results: Results, own: str, rival: str) -> tuple[float, float]:
    """Mean advantage of NMMKL over a rival in Table 3: the paper's, and ours."""
    lines = with_methods(lines_of(results, "table3"), *OURS, rival)
    paper = [PAPER_ACCURACY[one.case.data, budget] for one, budget in lines]
    here = [one.compare(own, rival, budget)[1] for one, budget in lines]
    told = [numbers[PUBLISHED][0] - numbers[rival][0] for numbers in paper]
    return float(np.mean(told)), float(np.mean(here))


def margins(results: Results) -> str:
    """The paper's margins over SVM-LW, Fisher and L1-SVM, and ours."""
    lines = with_methods(lines_of(results, "table3"), *OURS, SVM, FISHER, L1)
    if not lines:
        return ""
    parts = []
    for rival in (SVM, FISHER, L1):
        found = [margin(results, own, rival) for own in OURS]
        text = f"{found[0][0]:+.1f} over {NAMES[rival]} in the paper, here "
        parts.append(text + listed(f"{here:+.1f}" for _, here in found))
    return bullet(
        f"**Margins of NMMKL in Table 3**, in points, mean over its {len(lines)} lines; here with "
        f"the roundings in order: {'; '.join(parts)}."
    )


def rounding(results: Results) -> str:
    """What the two roundings change."""
    lines = with_methods(lines_of(results, "table3", "figure2"), *OURS)
    if not lines:
        return ""
    ratios = {
        method: np.median(np.concatenate([one.ratios(method, budget) for one, budget in lines]))
        for method in (PUBLISHED, SWAP)
    }
    found = verdicts(lines, SWAP, PUBLISHED)
    gaps = [line[0].compare(SWAP, PUBLISHED, line[1])[1] for line in lines]
    sets = list({id(one): one for one, _ in lines}.values())
    nested = [f"{sum(one.nested(method) for one in sets)} ({NAMES[method]})" for method in OURS]
    total = sum(one.n_trials for one in sets)
    return bullet(
        f"**Roundings.** Accuracy of {NAMES[SWAP]} against {NAMES[PUBLISHED]}: better on "
        f"{listed(found[BETTER])}, worse on {listed(found[WORSE])}, level on {len(found[LEVEL])} "
        f"of {len(lines)} lines; mean difference {np.mean(gaps):+.1f} points.",
        "The objective of the choice over its certified bound has the median "
        f"{ratios[PUBLISHED]:.2f} with the published rounding and {ratios[SWAP]:.2f} with "
        "exchanges, C and tau as chosen.",
        f"Choices of all budgets are nested in {listed(nested)} of {total} trials.",
    )


def expected_deviation(data: str, accuracy: float) -> tuple[float, float]:
    """Deviation of the accuracy of a fixed rule on random test rows, in points.

    For rows drawn with replacement, the binomial one, and for rows of a split, without.
    """
    _, n_rows = PAPER_SHAPES[data]
    n_test = n_rows - round(0.8 * n_rows)
    rate = accuracy / 100.0
    binomial = 100.0 * math.sqrt(rate * (1.0 - rate) / n_test)
    return binomial, binomial * math.sqrt((n_rows - n_test) / (n_rows - 1))


def deviation_shares(lines: Sequence[Line]) -> tuple[float, float]:
    """Median of deviations over those expected for splits, in the paper and here."""
    paper, own = [], []
    for result, budget in lines:
        data = result.case.data
        for mean, deviation in PAPER_ACCURACY[data, budget].values():
            paper.append(deviation / expected_deviation(data, mean)[1])
        for method in result.methods:
            mean, deviation = result.number(method, budget)
            own.append(deviation / expected_deviation(data, mean)[1])
    return float(np.median(paper or [np.nan])), float(np.median(own or [np.nan]))


def deviations(results: Results) -> str:
    """The paper's deviations on Wdbc against what splits of so few rows allow."""
    lines = lines_of(results, "table3")
    wdbc = results.get("wdbc")
    if wdbc is None:
        return ""
    parts = []
    for budget in wdbc.case.budgets:
        paper = PAPER_ACCURACY["wdbc", budget]
        binomial, split = expected_deviation("wdbc", paper[PUBLISHED][0])
        here = [wdbc.number(method, budget)[1] for method in wdbc.methods]
        there = [deviation for _, deviation in paper.values()]
        parts.append(
            f"with {budget} features {binomial:.1f} points by the binomial law and {split:.1f} for "
            f"rows of one table; the paper has {paper[PUBLISHED][1]:.1f} for NMMKL and "
            f"{min(there):.1f} to {max(there):.1f} over its methods, we {min(here):.1f} to "
            f"{max(here):.1f} over ours"
        )
    told, own = deviation_shares([line for line in lines if line[0] is wdbc])
    told_others, own_others = deviation_shares([line for line in lines if line[0] is not wdbc])
    small = told < 0.8 <= own
    return bullet(
        "**Deviations on Wdbc.** The accuracy of a fixed rule on the test rows of random splits "
        f"has a deviation of its own: {'; '.join(parts)}.",
        f"Median share of that deviation: {told:.2f} in the paper, {own:.2f} here; on the other "
        f"data {told_others:.2f} and {own_others:.2f}.",
        "The paper's ± on Wdbc are smaller than random splits of this size give; it does not say "
        "how they were computed."
        if small
        else "",
    )


def in_short(results: Results) -> str:
    """What to take away; a sentence whose numbers do not bear it is left out."""
    sentences = []
    toys = results.get("toy")
    if finds_both(toys, PUBLISHED) and finds_both(toys, SWAP):
        sentences.append("Table 1 and the choices of Table 4 come out as in the paper.")
    if finds_both(results.get("toy_small_C"), SVM):
        sentences.append(
            "SVM-LW does as well on the toy of Table 1 when the smallest C of its grid is small "
            "enough."
        )
    lines = with_methods(lines_of(results, "table3", "figure2"), *OURS, *RIVALS)
    for own in OURS if lines else ():
        counts = {LEVEL: 0, BETTER: 0, WORSE: 0}
        for one, budget in lines:
            for rival in RIVALS:
                counts[one.compare(own, rival, budget)[0]] += 1
        sentences.append(
            f"{NAMES[own]} is level with {listed(NAMES[m] for m in RIVALS)} in {counts[LEVEL]} of "
            f"{sum(counts.values())} comparisons of accuracy, better in {counts[BETTER]} and worse "
            f"in {counts[WORSE]}."
        )
    pairs = [(own, rival) for own in OURS for rival in (SVM, FISHER, L1)]
    if lines and all(2 * margin(results, *pair)[1] < margin(results, *pair)[0] for pair in pairs):
        sentences.append(
            "The margins of Table 3 over SVM-LW, Fisher and L1-SVM are less than half of the "
            "paper's, or none."
        )
    errors = [results[name] for name in ("simulated", "boston", "forest_fires") if name in results]
    better = [
        one
        for one in errors
        for budget in one.case.budgets
        if all(one.compare(SWAP, m, budget)[0] == BETTER for m in one.methods if m not in OURS)
    ]
    if errors and not better:
        sentences.append("The advantages of Tables 5 to 7 do not reproduce.")
    return bullet("**In short.**", *sentences) if sentences else ""


def findings(results: Results) -> list[str]:
    """Bullets for the page; what has no runs is left out."""
    lines = [
        in_short(results),
        toy(results),
        agreement(results),
        *against_rivals(results),
        margins(results),
        rounding(results),
        deviations(results),
        simulated_picks(results),
        simulated_errors(results),
        regression_lines(results, "boston", "Table 6, Housing"),
        regression_lines(results, "forest_fires", "Table 7, Forest fires"),
    ]
    return [line for line in lines if line]
