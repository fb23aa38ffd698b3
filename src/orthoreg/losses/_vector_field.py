"""Vector-field regression: the derivative of the states is the target. [eq:fit_loss_vf]"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import final

import numpy as np
from jaxtyping import Bool, Float

from .._errors import DataError
from .._registry import part
from ..data import Dataset, Rows
from ..differentiation import AbstractDifferentiator, Automatic, Settled, check_lengths
from . import _limits as limits
from ._loss import AbstractRowLoss


@part
@final
@dataclass(frozen=True)
class VectorField(AbstractRowLoss):
    """1/N sum_i |y_i - f(x_i)|^2, with y the given derivatives or, without them, estimates.

    A state that changes by less than rounding over the longest run has derivative zero; that of a
    position is its velocity.

    Parameters
    ----------
    differentiation
        makes the estimates; the default lets the data choose a sliding polynomial.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 121)
    >>> model = og.OrthoReg("poly(1)", og.Zero(), loss=og.VectorField())
    >>> model.fit(np.exp(-t)[:, None], t=t).equations(2)
    ["x0' = -1.0 x0"]
    """

    differentiation: AbstractDifferentiator = field(default_factory=Automatic)

    def settled(self, data: Dataset) -> Callable[[Dataset], Rows]:
        if data.derivatives is not None:
            return self.observe
        check_lengths(data, self.differentiation.min_points, self.differentiation)
        return VectorField(Settled.on(self.differentiation, data)).observe

    def observe(self, data: Dataset) -> Rows:
        """A target for every row."""
        if data.n_samples == 0:
            raise DataError(f"{data.source} holds no runs; at least one is needed.")
        targets, error = data.derivatives, np.zeros(data.n_states)
        if targets is None:
            check_lengths(data, self.differentiation.min_points, self.differentiation)
            rule = self.differentiation.rule(data)
            targets = rule.slopes(data)
            error = rule.systematic_error(data, targets)
        rests = _is_rounding(data, targets)
        return Rows(
            data.variables,
            np.where(rests, 0.0, targets) if rests.any() else targets,
            data.run_of_row,
            error,
            data.variable_names,
            data.state_names,
            data.times,
            clock=data.schema.clock_place,
        ).holding(data.given_rates)

    def derivatives(self, data: Dataset, field) -> np.ndarray:
        return self.observe(data).targets


def _is_rounding(data: Dataset, slopes: Float[np.ndarray, "N n"]) -> Bool[np.ndarray, " n"]:
    """The states whose derivatives, over the longest run, add up to no more than rounding."""
    longest = np.max(data.step_of_run() * (data.run_lengths - 1))
    change, size = (np.sqrt(np.vecdot(one.T, one.T)) for one in (slopes, data.states))
    return (change * longest <= limits.CONSTANT_STATE_CHANGE * size) & (longest > 0)
