"""A fitted field as a stand-alone Python function."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..field.gate import FARTHEST, SHARPNESS, Region
from ..field.hybrid import HybridField
from ..terms import to_text
from ._steps import Network, networks

_PYTHON = '''"""{title}"""

import numpy as np


def vector_field(variables):
    """Derivatives at variables of shape (N, {n_variables}) or ({n_variables},).

{variables}
    """
    z = np.asarray(variables, dtype=float)
    columns = [z[..., i] for i in range({n_variables})]
    result = np.stack(
        np.broadcast_arrays(
            z[..., 0] * 0.0,
{rows}
        )[1:],
        axis=-1,
    )
{residual}    return result
'''


def to_python(field: HybridField, outputs: Sequence[str]) -> str:
    """Source of a module with one function, `vector_field`, that needs NumPy alone.

    The residual is included, its weights written out in full precision.
    """
    field = field.resolved().without_idle_terms().without_idle_basis()
    names = [f"columns[{i}]" for i in range(len(field.features.variables))]
    formulas = [
        to_text(term, functions="np.", names=names) for term in field.features.resolved().terms
    ]
    equations = _sums(field.coefficients, formulas)
    described = [
        f"    Column {i} is {name!r}." for i, name in enumerate(field.features.variables)
    ] + [f"    Result {c} is the derivative of {name!r}." for c, name in enumerate(outputs)]
    return _PYTHON.format(
        title="Vector field written by orthoreg.",
        n_variables=len(names),
        variables="\n".join(described).replace("\\", "\\\\").replace('"""', "'''"),
        rows="\n".join(f"            {equation}," for equation in equations),
        residual=_residual_source(field, formulas),
    )


def _sums(coefficients: Any, formulas: Sequence[str]) -> list[str]:
    """One sum of terms per equation, as source."""
    return [
        " + ".join(
            f"{float(value)!r} * ({formula})"
            for value, formula in zip(row, formulas, strict=True)
            if value != 0
        )
        or "0.0"
        for row in np.asarray(coefficients)
    ]


def _residual_source(field: HybridField, formulas: Sequence[str]) -> str:
    lines = ["residual = np.zeros(result.shape)"]
    for c, correction in enumerate(_sums(field.correction, formulas)):
        if correction != "0.0":
            lines.append(f"residual[..., {c}] -= {correction}")
    parts = networks(field)
    for network in parts:
        lines += _network_source(network, is_only=len(parts) == 1)
    if len(lines) == 1:
        return ""
    if field.region is not None:
        lines += _gate_source(field.region)
    lines.append("result = result + residual")
    return "".join(f"    {line}\n" for line in lines)


def _network_source(network: Network, is_only: bool) -> list[str]:
    """residual += network(z) as source."""
    lines = ["hidden = z" if is_only else f"hidden = z * {_literal(network.signs)}"]
    layers = network.layers
    periodic = [i for i, period in enumerate(network.periods) if period > 0]
    if periodic:
        rates = [2 * np.pi / network.periods[i] for i in periodic]
        lines += [
            f"angles = hidden[..., {periodic!r}] * {_literal(rates)}",
            "hidden = np.concatenate([hidden, np.sin(angles)], axis=-1)",
            f"hidden[..., {periodic!r}] = np.cos(angles)",
        ]
    lines.append(f"hidden = (hidden - {_literal(layers.mean)}) / {_literal(layers.scale)}")
    for weight, bias in zip(layers.weights, layers.biases, strict=True):
        lines.append(f"hidden = np.tanh(hidden @ {_literal(weight)} + {_literal(bias)})")
    lines.append(f"residual += hidden @ {_literal(network.output)}")
    lines.append(f"residual += {_literal(network.offset)}")
    return lines


def _gate_source(region: Region) -> list[str]:
    """`Region.gated` as source."""
    lines = [
        f"away = (z * {_literal(region.rate)})[..., None, :] - {_literal(region.landmarks)}",
        *_wrapped(region),
        f"away = np.clip(away, -{FARTHEST!r}, {FARTHEST!r})",
        "beyond = np.sqrt(np.maximum(np.sum(away**2, axis=-1), 1.0))",
        "nearest = np.min(beyond, axis=-1, keepdims=True)",
        f"step = np.minimum((nearest - 1.0) / {float(region.fade)!r}, 1.0)",
        "share = 1.0 - step**2 * (3.0 - 2.0 * step)",
        "residual = np.where(share > 0.0, residual, 0.0) * share",
    ]
    if region.held is not None:
        lines += [
            f"weights = np.exp({SHARPNESS!r} * (nearest - beyond))",
            "weights = weights / np.sum(weights, axis=-1, keepdims=True)",
            f"residual = residual + (1.0 - share) * (weights @ {_literal(region.held)})",
        ]
    return lines


def _wrapped(region: Region) -> list[str]:
    """The short way round along variables with a period."""
    if region.period is None:
        return []
    turn = np.asarray(region.period)
    safe = np.where(turn > 0, turn, 1.0)
    return [f"away = away - {_literal(turn)} * np.round(away / {_literal(safe)})"]


def _literal(array: Any) -> str:
    """An array as source that gives back the same bits."""
    return f"np.array({np.asarray(array).tolist()!r})"
