"""Vector field + starts + times -> states, for many starts in one compiled call."""

from collections.abc import Callable
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ._rollout import Rollout, Status

_EXPLICIT_STEPS = 20_000
_IMPLICIT_STEPS = 20_000
_COMPLETED, _DIVERGED, _STALLED = 0, 1, 2
_STATUS = {_COMPLETED: Status.completed, _DIVERGED: Status.diverged, _STALLED: Status.stalled}

Field = Callable[[Any, Any, Any], Any]
"""(time, state, input) -> derivative, in JAX; an `equinox.Module` so that it is not recompiled."""


def integrate(
    field: Field,
    starts: Float[np.ndarray, "B n"],
    times: Float[np.ndarray, "B T"],
    inputs: Float[np.ndarray, "B T m"] | None = None,
    *,
    bound: float | Float[np.ndarray, " n"] = 1e12,
    rtol: float = 1e-8,
    atol: float | Float[np.ndarray, " n"] = 1e-8,
) -> Rollout:
    """Adaptive integration in double precision, one trajectory per start.

    An explicit method goes first; trajectories for which it runs out of steps are integrated
    again by an implicit one, so stiff fields work. A state beyond `bound` counts as diverged.
    Inputs are interpolated linearly between the given times. Never raises for a failure.
    """
    with jax.enable_x64(True):
        arguments = [np.asarray(starts, float), np.asarray(times, float), inputs]
        limits = [
            np.broadcast_to(np.asarray(limit, float), (starts.shape[1],))
            for limit in (bound, atol)
        ]
        states, status, stop_time, stop_state = _solve(
            field, *arguments, *limits, rtol, implicit=False
        )
        again = np.flatnonzero(status == _STALLED)
        if again.size:
            chosen = [None if part is None else part[again] for part in arguments]
            second = _solve(field, *chosen, *limits, rtol, implicit=True)
            for array, part in zip(
                (states, status, stop_time, stop_state), second, strict=True
            ):
                array[again] = part
    failed = status != _COMPLETED
    return Rollout(
        times=np.asarray(times),
        x=states,
        status=[_STATUS[int(code)] for code in status],
        stopped_at=[float(t) if bad else None for t, bad in zip(stop_time, failed, strict=True)],
        stopped_state=[x if bad else None for x, bad in zip(stop_state, failed, strict=True)],
        message=["" for _ in status],
    )


def _solve(field, starts, times, inputs, bound, atol, rtol, *, implicit):
    """Writable NumPy arrays: states, status codes, last times, last states."""
    stops = times[:, -1] <= times[:, 0]
    results = _compiled(field, starts, times, inputs, bound, atol, rtol, implicit)
    states, status, stop_time, stop_state = (np.array(part) for part in results)
    states[stops] = starts[stops, None]
    status[stops] = _COMPLETED
    return states, status, stop_time, stop_state


@eqx.filter_jit
def _compiled(field, starts, times, inputs, bound, atol, rtol, implicit):
    def one(start, ts, us):
        def slope(t, x, _):
            u = None if us is None else jax.vmap(lambda column: jnp.interp(t, ts, column))(us.T)
            return field(t, x, u)

        def escaped(t, x, args, **_):
            return jnp.any(~(jnp.abs(x) <= bound))

        span = ts[-1] - ts[0]
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(slope),
            diffrax.Kvaerno5() if implicit else diffrax.Tsit5(),
            t0=ts[0],
            t1=ts[-1],
            dt0=None,
            y0=start,
            saveat=diffrax.SaveAt(
                subs=[diffrax.SubSaveAt(ts=ts), diffrax.SubSaveAt(t1=True)]
            ),
            stepsize_controller=diffrax.PIDController(
                rtol=rtol, atol=atol, dtmin=1e-14 * span, force_dtmin=False
            ),
            event=diffrax.Event(escaped),
            max_steps=_IMPLICIT_STEPS if implicit else _EXPLICIT_STEPS,
            throw=False,
        )
        (saved_times, last_time), (saved, last) = solution.ts, solution.ys
        reached = jnp.isfinite(saved_times)[:, None] & jnp.all(jnp.isfinite(saved), 1)[:, None]
        done = solution.result == diffrax.RESULTS.successful
        out_of_steps = solution.result == diffrax.RESULTS.max_steps_reached
        status = jnp.where(done, _COMPLETED, jnp.where(out_of_steps, _STALLED, _DIVERGED))
        return jnp.where(reached, saved, jnp.nan), status, last_time[0], last[0]

    return jax.vmap(one, in_axes=(0, 0, None if inputs is None else 0))(starts, times, inputs)
