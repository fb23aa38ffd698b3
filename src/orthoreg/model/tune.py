"""`tune`: select the weights lam and mu with the smallest prediction error on held-out runs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from .._common.errors import InputError
from .._common.scikit import clone
from ..data import fold_rule
from ..fitting import choose_terms, finish, prepare, warn_of_contradictions
from ..search.rows import RegularizationPath, regularization_path
from ..solving import Exact, FitResult, Regularization, Solution, gather, systems
from . import _limits as limits
from .estimator import OrthoReg
from .validation import given_runs, run_rows, training_rows

_ORTHOGONALITIES = (*np.logspace(-4, 4, limits.TUNING_GRID - 1), math.inf)


@final
@dataclass(frozen=True, eq=False)
class Tuning:
    """The model fitted to all data with the best weights, and the errors of all weights."""

    model: OrthoReg
    path: RegularizationPath


def tune(
    model: OrthoReg,
    X: Any,
    y: Any = None,
    *,
    t: Any = None,
    u: Any = None,
    orthogonalities: Sequence[float] | None = None,
    sparsities: Sequence[float] | None = None,
    folds: int = 5,
) -> Tuning:
    """Select the `orthogonality` and the `sparsity` that best predict held-out runs.

    This is the paper's protocol, with 50 x 50 pairs by default. Each pair is solved exactly, from
    moments computed in one pass over the data. The folds are whole runs if there are enough runs.
    The weights belong to the objective of `solver=Exact()`. For other solvers, use scikit-learn's
    `GridSearchCV(model, grid).fit(data)`, which needs one fit per pair and also splits by runs. If
    rho is chosen from the data, the path uses the best rho for the model's initial weights, and the
    returned model chooses rho again.

    Parameters
    ----------
    model
        an `OrthoReg` with `solver=Exact()`.
    X, y, t, u
        the data, as for `OrthoReg.fit`.
    orthogonalities, sparsities
        candidate values; 50 values each if None.
    folds
        number of parts into which the runs are divided.

    Returns
    -------
    tuned
        a `Tuning`: `.model` is fitted with the best pair, and `.path` has the errors of all pairs.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 200)
    >>> runs = [np.column_stack([a * np.cos(t), -a * np.sin(t)]) for a in (0.5, 1.0, 1.5)]
    >>> model = og.OrthoReg(og.Polynomial(2), og.Zero(), solver=og.Exact())
    >>> og.tune(model, runs, t=t, folds=3, orthogonalities=[1.0]).model.equations()
    ["x0' = 1.000 x1", "x1' = -1.000 x0"]
    """
    solver = _solver_of(model)
    if isinstance(folds, bool) or not isinstance(folds, int) or folds < 2:
        raise InputError(f"folds must be a whole number of at least 2; got {folds!r}.")
    lams = _ORTHOGONALITIES if orthogonalities is None else tuple(orthogonalities)
    for lam, mu in [(lam, 0.0) for lam in lams] + [(0.0, mu) for mu in sparsities or ()]:
        Regularization(mu, lam, 0.0)
    copy: Any = clone(model)
    # the path ignores this sparsity, and the choice of rho hardly depends on it
    copy.set_params(sparsity=0.0 if copy.sparsity is None else copy.sparsity)
    recipe = copy.recipe()
    runs = given_runs(X, y, t, u)
    if runs is None:
        observed, columns = training_rows(copy, recipe.loss, X, y, t, u)
    else:
        observed, columns = run_rows(runs, recipe.loss)
    task, _ = choose_terms(recipe, prepare(recipe, observed))
    rows = task.linear_rows("Exact()")
    if len(rows) < folds:
        raise InputError(f"folds={folds} is more than the {len(rows)} samples.")
    parts = gather(task.features, task.basis, rows, folds=folds, fold_of_row=fold_rule(rows, folds))

    def solve(regularization: Regularization) -> FitResult:
        return solver.solve(
            parts, task.support, regularization, task.ridge, rows.target_mse,
            knowledge=task.known, basis_of=task.basis_of,
        )  # fmt: skip

    start = solve(task.regularization)
    sizes = (start.feature_scale, start.target_scale)
    if sparsities is None:
        largest = 2 * max(float(np.abs(start.moments.a).max(initial=0.0)), 1e-300)
        sparsities = tuple(largest * np.logspace(-6, 0, limits.TUNING_GRID))
    given = set(task.known.given_equations)
    groups = systems(start.moments, task.support, task.regularization, sizes, task.known)
    path = regularization_path(
        [part.scaled(*sizes) for part in parts],
        [system for system in groups if not given.issuperset(system.equations)],
        lams,
        sparsities,
        ridges=[equation.ridge for equation in start.equations],
        functions=None if task.basis_of is None else list(task.basis_of),
    )
    lam, mu = path.best
    copy.set_params(orthogonality=lam, sparsity=mu)
    best = copy.recipe()
    solution = Solution.of(solve(best.regularization), task.basis)
    warn_of_contradictions(task, solution)
    fit = finish(best, task, solution, None)
    return Tuning(copy._learn(fit, columns), path)


def _solver_of(model: Any) -> Exact:
    """Return the solver of a model that can be tuned, or raise an error."""
    solver = getattr(model, "solver", None)
    if not isinstance(model, OrthoReg) or not isinstance(solver, Exact):
        raise InputError(
            f"tune needs a model with solver=Exact() or Exact(normalize=True), because the weights "
            f"belong to its objective; got {model!r}. Use scikit-learn's GridSearchCV for other "
            f"models."
        )
    if model.selection is not None:
        raise InputError(
            f"tune selects the terms by sparsity; got a model with selection={model.selection!r}. "
            f"Omit selection."
        )
    return solver
