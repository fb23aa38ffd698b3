"""Rows used in a search, in units of their noise, and the score of a misfit."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float, Int

from ...data import Extent, Units
from ...terms import Call, Expression, Product, UnitAlgebra, Variable, like_terms
from . import _limits as limits
from ._limits import NEAR_ZERO


def misfit_nats(
    mse: Any, noise: float, count: float, reliable: float = limits.TEMPERED_ROWS
) -> Any:
    """Return the negative log-likelihood N/2 log(mse) of residuals of unknown size.

    Below twice the noise variance, models differ by chance and by smoothing, so at most `reliable`
    rows count.
    """
    nats = np.log(np.maximum(np.asarray(mse) / (limits.CLEAR_MISFIT * noise), limits.MIN_MISFIT))
    return 0.5 * np.where(nats > 0, count, min(count, reliable)) * nats


@final
@dataclass(frozen=True, eq=False)
class Measurements:
    """Targets of equations at rows, which are points or windows of many points.

    `noise` (R x c) is the minimum standard deviation of each target, `count` the number of
    independent rows, and `group` the run, or stretch of a run, of each row. `slopes` are estimated
    derivatives at the points. `time_variable` is the index of the time variable. `sign_changes`
    marks windows in which a velocity that was not measured (see `estimated_velocities`) changes its
    sign. `given` maps the equation of a position to its velocity. A variable that changes sign
    between two points has both signs within the step around a point. For each point and variable,
    `sides` is the fraction of this step with the sign at the point, minus the fraction with the
    opposite sign. Functions must also be defined at the points `beyond`, which are outside the
    range of the others. Each `stretch` of rows has a free offset. At most `reliable` rows count if
    the misfit is noise. `units` are the units of the variables.
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
    time_variable: int | None = None
    sign_changes: Bool[np.ndarray, " R"] | None = None
    estimated_velocities: frozenset[int] = frozenset()
    given: Mapping[int, int] = field(default_factory=dict)
    sides: Float[np.ndarray, "M V"] | None = None
    beyond: Float[np.ndarray, "B V"] | None = None
    stretch: Int[np.ndarray, " R"] | None = None
    reliable: float = limits.TEMPERED_ROWS
    units: Units | None = None

    def combine_like(self, terms: Sequence[Expression]) -> list[bool]:
        """Return whether each term combines only like quantities, as far as units are known.

        A parameter may have any unit.
        """
        if self.units is None:
            return [True] * len(terms)
        return [like_terms([term], UnitAlgebra(self.units))[0] for term in terms]

    def without_offsets(
        self, values: Float[np.ndarray, "R k"], weight: Float[np.ndarray, " R"]
    ) -> Float[np.ndarray, "R k"]:
        """Return the values minus their mean in each stretch.

        Rows are weighted by the squared weight.
        """
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
        """Return the measurements with variables marked as one-signed if noise explains the points
        of the other sign.

        An example is a concentration that decays to zero. `noise` is the standard deviation of the
        first variables.
        """
        reach = np.zeros(len(self.names))
        reach[: len(noise)] = NEAR_ZERO * noise
        return replace(self, extent=self.extent.signed(points, reach))

    def defined_at(self, points: Float[np.ndarray, "P V"]) -> "Measurements":
        """Return the measurements for functions that must also be defined at these points."""
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        return replace(self, beyond=points[((points < low) | (points > high)).any(axis=1)])

    def are_defined(self, values: Callable[[np.ndarray], np.ndarray]) -> Bool[np.ndarray, "..."]:
        """Return a mask of the functions (P x V -> P x ...) that are finite at the points
        `beyond`.
        """
        if self.beyond is None or not len(self.beyond):
            return np.array(True)
        with np.errstate(all="ignore"):  # functions need not be defined there
            result = values(self.beyond)
        return np.asarray(np.isfinite(result).all(axis=0))

    def without_sign_changes(self) -> "Measurements":
        """Return the measurements with an additional uncertainty where signs change.

        It equals the size of the targets, because jumps at these rows cannot be judged.
        """
        if self.sign_changes is None or self.sign_changes.all():
            return self
        size = np.sqrt(np.mean(self.targets**2, axis=0))
        return replace(
            self, noise=self.noise + np.outer(self.sign_changes, size), sign_changes=None
        )

    def term_at_rows(
        self, values: Float[np.ndarray, "M k"], term: Expression
    ) -> Float[np.ndarray, "R k"]:
        """Return a term at the rows.

        A factor sign(z) that jumps within a step is averaged over both sides.
        """
        if self.sides is not None and (jumping := _signs(term)):
            values = values * self.sides[:, jumping].prod(axis=1, keepdims=True)
        return self.at_rows(values)

    def at_rows(self, values: Float[np.ndarray, "M k"]) -> Float[np.ndarray, "R k"]:
        """Return the values at rows of functions with these values at points."""
        if self.windows is None:
            return values
        # column by column: SciPy's product with several columns takes several times longer
        columns = np.ascontiguousarray(values.T)
        return np.stack([self.windows @ column for column in columns], axis=1)


def _signs(term: Expression) -> list[int]:
    """Return the indices of the variables whose signs are factors of a term."""
    variables = []
    for factor in term.factors if isinstance(term, Product) else (term,):
        match factor:
            case Call("sign", Variable(v, _)):
                variables.append(v)
            case _:
                pass
    return variables
