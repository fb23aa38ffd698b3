r"""A fitted field as LaTeX, such as \dot{\theta} = 1.000\,\omega, for LaTeX and Matplotlib."""

import re
from collections.abc import Mapping, Sequence

from .._common.arrays import Mask
from ..data import split_delayed
from ..field.hybrid import HybridField
from ..terms import (
    Call,
    Expression,
    Number,
    Parameter,
    Power,
    Product,
    Sum,
    Variable,
    is_inverse,
    multiply,
    power,
    split_fraction,
)
from ._text import GREEK, LETTERS, PrintedEquation, absolute, is_negative, printed, symbol
from ._units import CoefficientUnits

_ESCAPES = {
    "\\": r"\backslash{}", "^": r"\wedge{}", "~": r"\sim{}", " ": "~", '"': "''", "`": "'",
    **{letter: f"\\{letter}" for letter in "#$%&_{}"},
}  # fmt: skip
_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_UNIT_ESCAPES = {"µ": r"\mu ", "μ": r"\mu ", "Ω": r"\Omega ", "°": r"{}^{\circ}",
                 "%": r"\%", "_": r"\_", "·": r"\,"}  # fmt: skip
_FUNCTIONS = {"log": r"\ln", "sign": r"\operatorname{sign}", "heaviside": r"H"}
_GIVEN = r"\ \text{(given)}"
_AROUND = {"abs": r"\left|{}\right|", "sqrt": r"\sqrt{{{}}}", "exp": "e^{{{}}}"}


def to_latex(
    field: HybridField,
    outputs: Sequence[str],
    precision: int = 4,
    velocity_of: Mapping[str, str] | None = None,
    known: Mask | None = None,
    *,
    discrete: bool = False,
    units: CoefficientUnits | None = None,
) -> list[str]:
    r"""Return one line per equation, with terms in the order of the library.

    A residual is a function r of all variables: \dot{\omega} = -1.042\,\sin\left(\theta\right) +
    r_{\omega}\left(...\right). If theta_dot is the velocity of theta, \ddot{\theta} = ... replaces
    both equations. Equations of a map (`discrete`) are x_{k+1} = ... `known` terms are marked as
    given.
    """
    equations, field = printed(
        field, outputs, precision, velocity_of, known, discrete=discrete, units=units
    )
    variables = ", ".join(latex_name(name) for name in field.features.variables)
    lines = []
    for equation in equations:
        left = _left(equation)
        if equation.rate is not None:
            lines.append(f"{left} = {latex_name(equation.rate)}")
            continue
        text = ""
        for term in equation.terms:
            size, body = _scientific(term.size), _formula(term.term, 2)
            if term.unit:
                size += rf"\,{_unit(term.unit)}"
            if term.is_number:
                body = size
            elif size:
                body = _side_by_side([size, body], r"\,")
            if term.is_given and not equation.is_given:
                body += _GIVEN
            sign = "-" if term.is_negative else "+"
            text += f" {sign} {body}" if text else f"{sign.strip('+')}{body}"
        if equation.has_residual:
            mark = rf"r_{{{latex_name(outputs[equation.index])}}}\left({variables}\right)"
            text = f"{text} + {mark}" if text else mark
        lines.append(f"{left} = {text or '0'}{_GIVEN if equation.is_given else ''}")
    return lines


def _unit(text: str) -> str:
    r"""Return a unit such as rad/s² as \mathrm{rad/s^{2}}."""
    letters = "".join(_UNIT_ESCAPES.get(letter, letter) for letter in text)
    letters = re.sub(r"\^([\d.]+)", r"^{\1}", letters)
    raised = re.sub(f"[{_RAISED}]+", lambda match: f"^{{{_plain(match[0])}}}", letters)
    return rf"\mathrm{{{raised}}}"


def _plain(raised: str) -> str:
    return raised.translate(str.maketrans(_RAISED, "0123456789"))


def _left(equation: PrintedEquation) -> str:
    if equation.discrete:
        return latex_name(equation.name, at="k+1")
    return latex_name(equation.name, derivatives=equation.order)


# -- names ---------------------------------------------------------------------------------


