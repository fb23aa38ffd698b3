"""Coverage of 95% intervals for constants with correlated estimates."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from scipy.integrate import solve_ivp

import orthoreg as og

from ._line import Line

SEEDS = 40
NOISE = (0.01, 0.02)
TITLE = "Intervals of correlated constants."
ABOUT = (
    "The result is the share of 95% intervals of `parameter_intervals_` that contain the true "
    "constant. Known equations have constants in exponentials, fractions and products, and 80 "
    "rows per run. The correlations of the estimates are up to 0.9999."
)


@final
@dataclass(frozen=True)
class System:
    """A system: field, equations with named constants, true values, initial states, last time."""

    slope: Callable[[float, Any], list[Any]]
    equations: Mapping[str, str]
    truth: Mapping[str, float]
    starts: Sequence[tuple[float, ...]]
    last: float
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)


def _reactor(t: float, z: Any) -> list[Any]:
    rate = 7.2e10 * np.exp(-8750 / z[1]) * z[0]
    return [-rate, 40 * rate - 0.3 * (z[1] - 340)]


SYSTEMS = {
    "exothermic reaction": System(
        _reactor,
        {"c": "-k0*exp(-E/T)*c", "T": "q*k0*exp(-E/T)*c - h*(T - 340)"},
        {"k0": 7.2e10, "E": 8750, "q": 40, "h": 0.3},
        [(0.8, 336), (1.0, 341), (1.2, 346), (0.9, 349)], 5, {"E": (1e3, 2e4)},
    ),
    "enzyme": System(
        lambda t, z: [-1.2 * z[0] / (0.8 + z[0])],
        {"S": "-Vmax*S/(Km + S)"}, {"Vmax": 1.2, "Km": 0.8}, [(0.5,), (1,), (2,), (4,)], 6,
    ),
    "enzyme, far from saturation": System(
        lambda t, z: [-1.2 * z[0] / (3 + z[0])],
        {"S": "-Vmax*S/(Km + S)"}, {"Vmax": 1.2, "Km": 3}, [(0.5,), (1,), (2,), (3,)], 6,
    ),
    "epidemic": System(
        lambda t, z: [-1.5 * z[0] * z[1], 1.5 * z[0] * z[1] - 0.4 * z[1]],
        {"S": "-beta*S*I", "I": "beta*S*I - gamma*I"}, {"beta": 1.5, "gamma": 0.4},
        [(0.99, 0.01), (0.8, 0.02)], 15,
    ),
}  # fmt: skip


def measure(seeds: int) -> list[Line]:
    shares: dict[str, float] = {}
    every: list[bool] = []
    for noise in NOISE:
        for name, system in SYSTEMS.items():
            found = [held(system, noise, seed) for seed in range(seeds)]
            for constant in system.truth:
                hits = [one[constant] for one in found]
                every += hits
                shares[f"{name}, {constant}, {100 * noise:g}% noise"] = 100 * float(np.mean(hits))
    worst = sorted(shares, key=lambda name: shares[name])[:3]
    return [
        Line("all constants", [100 * float(np.mean(every))], "%", 98, 90),
        *(Line(f"among the worst three: {name}", [shares[name]], "%", None, 80) for name in worst),
    ]


def held(system: System, noise: float, seed: int) -> dict[str, bool]:
    """Return for each constant whether its interval contains the true value."""
    rng = np.random.default_rng([seed, round(1000 * noise)])
    times = np.linspace(0, system.last, 80)
    runs = [
        solve_ivp(
            system.slope, (0, system.last), start, t_eval=times, rtol=1e-9, atol=1e-11,
            method="LSODA",
        ).y.T
        for start in system.starts
    ]  # fmt: skip
    size = noise * np.std(np.concatenate(runs), axis=0)
    noisy = [run + size * rng.standard_normal(run.shape) for run in runs]
    data = og.Dataset.from_arrays(noisy, times, names=list(system.equations))
    physics = og.Physics(equations=dict(system.equations), bounds=dict(system.bounds))
    ends = og.OrthoReg(physics=physics, seed=seed).fit(data).parameter_intervals_
    return {
        name: name in ends and bool(ends[name][0] <= value <= ends[name][1])
        for name, value in system.truth.items()
    }
