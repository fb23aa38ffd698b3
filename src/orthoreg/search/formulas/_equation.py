"""One equation as a linear problem over a dictionary of columns."""

import math
from collections.abc import Container, Sequence
from functools import lru_cache
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float, Int

from ...physics import Symmetries
from ...terms import Expression
from . import _limits as limits
from ._measurements import Measurements, misfit_nats
from ._parametric_term import ParametricTerm, symbols, symmetric, symmetric_values


def _usable_columns(
    terms: Sequence[ParametricTerm], rows: Measurements
) -> tuple[Float[np.ndarray, "R K"], Int[np.ndarray, " K"], list[tuple[float, ...]]]:
    """Return the columns of the terms that are finite on the data and differ from all earlier
    columns.

    Also return a mask of these columns, and the term and parameters of each of them. Columns are
    not weighted by the noise.
    """
    columns, term_indices, values = [], [], []
    for index, term in enumerate(terms):
        at_points = term.columns(rows.points, term.grid)
        is_usable = np.isfinite(at_points).all(axis=0)
        is_usable &= rows.are_defined(lambda points, term=term: term.columns(points, term.grid))
        is_usable &= _moderate(np.abs(at_points))
        if not is_usable.any():
            continue
        columns.append(rows.term_at_rows(at_points[:, is_usable], term.expression))
        term_indices += [index] * int(is_usable.sum())
        values += [tuple(row) for row in term.grid[is_usable].tolist()]
    joined = np.concatenate(columns, axis=1)
    phi, norm = _normalized(joined), np.sqrt(np.vecdot(joined.T, joined.T))
    unique = np.flatnonzero((norm > 0) & ~_repeated(phi))
    return phi[:, unique], np.array(term_indices)[unique], [values[k] for k in unique]


def _normalized(columns: Float[np.ndarray, "R K"]) -> Float[np.ndarray, "R K"]:
    """Return the columns divided by their norms. Columns of zeros are unchanged."""
    norm = np.sqrt(np.vecdot(columns.T, columns.T))
    return columns / np.where(norm > 0, norm, 1.0)


def _moderate(size: Float[np.ndarray, "M g"]) -> Bool[np.ndarray, " g"]:
    """Return a mask of the columns that are nonzero and have no extreme peak."""
    with np.errstate(all="ignore"):
        largest, usual = size.max(axis=0), limits.MIN_USUAL_SIZE * size.mean(axis=0)
        peaked = largest > limits.MAX_PEAK * usual
        usual[peaked] = np.maximum(usual[peaked], np.median(size[:, peaked], axis=0))
        return (
            (largest <= limits.MAX_PEAK * usual) & (largest > 0) & (largest < limits.MAX_TERM_VALUE)
        )


def price_of(term: ParametricTerm, values: tuple[float, ...], count: float) -> float:
    """Return the price of a term.

    It is half of log N for the coefficient and for each parameter that is not a simple number, plus
    a price for each symbol. Symbols are cheap in library terms and in terms of other equations.
    """
    constant_price = 0.5 * np.log(max(count, 2.0))
    free = sum(abs(value) not in limits.FREE_NUMBERS for value in values)
    symbol_price = (
        limits.KNOWN_SYMBOL_PRICE if term.is_expected or term.is_shared else limits.SYMBOL
    )
    # all non-integer numbers have equal prices
    rounded = tuple(v if v.is_integer() else math.copysign(0.7310585, v) for v in values)
    return float(constant_price * (1 + free) + symbol_price * max(_symbols(term, rounded), 1))


@lru_cache(maxsize=4096)
def _symbols(term: ParametricTerm, values: tuple[float, ...]) -> int:
    return symbols(term.at(values))


def _repeated(phi: Float[np.ndarray, "R K"]) -> Bool[np.ndarray, " K"]:
    """Return a mask of the columns that equal an earlier column up to a factor."""
    cosine = np.abs(phi.T @ phi)
    return np.asarray(np.triu(cosine > limits.DUPLICATE_COSINE, 1).any(axis=0))


