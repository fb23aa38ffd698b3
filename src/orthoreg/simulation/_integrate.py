"""Vector field + starts + times -> states, for many starts in one compiled call."""

from collections.abc import Callable
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import register_pytrees
from .._progress import track
from ._rollout import Rollout, Status

_CHUNK = 256
_LEAST_POINTS = 128
_EXPLICIT_STEPS = 50_000
_IMPLICIT_STEPS = 20_000
_GROWN = 1e-4  # of the bound: beyond it a step that vanishes means divergence
_COMPLETED, _DIVERGED, _STALLED, _STUCK = 0, 1, 2, 3
_STATUS = {
    _COMPLETED: Status.completed,
    _DIVERGED: Status.diverged,
    _STALLED: Status.stalled,
    _STUCK: Status.stalled,
}
_MESSAGES = {
    _COMPLETED: "",
    _DIVERGED: "The rollout left the range of finite states at t = {time:.6g}",
    _STALLED: "The rollout ran out of steps at t = {time:.6g}",
    _STUCK: "The rollout cannot go on at t = {time:.6g}: the field is undefined or jumps there",
}

Field = Callable[[Any, Any, Any], Any]
"""(time, state, input) -> derivative, in JAX; an `equinox.Module` so that it is not recompiled."""


def integrate(
    field: Field,
    starts: Float[np.ndarray, "B n"],
    times: Float[np.ndarray, "B T"],
    inputs: Float[np.ndarray, "B T m"] | None = None,
    *,
    bound: float | Float[np.ndarray, "B n"] = 1e12,
    rtol: float = 1e-8,
    atol: float | Float[np.ndarray, "B n"] = 1e-8,
) -> Rollout:
    """Adaptive integration in double precision, one trajectory per start.

    An explicit method goes first; trajectories for which it runs out of steps are integrated
    again by an implicit one, so stiff fields work. A state beyond `bound` counts as diverged.
    Inputs are interpolated linearly between the given times. Never raises for a failure.
    """
    register_pytrees()
    # plain numbers in a field become arrays: another value is then no reason to compile again
    field = jax.tree.map(lambda leaf: np.asarray(leaf) if type(leaf) is float else leaf, field)
    with jax.enable_x64(True):
        limits = [
            np.broadcast_to(np.asarray(limit, float), starts.shape) for limit in (bound, atol)
        ]
        arguments: list[Any] = [
            np.asarray(starts, float), np.asarray(times, float), inputs, *limits
        ]  # fmt: skip
        chunks = [slice(first, first + _CHUNK) for first in range(0, len(starts), _CHUNK)]
        solved = [
            _solve(field, _rows(arguments, chunk), rtol, implicit=False)
            for chunk in track(chunks, "Simulating")
        ]
        states, status, stop_time, stop_state = (
            np.concatenate(part) for part in zip(*solved, strict=True)
        )
        again = np.flatnonzero(status == _STALLED)
        if again.size:
            second = _solve(field, _rows(arguments, again), rtol, implicit=True)
            further = (second[1] == _COMPLETED) | (second[2] > stop_time[again])
            for array, part in zip((states, status, stop_time, stop_state), second, strict=True):
                array[again[further]] = part[further]
    failed = status != _COMPLETED
    return Rollout(
        times=np.asarray(times),
        x=states,
        status=[_STATUS[int(code)] for code in status],
        stopped_at=[float(t) if bad else None for t, bad in zip(stop_time, failed, strict=True)],
        stopped_state=[x if bad else None for x, bad in zip(stop_state, failed, strict=True)],
        message=[
            _MESSAGES[int(code)].format(time=time)
            for code, time in zip(status, stop_time, strict=True)
        ],
    )


def _solve(field, arguments, rtol, *, implicit):
    """Writable NumPy arrays: states, status codes, last times, last states.

    Batches and times are padded to powers of two, and short times to one length, so that few
    shapes are ever compiled.
    """
    starts, times, inputs, bound, atol = arguments
    runs, points = times.shape
    rows = np.minimum(np.arange(_padded(runs)), runs - 1)
    columns = np.minimum(np.arange(max(_padded(points), _LEAST_POINTS)), points - 1)
    inputs = None if inputs is None else inputs[rows][:, columns]
    results = _compiled(
        field, starts[rows], times[rows][:, columns], inputs, bound[rows], atol[rows],
        np.asarray(rtol), implicit,
    )  # fmt: skip
    states, status, stop_time, stop_state = (np.array(part)[:runs] for part in results)
    states = states[:, :points].copy()
    still = times[:, -1] <= times[:, 0]  # nothing to integrate
    states[still] = starts[still, None]
    status[still] = _COMPLETED
    return states, status, stop_time, stop_state


def _rows(arguments: list[Any], rows: Any) -> list[Any]:
    return [None if part is None else part[rows] for part in arguments]


def _padded(size: int) -> int:
    return 1 << (size - 1).bit_length()


@eqx.filter_jit
def _compiled(field, starts, times, inputs, bound, atol, rtol, implicit):
    def one(start, ts, us, bound, atol):
        def slope(t, x, _):
            u = None if us is None else jax.vmap(lambda column: jnp.interp(t, ts, column))(us.T)
            return field(t, x, u)

        def escaped(t, x, args, **_):
            return jnp.any(~(jnp.abs(x) <= bound))

        span = ts[-1] - ts[0]
        controller = diffrax.PIDController(
            rtol=rtol, atol=atol, dtmin=1e-14 * span, force_dtmin=False
        )
        if us is not None:  # a step must not leap over a change of the inputs
            controller = diffrax.ClipStepSizeController(controller, step_ts=ts)
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(slope),
            diffrax.Kvaerno5() if implicit else diffrax.Tsit5(),
            t0=ts[0],
            t1=ts[-1],
            dt0=None,
            y0=start,
            saveat=diffrax.SaveAt(subs=[diffrax.SubSaveAt(ts=ts), diffrax.SubSaveAt(t1=True)]),
            stepsize_controller=controller,
            event=diffrax.Event(escaped),
            max_steps=(_IMPLICIT_STEPS if implicit else _EXPLICIT_STEPS) + 4 * len(ts),
            throw=False,
        )
        parts: Any = (solution.ts, solution.ys)
        (saved_times, last_time), (saved, last) = parts
        reached = jnp.isfinite(saved_times)[:, None] & jnp.all(jnp.isfinite(saved), 1)[:, None]
        done = solution.result == diffrax.RESULTS.successful
        out_of_steps = solution.result == diffrax.RESULTS.max_steps_reached
        growing = jnp.any(~(jnp.abs(last[0]) <= _GROWN * bound))
        failure = jnp.where(out_of_steps, _STALLED, jnp.where(growing, _DIVERGED, _STUCK))
        status = jnp.where(done, _COMPLETED, failure)
        return jnp.where(reached, saved, jnp.nan), status, last_time[0], last[0]

    axes = (0, 0, None if inputs is None else 0, 0, 0)
    return jax.vmap(one, in_axes=axes)(starts, times, inputs, bound, atol)
