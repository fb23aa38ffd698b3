"""A fitted field as a pure JAX function of its parameters."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np

from .._common.arrays import register_pytrees
from .._common.errors import InputError, require
from ..field import AbstractBasis, TanhLayers
from ..field.hybrid import HybridField
from ..physics import SymmetricBasis


@final
@dataclass(frozen=True, eq=False)
class JaxField:
    """f(t, x, parameters, u): what a fitted model predicts, as a pure function that JAX can trace,
    compile, differentiate and map over. It has the form that diffrax asks for, f(t, y, args).

    Parameters
    ----------
    parameters
        what can be trained, a tree of arrays: `"coefficients"` (equations, terms), of which only
        those in use count, the constants inside terms by name in `"constants"`, the residual's
        output `"weights"` and its hidden `"layers"`.
    terms
        names of the terms, the columns of the coefficients.
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
        """Derivatives (n,) at one state x (n,), with inputs u (m,) where the model has some.

        `parameters` are those of the fit if None. Arithmetic is in the precision of x: single,
        unless JAX is told otherwise. Of many states, `jax.vmap` is the way.
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
        """`function, parameters = model.to_jax()`."""
        return iter((self, self.parameters))

    def _inputs(self, t: Any, x: Any, u: Any) -> Any:
        import jax.numpy as jnp

        given = self.inputs[:-1] if self.clock else self.inputs
        if given and u is None:
            names = ", ".join(f"'{name}'" for name in given)
            raise InputError(f"The model has the inputs {names}; call it with u=, their values.")
        if u is not None:
            u = jnp.asarray(u, x.dtype)
            if u.shape != (len(given),):
                raise InputError(f"u must have the shape ({len(given)},); got {u.shape}.")
        if not self.clock:
            return u if given else None
        now = jnp.asarray(t, x.dtype)[None]
        return now if u is None else jnp.concatenate([u, now])


def to_jax(fitted: HybridField, n_states: int, clock: str = "") -> JaxField:
    """The field as a function of (t, x, parameters, u); `clock` is the input that is the time."""
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
    """The weights and biases of the hidden layers; none for a basis that has no such layers."""
    inner = basis.inner if isinstance(basis, SymmetricBasis) else basis
    if not isinstance(inner, TanhLayers):
        return []
    return list(zip(inner.weights, inner.biases, strict=True))


def with_layers(kind: AbstractBasis, basis: Any, layers: Any) -> Any:
    """The basis with other weights and biases in its hidden layers."""
    if isinstance(kind, SymmetricBasis):
        return replace(basis, inner=with_layers(kind.inner, basis.inner, layers))
    if not isinstance(kind, TanhLayers):
        return basis
    weights, biases = zip(*layers, strict=True) if layers else ((), ())
    return replace(basis, weights=tuple(weights), biases=tuple(biases))
