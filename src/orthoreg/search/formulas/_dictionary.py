"""The columns that a search chooses from: every shape at every start of its parameters."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int

from ._measurements import Measurements
from ._shapes import Shape, symbols

PER_SYMBOL = 1.5
"""Nats that a symbol of a formula costs."""
PER_KNOWN_SYMBOL = 0.3
"""The same in a term of the library that a user chose, or that another equation has."""
_ALIKE = 1 - 1e-9  # cosine of columns that are the same but for a factor
_LARGEST = 1e8  # ratio of a column's largest value to its median size
_LEAST_USUAL = 1e-3  # of a column's mean size, where its median is less
_TOO_LARGE = 1e100  # for squares to be finite
_SIMPLE = tuple(range(1, 11))
_NOT_WHOLE = 0.7310585  # stands for any number that is not whole: all have as many symbols


@final
@dataclass(frozen=True, eq=False)
class Dictionary:
    """Columns (R x K) of unit norm without noise weights, with the shape and the parameters of
    each; `price` is what it costs beside its fit."""

    shapes: tuple[Shape, ...]
    shape: Int[np.ndarray, " K"]
    values: tuple[tuple[float, ...], ...]
    columns: Float[np.ndarray, "R K"]
    price: Float[np.ndarray, " K"]
    known: Bool[np.ndarray, " K"]


def dictionary(shapes: Sequence[Shape], rows: Measurements) -> Dictionary:
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
        largest, usual = size.max(axis=0), _LEAST_USUAL * size.mean(axis=0)
        peaked = largest > _LARGEST * usual
        usual[peaked] = np.maximum(usual[peaked], np.median(size[:, peaked], axis=0))
        return (largest <= _LARGEST * usual) & (largest > 0) & (largest < _TOO_LARGE)


def price_of(shape: Shape, values: tuple[float, ...], count: float) -> float:
    """Half of log N for the coefficient and for each parameter that is no simple number, and a
    price for each symbol, which is small in a term of the library or of another equation."""
    half = 0.5 * np.log(max(count, 2.0))
    free = sum(abs(value) not in _SIMPLE for value in values)
    each = PER_KNOWN_SYMBOL if shape.is_expected or shape.is_shared else PER_SYMBOL
    kinds = tuple(v if v.is_integer() else math.copysign(_NOT_WHOLE, v) for v in values)
    return float(half * (1 + free) + each * max(_symbols(shape, kinds), 1))


@lru_cache(maxsize=4096)
def _symbols(shape: Shape, values: tuple[float, ...]) -> int:
    return symbols(shape.at(values))


def _repeated(phi: Float[np.ndarray, "R K"]) -> Bool[np.ndarray, " K"]:
    """Whether an earlier column is the same but for a factor."""
    cosine = np.abs(phi.T @ phi)
    return np.asarray(np.triu(cosine > _ALIKE, 1).any(axis=0))