def latex_name(name: str, derivatives: int = 0, at: str = "") -> str:
    r"""Return a variable, its derivative, or its value `at` an index, as LaTeX.

    `phi1` is \phi_{1}, `theta_dot` is \dot{\theta}, `x_max` is x_{\mathrm{max}}, and `prey` is
    \mathrm{prey}.
    """
    if delayed := split_delayed(name):
        variable, delay = delayed
        shown = latex_name(delay) if delay.isidentifier() else delay
        return rf"{latex_name(variable, derivatives)}\left(t - {shown}\right)"
    parts = symbol(name)
    base, dots = _letters(parts.base), parts.dots + derivatives
    while dots > 0:
        base = rf"\{'d' * min(dots, 3)}ot{{{base}}}"
        dots -= 3
    below = [*map(_letters, parts.below), *([at] if at else [])]
    return base + (f"_{{{','.join(below)}}}" if below else "")


def _letters(text: str) -> str:
    text = GREEK.get(text, text)
    if text in LETTERS:
        return f"\\{text}"
    return text if len(text) == 1 and text.isalpha() or text.isdigit() else _words(text)


def _words(text: str) -> str:
    return rf"\mathrm{{{''.join(_ESCAPES.get(letter, letter) for letter in text)}}}"


# -- formulas ------------------------------------------------------------------------------


def _formula(item: Expression, binding: int = 0) -> str:
    """Return a formula as LaTeX, in brackets if it binds less than its surroundings.

    The binding strength is 1 for sums, 2 for products, 3 for powers, and 5 for everything else.
    """
    match item:
        case Number(value):
            text, level = _number(value), 5 if value >= 0 else 1
        case Variable(_, name):
            text, level = latex_name(name), 5
        case Parameter(name):
            text, level = latex_name(name), 5
        case Sum(terms):
            text, level = _formula(terms[0], 1), 1
            for term in terms[1:]:
                sign = "-" if is_negative(term) else "+"
                text += f" {sign} {_formula(absolute(term), 2)}"
        case Product(_) if is_negative(item):
            text, level = f"-{_formula(absolute(item), 2)}", 1
        case Product(factors):
            above, below = split_fraction(factors)
            text, level = _side_by_side([_formula(factor, 2) for factor in above]), 2
            if below:
                under = multiply(*below)
                text = rf"\frac{{{_formula(multiply(*above))}}}{{{_formula(under)}}}"
        case Power(_, _) if is_inverse(item):
            text, level = rf"\frac{{1}}{{{_formula(power(item, Number(-1.0)))}}}", 2
        case Power(base, Number(0.5)):
            text, level = rf"\sqrt{{{_formula(base)}}}", 5
        case Power(Call(function, argument), exponent) if function not in _AROUND:
            raised = f"{_function(function)}^{{{_formula(exponent)}}}"
            text, level = rf"{raised}\left({_formula(argument)}\right)", 5
        case Power(base, exponent):
            text, level = f"{_formula(base, 4)}^{{{_formula(exponent)}}}", 3
        case Call(function, argument) if function in _AROUND:
            text = _AROUND[function].format(_formula(argument))
            level = 3 if function == "exp" else 5
        case Call(function, argument):
            text, level = rf"{_function(function)}\left({_formula(argument)}\right)", 5
    return rf"\left({text}\right)" if level < binding else text


def _side_by_side(factors: Sequence[str], space: str = " ") -> str:
    """Return a product, with a dot before factors that begin with a number."""
    first, *others = factors
    return first + "".join(
        (r" \cdot " if factor[0].isdigit() else space) + factor for factor in others
    )


def _function(name: str) -> str:
    return _FUNCTIONS.get(name, f"\\{name}")


def _number(value: float) -> str:
    is_integer = value.is_integer() and abs(value) < 1e15
    return f"{int(value)}" if is_integer else _scientific(repr(value))


def _scientific(text: str) -> str:
    r"""Return a number such as 1.5e-09 as 1.5 \cdot 10^{-9}."""
    digits, mark, exponent = text.partition("e")
    return rf"{digits} \cdot 10^{{{int(exponent)}}}" if mark else digits
