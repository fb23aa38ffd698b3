"""The residual, or the error of the equations: numbers, and only supported statements."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pictures import TIMES, layout_faults, lines_of, said

import orthoreg as og
from orthoreg._common.errors import InputError
from orthoreg.diagnostics import relative_error
from orthoreg.plotting import plot_residual


def dots(axes):
    (found,) = [one for one in axes.collections if one.get_offsets().size]
    return found


def panels(figure):
    return [axes for axes in figure.axes if axes.get_title()]


@pytest.fixture(scope="module")
def damped() -> og.Dataset:
    """Simulate v' = -x - v**3, fitted with a library without cubes."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (400, 2))
    slopes = np.column_stack([x[:, 1], -x[:, 0] - x[:, 1] ** 3])
    return og.Dataset.from_arrays(x, 0.1, names=["x", "v"], derivatives=slopes)


@pytest.fixture(scope="module")
def poor(damped) -> og.STLSQ:
    return og.STLSQ(0.1, og.Polynomial(1)).fit(damped)


def test_without_a_network_the_error_of_the_equations_is_drawn(damped, poor):
    figure = plot_residual(poor, damped)
    first, second = panels(figure)
    error = relative_error(poor.predict(damped), damped.derivatives)
    assert 0.05 < error
    assert f"error of the equations {error:.2g} of the derivative's size" in said(figure)
    missed = np.abs(poor.predict(damped) - damped.derivatives)
    size = np.sqrt(np.square(damped.derivatives).mean(axis=0))
    assert_allclose(np.sort(missed[:, 1] / size[1]), dots(second).get_array())
    share = np.sqrt(np.square(missed[:, 1] / size[1]).mean())
    assert second.get_title() == f"v': error {share:#.2g}"
    assert dots(first).get_clim() == dots(second).get_clim()
    assert layout_faults(figure) == []


@pytest.mark.parametrize("threshold", [0.1, 1e3])
def test_nothing_is_said_to_be_explained(damped, threshold):
    model = og.STLSQ(threshold, og.Polynomial(1)).fit(damped)
    text = said(plot_residual(model, damped)).lower()
    assert "explain" not in text and "no residual network: error of the equations" in text
    if threshold > 1:  # no terms at all
        assert "error of the equations 1.0 of" in text.replace("\n", " ")


def test_dots_lie_where_they_were_measured(damped, poor):
    _, second = panels(plot_residual(poor, damped))
    missed = np.abs(poor.predict(damped) - damped.derivatives)[:, 1]
    assert_allclose(dots(second).get_offsets(), damped.states[np.argsort(missed, kind="stable")])


def test_the_words_of_a_summary_stand_under_the_title(damped, poor):
    figure = plot_residual(poor, damped, words="v' misses a term.")
    assert "v' misses a term." in [text.get_text() for text in figure.texts]


def test_a_network_is_drawn_for_the_equations_that_have_one(pendulum_runs, pendulum_model):
    figure = plot_residual(pendulum_model, pendulum_runs)
    (axes,) = panels(figure)
    _, neural = pendulum_model.decompose(pendulum_runs)
    assert_allclose(dots(axes).get_array(), np.sort(np.abs(neural[:, 1])))
    text = said(figure)
    assert "1 of 2 equations: the others have no residual" in text
    left = relative_error(
        pendulum_model.predict(pendulum_runs), pendulum_model.target_derivatives(pendulum_runs)
    )
    printed = float(text.split("together: error ")[1].split()[0])
    assert_allclose(printed, left, rtol=0.06)
    assert layout_faults(figure) == []


def test_of_many_equations_those_with_the_largest_error_are_shown(chain, chain_model):
    figure = plot_residual(chain_model, chain)
    assert len(panels(figure)) == 6
    assert "6 of 20 equations: those with the largest error" in said(figure)
    figure = plot_residual(chain_model, chain, states=["p3"])
    (axes,) = panels(figure)
    assert axes.get_title().startswith("p3': error")
    assert layout_faults(figure) == []


