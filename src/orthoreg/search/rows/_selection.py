"""What a selection is, and the rules that all of them share."""

import abc
import math
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from ..._common.arrays import Mask
from ..._common.errors import InputError
from ...data import AnyRows, PartitionRule
from ...physics import Group
from ...solving import Moments, PartitionedMoments, Task, gather_partitioned, independent_terms
from . import _limits as limits
from ._result import EquationPath, Evidence, SelectionResult
from ._search import Candidates, contenders, search, shortlist
from ._splits import Splits, as_mask


class AbstractSelection(abc.ABC):
    """Chooses the terms of each equation before a solver sees them."""

    @abc.abstractmethod
    def select(self, task: Task) -> SelectionResult:
        """The terms of each equation among those of the task."""


@runtime_checkable
class AbstractCellRule(Protocol):
    """`divide` says which rows belong together, so that one pass over the data can gather their
    moments; `choose` needs nothing but these."""

    def divide(self, rows: AnyRows) -> PartitionRule: ...

    def held_out(self, cells: PartitionedMoments) -> Bool[np.ndarray, "C S"]: ...

    def choose(self, cells: PartitionedMoments, allowed: Mask) -> SelectionResult: ...


def select_from_cells(
    rule: AbstractCellRule, task: Task, *, caution: float = 0.0
) -> SelectionResult:
    """The terms that a rule chooses from the moments of cells, and what it chose from."""
    rows = task.linear_rows("selection=...")
    cells = gather_partitioned(task.features, rows, rule.divide(rows))
    chosen = _chosen(rule, cells, task)
    extent = rows.extent
    span = np.stack([extent.mean, extent.low, extent.high])
    fewest = limits.MIN_ROWS_INTERVALS if rows.times is None else limits.MIN_ROWS_INTERVALS_IN_TIME
    enough = rows.n_runs >= limits.MIN_RUNS_INTERVALS or rows.n_points >= fewest
    evidence = Evidence(cells, rule.held_out(cells), caution, task.support, span, enough)
    return replace(chosen, evidence=evidence, library=cells.all)


def _chosen(rule: AbstractCellRule, cells: PartitionedMoments, task: Task) -> SelectionResult:
    """The terms of each equation. Those of which something is known are one choice among the
    atoms of their group: what is given is subtracted, what is tied enters together, what is
    required is always in, and bounds hold."""
    if task.knowledge is None:
        return _separately(rule, cells, task.support)
    allowed = task.knowledge.with_support(task.support) & _independent(cells.all, task)
    groups = task.knowledge.groups(allowed)
    known = [c for group in groups for c in group.equations]
    alone = task.support.copy()
    alone[known] = False
    chosen = _separately(rule, cells, alone)
    paths, found = list(chosen.paths), []
    for group in groups:
        own = group_cells(cells, group)
        atoms = np.ones((1, own.n_features), dtype=bool)
        (one,) = rule.choose(own, atoms).paths
        found.append((group, one))
        for place, c in enumerate(group.equations):
            paths[c] = replace(
                one,
                supports=group.support(one.supports)[:, place],
                contenders=group.support(one.contenders)[:, place],
            )
    return replace(SelectionResult.of(paths), groups=tuple(found))


def _separately(
    rule: AbstractCellRule, cells: PartitionedMoments, allowed: Mask
) -> SelectionResult:
    """The terms of each equation. Of very many terms each equation chooses among its shortlist, so
    that no matrix of all terms is made again."""
    if cells.n_features <= limits.MAX_TERMS_JOINT:
        return rule.choose(cells, allowed)
    paths = []
    for equation, row in enumerate(allowed):
        terms = shortlist(cells.all, np.flatnonzero(row), equation)
        own = np.ones((1, len(terms)), dtype=bool)
        (path,) = rule.choose(cells.only(terms, equation), own).paths
        paths.append(path.among(terms, cells.n_features))
    return SelectionResult.of(paths)


def group_cells(cells: PartitionedMoments, group: Group) -> PartitionedMoments:
    """The cells of a group's problem: the rows of its equations one under the other, each in
    units of its target."""
    scale = np.sqrt(cells.all.yy[list(group.equations)])
    maps = group.maps(np.where(scale > 0, scale, 1.0), len(cells.target_mse))
    return cells.combined(maps, group.required, group.bounds)


