"""The compiled training loop of Algorithm 1, for several models at once.

The learned parameters of a model are one flat vector, because loops over many small arrays are slow
on a CPU. Python runs only between stretches of epochs, to show progress, and to stop when all
models have stopped.
"""

import math
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, final

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree

from .._common.arrays import pytree
from .._common.progress import progress
from ..losses import Segments
from . import _limits as limits
from ._objective import PARTS, Objective, Parameters, Weights

RUNNING, EARLY = 0, 1
_CAUSES = 2  # first code of a non-finite value: parts of J, then gradient and validation
_ADAM = optax.scale_by_adam()


@final
@dataclass(frozen=True)
class Schedule:
    """Static settings of the compiled loop. A `batch` of 0 is the full batch."""

    batch: int
    unbiased: bool
    learns_hidden: bool
    learns_coefficients: bool


@pytree()
@final
@dataclass(frozen=True)
class Pace:
    """The number of epochs, and the first and last learning rate of a cosine schedule."""

    epochs: Any
    patience: Any
    first_rate: Any
    last_rate: Any


@pytree()
@final
@dataclass(frozen=True, eq=False)
class TrainingData:
    """Segments with scaled features at their points, for training and validation."""

    train: Segments
    theta: Any
    validation: Segments | None
    validation_theta: Any


@pytree()
@final
@dataclass(frozen=True, eq=False)
class State:
    """A model in training.

    `best` is the vector with the smallest `best_value` so far: the validation error, or J without
    validation.
    """

    flat: Any
    moments: Any
    best: Any
    best_value: Any
    best_epoch: Any
    code: Any
    stopped_at: Any
    history: Any
    validation: Any


@pytree(meta=["schedule", "structure"])
@final
@dataclass(frozen=True, eq=False)
class Loop:
    """Data and settings of training. `starts`, `weights` and `seeds` have one entry per model.

    `starts` are the leaves of the parameters, and `structure` is their tree.
    """

    objective: Objective
    data: TrainingData
    starts: list[Any]
    weights: Weights
    seeds: Any
    pace: Pace
    schedule: Schedule
    structure: Any

    @classmethod
    def of(
        cls,
        objective: Objective,
        data: TrainingData,
        starts: list[Parameters],
        weights: list[Weights],
        seeds: list[int],
        pace: Pace,
        schedule: Schedule,
    ) -> "Loop":
        """Return the loop in single precision."""
        return cls(
            jax.tree.map(_single, objective),
            jax.tree.map(_single, data),
            _stacked([jax.tree.leaves(start) for start in starts]),
            _stacked(weights),
            np.asarray(seeds, np.uint32),
            pace,
            schedule,
            jax.tree.structure(starts[0]),
        )

    def start(self, i: int) -> Parameters:
        """Return the initial parameters of a model."""
        return jax.tree.unflatten(self.structure, [leaf[i] for leaf in self.starts])

    def first_state(self) -> State:
        """Return the state before the first epoch."""
        models, epochs = len(self.seeds), self.pace.epochs + 1
        learned = [_learned(self.start(i), self.schedule) for i in range(models)]
        flat = np.stack(
            [
                np.concatenate([leaf.ravel() for leaf in jax.tree.leaves(arrays)])
                for arrays in learned
            ]
        )
        size = 2 ** max(11, math.ceil(math.log2(epochs)))  # compiled once for many lengths
        return State(
            flat=flat,
            moments=jax.tree.map(
                lambda part: np.zeros(part.shape, part.dtype),
                jax.eval_shape(jax.vmap(_ADAM.init), flat),
            ),
            best=flat,
            best_value=np.full(models, np.inf, np.float32),
            best_epoch=np.zeros(models, np.int32),
            code=np.full(models, RUNNING, np.int32),
            stopped_at=np.full(models, epochs, np.int32),
            history=np.zeros((models, size, len(PARTS)), np.float32),
            validation=np.zeros((models, size), np.float32),
        )

    def best(self, state: State) -> list[Parameters]:
        """Return the best parameters of each model."""
        result = []
        for i, flat in enumerate(state.best):
            start = self.start(i)
            leaves, tree = jax.tree.flatten(_learned(start, self.schedule))
            parts = np.split(flat, np.cumsum([leaf.size for leaf in leaves])[:-1])
            shaped = [part.reshape(leaf.shape) for part, leaf in zip(parts, leaves, strict=True)]
            result.append(_rebuilt(start, jax.tree.unflatten(tree, shaped), self.schedule))
        return result


