"""Views of data, bootstraps, explanations and discoveries in notebooks."""

import re

import numpy as np
import pytest

import orthoreg as og

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def data() -> og.Dataset:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (120, 2))
    slopes = np.column_stack([x[:, 1], -x[:, 0]])
    return og.Dataset.from_arrays(
        x, 1.0, names=[HOSTILE, "v"], derivatives=slopes, units={"v": "<b>m</b>", "t": "s"}
    )


def text(html: str) -> str:
    return re.sub(r"<[^>]*>", " ", html)


def test_a_dataset_is_a_table_of_its_variables(data):
    shown = data._repr_html_()
    assert HOSTILE not in shown and "<b>m</b>" not in shown
    assert "1 run of 120 samples; t in s" in text(shown)
    assert f"{data.states[:, 1].min():.4g}" in shown


def test_a_bootstrap_is_the_table_that_it_prints(data):
    model = og.OrthoReg(og.Polynomial(1), og.Zero()).fit(data)
    found = og.bootstrap(model, resamples=20)
    shown = found._repr_html_()
    assert HOSTILE not in shown and shown.count("<tr>") == 3
    assert "95% interval" in shown and "1.000 to 1.000" in shown


def test_explanations_and_discoveries_are_typeset():
    x = np.random.default_rng(0).uniform(-2, 2, (300, 1))
    y = -x + 0.5 * np.sin(3 * x)
    model = og.OrthoReg(og.Polynomial(1), og.Zero()).fit(x, y)
    shown = model.explain(x, y)._repr_html_()
    assert shown.count("<math") >= 2 and "sin(3*x0)" not in shown
    assert "0.5000" in text(shown)
    whole = model.explain(x, -x)._repr_html_()
    assert "Nothing to add" in whole and "<math" not in whole
