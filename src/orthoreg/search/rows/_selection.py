"""What a selection is and returns, and the rules that all selections share."""

import abc
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, final, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from ..._common.errors import InputError, quoted, suggestion
from ..._common.registry import part
from ..._common.typing import Mask
from ...data import AnyRows, PartitionRule
from ...physics import Group
from ...solving import Moments, PartitionedMoments, Task, gather_partitioned, independent_terms
from ...terms import evaluate, parameters_of, sine_argument
from . import _limits as limits
from ._search import Candidates, Splits, as_mask, contenders, search, shortlist


@final
@dataclass(frozen=True, eq=False)
class EquationPath:
    """For one equation, the best support of each size, with its errors.

    Errors are squared and relative to the mean square of the target. `inner` is on the rows that
    were fitted, `outer` on those that were not; `standard_error` is that of `outer` compared with
    the best. `chosen` is the place of the chosen support. `contenders` are the best few of each
    size.
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
        """The place of the least outer error."""
        return int(np.argmin(self.outer))

    def among(self, terms: Int[np.ndarray, " k"], count: int) -> "EquationPath":
        """The path, whose terms are these of so many."""

        def placed(masks: Bool[np.ndarray, "M k"]) -> Bool[np.ndarray, "M K"]:
            found = np.zeros((len(masks), count), dtype=bool)
            found[:, terms] = masks
            return found

        return replace(self, supports=placed(self.supports), contenders=placed(self.contenders))


@final
@dataclass(frozen=True, eq=False)
class Evidence:
    """What terms were chosen from, so that they can be chosen again without the data.

    `held_out` says for each cell which splits hold it out, `caution` how much disagreement beyond
    the data counts, `allowed` which terms there were to choose from, `span` the mean, the least
    and the largest value of each variable. `can_be_resampled` says whether there are runs or rows
    enough for intervals.
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
    """The chosen terms, (equations x terms), and for each equation how they were chosen.

    `evidence` is what they were chosen from, where it was kept. `library` are the moments of all
    terms, and `folds` those of terms and network, where the choice gathered them: a solver need
    not do so again. `left_out` names the terms of the default library that were no candidates.
    `groups` are the equations of which something is known, each with the choice among its atoms.
    """

    support: Mask
    paths: tuple[EquationPath, ...] = ()
    evidence: Evidence | None = None
    library: Moments | None = None
    folds: tuple[Moments, ...] | None = None
    left_out: tuple[str, ...] = ()
    groups: tuple[tuple[Group, EquationPath], ...] = ()

    @classmethod
    def of(cls, paths: list[EquationPath]) -> "SelectionResult":
        return cls(np.stack([path.support for path in paths]), tuple(paths))


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


@part
@final
@dataclass(frozen=True, init=False)
class Chosen(AbstractSelection):
    """The terms that `terms` names for some equations, as the library writes them:
    `Chosen({"omega": ["sin(theta)", "omega"]})`. Other equations leave the choice to `others`, or
    keep all of their terms where that is None.
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
        given = dict(self.terms)
        for equation, chosen in given.items():
            if equation not in outputs:
                raise InputError(
                    f"Chosen names '{equation}', which is not an equation."
                    f"{suggestion(equation, outputs)} The equations are {quoted(outputs)}."
                )
            for term in chosen:
                if term not in names:
                    raise InputError(
                        f"Chosen names the term '{term}', which the library does not have."
                        f"{suggestion(term, names)}"
                    )
        support = np.array(task.support)
        if self.others is not None and not set(outputs) <= given.keys():
            support = np.array(self.others.select(task).support)
        for c, equation in enumerate(outputs):
            if equation in given:
                support[c] = np.isin(names, given[equation]) & task.features.mask[c]
        return SelectionResult(support)


def unresolved_trig_terms(
    features: Any, range_of: Float[np.ndarray, "2 V"], share: float | None = None
) -> Bool[np.ndarray, " K"]:
    """The sines and cosines whose argument covers less than `share` of a period on the data, by
    default `MIN_PERIOD_SHARE`.

    There sin(x) is x and a little of x**3, and the data say next to nothing of an angle. The
    families' arguments are multiples of one variable, which `range_of` gives the ends of. A term
    with a parameter was written down by somebody, and stays.
    """
    share = limits.MIN_PERIOD_SHARE if share is None else share
    short = np.zeros(len(features.terms), dtype=bool)
    for k, term in enumerate(features.terms):
        argument = sine_argument(term)
        if argument is not None and not parameters_of(argument):
            with np.errstate(all="ignore"):
                ends = evaluate(argument, range_of.T, np)
            short[k] = np.ptp(ends) < share * 2 * math.pi
    return short
