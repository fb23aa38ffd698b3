"""Diagnosis of a missing input, state or parameter."""

import numpy as np
import pytest
from moving_systems import COMPLETE, LIBRARY, complete, duffing, observed, runs_of, starts, swings

from orthoreg.findings.diagnoses import missing_variable
from orthoreg.terms import bind


def found(data):
    seen = observed(data)
    features = bind(LIBRARY, data.variable_names, data.state_names)
    return missing_variable(seen, features, range(data.n_states), seen.first_order())


def pushed(noise=0.0):
    """Return six runs, each with its own input, which is not given."""
    rng = np.random.default_rng(0)
    phases, speeds = rng.uniform(0, 6, 6), rng.uniform(0.7, 3, 6)

    def slope(t, x):
        push = np.sin(1.3 * speeds * t + phases) + 0.7 * np.sin(2.9 * speeds * t + 3 * phases)
        return [x[1], -4 * x[0] - 0.2 * x[1] + push]

    return runs_of(slope, starts(6, [-1, -1], [1, 1]), 20, 300, ["x", "v"], noise=noise)


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_an_input_that_is_not_given_is_missed(noise):
    advice = found(pushed(noise))
    assert advice.code == "missing-variable"
    assert "No function of x and v explains v'" in advice.text and "An input" in advice.text


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_a_parameter_that_differs_between_runs_is_missed(noise):
    stiffness = np.array([1.0, 1.5, 2.2, 3.0, 4.0])
    data = runs_of(
        lambda t, x: [x[1], -stiffness * x[0] - 0.1 * x[1]],
        np.tile([1.5, 0.2], (5, 1)), 15, 200, ["x", "v"], noise=noise,
    )  # fmt: skip
    advice = found(data)
    assert "differs between runs" in advice.text and "constant in each run" in advice.text


def test_a_velocity_that_is_not_given_is_missed():
    assert "such as a velocity" in found(swings(keep=[0])).text


@pytest.mark.parametrize("name", COMPLETE)
def test_nothing_is_missed_in_complete_columns(name):
    assert found(complete(name)) is None


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.05])
def test_a_library_that_lacks_a_term_is_no_missing_column(noise):
    data = runs_of(duffing, starts(5, [-1.6, -1], [1.6, 1]), 15, 250, ["x", "v"], noise=noise)
    assert found(data) is None


@pytest.mark.parametrize("seed", range(4))
def test_sparse_runs_of_a_curved_law_are_no_missing_column(seed):
    """Five runs of growth with inhibition are far apart, and the rates between them are strongly
    curved."""
    rng = np.random.default_rng(seed)

    def growth(t, z):
        rate = 0.9 * z[1] / (0.4 + z[1] + z[1] ** 2 / 1.5)
        return [(rate - 0.1) * z[0], -2 * rate * z[0]]

    first = np.column_stack([rng.uniform(0.1, 0.4, 5), rng.uniform(2, 5, 5)])
    data = runs_of(growth, first, 12, 121, ["X", "S"], noise=0.01)
    assert found(data) is None
