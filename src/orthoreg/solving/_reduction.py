"""The exact reduction: with v minimised out, a K x K problem in w is left.

For one equation, with the moments A, B, D, a, d, |y|^2 of design section 2,
D~ = (1 + lam2) D + rho I and S = B D~^-1 B':

    Q = A - S (I + lam S)^-1,    r = a - (I + lam S)^-1 B D~^-1 d,
    J(w) = constant + w'Qw - 2 r'w + mu |w|_1.

One eigendecomposition of D serves every (lam, mu, lam2, rho), one of S every lam.
"""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float, Int

from ._moments import Moments

_NEGLIGIBLE = 1e-12


@final
@dataclass(frozen=True)
class Spectrum:
    """The moments, with the basis turned into the eigenvectors of D."""

    moments: Moments
    values: Float[np.ndarray, " H"]
    vectors: Float[np.ndarray, "H H"]
    B: Float[np.ndarray, "K H"]
    d: Float[np.ndarray, "H c"]

    @classmethod
    def of(cls, moments: Moments) -> "Spectrum":
        values, vectors = np.linalg.eigh(moments.D)
        return cls(
            moments, np.maximum(values, 0.0), vectors, moments.B @ vectors, vectors.T @ moments.d
        )


@final
@dataclass(frozen=True)
class Reduction:
    """One equation's problem for given lam2 and rho: features `terms`, and S diagonalised."""

    spectrum: Spectrum
    equation: int
    terms: Int[np.ndarray, " k"]
    inverse: Float[np.ndarray, " H"]
    s: Float[np.ndarray, " k"]
    axes: Float[np.ndarray, "k k"]
    g: Float[np.ndarray, " k"]

    @classmethod
    def of(
        cls,
        spectrum: Spectrum,
        equation: int,
        terms: Int[np.ndarray, " k"],
        magnitude: float,
        ridge: float,
    ) -> "Reduction":
        """rho = inf leaves no residual at all."""
        weight = (1 + magnitude) * spectrum.values + ridge
        floor = _NEGLIGIBLE * max(float(weight.max(initial=0.0)), 1e-300)
        inverse = np.where(weight > floor, 1 / np.maximum(weight, floor), 0.0)
        B = spectrum.B[terms]
        S = (B * inverse) @ B.T
        s, axes = np.linalg.eigh((S + S.T) / 2) if len(terms) else (np.zeros(0), np.zeros((0, 0)))
        g = (B * inverse) @ spectrum.d[:, equation]
        return cls(spectrum, equation, terms, inverse, np.maximum(s, 0.0), axes, g)

    def _response(self, lam: float) -> np.ndarray:
        """lam (I + lam S)^-1, and S^+ in the limit of infinite lam."""
        if math.isinf(lam):
            large = self.s > _NEGLIGIBLE * max(float(self.s.max(initial=0.0)), 1e-300)
            diagonal = np.where(large, 1 / np.where(large, self.s, 1.0), 0.0)
        else:
            diagonal = lam / (1 + lam * self.s)
        return (self.axes * diagonal) @ self.axes.T

    def quadratic(self, lam: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Q, r and the constant."""
        moments, c = self.spectrum.moments, self.equation
        A = moments.A[np.ix_(self.terms, self.terms)]
        a = moments.a[self.terms, c]
        d = self.spectrum.d[:, c]
        constant = float(
            moments.yy[c] - d @ (self.inverse * d) + self.g @ self._response(lam) @ self.g
        )
        if math.isinf(lam):
            return A, a, constant
        damping = 1 / (1 + lam * self.s)
        Q = A - (self.axes * (self.s * damping)) @ self.axes.T
        return (Q + Q.T) / 2, a - (self.axes * damping) @ (self.axes.T @ self.g), constant

    def residual_weights(self, lam: float, w: Float[np.ndarray, " k"]) -> Float[np.ndarray, " H"]:
        """The best v for this w: v = D~^-1 (d - B'w - B'nu), nu = lam (I + lam S)^-1 (g - S w)."""
        v_0, V = self.affine_residual(lam)
        return self.spectrum.vectors @ (v_0 + V @ w)

    def affine_residual(
        self, lam: float
    ) -> tuple[Float[np.ndarray, " H"], Float[np.ndarray, "H k"]]:
        """v_0 and V of the best v = v_0 + V w, on the axes of the spectrum."""
        B = self.spectrum.B[self.terms]
        gap = np.column_stack([self.spectrum.d[:, self.equation], -B.T])
        response = self._response(lam)
        scaled = self.inverse[:, None] * gap
        v = scaled - self.inverse[:, None] * (B.T @ (response @ (B @ scaled)))
        if math.isinf(lam):  # once more, so that the overlap B v is zero to rounding
            v = v - self.inverse[:, None] * (B.T @ (response @ (B @ v)))
        return v[:, 0], v[:, 1:]