def train(loop: Loop) -> State:
    """Return the state after the last epoch, with the best vectors and the history."""
    state, epochs = loop.first_state(), loop.pace.epochs + 1
    done, length = 0, 1
    with progress("Training the network", epochs) as show:
        while done < epochs and bool((np.asarray(state.code) == RUNNING).any()):
            last = min(done + length, epochs)
            started = time.perf_counter()
            state = jax.block_until_ready(stretch(state, loop, np.array([done, last], np.int32)))
            seconds = time.perf_counter() - started
            if done:  # the first stretch includes compilation
                length = max(
                    1, min(4 * length, int(length * limits.STRETCH_SECONDS / max(seconds, 1e-6)))
                )
            done = last
            show(done, _progress_text(state, done - 1))
    return jax.tree.map(np.asarray, state)


def _progress_text(state: State, epoch: int) -> str:
    """Return the parts of J of the first model, for the progress bar."""
    values = np.asarray(state.history[0, epoch])
    return ", ".join(
        f"{name} {value:.2g}" for name, value in zip(PARTS, values, strict=True) if value
    )


def _stacked(items: list[Any]) -> Any:
    return jax.tree.map(lambda *leaves: np.stack(leaves).astype(np.float32), *items)


def _single(array: np.ndarray) -> np.ndarray:
    return array if array.dtype == bool else np.asarray(array, np.float32)


def _learned(parameters: Parameters, schedule: Schedule) -> tuple[Any, ...]:
    """Return the arrays that training changes."""
    learned: tuple[Any, ...] = (parameters.weights,)
    if schedule.learns_coefficients:
        learned += (parameters.coefficients,)
    if schedule.learns_hidden:
        layers: Any = parameters.basis  # only tanh layers are trained
        learned += (layers.weights, layers.biases)
    return learned


def _rebuilt(parameters: Parameters, learned: tuple[Any, ...], schedule: Schedule) -> Parameters:
    """Return the parameters with the learned arrays inserted."""
    weights, *arrays = learned
    parameters = replace(parameters, weights=weights)
    if schedule.learns_coefficients:
        parameters = replace(parameters, coefficients=arrays.pop(0))
    if schedule.learns_hidden:
        layers: Any = parameters.basis
        basis = replace(layers, weights=arrays[0], biases=arrays[1])
        parameters = replace(parameters, basis=basis)
    return parameters


@jax.jit
def stretch(state: State, loop: Loop, bounds: Any) -> State:
    """Run the epochs from the first bound to the second, for every model."""

    def one_model(state: State, start: list[Any], weights: Weights, seed: Any) -> State:
        parameters = jax.tree.unflatten(loop.structure, start)
        model = _Model(parameters, weights.of_parts(), jax.random.key(seed), loop)
        return jax.lax.fori_loop(bounds[0], bounds[1], model.epoch, state)

    return jax.vmap(one_model)(state, loop.starts, loop.weights, loop.seeds)


