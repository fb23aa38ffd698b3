"""A residual whose weights have changed: orthogonal to the terms again, and held anew."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from ..data import Dataset
from ..field.hybrid import HybridField
from ._constants import Constants

_MOST_ROWS = 20_000


def reprojected(
    field: HybridField, constants: Constants, data: Dataset
) -> tuple[HybridField, Float[np.ndarray, "k P"]]:
    """The same function with its residual orthogonal to the terms of each equation on the data,
    where it had been so; and how the coefficients then follow the free numbers.

    C theta + V'psi - P theta is the same with P' = <psi, theta> <theta, theta>^-1 V and C - P + P'.
    """
    follows = constants.follows()
    coefficients = np.array(field.coefficients, dtype=float)
    correction = np.array(field.correction, dtype=float)
    rows = data.variables[:: -(-data.n_samples // _MOST_ROWS)]
    for place, c in enumerate(constants.weighted):
        used = np.flatnonzero(coefficients[c])
        if not correction[c].any() or not len(used):
            continue
        theta = field.features(rows)
        psi = field.basis(rows)
        onto = np.linalg.lstsq(theta[:, used], psi, rcond=None)[0]
        rest = correction[c].copy()
        rest[used] = 0.0
        residual = psi @ field.weights[:, c] - theta[:, rest != 0] @ rest[rest != 0]
        new = np.linalg.lstsq(theta[:, used], residual, rcond=None)[0]
        coefficients[c, used] += new - correction[c, used]
        correction[c, used] = new
        mine = np.flatnonzero(constants.rows == c)
        term = np.searchsorted(used, constants.columns[mine])
        follows[mine, constants.weights_of(place)] = onto[term]
    field = replace(field, coefficients=coefficients, correction=correction)
    return _held_anew(field, data), follows


def _held_anew(field: HybridField, data: Dataset) -> HybridField:
    """The field whose gate holds the residual's new values."""
    region = field.region
    if region is None or region.held is None:
        return field
    varies = np.asarray(region.rate) > 0
    rate = np.where(varies, region.rate, 1.0)
    landmarks = np.where(varies, region.landmarks / rate, data.variables.mean(axis=0))
    held = replace(field, region=None).neural(landmarks)
    return replace(field, region=replace(region, held=held))
