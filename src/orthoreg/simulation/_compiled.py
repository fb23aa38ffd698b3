"""Blocks of steps for long simulations, compiled by JAX, with the same method as in NumPy."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._common.arrays import register_pytrees
from ._inputs import Inputs
from ._switching import AbstractSwitchedField, Switched, take_step
from ._tsit5 import RUNNING, Cells, Limits, Slope, State, Step

SIZES = (1, 16, 256)
"""Sizes of compiled batches. Other batches are padded to the next size."""
_STEPS = {1: 4096, 16: 1024, 256: 128}
"""Number of steps in a block. With this many, the overhead is negligible."""


def compiled_block(
    field: Any, now: State, limits: Limits, inputs: Inputs | None, size: int
) -> tuple[State, Step]:
    """Return the state of at most `size` rollouts after a block of steps, and the steps.

    `size` is one of `SIZES`. Other numbers of rollouts, times or rows of inputs do not cause
    another compilation.
    """
    count = len(now.t)
    rows = np.minimum(np.arange(size), count - 1)
    now = State(*(part[rows] for part in now))
    limits = Limits(*(part[rows] if np.ndim(part) else np.asarray(part) for part in limits))
    cells, first = None, np.zeros(size, dtype=np.int64)
    jumps = False
    if inputs is not None:
        cells, first = _window(inputs.only(rows).cells, now.cell, _STEPS[size])
        now, jumps = now._replace(cell=now.cell - first), inputs.jumps
    arrays, static = split_field(field)
    with jax.enable_x64(True):
        after, step = _block(arrays, static, now, limits, cells, jumps, _STEPS[size])
    after = State(*(np.array(part)[:count] for part in after))
    taken, *parts = (np.asarray(part) for part in step)
    t, end, length, x, accepted = (part[:taken, :count] for part in parts[:5])
    slopes = parts[5][:taken, :, :count]
    return after._replace(cell=after.cell + first[:count]), Step(
        t, end, length, x, slopes, accepted
    )


def evaluate(field: Any, t: Any, x: Any, u: Any) -> np.ndarray:
    """Return the values of a field for many rollouts as NumPy arrays.

    JAX traces the field for a single rollout.
    """
    arrays, static = split_field(field)
    with jax.enable_x64(True):
        return np.asarray(_values(arrays, static, t, x, u))


def _window(cells: Cells, cell: np.ndarray, width: int) -> tuple[Cells, np.ndarray]:
    """Return the next cells of each rollout's inputs, and the index of the first of these cells."""
    first = np.minimum(cell, cells.knots.shape[1] - 2)
    columns = np.minimum(first[:, None] + np.arange(width + 2), cells.knots.shape[1] - 1)
    signal = cells.signal[:, None]
    knots = cells.knots[signal, columns]
    pieces = cells.coefficients[signal, np.minimum(columns[:, :-1], cells.knots.shape[1] - 2)]
    return Cells(knots, pieces, np.arange(len(cell))), first


def split_field(field: Any) -> tuple[Any, Any]:
    """Return the numeric leaves of a field, which JAX traces, and its static parts."""
    register_pytrees()
    leaves, structure = jax.tree.flatten(field)
    is_number = [isinstance(leaf, float | np.ndarray | jax.Array) for leaf in leaves]
    arrays = tuple(np.asarray(leaf) for leaf, yes in zip(leaves, is_number, strict=True) if yes)
    others = tuple(None if yes else leaf for leaf, yes in zip(leaves, is_number, strict=True))
    return arrays, (structure, tuple(is_number), others)


def join_field(arrays: Any, static: Any) -> Any:
    structure, is_number, others = static
    numbers = iter(arrays)
    return jax.tree.unflatten(
        structure,
        [next(numbers) if yes else leaf for yes, leaf in zip(is_number, others, strict=True)],
    )


def _batched(arrays: Any, static: Any) -> Slope | Switched:
    field = join_field(arrays, static)
    if isinstance(field, AbstractSwitchedField):
        return Switched(
            lambda t, x, u, signs: jax.vmap(
                lambda t, x, u, signs: field.slope(t, x, u, signs, jnp),
                (0, 0, None if u is None else 0, 0),
            )(t, x, u, signs),
            lambda x, u: jax.vmap(
                lambda x, u: field.surfaces(x, u, jnp), (0, None if u is None else 0)
            )(x, u),
        )
    return lambda t, x, u: jax.vmap(field, (0, 0, None if u is None else 0))(t, x, u)


@partial(jax.jit, static_argnums=1)
def _values(arrays, static, t, x, u):
    return jax.vmap(join_field(arrays, static), (0, 0, None if u is None else 0))(t, x, u)


@partial(jax.jit, static_argnums=(1, 5, 6))
def _block(arrays, static, now, limits, cells, jumps, max_steps):
    field = _batched(arrays, static)
    count, n = now.x.shape
    space = (
        *(jnp.zeros((max_steps, count)) for _ in range(3)), jnp.zeros((max_steps, count, n)),
        jnp.zeros((max_steps, count), bool), jnp.zeros((max_steps, 7, count, n)),
    )  # fmt: skip

    def should_continue(carry):
        taken, now, _ = carry
        runs = now.status == RUNNING
        has_room = taken < max_steps
        if cells is not None:  # stop before a rollout leaves its window
            has_room &= jnp.all(~runs | (now.cell < cells.knots.shape[1] - 2))
        return has_room & jnp.any(runs)

    def body(carry):
        taken, now, space = carry
        now, step = take_step(field, now, limits, cells, jumps, jnp)
        slopes = jnp.stack(step.slopes) if isinstance(step.slopes, list) else step.slopes
        parts = (step.t, step.end, step.size, step.x, step.accepted, slopes)
        space = tuple(array.at[taken].set(part) for array, part in zip(space, parts, strict=True))
        return taken + 1, now, space

    taken, now, space = jax.lax.while_loop(should_continue, body, (0, now, space))
    return now, (taken, *space)
