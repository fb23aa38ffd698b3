"""Parameters inside terms, K in S/(K + S), by variable projection.

For given parameters the best coefficients are least squares; what that leaves unexplained is a
function of the parameters alone, which is minimised: over a grid of the data's own scales first,
then by Gauss-Newton steps. Constants of equations with a mass matrix begin at the values of their
unsolved form.
"""

from collections.abc import Mapping, Sequence
from typing import final

import numpy as np
from jaxtyping import Bool, Float

from .._common.errors import InputError
from .._common.typing import Mask
from ..data import AnyRows, Rows, thinned
from ..libraries import FeatureMap, parameters_of, sine_arguments, variables_of
from ..physics import Group, Implicit, Knowledge
from . import _limits as limits


def implicit_starts(
    systems: Sequence[Implicit], rows: Rows, bounds: Mapping[str, tuple[float, float]]
) -> dict[str, float]:
    """The constants with which the equations, as they were written, hold best on these rows.

    A derivative within a row is the row's target: in a window of the weak form its mean, so that
    the product with a factor that changes is right for narrow windows only. Good to begin with.
    """
    found: dict[str, float] = {}
    for system in systems:
        found |= _start(system, rows, bounds)
    return found


def _start(
    system: Implicit, rows: Rows, bounds: Mapping[str, tuple[float, float]]
) -> dict[str, float]:
    from scipy.optimize import least_squares

    names, chosen = list(system.constants), thinned(rows, limits.MAX_ROWS_PARAMETERS)
    summands = system.summands()
    count = len(system.equations)
    terms = tuple(dict.fromkeys(one.part.term for one in summands))
    inner = tuple(sorted(system.inner))
    features = FeatureMap(rows.names, terms, ((True,) * len(terms),), inner)
    rates = [None if one.rate is None else rows.targets[chosen, one.rate] for one in summands]

    def errors(values: Float[np.ndarray, " q"]) -> Float[np.ndarray, "e M"]:
        named = dict(zip(names, values.tolist(), strict=True))
        with np.errstate(all="ignore"):
            phi = rows.evaluate(features.with_values([named[name] for name in inner]), chosen)
            left = np.zeros((count, len(chosen)))
            for one, rate in zip(summands, rates, strict=True):
                factor = one.part.number
                for name, exponent in one.part.powers:
                    factor *= named[name] ** exponent
                value = phi[:, terms.index(one.part.term)]
                left[one.equation] += factor * (value if rate is None else value * rate)
        return np.nan_to_num(left, nan=1e6, posinf=1e6, neginf=-1e6)

    low, high = np.array([bounds.get(name, (-np.inf, np.inf)) for name in names]).reshape(-1, 2).T
    values = np.clip(np.ones(len(names)), low, high)
    sizes = np.ones(count)
    for _ in range(limits.IMPLICIT_ROUNDS if names else 0):
        tried = least_squares(
            lambda p, sizes=sizes: (errors(p) / sizes[:, None]).ravel(), values,
            bounds=(low, high), x_scale="jac", max_nfev=50,
        )  # fmt: skip
        values = tried.x
        sizes = np.maximum(np.sqrt(np.mean(errors(values) ** 2, axis=1)), 1e-300)
    return dict(zip(names, values.tolist(), strict=True))


