"""Diagnosis of chaotic systems, which cannot be forecast for long times."""

import numpy as np
import pytest
from moving_systems import complete, lorenz, runs_of, starts

import orthoreg as og
from orthoreg.findings.diagnoses import chaotic
from orthoreg.findings.diagnoses._chaos import lyapunov_exponent


def field_of(slope):
    return lambda z: np.stack(slope(0.0, z.T), axis=1)


@pytest.fixture(scope="module")
def wings():
    return runs_of(lorenz, starts(3, [-8, -8, 20], [8, 8, 30]), 20, 1000, ["x", "y", "z"])


def test_the_exponent_of_lorenz_is_known(wings):
    assert lyapunov_exponent(field_of(lorenz), wings) == pytest.approx(0.906, rel=0.25)


def test_lorenz_is_chaotic_and_the_sentence_says_for_how_long(wings):
    advice = chaotic(field_of(lorenz), wings, 1e-3)
    assert advice.code == "chaotic"
    lasts = float(advice.text.split("longer than about ")[1].split(" ")[0])
    assert lasts == pytest.approx(np.log(0.3 / 1e-3) / 0.906, rel=0.3)


def test_short_runs_of_lorenz_can_be_forecast(wings):
    short = og.Dataset.from_arrays([run.states[:100] for run in wings], wings.times[:100])
    assert chaotic(field_of(lorenz), short, 1e-3) is None


@pytest.mark.parametrize(
    ("matrix", "start"),
    [
        ([[0, 1, 0], [-1, 0, 0], [0, 0, -0.1]], [1.0, 0.0, 1.0]),  # oscillates
        ([[0.5, 0, 0], [0, 0.4, 0], [0, 0, 0.3]], [1.0, 1.0, 1.0]),  # grows, and so do forecasts
        ([[-0.5, 5, 0], [0, -0.5, 5], [0, 0, -0.5]], [0.0, 0.0, 1.0]),  # grows before it decays
    ],
)
def test_linear_systems_are_not_chaotic(matrix, start):
    def slope(t, x):
        return list(np.array(matrix, dtype=float) @ x)

    data = runs_of(slope, [start], 20, 600, ["x", "y", "z"])
    assert chaotic(field_of(slope), data, 1e-2) is None


def test_the_periodic_regime_of_lorenz_is_not_chaotic():
    def slope(t, x):
        return [10 * (x[1] - x[0]), x[0] * (160 - x[2]) - x[1], x[0] * x[1] - 8 / 3 * x[2]]

    data = runs_of(slope, [[5.0, 5.0, 150.0]], 20, 2500, ["x", "y", "z"])
    assert chaotic(field_of(slope), data, 1e-3) is None


def test_planes_are_never_chaotic():
    data = complete("predators")
    assert chaotic(lambda z: 1 / 0, data, 0.1) is None  # the field is not evaluated
