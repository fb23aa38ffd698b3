"""Estimate the noise of measured states of a map from predictions of the next row, without a
library.
"""

from typing import NamedTuple, final

import numpy as np
from jaxtyping import Float

from . import _limits as limits
from ._polynomial import Offsets


@final
class _Prediction(NamedTuple):
    """Predictions of each next state.

    They have a mean squared error, without the error of the predictor, and the mean squared
    derivative of each next state with respect to each state.
    """

    error: Float[np.ndarray, " n"]
    squared_slopes: Float[np.ndarray, "n n"]


@final
class MapNoise(NamedTuple):
    """The standard deviation of the noise of each state, and of the error of the best prediction of
    each next state from noisy states.
    """

    state: Float[np.ndarray, " n"]
    prediction: Float[np.ndarray, " n"]


def estimate_map_noise(
    variables: Float[np.ndarray, "N V"], n_states: int, offsets: Offsets
) -> MapNoise:
    """Return the noise of the states of a map.

    Noise e in the states makes e[k+1] - F e[k] the residual of the best prediction of a row from
    the row before, where F is the derivative of the map. Its variance is noise^2 + F^2 noise^2, a
    linear system for the variances of all states. Predictions are polynomials in all variables, or
    planes through nearest rows; the best one counts for each state. The result is an upper limit:
    whatever no prediction explains counts as noise.
    """
    rows = np.setdiff1d(np.arange(len(variables) - 1), offsets[1:] - 1)
    std = variables.std(axis=0)
    scale = np.where(std > 0, std, 1.0)
    scaled = (variables - variables.mean(axis=0)) / scale
    points, targets = scaled[rows][:, std > 0], scaled[rows + 1][:, :n_states]
    moving = np.flatnonzero(std[:n_states] > 0)
    if not len(moving) or len(points) < limits.MIN_MAP_ROWS:
        return MapNoise(*np.zeros((2, n_states)))
    predictions = [
        prediction
        for prediction in (*_planes(points, targets), *_polynomials(points, targets)[::-1])
        if np.isfinite(prediction.error).all()
    ]
    if not predictions:
        return MapNoise(*np.zeros((2, n_states)))
    errors = np.array([prediction.error for prediction in predictions])  # P n
    is_good = errors <= limits.GOOD_MAP_PREDICTION * errors.min(axis=0)
    # predictions from more rows come later; their slopes are less noisy
    best = len(predictions) - 1 - np.argmax(is_good[::-1], axis=0)
    error = errors.min(axis=0)[moving]
    slopes = np.array([predictions[best[c]].squared_slopes[c, : len(moving)] for c in moving])
    from scipy.optimize import nnls

    variance = np.zeros((2, n_states))
    variance[:, moving] = nnls(np.eye(len(moving)) + slopes, error)[0], error
    return MapNoise(*(np.sqrt(variance) * scale[:n_states]))


def _polynomials(
    points: Float[np.ndarray, "N V"], targets: Float[np.ndarray, "N n"]
) -> list[_Prediction]:
    """Return predictions by polynomials with at most a share of the rows as terms."""
    results: list[_Prediction] = []
    for degree in range(1, limits.MAX_MAP_DEGREE + 1):
        powers = _monomials(points.shape[1], degree)
        if len(powers) > limits.MAX_MAP_TERMS * len(points):
            break
        exponents = np.array(powers)
        design = np.prod(points[:, None] ** exponents, axis=2)
        coefficients, _, rank, _ = np.linalg.lstsq(design, targets, rcond=1e-12)
        residuals = targets - design @ coefficients
        error = (residuals**2).sum(axis=0) / (len(points) - rank)
        slopes = np.empty((targets.shape[1], points.shape[1]))
        for j in range(points.shape[1]):
            lower = exponents.copy()
            lower[:, j] = np.maximum(lower[:, j] - 1, 0)
            rates = np.prod(points[:, None] ** lower, axis=2) * exponents[:, j]
            slopes[:, j] = np.mean((rates @ coefficients) ** 2, axis=0)
        results.append(_Prediction(error, slopes))
    return results


def _monomials(width: int, degree: int) -> list[tuple[int, ...]]:
    """Return the exponents of all monomials up to this degree."""
    if width == 1:
        return [(power,) for power in range(degree + 1)]
    return [
        (power, *rest)
        for power in range(degree + 1)
        for rest in _monomials(width - 1, degree - power)
    ]


def _planes(
    points: Float[np.ndarray, "N V"], targets: Float[np.ndarray, "N n"]
) -> list[_Prediction]:
    """Return predictions by planes through the nearest other rows, for several numbers of rows."""
    from scipy.spatial import KDTree

    count, width = points.shape
    results = []
    largest = min(limits.MAP_NEIGHBOURS[-1] * (width + 1), count // 2)
    near = np.asarray(KDTree(points).query(points, largest + 1)[1])[:, 1:]
    for multiple in limits.MAP_NEIGHBOURS:
        size = multiple * (width + 1)
        if size > largest:
            break
        chosen = near[:, :size]
        offsets = points[chosen] - points[:, None]
        design = np.concatenate([np.ones((count, size, 1)), offsets], axis=2)
        inverse = np.linalg.pinv(design, rcond=limits.MAP_PLANE_RANK)  # N (1 + V) size
        planes = inverse @ targets[chosen]  # N (1 + V) n
        spread = (inverse[:, 0] ** 2).sum(axis=1)  # noise of the prediction in noise variances
        squares = (targets - planes[:, 0]) ** 2 / (1 + spread)[:, None]
        noise = (inverse[:, 1:] ** 2).sum(axis=2).mean(axis=0)[:, None] * squares.mean(axis=0)
        slopes = np.maximum(np.mean(planes[:, 1:] ** 2, axis=0) - noise, 0.0).T
        results.append(_Prediction(squares.mean(axis=0), slopes))
    return results
