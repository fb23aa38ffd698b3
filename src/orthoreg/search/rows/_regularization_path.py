"""Select lam and mu by the prediction error on held-out runs, over a grid, from moments.

For each lam, the best residual is affine in the coefficients, v = v_0 + V w, so the held-out error
is a quadratic form in w. It is computed once per lam; every mu then costs K^2. Equations with
constraints are solved and scored for one pair (lam, mu) at a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float

from ..._common.progress import track
from ...solving import (
    EquationProblem,
    Moments,
    Reduction,
    Spectrum,
    System,
    exact_path,
    squared_error,
)


@final
@dataclass(frozen=True, eq=False)
class RegularizationPath:
    """Held-out errors of all pairs of weights, summed over equations, by fold."""

    orthogonalities: tuple[float, ...]
    sparsities: tuple[float, ...]
    errors: Float[np.ndarray, "L M F"]

    @property
    def mean(self) -> Float[np.ndarray, "L M"]:
        return self.errors.mean(axis=2)

    @property
    def best(self) -> tuple[float, float]:
        """The pair (orthogonality, sparsity) with the smallest mean error."""
        i, j = np.unravel_index(np.argmin(self.mean), self.mean.shape)
        return self.orthogonalities[i], self.sparsities[j]


def regularization_path(
    folds: Sequence[Moments],
    groups: Sequence[System],
    orthogonalities: Sequence[float],
    sparsities: Sequence[float],
    *,
    ridges: Sequence[float],
    functions: Sequence[Bool[np.ndarray, " H"]] | None = None,
) -> RegularizationPath:
    """Return the errors on each fold of the exact solutions for the other folds.

    There is one rho per equation. `groups` are the equations to score, coupled by constraints, and
    `functions` the basis functions of each equation's residual.
    """
    total = sum(folds[1:], start=folds[0])
    errors = np.zeros((len(orthogonalities), len(sparsities), len(folds)))
    strengths = (orthogonalities, sparsities)
    for f, fold in enumerate(track(folds, "Choosing the regularization")):
        both = (Spectrum.of(total - fold), fold) if functions is None else None
        for system in groups:
            train, test = both or _with_basis(total - fold, fold, system, functions)
            rhos = [ridges[c] for c in system.equations]
            if system.equalities is None and system.projection is None:
                errors[:, :, f] += _free_errors(
                    train, test, system.problems[0], rhos[0], *strengths
                )
            else:
                errors[:, :, f] += _held_errors(train, test, system, rhos, *strengths)
    return RegularizationPath(
        tuple(float(lam) for lam in orthogonalities), tuple(float(mu) for mu in sparsities), errors
    )


def _with_basis(
    train: Moments, test: Moments, system: System, functions: Any
) -> tuple[Spectrum, Moments]:
    """Return train and test moments with only the basis functions of a system's residuals."""
    basis = np.logical_and.reduce([functions[c] for c in system.equations])
    return Spectrum.of(train.only_basis(basis)), test.only_basis(basis)


def _free_errors(
    train: Spectrum,
    test: Moments,
    problem: EquationProblem,
    ridge: float,
    orthogonalities: Sequence[float],
    sparsities: Sequence[float],
) -> Float[np.ndarray, "L M"]:
    """Return the errors of one equation without constraints."""
    c, terms = problem.equation, problem.terms
    magnitude = float(problem.regularization.magnitude)
    alone = np.zeros((test.n_targets, test.n_features), dtype=bool)
    alone[c, terms] = True
    w = exact_path(train, alone, orthogonalities, sparsities, magnitude=magnitude, ridge=ridge)
    reduction = Reduction.of(train, c, terms, magnitude, ridge)
    rotated = _Rotated.of(test, train)
    return np.stack(
        [rotated.errors(reduction, float(lam), w[i, :, c], c)
         for i, lam in enumerate(orthogonalities)]
    )  # fmt: skip


def _held_errors(
    train: Spectrum,
    test: Moments,
    system: System,
    ridges: Sequence[float],
    orthogonalities: Sequence[float],
    sparsities: Sequence[float],
) -> Float[np.ndarray, "L M"]:
    """Return the errors of equations that are solved together under constraints."""
    return np.array(
        [
            [
                sum(
                    squared_error(test, c, fit.w, fit.v)
                    for c, fit in zip(system.equations, fits, strict=True)
                )
                for fits in system.along(train, ridges, float(lam), sparsities)
            ]
            for lam in orthogonalities
        ]
    )


@final
@dataclass(frozen=True, eq=False)
class _Rotated:
    """The moments of a fold, with the basis rotated as in the spectrum of the other folds."""

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
        """Return |y - Phi w - Psi (v_0 + V w)|^2 on the fold for each row of w."""
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
