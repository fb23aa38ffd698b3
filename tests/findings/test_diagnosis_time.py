"""Diagnosis of a forcing that is not among the columns."""

import re

import numpy as np
import pytest
from moving_systems import (
    COMPLETE,
    LIBRARY,
    complete,
    driven,
    duffing,
    forced,
    observed,
    pendulum,
    runs_of,
    starts,
)

from orthoreg.findings.diagnoses import time_dependence
from orthoreg.terms import bind


def found(data, **options):
    seen = observed(data)
    features = bind(LIBRARY, data.variable_names, data.state_names)
    failing = range(data.n_states)
    return time_dependence(seen, features, failing, seen.first_order(), **options)


def frequencies(advice):
    return sorted(float(w) for w in re.findall(r"cos\(([\d.]+)\*t\)", advice.text))


def one_tone(t):
    return 2 * np.cos(1.3 * t)


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_a_forcing_at_the_same_time_in_all_runs_is_named_by_its_frequency(noise):
    data = runs_of(driven, starts(5, [-1, -1], [1, 1]), 20, 300, ["x", "v"], inputs=one_tone,
                   noise=noise)  # fmt: skip
    one = found(data)
    assert one.advice.code == "time-dependent" and one.equation == 1
    assert frequencies(one.advice) == pytest.approx([1.3], rel=0.01)
    assert "as inputs" in one.advice.text and one.after < 0.2 * one.before


def test_two_tones_are_both_named():
    assert frequencies(found(forced()).advice) == pytest.approx([1.3, 2.9], rel=0.01)


def test_a_forcing_in_one_run_is_named():
    data = runs_of(driven, [[1.0, 0.5]], 40, 600, ["x", "v"], inputs=one_tone)
    assert frequencies(found(data).advice) == pytest.approx([1.3], rel=0.01)


def test_a_forcing_of_any_form_is_noticed_where_runs_share_it():
    def steps(t):
        return 2.0 * (np.floor(t / 2.3) % 3 == 1) - 1.5 * (t > 11)

    data = runs_of(driven, starts(8, [-1, -1], [1, 1]), 20, 300, ["x", "v"], inputs=steps)
    advice = found(data).advice
    assert advice.code == "time-dependent" and "Add" in advice.text


@pytest.mark.parametrize("name", COMPLETE)
def test_complete_systems_do_not_depend_on_time(name):
    assert found(complete(name)) is None


def test_a_missing_term_on_a_closed_orbit_is_no_forcing():
    data = runs_of(duffing, [[1.6, 0.0]], 40, 800, ["x", "v"])
    assert found(data) is None


def test_an_own_motion_that_dies_out_is_no_forcing():
    data = runs_of(pendulum, [[1.5, 0.5]], 30, 500, ["theta", "omega"], noise=0.05)
    assert found(data) is None


def test_a_library_that_explains_as_much_is_preferred():
    assert found(forced(), rival=1e-6) is None


def test_one_orbit_that_a_missing_term_shapes_is_no_forcing():
    """Because of noise, time explains the motion as well as the states do."""

    def tumbling(t, x):
        spin = 4.2 * np.sin(x[1]) ** 2 + np.cos(x[1]) ** 2
        return [np.cos(x[0]) / np.tan(x[1]), spin * np.sin(x[0])]

    for noise in (0.0, 0.02, 0.05):
        data = runs_of(tumbling, [[2.72, 1.77]], 10, 512, ["a", "b"], noise=noise)
        assert found(data) is None
