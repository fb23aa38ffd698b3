"""Interface of benchmark systems, and generation of the runs of their splits."""

import abc
import enum
import math
from copy import copy
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias, TypeVar, final

import numpy as np
from jaxtyping import Float

from .._common.arrays import namespace, pytree
from .._common.errors import InputError, quoted, suggestion
from ..data import Dataset

Parameter: TypeAlias = float | Float[np.ndarray, " B"]
"""A single number, or an array with one number per run."""


@final
class Split(enum.StrEnum):
    """Sets of trajectories, each with its own random streams."""

    train = "train"
    validation = "validation"
    id = "id"
    ext = "ext"
    t2 = "t2"
    t3 = "t3"


@final
class Sampling(enum.StrEnum):
    """Times of a run: the grid of the system, or random steps up to its last time."""

    regular = "regular"
    irregular = "irregular"


RUNS = {Split.train: 1000, Split.validation: 100}
"""Number of runs of a split, 200 by default."""

_STREAMS = {
    Split.train: 0, Split.validation: 1, Split.id: 2, Split.ext: 2, Split.t2: 3, Split.t3: 4
}  # fmt: skip
_NOISE, _TIMES, _PARAMETERS = 1, 2, 3  # random streams in addition to that of the initial states
EXTENSION = 1.3
STEPS = (0.01, 0.05)
"""The shortest and the longest step of irregular sampling."""


@dataclass(frozen=True)
class AbstractSystem(abc.ABC):
    """A vector field with known equations, and the paper's four test splits."""

    @property
    @abc.abstractmethod
    def state_names(self) -> tuple[str, ...]: ...

    @property
    @abc.abstractmethod
    def true_coefficients(self) -> dict[str, dict[str, float]]:
        """The coefficients of the library terms in each equation."""

    @property
    @abc.abstractmethod
    def true_equations(self) -> list[str]:
        """The true equations in the format of printed models."""

    @abc.abstractmethod
    def times(self) -> Float[np.ndarray, " T"]:
        """Return the times of a training run."""

    @abc.abstractmethod
    def starts(
        self, split: Split, count: int, rng: np.random.Generator
    ) -> Float[np.ndarray, "B n"]:
        """Return initial states of a split."""

    @abc.abstractmethod
    def shifted(self, count: int, rng: np.random.Generator) -> "AbstractSystem":
        """Return the system with the parameters of split T3, either common to all runs or one per
        run.
        """

    @abc.abstractmethod
    def within_library(self) -> "AbstractSystem":
        """Return the system without the terms that the paper's library lacks."""

    @abc.abstractmethod
    def slope(self, t: Any, x: Any, xp: Any) -> Any:
        """Return dx/dt, computed by `xp`, with states along the last axis."""

    def __call__(self, t: Any, x: Any, u: Any = None) -> Any:
        """Return dx/dt for NumPy or JAX arrays."""
        return self.slope(t, x, namespace(x))

    @property
    def true_support(self) -> dict[str, tuple[str, ...]]:
        """The library terms in each equation."""
        return {state: tuple(terms) for state, terms in self.true_coefficients.items()}


def generate(
    system: AbstractSystem,
    split: Split | str,
    *,
    runs: int | None = None,
    seed: int = 0,
    noise: float = 0.0,
    sampling: Sampling | str = Sampling.regular,
) -> Dataset:
    """Return the runs of a split. `ext` continues the runs of `id` beyond their last time.

    `noise` is the standard deviation of Gaussian noise on every state. A smaller number of `runs`
    gives the first of the same runs. The initial states do not depend on noise and sampling.
    """
    split = _member(Split, split, "split")
    sampling = _member(Sampling, sampling, "sampling")
    count = RUNS.get(split, 200) if runs is None else _whole(runs, "runs", minimum=1)
    seed = _whole(seed, "seed", minimum=0)
    if not (math.isfinite(noise) and noise >= 0):
        raise InputError(f"noise must be a finite number of at least 0; got {noise}.")
    starts = system.starts(split, count, np.random.default_rng([seed, _STREAMS[split]]))
    times = _times(system, split, sampling, count, seed)
    states = _solved(_field(system, split, count, seed), starts, times)
    first = 1 if split is Split.ext else 0  # the continuation excludes the initial state
    rows = np.concatenate([run[first:] for run in states])
    noise_rng = np.random.default_rng([seed, list(Split).index(split), _NOISE])
    rows = rows + noise * noise_rng.standard_normal(rows.shape)
    times = [run[first:] for run in times]
    run_ends = np.cumsum([len(run) for run in times])
    return Dataset.from_arrays(np.split(rows, run_ends[:-1]), times, names=system.state_names)


