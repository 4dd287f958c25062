"""The slow, obvious twins of survival targets: Cox's partial likelihood, row by row."""

from __future__ import annotations

import math


def score_at_zero(x, time, event):
    """Derivative of the log partial likelihood of one column at a coefficient of 0 (Breslow)."""
    score = 0.0
    for i in range(len(x)):
        if event[i]:
            watched = [x[k] for k in range(len(x)) if time[k] >= time[i]]
            score += x[i] - sum(watched) / len(watched)
    return score


def log_likelihood(beta, x, time, event):
    """Log partial likelihood of one column; events at one time share one risk set (Breslow)."""
    total = 0.0
    for i in range(len(x)):
        if event[i]:
            watched = [math.exp(beta * x[k]) for k in range(len(x)) if time[k] >= time[i]]
            total += beta * x[i] - math.log(sum(watched))
    return total


def residuals(time, event):
    """Events seen less events expected, with the sum over event times written out."""
    found = []
    for t, seen in zip(time, event):
        expected = 0.0
        for moment in sorted({u for u, e in zip(time, event) if e and u <= t}):
            died = sum(1 for u, e in zip(time, event) if e and u == moment)
            expected += died / sum(1 for u in time if u >= moment)
        found.append(float(seen) - expected)
    return found
