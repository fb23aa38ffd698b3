"""Vector field + starts + times + inputs -> states, for many starts at once: a `Rollout`."""

import enum
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, final
from weakref import WeakKeyDictionary

import numpy as np
from jaxtyping import Float

from .._common.errors import SimulationError
from .._common.progress import progress
from ._inputs import Inputs
from ._routes import Field, NumpyField, Task, by_jax, by_numpy
from ._stepping import Grid, begin
from ._switching import AbstractSwitchedField
from ._tsit5 import COMPLETED, DIVERGED, LEAST, RUNNING, STALLED, STUCK, Limits, Now, rows_of

COMPILATION = 1.4e8
"""What it costs to load JAX and to compile: about four seconds, in which NumPy computes so many
values of functions (sines, tanh)."""
_WIDE, _WIDEST = 2**17, 4096  # values of functions, and rollouts, that are computed side by side
_BATCH = 256  # rollouts that are compiled side by side
_MESSAGES = {
    COMPLETED: "",
    DIVERGED: "The rollout left the range of finite states at t = {time:.6g}",
    STALLED: "The rollout ran out of steps at t = {time:.6g}",
    STUCK: "The rollout cannot go on at t = {time:.6g}: the field is undefined or jumps there",
}
# a cache, as is that of what JAX compiled: what compiling would have saved each owner so far
_missed: "WeakKeyDictionary[Any, float]" = WeakKeyDictionary()


@final
class Status(enum.StrEnum):
    """How a rollout ended."""

    completed = "completed"
    diverged = "diverged"
    stalled = "stalled"


@final
@dataclass(frozen=True, eq=False)
class Rollout:
    """A simulated trajectory, or a batch of them.

    `x` is (T, n), or (B, T, n) for a batch; rows after the end of a failed rollout are NaN.
    `status`, `stopped_at` (a time, None when completed), `stopped_state`, `message` and `left_at`
    are single values, or lists for a batch. `left_at` is the first of the times at which the
    state is outside the training data of a model with a gate; None if it never is. `message`
    then begins with it.
    """

    times: np.ndarray
    x: np.ndarray
    status: Any
    stopped_at: Any
    stopped_state: Any
    message: Any
    left_at: Any = None

    def runs(self) -> list["Rollout"]:
        """The rollouts of a batch, one by one."""
        times = np.broadcast_to(self.times, self.x.shape[:2])
        left_at = [None] * len(self.x) if self.left_at is None else self.left_at
        parts = (
            times, self.x, self.status, self.stopped_at, self.stopped_state, self.message, left_at,
        )  # fmt: skip
        return [Rollout(*part) for part in zip(*parts, strict=True)]

    @property
    def completed(self) -> Any:
        """Whether each rollout reached its last time."""
        if isinstance(self.status, list):
            return np.array([status is Status.completed for status in self.status])
        return self.status is Status.completed

    def raise_unless_completed(self) -> None:
        """Raises the first failure as a `SimulationError`."""
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
    """Adaptive integration in double precision, one trajectory per start. Never raises for a
    failure; a state beyond `bound` counts as diverged.

    `field` is for one rollout in JAX, `in_numpy` the same for many in NumPy; one may be missing.
    One explicit method (Tsitouras, orders 5 and 4) goes all the way: in NumPy until the time that
    compiling would save, projected from how far the steps so far have come, exceeds what it
    costs; from there on compiled by JAX. Savings add up over calls with the same owner of
    `in_numpy`, so that a loop of short simulations is compiled in the end, and what was compiled
    once is used from then on. Without JAX, NumPy goes all the way. Where stability and not
    accuracy keeps the steps short, with very many still to go, an implicit method takes over.

    A field that jumps where functions change their signs is an `AbstractSwitchedField`, and
    `in_numpy` then holds the same as `Switched`. Each step ends where a sign changes, and a rollout
    slides along the surface where the fields at both sides push onto it (Filippov's solution).
    """
    assert in_numpy is not None or not (field is None or isinstance(field, AbstractSwitchedField))
    starts, times = np.asarray(starts, float), np.asarray(times, float)
    slope, owner, width = _jax_slope(field), None, _WIDEST
    if in_numpy is not None:
        slope, owner = in_numpy.slope, in_numpy.owner
        width = int(np.clip(_WIDE / in_numpy.cost // _BATCH * _BATCH, _BATCH, _WIDEST))
    limits = _limits(starts, times, bound, rtol, atol)
    states = np.full((*times.shape, starts.shape[1]), np.nan)
    grid = Grid(times, states)
    run, column = np.nonzero(times <= times[:, :1])
    states[run, column] = starts[run]
    missed = 0.0 if owner is None else _missed.get(owner, 0.0)
    compiles = field is not None and find_spec("jax") is not None
    ends: list[Now] = []
    with progress("Simulating", len(starts)) as show:
        for rows in np.split(np.arange(len(starts)), np.arange(width, len(starts), width)):
            show(rows[0], "")
            own = None if inputs is None else inputs.only(rows)
            task = Task(rows_of(limits, rows), own, grid, rows)
            now = begin(slope, starts[rows], times[rows, 0], task.limits, own)
            if in_numpy is not None:
                share = len(rows) / (len(starts) - rows[0])
                price = share * (COMPILATION - missed) if compiles else np.inf
                now, more = by_numpy(in_numpy, task, now, price)
                missed += more
            if field is not None and (now.status == RUNNING).any():
                now, missed = by_jax(field, slope, task, now), max(missed, COMPILATION)
            ends.append(now)
    if owner is not None:
        _missed[owner] = missed
    return _rollout(times, states, Now(*(np.concatenate(part) for part in zip(*ends, strict=True))))


def _jax_slope(field: Field | None) -> Any:
    def slope(t: Any, x: Any, u: Any) -> np.ndarray:
        from ._compiled import evaluate

        return evaluate(field, t, x, u)

    return slope


def _limits(starts: Any, times: Any, bound: Any, rtol: float, atol: Any) -> Limits:
    first, last = times[:, 0], times[:, -1]
    least = np.maximum(
        LEAST * (last - first), 4 * np.spacing(np.maximum(np.abs(first), np.abs(last)))
    )
    bound, atol = (np.broadcast_to(np.asarray(one, float), starts.shape) for one in (bound, atol))
    return Limits(last, bound, atol, rtol, least)


def _rollout(times: np.ndarray, states: np.ndarray, end: Now) -> Rollout:
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
