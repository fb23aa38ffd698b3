"""One equation's linear problem over a dictionary, whitened, with its Gram matrix."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float

from ..physics import Symmetries
from ._dictionary import Dictionary, price_of
from ._measurements import Measurements
from ._score import misfit_nats
from ._shapes import Shape
from ._symmetries import symmetric, symmetric_values

_MOST_KEPT = 2000  # columns that were asked for, in case they are again


@final
class Equation:
    """y = Phi w for one output, rows in units of their noise, columns of unit norm.

    Columns can be added while a search goes on. `noise` is the variance of what no formula
    explains, in these units: one, until more is known to be left. Columns that are offered must
    have the `symmetries`.
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
        self.phi = phi / np.where(norm > 0, norm, 1.0)
        self.gram = self.phi.T @ self.phi
        self.moments = self.phi.T @ self.target
        self.square = float(self.target @ self.target)
        self._columns: dict[tuple[int, tuple[float, ...]], np.ndarray] = {}

    def __len__(self) -> int:
        return len(self.shape)

    def weighed(self, values: Float[np.ndarray, "R k"]) -> Float[np.ndarray, "R k"]:
        """Values at rows in units of their noise, without what is free in each stretch."""
        return self.rows.without_offsets(values, self.weight) * self.weight[:, None]

    def nats(self, rss: Any) -> Any:
        """What a squared misfit costs."""
        mse = np.maximum(rss, 1e-300) / len(self.target)
        return misfit_nats(mse, self.noise, self.count, self.rows.reliable)

    def whitened(self, shape: Shape, values: Sequence[float]) -> Float[np.ndarray, " R"]:
        """A column at the rows, in units of their noise."""
        key = (id(shape), tuple(values))
        if key not in self._columns:
            column = shape.columns(self.rows.points, np.array([values]).reshape(1, -1))
            if len(self._columns) > _MOST_KEPT:
                self._columns.clear()
            self._columns[key] = self.weighed(self.rows.term_at_rows(column, shape.expression))[
                :, 0
            ]
        return self._columns[key]

    def slopes(self, shape: Shape, values: Sequence[float]) -> Float[np.ndarray, "R q"]:
        """The derivatives of a column by its parameters, likewise."""
        gradient = shape.gradient(self.rows.points, values)
        return self.weighed(self.rows.term_at_rows(gradient, shape.expression))

    def allows(self, shape: Shape) -> Bool[np.ndarray, " g"]:
        """With which rows of its grid a shape has the symmetries."""
        return symmetric_values(shape, self.symmetries, self.output)

    def offer(self, shape: Shape) -> None:
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
        across = self.phi.T @ column
        self.gram = np.block([[self.gram, across[:, None]], [across[None], np.ones((1, 1))]])
        self.phi = np.column_stack([self.phi, column])
        self.moments = np.append(self.moments, column @ self.target)
        self.shape = np.append(self.shape, place)
        self.values.append(values)
        self.price = np.append(self.price, price_of(self.shapes[place], values, self.count))
        self.known = np.append(self.known, self.shapes[place].known)
        return len(self) - 1
