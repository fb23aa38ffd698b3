"""One equation as a linear problem over a dictionary of columns."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float, Int

from ...physics import Symmetries
from . import _limits as limits
from ._measurements import Measurements, misfit_nats
from ._parametric_term import ParametricTerm, symbols, symmetric, symmetric_values

_NON_INTEGER = 0.7310585  # represents all non-integer numbers, which have equal prices


@final
@dataclass(frozen=True, eq=False)
class Dictionary:
    """Columns (R x K) of unit norm without noise weights, with the shape and the parameters of
    each; `price` is what it costs beside its fit."""

    shapes: tuple[ParametricTerm, ...]
    shape: Int[np.ndarray, " K"]
    values: tuple[tuple[float, ...], ...]
    columns: Float[np.ndarray, "R K"]
    price: Float[np.ndarray, " K"]
    known: Bool[np.ndarray, " K"]


def dictionary(shapes: Sequence[ParametricTerm], rows: Measurements) -> Dictionary:
    """All columns of the shapes that are finite on the data and that no earlier one equals."""
    columns, shape, values = [], [], []
    for place, one in enumerate(shapes):
        found = one.columns(rows.points, one.grid)
        sound = np.isfinite(found).all(axis=0)
        sound &= rows.are_defined(lambda points, one=one: one.columns(points, one.grid))
        sound &= _moderate(np.abs(found))
        if not sound.any():
            continue
        columns.append(rows.term_at_rows(found[:, sound], one.expression))
        shape += [place] * int(sound.sum())
        values += [tuple(row) for row in one.grid[sound].tolist()]
    phi = np.concatenate(columns, axis=1)
    norm = np.sqrt(np.vecdot(phi.T, phi.T))
    phi = phi / np.where(norm > 0, norm, 1.0)
    kept = np.flatnonzero((norm > 0) & ~_repeated(phi))
    known = np.array([one.known for one in shapes])
    price = [price_of(shapes[shape[k]], values[k], rows.count) for k in kept]
    places = np.array(shape)[kept]
    return Dictionary(
        tuple(shapes), places, tuple(values[k] for k in kept), phi[:, kept],
        np.array(price), known[places],
    )  # fmt: skip


def _moderate(size: Float[np.ndarray, "M g"]) -> Bool[np.ndarray, " g"]:
    """Which columns are nowhere much larger than usual, and not zero."""
    with np.errstate(all="ignore"):
        largest, usual = size.max(axis=0), limits.MIN_USUAL_SIZE * size.mean(axis=0)
        peaked = largest > limits.MAX_PEAK * usual
        usual[peaked] = np.maximum(usual[peaked], np.median(size[:, peaked], axis=0))
        return (largest <= limits.MAX_PEAK * usual) & (largest > 0) & (largest < limits.MAX_VALUE)


def price_of(shape: ParametricTerm, values: tuple[float, ...], count: float) -> float:
    """Half of log N for the coefficient and for each parameter that is no simple number, and a
    price for each symbol, which is small in a term of the library or of another equation."""
    half = 0.5 * np.log(max(count, 2.0))
    free = sum(abs(value) not in limits.FREE_NUMBERS for value in values)
    each = (
        limits.KNOWN_SYMBOL_PRICE if shape.is_expected or shape.is_shared else limits.SYMBOL_PRICE
    )
    kinds = tuple(v if v.is_integer() else math.copysign(_NON_INTEGER, v) for v in values)
    return float(half * (1 + free) + each * max(_symbols(shape, kinds), 1))


@lru_cache(maxsize=4096)
def _symbols(shape: ParametricTerm, values: tuple[float, ...]) -> int:
    return symbols(shape.at(values))


def _repeated(phi: Float[np.ndarray, "R K"]) -> Bool[np.ndarray, " K"]:
    """Whether an earlier column is the same but for a factor."""
    cosine = np.abs(phi.T @ phi)
    return np.asarray(np.triu(cosine > limits.DUPLICATE_COSINE, 1).any(axis=0))


_MOST_KEPT = 2000  # columns that were asked for, in case they are again


@final
class Equation:
    """y = Phi w for one output, rows in units of their noise, columns of unit norm.

    Columns can be added while a search goes on. `noise` is the variance of what no formula
    explains, in these units: one, until more is known to be left. `sharpened` are the sets of
    columns whose parameters were estimated. Columns that are offered must have the `symmetries`.
    """

    def __init__(
        self,
        rows: Measurements,
        terms: Dictionary,
        output: int,
        symmetries: Symmetries | None = None,
    ):
        self.rows, self.output, self.symmetries = rows, output, symmetries
        self.weight = 1 / rows.noise[:, output]
        self.target = self.weighed(rows.targets[:, [output]])[:, 0]
        self.count = rows.count
        self.noise = 1.0
        self.shapes = list(terms.shapes)
        self.shape = np.array(terms.shape)
        self.values = list(terms.values)
        self.price = np.array(terms.price)
        self.known = np.array(terms.known)
        phi = self.weighed(terms.columns)
        norm = np.sqrt(np.vecdot(phi.T, phi.T))
        self._phi = phi / np.where(norm > 0, norm, 1.0)
        self._gram = self._phi.T @ self._phi
        self.moments = self._phi.T @ self.target
        self.square = float(self.target @ self.target)
        self.sharpened: set[frozenset[int]] = set()
        self._columns: dict[tuple[ParametricTerm, tuple[float, ...]], np.ndarray] = {}

    def __len__(self) -> int:
        return len(self.shape)

    @property
    def phi(self) -> Float[np.ndarray, "R K"]:
        """The columns."""
        return self._phi[:, : len(self)]

    @property
    def gram(self) -> Float[np.ndarray, "K K"]:
        """The products of all columns with each other."""
        return self._gram[: len(self), : len(self)]

    def weighed(self, values: Float[np.ndarray, "R k"]) -> Float[np.ndarray, "R k"]:
        """Values at rows in units of their noise, without what is free in each stretch."""
        return self.rows.without_offsets(values, self.weight) * self.weight[:, None]

    def nats(self, rss: Any) -> Any:
        """What a squared misfit costs."""
        mse = np.maximum(rss, 1e-300) / len(self.target)
        return misfit_nats(mse, self.noise, self.count, self.rows.reliable)

    def whitened(self, shape: ParametricTerm, values: Sequence[float]) -> Float[np.ndarray, " R"]:
        """A column at the rows, in units of their noise."""
        key = (shape, tuple(values))
        if key not in self._columns:
            column = shape.columns(self.rows.points, np.array([values]).reshape(1, -1))
            self._keep(key, column)
        return self._columns[key][0]

    def slopes(self, shape: ParametricTerm, values: Sequence[float]) -> Float[np.ndarray, "q R"]:
        """The derivatives of a column by its parameters, likewise. The column is kept with them:
        where both are needed, to ask for these first saves half of the work."""
        key = (shape, tuple(values))
        if len(self._columns.get(key, ())) <= len(shape.parameters):
            self._keep(key, shape.linearised(self.rows.points, values))
        return self._columns[key][1:]

    def _keep(
        self, key: tuple[ParametricTerm, tuple[float, ...]], values: Float[np.ndarray, "M k"]
    ) -> None:
        if len(self._columns) > _MOST_KEPT:
            self._columns.clear()
        at_rows = self.weighed(self.rows.term_at_rows(values, key[0].expression))
        self._columns[key] = np.ascontiguousarray(at_rows.T)

    def allows(self, shape: ParametricTerm) -> Bool[np.ndarray, " g"]:
        """With which rows of its grid a shape has the symmetries."""
        return symmetric_values(shape, self.symmetries, self.output)

    def offer(self, shape: ParametricTerm) -> None:
        """A new shape, if it has the symmetries, with a column for each start of its parameters."""
        for one in symmetric([shape], self.symmetries, self.output):
            self.shapes.append(one)
            for values in one.grid:
                self.add(len(self.shapes) - 1, tuple(values.tolist()))

    def add(self, place: int, values: tuple[float, ...]) -> int | None:
        """A new column of a shape; its number, None where it is not finite."""
        column = self.whitened(self.shapes[place], values)
        norm = float(np.sqrt(column @ column))
        if not (np.isfinite(norm) and norm > 0):
            return None
        column = column / norm
        count = len(self)
        if count == len(self._gram):
            room = count // 2 + 1  # so that columns are copied seldom
            self._phi = np.pad(self._phi, ((0, 0), (0, room)))
            self._gram = np.pad(self._gram, (0, room))
        self._gram[count, :count] = self._gram[:count, count] = self.phi.T @ column
        self._gram[count, count] = 1.0
        self._phi[:, count] = column
        self.moments = np.append(self.moments, column @ self.target)
        self.shape = np.append(self.shape, place)
        self.values.append(values)
        self.price = np.append(self.price, price_of(self.shapes[place], values, self.count))
        self.known = np.append(self.known, self.shapes[place].known)
        return len(self) - 1
