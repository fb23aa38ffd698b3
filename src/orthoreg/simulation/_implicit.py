"""An implicit method for stiff fields: SciPy's Radau, one rollout after the other."""

from typing import Any, final

import numpy as np
from jaxtyping import Float

from ._inputs import Inputs
from ._tsit5 import COMPLETED, DIVERGED, GROWN, STALLED, STUCK, Limits, Slope, with_inputs

MAX_STEPS = 100_000
"""Of a rollout: about two minutes."""


def finish_implicitly(
    slope: Slope,
    t: float,
    x: Float[np.ndarray, " n"],
    limits: Limits,
    inputs: Inputs | None,
    times: Float[np.ndarray, " T"],
    states: Float[np.ndarray, "T n"],
) -> tuple[float, Float[np.ndarray, " n"], int]:
    """Continue one rollout, write its `states` at those `times` that lie ahead, and return its last
    time and state and its status. `limits` and `inputs` have a single row.

    Steps end at the asked times, because interpolation within a step of a stiff field is much less
    accurate than its end, and at the knots of the inputs, so that no step leaps over a change.
    """
    from scipy.integrate import Radau

    last, bound = float(limits.last[0]), limits.bound[0]
    rate, solver, size = _Rate(slope, inputs), None, None
    with np.errstate(all="ignore"):
        for _ in range(MAX_STEPS):
            if t >= last:
                return t, x, COMPLETED
            place = int(np.searchsorted(times, t, side="right"))
            end = min(float(times[place]), rate.enter(t))
            try:
                if solver is None:
                    solver = Radau(
                        rate, t, x, end, rtol=limits.rtol, atol=limits.atol[0], vectorized=True,
                        first_step=size and min(size, end - t),
                    )  # fmt: skip
                solver.t_bound, solver.status = end, "running"
                solver.step()
            except (ValueError, np.linalg.LinAlgError):  # a Jacobian that is not finite
                return t, x, _stopped(x, bound)
            if solver.status == "failed" or not np.isfinite(solver.y).all():
                return t, x, _stopped(x, bound)
            t, x, size = float(solver.t), solver.y, float(solver.t) - t
            if (np.abs(x) > bound).any():
                return t, x, DIVERGED
            if t == times[place]:
                states[place] = x
            if t == end and rate.jumps:
                solver = None  # the slope there has two values
    return t, x, STALLED


def _stopped(x: Float[np.ndarray, " n"], bound: Float[np.ndarray, " n"]) -> int:
    return DIVERGED if (np.abs(x) > GROWN * bound).any() else STUCK


@final
class _Rate:
    """(t, states n x k) -> derivatives n x k of one rollout, with the inputs of the cell that was
    entered last."""

    def __init__(self, slope: Slope, inputs: Inputs | None):
        self._slope, self._inputs = slope, inputs
        self._rows = with_inputs(slope, None, None)
        self.jumps = inputs is not None and inputs.jumps

    def enter(self, t: float) -> float:
        """Enter the cell of the inputs at this time, and return the time at which it ends."""
        if self._inputs is None:
            return np.inf
        cells, cell = self._inputs.cells, self._inputs.cell_at(np.array([t]))
        self._rows = with_inputs(self._at_rows, cell, cells)
        knots = cells.knots[cells.signal[0]]
        after = knots[knots > t]
        return float(after[0]) if len(after) else np.inf

    def __call__(self, t: float, y: np.ndarray) -> np.ndarray:
        columns = y[:, None] if y.ndim == 1 else y
        found = np.asarray(self._rows(np.full(columns.shape[1], t), columns.T)).T
        return found[:, 0] if y.ndim == 1 else found

    def _at_rows(self, t: Any, x: Any, u: Any) -> Any:
        return self._slope(t, x, np.broadcast_to(u, (len(x), u.shape[1])))
