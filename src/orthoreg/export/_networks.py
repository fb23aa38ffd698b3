"""The residual of a fitted field as plain networks of tanh layers, for source in any language."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from .._errors import InputError
from .._field import HybridField
from ..augmentations import AbstractBasis, TanhLayers
from ..physics import SymmetricBasis


@final
@dataclass(frozen=True, eq=False)
class Network:
    """output' tanh(... tanh(weights' (e(signs z) - mean) / scale + biases) ...) + offset, where e
    puts (cos, sin) in the place of a variable with a period: the cosine there, the sines last."""

    layers: TanhLayers
    signs: Float[np.ndarray, " V"]
    periods: tuple[float, ...]
    output: Float[np.ndarray, "H c"]
    offset: Float[np.ndarray, " c"]


def networks(field: HybridField) -> list[Network]:
    """The networks that add up to the residual before its correction and its gate: one, or with
    symmetries one for each image of a state. Refuses a residual that is no network."""
    basis, weights = field.basis, np.asarray(field.weights)
    if not basis.size:
        return []
    n_variables = len(field.features.variables)
    if not isinstance(basis, SymmetricBasis):
        layers, none = _tanh_layers(basis), (0.0,) * n_variables
        return [Network(layers, np.ones(n_variables), none, weights[:-1], weights[-1])]
    # psi_p = mean_s signs[p, s] psi(image_s z), so that image s has the weights of all p, signed
    layers = _tanh_layers(basis.inner)
    by_class = weights.reshape(len(basis.signs), layers.size, -1)
    shares = np.einsum("ps,phc->shc", np.asarray(basis.signs), by_class) / len(basis.images)
    return [
        Network(layers, np.asarray(image), basis.periods, share[:-1], share[-1])
        for image, share in zip(basis.images, shares, strict=True)
    ]


def _tanh_layers(basis: AbstractBasis) -> TanhLayers:
    if not isinstance(basis, TanhLayers):
        raise InputError(
            f"Only networks of tanh layers can be written as source; this residual is made of "
            f"{type(basis).__name__}. Use to_sympy() or to_latex(), which only name it."
        )
    return basis
