"""What a selection is: from moments of cells to the terms that each equation uses."""

import abc
import math
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from .._errors import InputError
from .._typing import Mask
from ..data import Samples
from ..moments import Cells, Division, Moments, gather_cells
from ..solvers import independent_terms
from ._candidates import short_sines
from ._search import Found, contenders, search
from ._selected import EquationPath, Evidence, Selected
from ._splits import Splits, as_mask

_TIE = 0.1  # errors that differ by less, relatively, are as good as each other
_NEGLIGIBLE = 1e-8  # of the mean square of the target: not a reason for a term


class AbstractSelection(abc.ABC):
    """Chooses the terms of each equation. `divide` says which rows belong together, so that one
    pass over the data can gather their moments; `choose` needs nothing but these."""

    @abc.abstractmethod
    def divide(self, samples: Samples) -> Division:
        """The groups and partitions that `choose` will ask for."""

    @abc.abstractmethod
    def held_out(self, cells: Cells) -> Bool[np.ndarray, "C S"]:
        """For each split of the data that supports are compared on, the cells held out."""

    @abc.abstractmethod
    def choose(self, cells: Cells, allowed: Mask) -> Selected:
        """The terms of each equation among those allowed, and the path to them."""


def select(
    selection: AbstractSelection,
    features: Any,
    samples: Samples,
    allowed: Mask,
    *,
    without_short_sines: bool = False,
) -> Selected:
    """The terms that a selection chooses on these samples; `features` maps variables to terms.

    `without_short_sines` leaves out the sines and cosines of columns that cover too little of a
    period, which is for libraries that nobody chose.
    """
    variables = samples.variables
    left_out = np.zeros(allowed.shape[1], dtype=bool)
    if without_short_sines:
        left_out = short_sines(features, variables)
        allowed = allowed & ~left_out
    cells = gather_cells(features, samples, selection.divide(samples))
    selected = selection.choose(cells, allowed)
    span = np.stack([variables.mean(axis=0), variables.min(axis=0), variables.max(axis=0)])
    return replace(
        selected,
        evidence=Evidence(cells, selection.held_out(cells), allowed, span),
        left_out=tuple(features.names[k] for k in np.flatnonzero(left_out)),
    )


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
) -> EquationPath:
    """The path of one equation, and on it the smallest support that no other beats.

    A support's outer error is the geometric mean over the splits, so that each split counts
    alike however large its errors are. What the targets are known to be wrong by is added, so
    that no term is needed to explain it.
    """
    floor = error_floor(cells, equation)
    found = search(
        lambda supports: parts.errors(supports, equation),
        lambda outer: np.log(outer + floor).mean(axis=1),
        cells.all,
        candidate_terms(cells.all, allowed),
        equation,
        most_terms,
    )
    logs = np.stack([np.log(one.outer[0] + floor) for one in found])
    chosen, doubt = smallest_unbeaten(logs)
    outer = np.exp(logs.mean(axis=1)) - floor
    return path(found, cells.n_features, outer, outer * doubt, int(chosen))


def error_floor(cells: Cells, equation: int) -> float:
    """The relative squared error below which supports are not told apart."""
    return max(float(cells.target_error[equation]), _NEGLIGIBLE)


def smallest_unbeaten(
    logs: Float[np.ndarray, "*R M S"],
) -> tuple[Int[np.ndarray, "*R"], Float[np.ndarray, "*R M"]]:
    """The first of M supports that no other beats, and the standard errors against the best.

    `logs` are logarithms of errors on S splits. One support beats another if its mean is lower
    by more than a standard error of their difference, and by more than 10 %.
    """
    excess = logs[..., :, None, :] - logs[..., None, :, :]
    count = logs.shape[-1]
    doubt = np.zeros(excess.shape[:-1])
    if count > 1:
        doubt = excess.std(axis=-1, ddof=1) / np.sqrt(count)
    unbeaten = (excess.mean(axis=-1) <= np.maximum(doubt, math.log1p(_TIE))).all(axis=-1)
    best = np.argmin(logs.mean(axis=-1), axis=-1)
    np.put_along_axis(unbeaten, best[..., None], True, axis=-1)
    return np.argmax(unbeaten, axis=-1), np.take_along_axis(doubt, best[..., None, None], -1)[
        ..., 0
    ]


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
