"""How much of a derivative any smooth function of the columns explains: neighbours at other times.

A row is predicted by the plane through its nearest rows of other runs, or of other times where
there are few runs. Only rows that have such neighbours count: a run that never comes back to where
it was says nothing about whether its columns determine its motion.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int

from . import _limits as limits


@final
@dataclass(frozen=True, eq=False)
class Determination:
    """The share of each target's variance over all rows that no function of the columns explains.

    `share` is measured on the rows `covered` by neighbours, what noise explains taken off;
    `enough` says whether there are enough of them for a statement.
    """

    share: Float[np.ndarray, " c"]
    covered: Bool[np.ndarray, " N"]

    @property
    def enough(self) -> bool:
        return bool(
            self.covered.sum() >= limits.MIN_COVERED_ROWS
            and self.covered.mean() >= limits.MIN_COVERED_SHARE
        )


def determination(
    points: Float[np.ndarray, "N V"],
    targets: Float[np.ndarray, "N c"],
    run: Int[np.ndarray, " N"],
    *,
    apart: int,
    point_noise: Float[np.ndarray, " V"],
    noise: Float[np.ndarray, " c"],
) -> Determination:
    """What neighbours leave unexplained. `apart` rows around a row of the same run are no
    neighbours of it. `point_noise` is the standard deviation of the noise of each column, `noise`
    the variance that all noise leaves in any prediction.
    """
    from scipy.spatial import KDTree

    varies = np.ptp(points, axis=0) > 0
    spread = points[:, varies].std(axis=0)
    scaled = (points[:, varies] - points[:, varies].mean(axis=0)) / spread
    count = max(4 * (scaled.shape[1] + 1), limits.MIN_NEIGHBOURS)
    predicted = np.zeros_like(targets)
    covered = np.zeros(len(points), dtype=bool)
    for part in _parts(run):
        others = np.flatnonzero(~_widened(part, apart))
        rows = np.flatnonzero(part)
        if len(others) < count or not len(rows):
            continue
        distance, near = KDTree(scaled[others]).query(scaled[rows], count)
        near = others[near]
        offsets = scaled[near] - scaled[rows][:, None]
        both = np.concatenate([targets[near], offsets], axis=2)
        values = _planes(
            offsets, distance, both, (limits.NEIGHBOUR_BLUR * point_noise[varies] / spread) ** 2
        )
        predicted[rows] = values[:, : targets.shape[1]]
        # a plane that neighbours support on all sides predicts that a row is where it is
        missed = np.linalg.norm(values[:, targets.shape[1] :], axis=1)
        covered[rows] = (distance[:, count // 2] < limits.MAX_NEIGHBOUR_DISTANCE) & (
            missed < limits.MAX_NEIGHBOUR_OFFSET
        )
    if not covered.any():
        return Determination(np.full(targets.shape[1], np.nan), covered)
    error = np.mean((targets - predicted)[covered] ** 2, axis=0)
    variance = targets.var(axis=0)
    share = np.maximum(error - limits.NOISE_MARGIN**2 * noise, 0.0) / np.where(
        variance > 0, variance, 1.0
    )
    return Determination(share, covered)


def _parts(run: Int[np.ndarray, " N"]) -> list[Bool[np.ndarray, " N"]]:
    """Rows that are predicted from the others: whole runs, or stretches of rows."""
    n_runs = int(run.max()) + 1
    if n_runs >= limits.NEIGHBOUR_PARTS:
        number = run % limits.NEIGHBOUR_PARTS
    else:
        number = np.arange(len(run)) * limits.NEIGHBOUR_PARTS // len(run)
    return [number == part for part in np.unique(number)]


def _widened(part: Bool[np.ndarray, " N"], by: int) -> Bool[np.ndarray, " N"]:
    """The rows and so many before and after them."""
    reach = np.cumsum(np.concatenate([[0], part.astype(int)]))
    index = np.arange(len(part))
    low, high = np.maximum(index - by, 0), np.minimum(index + by + 1, len(part))
    return reach[high] > reach[low]


def _planes(
    offsets: Float[np.ndarray, "B k V"],
    distance: Float[np.ndarray, "B k"],
    targets: Float[np.ndarray, "B k c"],
    blur: Float[np.ndarray, " V"],
) -> Float[np.ndarray, "B c"]:
    """The value at the origin of the weighted least-squares plane through neighbours.

    It has no slope in directions in which they are spread by less than the variance `blur`.
    """
    reach = 1.01 * distance[:, -1:] + 1e-12
    weights = 1 - (distance / reach) ** 2
    width = offsets.shape[2]
    design = np.concatenate([np.ones((*distance.shape, 1)), offsets], axis=2)
    weighted = np.swapaxes(design, 1, 2) * weights[:, None, :]
    gram = weighted @ design
    diagonal = np.arange(1, width + 1)
    size = np.einsum("bii->b", gram[:, 1:, 1:]) / max(width, 1)
    gram[:, diagonal, diagonal] += (limits.NEIGHBOUR_RIDGE * size + 1e-12)[:, None]
    gram[:, diagonal, diagonal] += weights.sum(axis=1)[:, None] * blur
    gram[:, 0, 0] += 1e-12
    return np.linalg.solve(gram, weighted @ targets)[:, 0]
