"""Polynomials fitted to a sliding window: Savitzky-Golay on equal steps, and on any steps."""

from dataclasses import dataclass
from numbers import Integral
from typing import final

import numpy as np
from jaxtyping import Float

from .._errors import InputError
from .._registry import part
from ..data import Dataset
from ._differentiator import (
    AbstractDifferentiator,
    blocks,
    check_equal_steps,
    near_ends,
    windows,
)

_BLOCK = 8192
_WEAK = 1e-14


@part
@final
@dataclass(frozen=True)
class SavitzkyGolay(AbstractDifferentiator):
    """Slope of a polynomial fitted to each window of equally spaced points.

    Near the ends of a run the first or last full window serves. Refuses unequal steps.
    """

    window: int
    degree: int

    def __post_init__(self):
        check_window(self.window, self.degree, "SavitzkyGolay")

    @property
    def min_points(self) -> int:
        return self.window

    def slopes(self, data: Dataset) -> Float[np.ndarray, "N n"]:
        check_equal_steps(data, self)
        weights = equal_step_weights(self.window, self.degree, derivative=1)
        step = data.step_of_run()[data.run_of_row]
        return weighted_sum(data, data.states, weights) / step[:, None]

    def rule(self, data: Dataset) -> AbstractDifferentiator:
        return self

    def coarser(self) -> AbstractDifferentiator | None:
        return SavitzkyGolay(self.window + 2, self.degree)


@part
@final
@dataclass(frozen=True)
class LocalPolynomial(AbstractDifferentiator):
    """Savitzky-Golay for any steps: each row has its own fit, on its true times."""

    window: int
    degree: int

    def __post_init__(self):
        check_window(self.window, self.degree, "LocalPolynomial")

    @property
    def min_points(self) -> int:
        return self.window

    def slopes(self, data: Dataset) -> Float[np.ndarray, "N n"]:
        result = np.empty_like(data.states)
        for first in range(0, data.n_samples, _BLOCK):
            rows = np.arange(first, min(first + _BLOCK, data.n_samples))
            weights, members = local_weights(data, rows, self.window, self.degree, derivative=1)
            result[rows] = np.einsum("bw,bwn->bn", weights, data.states[members])
        return result

    def rule(self, data: Dataset) -> AbstractDifferentiator:
        return self

    def coarser(self) -> AbstractDifferentiator | None:
        return LocalPolynomial(self.window + 2, self.degree)


def check_window(window: int, degree: int, who: str) -> None:
    """Refuses windows that cannot hold the polynomial."""
    whole = isinstance(window, Integral) and isinstance(degree, Integral)
    if not whole or not 1 <= degree < window:
        raise InputError(
            f"{who} needs whole numbers with 1 <= degree < window; "
            f"got window={window!r}, degree={degree!r}."
        )


def equal_step_weights(
    window: int, degree: int, *, derivative: int
) -> Float[np.ndarray, "place member"]:
    """Weights of the window's members for the fitted value (0) or unit-step slope (1) at each
    place in the window."""
    places = np.arange(window, dtype=np.float64)
    scale = (window - 1) / 2
    at = (places - scale) / scale
    weights = polynomial_weights(np.broadcast_to(at, (window, window)), at, degree, derivative)
    return weights / scale**derivative


def polynomial_weights(
    points: Float[np.ndarray, "B W"],
    at: Float[np.ndarray, " B"],
    degree: int,
    derivative: int,
) -> Float[np.ndarray, "B W"]:
    """Row by row, the weights that give a least-squares polynomial's value or slope at `at`.

    b(at)' (V'V)^-1 V' = b(at)' R^-1 Q' with V = QR the Legendre values at the points, which lie in
    [-1, 1].
    """
    legendre = np.polynomial.legendre
    matrix = legendre.legvander(points, degree)
    if derivative == 0:
        target = legendre.legvander(at, degree)
    else:
        slopes = [legendre.legder(row) for row in np.eye(degree + 1)]
        target = np.stack([legendre.legval(at, slope) for slope in slopes], axis=-1)
    Q, R = np.linalg.qr(matrix)
    # points in two clusters make R all but singular; its smallest pivots are held up
    pivots = np.einsum("bii->bi", R)
    weak = np.abs(pivots) < _WEAK * np.abs(pivots).max(axis=1, keepdims=True)
    pivots[weak] = _WEAK
    solved = np.linalg.solve(np.swapaxes(R, 1, 2), target[..., None])
    return (Q @ solved)[..., 0]


def local_weights(
    data: Dataset,
    rows: np.ndarray,
    window: int,
    degree: int,
    *,
    derivative: int,
) -> tuple[Float[np.ndarray, "B W"], np.ndarray]:
    """Weights on true times for these rows, and the rows that each window is made of."""
    start, _ = windows(data, window, rows)
    members = start[:, None] + np.arange(window)
    times = data.times[members]
    middle = (times[:, :1] + times[:, -1:]) / 2
    scale = (times[:, -1:] - times[:, :1]) / 2
    at = (data.times[rows] - middle[:, 0]) / scale[:, 0]
    weights = polynomial_weights((times - middle) / scale, at, degree, derivative)
    return weights / scale**derivative, members


def weighted_sum(
    data: Dataset,
    values: Float[np.ndarray, "N n"],
    weights: Float[np.ndarray, "place member"],
) -> Float[np.ndarray, "N n"]:
    """sum_j weights[place, j] values[start + j] for every row."""
    width = weights.shape[1]
    middle = width // 2
    result = np.empty_like(values)
    for first, last in blocks(data, width):
        block = result[first + middle : last + middle]
        np.multiply(values[first:last], weights[middle, 0], out=block)
        for j in range(1, width):
            block += weights[middle, j] * values[first + j : last + j]
    rows = near_ends(data, width)
    start, place = windows(data, width, rows)
    result[rows] = 0.0
    for j in range(width):
        result[rows] += weights[place, j, None] * values[start + j]
    return result
