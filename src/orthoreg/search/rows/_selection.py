"""Interface and results of selections, and the rules that all selections share."""

import abc
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float, Int

from ..._common.arrays import Mask
from ..._common.errors import InputError, quoted, suggestion
from ..._common.registry import part
from ...data import AnyRows, PartitionRule, grouping_rule
from ...physics import Group
from ...solving import Moments, PartitionedMoments, Task, gather_partitioned, independent_terms
from ...terms import FeatureMap, evaluate, parameters_of, sine_argument
from . import _limits as limits
from ._search import (
    Candidates,
    Splits,
    as_mask,
    contenders,
    folds,
    search,
    shortlist,
    splits,
)


@final
@dataclass(frozen=True, eq=False)
class EquationPath:
    """The best support of each size for one equation, with its errors.

    Errors are squared and relative to the mean square of the target: `inner` on fitted rows,
    `outer` on the others. `standard_error` is the standard error of the difference of `outer` from
    its minimum. `chosen` is the index of the selected support, and `contenders` are the best
    supports of each size.
    """

    n_terms: Int[np.ndarray, " M"]
    supports: Bool[np.ndarray, "M K"]
    inner: Float[np.ndarray, " M"]
    outer: Float[np.ndarray, " M"]
    standard_error: Float[np.ndarray, " M"]
    chosen: int
    contenders: Bool[np.ndarray, "R K"]

    @property
    def support(self) -> Bool[np.ndarray, " K"]:
        return self.supports[self.chosen]

    @property
    def best(self) -> int:
        """The index of the smallest outer error."""
        return int(np.argmin(self.outer))

    def among(self, terms: Int[np.ndarray, " k"], count: int) -> "EquationPath":
        """Return the path with its terms mapped to the indices `terms` among `count` terms."""

        def placed(masks: Bool[np.ndarray, "M k"]) -> Bool[np.ndarray, "M K"]:
            mask = np.zeros((len(masks), count), dtype=bool)
            mask[:, terms] = masks
            return mask

        return replace(self, supports=placed(self.supports), contenders=placed(self.contenders))


@final
@dataclass(frozen=True, eq=False)
class SelectionEvidence:
    """The moments from which terms were selected, so that they can be selected again without the
    data.

    `held_out` states which splits hold out each cell, `caution` is the weight of disagreement
    beyond the data, and `allowed` are the candidate terms. `span` contains the mean, minimum and
    maximum of each variable. `can_be_resampled` is true if there are enough runs or rows for
    intervals.
    """

    cells: PartitionedMoments
    held_out: Bool[np.ndarray, "C S"]
    caution: float
    allowed: Mask
    span: Float[np.ndarray, "3 V"]
    can_be_resampled: bool = True


@final
@dataclass(frozen=True, eq=False)
class SelectionResult:
    """The selected terms (equations x terms), and how they were selected.

    `evidence` contains the moments of the selection, if they were kept. If the selection computed
    them, `library` contains the moments of all terms, and `folds` the moments of terms and network.
    `left_out` names terms of the default library that were not candidates. `groups` are the
    constrained equations, each with the selection among its atoms.
    """

    support: Mask
    paths: tuple[EquationPath, ...] = ()
    evidence: SelectionEvidence | None = None
    library: Moments | None = None
    folds: tuple[Moments, ...] | None = None
    left_out: tuple[str, ...] = ()
    groups: tuple[tuple[Group, EquationPath], ...] = ()

    @classmethod
    def of(cls, paths: list[EquationPath]) -> "SelectionResult":
        return cls(np.stack([path.support for path in paths]), tuple(paths))


class AbstractSelection(abc.ABC):
    """Interface of selections, which select the terms of each equation before the solver runs."""

    @abc.abstractmethod
    def select(self, task: Task) -> SelectionResult:
        """Return the terms of each equation, which are a subset of the task's terms."""


