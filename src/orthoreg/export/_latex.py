r"""A fitted field as LaTeX: \dot{\theta} = 1.000\,\omega. Set by LaTeX and by matplotlib alike."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from .._field import HybridField
from .._typing import Mask
from ..libraries import (
    Call,
    Expression,
    Number,
    Parameter,
    Power,
    Product,
    Sum,
    Variable,
    multiply,
    parameters_of,
    power,
)
from ._orders import implied, printed_equations
from ._text import check_precision, has_residual, is_given, significant

_GREEK_NAMES = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
    "upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
).split()
_GREEK = dict(zip("αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩ", _GREEK_NAMES, strict=True))
_COMMANDS = {*_GREEK.values(), "varepsilon", "vartheta", "varphi", "varrho", "varsigma", "ell"}
_DOTS = {"dot": 1, "ddot": 2, "dddot": 3}
_NAME = re.compile(r"(?P<letters>[^\W\d_]+?)(?P<dots>d{0,2}dot)?(?P<number>\d*)")
_SYMBOL = re.compile(r"[^\W\d_]+\d*(_[^\W_]+)*")
_ESCAPES = {
    "\\": r"\backslash{}", "^": r"\wedge{}", "~": r"\sim{}", " ": "~", '"': "''", "`": "'",
    **{letter: f"\\{letter}" for letter in "#$%&_{}"},
}  # fmt: skip
_FUNCTIONS = {"log": r"\ln", "sign": r"\operatorname{sign}", "heaviside": r"H"}
_GIVEN = r"\ \text{(given)}"
_AROUND = {"abs": r"\left|{}\right|", "sqrt": r"\sqrt{{{}}}", "exp": "e^{{{}}}"}


def to_latex(
    field: HybridField,
    outputs: Sequence[str],
    precision: int = 4,
    velocity_of: Mapping[str, str] | None = None,
    known: Mask | None = None,
) -> list[str]:
    r"""One line per equation, terms in the order of the library. A residual is a function r of
    all variables: \dot{\omega} = -1.042\,\sin\left(\theta\right) + r_{\omega}\left(...\right).
    Where theta_dot is the velocity of theta, \ddot{\theta} = ... stands in the place of both. What
    is `known` was given, and is marked so."""
    check_precision(precision)
    given = velocity_of or {}
    positions = implied(given)
    parametric = [bool(parameters_of(term)) for term in field.features.terms]
    field = field.resolved(precision)
    variables = ", ".join(latex_name(name) for name in field.features.variables)
    lines = []
    for c in printed_equations(outputs, given):
        output = outputs[c]
        if output in given:
            lines.append(f"{latex_name(output, derivatives=1)} = {latex_name(given[output])}")
            continue
        text = ""
        whole = is_given(field, c, known)
        for k, value in enumerate(field.coefficients[c]):
            if value == 0:
                continue
            term, exact = field.features.terms[k], known is not None and bool(known[c, k])
            shown = f"{abs(value):.12g}" if exact else significant(abs(value), precision)
            size, body = _scientific(shown), _formula(term, 2)
            if term == Number(1.0):
                body = size
            elif not ((exact or parametric[k]) and abs(value) == 1):
                body = _side_by_side([size, body], r"\,")
            if exact and not whole:
                body += _GIVEN
            sign = "-" if value < 0 else "+"
            text += f" {sign} {body}" if text else f"{sign.strip('+')}{body}"
        if has_residual(field, c):
            mark = rf"r_{{{latex_name(output)}}}\left({variables}\right)"
            text = f"{text} + {mark}" if text else mark
        left = latex_name(positions.get(output, output), derivatives=1 + (output in positions))
        lines.append(f"{left} = {text or '0'}{_GIVEN if whole else ''}")
    return lines


# -- names ---------------------------------------------------------------------------------


def latex_name(name: str, derivatives: int = 0) -> str:
    r"""A variable's name in mathematics, or that of its derivative: `phi1` as \phi_{1},
    `theta_dot` as \dot{\theta}, `x_max` as x_{\mathrm{max}}, `prey` as \mathrm{prey}."""
    symbol = _symbol(name)
    base, dots = symbol.base, symbol.dots + derivatives
    while dots > 0:
        base = rf"\{'d' * min(dots, 3)}ot{{{base}}}"
        dots -= 3
    return base + (f"_{{{','.join(symbol.below)}}}" if symbol.below else "")


@final
@dataclass(frozen=True)
class _Symbol:
    """A letter or word with dots above it and indices below it, each already LaTeX."""

    base: str
    dots: int = 0
    below: tuple[str, ...] = ()


def _symbol(name: str) -> _Symbol:
    name = "".join(letter if letter.isprintable() else " " for letter in name)
    name = " ".join(name.split())
    if _SYMBOL.fullmatch(name) is None:
        return _Symbol(_words(name))
    first, *rest = name.split("_")
    found = _NAME.fullmatch(first)
    assert found is not None
    letters, dots, number = found["letters"], found["dots"] or "", found["number"]
    if dots and len(letters) > 1 and letters not in _COMMANDS:
        letters, dots = letters + dots, ""  # a word that happens to end so
    above = [dots, *(part for part in rest if part in _DOTS)]
    below = [number, *(part for part in rest if part not in _DOTS)]
    return _Symbol(
        _letters(letters),
        sum(_DOTS.get(part, 0) for part in above),
        tuple(_letters(part) for part in below if part),
    )


def _letters(text: str) -> str:
    text = _GREEK.get(text, text)
    if text in _COMMANDS:
        return f"\\{text}"
    return text if len(text) == 1 or text.isdigit() else _words(text)


def _words(text: str) -> str:
    return rf"\mathrm{{{''.join(_ESCAPES.get(letter, letter) for letter in text)}}}"


# -- formulas ------------------------------------------------------------------------------


def _formula(item: Expression, binding: int = 0) -> str:
    """A formula; brackets stand around it where it binds less than its surroundings.

    Sums bind by 1, products by 2, powers by 3, everything else by 5.
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
                sign = "-" if _is_negative(term) else "+"
                text += f" {sign} {_formula(_absolute(term), 2)}"
        case Product(_) if _is_negative(item):
            text, level = f"-{_formula(_absolute(item), 2)}", 1
        case Product(factors):
            above = [factor for factor in factors if not _is_inverse(factor)]
            below = [power(factor, Number(-1.0)) for factor in factors if _is_inverse(factor)]
            text, level = _side_by_side([_formula(factor, 2) for factor in above]), 2
            if below:
                under = multiply(*below)
                text = rf"\frac{{{_formula(multiply(*above))}}}{{{_formula(under)}}}"
        case Power(_, _) if _is_inverse(item):
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
    """The factors of a product, with a dot before a number."""
    first, *rest = factors
    return first + "".join(
        (r" \cdot " if factor[0].isdigit() else space) + factor for factor in rest
    )


def _function(name: str) -> str:
    return _FUNCTIONS.get(name, f"\\{name}")


def _number(value: float) -> str:
    whole = value.is_integer() and abs(value) < 1e15
    return f"{int(value)}" if whole else _scientific(repr(value))


def _scientific(text: str) -> str:
    r"""1.5e-09 as 1.5 \cdot 10^{-9}."""
    digits, mark, exponent = text.partition("e")
    return rf"{digits} \cdot 10^{{{int(exponent)}}}" if mark else digits


def _is_negative(item: Expression) -> bool:
    match item:
        case Number(value) | Product((Number(value), *_)):
            return value < 0
    return False


def _absolute(item: Expression) -> Expression:
    return multiply(Number(-1.0), item) if _is_negative(item) else item


def _is_inverse(item: Expression) -> bool:
    return isinstance(item, Power) and isinstance(item.exponent, Number) and item.exponent.value < 0
