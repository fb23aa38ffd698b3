"""`SwitchedField`: a `HybridField` with signs in its terms, as simulations need it."""

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from .._common.arrays import pytree
from ..libraries import FeatureMap, derivative, separate_signs
from ..simulation import AbstractSwitchedField
from .hybrid import HybridField


@pytree(meta=["functions"])
@final
@dataclass(frozen=True, eq=False)
class SwitchedField(AbstractSwitchedField):
    """The field with variables behind states and inputs in place of signs; and the functions
    whose signs they are, each followed by its derivatives."""

    field: HybridField
    functions: FeatureMap

    def slope(self, t: Any, x: Any, u: Any, signs: Any, xp: Any) -> Any:
        field, z = self.field, x if u is None else xp.concatenate([x, u], axis=-1)
        rows = [part[..., i] for part in (z, signs) for i in range(part.shape[-1])]
        theta = _stacked(field.features.columns(rows, xp, field.parameters), rows[0], xp)
        way = _weighted(theta, field.coefficients, xp)
        if xp is np and not (field.basis.size or np.any(field.correction)):
            return way
        residual = -_weighted(theta, field.correction, xp)
        if field.basis.size:
            values = field.basis(xp.atleast_2d(z), xp) @ field.weights
            residual = residual + values.reshape(residual.shape)
        return way + (residual if field.region is None else field.region.gated(z, residual, xp))

    def surfaces(self, x: Any, u: Any, xp: Any) -> tuple[Any, Any]:
        z = x if u is None else xp.concatenate([x, u], axis=-1)
        rows = [z[..., i] for i in range(z.shape[-1])]
        columns = self.functions.columns(rows, xp, self.field.parameters)
        values = _stacked(columns, rows[0], xp).reshape(*z.shape[:-1], -1, 1 + len(rows))
        return values[..., 0], values[..., 1:]


def switched(field: HybridField) -> SwitchedField | None:
    """The field as one that switches; None if there is no sign in its terms."""
    features = field.features
    width = len(features.variables)
    terms, surfaces = separate_signs(features.terms, width)
    if not surfaces:
        return None
    signs = tuple(f"sign {i + 1}" for i in range(len(surfaces)))
    functions = [
        formula
        for surface in surfaces
        for formula in (surface, *(derivative(surface, i) for i in range(width)))
    ]
    return SwitchedField(
        replace(
            field, features=replace(features, variables=features.variables + signs, terms=terms)
        ),
        replace(features, terms=tuple(functions), allowed=()),
    )


def jumping_terms(features: FeatureMap) -> tuple[str, ...]:
    """The names of the terms with a sign in them."""
    width = len(features.variables)
    pairs = zip(features.names, features.terms, strict=True)
    return tuple(name for name, term in pairs if separate_signs((term,), width)[1])


def switching_terms(field: HybridField) -> tuple[str, ...]:
    """The same of those in use: a library may offer signs that no equation has."""
    return jumping_terms(field.without_idle_terms().features)


def _stacked(columns: list[Any], like: Any, xp: Any) -> Any:
    """The columns, some of which may be plain numbers, side by side."""
    if xp is np:
        result = np.empty((*like.shape, len(columns)))
        for i, column in enumerate(columns):
            result[..., i] = column
        return result
    return xp.stack([xp.broadcast_to(column, like.shape) for column in columns], axis=-1)


def _weighted(theta: Any, coefficients: Any, xp: Any) -> Any:
    """Sums of terms; those without a weight may be infinite."""
    return xp.where(xp.any(coefficients != 0, axis=0), theta, 0.0) @ coefficients.T
