"""What came of following the paths of L1KR, and what users should hear about it."""

from __future__ import annotations

from dataclasses import dataclass

from kernelpath.tracers.l1kr.branches import Branch
from kernelpath.tracers.l1kr.curve import End
from kernelpath.tracers.l1kr.equations import RidgeSystem
from kernelpath.tracers.l1kr.trace import L1KRPoint, L1KRTrace

NOTHING = 1e-3  # of the target: a machine that explains less is no better than the mean
WORDS: dict[str, str] = {
    End.SPENT: "the ridge fell to zero before all rows were fitted: the norm budget is more than "
    "these features can use, as where rows with the same features have other targets. Lower "
    "norm_budget",
    End.STUCK: "steps became too short. Another norm_budget or a larger tol may lead farther",
    End.BLURRED: "rounding errors blur it, as where features are nearly the same or the ridge is "
    "tiny",
}


@dataclass(frozen=True, eq=False)
class Outcome:
    """Curves that were followed.

    Attributes
    ----------
    trace : L1KRTrace
        The best path from zero weights, by rows left out.
    system : RidgeSystem
        Its equations.
    branch : Branch or None
        Another curve that is better somewhere.
    interrupted : str
        What Ctrl-C cut short; nothing if it did not.
    """

    trace: L1KRTrace
    system: RidgeSystem
    branch: Branch | None = None
    interrupted: str = ""

    @property
    def curves(self) -> list[L1KRTrace]:
        """The path, and the branch where there is one."""
        return [self.trace] if self.branch is None else [self.trace, self.branch]

    @property
    def best(self) -> L1KRTrace:
        """The curve whose best point has the smallest error of rows left out."""
        return min(self.curves, key=lambda one: one.points[one.best].leave_one_out)

    @property
    def best_system(self) -> RidgeSystem:
        """The equations of the best curve."""
        best = self.best
        return best.system if isinstance(best, Branch) else self.system

    def remarks(self, searched: bool) -> list[str]:
        """Sentences to warn with; ``searched`` says whether other branches were looked for."""
        found = []
        if self.interrupted:
            found.append(f"The fit was interrupted {self.interrupted}. What was found is kept.")
        if _explains_nothing(self.best.points[self.best.best]):
            hope = "" if searched else "; search_branches=True looks for effects in combination"
            found.append(
                "The chosen point predicts no better than the mean of the target: no feature says "
                f"anything about it by itself{hope}."
            )
        elif self._ended_early:
            found.append(
                f"The path ended early, after {len(self.trace.points)} points: "
                f"{WORDS.get(self.trace.end, self.trace.end)}. What was found is kept."
            )
        return found

    @property
    def _ended_early(self) -> bool:
        """Whether the path did; one that explains nothing does not count beside a branch."""
        if not self.trace.ended_early or self.trace.end == End.INTERRUPTED:
            return False
        return self.branch is None or not all(map(_explains_nothing, self.trace.points))


def _explains_nothing(point: L1KRPoint) -> bool:
    return point.loss > (1.0 - NOTHING) * len(point.a)  # of a standardised target
