"""Phase portraits: the shown pairs, the order of layers, and the flow."""

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from numpy.testing import assert_allclose
from pictures import TIMES, layout_faults, lines_of, oscillator, said

import orthoreg as og
from orthoreg._common.errors import InputError
from orthoreg.findings.charts import PICTURE, phase_chart
from orthoreg.plotting import plot_forecast, plot_phase, plot_residual, plot_selection
from orthoreg.rendering._flow import arrowheads, streamlines


def collection(axes, label: str) -> LineCollection:
    (found,) = [one for one in axes.collections if one.get_label() == label]
    return found


def pairs(figure) -> list[tuple[str, str]]:
    return [(axes.get_xlabel(), axes.get_ylabel()) for axes in figure.axes]


def luminance(colour) -> float:
    return float(np.dot(to_rgb(colour), [0.299, 0.587, 0.114]))


def test_measured_runs_lie_on_top_of_a_lighter_flow(swing, swing_model):
    (axes,) = plot_phase(swing_model, swing).axes
    runs, flow = collection(axes, "measured runs"), collection(axes, "learned flow")
    assert_allclose(runs.get_segments()[1], swing[1].states)
    assert runs.get_zorder() > flow.get_zorder()
    assert luminance(runs.get_color()[0]) < 0.2 and luminance(flow.get_color()[0]) > 0.6
    assert np.min(runs.get_linewidth()) > np.max(flow.get_linewidth())
    assert_allclose(lines_of(axes, "first rows")[0].get_xydata(), [[1.0, 0.0], [2.0, 0.0]])


def test_nothing_overlaps_and_the_legend_is_outside(swing, swing_model, chain, chain_model):
    assert layout_faults(plot_phase(swing_model, swing)) == []
    assert layout_faults(plot_phase(chain_model, chain)) == []


def test_the_flow_of_an_oscillator_turns_around_its_centre(swing, swing_model):
    (axes,) = plot_phase(swing_model, swing).axes
    segments = collection(axes, "learned flow").get_segments()
    assert len(segments) > 10
    for line in segments:
        radius = np.linalg.norm(line, axis=1)
        if radius.min() > 0.3:
            assert np.ptp(radius) < 0.02 * radius.mean()
            cross = np.cross(np.c_[line[:-1], 0 * line[:-1, 0]], np.c_[line[1:], 0 * line[1:, 0]])
            assert (cross[:, 2] < 0).all()  # clockwise: x' = v


def test_a_velocity_that_was_not_measured_is_the_rate_of_its_position():
    data = og.Dataset.from_positions(
        [run.states[:, :1] for run in oscillator()], TIMES, names=["x"],
        units={"x": "m", "t": "s"},
    )  # fmt: skip
    model = og.OrthoReg(og.Polynomial(1), og.Zero()).fit(data)
    figure = plot_phase(model, data)
    assert pairs(figure) == [("x [m]", "x' [m/s]")]
    assert "x' estimated from positions" in said(figure)
    assert layout_faults(figure) == []
    forecast = plot_forecast(data, model.forecast(data))
    assert [axes.get_ylabel() for axes in forecast.axes[::2]] == ["x [m]", "x' [m/s]"]
    assert "x' estimated from positions" in said(forecast)
    (residual,) = [axes.get_title() for axes in plot_residual(model, data).axes if axes.get_title()]
    assert residual.startswith("x'': error")
    (path,) = plot_selection(model).axes
    assert path.get_title() == "x'': x"


def test_positions_stand_against_their_velocities(chain, chain_model):
    figure = plot_phase(chain_model, chain)
    assert pairs(figure) == [(f"q{i}", f"p{i}") for i in range(6)]
    assert "6 of 190 pairs of states: 6 of 10 positions against their velocities" in said(figure)