class AbstractCellSelection(AbstractSelection):
    """A selection from moments.

    `divide` states which rows belong together, so that one pass over the data gathers their
    moments. `choose` needs only these moments. `caution` is the weight of disagreement beyond the
    data.
    """

    caution: float = 0.0

    def select(self, task: Task) -> SelectionResult:
        """Return the terms selected from the moments of cells, with the evidence."""
        rows = task.linear_rows("selection=...")
        cells = gather_partitioned(task.features, rows, self.divide(rows))
        chosen = self._chosen(cells, task)
        extent = rows.extent
        span = np.stack([extent.mean, extent.low, extent.high])
        min_rows = (
            limits.MIN_ROWS_INTERVALS if rows.times is None else limits.MIN_ROWS_INTERVALS_IN_TIME
        )
        enough = rows.n_runs >= limits.MIN_RUNS_INTERVALS or rows.n_points >= min_rows
        evidence = SelectionEvidence(
            cells, self.held_out(cells), float(self.caution), task.support, span, enough
        )
        return replace(chosen, evidence=evidence, library=cells.all)

    def divide(self, rows: AnyRows) -> PartitionRule:
        """Return the rule that divides the rows into groups and, if needed, by cuts."""
        return grouping_rule(rows)

    def held_out(self, cells: PartitionedMoments) -> Bool[np.ndarray, "C S"]:
        """Return a mask of the cells that each split holds out."""
        return folds(cells)

    def choose(self, cells: PartitionedMoments, allowed: Mask) -> SelectionResult:
        """Return the terms of each equation, selected from moments."""
        cells, _, _ = cells.scaled()
        parts = splits(cells, self.held_out(cells), caution=float(self.caution))
        cache: dict[bytes, np.ndarray] = {}  # many equations may use the same terms
        paths = []
        for equation, row in enumerate(allowed):
            if row.tobytes() not in cache:
                cache[row.tobytes()] = candidate_terms(cells.all, row, cells.required)
            paths.append(self.path(cells, parts, equation, cache[row.tobytes()]))
        return SelectionResult.of(paths)

    @abc.abstractmethod
    def path(
        self, cells: PartitionedMoments, parts: Splits, equation: int, terms: Int[np.ndarray, " k"]
    ) -> EquationPath:
        """Return the sets of these terms and the selected set, from scaled cells."""

    def _chosen(self, cells: PartitionedMoments, task: Task) -> SelectionResult:
        """Return the terms of each equation.

        Constrained equations select among the atoms of their group: given terms are subtracted,
        tied terms enter together, required terms are always included, and bounds are satisfied.
        """
        if task.knowledge is None:
            return self._separately(cells, task.support)
        allowed = task.knowledge.with_support(task.support) & _independent(cells.all, task)
        groups = task.knowledge.groups(allowed)
        known = [c for group in groups for c in group.equations]
        free = task.support.copy()
        free[known] = False
        chosen = self._separately(cells, free)
        paths, choices = list(chosen.paths), []
        for group in groups:
            of_group = group_cells(cells, group)
            atoms = np.ones((1, of_group.n_features), dtype=bool)
            (path,) = self.choose(of_group, atoms).paths
            choices.append((group, path))
            for row, c in enumerate(group.equations):
                paths[c] = replace(
                    path,
                    supports=group.support(path.supports)[:, row],
                    contenders=group.support(path.contenders)[:, row],
                )
        return replace(SelectionResult.of(paths), groups=tuple(choices))

    def _separately(self, cells: PartitionedMoments, allowed: Mask) -> SelectionResult:
        """Return the terms of each equation, selected separately.

        If there are very many terms, each equation uses a shortlist, to avoid copying a matrix of
        all terms.
        """
        if cells.n_features <= limits.MAX_TERMS_JOINT:
            return self.choose(cells, allowed)
        paths = []
        for equation, row in enumerate(allowed):
            terms = shortlist(cells.all, np.flatnonzero(row), equation)
            all_terms = np.ones((1, len(terms)), dtype=bool)
            (path,) = self.choose(cells.only(terms, equation), all_terms).paths
            paths.append(path.among(terms, cells.n_features))
        return SelectionResult.of(paths)


