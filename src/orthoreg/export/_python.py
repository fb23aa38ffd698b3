"""Fitted fields as a NumPy module, and as a JAX function."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np

from .._common.arrays import register_pytrees
from .._common.errors import InputError, require
from ..field import AbstractBasis, TanhLayers
from ..field.gate import FARTHEST, SHARPNESS, Region
from ..field.hybrid import HybridField
from ..physics import SymmetricBasis
from ..terms import to_text
from ._steps import FLOW, Network, Wording, networks

_PYTHON = '''"""{title}"""

import numpy as np


def {words.function}(variables):
    """{description} at variables of shape (N, {n_variables}) or ({n_variables},).

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


def to_python(field: HybridField, outputs: Sequence[str], *, words: Wording = FLOW) -> str:
    """Return a module with one function, `vector_field` or `next_state`, that needs only NumPy.

    The residual is included with all digits of its weights.
    """
    field = field.resolved().without_idle_terms().without_idle_basis()
    names = [f"columns[{i}]" for i in range(len(field.features.variables))]
    formulas = [
        to_text(term, functions="np.", names=names) for term in field.features.resolved().terms
    ]
    equations = _sums(field.coefficients, formulas)
    described = [
        f"    Column {i} is {name!r}." for i, name in enumerate(field.features.variables)
    ] + [f"    Result {c} is the {words.element} of {name!r}." for c, name in enumerate(outputs)]
    return _PYTHON.format(
        title=f"{words.title} written by orthoreg.",
        words=words,
        description=words.elements.capitalize(),
        n_variables=len(names),
        variables="\n".join(described).replace("\\", "\\\\").replace('"""', "'''"),
        rows="\n".join(f"            {equation}," for equation in equations),
        residual=_residual_source(field, formulas),
    )


def _sums(coefficients: Any, formulas: Sequence[str]) -> list[str]:
    """Return the source of one sum of terms per equation."""
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
    """Return the source of residual += network(z)."""
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
    """Return the source of `Region.gated`."""
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
    """Return the source of the shortest difference along periodic variables."""
    if region.period is None:
        return []
    period = np.asarray(region.period)
    divisor = np.where(period > 0, period, 1.0)
    return [f"away = away - {_literal(period)} * np.round(away / {_literal(divisor)})"]


def _literal(array: Any) -> str:
    """Return the source of an array, with exact values."""
    return f"np.array({np.asarray(array).tolist()!r})"


@final
@dataclass(frozen=True, eq=False)
class JaxField:
    """The predictions of a model as a pure function f(t, x, parameters, u).

    JAX can trace, compile, differentiate and map the function. For diffrax, its signature is f(t,
    y, args).

    Parameters
    ----------
    parameters
        trainable arrays: `"coefficients"` (equations, terms), `"constants"` inside terms by name,
        and the output `"weights"` and hidden `"layers"` of the residual. Coefficients that are zero
        in the fit are not used.
    terms
        names of the terms, in the order of the columns of the coefficients.
    states, inputs
        names of the elements of x and u.

    Examples
    --------
    >>> import jax, numpy as np, orthoreg as og
    >>> x = np.random.default_rng(0).uniform(-1, 1, (100, 1))
    >>> field = og.OrthoReg(og.Polynomial(1), og.Zero()).fit(x, -2 * x).to_jax()
    >>> field(0.0, np.array([0.5], dtype="float32")).round(3).tolist()
    [-1.0]
    >>> slope = jax.grad(lambda p: field(0.0, np.array([0.5], dtype="float32"), p)[0])
    >>> field.terms, slope(field.parameters)["coefficients"].tolist()
    (('x0',), [[0.5]])
    """

    parameters: dict[str, Any] = field(repr=False)
    terms: tuple[str, ...]
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    clock: str
    _field: HybridField = field(repr=False)

    def __call__(self, t: Any, x: Any, parameters: Any = None, u: Any = None) -> Any:
        """Return the derivatives (n,) at one state x (n,), with inputs u (m,) if the model has
        inputs.

        `parameters` are the fitted parameters by default. The precision is that of x: single,
        unless JAX is configured otherwise. Use `jax.vmap` for several states.
        """
        import jax
        import jax.numpy as jnp

        register_pytrees()
        x = jnp.asarray(x)
        if not jnp.issubdtype(x.dtype, jnp.floating):
            x = x.astype(jnp.result_type(float))
        values = self.parameters if parameters is None else parameters
        values = jax.tree.map(lambda leaf: jnp.asarray(leaf, x.dtype), values)
        fixed = jax.tree.map(lambda leaf: jnp.asarray(leaf, x.dtype), self._field)
        used = np.asarray(self._field.coefficients) != 0
        basis = with_layers(self._field.basis, fixed.basis, values["layers"])
        function = replace(
            fixed,
            coefficients=jnp.where(used, values["coefficients"], 0.0),
            weights=values["weights"],
            basis=basis,
            parameters=jnp.array(
                [values["constants"][name] for name in self._field.features.parameters], x.dtype
            ),
        )
        return function(t, x, self._inputs(t, x, u))

    def __iter__(self) -> Iterator[Any]:
        """Yield the function and its parameters, for `function, parameters = model.to_jax()`."""
        return iter((self, self.parameters))

    def _inputs(self, t: Any, x: Any, u: Any) -> Any:
        import jax.numpy as jnp

        given = self.inputs[:-1] if self.clock else self.inputs
        if given and u is None:
            names = ", ".join(f"'{name}'" for name in given)
            raise InputError(f"The model has the inputs {names}; pass their values as u=.")
        if u is not None:
            u = jnp.asarray(u, x.dtype)
            if u.shape != (len(given),):
                raise InputError(f"u must have the shape ({len(given)},); got {u.shape}.")
        if not self.clock:
            return u if given else None
        now = jnp.asarray(t, x.dtype)[None]
        return now if u is None else jnp.concatenate([u, now])


def to_jax(fitted: HybridField, n_states: int, clock: str = "") -> JaxField:
    """Return the field as a function of (t, x, parameters, u); `clock` is the time input."""
    require("jax", "train", "to_jax()")
    fitted = fitted.without_idle_terms().without_idle_basis()
    features = fitted.features
    parameters = {
        "coefficients": np.array(fitted.coefficients),
        "constants": dict(zip(features.parameters, map(np.float64, features.values), strict=True)),
        "weights": np.array(fitted.weights),
        "layers": layers_of(fitted.basis),
    }
    variables = features.variables
    return JaxField(
        parameters, features.names, variables[:n_states], variables[n_states:], clock, fitted
    )


def layers_of(basis: AbstractBasis) -> list[tuple[Any, Any]]:
    """Return the weights and biases of the hidden layers, or []."""
    inner = basis.inner if isinstance(basis, SymmetricBasis) else basis
    if not isinstance(inner, TanhLayers):
        return []
    return list(zip(inner.weights, inner.biases, strict=True))


def with_layers(kind: AbstractBasis, basis: Any, layers: Any) -> Any:
    """Return the basis with other weights and biases in its hidden layers."""
    if isinstance(kind, SymmetricBasis):
        return replace(basis, inner=with_layers(kind.inner, basis.inner, layers))
    if not isinstance(kind, TanhLayers):
        return basis
    weights, biases = zip(*layers, strict=True) if layers else ((), ())
    return replace(basis, weights=tuple(weights), biases=tuple(biases))
