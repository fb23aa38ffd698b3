"""Forecasts over time: the drawn numbers are correct, and the text says what is shown."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from pictures import TIMES, layout_faults, lines_of, oscillator, said

import orthoreg as og
from orthoreg._common.errors import InputError
from orthoreg.plotting import plot_forecast
from orthoreg.simulation import Rollout, Status


def rollout(x, *, left_at=None, stopped_at=None, times=TIMES) -> Rollout:
    status = Status.completed if stopped_at is None else Status.diverged
    return Rollout(times, x, status, stopped_at, None, "", left_at)


def test_each_panel_has_the_measured_rows_and_the_forecast(swing):
    forecasts = [1.1 * run.states for run in swing]
    figure = plot_forecast(swing, forecasts, title="Test runs")
    assert isinstance(figure, Figure) and len(figure.axes) == 4
    for i, axes in enumerate(figure.axes):
        run, state = i % 2, i // 2
        (measured,), (forecast,) = lines_of(axes, "measured"), lines_of(axes, "forecast")
        assert_allclose(measured.get_ydata(), swing[run].states[:, state])
        assert_allclose(forecast.get_ydata(), 1.1 * swing[run].states[:, state])
        assert_allclose(forecast.get_xdata(), TIMES)
    size = np.square(swing.states.std(axis=0)).sum()
    for run, axes in enumerate(figure.axes[:2]):
        error = np.sqrt(np.square(0.1 * swing[run].states).sum(axis=1).mean() / size)
        assert axes.get_title() == f"run {run}: error {error:#.2g}"
    assert said(figure).startswith("Test runs")


def test_what_a_model_forecasts_is_taken_as_it_is(swing):
    rollouts = [rollout(run.states) for run in swing]
    arrays = [run.states for run in swing]
    for a, b in zip(
        plot_forecast(swing, rollouts).axes, plot_forecast(swing, arrays).axes, strict=True
    ):
        assert_allclose(lines_of(a, "forecast")[0].get_xydata(),
                        lines_of(b, "forecast")[0].get_xydata())  # fmt: skip


def test_a_batch_and_a_single_rollout_are_taken_too(swing):
    batch = Rollout(
        TIMES, np.stack([run.states for run in swing]), [Status.completed] * 2, [None] * 2,
        [None] * 2, ["", ""],
    )  # fmt: skip
    assert len(plot_forecast(swing, batch).axes) == 4
    assert len(plot_forecast(swing[0], rollout(swing[0].states)).axes) == 2


def test_a_rollout_on_its_own_finer_times_is_drawn_at_those():
    fine = np.linspace(0, 6, 401)
    data = oscillator([1.0])
    x = np.column_stack([np.cos(fine), -np.sin(fine)])
    figure = plot_forecast(data, [rollout(x, times=fine)])
    assert_allclose(lines_of(figure.axes[0], "forecast")[0].get_xdata(), fine)
    error = float(figure.axes[0].get_title().removeprefix("error "))
    assert error < 1e-3  # interpolated to the measured times


def test_a_line_ends_where_its_rollout_stopped_and_a_cross_says_so(swing):
    x = np.array(swing[0].states)
    x[60:] = np.nan
    figure = plot_forecast(
        swing, [rollout(x, stopped_at=2.97), rollout(swing[1].states)], states=["v"]
    )
    stopped, completed = figure.axes
    (line,), (cross,) = lines_of(stopped, "forecast"), lines_of(stopped, "forecast stopped")
    assert line.get_xdata()[-1] == TIMES[59]
    assert cross.get_xdata() == [2.97] and cross.get_ydata() == [x[59, 1]]
    assert stopped.get_title() == "run 0: stopped at t = 2.97"
    assert not lines_of(completed, "forecast stopped")
    assert "forecast stopped" in [text.get_text() for text in figure.legends[0].get_texts()]


def test_a_forecast_that_left_the_range_has_its_cross_at_the_edge(swing):
    x = np.array(swing[1].states)
    x[60:80] = 1e9
    x[80:] = np.nan
    figure = plot_forecast(swing[1], [x])
    axes = figure.axes[0]
    assert lines_of(axes, "forecast stopped")[0].get_ydata() == [axes.get_ylim()[1]]
    assert axes.get_ylim()[1] <= 2 + 0.6 * 4  # the measured range remains readable


def test_where_a_rollout_left_the_training_data_the_panel_is_shaded(swing):
    figure = plot_forecast(swing, [rollout(swing[0].states, left_at=4.0), rollout(swing[1].states)])
    spans = [[patch.get_extents().transformed(axes.transData.inverted()) for patch in axes.patches]
             for axes in figure.axes]  # fmt: skip
    assert [len(one) for one in spans] == [1, 0, 1, 0]
    assert_allclose([spans[0][0].x0, spans[0][0].x1], [4.0, 6.0])
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["measured", "forecast", "outside the training data"]


def test_of_many_states_those_with_the_largest_error_are_shown_and_the_figure_says_so(chain):
    wrong = [3, 5, 8, 11, 14, 17]
    forecasts = [run.states + 0.1 * np.isin(np.arange(20), wrong) for run in chain]
    figure = plot_forecast(chain, forecasts)
    labels = [axes.get_ylabel() for axes in figure.axes if axes.get_ylabel()]
    assert labels == [chain.state_names[k] for k in wrong]
    assert "6 of 20 states: those with the largest forecast error" in said(figure)
    assert "3 of 4 runs" in said(figure)
    assert layout_faults(figure) == []


def test_the_caller_chooses_states(chain):
    figure = plot_forecast(chain, [run.states for run in chain], states=["p9", "q0"])
    assert [axes.get_ylabel() for axes in figure.axes[::3]] == ["p9", "q0"]
    assert "2 of 20 states, as requested" in said(figure)
    with pytest.raises(InputError, match=r"names 'p99', which is not one of the states .*Did you"):
        plot_forecast(chain, [run.states for run in chain], states=["p99"])


def test_runs_are_shown_from_the_smallest_error_to_the_largest():
    data = oscillator([1.0] * 9)
    offsets = [0.5, 0.1, 0.9, 0.3, 0.8, 0.2, 0.7, 0.4, 0.6]
    figure = plot_forecast(data, [data[i].states + o for i, o in enumerate(offsets)])
    titles = [axes.get_title().split(":")[0] for axes in figure.axes[:3]]
    assert titles == ["run 1", "run 0", "run 2"]  # errors 0.1, 0.5 and 0.9
    assert "3 of 9 runs, from the smallest forecast error to the largest" in said(figure)
    one = plot_forecast(data, [run.states for run in data], most_runs=1)
    assert len(one.axes) == 2


def test_inputs_stand_in_a_thin_panel_below():
    data = oscillator(
        u=[np.sin(TIMES)[:, None], np.cos(TIMES)[:, None]], input_names=["push"],
        units={"push": "N", "x": "m", "t": "s"},
    )  # fmt: skip
    figure = plot_forecast(data, [run.states for run in data])
    assert len(figure.axes) == 6
    below = figure.axes[4:]
    assert_allclose(lines_of(below[1], "input")[0].get_ydata(), np.cos(TIMES))
    heights = [axes.get_position().height for axes in figure.axes]
    assert max(heights[4:]) < 0.5 * min(heights[:4])
    assert below[0].get_title(loc="left") == "input push [N]"
    assert figure.axes[0].get_ylabel() == "x [m]" and below[0].get_xlabel() == "t [s]"
    assert layout_faults(figure) == []


def test_an_input_that_is_held_is_drawn_in_steps():
    pushes = [np.where(TIMES < TIMES[len(TIMES) // 2], 0.0, 1.0)[:, None]] * 2
    data = oscillator(u=pushes, input_names=["push"])
    figure = plot_forecast(data, [run.states for run in data])
    (line,) = lines_of(figure.axes[4], "input")
    assert line.get_drawstyle() == "steps-post"
    assert_allclose(line.get_xdata(), TIMES[[0, len(TIMES) // 2, -1]])
    ramp = plot_forecast(data, [run.states for run in data], interpolation={"push": "linear"})
    assert lines_of(ramp.axes[4], "input")[0].get_drawstyle() == "default"


def test_a_million_rows_are_thinned_to_their_envelope():
    t = np.arange(1_000_000) * 0.01
    x = np.cos(t)[:, None]
    x[123_456] = 5.0
    data = og.Dataset.from_arrays(x, t)
    figure = plot_forecast(data, [x])
    (line,) = lines_of(figure.axes[0], "measured")
    assert len(line.get_xdata()) < 2000
    assert line.get_ydata().max() == 5.0 and line.get_ydata().min() == x.min()
    assert line.get_xdata()[0] == 0.0 and line.get_xdata()[-1] == t[-1]


@pytest.mark.parametrize(
    "x, forecast",
    [
        (np.ones((3, 1, 2)), np.ones((1, 2))),
        (np.random.default_rng(0).normal(size=(200, 3, 2)), np.zeros((3, 2))),
        (np.random.default_rng(0).normal(size=(1, 9, 2)), np.full((9, 2), np.nan)),
        (np.random.default_rng(0).normal(size=(1, 9, 2)), np.full((9, 2), 1e300)),
    ],
    ids=["one row", "short runs", "nothing finite", "huge"],
)
@pytest.mark.filterwarnings("ignore:.*never changes")
def test_odd_data_are_drawn(x, forecast):
    data = og.Dataset.from_arrays(x, np.arange(float(x.shape[1])))
    figure = plot_forecast(data, [forecast] * len(x))
    assert layout_faults(figure) == []
    for axes in figure.axes:
        low, high = axes.get_ylim()
        assert np.isfinite([low, high]).all() and high > low


@pytest.mark.filterwarnings("ignore:.*never changes")
def test_a_constant_state_gets_a_readable_axis():
    data = og.Dataset.from_arrays(np.full((9, 1), 9.81), np.arange(9.0))
    figure = plot_forecast(data, [data.states * (1 + 1e-15)])
    low, high = figure.axes[0].get_ylim()
    assert low < 9.7 and high > 9.9


def test_what_does_not_fit_the_data_is_refused(swing):
    with pytest.raises(InputError, match="one forecast for each of the 2 runs of the data; got 1"):
        plot_forecast(swing, [swing[0].states])
    with pytest.raises(InputError, match=r"run '1' must have shape \(121, 2\).*it has \(120, 2\)"):
        plot_forecast(swing, [swing[0].states, swing[1].states[1:]])
    with pytest.raises(InputError, match="most_runs=...\\) must be at least 1; got 0"):
        plot_forecast(swing, [run.states for run in swing], most_runs=0)


def test_the_data_are_not_changed(swing):
    before = replace(swing, states=np.array(swing.states))
    plot_forecast(swing, [run.states for run in swing])
    assert_allclose(swing.states, before.states)
