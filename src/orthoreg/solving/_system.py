"""Equations that are solved together: those that constraints couple, or one alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Float

from .._common.typing import Mask
from ..physics import Knowledge
from ._equation import EquationProblem, Spectrum
from ._moments import Moments
from ._problem import Bounds, Equalities, QuadraticProblem, coupled
from ._solver import EquationFit, Regularization

Sizes = tuple[Float[np.ndarray, " K"], Float[np.ndarray, " c"]]


@final
@dataclass(frozen=True, eq=False)
class System:
    """One problem over the coefficients of all its equations.

    `equalities` and `bounds` are those of the equations' independent terms, one equation after
    the other, in the solver's units; None where nothing is known. `kept` projects the residuals
    of the equations on those that conserve what they must. It is exact since such equations have
    the same rho and a residual that is orthogonal to the same terms, so that the squares of their
    output weights count alike; with a finite lam the coefficients do not know of it.
    `complete` are the places of equations that have no residual.
    """

    problems: tuple[EquationProblem, ...]
    equalities: Equalities | None = None
    bounds: Bounds | None = None
    kept: Float[np.ndarray, "g g"] | None = None
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
        """The minimiser, with a rho for each equation; `starts` are as in `EquationProblem`."""
        if self.equalities is None:
            begin = [None] * len(self.problems) if starts is None else starts
            fits = [
                problem.solve(spectrum, ridge, start)
                for problem, ridge, start in zip(self.problems, ridges, begin, strict=True)
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
        """The minimisers for one lam and every mu; each starts the search for the next smaller."""
        found: list[list[EquationFit]] = [[]] * len(sparsities)
        starts = [np.zeros(len(problem.terms)) for problem in self.problems]
        for j in np.argsort(sparsities)[::-1]:
            strengths = replace(
                self.problems[0].regularization,
                orthogonality=float(orthogonality), sparsity=float(sparsities[j]),
            )  # fmt: skip
            problems = tuple(replace(one, regularization=strengths) for one in self.problems)
            found[j] = replace(self, problems=problems).solve(spectrum, ridges, starts)
        return found

    def symbolic(self, moments: Moments, sparsity: float) -> list[EquationFit]:
        """The minimiser without a residual, or with one that is orthogonal to the terms."""
        problems = []
        for one in self.problems:
            own = one.terms[one.independent]
            A = moments.A[np.ix_(own, own)]
            problems.append(QuadraticProblem(A, moments.a[own, one.equation], sparsity))
        if self.equalities is None:
            solved, active = [], []
            for one, problem in zip(self.problems, problems, strict=True):
                w = np.zeros(len(one.terms))
                w[one.independent] = problem.solve()
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
            one.fit(moments.n_features, np.inf, w, none, gap, held)
            for one, w, held in zip(self.problems, solved, active, strict=True)
        ]

    def residual(
        self, spectrum: Spectrum, ridges: Sequence[float], given: Float[np.ndarray, "g K"]
    ) -> list[EquationFit]:
        """The best output layers for coefficients that are given."""
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
        """The coefficients of each equation's terms, what is left to gain, and the terms that are
        held by a bound; `constant` is what the objective has besides."""
        joint = replace(coupled(problems), equalities=self.equalities, bounds=self.bounds)
        start = None
        if starts is not None:
            own = zip(self.problems, starts, strict=True)
            start = np.concatenate([begin[problem.independent] for problem, begin in own])
        found = joint.solve(start)
        at_bound = joint.active_bounds(found)
        solved, active, first = [], [], 0
        for one in self.problems:
            place = slice(first, first + len(one.independent))
            w = np.zeros(len(one.terms))
            w[one.independent] = found[place]
            held = one.terms[one.independent[at_bound[place]]]
            solved.append(w)
            active.append(tuple(held.tolist()))
            first = place.stop
        for begin, w in zip(starts or (), solved, strict=starts is not None):
            begin[:] = w
        return solved, joint.duality_gap(found, constant), active

    def conserving(self, fits: list[EquationFit]) -> list[EquationFit]:
        """The fits with residuals that conserve what they must."""
        if self.kept is None:
            return fits
        v, p = (np.stack([getattr(fit, of) for fit in fits], axis=1) @ self.kept.T for of in "vp")
        return [replace(fit, v=v[:, i], p=p[:, i]) for i, fit in enumerate(fits)]


def systems(
    moments: Moments,
    support: Mask,
    regularization: Regularization,
    sizes: Sizes,
    knowledge: Knowledge | None,
) -> list[System]:
    """The equations in groups that are solved together; every equation is in one of them."""
    if knowledge is None:
        return [
            System((EquationProblem.of(moments, c, row, regularization),))
            for c, row in enumerate(support)
        ]
    support = knowledge.with_support(support)
    known = set(knowledge.touches(support)) | set(knowledge.complete)
    known |= set(np.flatnonzero(knowledge.conserved.any(axis=0)).tolist())
    return [
        _system(moments, equations, support, regularization, sizes, knowledge)
        if known & set(equations)
        else System((EquationProblem.of(moments, equations[0], support[equations[0]],
                                        regularization),))
        for equations in knowledge.coupled(range(len(support)), support)
    ]  # fmt: skip


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
    kept = conserving(knowledge.conserved[:, rows], sizes[1][rows], complete)
    own = support[rows]
    low, high = knowledge.low[rows].copy(), knowledge.high[rows].copy()
    if kept is not None:  # residuals that are orthogonal to the same terms
        outside = own.any(axis=0) & ~own
        low[outside] = high[outside] = 0.0
        own = own | outside
    held = np.isfinite(low) | np.isfinite(high) | knowledge.related[rows] | knowledge.required[rows]
    problems = [
        EquationProblem.of(moments, c, row, regularization, first=first)
        for c, row, first in zip(rows, own, held, strict=True)
    ]
    terms = [problem.terms[problem.independent] for problem in problems]
    E, e, _, _ = knowledge.constraints(rows, terms)
    unit = np.concatenate(
        [sizes[1][c] / sizes[0][mine] for c, mine in zip(rows, terms, strict=True)]
    )
    ends = [
        np.concatenate([limit[i, mine] for i, mine in enumerate(terms)]) / unit
        for limit in (low, high)
    ]
    return System(
        tuple(problems), Equalities(E * unit, e), Bounds(ends[0], ends[1]), kept, complete
    )


def conserving(
    conserved: Float[np.ndarray, "m g"], scale: Float[np.ndarray, " g"], complete: Sequence[int]
) -> Float[np.ndarray, "g g"] | None:
    """The projection of residuals, in units of `scale`, on those with N v = 0 and none in complete
    equations."""
    N = conserved * scale
    N = N[N.any(axis=1)]
    if not len(N):
        return None
    none = np.eye(len(scale))[list(complete)]
    rows = np.concatenate([N, none])
    return np.eye(len(scale)) - np.linalg.pinv(rows) @ rows