def group_cells(cells: PartitionedMoments, group: Group) -> PartitionedMoments:
    """Return the cells of a group's problem.

    These contain the stacked rows of its equations, each in units of its target.
    """
    scale = np.sqrt(cells.all.yy[list(group.equations)])
    maps = group.maps(np.where(scale > 0, scale, 1.0), len(cells.target_mse))
    return cells.combined(maps, group.required, group.bounds)


def _independent(moments: Moments, task: Task) -> Mask:
    """Return, for each equation, a mask of the terms that are linearly independent on the data, and
    of all constrained terms.
    """
    assert task.knowledge is not None
    knowledge = task.knowledge
    known = knowledge.required | knowledge.related | (knowledge.low > -np.inf)
    known |= knowledge.high < np.inf
    found = known.copy()
    cache: dict[bytes, np.ndarray] = {}  # many equations may use the same terms
    for c, row in enumerate(task.support | known):
        first = np.flatnonzero(row & known[c])
        terms = np.concatenate([first, np.flatnonzero(row & ~known[c])])
        if terms.tobytes() not in cache:
            independent, _ = independent_terms(moments.A[np.ix_(terms, terms)])
            cache[terms.tobytes()] = terms[independent]
        found[c, cache[terms.tobytes()]] = True
    return found


def candidate_terms(
    moments: Moments, allowed: np.ndarray, required: np.ndarray | None = None
) -> Int[np.ndarray, " k"]:
    """Return the allowed terms that are not combinations of earlier terms on the data.

    Required terms are combinations of independent terms. If there are any, return all other nonzero
    terms.
    """
    terms = np.flatnonzero(allowed)
    if required is not None:
        return terms[~required[terms] & (moments.A.diagonal()[terms] > 0)]
    independent, _ = independent_terms(moments.A[np.ix_(terms, terms)])
    return terms[independent]


def required_terms(cells: PartitionedMoments) -> Int[np.ndarray, " q"]:
    """Return the terms that every selection includes."""
    if cells.required is None:
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(cells.required)


def smallest_good_path(
    cells: PartitionedMoments,
    parts: Splits,
    equation: int,
    terms: Int[np.ndarray, " k"],
    most_terms: int,
) -> EquationPath:
    """Return the path of an equation. It selects the smallest support that no other support
    beats.

    The outer error of a support is the geometric mean over the splits, so that each split has equal
    weight. The known error of the targets is added, so that no term is needed to explain it.
    """
    floor = error_floor(cells, equation)
    found = search(
        parts,
        lambda outer: np.log(outer + floor).mean(axis=1),
        cells.all,
        terms,
        equation,
        most_terms,
        required_terms(cells),
    )
    logs = np.stack([np.log(supports.outer[0] + floor) for supports in found])
    chosen, standard_error = one_standard_error_choice(logs)
    outer = np.exp(logs.mean(axis=1)) - floor
    return path(found, cells.n_features, outer, outer * standard_error, int(chosen))


def error_floor(cells: PartitionedMoments, equation: int) -> float:
    """Return the relative squared error below which supports are not distinguished."""
    return max(float(cells.target_mse[equation]), limits.NEGLIGIBLE_ERROR)


