"""An implicit method for stiff fields, by diffrax. Loaded only when one is met."""

from functools import partial
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from ._compiled import split_field, whole_field
from ._inputs import Inputs
from ._routes import Task
from ._tsit5 import COMPLETED, DIVERGED, GROWN, STALLED, Cells, Limits, Now, with_inputs

_STEPS = 20_000  # in a block
_TIMES = 512  # asked for in a block: what a step costs grows with them
_CHUNK = 256


def finish_implicitly(field: Any, task: Task, now: Now) -> Now:
    """Where the rollouts end, with Kvaerno's method of order 5. Out of steps they are stalled."""
    times, last = task.grid.times, task.limits.last
    t, x, status = now.t.copy(), now.x.copy(), now.status.copy()
    for first in range(0, len(t), _CHUNK):
        rows = np.arange(len(t))[first : first + _CHUNK]
        while rows.size:
            part = task.only(rows)
            column = task.grid.passed(t[rows], part.rows)[:, None] + np.arange(_TIMES)
            asked = np.minimum(column, times.shape[1] - 1)
            block = (t[rows], x[rows], times[part.rows[:, None], asked])
            saved, t[rows], x[rows], status[rows] = _solve(field, block, part.limits, part.inputs)
            reached = np.isfinite(saved).all(axis=2) & (column < times.shape[1])
            number, place = np.nonzero(reached)
            task.grid.states[part.rows[number], asked[number, place]] = saved[number, place]
            rows = rows[(status[rows] == COMPLETED) & (t[rows] < last[rows])]
    return now._replace(t=t, x=x, status=status)


def _solve(field: Any, block: Any, limits: Limits, inputs: Inputs | None) -> tuple[Any, ...]:
    """States at the times of a block, and where its rollouts end. Batches are filled up to powers
    of two, so that few sizes are compiled."""
    start, _, times = block
    count = len(start)
    rows = np.minimum(np.arange(_padded(count)), count - 1)
    cells = None if inputs is None else _spans(inputs.only(rows), start[rows], times[rows, -1])
    jumps = inputs is not None and inputs.jumps
    arrays, rest = split_field(field)
    limits = Limits(*(part[rows] if np.ndim(part) else np.asarray(part) for part in limits))
    with jax.enable_x64(True):
        results = _compiled(arrays, rest, [part[rows] for part in block], limits, cells, jumps)
    return tuple(np.array(part)[:count] for part in results)


def _spans(inputs: Inputs, start: np.ndarray, stop: np.ndarray) -> Cells:
    """The cells of each rollout's inputs from one time to another, each signal apart."""
    first = inputs.cell_at(start)
    count = int((inputs.cell_at(stop) - first).max()) + 1
    most = inputs.cells.knots.shape[1] - 1
    columns = first[:, None] + np.arange(_padded(count) + 1)
    signal = inputs.cells.signal[:, None]
    knots = inputs.cells.knots[signal, np.minimum(columns, most)]
    knots = knots + np.maximum(columns - most, 0)  # increasing: diffrax steps from knot to knot
    pieces = inputs.cells.coefficients[signal, np.minimum(columns[:, :-1], most - 1)]
    return Cells(knots, pieces, np.arange(len(start)))


def _padded(size: int) -> int:
    return 1 << (size - 1).bit_length()


@partial(jax.jit, static_argnums=(1, 5))
def _compiled(arrays, rest, block, limits, cells, jumps):
    field = whole_field(arrays, rest)

    def one(start, x, ts, limits, knots, pieces):
        def slope(t, x, _):
            if knots is None:
                return field(t, x, None)
            cell = jnp.clip(jnp.searchsorted(knots, t, side="right") - 1, 0, len(pieces) - 1)
            own = Cells(knots[None], pieces[None], jnp.zeros(1, int))
            rows = with_inputs(lambda t, x, u: field(t[0], x[0], u[0])[None], cell[None], own)
            return rows(t[None], x[None])[0]

        def escaped(t, x, args, **_):
            return jnp.any(~(jnp.abs(x) <= limits.bound))

        # steps end at the asked times: within a step of a stiff field there is no telling; and
        # none leaps over a change of the inputs
        ends = ts if knots is None or jumps else jnp.concatenate([ts, knots[1:]])
        controller = diffrax.ClipStepSizeController(
            diffrax.PIDController(rtol=limits.rtol, atol=limits.atol),
            step_ts=ends,
            jump_ts=None if knots is None or not jumps else knots[1:],
        )
        saved = [diffrax.SubSaveAt(ts=ts), diffrax.SubSaveAt(t1=True)]
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(slope), diffrax.Kvaerno5(), t0=start, t1=ts[-1], dt0=None, y0=x,
            saveat=diffrax.SaveAt(subs=saved), stepsize_controller=controller,
            event=diffrax.Event(escaped), max_steps=_STEPS, throw=False,
        )  # fmt: skip
        parts: Any = (solution.ts, solution.ys)
        (_, last_time), (states, last) = parts
        done = solution.result == diffrax.RESULTS.successful
        grown = jnp.any(~(jnp.abs(last[0]) <= GROWN * limits.bound))
        status = jnp.where(done, COMPLETED, jnp.where(grown, DIVERGED, STALLED))
        return states, last_time[0], last[0], status

    start, x, ts = block
    knots, pieces = (None, None) if cells is None else (cells.knots, cells.coefficients)
    along = None if cells is None else 0
    axes = (0, 0, 0, Limits(0, 0, 0, None, 0), along, along)
    return jax.vmap(one, in_axes=axes)(start, x, ts, limits, knots, pieces)