@final
class DictionaryProblem:
    """The linear problem y = Phi w of one output.

    Rows are in units of their noise. Columns have unit norm, are finite and differ from each other;
    more can be added. `noise` is the variance that no formula explains, in these units. `sharpened`
    contains the sets of columns whose parameters were estimated. Added columns must satisfy the
    `symmetries`.
    """

    def __init__(
        self,
        rows: Measurements,
        terms: Sequence[ParametricTerm],
        output: int,
        symmetries: Symmetries | None = None,
    ):
        self.rows, self.output, self.symmetries = rows, output, symmetries
        self.weight = 1 / rows.noise[:, output]
        self.target = self.weighed(rows.targets[:, [output]])[:, 0]
        self.count = rows.count
        self.noise = 1.0
        self.terms = list(terms)
        phi, self.term_of_column, self.values = _usable_columns(self.terms, rows)
        pairs = zip(self.term_of_column, self.values, strict=True)
        self.price = np.array([price_of(self.terms[k], values, rows.count) for k, values in pairs])
        self.known = np.array([term.known for term in self.terms])[self.term_of_column]
        self._phi = _normalized(self.weighed(phi))
        self._gram = self._phi.T @ self._phi
        self.moments = self._phi.T @ self.target
        self.square = float(self.target @ self.target)
        self.sharpened: set[frozenset[int]] = set()
        self._columns: dict[tuple[ParametricTerm, tuple[float, ...]], np.ndarray] = {}

    def __len__(self) -> int:
        return len(self.term_of_column)

    @property
    def phi(self) -> Float[np.ndarray, "R K"]:
        """The columns."""
        return self._phi[:, : len(self)]

    @property
    def gram(self) -> Float[np.ndarray, "K K"]:
        """The inner products of all columns."""
        return self._gram[: len(self), : len(self)]

    def columns_of(self, expressions: Container[Expression]) -> list[int]:
        """Return the indices of the columns of these library terms."""
        return [
            k
            for k, place in enumerate(self.term_of_column)
            if self.known[k] and self.terms[place].expression in expressions
        ]

    def weighed(self, values: Float[np.ndarray, "R k"]) -> Float[np.ndarray, "R k"]:
        """Return values at rows in units of noise, with the free offset of each stretch removed."""
        return self.rows.without_offsets(values, self.weight) * self.weight[:, None]

    def nats(self, rss: Any) -> Any:
        """Return the score of a squared misfit."""
        mse = np.maximum(rss, 1e-300) / len(self.target)
        return misfit_nats(mse, self.noise, self.count, self.rows.reliable)

    def whitened(self, term: ParametricTerm, values: Sequence[float]) -> Float[np.ndarray, " R"]:
        """Return a column at the rows, in units of their noise."""
        key = (term, tuple(values))
        if key not in self._columns:
            column = term.columns(self.rows.points, np.array([values]).reshape(1, -1))
            self._keep(key, column)
        return self._columns[key][0]

    def slopes(self, term: ParametricTerm, values: Sequence[float]) -> Float[np.ndarray, "q R"]:
        """Return the derivatives of a column with respect to its parameters.

        The column is computed together with them, so if both are needed, request the derivatives
        first.
        """
        key = (term, tuple(values))
        if len(self._columns.get(key, ())) <= len(term.parameters):
            self._keep(key, term.linearised(self.rows.points, values))
        return self._columns[key][1:]

    def _keep(
        self, key: tuple[ParametricTerm, tuple[float, ...]], values: Float[np.ndarray, "M k"]
    ) -> None:
        if len(self._columns) > limits.MAX_CACHED_COLUMNS:
            self._columns.clear()
        at_rows = self.weighed(self.rows.term_at_rows(values, key[0].expression))
        self._columns[key] = np.ascontiguousarray(at_rows.T)

    def allows(self, term: ParametricTerm) -> Bool[np.ndarray, " g"]:
        """Return a mask of the rows of a term's grid for which the term satisfies the
        symmetries.
        """
        return symmetric_values(term, self.symmetries, self.output)

    def offer(self, term: ParametricTerm) -> None:
        """Add a term if it satisfies the symmetries, with a column for each row of its grid."""
        for symmetric_term in symmetric([term], self.symmetries, self.output):
            self.terms.append(symmetric_term)
            for values in symmetric_term.grid:
                self.add(len(self.terms) - 1, tuple(values.tolist()))

    def add(self, index: int, values: tuple[float, ...]) -> int | None:
        """Add a column of a term. Return its index, or None if the column is not finite."""
        column = self.whitened(self.terms[index], values)
        norm = float(np.sqrt(column @ column))
        if not (np.isfinite(norm) and norm > 0):
            return None
        column = column / norm
        count = len(self)
        if count == len(self._gram):
            room = count // 2 + 1  # spare room, so that columns are rarely copied
            self._phi = np.pad(self._phi, ((0, 0), (0, room)))
            self._gram = np.pad(self._gram, (0, room))
        self._gram[count, :count] = self._gram[:count, count] = self.phi.T @ column
        self._gram[count, count] = 1.0
        self._phi[:, count] = column
        self.moments = np.append(self.moments, column @ self.target)
        self.term_of_column = np.append(self.term_of_column, index)
        self.values.append(values)
        self.price = np.append(self.price, price_of(self.terms[index], values, self.count))
        self.known = np.append(self.known, self.terms[index].known)
        return len(self) - 1
