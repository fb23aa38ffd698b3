"""Fit rows: prepare the task, select terms, solve for coefficients, certify, and fit the gate."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from jaxtyping import Float

from .._common.arrays import Mask
from .._common.errors import DataError, DataWarning, InputError
from ..data import AnyRows, Extent, Rows, folds
from ..diagnostics import certify
from ..field import AbstractBasis
from ..field.gate import SEARCHED, Gate, Region
from ..field.hybrid import HybridField
from ..physics import Knowledge, Symmetries, basis_of, bind_physics, symmetric_basis
from ..search.rows import SelectionResult
from ..solving import (
    Moments,
    QuadraticProblem,
    Solution,
    Task,
    apply_constraints,
    gather,
    independent_terms,
    no_basis,
    squared_error,
)
from ..terms import like_terms, parameters_of
from . import _limits as limits
from ._angles import choose_default_terms
from ._fit import Fit, Recipe
from ._parameters import estimate_parameters
from ._update import RowRecord


def fit(recipe: Recipe, observed: AnyRows) -> Fit:
    """Return the fit of a recipe to these rows."""
    return fit_all([recipe], observed)[0]


def fit_all(recipes: Sequence[Recipe], observed: AnyRows) -> list[Fit]:
    """Return the fits of several recipes to the same rows.

    All recipes must have the same loss and solver. A gradient solver trains compatible recipes in
    one batch.
    """
    first = recipes[0]
    for recipe in recipes[1:]:
        if (recipe.loss, recipe.solver) != (first.loss, first.solver):
            raise InputError(
                f"Models that are fitted together need the same loss and solver; got "
                f"{first.loss!r}, {first.solver!r} and {recipe.loss!r}, {recipe.solver!r}."
            )
    if len(observed) < 2:
        raise InputError("A fit needs at least 2 samples; the data have 1.")
    tasks = [prepare(recipe, observed) for recipe in recipes]
    for task in tasks:
        check_not_tiny(task)
    chosen = [choose_terms(recipe, task) for recipe, task in zip(recipes, tasks, strict=True)]
    solutions = first.solver.solve_all([task for task, _ in chosen])
    for recipe, (task, _), solution in zip(recipes, chosen, solutions, strict=True):
        # with constants per run, runs may have few samples
        if recipe.physics is None or not recipe.physics.per_run:
            warn_of_contradictions(task, solution)
    return [
        finish(recipe, task, solution, selection)
        for recipe, (task, selection), solution in zip(recipes, chosen, solutions, strict=True)
    ]


def prepare(recipe: Recipe, observed: AnyRows) -> Task:
    """Return the task for the solver, with all terms of the library."""
    bound = bind_physics(
        recipe.physics, recipe.library, observed.names, observed.outputs, observed.given,
        observed.time_index,
    )  # fmt: skip
    features = bound.features
    if recipe.algebra is not None:
        features = features.among(like_terms(features.terms, recipe.algebra))
    features = features.among([name not in recipe.left_out for name in features.names])
    symmetries = bound.knowledge.symmetries
    basis = residual_basis(recipe, observed, symmetries)
    return Task(
        features=features,
        basis=basis,
        learns_hidden=recipe.augmentation.learns_hidden,
        ridge=recipe.augmentation.ridge,
        regularization=recipe.regularization,
        loss=recipe.loss,
        observed=observed,
        linear=observed if recipe.loss.is_linear else None,
        seed=int(recipe.seed),
        support=features.mask,
        given={c: int(np.argmax(features.mask[c])) for c in observed.given},
        knowledge=bound.knowledge,
        basis_of=None if symmetries is None else basis_of(basis, symmetries),
    )


def check_not_tiny(task: Task) -> None:
    """Raise an error if the squares of a nonzero term or target are rounded to zero.

    A product that is itself rounded to zero, such as x**4 for x = 1e-90, is evaluated in larger
    units.
    """
    sample, features = task.observed.extent.sample, task.features
    points = sample[:: max(len(sample) // limits.SIZE_ROWS, 1)]
    # constants inside terms have no values yet
    plain = [k for k, term in enumerate(features.terms) if not parameters_of(term)]
    features = replace(features.only(plain), parameters=(), values=())
    with np.errstate(all="ignore"):
        sizes = np.abs(features(points)).max(axis=0)
        is_tiny = (sizes > 0) & (sizes < limits.MIN_SIZE)
        exponents = np.frexp(np.abs(points).max(axis=0))[1]
        if exponents.min() < limits.SMALL_EXPONENT and not sizes.all():
            enlarged = features(np.ldexp(points, -np.minimum(exponents, 0)))
            is_tiny |= (sizes == 0) & (np.abs(enlarged).max(axis=0) > 0)
    for k in np.flatnonzero(is_tiny):
        raise DataError(
            f"Library term '{features.names[k]}' is at most {sizes[k]:g} in size, which is too "
            f"small; the largest value of a term must be at least {limits.MIN_SIZE:g}. Give the "
            f"columns in smaller units, or remove the term from the library."
        )
    if not isinstance(task.observed, Rows):
        return
    size = np.abs(task.observed.targets).max(initial=0.0)
    if 0 < size < limits.MIN_SIZE:
        raise DataError(
            f"The largest rate of change is {size:g}, which is too small; it must be 0 or at least "
            f"{limits.MIN_SIZE:g}. Give the columns in smaller units, or the time in a larger one."
        )


def knowledge_of(
    recipe: Recipe,
    names: Sequence[str],
    outputs: Sequence[str],
    given: Mapping[int, int],
    clock: int | None,
) -> Knowledge:
    """Return the knowledge on coefficients in a recipe's physics, for these columns and
    equations.
    """
    return bind_physics(recipe.physics, recipe.library, names, outputs, given, clock).knowledge


def residual_basis(
    recipe: Recipe, observed: AnyRows, symmetries: Symmetries | None
) -> AbstractBasis:
    """Return the basis functions of the residual. They satisfy the known symmetries."""
    rng = np.random.default_rng(int(recipe.seed))
    extent = observed.extent
    ignored = ~extent.varies
    if observed.time_index is not None:
        ignored[observed.time_index] = True
    if recipe.physics is not None:
        ignored |= np.isin(observed.names, recipe.physics.per_run)
    if symmetries is None or not symmetries.any:
        # the order of summation depends on chunks, and a ridge of 1e-12 would amplify its effect
        mean, std = (_rounded(values) for values in (extent.mean, extent.std))
        basis = recipe.augmentation.init(mean, std, rng=rng)
        return basis.mask_inputs(ignored)
    sample = observed.subsample(limits.SUBSAMPLE_ROWS)
    basis = symmetric_basis(recipe.augmentation, symmetries, sample.points, rng)
    return basis.mask_inputs(ignored)


def _rounded(values: Float[np.ndarray, " V"]) -> Float[np.ndarray, " V"]:
    """Return the values rounded to ten digits.

    Rounding is the same in units that differ by a power of two.
    """
    mantissa, power = np.frexp(values)
    return np.ldexp(np.round(np.ldexp(mantissa, limits.SCALE_BITS)), power - limits.SCALE_BITS)


def choose_terms(recipe: Recipe, task: Task) -> tuple[Task, SelectionResult | None]:
    """Return the task with the selected terms, and the selection, or None if the recipe has
    none.

    The L1 norm is dropped, because it would select terms again. Sines and cosines of the default
    library are candidates only for angles, or if the data clearly prefer them.
    """
    task = with_parameters(recipe, task, task.support)
    if recipe.selection is None:
        return task, None
    if task.linear is None and recipe.fallback_sparsity is not None:
        sparsity = task.regularization.sparsity or recipe.fallback_sparsity
        return replace(task, regularization=replace(task.regularization, sparsity=sparsity)), None
    left_out = np.zeros(len(task.features.terms), dtype=bool)
    if recipe.library_is_default:
        select = partial(_selected, recipe)
        selection, left_out = choose_default_terms(task, recipe.units, select)
    else:
        selection = _selected(recipe, task)
    if task.features.parameters:  # again, with only the selected terms
        task = with_parameters(recipe, task, selection.support)
        candidates = replace(task, support=task.support & ~left_out)
        selection = _selected(recipe, candidates)
    names = tuple(task.features.names[k] for k in np.flatnonzero(left_out))
    narrowed = replace(
        task,
        support=selection.support,
        regularization=replace(task.regularization, sparsity=0.0),
        library=selection.library,
        folds=selection.folds,
    )
    return narrowed, replace(selection, left_out=names)


def _selected(recipe: Recipe, task: Task) -> SelectionResult:
    """Return the recipe's selection with the required terms added."""
    assert recipe.selection is not None
    selection = recipe.selection.select(task)
    return replace(selection, support=task.known.with_support(selection.support))


