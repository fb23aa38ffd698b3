"""The picture of a selection's path shows the numbers of the path."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import orthoreg as og
from orthoreg._errors import InputError
from orthoreg.plotting import plot_selection, rendered


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
        outer = lines["outer part, not fitted"]
        assert_allclose(outer.get_xdata(), path.n_terms)
        assert_allclose(outer.get_ydata(), np.sqrt(path.outer))
        assert_allclose(lines["inner part, fitted"].get_ydata(), np.sqrt(path.inner))
        assert lines["chosen"].get_xdata() == path.support.sum()
        assert axes.get_yscale() == "log"


@pytest.mark.parametrize("equations", [1, 4, 8])
def test_any_number_of_equations_is_drawn(equations):
    assert rendered(plot_selection(model(equations))).startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "selection", [og.CrossValidation(), og.InformationCriterion(), og.StabilitySelection()]
)
def test_every_selection_has_a_path_to_draw(selection):
    assert rendered(plot_selection(model(2, selection=selection))).startswith(b"\x89PNG")


def test_exact_fits_have_errors_of_zero_and_are_drawn():
    x = np.linspace(-1, 1, 50)[:, None]
    fitted = og.OrthoReg(og.Polynomial(2), og.Zero()).fit(x, x)
    values = plot_selection(fitted).axes[0].get_lines()[0].get_ydata()
    assert (np.asarray(values) > 0).all()


def test_a_model_without_a_selection_has_no_path():
    with pytest.raises(InputError, match="plot_selection needs a model whose fit chose terms"):
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
