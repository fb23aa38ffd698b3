"""Simulations of a fitted field, with the cause of each failure in words."""

import math
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from ._errors import InputError
from ._field import HybridField
from .simulation import Rollout

_ESCAPE = 1e6


def rollouts(
    field: HybridField,
    state_range: Float[np.ndarray, "2 n"],
    names: tuple[str, ...],
    starts: Float[np.ndarray, "B n"],
    times: Float[np.ndarray, "B T"],
    inputs: Float[np.ndarray, "B T m"] | None,
    rtol: float,
) -> Rollout:
    """A batch of rollouts; a state a million times its size in training has diverged."""
    from .simulation import integrate

    if not (isinstance(rtol, float) and 0 < rtol < 1):
        raise InputError(f"rtol must be a number between 0 and 1; got {rtol!r}.")
    size = np.abs(state_range).max(axis=0)
    reach = np.maximum(np.where(size > 0, size, 1.0), np.abs(starts))
    rollout = integrate(
        field.without_idle_basis(),
        starts,
        times,
        inputs,
        bound=_ESCAPE * reach,
        rtol=rtol,
        atol=rtol * reach,
    )
    messages, left_at = list(rollout.message), []
    for i, (message, time, state) in enumerate(
        zip(rollout.message, rollout.stopped_at, rollout.stopped_state, strict=True)
    ):
        ts, z = times[i], _with_inputs(rollout.x[i], inputs, i)
        if message:
            ends = [] if inputs is None else [np.interp(time, ts, u) for u in inputs[i].T]
            messages[i] = _cause(
                field, message, np.append(state, ends), names, np.maximum(size, 1e-300)
            )
            ts, z = np.append(ts, time), np.vstack([z, np.append(state, ends)])
        left_at.append(_first_outside(field, ts, z))
        if left_at[i] is not None:
            messages[i] = (
                f"{messages[i]} The rollout left the training data at t = {left_at[i]:.6g}; from "
                f"there on it is extrapolation."
            ).strip()
    return replace(rollout, message=messages, left_at=left_at)


def _with_inputs(
    states: Float[np.ndarray, "T n"], inputs: Float[np.ndarray, "B T m"] | None, run: int
) -> Float[np.ndarray, "T V"]:
    return states if inputs is None else np.hstack([states, inputs[run]])


def _first_outside(
    field: HybridField, times: Float[np.ndarray, " T"], z: Float[np.ndarray, "T V"]
) -> float | None:
    """The first time at which the state is outside the field's region; NaN states do not count."""
    if field.region is None:
        return None
    outside = field.region.distance(z) > 1
    return float(times[outside].min()) if outside.any() else None


def _cause(
    field: HybridField,
    message: str,
    z: Float[np.ndarray, " V"],
    names: tuple[str, ...],
    size: Float[np.ndarray, " n"],
) -> str:
    """The message with the state in which a rollout ended and the largest term there.

    Terms are compared relative to the size of each state, so that units do not decide.
    """
    parts = [
        (name, equation, abs(value) / size[equation] if math.isfinite(value) else math.inf)
        for name, equation, value in field.contributions(z)
    ]
    where = ", ".join(f"{name} = {value:.3g}" for name, value in zip(names, z, strict=False))
    dominant = ""
    if parts:
        name, equation, _ = max(parts, key=lambda part: part[2])
        dominant = f"; the term {name} in {names[equation]}' dominates there"
    return (
        f"{message} ({where}){dominant}. Start nearer to the training data, choose a shorter "
        f"horizon, or use fewer terms."
    )
