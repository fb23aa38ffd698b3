"""LaTeX and matplotlib can typeset the equations, with any names."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from matplotlib.mathtext import MathTextParser

import orthoreg as og
from orthoreg.export._latex import latex_name

X = np.random.default_rng(0).uniform(0.1, 0.9, (200, 2))
SLOPES = np.column_stack([2 - 3 * X[:, 1] + 0.3 * np.cos(9 * X[:, 0]), -X[:, 0] * X[:, 1]])
PARSER = MathTextParser("path")


def latex(names, slopes=SLOPES, library=None, augmentation=None, precision=4, **options):
    data = og.Dataset.from_arrays(X, 1.0, names=names, derivatives=slopes)
    model = og.OrthoReg(library or "poly(2)", augmentation or og.Zero(), **options).fit(data)
    return model.to_latex(precision)


@pytest.mark.parametrize(
    "name, expected, derivative",
    [
        ("x", "x", r"\dot{x}"),
        ("prey", r"\mathrm{prey}", r"\dot{\mathrm{prey}}"),
        ("theta", r"\theta", r"\dot{\theta}"),
        ("Omega", r"\Omega", r"\dot{\Omega}"),
        ("θ", r"\theta", r"\dot{\theta}"),
        ("phi1", r"\phi_{1}", r"\dot{\phi}_{1}"),
        ("x10", "x_{10}", r"\dot{x}_{10}"),
        ("omega_1", r"\omega_{1}", r"\dot{\omega}_{1}"),
        ("theta_dot", r"\dot{\theta}", r"\ddot{\theta}"),
        ("q1_dot", r"\dot{q}_{1}", r"\ddot{q}_{1}"),
        ("x_ddot_2", r"\ddot{x}_{2}", r"\dddot{x}_{2}"),
        ("x_dddot", r"\dddot{x}", r"\dot{\dddot{x}}"),
        ("xdot", r"\dot{x}", r"\ddot{x}"),
        ("phidot2", r"\dot{\phi}_{2}", r"\ddot{\phi}_{2}"),
        ("roidot", r"\mathrm{roidot}", r"\dot{\mathrm{roidot}}"),
        ("x_max", r"x_{\mathrm{max}}", r"\dot{x}_{\mathrm{max}}"),
        ("v_x_theta", r"v_{x,\theta}", r"\dot{v}_{x,\theta}"),
        ("Beta", r"\mathrm{Beta}", r"\dot{\mathrm{Beta}}"),
        ("prey2", r"\mathrm{prey}_{2}", r"\dot{\mathrm{prey}}_{2}"),
        ("a b", r"\mathrm{a~b}", r"\dot{\mathrm{a~b}}"),
        ("50%", r"\mathrm{50\%}", r"\dot{\mathrm{50\%}}"),
        ("$x_1$", r"\mathrm{\$x\_1\$}", r"\dot{\mathrm{\$x\_1\$}}"),
        ("{a}\\b", r"\mathrm{\{a\}\backslash{}b}", r"\dot{\mathrm{\{a\}\backslash{}b}}"),
        ("new\nline\x07", r"\mathrm{new~line}", r"\dot{\mathrm{new~line}}"),
    ],
)
def test_names_are_set_as_what_they_mean(name, expected, derivative):
    assert latex_name(name) == expected
    assert latex_name(name, derivatives=1) == derivative


@example("x_")
@example("_x")
@example('`a"^~#')
@given(
    st.text(st.characters(codec="latin-1", exclude_characters="&"), min_size=1).filter(str.strip)
)
def test_every_name_can_be_set(name):
    PARSER.parse(f"${latex_name(name, derivatives=1)}$")


def test_an_ampersand_is_escaped_for_latex():
    assert latex_name("a&b") == r"\mathrm{a\&b}"  # a command that only matplotlib does not know


def test_lines_have_the_order_and_the_digits_of_the_equations():
    slopes = np.column_stack([2 - 3 * X[:, 1] + 0.0123456 * X[:, 0] * X[:, 1], np.zeros(200)])
    assert latex(["prey", "v"], slopes) == [
        r"\dot{\mathrm{prey}} = 2.000 - 3.000\,v + 0.01235\,\mathrm{prey} v",
        r"\dot{v} = 0",
    ]
    assert latex(["x", "lambda"], 1e9 * X @ [[0, 2.5e-18], [-1, 0]], precision=3) == [
        r"\dot{x} = -1.00 \cdot 10^{9}\,\lambda",
        r"\dot{\lambda} = 2.50 \cdot 10^{-9}\,x",
    ]


def test_the_residual_is_shown():
    first, second = latex(["theta", "omega_1"], augmentation=og.RandomFeatures(10, ridge=1e-6))
    assert first.endswith(r" + r_{\theta}\left(\theta, \omega_{1}\right)")
    assert second == r"\dot{\omega}_{1} = -1.000\,\theta \omega_{1}"
    PARSER.parse(f"${first}$")


@pytest.mark.parametrize(
    "formula, expected",
    [
        ("x**2*y", r"x^{2} y"),
        ("x/(0.5 + x)", r"\frac{x}{0.5 + x}"),
        ("1/y", r"\frac{1}{y}"),
        ("x/(y**2*sqrt(x))", r"\frac{x}{y^{2} \sqrt{x}}"),
        ("sin(3*x - y)", r"\sin\left(3 x - y\right)"),
        ("sin(x)**2", r"\sin^{2}\left(x\right)"),
        ("exp(-x**2)", r"e^{-x^{2}}"),
        ("exp(x)**y", r"\left(e^{x}\right)^{y}"),
        ("abs(x)*x", r"x \left|x\right|"),
        ("x**0.5", r"\sqrt{x}"),
        ("(x + y)**2", r"\left(x + y\right)^{2}"),
        ("log(x)", r"\ln\left(x\right)"),
        ("heaviside(x - y)", r"H\left(x - y\right)"),
        ("sign(x - y)", r"\operatorname{sign}\left(x - y\right)"),
        ("x**y", r"x^{y}"),
        ("2**x", r"2^{x}"),
        ("x + y", r"\left(x + y\right)"),
        ("1e-7*x", r"1e-7"),
    ],
)
def test_formulas_are_set_as_mathematics(formula, expected):
    truth = eval(
        formula, {name: getattr(np, name) for name in ("sin", "exp", "abs", "log", "sign", "sqrt")}
        | {"heaviside": lambda values: np.heaviside(values, 0.5)},
        {"x": X[:, 0], "y": X[:, 1]},
    )  # fmt: skip
    line = latex(["x", "y"], np.outer(truth, [2, 0]), og.Terms([formula]))[0]
    dot = r" \cdot " if expected[0].isdigit() else r"\,"
    if formula == "1e-7*x":
        dot, expected = r" \cdot ", r"1 \cdot 10^{-7} x"
    assert line == rf"\dot{{x}} = 2.000{dot}{expected}"
    PARSER.parse(f"${line}$")
