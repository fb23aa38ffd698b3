"""Coverage of 95% intervals."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.integrate import solve_ivp

import orthoreg as og

from ._line import Line

SEEDS = 40
NOISE = (0.01, 0.02, 0.05)
TITLE = "Intervals."
ABOUT = (
    "The result is the share of 95% intervals of `og.bootstrap` that contain the true "
    "coefficient, for six systems with six runs of 300 rows each and default settings. A "
    "missing term counts as an interval that does not contain it."
)


@final
@dataclass(frozen=True)
class System:
    """A system: field, library, true coefficients by equation, initial states and last time."""

    slope: Callable[[float, Any], list[Any]]
    library: str
    truth: Sequence[dict[str, float]]
    low: Sequence[float]
    high: Sequence[float]
    last: float


SYSTEMS = {
    "Lotka-Volterra": System(
        lambda t, z: [1.1 * z[0] - 0.4 * z[0] * z[1], 0.1 * z[0] * z[1] - 0.4 * z[1]],
        "poly(2)", [{"x": 1.1, "x*y": -0.4}, {"y": -0.4, "x*y": 0.1}], (3, 2), (15, 8), 30,
    ),
    "pendulum": System(
        lambda t, z: [z[1], -1.3 * np.sin(z[0]) - 0.15 * z[1]],
        "poly(1) + fourier(1)", [{"y": 1.0}, {"sin(x)": -1.3, "y": -0.15}], (-2, -2), (2, 2), 20,
    ),
    "Duffing": System(
        lambda t, z: [z[1], z[0] - z[0] ** 3 - 0.2 * z[1]],
        "poly(3)", [{"y": 1.0}, {"x": 1.0, "x**3": -1.0, "y": -0.2}], (-2, -2), (2, 2), 15,
    ),
    "van der Pol": System(
        lambda t, z: [z[1], (1 - z[0] ** 2) * z[1] - z[0]],
        "poly(3)", [{"y": 1.0}, {"x": -1.0, "y": 1.0, "x**2*y": -1.0}], (-3, -3), (3, 3), 15,
    ),
    "epidemic": System(
        lambda t, z: [-1.5 * z[0] * z[1], 1.5 * z[0] * z[1] - 0.4 * z[1]],
        "poly(2)", [{"x*y": -1.5}, {"x*y": 1.5, "y": -0.4}], (0.6, 0.01), (1.0, 0.1), 15,
    ),
    "linear oscillator": System(
        lambda t, z: [-0.1 * z[0] + 2 * z[1], -2 * z[0] - 0.1 * z[1]],
        "poly(2)", [{"x": -0.1, "y": 2.0}, {"x": -2.0, "y": -0.1}], (-2, -2), (2, 2), 12,
    ),
}  # fmt: skip


def measure(seeds: int) -> list[Line]:
    return lines(
        {
            (noise, name): [held(name, noise, seed) for seed in range(seeds)]
            for noise in NOISE
            for name in SYSTEMS
        }
    )


def lines(found: Mapping[tuple[float, str], Sequence[Sequence[bool]]]) -> list[Line]:
    """Return the percentages of intervals that contain the truth. `found` contains a list for each
    noise and system, with one Boolean per seed and coefficient."""
    shares, levels = {}, []
    for noise in NOISE:
        here = []
        for name, system in SYSTEMS.items():
            every = np.array(found[noise, name], dtype=float)
            here.append(every.ravel())
            labels = [f"{e + 1}: {term}" for e, row in enumerate(system.truth) for term in row]
            for label, share in zip(labels, every.mean(axis=0), strict=True):
                shares[f"{name}, equation {label}, {100 * noise:g}% noise"] = 100 * share
        levels.append(np.concatenate(here))
    worst = sorted(shares, key=lambda name: shares[name])[:3]
    return [
        Line("all coefficients", [100 * float(np.concatenate(levels).mean())], "%", 98, 90),
        *(
            Line(f"{100 * noise:g}% noise, all coefficients", [100 * float(level.mean())], "%",
                 98, 90)
            for noise, level in zip(NOISE, levels, strict=True)
        ),
        *(Line(f"among the worst three: {name}", [shares[name]], "%", None, 80) for name in worst),
    ]  # fmt: skip


def held(name: str, noise: float, seed: int) -> list[bool]:
    """Return for each true coefficient whether its interval contains it."""
    system = SYSTEMS[name]
    rng = np.random.default_rng([seed, round(1000 * noise)])  # separate draws per noise level
    times = np.linspace(0, system.last, 300)
    runs = [
        solve_ivp(
            system.slope, (0, system.last), rng.uniform(system.low, system.high), t_eval=times,
            rtol=1e-9, atol=1e-9,
        ).y.T
        for _ in range(6)
    ]  # fmt: skip
    size = noise * np.std(np.concatenate(runs), axis=0)
    noisy = [run + size * rng.standard_normal(run.shape) for run in runs]
    model = og.OrthoReg(system.library, seed=seed).fit(
        og.Dataset.from_arrays(noisy, times, names=["x", "y"])
    )
    found = og.bootstrap(model, seed=seed)
    holds = []
    for row, terms in enumerate(system.truth):
        for term, value in terms.items():
            low, high = found.interval[row, found.feature_names.index(term)]
            holds.append(bool(low <= value <= high))
    return holds
