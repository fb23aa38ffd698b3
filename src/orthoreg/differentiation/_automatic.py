"""The default: the sliding polynomial that the data itself prefers."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from .._registry import part
from ..data import Dataset
from ..smoothing import EXACT, FEWEST_POINTS
from ._differentiator import AbstractDifferentiator
from ._finite_difference import FiniteDifference
from ._local_polynomial import LocalPolynomial, SavitzkyGolay


@part
@final
@dataclass(frozen=True)
class Automatic(AbstractDifferentiator):
    """The sliding polynomial (window and degree) that best predicts points left out.

    Clean data gets a short window of high order, noisy data a long one; unequal steps are
    fitted on their true times. Runs of three or four points, and samples in such bursts that
    no polynomial can be fitted, get `FiniteDifference`; they do not bind the others. States that
    were estimated from others, as velocities are, do not take part in the choice.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 121)
    >>> model = og.OrthoReg("poly(1)", og.Zero(), loss=og.VectorField(og.Automatic()))
    >>> model.fit(np.exp(-t)[:, None], t=t).equations(2)
    ["x0' = -1.0 x0"]
    """

    @property
    def min_points(self) -> int:
        return 3

    def slopes(self, data: Dataset) -> Float[np.ndarray, "N n"]:
        return self.rule(data).slopes(data)

    def coarser(self) -> AbstractDifferentiator | None:
        return None

    def rule(self, data: Dataset) -> AbstractDifferentiator:
        choice = data.plan.polynomial
        if choice is None:
            return FiniteDifference()
        short = data.run_lengths < FEWEST_POINTS
        exact = data.has_equal_steps(EXACT)[~short].all()
        rule = (SavitzkyGolay if exact else LocalPolynomial)(*choice)
        return LongAndShort(rule, FiniteDifference()) if short.any() else rule


@final
@dataclass(frozen=True, eq=False)
class Settled(AbstractDifferentiator):
    """A rule that was chosen on some of the runs, for all of them, with the systematic error that
    it has there. Where it needs equal steps, runs without them are fitted on their true times."""

    chosen: AbstractDifferentiator
    error: Float[np.ndarray, " n"]

    @classmethod
    def on(cls, rule: AbstractDifferentiator, data: Dataset) -> "Settled":
        """What a rule becomes on these runs."""
        chosen = rule.rule(data)
        return cls(chosen, chosen.systematic_error(data, chosen.slopes(data)))

    @property
    def min_points(self) -> int:
        return self.chosen.min_points

    def slopes(self, data: Dataset) -> Float[np.ndarray, "N n"]:
        return _for_steps(self.chosen, data).slopes(data)

    def rule(self, data: Dataset) -> AbstractDifferentiator:
        return self

    def coarser(self) -> AbstractDifferentiator | None:
        return self.chosen.coarser()

    def systematic_error(self, data, slopes) -> Float[np.ndarray, " n"]:
        return self.error


def _for_steps(rule: AbstractDifferentiator, data: Dataset) -> AbstractDifferentiator:
    """The rule, or where it was chosen for equal steps that the data have not, its like."""
    if isinstance(rule, LongAndShort):
        return LongAndShort(_for_steps(rule.long, data), rule.short)
    if isinstance(rule, SavitzkyGolay) and not data.has_equal_steps(EXACT).all():
        return LocalPolynomial(rule.window, rule.degree)
    return rule


@final
@dataclass(frozen=True)
class LongAndShort(AbstractDifferentiator):
    """One rule for runs that are long enough for it, another for the others."""

    long: AbstractDifferentiator
    short: AbstractDifferentiator

    @property
    def min_points(self) -> int:
        return self.short.min_points

    def slopes(self, data: Dataset) -> Float[np.ndarray, "N n"]:
        result = np.empty_like(data.states)
        is_long = data.run_lengths >= self.long.min_points
        for rule, runs in ((self.long, is_long), (self.short, ~is_long)):
            if runs.any():
                result[runs[data.run_of_row]] = rule.slopes(data[runs])
        return result

    def rule(self, data: Dataset) -> AbstractDifferentiator:
        return self

    def coarser(self) -> AbstractDifferentiator | None:
        coarser = self.long.coarser()
        return None if coarser is None else LongAndShort(coarser, self.short)
