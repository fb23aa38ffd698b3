"""Select terms by the error on held-out rows or by information criteria."""

from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Float, Int

from ..._common.errors import InputError
from ..._common.registry import part
from ...data import AnyRows, PartitionRule, extrapolation_rule
from ...solving import PartitionedMoments
from ._search import Splits, folds, search
from ._selection import (
    AbstractCellSelection,
    EquationPath,
    check_number,
    check_whole,
    error_floor,
    path,
    required_terms,
    smallest_good_path,
)


@part
@final
@dataclass(frozen=True, kw_only=True)
class Extrapolation(AbstractCellSelection):
    """Select the fewest terms that also hold on states that were not fitted.

    The states are split in several ways into an inner and an outer part: a shell around their mean,
    half-spaces along each variable, the runs that extend furthest, and the last part of every run.
    Sets of terms are fitted on the inner part and scored on the outer part. The smallest set that
    no other set beats by more than one standard error of their difference is selected. Sets that
    cancel are rejected in all selections: their terms, about the mean of the data, are more than
    ten times larger than the sum of the terms.

    Parameters
    ----------
    inner
        fraction of the rows in the inner part.
    reach
        distance beyond the data at which fits are compared, in multiples of the data's distance
        from the mean.
    caution
        weight of the squared disagreement between the inner fit and the fit to all rows at this
        distance, relative to the squared error. Terms that cancel on the data rarely cancel beyond
        them.
    most_terms
        maximum number of terms of an equation.

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

    def divide(self, rows: AnyRows) -> PartitionRule:
        """Return the rule that divides rows into groups of runs, and into inner and outer parts."""
        rule = extrapolation_rule(rows, float(self.inner), float(self.reach))
        return rule if self.caution else replace(rule, reach=None)

    def held_out(self, cells: PartitionedMoments) -> np.ndarray:
        """Return a mask of the cells that each split holds out."""
        has_both = cells.outer.any(axis=0) & ~cells.outer.all(axis=0)
        if has_both.any():
            return cells.outer[:, has_both]
        return folds(cells)  # all rows are at one point, so no row is further out

    def path(
        self, cells: PartitionedMoments, parts: Splits, equation: int, terms: Int[np.ndarray, " k"]
    ) -> EquationPath:
        return smallest_good_path(cells, parts, equation, terms, self.most_terms)


@part
@final
@dataclass(frozen=True, kw_only=True)
class CrossValidation(AbstractCellSelection):
    """Select the fewest terms that no other set beats on held-out runs by more than a standard
    error.

    Held-out runs are similar to the fitted runs. `Extrapolation` also tests states further out.

    Parameters
    ----------
    folds
        number of parts into which runs (or stretches of rows, if there are few runs) are divided.
    most_terms
        maximum number of terms of an equation.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> x = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    >>> y = np.column_stack([x[:, 1], -np.sin(x[:, 0])])
    >>> model = og.OrthoReg(augmentation=og.Zero(), selection=og.CrossValidation())
    >>> model.fit(x, y).equations()
    ["x0' = 1.000 x1", "x1' = -1.000 sin(x0)"]
    """

    folds: int = 5
    most_terms: int = 12

    def __post_init__(self):
        check_whole("CrossValidation(folds=...)", self.folds, 2)
        check_whole("CrossValidation(most_terms=...)", self.most_terms, 1)

    def held_out(self, cells: PartitionedMoments) -> np.ndarray:
        return folds(cells, self.folds)

    def path(
        self, cells: PartitionedMoments, parts: Splits, equation: int, terms: Int[np.ndarray, " k"]
    ) -> EquationPath:
        return smallest_good_path(cells, parts, equation, terms, self.most_terms)


@part
@final
@dataclass(frozen=True)
class InformationCriterion(AbstractCellSelection):
    """Select the terms with the smallest BIC or AICc.

    BIC is N log(error) + k log N. AICc has 2 k N / (N - k - 1) instead of k log N.

    Both criteria assume independent errors. Errors of a finely sampled run are correlated, so more
    terms are selected than the data support. `outer` on the path is the error times exp(penalty /
    N); its minimum is selected.

    Parameters
    ----------
    kind
        "bic" or "aicc".
    most_terms
        maximum number of terms of an equation.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, (200, 1))
    >>> y = 1 - 2 * x**2 + 0.01 * rng.standard_normal((200, 1))
    >>> model = og.OrthoReg(
    ...     og.Polynomial(5), og.Zero(), selection=og.InformationCriterion("bic")
    ... )
    >>> model.fit(x, y).equations(3)
    ["x0' = 1.00 - 2.00 x0**2"]
    """

    kind: str = "bic"
    most_terms: int = 12

    def __post_init__(self):
        if self.kind not in ("bic", "aicc"):
            raise InputError(
                f"InformationCriterion(kind) must be 'bic' or 'aicc'; got {self.kind!r}."
            )
        check_whole("InformationCriterion(most_terms=...)", self.most_terms, 1)

    def path(
        self, cells: PartitionedMoments, parts: Splits, equation: int, terms: Int[np.ndarray, " k"]
    ) -> EquationPath:
        rows = cells.all.count
        sizes = search(
            replace(parts, inner=parts.all, outer=parts.all),
            lambda outer: outer[:, 0],
            cells.all,
            terms,
            equation,
            max(min(self.most_terms, rows - 2), 0),
            required_terms(cells),
        )
        error = np.array([best.outer[0, 0] for best in sizes]) + error_floor(cells, equation)
        outer = error * np.exp(self._penalty(np.arange(len(sizes)), rows) / rows)
        no_error = np.zeros(len(sizes))
        return path(sizes, cells.n_features, outer, no_error, int(np.argmin(outer)))

    def _penalty(self, k: np.ndarray, rows: int) -> Float[np.ndarray, " M"]:
        if self.kind == "bic":
            return k * np.log(rows)
        return 2 * k * rows / np.maximum(rows - k - 1, 1e-9)
