"""Integrate a vector field from many initial states at once.

NumPy takes the first steps of the explicit method. Compiled JAX code takes over if JAX is installed
and if compilation saves time. SciPy's Radau takes over stiff rollouts, one at a time.
"""

import enum
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, final
from weakref import WeakKeyDictionary

import numpy as np
from jaxtyping import Float, Int

from .._common.errors import SimulationError
from .._common.imports import has_memory_for_jax, import_cleanly
from .._common.progress import progress
from ._inputs import Inputs
from ._limits import (
    CALL_COST,
    COMPILATION,
    COMPILED_SAVING,
    FIRST_STEP,
    GROWN_SHARE,
    MAX_BLOCK_STEPS,
    MAX_IMPLICIT_STEPS,
    MAX_STEPS,
    MAX_STEPS_PER_TIME,
    MAX_STIFF_STEPS,
    MAX_STIFF_STEPS_COMPILED,
    MIN_STEP,
    MIN_STEPS_RECOMPILED,
    ROW_COST,
    SWITCHING_COST,
)
from ._switching import AbstractSwitchedField, Switched, initial_modes, take_step
from ._tsit5 import (
    COMPLETED,
    DIVERGED,
    RUNNING,
    STALLED,
    STUCK,
    Grid,
    Limits,
    Slope,
    State,
    Step,
    clipped,
    is_held_by_stability,
    read_out,
    rows_of,
    with_inputs,
)

_STAGES = 6  # of a step
_MAX_BLOCK_STATES = 2**19  # maximum number of states in a block of steps, to limit memory

Field = Callable[[Any, Any, Any], Any] | AbstractSwitchedField
"""A function (time, state, input) -> derivative for one rollout, in JAX. It is a pytree, so that
other numbers in it do not cause another compilation."""


def finish_implicitly(
    slope: Slope,
    t: float,
    x: Float[np.ndarray, " n"],
    limits: Limits,
    inputs: Inputs | None,
    times: Float[np.ndarray, " T"],
    states: Float[np.ndarray, "T n"],
) -> tuple[float, Float[np.ndarray, " n"], int]:
    """Continue a rollout by the implicit method. Return its last time, state and status.

    The states at the remaining `times` are written to `states`. `limits` and `inputs` have a single
    row. Steps end at the requested times, because interpolation within a step of a stiff field is
    inaccurate, and at the knots of the inputs, so that no change of an input is skipped.
    """
    from scipy.integrate import Radau

    last, bound = float(limits.last[0]), limits.bound[0]
    rate, solver, size = _Rate(slope, inputs), None, None
    with np.errstate(all="ignore"):
        for _ in range(MAX_IMPLICIT_STEPS):
            if t >= last:
                return t, x, COMPLETED
            next_index = int(np.searchsorted(times, t, side="right"))
            end = min(float(times[next_index]), rate.enter(t))
            try:
                if solver is None:
                    solver = Radau(
                        rate, t, x, end, rtol=limits.rtol, atol=limits.atol[0], vectorized=True,
                        first_step=size and min(size, end - t),
                    )  # fmt: skip
                solver.t_bound, solver.status = end, "running"
                solver.step()
            except (ValueError, np.linalg.LinAlgError):  # the Jacobian is not finite
                return t, x, _stopped(x, bound)
            if solver.status == "failed" or not np.isfinite(solver.y).all():
                return t, x, _stopped(x, bound)
            t, x, size = float(solver.t), solver.y, float(solver.t) - t
            if (np.abs(x) > bound).any():
                return t, x, DIVERGED
            if t == times[next_index]:
                states[next_index] = x
            if t == end and rate.jumps:
                solver = None  # the slope has two values there
    return t, x, STALLED


def _stopped(x: Float[np.ndarray, " n"], bound: Float[np.ndarray, " n"]) -> int:
    return DIVERGED if (np.abs(x) > GROWN_SHARE * bound).any() else STUCK


