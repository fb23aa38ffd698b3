"""Settings: the simulated systems, their measurement, and the numbers of runs and rows."""

from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Float

from orthoreg import Dataset, InputError, VectorField
from orthoreg.losses import AbstractDifferentiator, Automatic, SmoothedFiniteDifference
from orthoreg.systems import SYSTEMS, AbstractSystem, Pendulum, Split, generate, true_derivatives

_THINNING = {
    "duffing": 40
}  # every 40th of 4000 points is evaluated, which gives 100 points as for other systems


@final
@dataclass(frozen=True, kw_only=True)
class Scale:
    """Sizes of an experiment: runs of each split, rows for gradient training, and epochs."""

    train_runs: int = 1000
    test_runs: int = 200
    adapt_runs: int = 5
    rows: int = 1024
    epochs: int = 2000

    @property
    def is_full(self) -> bool:
        return self == Scale()


QUICK = Scale(train_runs=32, test_runs=27, rows=512, epochs=200)


@final
@dataclass(frozen=True, kw_only=True)
class Setting:
    """A system and its measurement.

    `targets` are "smoothed" (the paper's smoothed differences), "equal-steps" (the same, treating
    irregular times as regular, as in the paper's table), "stamps" (estimates that use the time
    stamps) or "analytic" (the true field at the states without noise). A `complete` system has no
    terms that the library lacks. `noise` is a standard deviation, and `noise_share` a standard
    deviation relative to that of each state.
    """

    system: str = "pendulum"
    difficulty: str = "medium"
    sampling: str = "regular"
    targets: str = "smoothed"
    noise: float = 0.0
    rows: int | None = None
    complete: bool = False
    noise_share: float = 0.0

    @property
    def name(self) -> str:
        """The name in records, such as 'pendulum/medium/noise=0.1/analytic'."""
        if self.complete:
            share = [f"noise={100 * self.noise_share:g}%"] if self.noise_share else []
            return "/".join([self.system, "complete", *share])
        parts = [self.system, *([self.difficulty] if self.system == "pendulum" else [])]
        if self.sampling == "irregular":
            parts += [self.sampling, self.targets]
        elif self.noise or self.targets == "analytic":
            parts += [f"noise={self.noise:g}", self.targets]
        if self.rows is not None:
            parts.append(f"samples={self.rows}")
        return "/".join(parts)

    @classmethod
    def named(cls, name: str) -> "Setting":
        """Return the setting with this name."""
        system, *parts = name.split("/")
        if system not in SYSTEMS:
            raise InputError(f"'{name}' is not a setting: there is no system '{system}'.")
        values: dict[str, object] = {"system": system}
        if parts[:1] == ["complete"]:
            values["complete"] = True
            parts.pop(0)
        elif parts and system == "pendulum":
            values["difficulty"] = parts.pop(0)
        for part in parts:
            if part == "irregular":
                values["sampling"] = part
            elif part.startswith("noise=") and part.endswith("%"):
                values["noise_share"] = float(part.removeprefix("noise=").rstrip("%")) / 100
            elif part.startswith("noise="):
                values["noise"] = float(part.removeprefix("noise="))
            elif part.startswith("samples="):
                values["rows"] = int(part.removeprefix("samples="))
            else:
                values["targets"] = part
        setting = cls(**values)  # type: ignore[arg-type]
        if setting.name != name:
            raise InputError(f"'{name}' is not a setting; did you mean '{setting.name}'?")
        return setting

    def build(self) -> AbstractSystem:
        """Return the system of the setting."""
        if self.complete:
            return SYSTEMS[self.system]().within_library()
        if self.system == "pendulum":
            return Pendulum.of_difficulty(self.difficulty)
        return SYSTEMS[self.system]()


@final
@dataclass(frozen=True, eq=False)
class Rows:
    """States with derivative targets, and the run of each row."""

    states: Float[np.ndarray, "N n"]
    targets: Float[np.ndarray, "N n"]
    run_of_row: np.ndarray
    names: tuple[str, ...]

    def only(self, rows: np.ndarray) -> "Rows":
        return replace(
            self,
            states=self.states[rows],
            targets=self.targets[rows],
            run_of_row=self.run_of_row[rows],
        )

    @property
    def dataset(self) -> Dataset:
        """Return the rows as runs with given derivatives at integer times."""
        ends = np.flatnonzero(np.diff(self.run_of_row)) + 1
        states, slopes = np.split(self.states, ends), np.split(self.targets, ends)
        times = [np.arange(len(run), dtype=float) for run in states]
        return Dataset.from_arrays(states, times, names=self.names, derivatives=slopes)