def with_parameters(recipe: Recipe, task: Task, support: Mask) -> Task:
    """Return the task with estimates of the parameters inside the terms of `support`."""
    if not task.features.parameters:
        return task
    rows = task.linear_rows("A parameter inside a term")
    bounds = recipe.parameter_bounds(task.known)
    features = estimate_parameters(task.features, rows, support, bounds, task.known)
    return replace(task, features=features)


def finish(
    recipe: Recipe, task: Task, solution: Solution, selection: SelectionResult | None
) -> Fit:
    """Return the fit of a solution with its certificate and gate."""
    solution = apply_constraints(solution, task.known)
    result = solution.result if selection is None else solution.result.within(task.features.mask)
    certificate = certify(
        result, task.observed.outputs, task.features.names, normalized=recipe.solver.normalize
    )
    field = HybridField(
        task.features,
        solution.coefficients,
        solution.basis,
        solution.weights,
        solution.correction,
        parameters=np.array(task.features.values),
    )
    if recipe.gate is not None:
        field = replace(field, region=_region(recipe.gate, task, field))
    has_path = selection is not None and selection.paths
    return Fit(
        field,
        certificate,
        selection if has_path else None,
        solution.training,
        task.observed.point_extent.range,
        record=RowRecord.of(solution.result, np.asarray(solution.coefficients)),
    )


