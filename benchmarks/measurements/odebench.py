"""The odd half of ODEBench, with noise and with missing samples."""

import numpy as np

import orthoreg as og
from paper._odebench import forecast_r2, odebench_runs

from ._line import Line, data_file

SEEDS = 5
TITLE = "ODEBench, odd half."
ABOUT = (
    'Textbook systems with multiplicative noise are fitted by `OrthoReg("poly(3) + '
    'fourier(1)")`. The result is the share of systems whose forecast from the other initial '
    "state has R^2 > 0.9. With half of the samples, the target is five percentage points below "
    "the result with all samples."
)
_LEAST = {0.0: 80.0, 0.02: 72.0, 0.05: 62.0}


def measure(seeds: int) -> list[Line] | None:
    table = data_file("odebench_odd.csv")
    systems = {} if table is None else odebench_runs(table.parent)
    if not systems:
        return None
    lines = []
    for noise, least in _LEAST.items():
        label = f"{100 * noise:g}% noise"
        number = seeds if noise else 1
        full = [_share(systems, noise, seed, False) for seed in range(number)]
        half = [_share(systems, noise, seed, True) for seed in range(seeds)]
        lines.append(Line(label, full, "%", at_least=least))
        lines.append(Line(f"{label}, half of the samples", half, "%", at_least=min(full) - 5))
    return lines


def _share(
    systems: dict[int, tuple[np.ndarray, np.ndarray]], noise: float, seed: int, thin: bool
) -> float:
    good = [
        _score(train, test, noise, np.random.default_rng(1000 * number + seed), thin) > 0.9
        for number, (train, test) in systems.items()
    ]
    return 100 * float(np.mean(good))


def _score(
    train: np.ndarray, test: np.ndarray, noise: float, rng: np.random.Generator, thin: bool
) -> float:
    """Return R^2 of the forecast from the other initial state."""
    times, states = train[:, 0], train[:, 1:]
    states = states * (1 + noise * rng.standard_normal(states.shape))
    if thin:
        keep = np.sort(rng.permutation(len(times))[: len(times) // 2])
        times, states = times[keep], states[keep]
    model = og.OrthoReg("poly(3) + fourier(1)").fit(og.Dataset.from_arrays(states, times))
    truth = test[:, 1:]
    rollout = model.simulate(truth[0], test[:, 0])
    return forecast_r2(rollout.x, truth)
