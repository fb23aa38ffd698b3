"""`TwoStage`: equations first, on their own, then a residual for what they leave."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import final

from .._common.errors import InputError
from .._common.progress import step
from .._common.registry import part
from ._exact import Exact
from ._moments import gather, no_basis
from ._solver import AbstractSolver, Solution, Task


@part
@final
@dataclass(frozen=True)
class TwoStage(AbstractSolver):
    """The exact Lasso finds the equations without any residual; `then` fits it to the rest.

    With orthogonality 0 the second stage is free to say again what shrinkage took away, a half
    mu of every term [prop:seq_two_stage_failure]; with lam it is divided by 1 + lam. Where a
    selection chose the terms there is no shrinkage: least squares, and a residual of its own.
    """

    then: AbstractSolver = field(default_factory=Exact)
    normalize: bool = field(init=False, repr=False)

    def __post_init__(self):
        if not isinstance(self.then, AbstractSolver) or isinstance(self.then, TwoStage):
            raise InputError(f"TwoStage(then=...) must be Exact() or Adam(); got {self.then!r}.")
        object.__setattr__(self, "normalize", self.then.normalize)

    @property
    def needs_rows(self) -> bool:
        return self.then.needs_rows

    @step("Fitting coefficients and residual")
    def solve_all(self, tasks: Sequence[Task]) -> list[Solution]:
        return self.then.solve_all([self._second(task) for task in tasks])

    def _second(self, task: Task) -> Task:
        """The task that is left when the equations are known."""
        if task.fixed is not None:
            return task
        rows = task.linear_rows("TwoStage()")
        library = task.library or gather(task.features, no_basis, rows)[0]
        first = Exact(self.normalize).solve(
            [library], task.support, task.regularization, 0.0, knowledge=task.knowledge
        )
        return replace(task, fixed=first.coefficients)
