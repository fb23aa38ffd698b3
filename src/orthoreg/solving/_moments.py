"""Second moments of features, basis functions and targets, gathered in one pass over the data."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float, Int

from .._common.arrays import Arrays
from .._common.errors import DataError
from .._common.progress import track
from ..data import AnyRows, FoldRule, Rows
from . import _limits as limits


@final
@dataclass(frozen=True)
class Moments:
    """The sums sum_i z_i z_i' over samples, with z = (theta_1 ... theta_K, psi_1 ... psi_H, y_1 ...
    y_c).

    A quadratic problem needs no other data. Moments of disjoint samples add up, so that they can be
    gathered in chunks. `a - b` removes samples.
    """

    count: int
    total: Float[np.ndarray, "P P"]
    n_features: int
    n_basis: int

    def __add__(self, other: "Moments") -> "Moments":
        return replace(self, count=self.count + other.count, total=self.total + other.total)

    def __sub__(self, other: "Moments") -> "Moments":
        return replace(self, count=self.count - other.count, total=self.total - other.total)

    @property
    def n_targets(self) -> int:
        return len(self.total) - self.n_features - self.n_basis

    def _mean(self, rows: slice, columns: slice) -> np.ndarray:
        return self.total[rows, columns] / self.count

    @property
    def _parts(self) -> tuple[slice, slice, slice]:
        first, second = self.n_features, self.n_features + self.n_basis
        return slice(0, first), slice(first, second), slice(second, None)

    @cached_property
    def A(self) -> Float[np.ndarray, "K K"]:
        """Phi'Phi / N."""
        features, _, _ = self._parts
        return self._mean(features, features)

    @property
    def B(self) -> Float[np.ndarray, "K H"]:
        """Phi'Psi / N."""
        features, basis, _ = self._parts
        return self._mean(features, basis)

    @property
    def D(self) -> Float[np.ndarray, "H H"]:
        """Psi'Psi / N."""
        _, basis, _ = self._parts
        return self._mean(basis, basis)

    @cached_property
    def a(self) -> Float[np.ndarray, "K c"]:
        """Phi'y / N."""
        features, _, targets = self._parts
        return self._mean(features, targets)

    @property
    def d(self) -> Float[np.ndarray, "H c"]:
        """Psi'y / N."""
        _, basis, targets = self._parts
        return self._mean(basis, targets)

    @property
    def yy(self) -> Float[np.ndarray, " c"]:
        """|y_c|^2_D for each target."""
        _, _, targets = self._parts
        return np.diag(self._mean(targets, targets)).copy()

    def scaled(
        self, features: Float[np.ndarray, " K"], targets: Float[np.ndarray, " c"]
    ) -> "Moments":
        """Return the moments with features and targets divided by these scales."""
        scale = np.concatenate([features, np.ones(self.n_basis), targets])
        return replace(self, total=self.total / np.outer(scale, scale))

    def with_basis_minus(self, projection: Float[np.ndarray, "K H"]) -> "Moments":
        """Return the moments with psi replaced by psi - theta M."""
        change = np.eye(len(self.total))
        features, basis, _ = self._parts
        change[features, basis] = -projection
        return replace(self, total=change.T @ self.total @ change)

    def without(self, terms: Int[np.ndarray, " q"]) -> "Moments":
        """Return the moments of the residuals of all columns after least squares on these terms."""
        gram = self.total[np.ix_(terms, terms)]
        residual = (
            self.total
            - self.total[:, terms] @ np.linalg.pinv(gram, hermitian=True) @ (self.total[terms])
        )
        return replace(self, total=residual)

    def turned_basis(self, axes: Float[np.ndarray, "H r"]) -> "Moments":
        """Return the moments with psi replaced by psi @ axes."""
        features, basis, targets = self._parts
        n, r = self.n_features, axes.shape[1]
        unchanged = np.r_[features, slice(targets.start, len(self.total))]
        positions = np.r_[slice(0, n), slice(n + r, r + len(unchanged))]
        partial = self.total[:, basis] @ axes
        total = np.empty((r + len(unchanged), r + len(unchanged)))
        total[np.ix_(positions, positions)] = self.total[np.ix_(unchanged, unchanged)]
        total[n : n + r, n : n + r] = axes.T @ partial[basis]
        total[positions, n : n + r] = partial[unchanged]
        total[n : n + r, positions] = partial[unchanged].T
        return replace(self, total=total, n_basis=r)

    def only_basis(self, chosen: Bool[np.ndarray, " H"]) -> "Moments":
        """Return the moments with only the chosen basis functions."""
        features, _, targets = self._parts
        n = self.n_features
        columns = np.r_[features, n + np.flatnonzero(chosen), slice(targets.start, len(self.total))]
        total = self.total[np.ix_(columns, columns)]
        return replace(self, total=total, n_basis=int(np.count_nonzero(chosen)))


