"""The Cramer-Rao bound of constants at the truth."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from ._system import Drawn, Runs

_STEP = 1e-4  # relative change of a constant for a difference quotient; solutions err by 1e-10
Key = str | tuple[int, str]


@lru_cache(maxsize=16)  # the same for all fits of a case
def covariance(
    drawn: Drawn, runs: Runs, noise: tuple[float, ...], keys: tuple[Key, ...]
) -> np.ndarray | None:
    """Return the minimum covariance of the constants `keys` (names, or equation and term) for runs
    with this noise and unknown initial states, or None if it is not finite. The noise of an
    unmeasured state is infinite."""
    sizes = np.array(noise)
    measured = np.isfinite(sizes)
    total = np.zeros((len(keys), len(keys)))
    for start, signals, states in zip(runs.starts, runs.signals, runs.states, strict=True):

        def path(system: Drawn, begin: np.ndarray, signals: list = signals) -> np.ndarray:
            states = system.solve(begin, runs.times, signals)[:, measured]
            return (states / sizes[measured]).ravel()

        by_constant = [
            (path(_changed(drawn, key, _STEP), start) - path(_changed(drawn, key, -_STEP), start))
            / (2 * _STEP * abs(_value(drawn, key)))
            for key in keys
        ]
        size = _STEP * np.abs(states).max(axis=0)
        by_start = [
            (path(drawn, start + step) - path(drawn, start - step)) / (2 * step.max())
            for step in np.diag(size)
        ]
        a, b = np.column_stack(by_constant), np.column_stack(by_start)
        projected = a - b @ np.linalg.lstsq(b, a, rcond=None)[0]
        total += projected.T @ projected
    scale = np.sqrt(np.diag(total))
    if not np.all(np.isfinite(scale)) or not np.all(scale > 0):
        return None
    inverse = np.linalg.pinv(total / np.outer(scale, scale), hermitian=True)
    return inverse / np.outer(scale, scale)


def _value(drawn: Drawn, key: Key) -> float:
    return drawn.constants[key] if isinstance(key, str) else drawn.coefficients[key[0]][key[1]]


def _changed(drawn: Drawn, key: Key, share: float) -> Drawn:
    value = _value(drawn, key) + share * abs(_value(drawn, key))
    if isinstance(key, str):
        return replace(drawn, constants={**drawn.constants, key: value})
    return replace(drawn, changed={**drawn.changed, key: value})
