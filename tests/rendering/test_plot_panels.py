"""Properties of all figures: Axes of the caller, unchanged names, and files."""

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from pictures import layout_faults, oscillator, said
from PIL import Image

import orthoreg as og
from orthoreg._common.errors import InputError
from orthoreg.findings.charts import Label, shortened
from orthoreg.findings.charts._choice import envelope, evenly, rows_of
from orthoreg.plotting import (
    plot_forecast,
    plot_phase,
    plot_residual,
    plot_selection,
    rendered,
)
from orthoreg.rendering.figures._style import FLOW, INK, MEASURED, RESIDUAL

NAMES = ["$x_1$", "a_b^c{\\frac", "x" * 90, "e\nf\tg", "$", "_θ̈_温度"]


@pytest.fixture(scope="module")
def strange():
    rng = np.random.default_rng(0)
    data = og.Dataset.from_arrays(
        rng.normal(size=(60, 6)).cumsum(axis=0), 1.0, names=NAMES, units={"$x_1$": "$m^2$"}
    )
    return data, og.OrthoReg(og.Polynomial(1), og.Zero()).fit(data)


def every(model, data, **options) -> dict[str, Figure]:
    forecasts = [run.states for run in data]
    return {
        "forecast": plot_forecast(data, forecasts, **options),
        "phase": plot_phase(model, data, **options),
        "residual": plot_residual(model, data, **options),
        "selection": plot_selection(model, **options),
    }


def test_no_name_is_set_as_mathematics_and_long_ones_are_cut(strange):
    data, model = strange
    figure = plot_forecast(data, [data.states], title="$\\frac$")
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels[:2] == ["$x_1$ [$m^2$]", "a_b^c{\\frac"] and labels[3:5] == ["e f g", "$"]
    assert len(labels[2]) < 25 and "…" in labels[2]
    assert "$\\frac$" in said(figure)
    assert not any(axes.yaxis.label.get_parse_math() for axes in figure.axes)


@pytest.mark.filterwarnings("ignore:Glyph")
def test_names_do_not_lie_on_each_other(strange):
    data, model = strange
    for name, figure in every(model, data).items():
        assert layout_faults(figure) == [], name


def test_letters_that_the_font_lacks_do_not_fill_the_terminal(strange):
    data, model = strange
    assert rendered(plot_phase(model, data, states=[NAMES[0], NAMES[-1]])).startswith(b"\x89PNG")


def test_a_name_is_cut_in_its_middle():
    assert shortened("short") == "short"
    assert shortened("velocity of the trolley_dot", 20) == "velocity of t…ey_dot"
    label = Label("n" * 40, "kg").short(18)
    assert label.endswith(" [kg]") and len(label) == 18


def test_axes_of_the_caller_are_drawn_into_and_their_figure_returned(swing, swing_model):
    figure = Figure()
    grid = figure.subplots(2, 2)
    assert plot_forecast(swing, [run.states for run in swing], ax=grid) is figure
    assert len(figure.axes) == 4 and not figure.texts and not figure.legends
    assert [axes.get_ylabel() for axes in grid.flat] == ["x", "x", "v", "v"]
    single = Figure()
    ax = single.subplots()
    assert plot_phase(swing_model, swing, ax=ax) is single
    single.draw_without_rendering()
    assert not ax.get_legend().get_window_extent().overlaps(ax.bbox) and ax.get_xlabel() == "x"
    both = Figure()
    assert plot_residual(swing_model, swing, ax=list(both.subplots(1, 2))) is both
    assert plot_selection(swing_model, ax=Figure().subplots(1, 2)).axes[1].get_title() == "v': x"


def test_axes_in_a_part_of_a_figure_belong_to_the_whole(swing, swing_model):
    figure = Figure()
    part = figure.add_subfigure(figure.add_gridspec(1, 2)[0, 0])
    assert plot_phase(swing_model, swing, ax=part.subplots()) is figure