@final
class _Model:
    """The epochs of one model, as code that JAX traces."""

    def __init__(self, start: Parameters, weights: Any, key: Any, loop: Loop):
        self.start, self.weights, self.key = start, weights, key
        self.objective, self.data = loop.objective, loop.data
        self.pace, self.schedule = loop.pace, loop.schedule
        _, self.unravel = ravel_pytree(_learned(start, self.schedule))
        self.psi = None
        if not self.schedule.learns_hidden:
            points = self.data.train.points
            self.psi = start.basis(points.reshape(-1, points.shape[-1]), jnp)

    def parameters(self, flat: Any) -> Parameters:
        return _rebuilt(self.start, self.unravel(flat), self.schedule)

    def feasible(self, flat: Any) -> Any:
        """Return the vector with coefficients that satisfy the constraints."""
        held = self.objective.held
        if held is None or not self.schedule.learns_coefficients:
            return flat
        weights, w, *hidden = self.unravel(flat)
        return ravel_pytree((weights, held.nearest(w, jnp), *hidden))[0]

    def total(self, flat: Any, *batch: Any) -> tuple[Any, Any]:
        """Return J and its weighted parts on a batch: segments, features, second batch, psi."""
        parts = self.objective.parts(self.parameters(flat), *batch)
        parts = jnp.where(self.weights > 0, self.weights * parts, 0.0)
        return jnp.sum(parts), parts

    def epoch(self, epoch: Any, state: State) -> State:
        """Evaluate the state, keep it if it is the best so far, and take the next steps."""
        everything = (self.data.train, self.data.theta, None, self.psi)
        if self.schedule.batch:
            total, parts = self.total(state.flat, *everything)
            gradient = jnp.zeros_like(state.flat)
        else:
            (total, parts), gradient = jax.value_and_grad(self.total, has_aux=True)(
                state.flat, *everything
            )
        running = state.code == RUNNING
        value = total
        if self.data.validation is not None:
            parameters = self.parameters(state.flat)
            value = self.objective.parts(
                parameters,
                self.data.validation,
                self.data.validation_theta,
                correction=self.objective.correction(
                    parameters, self.data.train, self.data.theta, self.psi
                ),
            )[0]
        bad = jnp.append(~jnp.isfinite(parts), ~jnp.isfinite(jnp.append(gradient.sum(), value)))
        code = jnp.where(bad.any(), _CAUSES + jnp.argmax(bad), RUNNING)
        better = running & (value < state.best_value) & (code == RUNNING)
        best_epoch = jnp.where(better, epoch, state.best_epoch)
        waited = epoch - best_epoch >= self.pace.patience
        code = jnp.where((code == RUNNING) & waited, EARLY, code)
        state = replace(
            state,
            best=jnp.where(better, state.flat, state.best),
            best_value=jnp.where(better, value, state.best_value),
            best_epoch=best_epoch,
            code=jnp.where(running, code, state.code).astype(jnp.int32),
            stopped_at=jnp.where(running & (code != RUNNING), epoch, state.stopped_at),
            history=state.history.at[epoch].set(jnp.where(running, parts, 0.0)),
            validation=state.validation.at[epoch].set(value),
        )
        pace = self.pace
        # unlike in optax.cosine_decay_schedule, the number of epochs is data: other numbers do not
        # cause another compilation
        height = (1 + jnp.cos(jnp.pi * epoch / pace.epochs)) / 2
        rate = pace.last_rate + (pace.first_rate - pace.last_rate) * height
        if self.schedule.batch:
            flat, moments = self.batches(epoch, state, rate)
        else:
            flat, moments = self.step(state.flat, state.moments, gradient, rate)
        go = (state.code == RUNNING) & (epoch < pace.epochs)
        return replace(
            state,
            flat=jnp.where(go, flat, state.flat),
            moments=jax.tree.map(partial(jnp.where, go), moments, state.moments),
        )

    def batches(self, epoch: Any, state: State, rate: Any) -> tuple[Any, Any]:
        """Take one pass over the data in full batches, in random order."""
        size, count = self.schedule.batch, len(self.data.train)
        order_key, second_key = jax.random.split(jax.random.fold_in(self.key, epoch))
        order = jax.random.permutation(order_key, count)[: count // size * size]

        def rows_of(values: Any, rows: Any) -> Any:
            """Return the values at the points of these segments."""
            return values.reshape(count, -1, values.shape[-1])[rows].reshape(-1, values.shape[-1])

        def chosen(rows: Any) -> tuple[Any, Any]:
            segments = jax.tree.map(lambda part: part[rows], self.data.train)
            return segments, rows_of(self.data.theta, rows)

        def step(carry: tuple[Any, Any], rows_and_key: tuple[Any, Any]) -> tuple[Any, None]:
            rows, key = rows_and_key
            second = None
            if self.schedule.unbiased:
                second_segments, features = chosen(jax.random.randint(key, (size,), 0, count))
                second = (
                    second_segments.points.reshape(-1, second_segments.points.shape[-1]),
                    features,
                )
            psi = None if self.psi is None else rows_of(self.psi, rows)
            gradient, _ = jax.grad(self.total, has_aux=True)(carry[0], *chosen(rows), second, psi)
            return self.step(*carry, gradient, rate), None

        rows = order.reshape(-1, size)
        keys = jax.random.split(second_key, len(rows))
        return jax.lax.scan(step, (state.flat, state.moments), (rows, keys))[0]

    def step(self, flat: Any, moments: Any, gradient: Any, rate: Any) -> tuple[Any, Any]:
        update, moments = _ADAM.update(gradient, moments)
        return self.feasible(flat - rate * update), moments


def ending(code: int, stopped_at: int) -> str:
    """Return why training ended early, or ''."""
    if code == RUNNING:
        return ""
    if code == EARLY:
        return f"stopped at epoch {stopped_at}: the validation error no longer improved"
    parts = [f"{part} part of the objective" for part in PARTS]
    cause = [*parts, "gradient", "validation error"][code - _CAUSES]
    return f"stopped at epoch {stopped_at}: the {cause} was no longer finite"