def one_standard_error_choice(
    logs: Float[np.ndarray, "*R M S"],
) -> tuple[Int[np.ndarray, "*R"], Float[np.ndarray, "*R M"]]:
    """Return the first of M supports that no other support beats.

    Also return the standard errors of the differences from the best support.

    `logs` are logarithms of errors on S splits. A support beats another if its mean is lower by
    more than a standard error of their difference, and by more than `TIE`.
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
    best: list[Candidates],
    n_features: int,
    outer: Float[np.ndarray, " M"],
    standard_error: Float[np.ndarray, " M"],
    chosen: int,
) -> EquationPath:
    """Return the supports as plain arrays."""
    return EquationPath(
        n_terms=np.array([supports.supports.shape[1] for supports in best]),
        supports=as_mask([supports.supports[0] for supports in best], n_features),
        inner=np.array([supports.inner[0].mean() for supports in best]),
        outer=outer,
        standard_error=standard_error,
        chosen=chosen,
        contenders=as_mask(contenders(best), n_features),
    )


def check_whole(name: str, value: Any, minimum: int) -> None:
    """Raise an error unless the value is an integer of at least `minimum`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < minimum:
        raise InputError(f"{name} must be a whole number of at least {minimum}; got {value!r}.")


def check_number(name: str, value: Any, minimum: float, maximum: float) -> None:
    """Raise an error unless the value is a number from `minimum` to `maximum`."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not minimum <= value <= maximum:
        limit = (
            f"between {minimum:g} and {maximum:g}"
            if math.isfinite(maximum)
            else f"at least {minimum:g}"
        )
        raise InputError(f"{name} must be a number {limit}; got {value!r}.")


@part
@final
@dataclass(frozen=True, init=False)
class Chosen(AbstractSelection):
    """Use terms selected by the user.

    `terms` names them for some equations, as written in the library, for instance `Chosen({"omega":
    ["sin(theta)", "omega"]})`. Other equations use the selection `others`, or keep all of their
    terms if it is None.
    """

    terms: tuple[tuple[str, tuple[str, ...]], ...]
    others: AbstractSelection | None

    def __init__(
        self,
        terms: Mapping[str, Sequence[str]] | Sequence[Sequence[Any]],
        others: AbstractSelection | None = None,
    ):
        pairs = tuple((str(name), tuple(chosen)) for name, chosen in dict(terms).items())  # pyright: ignore[reportArgumentType, reportCallIssue]
        object.__setattr__(self, "terms", pairs)
        object.__setattr__(self, "others", others)

    def select(self, task: Task) -> SelectionResult:
        outputs, names = task.observed.outputs, task.features.names
        fixed = dict(self.terms)
        for equation, chosen in fixed.items():
            if equation not in outputs:
                raise InputError(
                    f"Chosen names '{equation}', which is not an equation."
                    f"{suggestion(equation, outputs)} The equations are {quoted(outputs)}."
                )
            for term in chosen:
                if term not in names:
                    raise InputError(
                        f"Chosen names the term '{term}', which is not in the "
                        f"library.{suggestion(term, names)}"
                    )
        support = np.array(task.support)
        if self.others is not None and not set(outputs) <= fixed.keys():
            support = np.array(self.others.select(task).support)
        for c, equation in enumerate(outputs):
            if equation in fixed:
                support[c] = np.isin(names, fixed[equation]) & task.features.mask[c]
        return SelectionResult(support)


def unresolved_trig_terms(
    features: FeatureMap, range_of: Float[np.ndarray, "2 V"]
) -> Bool[np.ndarray, " K"]:
    """Return the sines and cosines whose argument covers less than `MIN_PERIOD_SHARE` of a period.

    On such a range, sin(x) is x plus a small multiple of x**3, and the data do not determine an
    angle. `range_of` contains the ends of each variable; the arguments are multiples of one
    variable. Terms with a parameter, which only a user can specify, are not included.
    """
    unresolved = np.zeros(len(features.terms), dtype=bool)
    for k, term in enumerate(features.terms):
        argument = sine_argument(term)
        if argument is not None and not parameters_of(argument):
            with np.errstate(all="ignore"):
                values = evaluate(argument, range_of.T, np)
            unresolved[k] = np.ptp(values) < limits.MIN_PERIOD_SHARE * 2 * math.pi
    return unresolved
