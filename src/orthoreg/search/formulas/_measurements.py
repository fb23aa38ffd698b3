"""The rows that a search fits, in units of their noise, and the score of a misfit."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float, Int

from ...data import Extent
from ...terms import Call, Expression, Product, Variable
from . import _limits as limits
from ._limits import NEAR_ZERO


def misfit_nats(
    mse: Any, noise: float, count: float, reliable: float = limits.TEMPERED_ROWS
) -> Any:
    """The negative log-likelihood of residuals of unknown size, N/2 log(mse), from where they are
    twice the variance of the noise. Below, where models differ by chance and by what smoothing
    left, at most as many rows count as are `reliable`."""
    nats = np.log(np.maximum(np.asarray(mse) / (limits.CLEAR_MISFIT * noise), limits.MIN_MISFIT))
    return 0.5 * np.where(nats > 0, count, min(count, reliable)) * nats


@final
@dataclass(frozen=True, eq=False)
class Measurements:
    """Targets of some equations at rows, which are points or windows of many of them.

    `noise` (R x c) is the standard deviation that each target has at least. `count` is how many
    rows count as independent of each other; `group` are runs or stretches of these. `slopes` are
    derivatives at the points, where these were estimated; `clock` is the variable that is time.
    `turns` are the windows in which a velocity that was not measured, one of `speeds`, changes its
    sign. `given` maps an equation to the variable that it is: that of a position to its velocity.
    `sides` says for each point and variable which share of the step around the point has the sign
    of the point, less that which has the other. `beyond` are further points, outside the range of
    these, at which functions must be defined. In each `stretch` of rows one offset is free, if
    these are given. At most so many rows count as are `reliable` where the misfit is noise.
    """

    points: Float[np.ndarray, "M V"]
    windows: Any
    targets: Float[np.ndarray, "R c"]
    noise: Float[np.ndarray, "R c"]
    centres: Float[np.ndarray, "R V"]
    group: Int[np.ndarray, " R"]
    names: tuple[str, ...]
    outputs: tuple[str, ...]
    learned: tuple[int, ...]
    count: float
    extent: Extent
    slopes: Float[np.ndarray, "M c"] | None = None
    clock: int | None = None
    turns: Bool[np.ndarray, " R"] | None = None
    speeds: frozenset[int] = frozenset()
    given: Mapping[int, int] = field(default_factory=dict)
    sides: Float[np.ndarray, "M V"] | None = None
    beyond: Float[np.ndarray, "B V"] | None = None
    stretch: Int[np.ndarray, " R"] | None = None
    reliable: float = limits.TEMPERED_ROWS

    def without_offsets(
        self, values: Float[np.ndarray, "R k"], weight: Float[np.ndarray, " R"]
    ) -> Float[np.ndarray, "R k"]:
        """The values less their mean in each stretch, rows counting by their weight squared."""
        if self.stretch is None:
            return values
        begin = np.flatnonzero(np.diff(self.stretch, prepend=-1))
        square = weight**2
        mean = (
            np.add.reduceat(values * square[:, None], begin)
            / np.add.reduceat(square, begin)[:, None]
        )
        return values - np.repeat(mean, np.diff(begin, append=len(square)), axis=0)

    def signed(
        self, points: Float[np.ndarray, "N V"], noise: Float[np.ndarray, " n"]
    ) -> "Measurements":
        """With variables of one sign where noise, of this standard deviation for the first
        variables, explains that some of the points have the other: concentrations that decay to
        zero."""
        reach = np.zeros(len(self.names))
        reach[: len(noise)] = NEAR_ZERO * noise
        return replace(self, extent=self.extent.signed(points, reach))

    def defined_at(self, points: Float[np.ndarray, "P V"]) -> "Measurements":
        """The same for functions that must be defined at these points too."""
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        return replace(self, beyond=points[((points < low) | (points > high)).any(axis=1)])

    def are_defined(self, values: Callable[[np.ndarray], np.ndarray]) -> Bool[np.ndarray, "..."]:
        """Which functions (P x V -> P x ...) are finite at the further points."""
        if self.beyond is None or not len(self.beyond):
            return np.array(True)
        with np.errstate(all="ignore"):  # where they are not defined
            found = values(self.beyond)
        return np.asarray(np.isfinite(found).all(axis=0))

    def without_turns(self) -> "Measurements":
        """With turns as unsure as their targets are large: what jumps there cannot be judged."""
        if self.turns is None or self.turns.all():
            return self
        size = np.sqrt(np.mean(self.targets**2, axis=0))
        return replace(self, noise=self.noise + np.outer(self.turns, size), turns=None)

    def term_at_rows(
        self, values: Float[np.ndarray, "M k"], term: Expression
    ) -> Float[np.ndarray, "R k"]:
        """Values of a term at points as they count in the rows: a factor sign(z) that jumps within
        a step counts on both sides."""
        if self.sides is not None and (jumping := _signs(term)):
            values = values * self.sides[:, jumping].prod(axis=1, keepdims=True)
        return self.at_rows(values)

    def at_rows(self, values: Float[np.ndarray, "M k"]) -> Float[np.ndarray, "R k"]:
        """Functions at points as they count in the rows."""
        if self.windows is None:
            return values
        # SciPy's product with several columns takes several times longer than with each alone
        columns = np.ascontiguousarray(values.T)
        return np.stack([self.windows @ column for column in columns], axis=1)


def _signs(term: Expression) -> list[int]:
    """The variables whose signs are factors of a term."""
    found = []
    for factor in term.factors if isinstance(term, Product) else (term,):
        match factor:
            case Call("sign", Variable(v, _)):
                found.append(v)
            case _:
                pass
    return found
