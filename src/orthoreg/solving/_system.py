"""Equations that are solved together because constraints couple them, or single equations."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Float

from .._common.arrays import Mask
from ..physics import Knowledge
from ._equation import EquationProblem, Spectrum
from ._moments import Moments
from ._problem import Bounds, Equalities, QuadraticProblem, coupled
from ._solver import EquationFit, Regularization

Sizes = tuple[Float[np.ndarray, " K"], Float[np.ndarray, " c"]]


@final
@dataclass(frozen=True, eq=False)
class System:
    """Equations that are solved together: one problem over all their coefficients.

    `equalities` and `bounds` constrain the independent terms of all equations, one equation after
    the other, in the solver's units; both are None without knowledge. `projection` projects
    residuals on the subspace that satisfies the conservation laws. The projection is exact: these
    equations have the same rho and residuals orthogonal to the same terms, so their squared output
    weights count equally. With a finite lam, the projection does not affect the coefficients.
    `complete` are indices of equations without a residual.
    """

    problems: tuple[EquationProblem, ...]
    equalities: Equalities | None = None
    bounds: Bounds | None = None
    projection: Float[np.ndarray, "g g"] | None = None
    complete: tuple[int, ...] = ()

    @property
    def equations(self) -> list[int]:
        return [problem.equation for problem in self.problems]

    def solve(
        self,
        spectrum: Spectrum,
        ridges: Sequence[float],
        starts: Sequence[Float[np.ndarray, " k"]] | None = None,
    ) -> list[EquationFit]:
        """Return the minimizer for these rho. `starts` are as in `EquationProblem.solve`."""
        if self.equalities is None:
            start_of_each = [None] * len(self.problems) if starts is None else starts
            fits = [
                problem.solve(spectrum, ridge, start)
                for problem, ridge, start in zip(self.problems, ridges, start_of_each, strict=True)
            ]
            return self.conserving(fits)
        reduced = [
            problem.reduce(spectrum, ridge)
            for problem, ridge in zip(self.problems, ridges, strict=True)
        ]
        solved, gap, active = self._minimum(
            [problem for _, problem, _ in reduced],
            sum(constant for _, _, constant in reduced),
            starts,
        )
        lam = float(self.problems[0].regularization.orthogonality)
        fits = [
            problem.fit(
                spectrum.moments.n_features, ridge, w, reduction.residual_weights(lam, w), gap, held
            )
            for problem, ridge, w, (reduction, _, _), held in zip(
                self.problems, ridges, solved, reduced, active, strict=True
            )
        ]
        return self.conserving(fits)

    def along(
        self,
        spectrum: Spectrum,
        ridges: Sequence[float],
        orthogonality: float,
        sparsities: Sequence[float],
    ) -> list[list[EquationFit]]:
        """Return the minimizers for one lam and every mu.

        Each solution is the initial guess for the next smaller mu.
        """
        fits: list[list[EquationFit]] = [[]] * len(sparsities)
        starts = [np.zeros(len(problem.terms)) for problem in self.problems]
        for j in np.argsort(sparsities)[::-1]:
            strengths = replace(
                self.problems[0].regularization,
                orthogonality=float(orthogonality), sparsity=float(sparsities[j]),
            )  # fmt: skip
            problems = tuple(
                replace(problem, regularization=strengths) for problem in self.problems
            )
            fits[j] = replace(self, problems=problems).solve(spectrum, ridges, starts)
        return fits

    def symbolic(self, moments: Moments, sparsity: float) -> list[EquationFit]:
        """Return the minimizer without a residual, or with a residual orthogonal to the terms."""
        problems = []
        for equation in self.problems:
            terms = equation.terms[equation.independent]
            A = moments.A[np.ix_(terms, terms)]
            problems.append(QuadraticProblem(A, moments.a[terms, equation.equation], sparsity))
        if self.equalities is None:
            solved, active = [], []
            for equation, problem in zip(self.problems, problems, strict=True):
                w = np.zeros(len(equation.terms))
                w[equation.independent] = problem.solve()
                solved.append(w)
                active.append(())
            gap = problems[0].duality_gap(
                solved[0][self.problems[0].independent], float(moments.yy[self.equations[0]])
            )
        else:
            square = float(moments.yy[self.equations].sum())
            solved, gap, active = self._minimum(problems, square)
        none = np.zeros(moments.n_basis)
        return [
            equation.fit(moments.n_features, np.inf, w, none, gap, held)
            for equation, w, held in zip(self.problems, solved, active, strict=True)
        ]

    def residual(
        self, spectrum: Spectrum, ridges: Sequence[float], given: Float[np.ndarray, "g K"]
    ) -> list[EquationFit]:
        """Return the best output layers for given coefficients."""
        fits = [
            problem.residual(spectrum, ridge, w)
            for problem, ridge, w in zip(self.problems, ridges, given, strict=True)
        ]
        return self.conserving(fits)

    def _minimum(
        self,
        problems: list[QuadraticProblem],
        constant: float,
        starts: Sequence[Float[np.ndarray, " k"]] | None = None,
    ) -> tuple[list[np.ndarray], float, list[tuple[int, ...]]]:
        """Return coefficients of each equation, duality gap, and terms at a bound.

        `constant` is the part of the objective that does not depend on coefficients.
        """
        joint = replace(coupled(problems), equalities=self.equalities, bounds=self.bounds)
        start = None
        if starts is not None:
            pairs = zip(self.problems, starts, strict=True)
            start = np.concatenate(
                [start_of_equation[problem.independent] for problem, start_of_equation in pairs]
            )
        w_joint = joint.solve(start)
        at_bound = joint.active_bounds(w_joint)
        solved, active, offset = [], [], 0
        for problem in self.problems:
            columns = slice(offset, offset + len(problem.independent))
            w = np.zeros(len(problem.terms))
            w[problem.independent] = w_joint[columns]
            at_bound_terms = problem.terms[problem.independent[at_bound[columns]]]
            solved.append(w)
            active.append(tuple(at_bound_terms.tolist()))
            offset = columns.stop
        for start_of_equation, w in zip(starts or (), solved, strict=starts is not None):
            start_of_equation[:] = w
        return solved, joint.duality_gap(w_joint, constant), active

    def conserving(self, fits: list[EquationFit]) -> list[EquationFit]:
        """Return the fits with residuals that satisfy the conservation laws."""
        if self.projection is None:
            return fits
        v, p = (
            np.stack([getattr(fit, of) for fit in fits], axis=1) @ self.projection.T for of in "vp"
        )
        return [replace(fit, v=v[:, i], p=p[:, i]) for i, fit in enumerate(fits)]


def systems(
    moments: Moments,
    support: Mask,
    regularization: Regularization,
    sizes: Sizes,
    knowledge: Knowledge | None,
) -> list[System]:
    """Return the equations in groups that are solved together."""
    knowledge = knowledge or Knowledge.none(support.shape)
    support = knowledge.with_support(support)
    known = set(knowledge.touches(support)) | set(knowledge.complete)
    known |= set(np.flatnonzero(knowledge.conserved.any(axis=0)).tolist())
    result = []
    for equations in knowledge.coupled(range(len(support)), support):
        if known & set(equations):
            system = _system(moments, equations, support, regularization, sizes, knowledge)
        else:
            (c,) = equations
            system = System((EquationProblem.of(moments, c, support[c], regularization),))
        result.append(system)
    return result


def _system(
    moments: Moments,
    equations: tuple[int, ...],
    support: Mask,
    regularization: Regularization,
    sizes: Sizes,
    knowledge: Knowledge,
) -> System:
    rows = list(equations)
    complete = tuple(i for i, c in enumerate(rows) if c in knowledge.complete)
    projection = conserving(knowledge.conserved[:, rows], sizes[1][rows], complete)
    candidates = support[rows]
    low, high = knowledge.low[rows].copy(), knowledge.high[rows].copy()
    if projection is not None:  # the residuals are orthogonal to the same terms
        outside = candidates.any(axis=0) & ~candidates
        low[outside] = high[outside] = 0.0
        candidates = candidates | outside
    constrained = (
        np.isfinite(low) | np.isfinite(high) | knowledge.related[rows] | knowledge.required[rows]
    )
    problems = [
        EquationProblem.of(moments, c, row, regularization, first=first)
        for c, row, first in zip(rows, candidates, constrained, strict=True)
    ]
    terms = [problem.terms[problem.independent] for problem in problems]
    E, e, _, _ = knowledge.constraints(rows, terms)
    scale = np.concatenate(
        [sizes[1][c] / sizes[0][chosen] for c, chosen in zip(rows, terms, strict=True)]
    )
    limits = [
        np.concatenate([limit[i, chosen] for i, chosen in enumerate(terms)]) / scale
        for limit in (low, high)
    ]
    return System(
        tuple(problems),
        Equalities(E * scale, e),
        Bounds(limits[0], limits[1]),
        projection,
        complete,
    )


def conserving(
    conserved: Float[np.ndarray, "m g"], scale: Float[np.ndarray, " g"], complete: Sequence[int]
) -> Float[np.ndarray, "g g"] | None:
    """Return the projection on residuals with N v = 0, or None without conservation laws.

    Residuals are in units of `scale`. Residuals of `complete` equations are zero.
    """
    N = conserved * scale
    N = N[N.any(axis=1)]
    if not len(N):
        return None
    none = np.eye(len(scale))[list(complete)]
    rows = np.concatenate([N, none])
    return np.eye(len(scale)) - np.linalg.pinv(rows) @ rows