def test_names_tell_velocities_where_the_equations_do_not():
    rng = np.random.default_rng(0)
    names = ["a", "b", "a_dot", "b_dot"]
    data = og.Dataset.from_arrays(rng.normal(size=(50, 4)), np.arange(50.0), names=names)
    model = og.STLSQ(10.0, og.Polynomial(1)).fit(data)
    assert pairs(plot_phase(model, data)) == [("a", "a_dot"), ("b", "b_dot")]


def test_without_positions_the_most_coupled_states_are_shown():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 5))
    slopes = -x
    slopes[:, 1] += 3 * x[:, 4]
    slopes[:, 4] += x[:, 0]
    data = og.Dataset.from_arrays(x, np.arange(300.0), derivatives=slopes)
    model = og.STLSQ(0.1, og.Polynomial(1)).fit(data)
    figure = plot_phase(model, data)
    assert pairs(figure) == [("x1", "x4"), ("x0", "x4")]
    assert "2 of 10 pairs of states: those most strongly coupled" in said(figure)


def test_a_state_beside_an_oscillator_is_shown_against_what_moves_it():
    x = np.column_stack([np.cos(TIMES), -np.sin(TIMES), np.sqrt(TIMES)])
    slopes = np.column_stack([x[:, 1], -x[:, 0], 5 * x[:, 1] ** 2])
    data = og.Dataset.from_arrays(x, TIMES, names=["x", "v", "heat"], derivatives=slopes)
    model = og.STLSQ(0.1, og.Terms(["x", "v", "v**2"])).fit(data)
    assert pairs(plot_phase(model, data)) == [("x", "v"), ("v", "heat")]


def test_the_caller_chooses_states(chain, chain_model):
    figure = plot_phase(chain_model, chain, states=["q0", "q1"])
    assert pairs(figure) == [("q0", "q1")]
    with pytest.raises(InputError, match="at least two of the states; got .'q0'."):
        plot_phase(chain_model, chain, states=["q0"])


def test_inputs_and_other_states_are_said_to_be_held():
    data = oscillator(u=[np.sin(TIMES)[:, None]] * 2)
    model = og.STLSQ(0.1, og.Polynomial(1)).fit(data)
    assert "flow with inputs at their mean" in said(plot_phase(model, data))


def test_one_state_has_its_rate_with_the_measured_derivatives():
    t = np.linspace(0, 3, 60)
    data = og.Dataset.from_arrays(np.exp(-2 * t)[:, None], t, names=["n"], units={"n": "1/l"})
    model = og.OrthoReg(og.Polynomial(1), og.Zero()).fit(data)
    (axes,) = plot_phase(model, data).axes
    (line,), (dots,) = lines_of(axes, "model"), lines_of(axes, "measured")
    assert_allclose(line.get_ydata(), -2 * line.get_xdata(), atol=1e-3)
    assert_allclose(dots.get_ydata(), -2 * data.states[:, 0], atol=1e-2)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("n [1/l]", "d/dt of n")
    assert not lines_of(axes, "its equations alone")  # there is no residual


def test_many_short_runs_are_all_drawn_and_of_many_long_ones_some(swing_model):
    rng = np.random.default_rng(0)
    short = og.Dataset.from_arrays(rng.normal(size=(200, 3, 2)), 0.1, names=["x", "v"])
    figure = plot_phase(swing_model, short)
    assert len(collection(figure.axes[0], "measured runs").get_segments()) == 200
    many = oscillator(np.linspace(1, 2, 100))
    figure = plot_phase(swing_model, many)
    assert len(collection(figure.axes[0], "measured runs").get_segments()) == 24
    assert "24 of 100 runs" in said(figure)


def test_a_run_too_long_for_a_line_is_drawn_as_dots(swing_model):
    t = np.arange(200_000) * 0.05
    data = og.Dataset.from_arrays(np.column_stack([np.cos(t), -np.sin(t)]), t, names=["x", "v"])
    (axes,) = plot_phase(swing_model, data).axes
    (dots,) = lines_of(axes, "measured rows")
    assert_allclose(np.linalg.norm(dots.get_xydata(), axis=1), 1.0)
    assert len(dots.get_xdata()) == 2000 and not collection(axes, "measured runs").get_segments()


