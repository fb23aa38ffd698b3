"""The value of candidate runs, and greedy selection with exchange."""

from collections.abc import Callable
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Float

from ..matching import RunSensitivities
from . import _limits as limits


def choose(count: int, candidates: int, value: Callable[[list[int]], float]) -> list[int]:
    """Return the indices of candidates with a large total value.

    The best candidate is added repeatedly; then each candidate is exchanged for a better one if
    possible. A candidate may be chosen several times.
    """
    chosen: list[int] = []
    for _ in range(count):
        values = [value([*chosen, k]) for k in range(candidates)]
        chosen.append(int(np.argmax(values)))
    for _ in range(limits.EXCHANGES if count > 1 else 0):
        before = list(chosen)
        for place in range(count):
            others = chosen[:place] + chosen[place + 1 :]
            values = [value([*others, k]) for k in range(candidates)]
            now = value(chosen)
            if max(values) > now + limits.MIN_GAIN * abs(now):
                chosen[place] = int(np.argmax(values))
        if chosen == before:
            break
    return chosen


def information(runs: RunSensitivities) -> Float[np.ndarray, "R P P"]:
    """Return the information S'S on the constants in each run, with the unknown initial state
    eliminated.
    """
    S = _without_starts(runs, runs.by_constants)
    return _by_run(runs, np.swapaxes(S, 1, 2) @ S)


def _by_run(runs: RunSensitivities, values: Float[np.ndarray, "B ..."]) -> np.ndarray:
    """Return the sum of the values over the segments of each run."""
    result = np.zeros((len(runs.growth), *values.shape[1:]))
    np.add.at(result, runs.run, values)
    return result


def _without_starts(
    runs: RunSensitivities, columns: Float[np.ndarray, "B Y q"]
) -> Float[np.ndarray, "B Y q"]:
    """Return the parts of the columns that no change of the initial state can reproduce."""
    result = np.empty(columns.shape)
    for r, start in enumerate(runs.by_start):
        axes, sizes, _ = np.linalg.svd(start, full_matrices=False)
        axes = axes[:, sizes > 1e-10 * max(sizes.max(initial=0.0), 1e-300)]
        result[r] = columns[r] - axes @ (axes.T @ columns[r])
    return result


def interval_widths(
    before: Float[np.ndarray, "P P"],
    added: Float[np.ndarray, "R P P"],
    directions: Float[np.ndarray, "K P"],
) -> Callable[[list[int]], Float[np.ndarray, " K"]]:
    """Return a function from a set of runs to the widths of the intervals of `directions` after
    these runs, relative to their present widths.

    The widths are sqrt(d' (C^-1 + M)^-1 d / d' C d), where C is the covariance `before`, and M is
    the total information of the runs.
    """
    size = np.sqrt(np.maximum(np.diag(before), 1e-300))
    C, M, D = before / np.outer(size, size), added * np.outer(size, size), directions * size
    identity, now = np.eye(len(C)), np.einsum("kp,pq,kq->k", D, C, D)

    def widths(chosen: list[int]) -> Float[np.ndarray, " K"]:
        after = np.linalg.solve(identity + C @ M[chosen].sum(axis=0), C)
        variances = np.einsum("kp,pq,kq->k", D, after, D)
        return np.sqrt(np.maximum(variances / now, 1e-300))

    return widths


@final
class Rivalry(NamedTuple):
    """Sums d'd, L'd and L'L over each run, which determine the separation of two models for any set
    of runs.

    d is the difference between the models in standard deviations of the noise. L contains the
    sensitivities of both models, each multiplied by a square root of the covariance of its
    constants.
    """

    squares: np.ndarray
    scores: np.ndarray
    grams: np.ndarray


def rivalry(
    first: RunSensitivities,
    second: RunSensitivities,
    covariances: tuple[Float[np.ndarray, "P P"], Float[np.ndarray, "Q Q"]],
) -> Rivalry:
    """Return the sums for two models of the same runs, with the initial state eliminated."""
    parts = []
    for runs, covariance in zip((first, second), covariances, strict=True):
        size = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
        values, axes = np.linalg.eigh(covariance / np.outer(size, size))
        parts.append(runs.by_constants @ (size[:, None] * axes * np.sqrt(np.maximum(values, 0))))
    difference = (second.predicted - first.predicted)[..., None]
    both = _without_starts(first, np.concatenate([*parts, difference], axis=2))
    L, d = both[..., :-1], both[..., -1]
    return Rivalry(
        _by_run(first, np.einsum("ry,ry->r", d, d)),
        _by_run(first, np.einsum("ryk,ry->rk", L, d)),
        _by_run(first, np.swapaxes(L, 1, 2) @ L),
    )


def separation(rival: Rivalry, chosen: list[int]) -> float:
    """Return the difference between two models over these runs, sqrt(d' (I + L L')^-1 d).

    The unit is the standard deviation due to the noise and the uncertain constants of both models.
    """
    M = np.eye(rival.grams.shape[1]) + rival.grams[chosen].sum(axis=0)
    v = rival.scores[chosen].sum(axis=0)
    return float(np.sqrt(max(rival.squares[chosen].sum() - v @ np.linalg.solve(M, v), 0.0)))


def spread_of(
    rows: Float[np.ndarray, "R T V"], known: Float[np.ndarray, "L V"]
) -> Callable[[list[int]], float]:
    """Return a function that measures how far the rows of runs are from known points and from each
    other.

    It is the sum over runs of the mean distance of a row to the nearest known point or row of an
    earlier run.
    """
    subset = np.linspace(0, rows.shape[1] - 1, limits.COVERED_ROWS).round().astype(int)
    rows = rows[:, np.unique(subset)]

    def distances(points: np.ndarray) -> np.ndarray:
        return np.array([
            np.sqrt(np.square(run[:, None] - points).sum(axis=2)).min(axis=1) for run in rows
        ])  # fmt: skip

    to_known = distances(known)
    to_runs: dict[int, np.ndarray] = {}

    def value(chosen: list[int]) -> float:
        total = 0.0
        for i, k in enumerate(chosen):
            nearest = to_known[k]
            for other in chosen[:i]:
                if other not in to_runs:
                    to_runs[other] = distances(rows[other])
                nearest = np.minimum(nearest, to_runs[other][k])
            total += float(nearest.mean())
        return total

    return value