def _independent(moments: Moments, task: Task) -> Mask:
    """For each equation the terms that others do not span on the data; all that are known."""
    assert task.knowledge is not None
    knowledge = task.knowledge
    known = knowledge.required | knowledge.related | (knowledge.low > -np.inf)
    known |= knowledge.high < np.inf
    found = known.copy()
    kept: dict[bytes, np.ndarray] = {}  # most equations may use the same terms
    for c, row in enumerate(task.support | known):
        first = np.flatnonzero(row & known[c])
        terms = np.concatenate([first, np.flatnonzero(row & ~known[c])])
        if terms.tobytes() not in kept:
            independent, _ = independent_terms(moments.A[np.ix_(terms, terms)])
            kept[terms.tobytes()] = terms[independent]
        found[c, kept[terms.tobytes()]] = True
    return found


def candidate_terms(
    moments: Moments, allowed: np.ndarray, required: np.ndarray | None = None
) -> Int[np.ndarray, " k"]:
    """The allowed terms without those that earlier ones span on the data. Where some are
    required, these are combinations of independent terms: all others but them, unless they vanish.
    """
    terms = np.flatnonzero(allowed)
    if required is not None:
        return terms[~required[terms] & (moments.A.diagonal()[terms] > 0)]
    independent, _ = independent_terms(moments.A[np.ix_(terms, terms)])
    return terms[independent]


def required_terms(cells: PartitionedMoments) -> Int[np.ndarray, " q"]:
    """Those that are in every choice."""
    if cells.required is None:
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(cells.required)


def smallest_good_paths(
    cells: PartitionedMoments, parts: Splits, allowed: Mask, most_terms: int
) -> SelectionResult:
    """For each equation the path, and on it the smallest support that no other beats.

    A support's outer error is the geometric mean over the splits, so that each split counts
    alike however large its errors are. What the targets are known to be wrong by is added, so
    that no term is needed to explain it.
    """
    known: dict[bytes, np.ndarray] = {}  # most equations may use the same terms
    paths = []
    for equation, row in enumerate(allowed):
        if row.tobytes() not in known:
            known[row.tobytes()] = candidate_terms(cells.all, row, cells.required)
        floor = error_floor(cells, equation)
        found = search(
            parts,
            lambda outer, floor=floor: np.log(outer + floor).mean(axis=1),
            cells.all,
            known[row.tobytes()],
            equation,
            most_terms,
            required_terms(cells),
        )
        logs = np.stack([np.log(one.outer[0] + floor) for one in found])
        chosen, standard_error = one_standard_error_choice(logs)
        outer = np.exp(logs.mean(axis=1)) - floor
        paths.append(path(found, cells.n_features, outer, outer * standard_error, int(chosen)))
    return SelectionResult.of(paths)


def error_floor(cells: PartitionedMoments, equation: int) -> float:
    """The relative squared error below which supports are not told apart."""
    return max(float(cells.target_mse[equation]), limits.NEGLIGIBLE_ERROR)


def one_standard_error_choice(
    logs: Float[np.ndarray, "*R M S"],
) -> tuple[Int[np.ndarray, "*R"], Float[np.ndarray, "*R M"]]:
    """The first of M supports that no other beats, and the standard errors against the best.

    `logs` are logarithms of errors on S splits. One support beats another if its mean is lower
    by more than a standard error of their difference, and by more than 10%.
    """
    excess = logs[..., :, None, :] - logs[..., None, :, :]
    count = logs.shape[-1]
    error = np.zeros(excess.shape[:-1])
    if count > 1:
        error = excess.std(axis=-1, ddof=1) / np.sqrt(count)
    unbeaten = (excess.mean(axis=-1) <= np.maximum(error, math.log1p(limits.TIE))).all(axis=-1)
    best = np.argmin(logs.mean(axis=-1), axis=-1)
    np.put_along_axis(unbeaten, best[..., None], True, axis=-1)
    of_best = np.take_along_axis(error, best[..., None, None], -1)[..., 0]
    return np.asarray(np.argmax(unbeaten, axis=-1)), of_best


def path(
    found: list[Candidates],
    n_features: int,
    outer: Float[np.ndarray, " M"],
    standard_error: Float[np.ndarray, " M"],
    chosen: int,
) -> EquationPath:
    """What was found, as plain arrays."""
    return EquationPath(
        n_terms=np.array([one.supports.shape[1] for one in found]),
        supports=as_mask([one.supports[0] for one in found], n_features),
        inner=np.array([one.inner[0].mean() for one in found]),
        outer=outer,
        standard_error=standard_error,
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