@pytest.mark.filterwarnings("ignore:.*never changes")
def test_one_row_and_constant_states_are_drawn(swing_model):
    data = og.Dataset.from_arrays(np.ones((1, 2)), [0.0], names=["x", "v"])
    (axes,) = plot_phase(swing_model, data).axes
    assert np.diff(axes.get_xlim()) > 0.5 and np.diff(axes.get_ylim()) > 0.5


def test_a_model_of_other_targets_has_no_flow(swing):
    model = og.STLSQ(0.1, og.Polynomial(1)).fit(swing.states, swing.states[:, :1])
    data = og.Dataset.from_arrays(swing.states, 0.1, names=["x0", "x1"])
    with pytest.raises(
        InputError, match="one equation for each of its 2 states; it was fitted to 1"
    ):
        plot_phase(model, data)


def test_data_of_other_columns_are_refused(swing_model):
    data = og.Dataset.from_arrays(np.ones((5, 2)) * np.arange(5.0)[:, None], 0.1, names=["a", "b"])
    with pytest.raises(InputError, match="was fitted to 'x', 'v'; the data have 'a', 'b'"):
        plot_phase(swing_model, data)


def test_lines_of_a_uniform_flow_are_straight_and_apart():
    lines = streamlines(np.tile([1.0, 0.5], (20, 20, 1)))
    offsets = []
    for line in lines:
        across = line @ np.array([-0.5, 1.0]) / np.hypot(1, 0.5)
        assert np.ptp(across) < 1e-9 and line[-1, 0] > line[0, 0]
        offsets.append((across[0], line[0, 0], line[-1, 0]))
    for i, (a, first, last) in enumerate(offsets):
        beside = [b for j, (b, f, t) in enumerate(offsets) if j != i and f < last and t > first]
        assert np.abs(np.array(beside) - a).min() > 1e-3
    assert 15 < len(lines) < 60


def test_a_flow_that_rests_or_is_undefined_has_no_lines():
    assert streamlines(np.zeros((20, 20, 2))) == []
    assert streamlines(np.full((20, 20, 2), np.nan)) == []
    half = np.tile([1.0, 0.0], (20, 20, 1))
    half[10:] = np.nan
    assert all(line[:, 1].max() < 0.55 for line in streamlines(half))
    assert arrowheads([], 1.0).shape == (0, 3, 2)


def test_arrows_point_along_the_flow():
    lines = streamlines(np.tile([0.0, -1.0], (20, 20, 1)))
    heads = arrowheads(lines, 2.0)
    tips, tails = heads[:, 0], heads[:, 1:].mean(axis=1)
    assert (tips[:, 1] < tails[:, 1]).all()
    assert_allclose(tips[:, 0], tails[:, 0], atol=1e-12)


def test_equilibria_of_two_states_are_marked():
    z = np.random.default_rng(0).uniform(-1.5, 1.5, (400, 2))
    rates = np.column_stack([z[:, 1], z[:, 0] - z[:, 0] ** 3 - 0.3 * z[:, 1]])
    model = og.OrthoReg("poly(3)", og.Zero()).fit(z, rates)
    rollout = model.simulate([-0.1, 0.9], np.linspace(0, 20, 300))
    data = og.Dataset.from_arrays(rollout.x, rollout.times, names=["x0", "x1"])
    (portrait,) = phase_chart(model, data, PICTURE).portraits
    low, high = portrait.low, portrait.high
    ends = dict(zip(["x0", "x1"], zip(low, high, strict=True), strict=True))
    assert_allclose(portrait.equilibria, [point.x for point in model.equilibria(ends)])
    stable = dict(zip(portrait.equilibria[:, 0].round(6), portrait.is_stable, strict=True))
    assert stable[1.0] and not stable[0.0]
    figure = plot_phase(model, data)
    labels = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert {"stable equilibrium", "equilibrium, not stable"} <= set(labels)
