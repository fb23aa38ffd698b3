"""The derivatives of a field with respect to states and inputs.

They are exact for terms, networks of tanh layers and the gate.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float

from .._common.errors import InputError
from ..export import Network, networks
from ..field.hybrid import HybridField
from ..terms import Expression, Number, compiled, derivative, run
from . import _limits as limits


def jacobian(field: HybridField, z: Float[np.ndarray, "N V"]) -> Float[np.ndarray, "N c V"]:
    """Return df/dz at rows of states and inputs. Where a term jumps, its slope is taken as zero."""
    slopes = _term_slopes(field, z)
    used = [k for k, row in enumerate(slopes) if row is not None]
    result = np.zeros((len(z), len(field.coefficients), z.shape[1]))
    coefficients = np.asarray(field.coefficients)
    for k in used:
        result += coefficients[:, k, None] * slopes[k][:, None, :]
    if not field.has_residual:
        return result
    return result + _residual_slopes(field, z, slopes)


def _term_slopes(field: HybridField, z: Float[np.ndarray, "N V"]) -> list[Any]:
    """Return d theta_k / dz (N, V) for each term that the field uses, and None for other terms."""
    weights = np.vstack([np.asarray(field.coefficients), np.asarray(field.correction)])
    used = np.flatnonzero((weights != 0).any(axis=0)).tolist()
    features = field.features
    places, program = _slope_program(tuple(features.terms[k] for k in used), z.shape[1])
    named = dict(zip(features.parameters, features.values, strict=True))
    with np.errstate(all="ignore"):
        values = run(program, np.ascontiguousarray(z.T), np, named)
    result: list[Any] = [None] * len(features.terms)
    for k in used:
        result[k] = np.zeros(z.shape)
    for (i, j), value in zip(places, values, strict=True):
        result[used[i]][:, j] = value
    return result


@lru_cache(maxsize=32)
def _slope_program(terms: tuple[Expression, ...], width: int) -> tuple[list[tuple[int, int]], Any]:
    """Return the indices (term, variable) of nonzero derivatives, and a program that computes these
    derivatives.
    """
    slopes = {
        (i, j): slope
        for i, term in enumerate(terms)
        for j in range(width)
        if (slope := derivative(term, j)) != Number(0.0)
    }
    return list(slopes), compiled(list(slopes.values()))


def _residual_slopes(
    field: HybridField, z: Float[np.ndarray, "N V"], slopes: list[Any]
) -> Float[np.ndarray, "N c V"]:
    """Return the derivatives of the residual, including its correction and its gate."""
    try:
        parts = networks(field)
    except InputError:  # functions of the user with unknown derivatives
        return _differences(field, z)
    by = np.zeros((len(z), len(field.coefficients), z.shape[1]))
    for part in parts:
        by += _network_slopes(part, z)
    correction = np.asarray(field.correction)
    for k in np.flatnonzero((correction != 0).any(axis=0)).tolist():
        by -= correction[:, k, None] * slopes[k][:, None, :]
    if field.region is None:
        return by
    ungated = HybridField(
        field.features, np.zeros_like(correction), field.basis, field.weights, field.correction,
        parameters=field.parameters,
    )  # fmt: skip
    return field.region.gated_slopes(z, ungated.neural(z), by)


def _network_slopes(network: Network, z: Float[np.ndarray, "N V"]) -> Float[np.ndarray, "N c V"]:
    """Return the derivatives of a network by forward differentiation through its layers."""
    values = z * network.signs
    by = np.broadcast_to(np.diag(network.signs), (len(z), z.shape[1], z.shape[1])).copy()
    for i, period in enumerate(network.periods):
        if period > 0:
            rate = 2 * np.pi / period
            angle, inner = rate * values[:, i], rate * by[:, i]
            values = np.column_stack([values, np.sin(angle)])
            by = np.concatenate([by, (np.cos(angle)[:, None] * inner)[:, None]], axis=1)
            values[:, i], by[:, i] = np.cos(angle), -np.sin(angle)[:, None] * inner
    layers = network.layers
    values = (values - layers.mean) / layers.scale
    by = by / np.asarray(layers.scale)[:, None]
    for weight, bias in zip(layers.weights, layers.biases, strict=True):
        values = np.tanh(values @ weight + bias)
        by = (1 - values**2)[:, :, None] * np.einsum("nev,eh->nhv", by, weight)
    return np.einsum("nhv,hc->ncv", by, network.output)


def _differences(field: HybridField, z: Float[np.ndarray, "N V"]) -> Float[np.ndarray, "N c V"]:
    """Return the derivatives of the residual by central differences."""
    columns = []
    for j in range(z.shape[1]):
        step = limits.DIFFERENCE * np.maximum(1.0, np.abs(z[:, j]))
        ends = [z.copy(), z.copy()]
        ends[0][:, j] += step
        ends[1][:, j] -= step
        high, low = (field.neural(end) for end in ends)
        columns.append((high - low) / (2 * step)[:, None])
    return np.stack(columns, axis=2)
