"""Formulas inside sentences become MathML, and other text is escaped."""

import re

import pytest

from orthoreg.export import typeset_formula, typeset_sentence, unicode_formula

NAMES = ["vx", "y", "S", "yaw rate"]


def marked(text: str) -> str:
    return re.sub("<math.*?</math>", "MATH", typeset_sentence(text, NAMES))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the term vx*y of vx", "the term MATH of vx"),
        ("'vx**2' and 'vx' (see vx**2).", "MATH and MATH (see MATH)."),
        ("`yaw rate`**2, S/(1.08 + S), (vx + y)**2", "MATH, MATH, MATH"),
        ("3*sin(vx) - 1", "MATH - 1"),
        ("read_table(positions=['vx', 'y'])", None),
        ("poly(2)+fourier(3), a/b and 1/2 on 2026/11/17", None),
        ("model.explain(data), `orthoreg explain`", None),
        ("10% of resamples", "10% of resamples"),
        ("<b>vx**2</b> & 'no <i>'", "&lt;b&gt;MATH&lt;/b&gt; &amp; 'no &lt;i&gt;'"),
        ("([`vx**", None),
    ],
)  # fmt: skip
def test_formulas_are_typeset_and_all_else_is_text(text, expected):
    assert marked(text).replace("&#x27;", "'") == (text if expected is None else expected)


def test_a_power_is_raised():
    assert "<msup>" in typeset_sentence("vx**2 helps", NAMES)
    assert typeset_formula("1", NAMES).startswith("<math")
    assert typeset_formula("<x>", NAMES) == "&lt;x&gt;"


@pytest.mark.parametrize(
    ("formula", "text"),
    [("vx**2*y", "vx²·y"), ("x**12", "x¹²"), ("x**p", "x**p"), ("x**0.5", "x**0.5"),
     ("`a*b`**2", "`a*b`**2")],
)  # fmt: skip
def test_formulas_of_charts_are_written_by_hand(formula, text):
    assert unicode_formula(formula) == text
