"""Sets of terms whose forecasts fail give way; others stay, however exact a rival is."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg.data import Samples
from orthoreg.libraries import bind
from orthoreg.moments import gather
from orthoreg.selection import EquationPath, Selected
from orthoreg.selection._forecasts import (
    _least_lost,
    _stretches,
    by_forecasts,
    forecast_errors,
)

TIMES = np.linspace(0, 6, 61)
TERMS = bind(og.Polynomial(2), ["x", "v"], ["x", "v"])  # 1, x, v, x**2, x*v, v**2
LINEAR = np.array([[0, 0, 1, 0, 0, 0], [0, -1, -0.2, 0, 0, 0]], dtype=float)


def runs(count: int = 30, matrix=LINEAR) -> Samples:
    """A damped oscillator from starts on a circle; all targets are exact."""
    angles = np.linspace(0, 2 * np.pi, count, endpoint=False)
    states = [
        solve_ivp(
            lambda _, z: matrix @ TERMS(z[None])[0], (0, 6), [np.cos(a), np.sin(a)],
            t_eval=TIMES, rtol=1e-10, atol=1e-10,
        ).y.T for a in angles
    ]  # fmt: skip
    variables = np.concatenate(states)
    return Samples(
        variables,
        TERMS(variables) @ matrix.T,
        np.repeat(np.arange(count), len(TIMES)),
        np.zeros(2),
        ("x", "v"),
        ("x", "v"),
        np.tile(TIMES, count),
    )


def path(supports, outer, chosen=0) -> EquationPath:
    supports = np.array(supports, dtype=bool)
    outer = np.array(outer, dtype=float)
    return EquationPath(supports.sum(axis=1), supports, outer, outer, 0 * outer, chosen, supports)


def test_errors_are_those_of_an_independent_solver():
    samples = runs()
    other = LINEAR.copy()
    other[1, 1] = -1.3
    errors = forecast_errors(TERMS, samples, np.stack([LINEAR, other]))
    assert errors.shape[0] == 2 and errors[0].max() < 1e-9
    wrong = runs(matrix=other).variables  # the same starts: the first stretch of each run is whole
    apart = (wrong - samples.variables) ** 2 / samples.variables.var(axis=0)
    rows = _stretches(samples.run_of_row)
    whole = samples.times[rows[:, 0]] == 0
    expected = apart.reshape(30, 61, 2)[:, 1:].mean(axis=(1, 2))
    assert_allclose(errors[1, whole], expected, rtol=1e-3)


def test_inputs_are_followed():
    t = np.linspace(0, 4, 81)
    u = np.sin(2 * t)
    x = solve_ivp(lambda s, z: -z + np.interp(s, t, u), (0, 4), [0.5], t_eval=t, rtol=1e-8).y[0]
    terms = bind(og.Polynomial(1), ["x", "u"], ["x"])
    samples = Samples(
        np.column_stack([x, u]), (u - x)[:, None], np.zeros(81, dtype=int), np.zeros(1),
        ("x", "u"), ("x",), t,
    )  # fmt: skip
    right, deaf = np.array([[[0.0, -1.0, 1.0]], [[0.0, -1.0, 0.0]]])
    errors = forecast_errors(terms, samples, np.stack([right, deaf]))
    assert errors[0].max() < 1e-4 < 0.1 < errors[1].min()


def test_a_forecast_that_explodes_has_a_large_finite_error():
    explosive = LINEAR.copy()
    explosive[1, 3] = 50.0
    errors = forecast_errors(TERMS, runs(), explosive[None])
    assert np.isfinite(errors).all() and errors.min() > 1


@pytest.mark.parametrize("lengths", [[300], [7, 90, 3], [20] * 500])
def test_stretches_begin_in_the_first_half_and_stay_in_their_run(lengths):
    run_of_row = np.repeat(np.arange(len(lengths)), lengths)
    rows = _stretches(run_of_row)
    assert_array_equal(run_of_row[rows], np.repeat(run_of_row[rows[:, :1]], rows.shape[1], axis=1))
    steps = np.diff(rows, axis=1)
    assert set(np.unique(steps)) <= {0, 1} and (np.diff(steps, axis=1) <= 0).all()
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])[run_of_row[rows[:, 0]]]
    assert (rows[:, 0] - starts <= np.array(lengths)[run_of_row[rows[:, 0]]] / 2).all()


def test_only_clearly_fewer_losses_count():
    lost = np.zeros((3, 100), dtype=bool)
    lost[0, :2] = lost[1, 50:51] = True  # 2, 1 and 0 of 100
    assert _least_lost(lost) == 0
    lost[0, :20] = True
    assert _least_lost(lost) == 2
    lost[1:, 50:55] = True  # hard to forecast for all
    assert _least_lost(lost) == 0
    lost[0] = False
    lost[1:, :50] = True
    assert _least_lost(lost) == 0


def chosen(second: EquationPath, samples: Samples) -> int:
    first = path([LINEAR[0] != 0], [0.0])
    moments = gather(TERMS, lambda z: np.zeros((len(z), 0)), samples)[0]
    found = by_forecasts(Selected.of([first, second]), moments, TERMS, samples)
    assert_array_equal(found.support, np.stack([one.support for one in found.paths]))
    return found.paths[1].chosen


def test_a_set_whose_forecasts_fail_gives_way_to_a_larger_one_that_is_no_worse_outside():
    samples = runs()
    growing = [False, False, True, False, False, False]  # v' = a v: no oscillation
    true = LINEAR[1] != 0
    assert chosen(path([growing, true], [0.5, 0.4]), samples) == 1
    assert chosen(path([growing, true], [0.5, 0.6]), samples) == 0
    assert chosen(path([growing, true], [0.5, 0.4]), replace(samples, times=None)) == 0
    renamed = replace(samples, outputs=("x", "load"))
    assert chosen(path([growing, true], [0.5, 0.4]), renamed) == 0


def test_a_more_exact_set_does_not_replace_one_whose_forecasts_hold():
    samples = runs()
    undamped = [False, True, False, False, False, False]
    assert chosen(path([undamped, LINEAR[1] != 0], [0.1, 0.01]), samples) == 0
