"""`Gate`: the region of the training data, and the residual's values outside it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
from jaxtyping import Float, Int

from .._common.arrays import Arrays, pytree
from .._common.errors import InputError
from .._common.registry import part
from ..data import Extent
from . import _limits as limits
from ._limits import FARTHEST as FARTHEST
from ._limits import SEARCHED as SEARCHED
from ._limits import SHARPNESS as SHARPNESS

_MAX_TREE_VARIABLES = 12  # variables; for more, a tree is slower than computing all pairs
# if there are fewer, computing all pairs is faster than a tree
_MAX_DENSE_POINTS, _MAX_DENSE_PAIRS = 256, 2**20
_BLOCK = 1024  # rows processed together


@pytree()
@final
@dataclass(frozen=True, eq=False)
class Region:
    """The region of the training data, as determined by `Gate`.

    The distance of z is min_j |rate z - landmark_j|. A variable that never varied has rate 0.
    `held` contains the residual's values at the landmarks, if it keeps them outside the data.
    `period` is the period of each variable times its rate, or zero. Along a periodic variable, the
    shorter way counts.
    """

    rate: Float[Arrays, " V"]
    landmarks: Float[Arrays, "L V"]
    fade: Any
    held: Float[Arrays, "L c"] | None = None
    period: Float[Arrays, " V"] | None = None

    def with_images(
        self,
        images: Sequence[tuple[Float[np.ndarray, " V"], Float[np.ndarray, " c"]]],
        periods: Float[np.ndarray, " V"],
    ) -> "Region":
        """Return the region extended by images, each given by signs of variables and of the
        residual.

        `periods` are the periods of the variables, or zero.
        """
        held = self.held
        return replace(
            self,
            landmarks=np.concatenate([self.landmarks * signs for signs, _ in images]),
            held=None if held is None else np.concatenate([held * signs for _, signs in images]),
            period=periods * self.rate if periods.any() else None,
        )

    def distance(self, variables: Float[np.ndarray, "N V"]) -> Float[np.ndarray, " N"]:
        """Return the distance of each row: 1 at the edge of the training data, smaller inside."""
        starts = range(0, max(len(variables), 1), _BLOCK)
        blocks = [self._nearest(variables[i : i + _BLOCK]) for i in starts]
        return np.sqrt(np.concatenate(blocks))

    def share(self, variables: Any, xp: Any = np) -> Any:
        """Return the residual's weight at each state (...

        V -> ...): 1 inside, and 0 at distances above 1 + fade.
        """
        return self._share(xp.min(self._beyond(variables, xp), axis=-1), xp)

    def gated(self, variables: Any, residual: Any, xp: Any = np) -> Any:
        """Return the gated values of the residual (... c) at these states (... V).

        The result is g r(z) + (1 - g) sum_j a_j r_j, where g is the weight, r_j are the values held
        at the landmarks, and a_j is proportional to exp(-4 distance_j), normalized to sum to one.
        """
        if xp is np:
            return self._gated_in_numpy(variables, residual)
        return self._mixed(variables, residual, xp)

    def _gated_in_numpy(self, variables: Any, residual: Any) -> Any:
        """Return the residual, unchanged inside and mixed with held values outside."""
        outside = ~(self._nearest(variables) <= 1.0)
        if not outside.any():
            return residual
        result = np.array(residual)
        result[outside] = self._mixed(variables[outside], residual[outside], np)
        return result

    def _mixed(self, variables: Any, residual: Any, xp: Any) -> Any:
        distances = self._beyond(variables, xp)
        nearest = xp.min(distances, axis=-1)
        share = self._share(nearest, xp)[..., None]
        # avoids infinite values of the residual where its weight is zero
        shared = share * xp.where(share > 0, residual, 0.0)
        if self.held is None:
            return shared
        weights = xp.exp(SHARPNESS * (nearest[..., None] - distances))
        mean = (weights @ self.held) / xp.sum(weights, axis=-1)[..., None]
        return shared + (1.0 - share) * mean

    def gated_slopes(
        self,
        variables: Float[np.ndarray, "N V"],
        residual: Float[np.ndarray, "N c"],
        slopes: Float[np.ndarray, "N c V"],
    ) -> Float[np.ndarray, "N c V"]:
        """Return the derivatives of `gated` with respect to the variables, given those of the
        residual.

        These are d(g r + (1 - g) m) = g dr + (r - m) dg + (1 - g) dm, where m is the mean of the
        held values r_j with weights a_j, and dm = -4 sum_j a_j (r_j - m) d(distance_j).
        """
        outside = np.flatnonzero(~(self._nearest(variables) <= 1.0))
        result = np.array(slopes)
        if not len(outside):
            return result
        z, r, rate = variables[outside], residual[outside], np.asarray(self.rate)
        beyond = self._beyond(z, np)  # M L
        scaled = z * rate
        along = np.stack([self._along(scaled[:, i, None], i, np) for i in range(len(rate))], axis=2)
        by_distance = np.where(beyond[..., None] > 1, along / beyond[..., None], 0.0) * rate
        index = beyond.argmin(axis=1)
        nearest, by_nearest = beyond.min(axis=1), by_distance[np.arange(len(z)), index]
        share = self._share(nearest, np)[:, None]
        step = np.clip((nearest - 1.0) / self.fade, 0.0, 1.0)
        by_share = (-6.0 * step * (1.0 - step) / self.fade)[:, None] * by_nearest
        mean, by_mean = np.zeros(r.shape), np.zeros((*r.shape, len(rate)))
        if self.held is not None:
            weights = np.exp(SHARPNESS * (nearest[:, None] - beyond))
            weights /= weights.sum(axis=1, keepdims=True)
            mean = weights @ self.held
            spread = weights[..., None] * (np.asarray(self.held) - mean[:, None])  # M L c
            by_mean = -SHARPNESS * np.einsum("mlc,mlv->mcv", spread, by_distance)
        faded = share > 0
        r = np.where(faded, r, 0.0)  # avoids infinite values where the weight is zero
        kept = np.where(faded[..., None], result[outside], 0.0)
        result[outside] = (
            share[..., None] * kept
            + (r - mean)[..., None] * by_share[:, None]
            + (1.0 - share)[..., None] * by_mean
        )
        return result

    def _share(self, distance: Any, xp: Any) -> Any:
        step = xp.minimum((distance - 1.0) / self.fade, 1.0)
        return 1.0 - step * step * (3.0 - 2.0 * step)

    def _beyond(self, variables: Any, xp: Any) -> Any:
        """Return the distances to the landmarks (... V -> ... L), at least 1."""
        # at least 1, because the square root has an infinite slope at zero
        return xp.sqrt(xp.maximum(self._squares(variables, xp, FARTHEST), 1.0))

    def _nearest(self, variables: Float[np.ndarray, "N V"]) -> Float[np.ndarray, " N"]:
        """Return the squared distance to the nearest landmark, computed by one matrix product.

        min_j |z - l_j|^2 = |z|^2 + min_j (|l_j|^2 - 2 z'l_j), relative to the landmarks' centre.
        """
        if self.period is not None:
            return self._squares(variables, np).min(axis=-1)
        centre, matrix, lengths = self._landmarks_as_matrix
        with np.errstate(over="ignore", invalid="ignore"):
            z = variables * self.rate
            z -= centre
            norms = np.vecdot(z, z)
            products = matrix @ z.T
            products += lengths
            squares = norms + products.min(axis=0)
            # true for NaN, and where rounding would exceed the distances
            far = ~(norms < FARTHEST**2)
            squares[far] = norms[far]
        return np.maximum(squares, 0.0, out=squares)

    @cached_property
    def _landmarks_as_matrix(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The landmarks' centre, and -2 l_j and |l_j|^2 relative to it."""
        centre = np.mean(self.landmarks, axis=0)
        centred = self.landmarks - centre
        return centre, -2.0 * centred, np.vecdot(centred, centred)[:, None]

    def _squares(self, variables: Any, xp: Any, farthest: float = np.inf) -> Any:
        with np.errstate(over="ignore"):
            scaled = variables * self.rate
            # variable by variable, because NumPy is slow in sums over a short last axis
            components = [self._along(scaled[..., i, None], i, xp) for i in range(scaled.shape[-1])]
            if farthest < np.inf:
                components = [xp.clip(component, -farthest, farthest) for component in components]
            parts = [component * component for component in components]
            return sum(parts[1:], start=parts[0])

    def _along(self, scaled: Any, i: int, xp: Any) -> Any:
        """Return the differences to the landmarks along one variable."""
        difference = scaled - self.landmarks[:, i]
        if self.period is None:
            return difference
        period = self.period[i]
        return difference - period * xp.round(difference / xp.where(period > 0, period, 1.0))


@part
@final
@dataclass(frozen=True)
class Gate:
    """Restricts the residual to the region of the training data.

    The distance of a state from the data is its distance to the nearest landmark, scaled to 1 at
    the edge of the data. All training rows are inside, as are about 95% of the rows of a left-out
    run, and all states within a tenth of a standard deviation of a landmark. Variables, including
    inputs, are in units of their standard deviations; variables that never varied are ignored.

    Landmarks are training rows, each the farthest from the previous ones. There are at most
    `landmarks` of them, and at most one per ten rows. With more landmarks, the region follows the
    shape of the data more closely.

    The residual has full weight up to distance 1 and zero weight from 1 + `fade`, with a smooth
    transition. Outside, it is replaced by its values at the nearest landmarks (`hold`), or by zero
    (`hold=False`). Held values are means over training rows. They do not grow, so growing terms of
    the equations dominate far away. Without held values, an equation that consists only of a
    residual would become zero.

    Parameters
    ----------
    fade
        distance beyond the edge over which the residual decreases to zero.
    landmarks
        maximum number of landmarks.
    hold
        whether the residual keeps its values at the nearest landmarks outside the data.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> circle = np.linspace(0, 20 * np.pi, 1000)  # ten times round
    >>> region = og.Gate()(np.column_stack([np.cos(circle), np.sin(circle)]))
    >>> at = np.array([[1.0, 0.0], [1.1, 0.0], [0.0, 0.0]])
    >>> (region.distance(at) > 1).tolist()
    [False, True, True]
    >>> region.share(at[[0, 2]]).tolist()
    [1.0, 0.0]
    """

    fade: int | float | np.number = 0.5
    landmarks: int | np.integer = 100
    hold: bool = True

    def __post_init__(self):
        if isinstance(self.fade, bool) or not 0 < self.fade < np.inf:
            raise InputError(f"Gate(fade=...) must be a positive number; got {self.fade!r}.")
        if isinstance(self.landmarks, bool) or self.landmarks < 1:
            raise InputError(
                f"Gate(landmarks=...) must be a whole number of at least 1; got {self.landmarks!r}."
            )
        if not isinstance(self.hold, bool):
            raise InputError(f"Gate(hold=...) must be True or False; got {self.hold!r}.")

    def __call__(
        self,
        variables: Float[np.ndarray, "N V"],
        parts: Int[np.ndarray, " N"] | None = None,
        residual: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> Region:
        """Return the region of these training rows.

        `parts` numbers groups of runs, or stretches of a run, that are left out in turn. By
        default, each part has a fifth of the rows. `residual` returns the values to hold; by
        default, none are held.
        """
        if parts is None:
            parts = np.arange(len(variables)) * 5 // len(variables)
        subset = slice(None, None, -(-len(variables) // SEARCHED))
        extent = Extent.of(variables)
        return self.region(
            extent, variables[subset], parts[subset], lambda f: f(variables), residual
        )

    def region(
        self,
        extent: Extent,
        rows: Float[np.ndarray, "N V"],
        parts: Int[np.ndarray, " N"],
        largest: Callable[[Callable[[np.ndarray], float]], float],
        residual: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> Region:
        """Return the region of rows with this extent, given a sample of the rows.

        `largest` returns the maximum of a function of rows over all chunks.
        """
        subset = slice(None, None, -(-len(rows) // SEARCHED))
        rows, parts = rows[subset], parts[subset]
        rate = np.where(extent.varies, 1 / extent.std, 0.0)
        scaled = rows * rate
        chosen = _farthest_points(
            scaled, max(1, min(int(self.landmarks), extent.count // limits.ROWS_PER_LANDMARK))
        )
        landmarks = scaled[chosen]
        farthest = largest(lambda chunk: float(np.max(_nearest_distances(landmarks, chunk * rate))))
        unit = max(
            farthest * (1 + limits.MARGIN) + _distance_between_parts(scaled, parts),
            limits.MIN_DISTANCE,
        )
        held = residual(rows[chosen]) if self.hold and residual is not None else None
        return Region(rate / unit, landmarks / unit, float(self.fade), held)


def _farthest_points(rows: Float[np.ndarray, "N V"], count: int) -> list[int]:
    """Return the row nearest to the mean, then repeatedly the row farthest from the previous
    rows.
    """
    chosen = [int(np.square(rows - rows.mean(axis=0)).sum(axis=1).argmin())]
    distance = np.full(len(rows), np.inf)
    while len(chosen) < count:
        np.minimum(distance, np.square(rows - rows[chosen[-1]]).sum(axis=1), out=distance)
        chosen.append(int(distance.argmax()))
    return chosen


def _distance_between_parts(rows: Float[np.ndarray, "N V"], parts: Int[np.ndarray, " N"]) -> float:
    """Return the 95% quantile of the distance between a row and the nearest row of another part."""
    distances = [
        _nearest_distances(rows[parts != part], rows[parts == part])
        for part in np.unique(parts)
        if (parts != part).any()
    ]
    return (
        float(np.quantile(np.concatenate(distances), limits.INSIDE_QUANTILE)) if distances else 0.0
    )


def _nearest_distances(
    points: Float[np.ndarray, "M V"], rows: Float[np.ndarray, "N V"]
) -> Float[np.ndarray, " N"]:
    """Return the distance of each row to the nearest of the points.

    A tree is used for many points in few variables. Otherwise, a matrix product computes all pairs,
    which is faster.
    """
    is_large = len(points) > _MAX_DENSE_POINTS and len(points) * len(rows) > _MAX_DENSE_PAIRS
    if is_large and rows.shape[1] <= _MAX_TREE_VARIABLES:
        from scipy.spatial import KDTree

        return KDTree(points).query(rows)[0]
    centre = points.mean(axis=0)
    points, rows = points - centre, rows - centre
    augmented = np.hstack([-2 * points, np.vecdot(points, points)[:, None]])
    columns = np.vstack([rows.T, np.ones(len(rows))])
    tiles = [
        augmented[i : i + _MAX_DENSE_POINTS] for i in range(0, len(augmented), _MAX_DENSE_POINTS)
    ]
    squares = np.vecdot(rows, rows)
    for first in range(0, len(rows), _BLOCK):
        block = columns[:, first : first + _BLOCK]
        minima = [(tile @ block).min(axis=0) for tile in tiles]  # pairs that fit into the cache
        squares[first : first + _BLOCK] += np.min(minima, axis=0)
    return np.sqrt(np.maximum(squares, 0.0))
