"""Estimate parameters inside terms, such as K in S/(K + S), by variable projection.

For given parameters, the coefficients are a least-squares solution, so the residual is a function
of the parameters alone. It is minimized on a grid of values on the scale of the data, and then by
Gauss-Newton steps. Constants of equations with a mass matrix start at the values that best satisfy
the implicit form.
"""

from collections.abc import Mapping, Sequence
from typing import final

import numpy as np
from jaxtyping import Bool, Float

from .._common.arrays import Mask
from .._common.errors import InputError
from ..data import AnyRows, Rows, thinned
from ..physics import Group, ImplicitSystem, Knowledge
from ..terms import FeatureMap, parameters_of, sine_arguments, variables_of
from . import _limits as limits


def implicit_starts(
    systems: Sequence[ImplicitSystem], rows: Rows, bounds: Mapping[str, tuple[float, float]]
) -> dict[str, float]:
    """Return the constants that minimize the errors of the equations in implicit form.

    The target of a row serves as its derivative. In a window of the weak form, the target is a mean
    derivative, and its product with another factor is correct only for narrow windows. This is
    accurate enough for initial values.
    """
    starts: dict[str, float] = {}
    for system in systems:
        starts |= _implicit_start(system, rows, bounds)
    return starts


def _implicit_start(
    system: ImplicitSystem, rows: Rows, bounds: Mapping[str, tuple[float, float]]
) -> dict[str, float]:
    from scipy.optimize import least_squares

    names, subset = list(system.constants), thinned(rows, limits.MAX_ROWS_PARAMETERS)
    summands = system.summands()
    count = len(system.equations)
    terms = tuple(dict.fromkeys(summand.part.term for summand in summands))
    inner = tuple(sorted(system.inner))
    features = FeatureMap(rows.names, terms, ((True,) * len(terms),), inner)
    rates = [None if s.rate is None else rows.targets[subset, s.rate] for s in summands]

    def errors(values: Float[np.ndarray, " q"]) -> Float[np.ndarray, "e M"]:
        named = dict(zip(names, values.tolist(), strict=True))
        with np.errstate(all="ignore"):
            phi = rows.evaluate(features.with_values([named[name] for name in inner]), subset)
            totals = np.zeros((count, len(subset)))
            for summand, rate in zip(summands, rates, strict=True):
                factor = summand.part.number
                for name, exponent in summand.part.powers:
                    factor *= named[name] ** exponent
                value = phi[:, terms.index(summand.part.term)]
                totals[summand.equation] += factor * (value if rate is None else value * rate)
        return np.nan_to_num(totals, nan=1e6, posinf=1e6, neginf=-1e6)

    low, high = np.array([bounds.get(name, (-np.inf, np.inf)) for name in names]).reshape(-1, 2).T
    values = np.clip(np.ones(len(names)), low, high)
    sizes = np.ones(count)
    for _ in range(limits.IMPLICIT_ROUNDS if names else 0):
        result = least_squares(
            lambda p, sizes=sizes: (errors(p) / sizes[:, None]).ravel(), values,
            bounds=(low, high), x_scale="jac", max_nfev=limits.MAX_EVALUATIONS_IMPLICIT,
        )  # fmt: skip
        values = result.x
        sizes = np.maximum(np.sqrt(np.mean(errors(values) ** 2, axis=1)), 1e-300)
    return dict(zip(names, values.tolist(), strict=True))


