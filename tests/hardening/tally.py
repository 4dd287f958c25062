"""Outcomes of many trials, counted, with a way to see again each one that broke a promise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass
class Tally:
    """One family of trials, such as bit flips in a .kpath file.

    Parameters
    ----------
    title : str
        What was tried.
    kept : sequence of str
        Outcomes that keep what the package promises, in the order of the table; any other
        outcome breaks it.
    """

    title: str
    kept: tuple[str, ...]
    counts: Counter = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    def add(self, outcome: str, case: str) -> None:
        """Count a trial; ``case`` says how to do it again."""
        self.counts[outcome] += 1
        if outcome not in self.kept:
            self.broken.append(f"{outcome}: {case}")

    @property
    def trials(self) -> int:
        """Number of trials."""
        return sum(self.counts.values())

    def check(self, at_least: int = 1) -> None:
        """Fail if a promise was broken or fewer trials than expected took place."""
        assert self.trials >= at_least, f"{self.title}: {self.trials} trials of {at_least}"
        assert not self.broken, f"{self.title}: " + "; ".join(self.broken[:5])


def as_table(tallies: Iterable[Tally]) -> str:
    """Markdown: one line a family, with the count of every outcome."""
    lines = ["| what was tried | trials | outcomes | broken promises |"]
    lines.append("| --- | --- | --- | --- |")
    for tally in tallies:
        seen = [f"{tally.counts[name]} {name}" for name in tally.kept if tally.counts[name]]
        kept = ", ".join(seen) or "-"
        lines.append(f"| {tally.title} | {tally.trials} | {kept} | {len(tally.broken)} |")
    return "\n".join(lines)