def estimate_parameters(
    features: FeatureMap,
    rows: AnyRows,
    support: Mask,
    bounds: Mapping[str, tuple[float, float]],
    knowledge: Knowledge | None = None,
) -> FeatureMap:
    """The features with the parameters that serve the terms of `support` best.

    Parameters of other terms keep their values, or get those of a start. Without bounds a
    parameter is positive. Coefficients that are known or tied are so for all values; bounds on
    them do not count here.
    """
    known = knowledge or Knowledge.none((len(support), len(features.terms)))
    problem = Projection(features, rows, known.with_support(support), known)
    low, high = np.array([bounds.get(name, (0.0, np.inf)) for name in features.parameters]).T
    values = np.array(features.values or [np.nan] * len(features.parameters))
    grids = [_grid(features, rows, i, low[i], high[i]) for i in range(len(values))]
    values = np.where(np.isfinite(values), values, [grid[len(grid) // 2] for grid in grids])
    free = np.array([name in problem.used for name in features.parameters])
    if not free.any():
        return features.with_values(values)
    starts = [values] if features.values else []
    first = {} if features.values else implicit_starts(known.systems, problem.rows, bounds)
    if first:
        values = np.array(
            [first.get(*pair) for pair in zip(features.parameters, values, strict=True)]
        )
        starts, free_to_search = [values], free & ~np.isin(features.parameters, list(first))
    else:
        free_to_search = free
    if free_to_search.any():
        starts += _searched(problem, values, grids, free_to_search)
    best, least = values, np.inf
    for start in starts[: limits.MAX_STARTS]:
        found, error = _polished(problem, start, free, low, high)
        if error < least:
            best, least = found, error
    if least >= limits.NOT_FINITE_RESIDUAL**2:
        raise InputError(
            f"The terms {[features.names[k] for k in problem.terms]} are not finite on the data "
            f"for any value tried of {', '.join(features.parameters)}. Give bounds, as in "
            f"Terms([...], bounds={{'{features.parameters[0]}': (0.1, 10)}})."
        )
    return features.with_values(best)


@final
class Projection:
    """What least squares leaves of the targets, as a function of the parameters."""

    def __init__(self, features: FeatureMap, rows: AnyRows, support: Mask, known: Knowledge):
        self.features = features
        depends = np.array([bool(parameters_of(term)) for term in features.terms])
        self.terms = np.flatnonzero(depends & support.any(axis=0))
        equations = set(np.flatnonzero((support & depends).any(axis=1)).tolist())
        groups = known.groups(support)
        coupled = {c for group in groups for c in group.equations}
        self.groups = [group for group in groups if equations & set(group.equations)]
        self.groups += [_alone(c, support[c]) for c in sorted(equations - coupled)]
        self.count = sum(len(group.equations) for group in self.groups)
        self.used = frozenset().union(*(parameters_of(features.terms[k]) for k in self.terms))
        self.rows = rows.subsample(limits.MAX_ROWS_PARAMETERS)
        self._every = np.arange(len(self.rows))
        size = np.sqrt(np.mean(self.rows.targets**2, axis=0))
        self.sizes = np.where(size > 0, size, 1.0)
        self.targets = self.rows.targets / self.sizes
        self._fixed = self._values(features.with_values(np.ones(len(features.parameters))))

    def _values(self, features: FeatureMap) -> Float[np.ndarray, "M K"]:
        return self.rows.evaluate(features, self._every)

    def __call__(self, values: Float[np.ndarray, " q"]) -> Float[np.ndarray, " R"]:
        """The unexplained parts of all targets, one after the other; large where not finite."""
        phi = self._fixed
        phi[:, self.terms] = self.rows.evaluate(
            self.features.with_values(values).only(self.terms.tolist()), self._every
        )
        left = []
        for group in self.groups:
            own = list(group.equations)
            used = (group.atoms != 0).any(axis=(0, 2)) | group.offset.any(axis=0)
            columns = np.where(used, phi, 0.0)
            if not np.isfinite(columns).all():
                return np.full(self.count * len(self.rows), limits.NOT_FINITE_RESIDUAL)
            given = columns @ group.offset.T  # (M, g)
            target = (self.targets[:, own] - given / self.sizes[own]).T.ravel()
            moves = group.atoms / self.sizes[own][:, None, None]
            matrix = np.concatenate([columns @ move for move in moves])
            size = np.sqrt(np.mean(matrix**2, axis=0))
            scaled = matrix / np.where(size > 0, size, 1.0)
            w = np.linalg.lstsq(scaled, target, rcond=limits.SINGULAR_CUTOFF)[0]
            left.append(target - scaled @ w)
        return np.concatenate(left)

    def error(self, values: Float[np.ndarray, " q"]) -> float:
        """The squared size of what is left."""
        left = self(values)
        return float(left @ left)


def _alone(equation: int, support: Bool[np.ndarray, " K"]) -> Group:
    """An equation of which nothing is known."""
    terms = np.flatnonzero(support)
    atoms = np.eye(len(support))[:, terms][None]
    none, free = np.zeros(len(terms), dtype=bool), np.tile([[-np.inf], [np.inf]], len(terms))
    return Group((equation,), atoms, np.zeros((1, len(support))), none, free)


def _grid(
    features: FeatureMap, rows: AnyRows, place: int, low: float, high: float
) -> Float[np.ndarray, " g"]:
    """Multiples of one, and of the sizes of the variables beside the parameter or their inverses,
    within its bounds; of all signs that these allow."""
    name = features.parameters[place]
    beside = frozenset().union(
        *(variables_of(term) for term in features.terms if name in parameters_of(term))
    )
    extent = rows.extent
    sizes = [float(np.hypot(extent.mean[v], extent.std[v])) for v in beside]
    units = [1.0, *sizes, *(1 / size for size in sizes if size > 0)]
    positive = np.outer(units, limits.GRID_MULTIPLES).ravel()
    values = np.concatenate([positive, -positive, *_frequencies(features, rows, name)])
    if np.isfinite(low) and np.isfinite(high):
        values = np.append(values, np.linspace(low, high, 11)[1:-1])
    inside = np.unique(values[(values > low) & (values < high)])
    if not len(inside):
        inside = np.array([low + 1.0 if np.isfinite(low) else high - 1.0])
    return inside


def _frequencies(features: FeatureMap, rows: AnyRows, name: str) -> list[Float[np.ndarray, " f"]]:
    """Values of a parameter that multiplies a variable in a sine or cosine, a quarter of a turn
    over the range of the variable apart: beside the right one, least squares finds another."""
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


def _searched(
    problem: Projection,
    values: Float[np.ndarray, " q"],
    grids: list[np.ndarray],
    free: np.ndarray,
) -> list[np.ndarray]:
    """Good starts, best first: each parameter over its grid in turn, the others held."""
    tried: dict[tuple[float, ...], float] = {}
    for _ in range(limits.GRID_SWEEPS if free.sum() > 1 else 1):
        for place in np.flatnonzero(free):
            for value in grids[place]:
                point = values.copy()
                point[place] = value
                if tuple(point) not in tried:
                    tried[tuple(point)] = problem.error(point)
            values = np.array(min(tried, key=tried.__getitem__))
    return [np.array(point) for point in sorted(tried, key=tried.__getitem__)]


def _polished(
    problem: Projection,
    start: Float[np.ndarray, " q"],
    free: np.ndarray,
    low: Float[np.ndarray, " q"],
    high: Float[np.ndarray, " q"],
) -> tuple[Float[np.ndarray, " q"], float]:
    """The nearest minimum, and what it leaves."""
    from scipy.optimize import least_squares

    def left(part: np.ndarray) -> np.ndarray:
        values = start.copy()
        values[free] = part
        return problem(values)

    found = least_squares(
        left, start[free], bounds=(low[free], high[free]), x_scale=np.abs(start[free]) + 1e-12,
        xtol=1e-14, ftol=1e-14, gtol=1e-14, max_nfev=60,
    )  # fmt: skip
    values = start.copy()
    values[free] = found.x
    return values, 2 * float(found.cost)
