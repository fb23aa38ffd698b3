"""`Basis`: the hidden layers of a network, psi_1 ... psi_H; the residual is linear in them."""

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float

from .._arrays import Arrays, pytree


@pytree()
@final
@dataclass(frozen=True, eq=False)
class Basis:
    """Standardised variables through tanh layers, and a constant: the functions that the last
    layer of a network combines. Without layers there are none (H = 0)."""

    mean: Float[Arrays, " V"]
    scale: Float[Arrays, " V"]
    weights: tuple[Float[Arrays, "_ _"], ...]
    biases: tuple[Float[Arrays, " _"], ...]

    @property
    def size(self) -> int:
        return self.biases[-1].shape[0] + 1 if self.biases else 0

    def mask_inputs(self, variables: Bool[np.ndarray, " V"]) -> "Basis":
        """The same layers without these variables: nothing is known of what they do."""
        if not self.weights or not variables.any():
            return self
        first = np.where(variables[:, None], 0.0, self.weights[0])
        return replace(self, weights=(first, *self.weights[1:]))

    def __call__(self, variables: Any, xp: Any = np) -> Any:
        """psi at samples (N x V -> N x H), in the arithmetic of `xp`: NumPy or JAX."""
        if not self.weights:
            return xp.zeros((variables.shape[0], 0))
        values = (variables - self.mean) / self.scale
        if xp is np:
            return self._in_numpy(values)
        for weight, bias in zip(self.weights, self.biases, strict=True):
            values = xp.tanh(values @ weight + bias)
        return xp.concatenate([values, xp.ones((variables.shape[0], 1))], axis=1)

    def _in_numpy(self, values: Float[np.ndarray, "N V"]) -> Float[np.ndarray, "N H"]:
        """The layers without a copy of their values."""
        layer = values
        for weight, bias in zip(self.weights, self.biases, strict=True):
            layer = np.empty((len(values), weight.shape[1] + 1))
            inside = np.matmul(values, weight, out=layer[:, :-1])
            inside += bias
            values = _tanh(inside)
        layer[:, -1] = 1.0
        return layer


def _tanh(values: Float[np.ndarray, "N H"]) -> Float[np.ndarray, "N H"]:
    """tanh in place, 1 - 2 / (exp(2 z) + 1), right to 2e-16.

    Twice as fast as NumPy's own on processors without AVX-512, and half of a fit's time.
    """
    with np.errstate(over="ignore"):
        values *= 2
        np.exp(values, out=values)
        values += 1
        np.divide(-2, values, out=values)
        values += 1
    return values
