"""`TwoStage`: equations first, on their own, then a residual for what they leave."""

import abc
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np
from jaxtyping import Float

from .._errors import InputError
from .._typing import Mask
from ..moments import Moments, gather
from ._exact import Exact, scales
from ._lasso import lasso
from ._rank import independent_terms
from ._result import Strengths
from ._solver import AbstractSolver, Solution, Task


class AbstractSelector(abc.ABC):
    """Finds coefficients without a residual. `keeps_only_support` says that the terms it does
    not use are out: the residual may then take what they could have said."""

    keeps_only_support: bool

    @abc.abstractmethod
    def coefficients(
        self, moments: Moments, mask: Mask, strengths: Strengths
    ) -> Float[np.ndarray, "c K"]:
        """One row for each equation."""


@final
@dataclass(frozen=True)
class Shrinkage(AbstractSelector):
    """The exact Lasso: |y - Phi w|^2_D + mu |w|_1 with mu the model's sparsity."""

    keeps_only_support = False

    def coefficients(self, moments, mask, strengths) -> np.ndarray:
        result = np.zeros(mask.shape)
        for c, allowed in enumerate(mask):
            terms = np.flatnonzero(allowed)
            independent, _ = independent_terms(moments.A[np.ix_(terms, terms)])
            terms = terms[independent]
            A = moments.A[np.ix_(terms, terms)]
            result[c, terms] = lasso(A, moments.a[terms, c], float(strengths.sparsity))
        return result


@final
@dataclass(frozen=True)
class Thresholding(AbstractSelector):
    """Sequentially thresholded least squares (STLSQ), on the Gram matrix alone.

    Ridge regression with weight `alpha` on the sum of squares; terms whose coefficient is smaller
    than `threshold` leave; again, until none does. Then least squares on the terms that are left.
    """

    threshold: float = 0.045
    alpha: float = 0.05
    rounds: int = 20
    keeps_only_support = True

    def __post_init__(self):
        for name in ("threshold", "alpha"):
            value = getattr(self, name)
            if not isinstance(value, int | float | np.number) or not 0 <= value < np.inf:
                raise InputError(f"{name} must be finite and at least 0; got {value!r}.")
        if not isinstance(self.rounds, int | np.integer) or self.rounds < 1:
            raise InputError(f"rounds must be a whole number of at least 1; got {self.rounds!r}.")

    def coefficients(self, moments, mask, strengths) -> np.ndarray:
        result = np.zeros(mask.shape)
        for c, allowed in enumerate(mask):
            terms = np.flatnonzero(allowed)
            for _ in range(self.rounds):
                A = moments.A[np.ix_(terms, terms)]
                w = np.linalg.lstsq(
                    A + self.alpha / moments.count * np.eye(len(terms)),
                    moments.a[terms, c],
                    rcond=None,
                )[0]
                left = np.abs(w) >= self.threshold
                terms = terms[left]
                if left.all():
                    break
            A = moments.A[np.ix_(terms, terms)]
            result[c, terms] = np.linalg.lstsq(A, moments.a[terms, c], rcond=1e-14)[0]
        return result


@final
@dataclass(frozen=True)
class TwoStage(AbstractSolver):
    """`first` finds the equations without any residual; `then` fits the residual to the rest.

    With orthogonality 0 the second stage is free to say again what shrinkage took away, a half
    mu of every term [prop:seq_two_stage_failure]; with lam it is divided by 1 + lam. With
    `Thresholding()` first and an infinite lam it is selection and refit with an orthogonal
    residual.
    """

    first: AbstractSelector = field(default_factory=Shrinkage)
    then: AbstractSolver = field(default_factory=Exact)
    normalize: bool = field(init=False, repr=False)

    def __post_init__(self):
        if not isinstance(self.first, AbstractSelector):
            raise InputError(
                f"TwoStage(first=...) must be Shrinkage() or Thresholding(); got {self.first!r}."
            )
        usable = isinstance(self.then, AbstractSolver) and not isinstance(self.then, TwoStage)
        if not usable or getattr(self.then, "refit", False):
            raise InputError(
                f"TwoStage(then=...) must be Exact() without refit, or Adam(); got {self.then!r}."
            )
        object.__setattr__(self, "normalize", self.then.normalize)

    def fit_all(self, tasks: Sequence[Task]) -> list[Solution]:
        return self.then.fit_all([self._second(task) for task in tasks])

    def _second(self, task: Task) -> Task:
        """The task that is left when the equations are known."""
        if not task.loss.is_quadratic:
            raise InputError(
                f"TwoStage() finds its equations from derivatives and cannot use "
                f"loss={task.loss!r}. Use loss=VectorField()."
            )
        (moments,) = gather(task.features, lambda rows: rows[:, :0], task.samples)
        feature_scale, target_scale = scales(moments, self.normalize)
        scaled = moments.scaled(feature_scale, target_scale)
        w = self.first.coefficients(scaled, task.allowed, task.strengths)
        allowed = task.allowed & (w != 0) if self.first.keeps_only_support else task.allowed
        return replace(task, allowed=allowed, fixed=w * target_scale[:, None] / feature_scale)
