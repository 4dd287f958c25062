"""Algorithm 1 of [jawanpuria2014]: predict, correct, eliminate, as published.

An independent second way to the path of :mod:`kernelpath.tracers.lp_kta.problem`: it never uses the
closed-form thresholds.  The corrector works on ``log eta``, where Newton cannot step below zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelpath.tracers.lp_kta.problem import PNormProblem, TracedWeights
from kernelpath.utils.progress import begin


def first_derivative(
    problem: PNormProblem, p: float, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """``d eta / d p``, Eq. (6)."""
    log = np.log(weights)
    slope_p = problem.norm_strength * weights ** (p - 1.0) * (1.0 + p * log)
    return -slope_p / _curvature(problem, p, weights)


def second_derivative(
    problem: PNormProblem, p: float, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """``d^2 eta / d p^2``, by differentiating Eq. (5) twice along the path."""
    log = np.log(weights)
    norm = problem.norm_strength
    first = first_derivative(problem, p, weights)
    bend = norm * p * (p - 1.0) * (p - 2.0) * weights ** (p - 3.0)
    if problem.bregman_strength > 0:
        third = problem.divergence.third_derivative(weights)
        bend = bend + problem.bregman_strength * third
    mixed = norm * weights ** (p - 2.0) * ((2.0 * p - 1.0) + p * (p - 1.0) * log)
    slope_pp = norm * weights ** (p - 1.0) * (2.0 * log + p * log**2)
    rest = bend * first**2 + 2.0 * mixed * first + slope_pp
    return -rest / _curvature(problem, p, weights)


def _curvature(problem: PNormProblem, p: float, weights: NDArray) -> NDArray[np.float64]:
    """Derivative of Eq. (5) in eta."""
    value = problem.norm_strength * p * (p - 1.0) * weights ** (p - 2.0)
    if problem.bregman_strength > 0:
        value = value + problem.bregman_strength * problem.divergence.second_derivative(weights)
    return value


def predict(
    problem: PNormProblem, p: float, step: float, weights: NDArray[np.float64], order: int
) -> NDArray[np.float64]:
    """Guess the weights at ``p - step``: warm start, first or second order."""
    guess = weights
    if order >= 1:
        guess = guess - step * first_derivative(problem, p, weights)
    if order >= 2:
        guess = guess + 0.5 * step**2 * second_derivative(problem, p, weights)
    return np.where((guess > 0) & np.isfinite(guess), guess, weights)


def correct(
    problem: PNormProblem,
    p: float,
    active: NDArray[np.intp],
    guess: NDArray[np.float64],
    *,
    tol: float = 1e-14,
    max_iter: int = 100,
) -> tuple[NDArray[np.float64], int]:
    """Newton on ``log eta`` from the guess; returns the weights and the number of sweeps."""
    scores = problem.scores[active]
    bregman, norm = problem.bregman_strength, problem.norm_strength
    t = np.log(guess)
    going = np.arange(len(t))
    sweep = 0
    for sweep in range(1, max_iter + 1):  # noqa: B007
        now = t[going]
        eta, tilt = np.exp(now), np.exp((p - 1.0) * now)
        value = norm * p * tilt - scores[going]
        slope = norm * p * (p - 1.0) * tilt
        if bregman > 0:
            value = value + bregman * problem.divergence.derivative(eta)
            slope = slope + bregman * problem.divergence.second_derivative(eta) * eta
        step = _newton_step(problem, value, slope, scores[going])
        t[going] = np.maximum(now - step, -700.0)
        going = going[(np.abs(step) > tol) & (t[going] > -700.0)]
        if len(going) == 0:
            break
    return np.exp(t), sweep


def _newton_step(
    problem: PNormProblem, value: NDArray, slope: NDArray, scores: NDArray
) -> NDArray[np.float64]:
    """Newton step in ``log eta``: on the logarithm of Eq. (5) where both its sides are positive.

    There it is convex with slope in [p - 1, 1].  With a derivative ``F'`` that is negative near 0
    the equation itself is convex in ``log eta``; a far guess then moves by 10 at most.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        if problem.divergence.positive_reference and problem.bregman_strength > 0:
            return np.clip(np.nan_to_num(value / slope), -10.0, 10.0)
        left = value + scores
        return np.nan_to_num(np.log(left / scores) * left / slope)


def trace_predictor_corrector(
    problem: PNormProblem, parameters: NDArray[np.float64], order: int = 1
) -> TracedWeights:
    """Path by Algorithm 1: eliminated features stay at 0 for all smaller ``p``.

    A kept feature that would be eliminated is solved for without a prediction: its weight may
    be 0, which has no logarithm.
    """
    active = np.flatnonzero(problem.scores > -np.inf)
    weights = problem.weights(float(parameters[0]), active)
    supports: list[NDArray[np.int32]] = []
    rows: list[NDArray[np.float64]] = []
    kkt, values = np.zeros(len(parameters)), np.zeros(len(parameters))
    update = begin("path")
    for i, p in enumerate(parameters):
        update(i, len(parameters))
        if i > 0:
            before = float(parameters[i - 1])
            if p == 1.0:  # the path is smooth for p > 1 only; its end has a closed form
                weights = problem.weights(1.0, active)
            else:
                guess = predict(problem, before, before - float(p), weights, order)
                weights, _ = correct(problem, float(p), active, guess)
        keep = weights > problem.elimination_tol
        active, weights = active[keep], weights[keep]
        here, found = _with_kept(problem, float(p), active, weights)
        supports.append(here.astype(np.int32))
        rows.append(found)
        kkt[i] = problem.residual(float(p), here, found)
        values[i] = problem.objective(float(p), here, found)
    indptr = np.concatenate([[0], np.cumsum([len(s) for s in supports])])
    return TracedWeights(indptr, np.concatenate(supports), np.concatenate(rows), kkt, values)


def _with_kept(
    problem: PNormProblem, p: float, active: NDArray[np.intp], weights: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Active features and their weights, with the kept ones that are not among them."""
    if problem.kept is None:
        return active, weights
    low = np.setdiff1d(np.flatnonzero(problem.kept), active)
    features = np.concatenate([active, low])
    order = np.argsort(features)
    return features[order], np.concatenate([weights, problem.weights(p, low)])[order]
