"""Equations as MathML are well formed and complete, and names cannot run code."""

from xml.etree import ElementTree

import numpy as np
import pytest

import orthoreg as og
from orthoreg.export import mathml_formula, mathml_name
from orthoreg.terms import parse

SPACE = "{http://www.w3.org/1998/Math/MathML}"


def read(text: str) -> ElementTree.Element:
    """Parse the text with a parser that rejects MathML that is not well formed."""
    return ElementTree.fromstring(text)


def words(text: str) -> str:
    return "".join(read(text).itertext()).replace("\u2061", "")


@pytest.mark.parametrize(
    "formula, shown",
    [
        ("sin(x)**2", "sin2(x)"),
        ("x*y/(1 + x)", "xy1+x"),
        ("exp(-x**2)", "e−x2"),
        ("(x + y)**2", "(x+y)2"),
        ("sqrt(x) - abs(y)", "−|y|+x"),
        ("2*x*3", "6x"),
        ("x/2", "0.5x"),
        ("1e-9*x", "1⋅10−9x"),
        ("log(x)", "ln(x)"),
    ],
)
def test_a_formula_is_set_with_its_brackets_and_signs(formula, shown):
    expression = parse(formula, ("x", "y"))
    assert words(f"<p>{mathml_formula(expression)}</p>") == shown


@pytest.mark.parametrize(
    "name, derivatives, shown, tags",
    [
        ("theta", 1, "θ˙", ["mover"]),
        ("theta_dot", 1, "θ¨", ["mover"]),
        ("phi1", 0, "φ1", ["msub"]),
        ("x_max", 0, "xmax", ["msub"]),
        ("prey", 0, "prey", []),
        ("prey_max", 1, "preymax'", ["msub"]),
        ("speed_of_rotor_dot", 1, "speed_of_rotor''", []),
        ("<b>a & b</b>", 2, "<b>a & b</b>''", []),
    ],
)
def test_a_name_is_a_symbol(name, derivatives, shown, tags):
    element = read(f"<p>{mathml_name(name, derivatives)}</p>")
    assert "".join(element.itertext()) == shown
    assert [one.tag for one in element.iter() if one.tag in ("mover", "msub")] == tags
    assert not list(element.iter("b"))


def test_a_model_has_one_element_per_equation_with_what_was_given():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (200, 2))
    y = np.column_stack([x[:, 1], -9.81 * x[:, 0] - 0.3 * x[:, 1]])
    data = og.Dataset.from_arrays(x, 1.0, names=["<i>q</i>", "v"], derivatives=y)
    physics = og.Physics(equations={"v": "-9.81*`<i>q</i>` + ..."})
    model = og.OrthoReg(og.Polynomial(1), og.Zero(), physics=physics).fit(data)
    first, second = model.to_mathml()
    assert words(first) == "<i>q</i>'=1.000v"
    assert words(second) == "v˙=−9.81<i>q</i>\xa0(given)−0.3000v"
    assert read(second).tag == f"{SPACE}math"


def test_a_residual_is_a_function_of_all_variables(pendulum_model):
    texts = [words(one) for one in pendulum_model.to_mathml()]
    assert texts[1].endswith("+rω(θ,ω)") and "r" not in texts[0]