def test_the_map_is_over_the_variables_that_matter():
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (500, 4))
    slopes = np.column_stack([-x[:, 0], -x[:, 1], -x[:, 2], 4 * np.abs(x[:, 1]) * x[:, 2] ** 2])
    data = og.Dataset.from_arrays(x, 0.1, derivatives=slopes)
    model = og.STLSQ(0.1, og.Terms(["x0", "x1", "x2"])).fit(data)
    (axes,) = panels(plot_residual(model, data, states=["x3"]))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x1", "x2")


def test_an_input_can_be_what_matters():
    rng = np.random.default_rng(1)
    x, u = rng.uniform(-1, 1, (500, 1)), rng.uniform(-1, 1, (500, 1))
    data = og.Dataset.from_arrays(x, 0.1, u, derivatives=-x + 3 * u**2, names=["x"])
    model = og.STLSQ(0.1, og.Terms(["x"])).fit(data)
    (axes,) = panels(plot_residual(model, data))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "u0")


def test_one_state_has_its_error_over_its_value():
    t = np.linspace(0, 3, 60)
    data = og.Dataset.from_arrays(np.exp(-t)[:, None], t, names=["n"])
    model = og.STLSQ(9.0, og.Polynomial(1)).fit(data)  # no terms
    (axes,) = plot_residual(model, data).axes
    (line,) = lines_of(axes, "|error| / size")
    assert line.get_ydata().max() > 1.0 and axes.get_title() == "n': error 1.0"


def test_runs_too_short_for_derivatives_say_so(swing_model):
    data = og.Dataset.from_arrays(
        np.random.default_rng(0).normal(size=(3, 1, 2)), [0.0], names=["x", "v"]
    )
    figure = plot_residual(swing_model, data)
    (text,) = figure.axes[0].texts
    assert "is unknown" in text.get_text() and "at least" in text.get_text()
    assert layout_faults(figure) == []


def test_large_data_are_sampled_in_stretches(swing_model):
    t = np.arange(300_000) * 0.05
    data = og.Dataset.from_arrays(np.column_stack([np.cos(t), -np.sin(t)]), t, names=["x", "v"])
    figure = plot_residual(swing_model, data)
    assert "20,000 of 300,000 rows" in said(figure)
    assert all(len(dots(axes).get_array()) <= 4000 for axes in panels(figure))


@pytest.mark.filterwarnings("ignore:.*never changes")
def test_a_state_at_rest_does_not_hide_the_others():
    x = np.column_stack([np.full(121, 9.81), np.exp(-TIMES)])
    data = og.Dataset.from_arrays(x, TIMES, names=["g", "y"])
    model = og.STLSQ(9.0, og.Polynomial(1)).fit(data)
    first, second = panels(plot_residual(model, data))
    assert float(first.get_title().split("error ")[1]) < 1e-3  # rounding errors are not derivatives
    assert second.get_title() == "y': error 1.0"


def test_equations_that_are_undefined_at_some_rows_are_drawn_as_infinitely_wrong():
    x = np.linspace(1, 2, 50)[:, None]
    data = og.Dataset.from_arrays(x, 0.1, derivatives=1 / x, names=["x"])
    model = og.STLSQ(0.1, og.Terms(["1/x"])).fit(data)
    there = og.Dataset.from_arrays(x - 1, 0.1, derivatives=x, names=["x"])
    (axes,) = plot_residual(model, there).axes
    assert axes.get_title() == "x': error inf"


def test_units_of_the_residual_are_those_of_the_derivative(pendulum_runs, pendulum_model):
    data = pendulum_runs.with_parts(units={"omega": "rad/s", "t": "s"})
    (axes,) = panels(plot_residual(pendulum_model, data))
    assert axes.get_title().startswith("omega' [rad/s²]: residual 0.")


def test_an_equation_that_is_none_is_refused(damped, poor):
    with pytest.raises(InputError, match="names 'y', which is not one of the equations 'x', 'v'"):
        plot_residual(poor, damped, states=["y"])
