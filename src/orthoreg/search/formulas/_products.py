"""Products of two templates of different variables, such as exp(-x/2)*sin(2*y): too many for the
dictionary, hence sought beside a few supports, where other functions leave something."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Float

from ...terms import Parameter, Variable, multiply, substitute, to_text
from ._beam import DEPENDENT, Support
from ._catalogue import coarse, span_of, with_templates
from ._equation import Equation
from ._projection import Projection, project
from ._shapes import Shape
from ._symmetries import held
from ._templates import PLAIN_FACTORS, TEMPLATES

FAMILY = "product"
_MOST_COLUMNS = 12_000  # products of all pairs of variables
_VALUES = (6, 4, 2)  # of a factor's parameters: the most with which these are not too many
_TRIED = 10  # structures beside each support whose parameters begin to be estimated
_FIRST_ROUNDS = 3  # of doing so
_KEPT = 3  # of these, that are offered
_DEPENDENT = 1e-7  # of the largest singular value: less is no direction of its own


@final
@dataclass(frozen=True, eq=False)
class Factors:
    """The templates of one variable as shapes, and their columns at the points side by side;
    those of factor k are `places[k]`."""

    shapes: tuple[Shape, ...]
    places: tuple[slice, ...]
    columns: Float[np.ndarray, "M g"]


@final
class Start(NamedTuple):
    """A product beside a support, with the values of its parameters on the grids."""

    gain: float
    shape: Shape
    values: tuple[float, ...]


def add_products(
    equation: Equation,
    supports: Sequence[Support],
    goes_on: Callable[[], bool] = lambda: True,
) -> list[tuple[int, ...]]:
    """Adds the products that serve these supports best, with their parameters estimated; each of
    the supports with each of its products."""
    bases = [orthonormal(equation.phi[:, list(one.columns)]) for one in supports]
    starts: list[list[Start]] = [[] for _ in supports]
    for first, second in _pairs(equation):
        if not goes_on():
            break
        gains = product_gains(equation, bases, first.columns, second.columns)
        found = _best_starts(equation, first, second, gains)
        starts = [_largest([*old, *new]) for old, new in zip(starts, found, strict=True)]
    places: dict[str, int] = {}
    begun = []
    for support, tried in zip(supports, starts, strict=True):
        if not goes_on():
            break
        for shape, values in _estimated(equation, support, tried):
            column = _added(equation, shape, values, places)
            if column is not None:
                begun.append((*support.columns, column))
    return begun


def orthonormal(columns: Float[np.ndarray, "R k"]) -> Float[np.ndarray, "R r"]:
    """A basis of the space that these columns span."""
    if not columns.shape[1]:
        return columns
    u, s, _ = np.linalg.svd(columns, full_matrices=False)
    return u[:, s > _DEPENDENT * s[0]]


def product_gains(
    equation: Equation,
    bases: Sequence[Float[np.ndarray, "R _"]],
    first: Float[np.ndarray, "M g"],
    second: Float[np.ndarray, "M h"],
) -> Float[np.ndarray, "s g h"]:
    """By how much the product of each column of `first` with each of `second`, at the points,
    lowers the squared misfit of each support, given as a basis; minus infinity where it depends
    on that support or is not finite."""
    y = equation.target
    joint = np.hstack(bases)
    ends = np.cumsum([0, *(basis.shape[1] for basis in bases)])
    left = np.column_stack([y - basis @ (basis.T @ y) for basis in bases])
    gains = np.full((len(bases), first.shape[1], second.shape[1]), -np.inf)
    for k, column in enumerate(first.T):
        with np.errstate(all="ignore"):
            phi = equation.weighed(equation.rows.at_rows(column[:, None] * second))
            norm = np.sqrt(np.vecdot(phi.T, phi.T))
            sound = np.isfinite(norm) & (norm > 0)
            phi = np.where(sound, phi, 0.0) / np.where(sound, norm, 1.0)
        inside = (joint.T @ phi) ** 2
        correlation = (left.T @ phi) ** 2
        for s, (begin, end) in enumerate(zip(ends, ends[1:], strict=False)):
            own = 1.0 - inside[begin:end].sum(axis=0)
            good = sound & (own > DEPENDENT)
            gains[s, k, good] = correlation[s, good] / own[good]
    return gains


def product(one: Shape, two: Shape) -> Shape:
    """The product of two shapes, the parameters of the second with the number 2 in their names;
    its grid has every row of the first grid with every row of the second."""
    names = {name: Parameter(f"{name}2") for name in two.parameters}
    grid = np.hstack([
        np.repeat(one.grid, len(two.grid), axis=0), np.tile(two.grid, (len(one.grid), 1))
    ])  # fmt: skip
    return Shape(
        multiply(one.expression, substitute(two.expression, names)),
        FAMILY,
        (*one.parameters, *(f"{name}2" for name in two.parameters)),
        grid,
        (*one.low, *two.low),
        (*one.high, *two.high),
    )


def _pairs(equation: Equation) -> Iterator[tuple[Factors, Factors]]:
    """The factors of every two variables that move, but for time."""
    rows = equation.rows
    moving = [int(v) for v in np.flatnonzero(rows.extent.varies) if v != rows.clock]
    shapes = {
        v: [
            one
            for _, one in with_templates(
                Variable(v, rows.names[v]), span_of(rows.extent, v), (*TEMPLATES, *PLAIN_FACTORS)
            )
        ]
        for v in moving
    }
    pairs = list(combinations(moving, 2))
    shapes = _not_too_many(shapes, pairs)
    factors = {v: _factors(shapes[v], rows.points) for v in moving}
    for i, j in pairs:
        yield factors[i], factors[j]


def _not_too_many(
    shapes: dict[int, list[Shape]], pairs: Sequence[tuple[int, int]]
) -> dict[int, list[Shape]]:
    """The factors of each variable with so many values that all products have room."""
    found = shapes
    for most in _VALUES:
        count = {v: sum(len(one.grid) for one in mine) for v, mine in found.items()}
        if sum(count[i] * count[j] for i, j in pairs) <= _MOST_COLUMNS:
            break
        found = {
            v: [replace(one, grid=coarse(one.grid, most)) for one in mine]
            for v, mine in shapes.items()
        }
    return found


def _factors(shapes: Sequence[Shape], points: Float[np.ndarray, "M V"]) -> Factors:
    ends = np.cumsum([0, *(len(one.grid) for one in shapes)]).tolist()
    columns = np.hstack([one.columns(points, one.grid) for one in shapes])
    places = tuple(slice(*pair) for pair in zip(ends, ends[1:], strict=False))
    return Factors(tuple(shapes), places, columns)


def _best_starts(
    equation: Equation, first: Factors, second: Factors, gains: Float[np.ndarray, "s g h"]
) -> list[list[Start]]:
    """For each support the best values of each product of two factors that the symmetries allow."""
    found: list[list[Start]] = [[] for _ in gains]
    for one, rows in zip(first.shapes, first.places, strict=True):
        for two, columns in zip(second.shapes, second.places, strict=True):
            shape = product(one, two)
            allowed = equation.allows(shape)
            if not allowed.any():
                continue
            block = gains[:, rows, columns].reshape(len(gains), -1)
            block = np.where(allowed, block, -np.inf)
            for mine, row, best in zip(found, block, block.argmax(axis=1), strict=True):
                if np.isfinite(row[best]):
                    values = tuple(shape.grid[best].tolist())
                    start = Start(float(row[best]), shape, values)
                    mine.append(start if allowed.all() else _held(start))
    return [_largest(mine) for mine in found]


def _held(start: Start) -> Start:
    """With its parameters as numbers: others would break a symmetry."""
    return Start(start.gain, held(start.shape, start.values), ())


def _largest(starts: Sequence[Start]) -> list[Start]:
    return sorted(starts, key=lambda one: -one.gain)[:_TRIED]


def _estimated(
    equation: Equation, support: Support, starts: Sequence[Start]
) -> list[tuple[Shape, tuple[float, ...]]]:
    """The products that leave least beside a support, with their parameters estimated."""
    shapes = [equation.shapes[equation.shape[k]] for k in support.columns]
    values = [equation.values[k] for k in support.columns]

    def fitted(shape: Shape, own: tuple[float, ...], rounds: int) -> Projection | None:
        fixed = [*((True,) * len(v) for v in values), (False,) * len(own)]
        return project(
            equation, [*shapes, shape], [*values, own], fixed, rounds=rounds, errors=False
        )

    begun = [fitted(one.shape, one.values, _FIRST_ROUNDS) for one in starts]
    best = sorted((fit for fit in begun if fit is not None), key=lambda fit: fit.rss)[:_KEPT]
    found = [fitted(fit.shapes[-1], fit.values[-1], 2 * _FIRST_ROUNDS) or fit for fit in best]
    return [(fit.shapes[-1], fit.values[-1]) for fit in found]


def _added(
    equation: Equation, shape: Shape, values: tuple[float, ...], places: dict[str, int]
) -> int | None:
    """The number of a column of a shape that `places` has, or gets, by its text."""
    text = to_text(shape.expression)
    if text not in places:
        equation.shapes.append(shape)
        places[text] = len(equation.shapes) - 1
    return equation.add(places[text], tuple(float(f"{v:.8g}") for v in values))
