"""The route of every fit: rows -> terms -> solution -> gate -> certificate -> `Fit`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from jaxtyping import Float

from .._common.errors import InputError
from .._common.typing import Mask
from ..augmentations import AbstractBasis
from ..data import AnyRows, Extent, Rows, folds
from ..diagnostics import certify
from ..field.gate import SEARCHED, Gate, Region
from ..field.hybrid import HybridField
from ..libraries import parameter_bounds
from ..physics import Knowledge, Symmetries, basis_of, bind_physics, symmetric_basis
from ..selection import SelectionResult
from ..solvers import Solution, Task, hold
from . import _limits as limits
from ._angles import choose_default_terms
from ._contradictions import warn_of_contradictions
from ._fit import Fit
from ._parameters import estimate_parameters
from ._recipe import Recipe


def fit(recipe: Recipe, observed: AnyRows) -> Fit:
    """The model of a recipe for these rows."""
    return fit_all([recipe], observed)[0]


def fit_all(recipes: Sequence[Recipe], observed: AnyRows) -> list[Fit]:
    """The models of several recipes for the same rows.

    All must have the same loss and solver; a gradient solver trains what it can in one batch.
    """
    first = recipes[0]
    for other in recipes[1:]:
        if (other.loss, other.solver) != (first.loss, first.solver):
            raise InputError(
                f"Models that are fitted together need the same loss and solver; got "
                f"{first.loss!r}, {first.solver!r} and {other.loss!r}, {other.solver!r}."
            )
    if len(observed) < 2:
        raise InputError("A fit needs at least 2 samples; the data hold 1.")
    chosen = [choose_terms(recipe, prepare(recipe, observed)) for recipe in recipes]
    solutions = first.solver.solve_all([task for task, _ in chosen])
    for (task, _), solution in zip(chosen, solutions, strict=True):
        warn_of_contradictions(task, solution)
    return [
        finish(recipe, task, solution, selection)
        for recipe, (task, selection), solution in zip(recipes, chosen, solutions, strict=True)
    ]


def prepare(recipe: Recipe, observed: AnyRows) -> Task:
    """What the solver is asked for, with all terms of the library still in it."""
    bound = bind_physics(
        recipe.physics, recipe.library, observed.names, observed.outputs, observed.given,
        observed.time_index,
    )  # fmt: skip
    features = bound.features
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


def knowledge_of(
    recipe: Recipe,
    names: Sequence[str],
    outputs: Sequence[str],
    given: Mapping[int, int],
    clock: int | None,
) -> Knowledge:
    """What a recipe's physics says of the coefficients for these columns and equations."""
    return bind_physics(recipe.physics, recipe.library, names, outputs, given, clock).knowledge


def residual_basis(
    recipe: Recipe, observed: AnyRows, symmetries: Symmetries | None
) -> AbstractBasis:
    """The functions of the residual, with the symmetries that are known."""
    rng = np.random.default_rng(int(recipe.seed))
    extent = observed.extent
    unseen = ~extent.varies
    if observed.time_index is not None:
        unseen[observed.time_index] = True
    if symmetries is None or not symmetries.any:
        # in chunks sums are rounded in another order, which a ridge of 1e-12 would show
        mean, spread = (_rounded(values) for values in (extent.mean, extent.std))
        basis = recipe.augmentation.init(mean, spread, rng=rng)
        return basis.mask_inputs(unseen)
    some = observed.subsample(limits.MAX_ROWS_SYMMETRIC_SCALE)
    basis = symmetric_basis(recipe.augmentation, symmetries, some.points, rng)
    return basis.mask_inputs(unseen)


def _rounded(values: Float[np.ndarray, " V"]) -> Float[np.ndarray, " V"]:
    """The values to ten digits, in whatever unit that differs by a power of two."""
    share, power = np.frexp(values)
    return np.ldexp(np.round(np.ldexp(share, limits.SCALE_BITS)), power - limits.SCALE_BITS)


def choose_terms(recipe: Recipe, task: Task) -> tuple[Task, SelectionResult | None]:
    """The task with the terms that the recipe's selection chose, if it has one.

    They are solved for without the L1 norm, which would choose again. Of a library that nobody
    chose, sines and cosines are candidates only of angles, or where the data prefer them.
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
    if task.features.parameters:  # which are now estimated with the chosen terms alone
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
    """What the recipe's selection chose, and what is known to be there."""
    assert recipe.selection is not None
    selection = recipe.selection.select(task)
    return replace(selection, support=task.known.with_support(selection.support))


def with_parameters(recipe: Recipe, task: Task, support: Mask) -> Task:
    """The task with the parameters inside its terms estimated for the terms of `support`."""
    if not task.features.parameters:
        return task
    rows = task.linear_rows("A parameter inside a term")
    bounds = parameter_bounds(recipe.library) | task.known.parameter_bounds
    found = estimate_parameters(task.features, rows, support, bounds, task.known)
    return replace(task, features=found)


def finish(
    recipe: Recipe, task: Task, solution: Solution, selection: SelectionResult | None
) -> Fit:
    """The fitted function with its gate and what is given in it, and its certificate."""
    solution = hold(solution, task.known)
    result = solution.result if selection is None else solution.result.within(task.features.mask)
    certificate = certify(
        result, task.observed.outputs, task.features.names, normalized=recipe.solver.normalize
    )
    function = HybridField(
        task.features,
        solution.coefficients,
        solution.basis,
        solution.weights,
        solution.correction,
        parameters=np.array(task.features.values),
    )
    if recipe.gate is not None:
        function = replace(function, region=_region(recipe.gate, task, function))
    has_path = selection is not None and selection.paths
    return Fit(
        function,
        certificate,
        selection if has_path else None,
        solution.training,
        task.observed.point_extent.range,
    )


def _region(gate: Gate, task: Task, field: HybridField) -> Region:
    """Where the training data, and their images under what symmetries are known, lie."""
    observed, symmetries = task.observed, task.known.symmetries
    clock = observed.time_index
    turn = np.zeros(0) if symmetries is None or not symmetries.any else symmetries.periods

    def places(rows: Rows) -> Float[np.ndarray, "M V"]:
        """Where its points are, without time: later is not further away."""
        points = rows.points
        if clock is not None:
            points = np.array(points)
            points[:, clock] = 0.0
        if turn.any():
            points = np.where(turn > 0, points % np.where(turn > 0, turn, 1.0), points)
        return points

    extent = observed.point_extent
    if clock is not None or turn.any():
        extent = observed.sum_chunks(lambda rows: Extent.of(places(rows)))
    some = observed.subsample(SEARCHED)
    parts = folds(some, limits.GATE_PARTS)[some.row_of_point()]
    region = gate.region(
        extent, places(some), parts,
        lambda f: max(observed.map_chunks(lambda rows: f(places(rows)))),
        field.neural,
    )  # fmt: skip
    if symmetries is None or not symmetries.any:
        return region
    return region.with_images(symmetries.images(), turn)