def _region(gate: Gate, task: Task, field: HybridField) -> Region:
    """Return the region of the training data, and of their images under known symmetries."""
    observed, symmetries = task.observed, task.known.symmetries
    clock = observed.time_index
    periods = np.zeros(0) if symmetries is None or not symmetries.any else symmetries.periods

    def points_of(rows: Rows) -> Float[np.ndarray, "M V"]:
        """Return the points with periodic variables reduced by their periods.

        Time is left out, because it has no meaningful distance.
        """
        points = rows.points
        if clock is not None:
            points = np.array(points)
            points[:, clock] = 0.0
        if periods.any():
            points = np.where(periods > 0, points % np.where(periods > 0, periods, 1.0), points)
        return points

    extent = observed.point_extent
    if clock is not None or periods.any():
        extent = observed.sum_chunks(lambda rows: Extent.of(points_of(rows)))
    sample = observed.subsample(SEARCHED)
    parts = folds(sample, limits.GATE_PARTS)[sample.row_of_point()]
    region = gate.region(
        extent,
        points_of(sample),
        parts,
        lambda f: max(observed.map_chunks(lambda rows: f(points_of(rows)))),
        field.neural,
    )
    if symmetries is None or not symmetries.any:
        return region
    return region.with_images(symmetries.images(), periods)


def warn_of_contradictions(task: Task, solution: Solution) -> None:
    """Warn about given equations and symmetries with a large residual that the library alone
    explains.
    """
    known = task.known
    if task.linear is None or not known.beyond(task.given):
        return
    library = task.library or gather(task.features, no_basis, task.linear)[0]
    terms, _ = independent_terms(library.A)
    symmetric = known.symmetries is not None and known.symmetries.any
    for c, name in enumerate(task.observed.outputs):
        size = float(library.yy[c])
        if c in task.given or size <= 0:
            continue
        free = _unexplained(library, terms, c) / size
        moments, fit = solution.result.moments, solution.result.equations[c]
        # subtract the part of the residual that further training would remove
        untrained = 0.0 if solution.training is None else fit.duality_gap / float(moments.yy[c])
        if c in known.complete:
            w = known.low[c] if c in known.given_equations else solution.coefficients[c]
            error = squared_error(library, c, np.asarray(w), np.zeros(0)) / size - untrained
            is_better = free < limits.CONTRADICTION_LIBRARY_RATIO * error
            if error > limits.CONTRADICTED_EQUATION and is_better:
                _warn(f"the given equation of '{name}'", name, error, free,
                      "Check its signs and units.")  # fmt: skip
        elif symmetric:
            error = squared_error(moments, c, fit.w - fit.p, fit.v) / float(moments.yy[c])
            error -= untrained
            noise = float(task.observed.target_mse[c]) / size
            is_better = free < limits.CONTRADICTION_LIBRARY_RATIO * error
            max_error = max(limits.CONTRADICTED_SYMMETRY, limits.CONTRADICTION_NOISE * noise)
            if error > max_error and is_better:
                _warn("the symmetry", name, error, free, "Omit it, or check the columns.")


def _unexplained(library: Moments, terms: np.ndarray, equation: int) -> float:
    """Return the squared error |y - Phi w|^2 of a least-squares fit with these terms."""
    w = np.zeros(library.n_features)
    A = library.A[np.ix_(terms, terms)]
    w[terms] = QuadraticProblem(A, library.a[terms, equation]).solve()
    return squared_error(library, equation, w, np.zeros(library.n_basis))


def _warn(knowledge: str, name: str, error: float, free: float, advice: str) -> None:
    warnings.warn(
        f"The data contradict {knowledge}: {_percent(error)} of the mean square of {name}' is "
        f"unexplained with it, but only {_percent(free)} by the library without it. {advice}",
        DataWarning,
        stacklevel=6,
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2g}%"