@final
class _Rate:
    """The function (t, states n x k) -> derivatives n x k of one rollout, with the inputs of the
    current cell.
    """

    def __init__(self, slope: Slope, inputs: Inputs | None):
        self._slope, self._inputs = slope, inputs
        self._rows = with_inputs(slope, None, None)
        self.jumps = inputs is not None and inputs.jumps

    def enter(self, t: float) -> float:
        """Select the cell of the inputs at the time t. Return the time at which it ends."""
        if self._inputs is None:
            return np.inf
        cells, cell = self._inputs.cells, self._inputs.cell_at(np.array([t]))
        self._rows = with_inputs(self._at_rows, cell, cells)
        knots = cells.knots[cells.signal[0]]
        after = knots[knots > t]
        return float(after[0]) if len(after) else np.inf

    def __call__(self, t: float, y: np.ndarray) -> np.ndarray:
        columns = y[:, None] if y.ndim == 1 else y
        derivatives = np.asarray(self._rows(np.full(columns.shape[1], t), columns.T)).T
        return derivatives[:, 0] if y.ndim == 1 else derivatives

    def _at_rows(self, t: Any, x: Any, u: Any) -> Any:
        return self._slope(t, x, np.broadcast_to(u, (len(x), u.shape[1])))


@final
@dataclass(frozen=True, eq=False)
class NumpyField:
    """A field for many rollouts, in NumPy.

    `cost` is the number of function values (sines, tanh) per rollout. The work is summed over all
    simulations with the same `owner`, such as the field of a fitted model.
    """

    slope: Slope | Switched
    cost: float = 20.0
    owner: Any = None


@final
@dataclass(frozen=True, eq=False)
class Task:
    """Rollouts that are integrated together, which are rows of a grid."""

    limits: Limits
    inputs: Inputs | None
    grid: Grid
    rows: Int[np.ndarray, " B"]

    def only(self, rows: Any) -> "Task":
        """Return the task for the selected rollouts."""
        inputs = None if self.inputs is None else self.inputs.only(rows)
        return Task(rows_of(self.limits, rows), inputs, self.grid, self.rows[rows])

    @property
    def first(self) -> Float[np.ndarray, " B"]:
        return self.grid.times[self.rows, 0]

    @property
    def max_steps(self) -> int:
        return MAX_STEPS + MAX_STEPS_PER_TIME * self.grid.times.shape[1]


def begin_rollouts(
    field: Slope | Switched,
    starts: Float[np.ndarray, "B n"],
    first: Float[np.ndarray, " B"],
    limits: Limits,
    inputs: Inputs | None,
) -> State:
    """Return the rollouts before their first step. Rollouts of zero duration are already
    completed.
    """
    cells, cell = None, np.zeros(len(starts), dtype=np.int64)
    if inputs is not None:
        cells, cell = inputs.cells, inputs.cell_at(first)
    with np.errstate(all="ignore"):
        if isinstance(field, Switched):
            slope = np.zeros_like(starts)  # evaluated again in each step
            mode, starts = initial_modes(field, starts, first, limits, cell, cells)
        else:
            slope = np.asarray(with_inputs(field, cell, cells)(first, starts))
            mode = np.zeros((len(starts), 0))
    next_size = FIRST_STEP * np.minimum(limits.last - first, 1.0)
    status = np.where(limits.last > first, RUNNING, COMPLETED)
    end = clipped(first, next_size, cell, limits, cells, np)
    end = np.where(status == RUNNING, end, first)
    return State(first, end, next_size, starts, slope, cell, status, mode)


def numpy_block(
    field: Slope | Switched,
    now: State,
    limits: Limits,
    inputs: Inputs | None,
    max_steps: int,
) -> tuple[State, Step]:
    """Take at most `max_steps` steps of all rollouts. Return the state and the steps."""
    steps = []
    cells, jumps = (None, False) if inputs is None else (inputs.cells, inputs.jumps)
    with np.errstate(all="ignore"):
        while len(steps) < max_steps and (now.status == RUNNING).any():
            now, step = take_step(field, now, limits, cells, jumps, np)
            steps.append(step)
    return now, Step(*(np.array(part) for part in zip(*steps, strict=True)))


