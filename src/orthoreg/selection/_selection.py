"""What a selection is: from moments of cells to the terms that each equation uses."""

import abc
import math
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from .._errors import InputError
from .._typing import Mask
from ..data import Samples
from ..moments import Cells, Division, Moments, gather_cells
from ..solvers import independent_terms
from ._search import Found, contenders, search
from ._selected import EquationPath, Selected
from ._splits import Splits, as_mask

_TIE = 0.1  # errors that differ by less, relatively, are as good as each other
_NEGLIGIBLE = 1e-10  # of the target's mean square: rounding, not a reason for a term


class AbstractSelection(abc.ABC):
    """Chooses the terms of each equation. `divide` says which rows belong together, so that one
    pass over the data can gather their moments; `choose` needs nothing but these."""

    @abc.abstractmethod
    def divide(self, samples: Samples) -> Division:
        """The groups and partitions that `choose` will ask for."""

    @abc.abstractmethod
    def choose(self, cells: Cells, allowed: Mask) -> Selected:
        """The terms of each equation among those allowed, and the path to them."""


def select(
    selection: AbstractSelection, features: Any, samples: Samples, allowed: Mask
) -> Selected:
    """The terms that a selection chooses on these samples; `features` maps variables to terms."""
    return selection.choose(gather_cells(features, samples, selection.divide(samples)), allowed)


def candidate_terms(moments: Moments, allowed: np.ndarray) -> Int[np.ndarray, " k"]:
    """The allowed terms without those that earlier ones span on the data."""
    terms = np.flatnonzero(allowed)
    independent, _ = independent_terms(moments.A[np.ix_(terms, terms)])
    return terms[independent]


def smallest_good_path(
    cells: Cells,
    parts: Splits,
    equation: int,
    allowed: np.ndarray,
    most_terms: int,
    beyond: Float[np.ndarray, "K K"] | None = None,
) -> EquationPath:
    """The path of one equation, and on it the smallest support that is as good as the best.

    A support's outer error is the geometric mean over the splits, so that each split counts
    alike however large its errors are. As good means within a standard error of the difference
    in logarithms, within 10 %, or within what the targets are known to be wrong by.
    """
    floor = max(float(cells.target_error[equation]), _NEGLIGIBLE)
    found = search(
        lambda supports: parts.errors(supports, equation, beyond),
        lambda outer: np.log(outer + floor).mean(axis=1),
        cells.all,
        candidate_terms(cells.all, allowed),
        equation,
        most_terms,
    )
    logs = np.stack([np.log(one.outer[0] + floor) for one in found])
    excess = logs - logs[np.argmin(logs.mean(axis=1))]
    doubt = _standard_error(excess)
    good = excess.mean(axis=1) <= np.maximum(doubt, math.log1p(_TIE))
    outer = np.exp(logs.mean(axis=1)) - floor
    return path(found, cells.n_features, outer, outer * doubt, int(np.argmax(good)))


def path(
    found: list[Found],
    n_features: int,
    outer: Float[np.ndarray, " M"],
    doubt: Float[np.ndarray, " M"],
    chosen: int,
) -> EquationPath:
    """What was found, as plain arrays."""
    return EquationPath(
        n_terms=np.array([one.supports.shape[1] for one in found]),
        supports=as_mask([one.supports[0] for one in found], n_features),
        inner=np.array([one.inner[0].mean() for one in found]),
        outer=outer,
        doubt=doubt,
        chosen=chosen,
        contenders=as_mask(contenders(found), n_features),
    )


def _standard_error(values: Float[np.ndarray, "M S"]) -> Float[np.ndarray, " M"]:
    count = values.shape[1]
    if count < 2:
        return np.zeros(len(values))
    return values.std(axis=1, ddof=1) / np.sqrt(count)


def check_whole(name: str, value: Any, least: int) -> None:
    """Refuses all but whole numbers of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name} must be a whole number of at least {least}; got {value!r}.")


def check_number(name: str, value: Any, least: float, most: float) -> None:
    """Refuses all but numbers from `least` to `most`."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not least <= value <= most:
        limit = f"between {least:g} and {most:g}" if math.isfinite(most) else f"at least {least:g}"
        raise InputError(f"{name} must be a number {limit}; got {value!r}.")