@final
@dataclass(frozen=True, eq=False)
class Test:
    """A test split: noise-free runs, their true derivatives, initial states and times."""

    data: Dataset
    truth: Float[np.ndarray, "N n"]
    starts: Float[np.ndarray, "R n"]
    times: Float[np.ndarray, " T"]


@final
@dataclass(frozen=True, eq=False)
class Problem:
    """The data of one setting and one seed.

    `runs` are the training runs as measured, `training` all their rows with targets, `few` the rows
    for gradient training, and `adapting` additional rows of T3 that are not test runs. Methods
    never receive test splits.
    """

    system: AbstractSystem
    runs: Dataset
    training: Rows
    few: Rows
    tests: dict[Split, Test]
    adapting: Rows


def problem(setting: Setting, scale: Scale, seed: int) -> Problem:
    """Simulate and measure the data of a setting."""
    system = setting.build()
    train = generate(
        system, Split.train, runs=scale.train_runs, seed=seed, noise=setting.noise,
        sampling=setting.sampling,
    )  # fmt: skip
    if setting.noise_share:
        train = _noisier(train, setting.noise_share, seed)
    training = _measured(system, setting, Split.train, train, seed)
    if setting.rows is not None:
        training = training.only(_chosen(len(training.states), setting.rows, seed))
    few = training.only(_chosen(len(training.states), scale.rows, seed))
    tests = {
        split: _test(system, setting, split, scale.test_runs, seed)
        for split in (Split.id, Split.ext, Split.t2, Split.t3)
    }
    # the T3 runs after the test runs, with the same parameters or further random ones
    more = generate(system, Split.t3, runs=scale.test_runs + scale.adapt_runs, seed=seed)
    own = more[np.arange(scale.test_runs, scale.test_runs + scale.adapt_runs)]
    exact = true_derivatives(system, Split.t3, own, seed=seed)
    adapting = Rows(own.states, exact, own.run_of_row, own.state_names)
    return Problem(system, train, training, few, tests, adapting)


def _noisier(data: Dataset, share: float, seed: int) -> Dataset:
    """Return the runs with noise relative to the standard deviation of each state."""
    rng = np.random.default_rng([seed, 78])
    size = share * data.states.std(axis=0)
    runs = [run.states + size * rng.standard_normal(run.states.shape) for run in data]
    return Dataset.from_arrays(runs, [run.times for run in data], names=data.state_names)


def _measured(
    system: AbstractSystem, setting: Setting, split: Split, data: Dataset, seed: int
) -> Rows:
    if setting.targets == "analytic":
        clean = generate(system, split, runs=data.n_runs, seed=seed, sampling=setting.sampling)
        targets = true_derivatives(system, split, clean, seed=seed)
    else:
        measured = data
        rule: AbstractDifferentiator = SmoothedFiniteDifference()
        if setting.targets == "stamps":
            rule = Automatic()
        elif setting.targets == "equal-steps":
            step = float(data.step_of_run().mean())
            runs = [run.states for run in data]
            measured = Dataset.from_arrays(runs, step, names=data.state_names)
        targets = VectorField(rule).observe(measured).targets
    return Rows(data.states, targets, data.run_of_row, data.state_names)


def _chosen(count: int, wanted: int, seed: int) -> np.ndarray:
    """Return a random subset of the rows in their order, or all rows if there are not enough."""
    if wanted >= count:
        return np.arange(count)
    return np.sort(np.random.default_rng([seed, 77]).choice(count, wanted, replace=False))


def _test(system: AbstractSystem, setting: Setting, split: Split, runs: int, seed: int) -> Test:
    data = generate(system, split, runs=runs, seed=seed)
    first = generate(system, Split.id, runs=runs, seed=seed) if split is Split.ext else data
    starts = first.states[first.offsets[:-1]]
    thin = _THINNING.get(setting.system, 1)
    if thin > 1:
        rows = np.concatenate(
            [
                np.arange(a, b, thin)
                for a, b in zip(data.offsets[:-1], data.offsets[1:], strict=True)
            ]
        )
        data = Dataset.from_arrays(
            np.split(data.states[rows], np.flatnonzero(np.diff(data.run_of_row[rows])) + 1),
            data[0].times[::thin],
            names=data.state_names,
        )
    times = data[0].times
    if split is Split.ext:
        times = np.append(first[0].times[0], times)
    return Test(data, true_derivatives(system, split, data, seed=seed), starts, times)
