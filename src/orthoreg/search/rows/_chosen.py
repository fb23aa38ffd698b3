"""`Chosen`: terms that somebody has chosen already."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from ..._common.errors import InputError, quoted, suggestion
from ..._common.registry import part
from ...solving import Task
from ._result import SelectionResult
from ._selection import AbstractSelection


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
