"""`StabilitySelection`: select terms that the Lasso selects first on most halves of the data."""

import math
import warnings
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float, Int

from ..._common.registry import part
from ...solving import PartitionedMoments, QuadraticProblem
from . import _limits as limits
from ._search import Splits, as_mask
from ._selection import (
    AbstractCellSelection,
    EquationPath,
    check_number,
    check_whole,
    required_terms,
)


@part
@final
@dataclass(frozen=True, kw_only=True)
class StabilitySelection(AbstractCellSelection):
    """Select the terms that the Lasso selects first on most random halves of the data.

    Deprecated: use `Extrapolation()`, whose models have much smaller errors on new states.

    The first q of K terms count as selected first, with q = sqrt((2 threshold - 1) K), which bounds
    the expected number of wrong terms by one (Meinshausen and Buehlmann). Therefore, at most q
    terms of an equation are selected, and often neither of two exchangeable terms.

    Parameters
    ----------
    threshold
        fraction of halves on which a term must be among the first.
    halves
        number of random halves.
    seed
        seed of the random numbers.

    Examples
    --------
    >>> import orthoreg as og
    >>> og.Extrapolation()  # in place of og.StabilitySelection()
    Extrapolation(inner=0.5, reach=2.0, caution=0.1, most_terms=12)
    """

    threshold: float = 0.9
    halves: int = 100
    seed: int = 0

    def __post_init__(self):
        warnings.warn(
            "StabilitySelection() is deprecated: use selection=Extrapolation(), the default.",
            DeprecationWarning,
            stacklevel=3,
        )
        check_number("StabilitySelection(threshold=...)", self.threshold, 0.55, 1.0)
        check_whole("StabilitySelection(halves=...)", self.halves, 10)
        check_whole("StabilitySelection(seed=...)", self.seed, 0)

    def held_out(self, cells: PartitionedMoments) -> np.ndarray:
        """Return random halves of the groups."""
        rng = np.random.default_rng(self.seed)
        half = np.tile(np.arange(cells.n_groups) % 2 == 0, (self.halves, 1))
        return rng.permuted(half, axis=1)[:, cells.group].T

    def path(
        self, cells: PartitionedMoments, parts: Splits, equation: int, terms: Int[np.ndarray, " k"]
    ) -> EquationPath:
        """Return terms in the order of their frequency, with errors on the held-out halves."""
        required = required_terms(cells)
        max_terms = (
            max(int(math.sqrt((2 * self.threshold - 1) * len(terms))), 1) if len(terms) else 0
        )
        frequency = np.zeros(len(terms))
        y = parts.target(equation)
        for half in parts.inner:
            frequency[_first_terms(half[np.ix_(terms, terms)], half[terms, y], max_terms)] += 1
        frequency /= max(len(parts.inner), 1)
        order = terms[np.argsort(-frequency, kind="stable")]
        supports = [np.sort([*order[:k], *required]).astype(int) for k in range(len(order) + 1)]
        inner, outer = (
            np.stack(errors)
            for errors in zip(
                *[[e[0] for e in parts.errors(s[None], equation)] for s in supports], strict=True
            )
        )
        mask = as_mask(supports, cells.n_features)
        return EquationPath(
            n_terms=np.arange(len(supports)),
            supports=mask,
            inner=inner.mean(axis=1),
            outer=outer.mean(axis=1),
            standard_error=outer.std(axis=1) / math.sqrt(max(outer.shape[1], 1)),
            chosen=int((frequency >= self.threshold).sum()),
            contenders=mask,
        )


def _first_terms(
    A: Float[np.ndarray, "k k"], a: Float[np.ndarray, " k"], max_terms: int
) -> Int[np.ndarray, " _"]:
    """Return the terms on the Lasso path before their number exceeds `max_terms`."""
    first = np.zeros(0, dtype=np.int64)
    w = np.zeros(len(a))
    shares = np.logspace(-0.01, -3, limits.STABILITY_LASSO_STEPS)
    for mu in 2 * np.abs(a).max(initial=1e-300) * shares:
        w = QuadraticProblem(A, a, float(mu)).solve(w)
        used = np.flatnonzero(w)
        if len(used) > max_terms:
            break
        first = used
    return first
