"""What the numbers of the GMKL tables say; conditions and numbers come from the runs."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from typing import Any

import numpy as np
from gmkl_page import Row, Rows
from gmkl_settings import (
    BOTH,
    DEFAULT,
    LABELS,
    NONMONOTONE,
    PAPER,
    PAPER_MACHINES,
    PGD,
    SPECTRAL,
    SPG,
)


def bullet(*sentences: str) -> str:
    text = "- " + " ".join(one for one in sentences if one)
    return textwrap.fill(text, 100, subsequent_indent="  ", break_on_hyphens=False)


def name(row: Row) -> str:
    power = "" if row.case.p == 1 else f" (p = {row.case.p:g})"
    return LABELS[row.case.data] + power


def listed(items: Iterable[str]) -> str:
    items = list(items)
    if len(items) < 2:
        return "".join(items) or "none"
    return f"{', '.join(items[:-1])} and {items[-1]}"


def span(values: Iterable[float]) -> str:
    values = list(values)
    if not values:
        return "none"
    low, high = (f"{value:.2g}" if value < 10 else f"{value:,.0f}" for value in
                 (min(values), max(values)))  # fmt: skip
    return low if low == high else f"{low} to {high}"


def span_signed(values: list[float]) -> str:
    low, high = f"{min(values):+.1f}", f"{max(values):+.1f}"
    return low if low == high else f"{low} to {high}"


def fewer(rows: Iterable[Row], one: str, other: str) -> list[float]:
    """Machines of the second solver over those of the first, where both converged."""
    return [
        row.machines(other) / max(row.machines(one), 1.0)
        for row in rows
        if row.converged(one) and row.converged(other)
    ]


def spectral_against_plain(rows: list[Row], what: str) -> str:
    """SPG against PGD on the cases of some tables."""
    both = [row for row in rows if row.converged(SPG) and row.converged(PGD)]
    ratios = fewer(both, SPG, PGD)
    only_spg = [row for row in rows if row.converged(SPG) and not row.converged(PGD)]
    only_pgd = [row for row in rows if row.converged(PGD) and not row.converged(SPG)]
    neither = [row for row in rows if not row.converged(PGD) and not row.converged(SPG)]
    nearer = [row for row in neither if row.of(PGD, "gap").mean() < row.of(SPG, "gap").mean()]
    worse = [name(row) for row, ratio in zip(both, ratios) if ratio < 1]
    return bullet(
        f"**{what}.**",
        f"Both converged in {len(both)} of {len(rows)} cases; PGD then took {span(ratios)} times "
        f"the machines of SPG (geometric mean {geometric(ratios):.1f})."
        if both
        else f"In none of {len(rows)} cases did both converge within the limits.",
        f"SPG took more machines than PGD on {listed(worse)}." if worse else "",
        f"Only SPG converged on {listed(map(name, only_spg))}." if only_spg else "",
        f"Only PGD converged on {listed(map(name, only_pgd))}." if only_pgd else "",
        f"Neither did on {listed(map(name, neither))}." if neither else "",
        f"There PGD ended with the smaller gap on {listed(map(name, nearer))}." if nearer else "",
    )


def geometric(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def default_solver(rows: list[Row], what: str) -> str:
    """The default against SPG on sums."""
    failed = [name(row) for row in rows if not row.converged(DEFAULT)]
    least = [row.machines(SPG) / row.machines(DEFAULT) for row in rows]
    time = [row.of(SPG, "seconds").mean() / row.of(DEFAULT, "seconds").mean() for row in rows]
    bounds = any(not row.converged(SPG) for row in rows)
    return bullet(
        f"**{what}.** The default took {span(row.machines(DEFAULT) for row in rows)} machines; SPG "
        f"{'at least ' if bounds else ''}{span(least)} times as many and {span(time)} times the "
        f"CPU time{', runs cut at their limit included' if bounds else ''}.",
        f"The default did not reach the tolerance on {listed(failed)}."
        if failed
        else "It reached the tolerance in every run.",
    )


def paper_ratio(rows: list[Row]) -> str:
    """Seconds of PGD over SPG, in the paper and here: what speed-ups reproduce."""
    known = []
    for row in rows:
        slow, fast = PAPER[row.case.table, row.case.data, row.case.p]
        if slow is not None and fast is not None:
            here = row.of(PGD, "seconds").mean() / row.of(SPG, "seconds").mean()
            bound = not row.converged(PGD)
            open_end = not row.converged(SPG)
            known.append((row, slow[0] / fast[0], here, bound, open_end))
    settled = [(row, paper, here) for row, paper, here, bound, ends in known if not bound | ends]
    smaller = [name(row) for row, paper, here in settled if here < 0.5 * paper]
    return bullet(
        "**Speed of SPG over PGD, in seconds.** The paper's ratios are "
        f"{span(paper for _, paper, *_ in known)}; here, where both converged, "
        f"{span(here for _, _, here in settled)} ({len(settled)} cases).",
        f"Less than half of the paper's ratio in {len(smaller)} of them.",
    )


def same_solutions(rows: list[Row]) -> str:
    """Whether SPG and PGD find equally good points of products."""
    found = []
    for row in rows:
        if row.converged(PGD) and row.converged(SPG):
            gap = row.of(SPG, "objective") / row.of(PGD, "objective") - 1.0
            found += [(name(row), float(value)) for value in gap]
    if not found:
        return ""
    worst, best = max(found, key=lambda pair: pair[1]), min(found, key=lambda pair: pair[1])
    close = np.mean([abs(value) <= 0.01 for _, value in found])
    return bullet(
        "**Local optima.** The paper saw no difference between the solutions of SPG and PGD on "
        f"products. Here {100 * close:.0f} % of {len(found)} pairs of runs agree to 1 % of the "
        f"objective; SPG is at most {100 * worst[1]:.1f} % above ({worst[0]}) and "
        f"{-100 * best[1]:.1f} % below ({best[0]})."
    )


def component_words(rows: Rows) -> str:
    seven = [row for key, row in rows.items() if key[0] == 7]
    if not seven:
        return ""
    solvers = (NONMONOTONE, SPECTRAL, BOTH)
    reached = {one: [name(row) for row in seven if row.converged(one)] for one in solvers}
    plain = {key[1]: row for key, row in rows.items() if key[0] in (2, 7) and row.has(PGD)
             and key[2] == 1.1}  # fmt: skip
    text = "; ".join(f"{one}: {listed(reached[one])}" for one in solvers)
    left = {one: max(float(row.of(one, "gap").max()) for row in seven) for one in solvers}
    gaps = ", ".join(f"{one} {value:.0e}" for one, value in left.items())
    hard = [row for row in seven if row.case.p == 1.1]
    fewest = [
        name(row)
        for row in seven
        if row.of(BOTH, "gap").mean()
        <= min(row.of(one, "gap").mean() for one in (NONMONOTONE, SPECTRAL))
    ]
    default = [plain[row.case.data].machines(DEFAULT) for row in seven if row.case.data in plain]
    small = [PAPER_MACHINES[row.case.data][3] for row in seven]
    return bullet(
        f"**Table 7.** Reached the gap within the limit: {text}. Largest gaps left: {gaps}.",
        "At p = 1.1, the problem of the paper, no variant did: its counts are neither confirmed "
        "nor refuted by runs this short."
        if hard and not any(row.converged(one) for row in hard for one in solvers)
        else "",
        f"Both components together end nearest to the optimum on {listed(fewest)} only."
        if len(fewest) < len(seven)
        else "Both components together end nearest to the optimum on every data set.",
        f"The alternation takes {span(default)} machines where the paper's best variant took "
        f"{span(small)}."
        if default
        else "",
    )


def madelon_words(parts: list[dict[str, Any]], free: dict[str, Any] | None) -> str:
    if not parts:
        return ""
    gaps = []
    for part in parts:
        n, plus, minus = part["n_new"], part["only_product"], part["only_joint"]
        gap, error = 100 * (plus - minus) / n, 100 * math.sqrt(plus + minus) / n
        gaps.append((part["size"], gap, error))
    rate = parts[0]["product"]
    one_error = 100 * math.sqrt(rate * (1.0 - rate) / parts[0]["n_new"])
    text = ", ".join(f"{gap:+.1f} ± {error:.1f} at {size}" for size, gap, error in gaps)
    clear = [f"{size} features" for size, gap, error in gaps if abs(gap) > 2 * error]
    return bullet(
        "**Madelon.** One width per feature, learned by the l1 product, against one width for all "
        f"on the same features, in points of accuracy: {text} features.",
        f"Beyond two standard errors: {listed(clear)}.",
        f"But free to choose its number of features, the joint kernel takes {free['n_features']} "
        f"and has {100 * free['joint_rbf']:.1f} %; against that the product differs by "
        f"{span_signed([100 * (part['product'] - free['joint_rbf']) for part in parts])} points, "
        f"where one accuracy has a standard error of {one_error:.1f}."
        if free
        else "",
    )


def findings(rows: Rows, madelon: list[dict[str, Any]], free: dict[str, Any] | None) -> list[str]:
    """Bullets for the page; what has no runs is left out."""
    of = {n: [row for key, row in rows.items() if key[0] == n] for n in (2, 4, 5, 9)}
    lines = []
    if of[2]:
        lines.append(spectral_against_plain(of[2], "Table 2, sums with p > 1"))
    if of[4]:
        lines.append(spectral_against_plain(of[4], "Table 4, sums with the l1 norm"))
    if of[5] or of[9]:
        lines.append(spectral_against_plain(of[5] + of[9], "Tables 5 and 9, products"))
    if of[2]:
        lines.append(default_solver(of[2], "Alternation in Table 2"))
    if of[4]:
        lines.append(default_solver(of[4], "Newton steps in Table 4"))
    every = [row for some in of.values() for row in some]
    lines += [paper_ratio(every)] if every else []
    lines += [same_solutions(of[5] + of[9]), component_words(rows), madelon_words(madelon, free)]
    return [line for line in lines if line]