def gather(
    features: Any,
    basis: Any,
    rows: AnyRows,
    *,
    folds: int = 1,
    fold_of_row: Int[np.ndarray, " N"] | FoldRule | None = None,
) -> list[Moments]:
    """Return the moments of each fold, from one pass over the data in blocks.

    `features` and `basis` map points (M x V) to values, as `FeatureMap` and `Basis` do.
    `fold_of_row` contains the fold of each row, or is a rule that returns the folds of any chunk.
    By default, all rows are in the first fold. Memory use does not grow with N.
    """

    def of_chunk(chunk: Rows) -> _FoldMoments:
        fold = fold_of_row(chunk) if isinstance(fold_of_row, FoldRule) else fold_of_row
        return _FoldMoments(_gather(features, basis, chunk, folds, fold))

    return list(rows.sum_chunks(of_chunk).folds)


@final
@dataclass(frozen=True, eq=False)
class _FoldMoments:
    """Moments of each fold. `a + b` contains the moments of both chunks."""

    folds: list[Moments]

    def __add__(self, other: "_FoldMoments") -> "_FoldMoments":
        return _FoldMoments([a + b for a, b in zip(self.folds, other.folds, strict=True)])


def _gather(
    features: Any,
    basis: Any,
    rows: Rows,
    folds: int,
    fold_of_row: Int[np.ndarray, " N"] | None,
) -> list[Moments]:
    n_features = features(rows.points[:1]).shape[1]
    n_basis = basis(rows.points[:1]).shape[1]
    size = n_features + n_basis + rows.targets.shape[1]
    totals = np.zeros((folds, size, size))
    length = max(limits.MIN_BLOCK_ROWS, limits.BLOCK_NUMBERS // size)
    if fold_of_row is None:
        counts = [len(rows)] + [0] * (folds - 1)
        blocks: list[tuple[int, Any]] = [
            (0, slice(first, first + length)) for first in range(0, len(rows), length)
        ]
    else:
        counts = np.bincount(fold_of_row, minlength=folds)
        blocks = [
            (fold, chosen[first : first + length])
            for fold in range(folds)
            for chosen in [np.flatnonzero(fold_of_row == fold)]
            for first in range(0, len(chosen), length)
        ]

    def values(points: np.ndarray) -> np.ndarray:
        if not n_basis:
            return features(points)
        return np.concatenate([features(points).T, basis(points).T]).T

    scratch = np.empty((size, length))
    for fold, chosen in track(blocks, "Summing over rows"):
        targets = rows.targets[chosen]
        block = scratch[:, : len(targets)]  # one row per function, which fits into the cache
        with np.errstate(all="ignore"):
            block[: n_features + n_basis] = rows.evaluate(values, chosen).T
            block[n_features + n_basis :] = targets.T
            totals[fold] += block @ block.T
    if not np.isfinite(totals).all():
        raise not_finite(features, rows)
    return [
        Moments(int(count), total, n_features, n_basis)
        for count, total in zip(counts, totals, strict=True)
    ]


def no_basis(points: Float[np.ndarray, "M V"]) -> Float[np.ndarray, "M 0"]:
    """Return no basis functions, for moments of the library alone."""
    return points[:, :0]


def not_finite(features: Any, rows: Rows) -> DataError:
    """Return an error that names the first term and point with a value that cannot be squared."""
    points = rows.points
    for first in range(0, len(points), limits.MIN_BLOCK_ROWS):
        values = features(points[first : first + limits.MIN_BLOCK_ROWS])
        bad = np.argwhere(~(np.abs(values) < 1e150))
        if bad.size:
            row, term = bad[0]
            at = ", ".join(
                f"{name} = {value:g}"
                for name, value in zip(features.variables, points[first + row], strict=True)
            )
            name = features.names[term]
            remedy = "Remove it from the library or rescale the data."
            if np.isnan(values[row, term]):
                remedy = (
                    "Omit such rows, write the term so that it is defined there, such as "
                    "sqrt(abs(x)) for sqrt(x), or remove it from the library."
                )
            return DataError(
                f"Library term '{name}' is {values[row, term]:g} at row {first + row} ({at}); a "
                f"term must be finite and below 1e150 on all data. {remedy}"
            )
    return DataError("The targets are too large to square; rescale the data.")


def overlaps(
    features: Float[Arrays, "N K"], residual: Float[Arrays, "N c"]
) -> Float[Arrays, "K c"]:
    """Return <f_aug, phi_j>_D for all j = (k, c). [eq:orthoreg_penalty]

    phi_j(x) = theta_k(x) e_c.
    """
    return features.T @ residual / len(features)


def squared_norm(values: Float[np.ndarray, "N c"]) -> float:
    """Return |f|^2_D = 1/N sum_i |f(x_i)|^2."""
    return float(np.sum(values**2) / len(values))
