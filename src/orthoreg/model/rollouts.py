"""Simulations of a fitted field, with messages that state the cause of each failure."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from .._common.errors import InputError
from .._common.notation import left_side
from ..field.hybrid import HybridField, SwitchedField, switched
from ..simulation import Inputs, NumpyField, Rollout, in_numpy, integrate, iterate
from . import _limits as limits


def rollouts(
    field: HybridField,
    state_range: Float[np.ndarray, "2 n"],
    names: tuple[str, ...],
    equations: tuple[str, ...],
    starts: Float[np.ndarray, "B n"],
    times: Float[np.ndarray, "B T"],
    inputs: Inputs | None,
    rtol: float,
    step: float | None = None,
) -> Rollout:
    """Simulate a batch of rollouts. A state beyond `DIVERGENCE` times its size in training has
    diverged. `equations` are the names of the equations. With a `step`, the field is a map."""
    if not (isinstance(rtol, float) and 0 < rtol < 1):
        raise InputError(f"rtol must be a number between 0 and 1; got {rtol!r}.")
    size = np.abs(state_range).max(axis=0)
    reach = np.maximum(np.where(size > 0, size, 1.0), np.abs(starts))
    used = field.without_idle_basis().without_idle_terms()
    bound = limits.DIVERGENCE * reach
    if step is not None:
        rollout = iterate(used.values, starts, times, step, inputs, bound=bound)
    else:
        jumping = switched(used)
        rollout = integrate(
            used if jumping is None else jumping,
            starts,
            times,
            inputs,
            in_numpy=_in_numpy(used, jumping, owner=field),
            bound=bound,
            rtol=rtol,
            atol=rtol * reach,
        )
    left_at = _first_outside(field, rollout, inputs)
    messages = list(rollout.message)
    for i, time in enumerate(rollout.stopped_at):
        if time is not None:
            z = _ends(rollout, inputs, [i])[0]
            messages[i] = _cause(field, messages[i], z, names, equations, np.maximum(size, 1e-300))
        if left_at[i] is not None:
            messages[i] = (
                f"The rollout left the training data at t = {left_at[i]:.6g}; from then on, it is "
                f"extrapolation. {messages[i]}"
            ).strip()
    return replace(rollout, message=messages, left_at=left_at)


def _in_numpy(field: HybridField, jumping: SwitchedField | None, owner: HybridField) -> NumpyField:
    """Return the field for many rollouts at once, with the cost of one row."""

    def slope(t: Any, x: Any, u: Any) -> np.ndarray:
        return field.values(x if u is None else np.hstack([x, u]))

    region = 0 if field.region is None else limits.DISTANCE_COST
    cost = len(field.features.terms) + field.basis.size + region
    many = slope if jumping is None else in_numpy(jumping)
    return NumpyField(many, float(max(cost, 1)), owner)


def _ends(rollout: Rollout, inputs: Inputs | None, rows: list[int]) -> Float[np.ndarray, "r V"]:
    """Return the states and inputs at which these failed rollouts ended."""
    states = np.stack([rollout.stopped_state[i] for i in rows])
    if inputs is None:
        return states
    times = np.array([[rollout.stopped_at[i]] for i in rows])
    return np.hstack([states, inputs.only(rows).at(times)[:, 0]])


def _first_outside(
    field: HybridField, rollout: Rollout, inputs: Inputs | None
) -> list[float | None]:
    """Return the first time at which each rollout is outside the field's region, ignoring NaN."""
    if field.region is None:
        return [None] * len(rollout.x)
    count, points, n = rollout.x.shape
    z = rollout.x if inputs is None else np.dstack([rollout.x, inputs.at(rollout.times)])
    distance = field.region.distance(z.reshape(count * points, -1)).reshape(count, points)
    times = np.where(distance > 1, rollout.times, np.inf).min(axis=1)
    failed = [i for i, time in enumerate(rollout.stopped_at) if time is not None]
    if failed:
        gone = field.region.distance(_ends(rollout, inputs, failed)) > 1
        last = np.array([rollout.stopped_at[i] for i in failed])
        times[failed] = np.minimum(times[failed], np.where(gone, last, np.inf))
    return [float(time) if math.isfinite(time) else None for time in times]


def _cause(
    field: HybridField,
    message: str,
    z: Float[np.ndarray, " V"],
    names: tuple[str, ...],
    equations: tuple[str, ...],
    size: Float[np.ndarray, " n"],
) -> str:
    """Return the message, extended by the final state and the largest term there, relative to the
    size of each state."""
    parts = [
        (name, equation, abs(value) / size[equation] if math.isfinite(value) else math.inf)
        for name, equation, value in field.contributions(z)
    ]
    where = ", ".join(f"{name} = {value:.3g}" for name, value in zip(names, z, strict=False))
    dominant = ""
    if parts:
        name, equation, _ = max(parts, key=lambda part: part[2])
        dominant = f"; the term {name} in {left_side(equations[equation])} dominates there"
    return (
        f"{message} ({where}){dominant}. Start closer to the training data, choose a shorter "
        f"horizon, or use fewer terms."
    )
