"""The figure of a selection shows the numbers of its path."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import orthoreg as og
from orthoreg._common.errors import InputError
from orthoreg.findings.charts import error_paths
from orthoreg.plotting import plot_selection
from orthoreg.rendering.figures import draw_paths


def model(equations: int, **params) -> og.OrthoReg:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (200, equations))
    y = np.roll(x, 1, axis=1) + 0.3 * x**2 + 0.01 * rng.standard_normal(x.shape)
    return og.OrthoReg(og.Polynomial(2), og.Zero(), **params).fit(x, y)


def test_each_panel_has_both_errors_and_marks_the_chosen_number():
    fitted = model(2)
    figure = plot_selection(fitted)
    assert len(figure.axes) == 2
    for axes, path in zip(figure.axes, fitted.selection_.paths, strict=True):
        lines = {line.get_label(): line for line in axes.get_lines()}
        outer = lines["rows that were not fitted"]
        assert_allclose(outer.get_xdata(), path.n_terms)
        assert_allclose(outer.get_ydata(), np.sqrt(path.outer))
        assert_allclose(lines["rows that were fitted"].get_ydata(), np.sqrt(path.inner))
        assert lines["chosen"].get_xdata() == path.support.sum()
        assert axes.get_yscale() == "log"
        low, high = axes.get_ylim()
        errors = np.sqrt([path.outer, path.inner])
        assert low < errors.min() and errors.max() < high
        assert 2 <= len(axes.get_yticks()) <= 7


def test_the_legend_is_above_the_panels():
    figure = plot_selection(model(2))
    (legend,) = figure.legends
    box = legend.get_window_extent(figure.canvas.get_renderer())
    assert not any(box.overlaps(axes.bbox) for axes in figure.axes)
    assert box.x1 < figure.bbox.x1 and box.y1 < figure.bbox.y1


@pytest.mark.parametrize("equations, panels", [(1, 1), (4, 4), (8, 6)])
def test_of_any_number_of_equations_six_are_drawn_and_the_figure_says_so(equations, panels):
    fitted = model(equations)
    figure = plot_selection(fitted)
    assert len(figure.axes) == panels
    said = [text.get_text() for text in figure.texts]
    assert ("6 of 8 equations: those with the largest error" in said) == (equations == 8)
    errors = [path.outer[path.chosen] for path in fitted.selection_.paths]
    largest = sorted(np.argsort(errors)[-panels:])
    assert [axes.get_title().split("'")[0] for axes in figure.axes] == [f"x{c}" for c in largest]


def test_the_caller_chooses_equations():
    figure = plot_selection(model(8), states=["x7", "x2"])
    assert [axes.get_title().split("'")[0] for axes in figure.axes] == ["x7", "x2"]


with pytest.deprecated_call():
    DEPRECATED = og.StabilitySelection()


@pytest.mark.parametrize(
    "selection, label",
    [
        (og.CrossValidation(), "rows that were not fitted"),
        (DEPRECATED, "rows that were not fitted"),
        (og.InformationCriterion(), "error with the penalty for terms"),
    ],
)
def test_every_selection_has_its_own_path(selection, label):
    fitted = model(2, selection=selection)
    figure = plot_selection(fitted)
    for axes, path in zip(figure.axes, fitted.selection_.paths, strict=True):
        lines = {line.get_label(): line for line in axes.get_lines()}
        assert_allclose(lines[label].get_ydata(), np.sqrt(path.outer))
    assert figure.legends[0].get_texts()[0].get_text() == label


def test_exact_fits_have_errors_of_zero_and_are_drawn():
    x = np.linspace(-1, 1, 50)[:, None]
    fitted = og.OrthoReg(og.Polynomial(2), og.Zero()).fit(x, x)
    values = plot_selection(fitted).axes[0].get_lines()[0].get_ydata()
    assert (np.asarray(values) > 0).all()


def test_there_is_no_ring_if_trajectories_chose_terms_that_are_not_on_the_path():
    chart = error_paths(model(1), None)
    (path,) = chart.paths
    assert path.used == path.n_terms.tolist().index(len(path.terms))
    for used, rings in ((path.used, 1), (None, 0)):
        (axes,) = draw_paths(replace(chart, paths=(replace(path, used=used),))).axes
        assert [line.get_label() for line in axes.get_lines()].count("chosen") == rings


def test_a_model_without_a_selection_has_no_path():
    with pytest.raises(InputError, match="plot_selection needs a model whose terms were chosen"):
        plot_selection(model(1, sparsity=0.1))


def test_the_certificate_tells_of_terms_that_the_selection_left_out():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (400, 1))
    y = -x + 0.3 * np.sin(9 * x)
    library = og.Terms(["x0", "sin(9*x0)", "2*x0"])
    rule = og.Extrapolation(most_terms=1)
    fitted = og.OrthoReg(library, og.RandomFeatures(80), selection=rule).fit(x, y)
    assert fitted.support_.tolist() == [[True, False, False]]
    (one,) = fitted.certificate_.equations
    assert one.residual_share > 0.1 and one.library_r2 > 0.9
    assert len(fitted.certificate_.dependences) == 1
