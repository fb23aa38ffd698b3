"""What a benchmark system is, and how its splits are drawn."""

import abc
import enum
from typing import Any, final

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..data import Dataset
from ..simulation import integrate


@final
class Split(enum.StrEnum):
    """Which trajectories: each split has random streams of its own."""

    train = "train"
    validation = "validation"
    id = "id"
    ext = "ext"
    t2 = "t2"
    t3 = "t3"


RUNS = {Split.train: 1000, Split.validation: 100}
"""Runs in a split; 200 where nothing else is said."""

_STREAMS = {
    Split.train: 0, Split.validation: 1, Split.id: 2, Split.ext: 2, Split.t2: 3, Split.t3: 4
}  # fmt: skip
EXTENSION = 1.3


class AbstractSystem(eqx.Module):
    """A vector field with known truth and the paper's four ways of testing a model of it."""

    @property
    @abc.abstractmethod
    def state_names(self) -> tuple[str, ...]: ...

    @property
    @abc.abstractmethod
    def true_support(self) -> dict[str, tuple[str, ...]]:
        """For each state, the library terms of its equation."""

    @property
    @abc.abstractmethod
    def true_equations(self) -> list[str]:
        """The truth in the form in which models print themselves."""

    @abc.abstractmethod
    def times(self) -> Float[np.ndarray, " T"]:
        """The times of a training run."""

    @abc.abstractmethod
    def starts(
        self, split: Split, count: int, rng: np.random.Generator
    ) -> Float[np.ndarray, "B n"]:
        """Initial states of a split."""

    @abc.abstractmethod
    def shifted(self) -> "AbstractSystem":
        """The system with the parameters of split T3."""

    @abc.abstractmethod
    def slope(self, t: Any, x: Any, xp: Any) -> Any:
        """dx/dt in the arithmetic of `xp`; states lie along the last axis."""

    def __call__(self, t: Any, x: Any, u: Any = None) -> Any:
        """dx/dt, traced by JAX."""
        return self.slope(t, x, jnp)


def generate(
    system: AbstractSystem,
    split: Split | str,
    *,
    runs: int | None = None,
    seed: int = 0,
    noise: float = 0.0,
) -> Dataset:
    """The runs of a split. `ext` continues those of `id` beyond their last time.

    `noise` is the standard deviation of Gaussian noise on every state.
    """
    split = Split(split)
    count = RUNS.get(split, 200) if runs is None else runs
    rng = np.random.default_rng([seed, _STREAMS[split]])
    starts = system.starts(split, count, rng)
    times = system.times()
    if split is Split.ext:
        step = times[1] - times[0]
        last = int(round(EXTENSION * (len(times) - 1)))
        grid = times[0] + step * np.arange(last + 1)
        keep = np.concatenate([[0], np.arange(len(times), last + 1)])
    else:
        grid, keep = times, np.arange(len(times))
    field = system.shifted() if split is Split.t3 else system
    rollout = integrate(field, starts, np.tile(grid[keep], (count, 1)), rtol=1e-10, atol=1e-10)
    rollout.raise_unless_completed()
    first = 1 if split is Split.ext else 0
    states = rollout.x[:, first:]
    noise_rng = np.random.default_rng([seed, list(Split).index(split), 1])
    states = states + noise * noise_rng.standard_normal(states.shape)
    return Dataset.from_arrays(states, grid[keep][first:], names=system.state_names)


def true_derivatives(system: AbstractSystem, split: Split | str, data: Dataset) -> np.ndarray:
    """The true vector field of a split at the rows of `data`."""
    field = system.shifted() if Split(split) is Split.t3 else system
    return field.slope(data.times, data.states, np)
