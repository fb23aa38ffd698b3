"""Detect a coefficient that differs between runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Int

from ..._common.notation import left_side
from ...terms import AbstractLibrary
from .. import _limits as limits
from .._findings import Advice
from .._held_out import beyond_noise, held_out_errors
from .._observations import Observations
from .._words import percent


@final
@dataclass(frozen=True)
class DiffersByRun:
    """A coefficient that differs between runs, and the share of the error beyond noise that
    remains.
    """

    equation: int
    term: str
    left: float
    advice: Advice


def differs_by_run(
    seen: Observations, library: AbstractLibrary, failing: Sequence[int]
) -> DiffersByRun | None:
    """Return the term whose coefficient per run most reduces the held-out error of an equation in
    `failing`.

    Return None if no reduction is clear.
    """
    samples = seen.samples
    features = seen.bind(library, samples.names, samples.outputs, samples.given)
    run = samples.run_of_row
    n_runs, n_terms = int(run.max(initial=0)) + 1, len(features.terms)
    if n_runs < 2 or n_terms > limits.MAX_TERMS_TRIED or not failing:
        return None
    is_chosen = run < limits.MAX_RUNS_COMPARED
    run = run[is_chosen]
    length = np.bincount(run)
    n_runs = len(length)
    if len(run) < limits.MIN_ROWS_PER_TERM * (n_terms + n_runs) or length.min() < n_runs:
        return None
    design, targets = features(samples.variables[is_chosen]), samples.targets[is_chosen]
    fold = _stretches(run, length)
    noise = np.sqrt(seen.noise / np.maximum(seen.size, 1e-300))
    best: DiffersByRun | None = None
    for c in failing:
        terms = np.flatnonzero(features.mask[c] & np.isfinite(design).all(axis=0))
        target = targets[:, [c]]
        before = float(held_out_errors(design[:, terms], target, fold)[0])
        start = beyond_noise(before, noise[c], limits.NOISE_MARGIN)
        if not start > 0:
            continue
        for k in terms:
            columns = np.zeros((len(run), n_runs))
            columns[np.arange(len(run)), run] = design[:, k]
            varying = np.hstack([design[:, terms[terms != k]], columns])
            after = float(held_out_errors(varying, target, fold)[0])
            left = beyond_noise(after, noise[c], limits.NOISE_MARGIN) / start
            is_clear = left <= limits.MAX_REMAINING_VARIATION
            is_clear &= after <= limits.MAX_REMAINING_ERROR_WITH_NOISE * before
            if is_clear and (best is None or left < best.left):
                name = features.names[k]
                best = DiffersByRun(c, name, left, _advice(seen, name, c, before, after))
    return best


def _stretches(run: Int[np.ndarray, " N"], length: Int[np.ndarray, " R"]) -> Int[np.ndarray, " N"]:
    """Return the index of the stretch of its run to which each row belongs."""
    index = np.arange(len(run)) - (np.cumsum(length) - length)[run]
    return index * limits.STRETCHES_PER_RUN // length[run]


def _advice(seen: Observations, term: str, equation: int, before: float, after: float) -> Advice:
    name, output = left_side(seen.labels[equation]), seen.samples.outputs[equation]
    return Advice(
        "per-run",
        f"The coefficient of {term} in {name} differs between runs: with another value in each "
        f"run, the error on held-out rows falls from {percent(before)} to {percent(after)}. Pass "
        f"--per-run \"{output}: {term}\", in Python Physics(per_run={{'{output}': ['{term}']}}).",
    )