def estimate_parameters(
    features: FeatureMap,
    rows: AnyRows,
    support: Mask,
    bounds: Mapping[str, tuple[float, float]],
    knowledge: Knowledge | None = None,
) -> FeatureMap:
    """Return the features with the parameters that minimize the residual of the terms in
    `support`.

    Parameters of other terms keep their values, or get initial values. A parameter without bounds
    is positive. Given values and relations of coefficients are satisfied; bounds on coefficients
    are ignored.
    """
    known = knowledge or Knowledge.none((len(support), len(features.terms)))
    problem = VariableProjection(features, rows, known.with_support(support), known)
    low, high = _ranges(features, bounds)
    values = np.array(features.values or [np.nan] * len(features.parameters))
    grids = parameter_grids(features, rows, bounds)
    values = np.where(np.isfinite(values), values, [grid[len(grid) // 2] for grid in grids])
    free = np.array([name in problem.used for name in features.parameters])
    if not free.any():
        return features.with_values(values)
    starts = [values] if features.values else []
    implicit = {} if features.values else implicit_starts(known.systems, problem.rows, bounds)
    on_grid = free
    if implicit:
        values = np.array(
            [implicit.get(*pair) for pair in zip(features.parameters, values, strict=True)]
        )
        starts, on_grid = [values], free & ~np.isin(features.parameters, list(implicit))
    if on_grid.any():
        starts += _grid_search(problem, values, grids, on_grid)
    best, min_error = values, np.inf
    for start in starts[: limits.MAX_STARTS]:
        minimum, error = _local_minimum(problem, start, free, low, high)
        if error < min_error:
            best, min_error = minimum, error
    if min_error >= limits.NOT_FINITE_RESIDUAL**2:
        raise InputError(
            f"The terms {[features.names[k] for k in problem.terms]} are not finite on the data "
            f"for any tested value of {', '.join(features.parameters)}. Give bounds, as in "
            f"Terms([...], bounds={{'{features.parameters[0]}': (0.1, 10)}})."
        )
    return features.with_values(best)


@final
class VariableProjection:
    """The least-squares residual as a function of the parameters."""

    def __init__(self, features: FeatureMap, rows: AnyRows, support: Mask, known: Knowledge):
        self.features = features
        depends = np.array([bool(parameters_of(term)) for term in features.terms])
        self.terms = np.flatnonzero(depends & support.any(axis=0))
        equations = set(np.flatnonzero((support & depends).any(axis=1)).tolist())
        groups = known.groups(support)
        coupled = {c for group in groups for c in group.equations}
        self.groups = [group for group in groups if equations & set(group.equations)]
        self.groups += [_single(c, support[c]) for c in sorted(equations - coupled)]
        self.count = sum(len(group.equations) for group in self.groups)
        self.used = frozenset().union(*(parameters_of(features.terms[k]) for k in self.terms))
        self.rows = rows.subsample(limits.MAX_ROWS_PARAMETERS)
        self._all_rows = np.arange(len(self.rows))
        size = np.sqrt(np.mean(self.rows.targets**2, axis=0))
        self.sizes = np.where(size > 0, size, 1.0)
        self.targets = self.rows.targets / self.sizes
        self._fixed = self._values(features.with_values(np.ones(len(features.parameters))))

    def _values(self, features: FeatureMap) -> Float[np.ndarray, "M K"]:
        return self.rows.evaluate(features, self._all_rows)

    def __call__(self, values: Float[np.ndarray, " q"]) -> Float[np.ndarray, " R"]:
        """Return the concatenated residuals of all targets.

        They are large where terms are not finite.
        """
        phi = self._fixed
        phi[:, self.terms] = self.rows.evaluate(
            self.features.with_values(values).only(self.terms.tolist()), self._all_rows
        )
        residuals = []
        for group in self.groups:
            equations = list(group.equations)
            used = (group.atoms != 0).any(axis=(0, 2)) | group.offset.any(axis=0)
            columns = np.where(used, phi, 0.0)
            if not np.isfinite(columns).all():
                return np.full(self.count * len(self.rows), limits.NOT_FINITE_RESIDUAL)
            given = columns @ group.offset.T  # (M, g)
            target = (self.targets[:, equations] - given / self.sizes[equations]).T.ravel()
            atoms = group.atoms / self.sizes[equations][:, None, None]
            matrix = np.concatenate([columns @ atom for atom in atoms])
            size = np.sqrt(np.mean(matrix**2, axis=0))
            scaled = matrix / np.where(size > 0, size, 1.0)
            w = np.linalg.lstsq(scaled, target, rcond=limits.SINGULAR_CUTOFF)[0]
            residuals.append(target - scaled @ w)
        return np.concatenate(residuals)

    def error(self, values: Float[np.ndarray, " q"]) -> float:
        """Return the sum of squares of the residuals."""
        residuals = self(values)
        return float(residuals @ residuals)


def _single(equation: int, support: Bool[np.ndarray, " K"]) -> Group:
    """Return a group that consists of one equation without prior knowledge."""
    terms = np.flatnonzero(support)
    atoms = np.eye(len(support))[:, terms][None]
    none, free = np.zeros(len(terms), dtype=bool), np.tile([[-np.inf], [np.inf]], len(terms))
    return Group((equation,), atoms, np.zeros((1, len(support))), none, free)


def parameter_grids(
    features: FeatureMap, rows: AnyRows, bounds: Mapping[str, tuple[float, float]]
) -> list[Float[np.ndarray, " g"]]:
    """Return initial values of each parameter. A parameter without bounds is positive."""
    low, high = _ranges(features, bounds)
    return [_grid(features, rows, i, low[i], high[i]) for i in range(len(features.parameters))]


def _ranges(
    features: FeatureMap, bounds: Mapping[str, tuple[float, float]]
) -> Float[np.ndarray, "2 q"]:
    ranges = [bounds.get(name, (0.0, np.inf)) for name in features.parameters]
    return np.array(ranges, dtype=float).reshape(-1, 2).T


def _grid(
    features: FeatureMap, rows: AnyRows, index: int, low: float, high: float
) -> Float[np.ndarray, " g"]:
    """Return initial values within the bounds.

    They are multiples of 1, and of the sizes (and inverse sizes) of the variables that appear with
    the parameter, with both signs.
    """
    name = features.parameters[index]
    beside = frozenset().union(
        *(variables_of(term) for term in features.terms if name in parameters_of(term))
    )
    extent = rows.extent
    sizes = [float(np.hypot(extent.mean[v], extent.std[v])) for v in beside]
    units = [1.0, *sizes, *(1 / size for size in sizes if size > 0)]
    positive = np.outer(units, limits.GRID_MULTIPLES).ravel()
    values = np.concatenate([positive, -positive, *_frequencies(features, rows, name)])
    if np.isfinite(low) and np.isfinite(high):
        values = np.append(values, np.linspace(low, high, limits.BOUNDED_GRID_POINTS)[1:-1])
    inside = np.unique(values[(values > low) & (values < high)])
    if not len(inside):
        inside = np.array([low + 1.0 if np.isfinite(low) else high - 1.0])
    return inside


def _frequencies(features: FeatureMap, rows: AnyRows, name: str) -> list[Float[np.ndarray, " f"]]:
    """Return frequencies inside sines and cosines, spaced by a quarter turn over the range of the
    variable.

    Least squares has many local minima in between.
    """
    low, high = rows.extent.range
    spans = {
        float(high[v] - low[v])
        for term in features.terms
        for argument in sine_arguments(term)
        if name in parameters_of(argument)
        for v in variables_of(argument)
    }
    return [
        np.arange(1, limits.MAX_QUARTER_TURNS) * (np.pi / 2 / span) for span in spans if span > 0
    ]


def _grid_search(
    problem: VariableProjection,
    values: Float[np.ndarray, " q"],
    grids: list[np.ndarray],
    free: np.ndarray,
) -> list[np.ndarray]:
    """Return initial values, best first, from searches over the grid of each parameter in turn."""
    errors: dict[tuple[float, ...], float] = {}
    for _ in range(limits.GRID_SWEEPS if free.sum() > 1 else 1):
        for i in np.flatnonzero(free):
            for value in grids[i]:
                point = values.copy()
                point[i] = value
                if tuple(point) not in errors:
                    errors[tuple(point)] = problem.error(point)
            values = np.array(min(errors, key=errors.__getitem__))
    return [np.array(point) for point in sorted(errors, key=errors.__getitem__)]


def _local_minimum(
    problem: VariableProjection,
    start: Float[np.ndarray, " q"],
    free: np.ndarray,
    low: Float[np.ndarray, " q"],
    high: Float[np.ndarray, " q"],
) -> tuple[Float[np.ndarray, " q"], float]:
    """Return the nearest minimum, and the sum of squares there."""
    from scipy.optimize import least_squares

    def residuals(free_values: np.ndarray) -> np.ndarray:
        values = start.copy()
        values[free] = free_values
        return problem(values)

    tolerance = limits.PARAMETER_TOLERANCE
    result = least_squares(
        residuals, start[free], bounds=(low[free], high[free]), x_scale=np.abs(start[free]) + 1e-12,
        xtol=tolerance, ftol=tolerance, gtol=tolerance,
        max_nfev=limits.MAX_EVALUATIONS_PARAMETERS,
    )  # fmt: skip
    values = start.copy()
    values[free] = result.x
    return values, 2 * float(result.cost)
