"""Moments of many disjoint cells of the data at once: what choosing terms works on."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float, Int

from .._errors import DataError
from ..data import Samples
from ._centered import CenteredTerms
from ._moments import Moments, not_finite

_BLOCK = 16384
_MOST_NUMBERS = 2**24  # of all cells together; groups are merged until they fit
_LARGEST = 1e100


@final
@dataclass(frozen=True, eq=False)
class Division:
    """For each row its group, and for each partition whether the row is in its outer part.

    Groups are whole runs, or stretches of rows where there are few runs. `pushed` are the rows'
    variables moved away from their mean, whose moments count `caution` times.
    """

    group: Int[np.ndarray, " N"]
    outer: Bool[np.ndarray, "N Q"]
    partitions: tuple[str, ...]
    pushed: Float[np.ndarray, "N V"] | None = None
    caution: float = 0.0


@final
@dataclass(frozen=True, eq=False)
class Cells:
    """sum_i z_i z_i' over the rows of each cell, with z = (theta_1 ... theta_K, y_1 ... y_c).

    A cell holds the rows of one group that lie on the same side of every partition, so that the
    moments of any part are a sum of cells. `beyond` is `caution` times the mean of theta theta'
    over the pushed rows; `target_error` the squared error that targets are known to have;
    `centered` the terms about the mean of the data.
    """

    count: Int[np.ndarray, " C"]
    total: Float[np.ndarray, "C P P"]
    group: Int[np.ndarray, " C"]
    outer: Bool[np.ndarray, "C Q"]
    partitions: tuple[str, ...]
    beyond: Float[np.ndarray, "K K"]
    target_error: Float[np.ndarray, " c"]
    centered: CenteredTerms

    @property
    def n_features(self) -> int:
        return len(self.beyond)

    @property
    def n_groups(self) -> int:
        return int(self.group.max()) + 1

    @property
    def all(self) -> Moments:
        """The moments of all rows."""
        return Moments(int(self.count.sum()), self.total.sum(axis=0), self.n_features, 0)

    def scaled(self) -> tuple["Cells", Float[np.ndarray, " K"], Float[np.ndarray, " c"]]:
        """The cells of terms and targets of mean square one, and the scales divided by."""
        scale = np.sqrt(np.diag(self.total.sum(axis=0)) / self.count.sum())
        scale = np.where(scale > 0, scale, 1.0)
        terms, targets = scale[: self.n_features], scale[self.n_features :]
        cells = Cells(
            self.count,
            self.total / np.outer(scale, scale),
            self.group,
            self.outer,
            self.partitions,
            self.beyond / np.outer(terms, terms),
            self.target_error / targets**2,
            self.centered.scaled(terms),
        )
        return cells, terms, targets


def gather_cells(features: Any, samples: Samples, division: Division) -> Cells:
    """The moments of every cell, from one pass in blocks of rows sorted by cell."""
    n_features = features(samples.variables[:1]).shape[1]
    size = n_features + samples.targets.shape[1]
    cell_of_row, group, outer = _cells(division, _MOST_NUMBERS // size**2)
    order = np.argsort(cell_of_row, kind="stable")
    total = np.zeros((len(group), size, size))
    beyond, n_beyond = np.zeros((n_features, n_features)), 0
    for first in range(0, len(order), _BLOCK):
        rows = order[first : first + _BLOCK]
        block = np.hstack([features(samples.variables[rows]), samples.targets[rows]])
        cells = cell_of_row[rows]
        starts = np.flatnonzero(np.diff(cells, prepend=-1))
        with np.errstate(all="ignore"):
            for a, b in zip(starts, [*starts[1:], len(rows)], strict=True):
                total[cells[a]] += block[a:b].T @ block[a:b]
        if division.pushed is not None and division.caution:
            far = features(division.pushed[rows])
            far = far[(np.abs(far) < _LARGEST).all(axis=1)]  # a term may not be defined there
            beyond += far.T @ far
            n_beyond += len(far)
    if not np.isfinite(total).all():
        raise not_finite(features, samples)
    count = np.bincount(cell_of_row, minlength=len(group))
    beyond = division.caution * beyond / max(n_beyond, 1)
    centered = CenteredTerms.of(features, samples.variables)
    return Cells(
        count, total, group, outer, division.partitions, beyond, samples.target_error, centered
    )


def _cells(
    division: Division, most: int
) -> tuple[Int[np.ndarray, " N"], Int[np.ndarray, " C"], Bool[np.ndarray, "C Q"]]:
    """For each row its cell; for each cell its group and its side of every partition."""
    width = division.outer.shape[1]
    if width > 40:
        raise DataError(f"At most 40 partitions can be kept apart; there are {width}.")
    bits = division.outer @ (1 << np.arange(width, dtype=np.int64))
    group = division.group
    while True:
        code = (group.astype(np.int64) << width) | bits
        kept, cell_of_row = np.unique(code, return_inverse=True)
        if len(kept) <= most or not group.any():
            break
        group = group // 2
    outer = (kept[:, None] >> np.arange(width)) & 1 == 1
    return cell_of_row, kept >> width, outer