def by_numpy(field: NumpyField, task: Task, now: State, price: float) -> tuple[State, float]:
    """Integrate in NumPy until the rollouts end or compilation would save more than `price`.

    Return the state of the rollouts, and the savings that compilation would have brought so far.
    The number of remaining steps is extrapolated. Stiff rollouts are finished by the implicit
    method, unless the field jumps.
    """
    missed, steps = 0.0, 0
    stages = _STAGES * (SWITCHING_COST if isinstance(field.slope, Switched) else 1)
    running = np.flatnonzero(now.status == RUNNING)
    while running.size:
        part, current = task.only(running), rows_of(now, running)
        saved = stages * (CALL_COST + running.size * (COMPILED_SAVING * field.cost - ROW_COST))
        if saved > 0 and missed >= price:
            break
        max_length = min(MAX_BLOCK_STEPS, _MAX_BLOCK_STATES // current.x.size)
        length = int(np.clip(price / 8 / max(saved, 1.0), 8, max(max_length, 8)))
        current, step = numpy_block(field.slope, current, part.limits, part.inputs, length)
        read_out(step, part.grid, part.rows)
        now = _with_rows(now, running, current)
        steps += len(step.t)
        missed += max(saved, 0.0) * len(step.t)
        is_running = current.status == RUNNING
        ahead = _steps_ahead(len(step.t), step.t[0], current.t, part.limits.last)
        if not isinstance(field.slope, Switched):
            stiff = is_running & is_held_by_stability(step, part.limits)
            if ahead[stiff].max(initial=0.0) > MAX_STIFF_STEPS * np.count_nonzero(stiff):
                now, is_running = (
                    _finish_rows(field.slope, task, now, running[stiff]),
                    is_running & ~stiff,
                )
        ahead = _steps_ahead(steps, part.first, current.t, part.limits.last)[is_running]
        if is_running.any() and saved > 0 and missed + saved * ahead.mean() > price:
            break
        if steps > task.max_steps:
            now.status[running[is_running]] = STALLED
        running = running[now.status[running] == RUNNING]
    return now, missed


def by_jax(field: Field, slope: Slope | Switched, task: Task, now: State) -> State:
    """Integrate to the end with compiled steps. Return the state of the rollouts.

    Stiff rollouts, and rollouts that run out of steps, are finished by the implicit method with
    `slope`, unless the field jumps.
    """
    running = np.flatnonzero(now.status == RUNNING)
    if not running.size:
        return now
    import_cleanly("jax")
    from ._compiled import SIZES, compiled_block

    abandoned, jumps = [running[:0]], isinstance(slope, Switched)
    for rows in np.split(running, np.arange(SIZES[-1], len(running), SIZES[-1])):
        steps, far, size = 0, np.inf, SIZES[-1]
        while rows.size:
            if far > MIN_STEPS_RECOMPILED:
                size = next(size for size in SIZES if size >= rows.size)
            part, current = task.only(rows), rows_of(now, rows)
            current, step = compiled_block(field, current, part.limits, part.inputs, size)
            read_out(step, part.grid, part.rows)
            now = _with_rows(now, rows, current)
            steps += len(step.t)
            ahead = _steps_ahead(len(step.t), step.t[0], current.t, part.limits.last)
            is_limited = is_held_by_stability(step, part.limits) & (not jumps)
            is_abandoned = (is_limited & (ahead > MAX_STIFF_STEPS_COMPILED)) | (
                steps > task.max_steps
            )
            is_running = current.status == RUNNING
            abandoned.append(rows[is_running & is_abandoned])
            rows, far = rows[is_running & ~is_abandoned], ahead[is_running].max(initial=0.0)
    stiff = np.concatenate(abandoned)
    if isinstance(slope, Switched):  # the implicit method cannot handle jumps
        now.status[stiff] = STALLED
        return now
    return _finish_rows(slope, task, now, stiff)


def _finish_rows(slope: Slope, task: Task, now: State, rows: Int[np.ndarray, " r"]) -> State:
    """Finish the rollouts `rows` by the implicit method. Return the state of all rollouts."""
    now = State(*(np.array(array) for array in now))
    for row in rows.tolist():
        rollout = task.only([row])
        grid_row = rollout.rows[0]
        now.t[row], now.x[row], now.status[row] = finish_implicitly(
            slope, float(now.t[row]), now.x[row], rollout.limits, rollout.inputs,
            task.grid.times[grid_row], task.grid.states[grid_row],
        )  # fmt: skip
    return now


def _steps_ahead(steps: int, start: Any, t: Any, last: Any) -> Float[np.ndarray, " B"]:
    """Return the number of remaining steps, extrapolated from the steps so far."""
    return steps * (last - t) / np.maximum(t - start, 1e-300)


def _with_rows(now: State, rows: Int[np.ndarray, " r"], part: State) -> State:
    """Return the rollouts with the rows `rows` replaced by `part`."""
    result = State(*(np.array(array) for array in now))
    for array, values in zip(result, part, strict=True):
        array[rows] = values
    return result


_BATCH_VALUES = 2**17  # function values of a batch that stay in the cache
_MAX_BATCH = 4096  # rollouts of a batch
_BATCH = 256  # rollouts of a compiled batch
_MESSAGES = {
    COMPLETED: "",
    DIVERGED: "The rollout left the range of finite states at t = {time:.6g}",
    STALLED: "The rollout ran out of steps at t = {time:.6g}",
    STUCK: "The rollout cannot continue at t = {time:.6g}: the field is undefined or jumps there",
}
# time that compilation could have saved so far, by owner
_missed_savings: "WeakKeyDictionary[Any, float]" = WeakKeyDictionary()


@final
class Status(enum.StrEnum):
    """The way in which a rollout ended."""

    completed = "completed"
    diverged = "diverged"
    stalled = "stalled"


@final
@dataclass(frozen=True, eq=False)
class Rollout:
    """A simulated trajectory, or a batch of them.

    `x` is (T, n), or (B, T, n) for a batch. Rows after the end of a failed rollout are NaN.
    `status`, `stopped_at` (a time, or None if completed), `stopped_state`, `message` and `left_at`
    are single values, or lists for a batch. `left_at` is the first requested time at which the
    state is outside the training data of a model with a gate, or None; `message` then begins with
    this time. `reliable_until` is the time after which a chaotic system cannot be predicted. It is
    None if that time is unknown or later than the last time.
    """

    times: np.ndarray
    x: np.ndarray
    status: Any
    stopped_at: Any
    stopped_state: Any
    message: Any
    left_at: Any = None
    reliable_until: Any = None

    def runs(self) -> list["Rollout"]:
        """Return the rollouts of a batch as a list."""
        times = np.broadcast_to(self.times, self.x.shape[:2])
        left_at, reliable_until = (
            [None] * len(self.x) if values is None else values
            for values in (self.left_at, self.reliable_until)
        )
        parts = (
            times, self.x, self.status, self.stopped_at, self.stopped_state, self.message, left_at,
            reliable_until,
        )  # fmt: skip
        return [Rollout(*part) for part in zip(*parts, strict=True)]

    @property
    def completed(self) -> Any:
        """Whether each rollout reached its last time."""
        if isinstance(self.status, list):
            return np.array([status is Status.completed for status in self.status])
        return self.status is Status.completed

    def raise_unless_completed(self) -> None:
        """Raise a `SimulationError` for the first failure, if any."""
        for run in self.runs() if isinstance(self.status, list) else [self]:
            if run.status is not Status.completed:
                raise SimulationError(run.message)


_STATUS = {COMPLETED: Status.completed, DIVERGED: Status.diverged}


def integrate(
    field: Field | None,
    starts: Float[np.ndarray, "B n"],
    times: Float[np.ndarray, "B T"],
    inputs: Inputs | None = None,
    *,
    in_numpy: NumpyField | None = None,
    bound: float | Float[np.ndarray, "B n"] = 1e12,
    rtol: float = 1e-8,
    atol: float | Float[np.ndarray, "B n"] = 1e-8,
) -> Rollout:
    """Integrate with adaptive steps in double precision, one trajectory per initial state.

    A failure is a status, never an exception. A state beyond `bound` has diverged. `field`
    evaluates one rollout in JAX; `in_numpy` evaluates the same field for many rollouts in NumPy.
    Either may be None.

    The explicit method (Tsitouras, orders 5 and 4) runs in NumPy until the extrapolated savings of
    compilation exceed its cost. From then on, JAX runs it as compiled code. Savings are summed over
    calls with the same owner of `in_numpy`, so that loops of short simulations are compiled too.
    Without JAX, NumPy is used throughout. If stability limits the steps and very many steps remain,
    an implicit method takes over.

    A field that jumps at sign changes of functions is an `AbstractSwitchedField`; `in_numpy` is
    then the same field as `Switched`. Steps end at sign changes. A rollout slides along a surface
    if the fields on both sides point towards the surface (Filippov's solution).
    """
    assert in_numpy is not None or not (field is None or isinstance(field, AbstractSwitchedField))
    starts, times = np.asarray(starts, float), np.asarray(times, float)
    slope, owner, width = _jax_slope(field), None, _MAX_BATCH
    if in_numpy is not None:
        slope, owner = in_numpy.slope, in_numpy.owner
        width = int(np.clip(_BATCH_VALUES / in_numpy.cost // _BATCH * _BATCH, _BATCH, _MAX_BATCH))
    limits = _limits(starts, times, bound, rtol, atol)
    states = np.full((*times.shape, starts.shape[1]), np.nan)
    grid = Grid(times, states)
    run, column = np.nonzero(times <= times[:, :1])
    states[run, column] = starts[run]
    missed = 0.0 if owner is None else _missed_savings.get(owner, 0.0)
    compiles = field is not None and find_spec("jax") is not None and has_memory_for_jax()
    results: list[State] = []
    with progress("Simulating", len(starts)) as show:
        for rows in np.split(np.arange(len(starts)), np.arange(width, len(starts), width)):
            show(rows[0], "")
            batch_inputs = None if inputs is None else inputs.only(rows)
            task = Task(rows_of(limits, rows), batch_inputs, grid, rows)
            now = begin_rollouts(slope, starts[rows], times[rows, 0], task.limits, batch_inputs)
            if in_numpy is not None:
                share = len(rows) / (len(starts) - rows[0])
                price = share * (COMPILATION - missed) if compiles else np.inf
                now, added = by_numpy(in_numpy, task, now, price)
                missed += added
            if field is not None and (now.status == RUNNING).any():
                now, missed = by_jax(field, slope, task, now), max(missed, COMPILATION)
            results.append(now)
    if owner is not None:
        _missed_savings[owner] = missed
    return _rollout(
        times, states, State(*(np.concatenate(part) for part in zip(*results, strict=True)))
    )


def _jax_slope(field: Field | None) -> Any:
    def slope(t: Any, x: Any, u: Any) -> np.ndarray:
        import_cleanly("jax")
        from ._compiled import evaluate

        return evaluate(field, t, x, u)

    return slope


def _limits(starts: Any, times: Any, bound: Any, rtol: float, atol: Any) -> Limits:
    first, last = times[:, 0], times[:, -1]
    min_step = np.maximum(
        MIN_STEP * (last - first), 4 * np.spacing(np.maximum(np.abs(first), np.abs(last)))
    )
    bound, atol = (
        np.broadcast_to(np.asarray(value, float), starts.shape) for value in (bound, atol)
    )
    return Limits(last, bound, atol, rtol, min_step)


def _rollout(times: np.ndarray, states: np.ndarray, end: State) -> Rollout:
    failed = end.status != COMPLETED
    return Rollout(
        times=times,
        x=states,
        status=[_STATUS.get(int(code), Status.stalled) for code in end.status],
        stopped_at=[float(t) if bad else None for t, bad in zip(end.t, failed, strict=True)],
        stopped_state=[x if bad else None for x, bad in zip(end.x, failed, strict=True)],
        message=[
            _MESSAGES[int(code)].format(time=time)
            for code, time in zip(end.status, end.t, strict=True)
        ],
    )
