"""An order of features that are judged together: elimination, exchanges, substitutes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from kernelpath.tracers.joint.kernels import Features
from kernelpath.tracers.joint.leave_one_out import Exchanged, LeaveOneOut, Setting, rounded

DROP = 0.2  # share of the features that leave in a coarse round
FINE = 30  # features that are left when they begin to leave one at a time
HEAD = 10  # features that are exchanged
NEAR = 30  # the pool of exchanges: features up to this place,
SURVIVORS = 20  # and so many that survive the elimination longest
SUBSTITUTES = 40
TAIL = 20  # of the rest, features that are left when they begin to leave one at a time

Tell = Callable[[float, float], None]


def _nothing(done: float, total: float) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Elimination:
    """Features in the order in which they would be taken: who left last is first.

    Attributes
    ----------
    order : list of int
    setting : Setting
        Of what was left at the end, or at the beginning where nothing left.
    """

    order: list[int]
    setting: Setting


def eliminate(
    problem: LeaveOneOut,
    features: Features,
    *,
    fixed: Features = (),
    fine: int = FINE,
    exact: bool = True,
    drop: float = DROP,
    setting: Setting | None = None,
    tell: Tell = _nothing,
) -> Elimination:
    """Let features leave, those first without which the loss is least.

    While there are more than ``fine``, a share of them leaves in a round, judged by the gradient;
    then one leaves at a time, judged by the loss without it, or by the gradient if not ``exact``.

    Parameters
    ----------
    problem : LeaveOneOut
    features : sequence of int
    fixed : sequence of int
        Those that never leave; they come first in the order, and are not ordered.
    fine : int
    exact : bool
    drop : float
    setting : Setting, optional
        To begin with.
    tell : callable
        Gets the number of features that have left, and how many will.
    """
    kept = sorted(map(int, fixed))
    left = sorted(set(map(int, features)) - set(kept))
    gone: list[int] = []
    total = len(left)
    setting = problem.tune([*kept, *left], setting)
    while len(left) > (0 if kept else 1):
        everyone = [*kept, *left]
        judged = exact and len(left) <= fine
        found = (problem.removal_losses if judged else problem.scores)(everyone, setting)
        missed = rounded(found)[len(kept) :]
        count = min(max(1, int(drop * len(left))), max(1, len(left) - fine))
        leaving = np.argsort(missed, kind="stable")[:count]
        gone += [left[i] for i in leaving.tolist()]
        left = np.delete(left, leaving).tolist()
        tell(total - len(left), total)
        if judged:
            setting = replace(setting, loss=float(found[len(kept) + leaving[0]]))
        if kept or left:
            setting = problem.tune([*kept, *left], setting, exact=judged)
    return Elimination([*kept, *left, *gone[::-1]], setting)


@dataclass(frozen=True)
class JointOrder:
    """An order of features, and how it came about.

    Attributes
    ----------
    order : list of int
    exchanged : Exchanged or None
        Of the head; None where there is nothing to exchange.
    survivors : list of int
        The order of the elimination; empty where there was none.
    substitutes : list of int
        Features that were found as substitutes of a head.
    """

    order: list[int]
    exchanged: Exchanged | None
    survivors: list[int]
    substitutes: list[int]


def joint_order(
    problem: LeaveOneOut,
    features: Features,
    *,
    start: Features | None = None,
    fixed: Features = (),
    tell: Callable[[str], Tell] = lambda stage: _nothing,
) -> JointOrder:
    """Order features: by elimination, or by another order whose beginning is exchanged.

    The first features are exchanged with a pool while the loss falls, and put into order by
    elimination.  After an elimination, which loses copies while the others of their kind are still
    there, substitutes for the first features are looked for among all.

    Parameters
    ----------
    problem : LeaveOneOut
    features : sequence of int
    start : sequence of int, optional
        Order to begin with; features that it lacks come last.
    fixed : sequence of int
        Features that come first.
    tell : callable
        Gets the name of a step and gives what counts in it.
    """
    # Of a start, features up to a place are the pool; an elimination names fewer, and substitutes.
    fixed = sorted(map(int, fixed))
    survivors = eliminate(problem, features, fixed=fixed, tell=tell("elimination")).order
    begun = survivors if start is None else _first(fixed, start, survivors)
    head = begun[: max(HEAD, len(fixed))]
    if len(head) == len(begun):
        order = eliminate(problem, head, fixed=fixed, tell=tell("order")).order
        return JointOrder(order, None, survivors, [])
    found: list[int] = []
    if start is None:
        tell("substitutes")
        good = problem.good_head(head)
        found = problem.substitutes(good, sorted(set(begun) - set(good))).tolist()[:SUBSTITUTES]
    tell("exchanges")
    pool = [*begun[: SURVIVORS if start is None else NEAR], *survivors[:SURVIVORS], *found[:HEAD]]
    exchanged = problem.exchange(head, pool, fixed=fixed)
    head = eliminate(problem, exchanged.head, fixed=fixed, setting=exchanged.setting).order
    rest = begun
    if start is None:
        near = _first(head, survivors[:NEAR], found)
        tail = eliminate(problem, near, fixed=head, fine=TAIL, exact=False, tell=tell("order"))
        rest = _first(tail.order, begun)
    return JointOrder(_first(head, rest), exchanged, survivors, found)


def _first(*orders: Features) -> list[int]:
    """Orders one after the other; what was there before is not there again."""
    return list(dict.fromkeys(int(j) for order in orders for j in order))