def test_the_number_of_axes_is_checked(swing, swing_model):
    forecasts = [run.states for run in swing]
    with pytest.raises(InputError, match="needs 4 Axes here, 2 states x 2 runs, row"):
        plot_forecast(swing, forecasts, ax=Figure().subplots())
    with pytest.raises(InputError, match=r"plot_residual\(ax=...\) needs 2 Axes here"):
        plot_residual(swing_model, swing, ax=Figure().subplots(3))
    ax = Figure().subplots()
    with pytest.raises(InputError, match="some of them twice"):
        plot_selection(swing_model, ax=[ax, ax])
    with pytest.raises(InputError, match="must be Matplotlib Axes, one or several; got 'here'"):
        plot_phase(swing_model, swing, ax="here")
    with pytest.raises(InputError, match="Axes of one figure"):
        plot_selection(swing_model, ax=[ax, Figure().subplots()])


def test_standard_pictures_have_no_overlaps(pendulum_runs, pendulum_model):
    for name, figure in every(pendulum_model, pendulum_runs).items():
        assert layout_faults(figure) == [], name


def test_large_and_small_numbers_have_room():
    data = oscillator([1e7, 3e7])
    small = oscillator([1e-5, 3e-5])
    for runs in (data, small):
        model = og.OrthoReg(og.Polynomial(1), og.Zero()).fit(runs)
        for name, figure in every(model, runs).items():
            assert layout_faults(figure) == [], name


def test_files_have_the_size_of_the_figure(swing, swing_model, tmp_path):
    figure = plot_phase(swing_model, swing)
    path = tmp_path / "phase.png"
    path.write_bytes(rendered(figure))
    with Image.open(path) as image:
        width, height = figure.get_size_inches() * figure.dpi
        assert abs(image.width - width) <= 1 and abs(image.height - height) <= 1
        pixels = np.asarray(image.convert("L"))
    assert 0.01 < (pixels < 100).mean() < 0.2  # lines and letters on a mostly white page
    assert (pixels[:5] == 255).all() and (pixels[:, -3:] == 255).all()
    assert rendered(figure, "svg").startswith(b"<?xml")


def test_colours_differ_in_print_without_colour():
    def grey(colour):
        return float(np.dot(matplotlib.colors.to_rgb(colour), [0.299, 0.587, 0.114]))

    assert grey(INK) < 0.15 < grey(RESIDUAL) < grey(MEASURED) < grey(FLOW) < 0.8


def test_nothing_global_is_changed(swing, swing_model):
    before = dict(matplotlib.rcParams)
    for figure in every(swing_model, swing).values():
        rendered(figure)
    assert dict(matplotlib.rcParams) == before


def test_rows_of_large_data_are_stretches_that_stand_in_time():
    t = np.arange(50_000) * 0.1
    data = og.Dataset.from_arrays([np.c_[t], np.c_[t[:3000]]], [t, t[:3000]])
    few = rows_of(data, 5000)
    assert 4000 <= few.n_samples <= 5000 and few.run_lengths.min() >= 250
    for run in few:
        assert np.allclose(np.diff(run.times), 0.1)
    assert few.times[0] == 0.0 and few.labels[0] == "0" and few.labels[-1] == "1"
    assert rows_of(data, 10**6) is data


def test_an_envelope_keeps_extremes_and_ends(rng):
    values = rng.normal(size=10_007)
    values[17] = np.nan
    rows = envelope(values, 100)
    assert len(rows) <= 100 and rows[0] == 0 and rows[-1] == 10_006
    assert {int(np.nanargmax(values)), int(np.nanargmin(values))} <= set(rows.tolist())
    assert envelope(np.array([1.0, np.nan, 2.0]), 100).tolist() == [0, 2]
    assert evenly(5, 3).tolist() == [0, 2, 4] and evenly(2, 9).tolist() == [0, 1]
