"""`Extrapolation`: terms by how they hold where they were not fitted."""

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from ..._common.arrays import Mask
from ..._common.registry import part
from ...data import AnyRows, PartitionRule, extrapolation_rule
from ...solving import PartitionedMoments, Task
from ._result import SelectionResult
from ._selection import (
    AbstractSelection,
    check_number,
    check_whole,
    select_from_cells,
    smallest_good_paths,
)
from ._splits import folds, splits


@part
@final
@dataclass(frozen=True, kw_only=True)
class Extrapolation(AbstractSelection):
    """The fewest terms that still hold where they were not fitted.

    The observed states are split in several ways into an inner and an outer part: a shell around
    their mean, half-spaces along each variable, the runs that go furthest, the last part of every
    run. A candidate set of terms is fitted on the inner part and scored on the outer. The smallest
    set is chosen that no other beats by more than a standard error of their difference. Sets whose
    terms are more than ten times larger than their sum, about the mean of the data, are refused,
    here and in the other selections.

    Parameters
    ----------
    inner
        the share of the rows in the inner part.
    reach
        how far beyond the data fits are compared, in distances from the mean.
    caution
        the weight of the squared disagreement there between the inner fit and the fit to all rows,
        beside the squared error: terms that cancel inside the data rarely do so beyond.
    most_terms
        of an equation.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 8, 200)
    >>> x = np.column_stack([np.cos(t), -np.sin(t)])
    >>> model = og.OrthoReg(og.Polynomial(2), og.Zero(), selection=og.Extrapolation())
    >>> model.fit(x, t=t).equations()
    ["x0' = 1.000 x1", "x1' = -1.000 x0"]
    >>> path = model.selection_.paths[0]
    >>> path.n_terms[path.chosen].item(), path.outer[0] > 0.1 > path.outer[1]
    (1, np.True_)
    """

    inner: float = 0.5
    reach: float = 2.0
    caution: float = 0.1
    most_terms: int = 12

    def __post_init__(self):
        check_number("Extrapolation(inner=...)", self.inner, 0.05, 0.95)
        check_number("Extrapolation(reach=...)", self.reach, 1.0, float("inf"))
        check_number("Extrapolation(caution=...)", self.caution, 0.0, float("inf"))
        check_whole("Extrapolation(most_terms=...)", self.most_terms, 1)

    def select(self, task: Task) -> SelectionResult:
        return select_from_cells(self, task, caution=float(self.caution))

    def divide(self, rows: AnyRows) -> PartitionRule:
        """Groups of runs, and the cuts into an inner and an outer part."""
        rule = extrapolation_rule(rows, float(self.inner), float(self.reach))
        return rule if self.caution else replace(rule, reach=None)

    def held_out(self, cells: PartitionedMoments) -> np.ndarray:
        """The cells that each split holds out."""
        has_both = cells.outer.any(axis=0) & ~cells.outer.all(axis=0)
        if has_both.any():
            return cells.outer[:, has_both]
        return folds(cells)  # all rows are in one place: nothing lies further out

    def choose(self, cells: PartitionedMoments, allowed: Mask) -> SelectionResult:
        """The terms of each equation, from moments alone."""
        cells, _, _ = cells.scaled()
        parts = splits(cells, self.held_out(cells), caution=float(self.caution))
        return smallest_good_paths(cells, parts, allowed, self.most_terms)
