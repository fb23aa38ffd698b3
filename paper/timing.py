"""Overhead of the orthogonality penalty per epoch, by the protocol of the paper.
[app:complexity]"""

import time
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np

from orthoreg import Dataset, SmoothedFiniteDifference, VectorField, presets
from orthoreg.fitting import prepare
from orthoreg.systems import Pendulum, Split, generate

from ._paper import OVERHEAD
from ._settings import Scale
from .sweeps import Job, Record

NAME = "timing"
TITLE = "Overhead of the penalty"
CAPTION = (
    "The problem has 1000 samples, two states, ten terms, and three hidden layers of 128 units. "
    "Numbers are medians over windows of epochs that alternate between the two methods. The paper "
    f"states an overhead of {OVERHEAD[0]:.0%} to {OVERHEAD[1]:.0%}."
)
PAPER = "app:complexity"
LABELS = {"timing": "One epoch"}
SETTINGS = tuple(LABELS)
METHODS = ("l2", "orthoreg")
METRICS = ("epoch_ms", "overhead_percent")
BLOCKS: Literal["setting", "metric"] = "setting"

_PRESETS = {"l2": presets.paper_l2, "orthoreg": presets.paper_orthoreg}
_RUNS = 40
_WARM_UP = 5


@final
@dataclass(frozen=True, kw_only=True)
class Timing:
    """Rows of the batch, number of timed windows, and epochs per window."""

    rows: int = 1000
    windows: int = 40
    epochs: int = 20
    seed: int = 0


def jobs(scale: Scale, seeds: int) -> list[Job]:
    """Return one job per seed. Unlike all other results, times differ between runs."""
    windows = 40 if scale.is_full else 10
    return [Job(function=measure, spec=Timing(windows=windows, seed=s)) for s in range(seeds)]


def measure(spec: Timing) -> list[Record]:
    """Return the median milliseconds of an epoch, and the overhead relative to the L2 hybrid."""
    data = batch(spec.rows, spec.seed)
    runs = {name: Epochs(preset(seed=spec.seed), data) for name, preset in _PRESETS.items()}
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for window in range(spec.windows + _WARM_UP):
        for name, run in runs.items():
            taken = run.window(window, spec.epochs)
            if window >= _WARM_UP:
                seconds[name].append(taken / spec.epochs)
    medians = {name: 1e3 * float(np.median(values)) for name, values in seconds.items()}
    base = medians["l2"]
    return [
        {"setting": NAME, "method": name, "seed": spec.seed, "metric": metric, "value": value}
        for name, median in medians.items()
        for metric, value in (
            ("epoch_ms", median),
            ("overhead_percent", None if name == "l2" else 100 * (median / base - 1)),
        )
    ]


def batch(count: int, seed: int = 0) -> Dataset:
    """Return this many rows of the pendulum with their targets."""
    data = generate(Pendulum(), Split.train, runs=_RUNS, seed=seed)
    rows = VectorField(SmoothedFiniteDifference()).observe(data)
    chosen = np.random.default_rng(seed).permutation(len(rows))[:count]
    return Dataset.from_arrays(
        rows.variables[chosen], 1.0, names=data.state_names, derivatives=rows.targets[chosen]
    )


@final
class Epochs:
    """The compiled training of one model, run in windows of epochs."""

    def __init__(self, model: Any, data: Dataset) -> None:
        recipe = model.recipe()
        task = prepare(recipe, recipe.loss.observe(data))
        _, _, self._loop = recipe.solver.prepared([task])
        self._state = self._loop.first_state()

    def window(self, index: int, epochs: int) -> float:
        """Return the seconds that the epochs of this window take."""
        import jax

        from orthoreg.solving._training import stretch

        bounds = np.array([index * epochs, (index + 1) * epochs], np.int32)
        start = time.perf_counter()
        self._state = jax.block_until_ready(stretch(self._state, self._loop, bounds))
        return time.perf_counter() - start

    def memory(self) -> int:
        """Return the bytes that the compiled training needs besides its arguments and results."""
        from orthoreg.solving._training import stretch

        lowered = stretch.lower(self._state, self._loop, np.array([0, 1], np.int32))
        analysis: Any = lowered.compile().memory_analysis()
        return int(analysis.temp_size_in_bytes)