def true_derivatives(
    system: AbstractSystem, split: Split | str, data: Dataset, *, seed: int = 0
) -> np.ndarray:
    """Return the true vector field of a split at the rows of `data`.

    If each run of T3 has its own parameters, they are derived from the `seed` passed to `generate`
    and from the label of the run.
    """
    split = _member(Split, split, "split")
    numbers = np.array([int(label) if label.isdecimal() else -1 for label in data.labels])
    field = _field(system, split, int(numbers.max()) + 1, _whole(seed, "seed", minimum=0))
    drawn = _by_run(field)
    if drawn:
        if numbers.min() < 0:
            raise InputError(
                f"Labels of runs of split t3 must be the numbers from generate; one label is "
                f"'{data.labels[numbers.argmin()]}'."
            )
        run_numbers = numbers[data.run_of_row]
        field = replace(field, **{name: values[run_numbers] for name, values in drawn.items()})
    return field.slope(data.times, data.states, np)


def equations(terms: dict[str, dict[str, float]]) -> list[str]:
    """Return sums of terms in the format of printed models.

    Terms with coefficient zero are omitted.
    """
    sums = {
        state: " + ".join(f"{value:.3f} {term}" for term, value in coefficients.items() if value)
        for state, coefficients in terms.items()
    }
    return [f"{state}' = {right.replace('+ -', '- ')}" for state, right in sums.items()]


def _times(
    system: AbstractSystem, split: Split, sampling: Sampling, count: int, seed: int
) -> list[np.ndarray]:
    """Return the times of each run. For `ext`, they begin with the time of the initial state."""
    times = system.times()
    if sampling is Sampling.irregular:
        rng = np.random.default_rng([seed, _STREAMS[split], _TIMES])
        last = EXTENSION * times[-1]
        steps = rng.uniform(*STEPS, (count, math.ceil((last - times[0]) / STEPS[0])))
        drawn = times[0] + np.concatenate([np.zeros((count, 1)), np.cumsum(steps, axis=1)], axis=1)
        is_later = drawn > times[-1]
        if split is not Split.ext:
            return [run[~later] for run, later in zip(drawn, is_later, strict=True)]
        is_later[:, 0] = True
        return [run[later & (run <= last)] for run, later in zip(drawn, is_later, strict=True)]
    if split is Split.ext:
        step = times[1] - times[0]
        last = int(round(EXTENSION * (len(times) - 1)))
        grid = times[0] + step * np.arange(last + 1)
        times = grid[np.concatenate([[0], np.arange(len(times), last + 1)])]
    return [times] * count


def _field(system: AbstractSystem, split: Split, count: int, seed: int) -> AbstractSystem:
    """Return the system of a split."""
    if split is not Split.t3:
        return system
    return system.shifted(count, np.random.default_rng([seed, _STREAMS[split], _PARAMETERS]))


def _solved(
    field: AbstractSystem, starts: Float[np.ndarray, "B n"], times: list[np.ndarray]
) -> list[np.ndarray]:
    """Return the states of each run at its times."""
    from ..simulation import NumpyField, integrate

    longest = max(len(run) for run in times)
    grid = np.stack([np.pad(run, (0, longest - len(run)), mode="edge") for run in times])
    drawn = _by_run(field)
    first = np.column_stack([starts, *drawn.values()])
    carried = (
        _Carried(replace(field, **dict.fromkeys(drawn, 0.0)), tuple(drawn)) if drawn else field
    )
    in_numpy = NumpyField(carried)
    rollout = integrate(carried, first, grid, in_numpy=in_numpy, rtol=1e-10, atol=1e-10)
    rollout.raise_unless_completed()
    width = starts.shape[1]
    return [x[: len(run), :width] for x, run in zip(rollout.x, times, strict=True)]


@pytree(meta=["drawn"])
@final
@dataclass(frozen=True)
class _Carried:
    """The field of states and constant parameters. Each run can have its own parameters."""

    shared: AbstractSystem
    drawn: tuple[str, ...]

    def __call__(self, t: Any, x: Any, u: Any = None) -> Any:
        width = x.shape[-1] - len(self.drawn)
        system = copy(self.shared)  # copied, because the constructor does not accept JAX tracers
        for i, name in enumerate(self.drawn):
            object.__setattr__(system, name, x[..., width + i])
        slope, xp = system(t, x[..., :width]), namespace(x)
        return xp.concatenate([slope, xp.zeros_like(x[..., width:])], axis=-1)


def _by_run(field: AbstractSystem) -> dict[str, np.ndarray]:
    """Return the parameters with a separate value for each run."""
    values = {parameter.name: getattr(field, parameter.name) for parameter in fields(field)}
    return {
        name: value
        for name, value in values.items()
        if isinstance(value, np.ndarray) and value.ndim
    }


Member = TypeVar("Member", bound=enum.StrEnum)


def _member(kind: type[Member], value: str, what: str) -> Member:
    if value not in list(kind):
        raise InputError(
            f"{what} must be one of {quoted(kind)}; got '{value}'.{suggestion(value, kind)}"
        )
    return kind(value)


def _whole(value: Any, what: str, *, minimum: int) -> int:
    if not isinstance(value, int | np.integer) or value < minimum:
        raise InputError(f"{what} must be a whole number of at least {minimum}; got {value}.")
    return int(value)
