"""lam and mu by the prediction loss on held-out runs, over a whole grid, from moments.

For one lam the best residual is affine in the coefficients, v = v_0 + V w, so that the held-out
error is a quadratic form in w. It is set up once for each lam; every mu then costs K^2.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from .._progress import track
from .._typing import Mask
from ..moments import Moments
from ..solvers import Reduction, Spectrum, exact_path


@final
@dataclass(frozen=True, eq=False)
class RegularizationPath:
    """Held-out errors for every pair of strengths, summed over equations, fold by fold."""

    orthogonalities: tuple[float, ...]
    sparsities: tuple[float, ...]
    errors: Float[np.ndarray, "L M F"]

    @property
    def mean(self) -> Float[np.ndarray, "L M"]:
        return self.errors.mean(axis=2)

    @property
    def best(self) -> tuple[float, float]:
        """(orthogonality, sparsity) with the least mean error."""
        i, j = np.unravel_index(np.argmin(self.mean), self.mean.shape)
        return self.orthogonalities[i], self.sparsities[j]


def regularization_path(
    folds: Sequence[Moments],
    mask: Mask,
    orthogonalities: Sequence[float],
    sparsities: Sequence[float],
    *,
    magnitude: float = 0.0,
    ridges: Sequence[float],
    given: Collection[int] = (),
) -> RegularizationPath:
    """Errors on each fold of the exact solutions for all the others; one rho for each equation.
    Those that are `given` do not count."""
    total = sum(folds[1:], start=folds[0])
    errors = np.zeros((len(orthogonalities), len(sparsities), len(folds)))
    for f, fold in enumerate(track(folds, "Validating strengths")):
        spectrum = Spectrum.of(total - fold)
        rotated = _Rotated.of(fold, spectrum)
        for c, (allowed, ridge) in enumerate(zip(mask, ridges, strict=True)):
            if c in given:
                continue
            alone = np.zeros_like(mask)
            alone[c] = allowed
            w = exact_path(
                spectrum, alone, orthogonalities, sparsities, magnitude=magnitude, ridge=ridge
            )[:, :, c]
            reduction = Reduction.of(spectrum, c, np.flatnonzero(allowed), magnitude, ridge)
            for i, lam in enumerate(orthogonalities):
                errors[i, :, f] += rotated.errors(reduction, float(lam), w[i], c)
    return RegularizationPath(
        tuple(float(lam) for lam in orthogonalities), tuple(float(mu) for mu in sparsities), errors
    )


@final
@dataclass(frozen=True, eq=False)
class _Rotated:
    """The moments of a fold, with the basis turned as the spectrum of the others has it."""

    fold: Moments
    B: Float[np.ndarray, "K H"]
    D: Float[np.ndarray, "H H"]
    d: Float[np.ndarray, "H c"]

    @classmethod
    def of(cls, fold: Moments, spectrum: Spectrum) -> "_Rotated":
        turn = spectrum.vectors
        return cls(fold, fold.B @ turn, turn.T @ fold.D @ turn, turn.T @ fold.d)

    def errors(
        self, reduction: Reduction, lam: float, w: Float[np.ndarray, "M K"], c: int
    ) -> Float[np.ndarray, " M"]:
        """|y - Phi w - Psi (v_0 + V w)|^2 on the fold, for each row of w."""
        fold, terms = self.fold, reduction.terms
        v_0, V = reduction.affine_residual(lam)
        B, A = self.B[terms], fold.A[np.ix_(terms, terms)]
        DV = self.D @ V
        quadratic = A + B @ V + (B @ V).T + V.T @ DV
        linear = fold.a[terms, c] + V.T @ self.d[:, c] - B @ v_0 - DV.T @ v_0
        constant = fold.yy[c] - 2 * self.d[:, c] @ v_0 + v_0 @ self.D @ v_0
        chosen = w[:, terms]
        return np.maximum(
            constant - 2 * chosen @ linear + np.einsum("mk,kl,ml->m", chosen, quadratic, chosen),
            0.0,
        )
