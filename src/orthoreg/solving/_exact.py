"""`Exact`: the global minimizer of the objective from moments. `TwoStage`: equations first.

`HeldOut` chooses the ridge of the residual, or no residual, by cross-validation. All computations
use the moments of a fold and of all other rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np
from jaxtyping import Bool, Float

from .._common.arrays import Mask
from .._common.errors import InputError
from .._common.progress import step, track
from .._common.registry import part
from ..data import AnyRows, outward_fold_rule
from ..physics import Knowledge
from . import _limits as limits
from ._equation import Reduction, Spectrum, objective, squared_error
from ._moments import Moments, gather, no_basis
from ._problem import QuadraticProblem, independent_terms
from ._solver import (
    AbstractSolver,
    EquationFit,
    FitResult,
    Regularization,
    Solution,
    Task,
    dependences,
    scales,
)
from ._system import System, systems


@final
@dataclass(frozen=True)
class HeldOut:
    """Folds of the rows, each with the spectrum of all other rows.

    `target_mse` is the known mean squared error of each target.
    """

    splits: tuple[tuple[Spectrum, Moments], ...]
    target_mse: Float[np.ndarray, " c"]

    @classmethod
    def of(cls, folds: Sequence[Moments], target_mse: Float[np.ndarray, " c"]) -> "HeldOut":
        """Return the nonempty folds, each of which is held out in turn."""
        total = sum(folds[1:], start=folds[0])
        return cls(
            tuple(
                (Spectrum.of(total - fold), fold)
                for fold in track(folds, "Preparing held-out rows")
                if 0 < fold.count < total.count
            ),
            target_mse,
        )

    def ridges(
        self,
        system: System,
        ridges: Sequence[float] = limits.RIDGES,
        given: Float[np.ndarray, "g K"] | None = None,
    ) -> list[float]:
        """Return the largest rho of each equation whose error is as good as the best.

        Equations with a common conservation law have the same rho. `given` coefficients are not
        estimated.
        """
        indices = [i for i in range(len(system.problems)) if i not in system.complete]
        result = [np.inf] * len(system.problems)
        if len(self.splits) < 2 or len(ridges) == 1 or not indices:
            for i in indices:
                result[i] = float(ridges[-1])
            return result
        errors = self.errors(system, ridges, given)
        groups = [indices] if system.projection is not None else [[i] for i in indices]
        for group in groups:
            floor = sum(self.floor(system.equations[i]) for i in group)
            good = self._good(errors[group].sum(axis=0), floor)
            for i in group:
                result[i] = float(ridges[np.flatnonzero(good)[-1]])
        return result

    def errors(
        self,
        system: System,
        ridges: Sequence[float],
        given: Float[np.ndarray, "g K"] | None = None,
    ) -> Float[np.ndarray, "g rho fold"]:
        """Return the squared errors of fits on all other rows, for each equation, rho and fold."""
        count = len(system.problems)
        errors = np.zeros((count, len(ridges), len(self.splits)))
        for j, (train, held_out) in enumerate(self.splits):
            starts = [np.zeros(len(problem.terms)) for problem in system.problems]
            for i, ridge in enumerate(ridges):
                ridge_of_equation = [
                    np.inf if c in system.complete else ridge for c in range(count)
                ]
                if given is None:
                    fits = system.solve(train, ridge_of_equation, starts)
                else:
                    fits = system.residual(train, ridge_of_equation, given)
                for c, fit in zip(system.equations, fits, strict=True):
                    index = system.equations.index(c)
                    errors[index, i, j] = squared_error(held_out, c, fit.w, fit.v)
        return errors

    def as_good_as_best(
        self, errors: Float[np.ndarray, "choice fold"], equation: int
    ) -> Bool[np.ndarray, " choice"]:
        """Return a mask of the choices within the tolerance of the smallest mean error.

        The tolerance is the largest of 5%, the standard error of the difference, the known error of
        the target, and 1e-10 of its square.
        """
        return self._good(errors, self.floor(equation))

    def _good(
        self, errors: Float[np.ndarray, "choice fold"], floor: float
    ) -> Bool[np.ndarray, " choice"]:
        best = errors[np.argmin(errors.mean(axis=1))]
        excess = errors - best
        standard_error = excess.std(axis=1, ddof=1) / np.sqrt(len(self.splits))
        tie = max(limits.TIE * best.mean(), floor)
        return excess.mean(axis=1) <= np.maximum(standard_error, tie)

    def size(self, equation: int) -> float:
        """Return the mean square of the target."""
        return float(np.mean([held_out.yy[equation] for _, held_out in self.splits]))

    def floor(self, equation: int) -> float:
        """Return the squared error below which nothing remains to be explained."""
        return explained_below(self.target_mse[equation], self.size(equation))


def explained_below(target_mse: float, size: float) -> float:
    """Return the squared error below which a target with mean square `size` is explained."""
    return max(float(target_mse), limits.NEGLIGIBLE_ERROR * size)


@part
@final
@dataclass(frozen=True)
class Exact(AbstractSolver):
    """Exact minimizer of the objective. The residual must be linear in the learned weights.

    J = |y - Phi w - Psi v|^2_D + mu |w|_1 + lam |Phi'Psi v / N|^2 + lam2 |Psi v|^2_D + rho |v|^2.
    The objective is minimized for each equation. By default, J is in the units of the data.

    Parameters
    ----------
    normalize
        whether to divide features and targets by their root mean squares, so that mu, lam and lam2
        do not depend on units.
    most_rows
        maximum number of rows that determine the shape of a projected network
        (`orthogonality=math.inf`), evenly spaced in every run. The network is skipped if the terms
        alone explain the targets. Coefficients are always estimated from all rows, on which the
        residual is orthogonal to the terms.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 121)
    >>> model = og.OrthoReg("poly(1)", og.Zero(), sparsity=0.01, solver=og.Exact())
    >>> model.fit(np.exp(-t)[:, None], t=t).equations(2)
    ["x0' = -0.0071 - 0.93 x0"]
    """

    normalize: bool = False
    most_rows: int | None = None

    def __post_init__(self):
        rows = self.most_rows
        is_integer = isinstance(rows, int | np.integer) and not isinstance(rows, bool)
        if rows is not None and not (is_integer and rows >= 100):
            raise InputError(
                f"Exact(most_rows=...) must be None or a whole number of at least 100; "
                f"got {self.most_rows!r}."
            )

    @property
    def needs_rows(self) -> bool:
        return False

    @step("Fitting coefficients and residual")
    def solve_all(self, tasks: Sequence[Task]) -> list[Solution]:
        """Return the minimizer of each task."""
        return [self._solve(task) for task in tasks]

    def _solve(self, task: Task) -> Solution:
        rows = task.linear_rows("Exact()")
        if not task.basis.size:
            library = task.library or gather(task.features, no_basis, rows)[0]
            result = self.solve(
                [library], task.support, task.regularization, 0.0, rows.target_mse, task.fixed,
                knowledge=task.knowledge,
            )  # fmt: skip
            return Solution.of(result, task.basis)
        if self.most_rows is not None and task.regularization.projects and task.fixed is None:
            return self._solve_thinned(task, rows, self.most_rows)
        folds = task.folds or fold_moments(task, rows)
        result = self.solve(
            folds, task.support, task.regularization, task.ridge, rows.target_mse, task.fixed,
            knowledge=task.knowledge, basis_of=task.basis_of,
        )  # fmt: skip
        return Solution.of(result, task.basis)

    def solve(
        self,
        folds: Sequence[Moments],
        support: Mask,
        regularization: Regularization,
        ridge: float | None,
        target_mse: Float[np.ndarray, " c"] | None = None,
        fixed: Float[np.ndarray, "c K"] | None = None,
        may_need_residual: Sequence[bool] | None = None,
        knowledge: Knowledge | None = None,
        basis_of: Bool[np.ndarray, "c H"] | None = None,
    ) -> FitResult:
        """Return the minimizer for all rows in `folds`. The folds determine rho if `ridge` is
        None.

        `target_mse` is the known squared error of the targets; smaller errors need no residual.
        Equations without `may_need_residual` have no residual. Equations that `knowledge` couples
        are solved together. `basis_of` marks the basis functions that each residual may use.
        """
        total = sum(folds[1:], start=folds[0])
        sizes = scales(total, self.normalize)
        total = total.scaled(*sizes)
        target_mse = np.zeros(total.n_targets) if target_mse is None else target_mse
        needs_ridge = ridge is None and total.n_basis > 0
        ridges = limits.RIDGES if needs_ridge else (float(ridge or 0.0),)
        scaled = [fold.scaled(*sizes) for fold in folds] if needs_ridge else []
        bases = _Bases(total, scaled, target_mse / sizes[1] ** 2, basis_of)
        equations: dict[int, EquationFit] = {}
        for system in systems(total, support, regularization, sizes, knowledge):
            rows = system.equations
            spectrum, held_out, functions = bases.of(rows)
            given = None if fixed is None else fixed[rows] * sizes[0] / sizes[1][rows, None]
            needs_search = may_need_residual is None or any(may_need_residual[c] for c in rows)
            chosen = (
                held_out.ridges(system, ridges, given) if needs_search else [np.inf] * len(rows)
            )
            if given is None:
                fits = system.solve(spectrum, chosen)
            else:
                fits = system.residual(spectrum, chosen, given)
            for c, fit in zip(rows, fits, strict=True):
                v = np.zeros(total.n_basis)
                v[functions] = fit.v
                equations[c] = replace(fit, v=v, dependences=dependences(total, fit.terms))
        fits_in_order = [equations[c] for c in range(len(support))]
        objectives = tuple(
            objective(total, c, fit, regularization) for c, fit in enumerate(fits_in_order)
        )
        return FitResult(total, support, regularization, *sizes, tuple(fits_in_order), objectives)

    def _solve_thinned(self, task: Task, rows: AnyRows, most_rows: int) -> Solution:
        """Return a solution with a projected network whose shape is determined on a sample of the
        rows.

        There is no network if the terms explain the targets up to their known error.
        """
        library = task.library or gather(task.features, no_basis, rows)[0]
        alone = self.solve(
            [library], task.support, task.regularization, np.inf, rows.target_mse,
            knowledge=task.knowledge,
        )  # fmt: skip
        lacking = self._lacking(task, rows, library, alone)
        if not any(lacking) and task.ridge is None:
            return replace(
                Solution.of(alone, task.basis),
                weights=np.zeros((task.basis.size, len(task.support))),
            )
        part = rows.subsample(most_rows)
        is_all = len(part) == len(rows)
        folds = (task.folds if is_all else None) or fold_moments(task, part)
        result = self.solve(
            folds, task.support, task.regularization, task.ridge, rows.target_mse, None, lacking,
            task.knowledge, task.basis_of,
        )  # fmt: skip
        if is_all:
            return Solution.of(result, task.basis)
        return self._on_all_rows(task, rows, result)

    def _lacking(self, task: Task, rows: AnyRows, library: Moments, alone: FitResult) -> list[bool]:
        """Return, for each equation, whether the error of its terms exceeds the known error."""
        if task.regularization.sparsity:
            plain = replace(task.regularization, sparsity=0.0)
            alone = self.solve([library], task.support, plain, np.inf, knowledge=task.knowledge)
        no_residual = np.zeros(library.n_basis)
        return [
            squared_error(library, c, w, no_residual)
            > explained_below(float(rows.target_mse[c]), float(library.yy[c]))
            for c, w in enumerate(alone.coefficients)
        ]

    def _on_all_rows(self, task: Task, rows: AnyRows, shaped: FitResult) -> Solution:
        """Return coefficients from all rows, and the network without its projection on these
        rows.

        In the moments of the result, the basis is the output of the network in each equation.
        """
        weights = shaped.weights
        basis = task.basis  # so that the function sent to workers does not contain the task
        (total,) = gather(task.features, lambda points: basis(points) @ weights, rows)
        sizes = scales(total, self.normalize)
        total = total.scaled(*sizes)
        mu = float(task.regularization.sparsity)
        equations: list[EquationFit] = list(shaped.equations)
        for system in systems(total, task.support, task.regularization, sizes, task.knowledge):
            for problem, alone in zip(system.problems, system.symbolic(total, mu), strict=True):
                c = problem.equation
                terms = problem.terms[problem.independent]
                unit = np.zeros(len(task.support))
                unit[c] = 1 / sizes[1][c]  # the basis is in units of the data, unlike the target
                p = np.zeros(total.n_features)
                A = total.A[np.ix_(terms, terms)]
                p[terms] = QuadraticProblem(A, total.B[terms] @ unit).solve()
                equations[c] = replace(
                    alone, v=unit, p=p, ridge=shaped.equations[c].ridge,
                    dependences=dependences(total, problem.terms),
                )  # fmt: skip
        objectives = tuple(
            _objective_on_all_rows(total, c, fit, shaped) for c, fit in enumerate(equations)
        )
        result = FitResult(
            total, task.support, task.regularization, *sizes, tuple(equations), objectives
        )
        return replace(Solution.of(result, task.basis), weights=weights)


@final
class _Bases:
    """Spectra and held-out folds of the basis functions of residuals."""

    def __init__(
        self,
        total: Moments,
        folds: Sequence[Moments],
        target_mse: Float[np.ndarray, " c"],
        basis_of: Bool[np.ndarray, "c H"] | None,
    ):
        self._total, self._folds, self._target_mse = total, folds, target_mse
        self._basis_of = basis_of
        self._known: dict[bytes, tuple[Spectrum, HeldOut]] = {}

    def of(self, equations: Sequence[int]) -> tuple[Spectrum, HeldOut, Bool[np.ndarray, " H"]]:
        """Return spectrum, folds and mask of the functions that all these equations may use."""
        functions = np.ones(self._total.n_basis, dtype=bool)
        if self._basis_of is not None:
            functions = np.logical_and.reduce(self._basis_of[list(equations)])
        functions = np.asarray(functions)
        key = functions.tobytes()
        if key not in self._known:
            folds = self._folds
            total = self._total
            if not functions.all():
                total = total.only_basis(functions)
                folds = [fold.only_basis(functions) for fold in folds]
            spectrum = Spectrum.of(total)
            held_out = HeldOut((), self._target_mse)
            if folds:  # hundreds of smooth functions span far fewer dimensions
                axes = spectrum.vectors[
                    :, spectrum.values > limits.MIN_BASIS_EIGENVALUE * spectrum.values[-1]
                ]
                reduced = [fold.turned_basis(axes) for fold in folds]
                held_out = HeldOut.of(reduced, self._target_mse)
            self._known[key] = (spectrum, held_out)
        spectrum, held_out = self._known[key]
        return spectrum, held_out, functions


def fold_moments(task: Task, rows: AnyRows) -> tuple[Moments, ...]:
    """Return the moments of terms and network for each outward fold of the rows."""
    count = min(limits.RIDGE_FOLDS, len(rows))
    folds = gather(
        task.features, task.basis, rows, folds=count, fold_of_row=outward_fold_rule(rows, count)
    )
    return tuple(folds)


def _objective_on_all_rows(
    moments: Moments, equation: int, fit: EquationFit, shaped: FitResult
) -> float:
    """Return J with the penalty rho |v|^2 of the network before its projection was removed."""
    rho = 0.0 if np.isinf(fit.ridge) else fit.ridge
    v = shaped.equations[equation].v
    without_ridge = objective(moments, equation, replace(fit, ridge=0.0), shaped.regularization)
    return without_ridge + rho * float(v @ v)


def exact_path(
    moments: Moments | Spectrum,
    mask: Mask,
    orthogonalities: Sequence[float],
    sparsities: Sequence[float],
    *,
    magnitude: float = 0.0,
    ridge: float = 0.0,
) -> Float[np.ndarray, "L M c K"]:
    """Return w for every pair of lam and mu in the units of `moments`, from one factorization.

    The solution for each mu is the initial guess for the next mu.
    """
    spectrum = moments if isinstance(moments, Spectrum) else Spectrum.of(moments)
    moments = spectrum.moments
    result = np.zeros((len(orthogonalities), len(sparsities), *mask.shape))
    order = np.argsort(sparsities)[::-1]
    for c, allowed in enumerate(mask):
        terms = np.flatnonzero(allowed)
        independent, _ = independent_terms(moments.A[np.ix_(terms, terms)])
        reduction = Reduction.of(spectrum, c, terms, magnitude, ridge)
        for i, lam in enumerate(orthogonalities):
            Q, r, _ = reduction.quadratic(lam)
            problem = QuadraticProblem(Q, r).only(independent)
            w = None
            for j in order:
                w = replace(problem, l1=float(sparsities[j])).solve(w)
                result[i, j, c, terms[independent]] = w
    return result


@part
@final
@dataclass(frozen=True)
class TwoStage(AbstractSolver):
    """Lasso without a residual, followed by a fit of a residual to the remaining errors.

    The solver `then` fits the residual.

    With orthogonality 0, the residual can represent the part that shrinkage removed, mu/2 of every
    term [prop:seq_two_stage_failure]; with lam, this part is divided by 1 + lam. After a selection
    of terms, the first stage is least squares without shrinkage.
    """

    then: AbstractSolver = field(default_factory=Exact)
    normalize: bool = field(init=False, repr=False)

    def __post_init__(self):
        if not isinstance(self.then, AbstractSolver) or isinstance(self.then, TwoStage):
            raise InputError(f"TwoStage(then=...) must be Exact() or Adam(); got {self.then!r}.")
        object.__setattr__(self, "normalize", self.then.normalize)

    @property
    def needs_rows(self) -> bool:
        return self.then.needs_rows

    @step("Fitting coefficients and residual")
    def solve_all(self, tasks: Sequence[Task]) -> list[Solution]:
        return self.then.solve_all([self._second(task) for task in tasks])

    def _second(self, task: Task) -> Task:
        """Return the task of the second stage, with fixed coefficients."""
        if task.fixed is not None:
            return task
        rows = task.linear_rows("TwoStage()")
        library = task.library or gather(task.features, no_basis, rows)[0]
        first = Exact(self.normalize).solve(
            [library], task.support, task.regularization, 0.0, knowledge=task.knowledge
        )
        return replace(task, fixed=first.coefficients)
