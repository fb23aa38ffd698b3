"""What a selection found: the terms of every equation, and the whole path that led to them."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int

from .._typing import Mask


@final
@dataclass(frozen=True, eq=False)
class EquationPath:
    """For one equation, the best support of each size, with its errors.

    Errors are squared and relative to the mean square of the target. `inner` is on the rows that
    were fitted, `outer` on those that were not; `doubt` is the standard error of `outer` compared
    with the best. `chosen` is the place of the chosen support. `contenders` are the best few of
    each size.
    """

    n_terms: Int[np.ndarray, " M"]
    supports: Bool[np.ndarray, "M K"]
    inner: Float[np.ndarray, " M"]
    outer: Float[np.ndarray, " M"]
    doubt: Float[np.ndarray, " M"]
    chosen: int
    contenders: Bool[np.ndarray, "R K"]

    @property
    def support(self) -> Bool[np.ndarray, " K"]:
        return self.supports[self.chosen]

    @property
    def best(self) -> int:
        """The place of the least outer error."""
        return int(np.argmin(self.outer))


@final
@dataclass(frozen=True, eq=False)
class Selected:
    """The chosen terms, (equations x terms), and for each equation how they were chosen."""

    support: Mask
    paths: tuple[EquationPath, ...]

    @classmethod
    def of(cls, paths: list[EquationPath]) -> "Selected":
        return cls(np.stack([path.support for path in paths]), tuple(paths))
