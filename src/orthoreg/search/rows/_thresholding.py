"""`Thresholding`: the terms that sequentially thresholded least squares leaves."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from ..._common.errors import InputError
from ..._common.registry import part
from ...solving import Moments, QuadraticProblem, Task, gather, no_basis, scales
from ._result import SelectionResult
from ._selection import AbstractSelection, check_whole


@part
@final
@dataclass(frozen=True)
class Thresholding(AbstractSelection):
    """Sequentially thresholded least squares (STLSQ), on the Gram matrix alone.

    Ridge regression with weight `alpha` on the sum of squares; terms whose coefficient is smaller
    than `threshold` leave; again, until none does. `normalize` measures terms and targets in
    units of their root mean square, so that the threshold has none.
    """

    threshold: float = 0.045
    alpha: float = 0.05
    rounds: int = 20
    normalize: bool = False

    def __post_init__(self):
        for name in ("threshold", "alpha"):
            value = getattr(self, name)
            if not isinstance(value, int | float | np.number) or not 0 <= value < np.inf:
                raise InputError(f"{name} must be finite and at least 0; got {value!r}.")
        check_whole("rounds", self.rounds, 1)

    def select(self, task: Task) -> SelectionResult:
        rows = task.linear_rows("Thresholding()")
        (library,) = gather(task.features, no_basis, rows)
        scaled = library.scaled(*scales(library, self.normalize))
        chosen = [self._terms(scaled, c, row) for c, row in enumerate(task.support)]
        support = np.zeros_like(task.support)
        for row, terms in zip(support, chosen, strict=True):
            row[terms] = True
        return SelectionResult(support, library=library)

    def _terms(self, moments: Moments, equation: int, allowed: np.ndarray) -> np.ndarray:
        terms = np.flatnonzero(allowed)
        for _ in range(self.rounds):
            left = np.abs(self._ridge(moments, equation, terms)) >= self.threshold
            terms = terms[left]
            if left.all():
                break
        return terms

    def _ridge(self, moments: Moments, equation: int, terms: np.ndarray) -> Float[np.ndarray, " k"]:
        A = moments.A[np.ix_(terms, terms)] + self.alpha / moments.count * np.eye(len(terms))
        return QuadraticProblem(A, moments.a[terms, equation]).solve()
