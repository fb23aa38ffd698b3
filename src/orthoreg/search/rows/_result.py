"""What a selection found: the terms of every equation, and the whole path that led to them."""

from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int

from ..._common.arrays import Mask
from ...physics import Group
from ...solving import Moments, PartitionedMoments


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
