"""95% intervals of correlated constants contain the truth in 95% of cases."""

import numpy as np
import pytest
from conftest import solved
from scipy.stats import binom, chi2, norm

import orthoreg as og

SEEDS = 40
CHANCE = 1e-3  # probability that a test fails although the coverage is between LEAST and MOST
LEAST, MOST = 0.90, 0.98


def heated(t, z):
    rate = 7.2e10 * np.exp(-8750 / z[1]) * z[0]
    return [-rate, 40 * rate - 0.3 * (z[1] - 340)]


CASES = {
    "arrhenius": (
        heated,
        {"c": "-k0*exp(-E/T)*c", "T": "q*k0*exp(-E/T)*c - h*(T - 340)"},
        {"k0": 7.2e10, "E": 8750, "q": 40, "h": 0.3},
        [(0.8, 336), (1.0, 341), (1.2, 346)], 5, {"E": (1e3, 2e4)},
    ),
    "michaelis-menten": (
        lambda t, z: [-1.2 * z[0] / (0.8 + z[0])],
        {"S": "-Vmax*S/(Km + S)"}, {"Vmax": 1.2, "Km": 0.8}, [(0.5,), (1.0,), (4.0,)], 6, {},
    ),
    "epidemic": (
        lambda t, z: [-1.5 * z[0] * z[1], 1.5 * z[0] * z[1] - 0.4 * z[1]],
        {"S": "-beta*S*I", "I": "beta*S*I - gamma*I"}, {"beta": 1.5, "gamma": 0.4},
        [(0.99, 0.01), (0.8, 0.02)], 15, {},
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_intervals_hold_the_truth_as_often_as_they_say(case):
    slope, equations, truth, starts, last, bounds = CASES[case]
    t = np.linspace(0, last, 60)
    exact = solved(slope, starts, t)
    size = 0.015 * np.concatenate(exact).std(axis=0)
    physics = og.Physics(equations=equations, bounds=bounds)
    errors = {name: [] for name in truth}  # in half-widths
    hits = dict.fromkeys(truth, 0)
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        noisy = [x + size * rng.standard_normal(x.shape) for x in exact]
        data = og.Dataset.from_arrays(noisy, t, names=list(equations))
        model = og.OrthoReg(physics=physics).fit(data)
        for name, value in truth.items():
            low, high = model.parameter_intervals_[name]
            hits[name] += low <= value <= high
            errors[name].append(2 * (model.parameters_[name] - value) / (high - low))
    fewest = binom.ppf(CHANCE, SEEDS, LEAST)
    assert all(count >= fewest for count in hits.values()), hits
    # the intervals are not too wide: errors vary at least as much as with a coverage of MOST
    least = np.sqrt(chi2.ppf(CHANCE, SEEDS - 1) / (SEEDS - 1)) / norm.ppf((1 + MOST) / 2)
    assert all(np.std(one) > least for one in errors.values()), errors
