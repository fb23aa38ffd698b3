"""Fitted fields, and sentences with formulas, as MathML, which browsers and notebooks display.

Equations are split into the left side and the terms, so that a page can break lines between terms
and annotate terms. Names are escaped.
"""

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from .._common.arrays import Mask
from .._common.errors import FormulaError
from .._common.html import Markup, escape
from .._common.notation import derivative_name
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
    parameters_of,
    parse,
    power,
    rename,
    split_fraction,
    variables_of,
)
from ._text import (
    LETTERS,
    PrintedTerm,
    absolute,
    implied_derivative,
    is_negative,
    printed,
    significant,
    symbol,
)
from ._units import CoefficientUnits

_ABOVE = {1: "˙", 2: "¨", 3: "⃛"}
_FUNCTIONS = {"log": "ln", "heaviside": "H"}
_MINUS, _APPLY, _TIMES, _THIN = "<mo>−</mo>", "<mo>&#x2061;</mo>", "<mo>⋅</mo>", "0.167em"
_TALL = ("<mfrac", "<msqrt", "<msup", "<mover")
_GIVEN = '<mtext class="given">&#xa0;(given)</mtext>'

_OPERATORS = "*/^("  # a word without any of these is a name
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_ENDINGS = "+-*/^(., "  # characters that cannot end a formula


@final
@dataclass(frozen=True)
class MathTerm:
    """A term as MathML without and with its sign, and its index in the library, or None."""

    body: str
    signed: str
    index: int | None
    is_given: bool = False


@final
@dataclass(frozen=True)
class MathEquation:
    """An equation as a list of MathML terms; `index` is the index of its output."""

    index: int
    left: str
    terms: tuple[MathTerm, ...]
    is_given: bool

    @property
    def element(self) -> str:
        """The equation as one `<math>` element."""
        right = "".join(
            term.signed + (_GIVEN if term.is_given and not self.is_given else "")
            for term in self.terms
        )
        end = _GIVEN if self.is_given else ""
        return math(f"{self.left}<mo>=</mo>{right or '<mn>0</mn>'}{end}")


def math(content: str) -> str:
    """Return the `<math>` element with this content."""
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML"><mrow>{content}</mrow></math>'


def to_mathml(
    field: HybridField,
    outputs: Sequence[str],
    precision: int = 4,
    velocity_of: Mapping[str, str] | None = None,
    known: Mask | None = None,
    relations: Sequence[MathEquation] = (),
    *,
    discrete: bool = False,
    units: CoefficientUnits | None = None,
) -> list[str]:
    """Return one `<math>` element per equation, like `to_latex`.

    `relations` replace equations with the same index.
    """
    equations = math_equations(
        field, outputs, precision, velocity_of, known, discrete=discrete, units=units
    )
    written = {relation.index: relation for relation in relations}
    return [written.get(equation.index, equation).element for equation in equations]


def math_relation(
    index: int,
    sides: tuple[Expression, Expression],
    variables: Sequence[str],
    outputs: Sequence[str],
) -> MathEquation:
    """Return the equation left = right as a list of terms.

    Variables with indices beyond `variables` are derivatives of outputs.
    """
    rates = [derivative_name(name) for name in outputs]
    left, right = (rename(side, [*variables, *rates]) for side in sides)
    terms = []
    for term in right.terms if isinstance(right, Sum) else (right,):
        body = mathml_formula(absolute(term), 2)
        sign = _MINUS if is_negative(term) else "<mo>+</mo>" if terms else ""
        terms.append(MathTerm(body, sign + body, None))
    return MathEquation(index, mathml_formula(left), tuple(terms), False)


def math_equations(
    field: HybridField,
    outputs: Sequence[str],
    precision: int = 4,
    velocity_of: Mapping[str, str] | None = None,
    known: Mask | None = None,
    *,
    discrete: bool = False,
    units: CoefficientUnits | None = None,
) -> list[MathEquation]:
    """Return the equations as lists of terms."""
    equations, field = printed(
        field, outputs, precision, velocity_of, known, discrete=discrete, units=units
    )
    names = "<mo>,</mo>".join(mathml_name(name) for name in field.features.variables)
    result = []
    for equation in equations:
        left = mathml_name(equation.name, derivatives=equation.order)
        if discrete:
            left = mathml_name(equation.name, at=_NEXT)
        if equation.rate is not None:
            rate = mathml_name(equation.rate)
            terms = [MathTerm(rate, rate, None)]
            result.append(MathEquation(equation.index, left, tuple(terms), True))
            continue
        terms = []
        for term in equation.terms:
            body = _term(term)
            sign = _MINUS if term.is_negative else "<mo>+</mo>" if terms else ""
            terms.append(MathTerm(body, sign + body, term.index, term.is_given))
        if equation.has_residual:
            mark = f"<msub><mi>r</mi>{mathml_name(outputs[equation.index])}</msub>"
            body = f"<mrow>{mark}{_APPLY}{_bracketed(names)}</mrow>"
            terms.append(MathTerm(body, ("<mo>+</mo>" if terms else "") + body, None))
        result.append(MathEquation(equation.index, left, tuple(terms), equation.is_given))
    return result


def equation_mathml(
    output: str,
    velocity_of: Mapping[str, str],
    terms: Sequence[tuple[float, Expression]],
    *,
    discrete: bool = False,
) -> str:
    """Return the equation for the derivative of `output`, or for its next value (`discrete`).

    Its right-hand side is a sum of coefficients times formulas.
    """
    name, order = implied_derivative(output, velocity_of)
    left = mathml_name(name, derivatives=1 + order)
    text = (mathml_name(output, at=_NEXT) if discrete else left) + "<mo>=</mo>"
    for k, (value, formula) in enumerate(terms):
        sign = _MINUS if value < 0 else "<mo>+</mo>" if k else ""
        text += sign + _term(PrintedTerm(0, False, significant(abs(value), 4), formula, False))
    return math(text if terms else f"{text}<mn>0</mn>")


def _term(term: PrintedTerm) -> str:
    size = _scientific(term.size) if term.size else ""
    if term.unit:
        size += f'<mspace width="{_THIN}"/><mtext>{html.escape(term.unit)}</mtext>'
    if term.is_number:
        return f"<mrow>{size}</mrow>"
    body = mathml_formula(term.term, 2)
    if not size:
        return body
    between = (
        _TIMES if not term.unit and _begins_with_number(term.term) else f'<mspace width="{_THIN}"/>'
    )
    return f"<mrow>{size}{between}{body}</mrow>"


# -- names ---------------------------------------------------------------------------------


_NEXT = "<mi>k</mi><mo>+</mo><mn>1</mn>"


def mathml_name(name: str, derivatives: int = 0, at: str = "") -> str:
    """Return a variable, its derivative, or its value `at` an index, as MathML.

    Letters are italic with dots above, words are upright with primes.
    """
    if delayed := split_delayed(name):
        variable, delay = delayed
        shown = mathml_name(delay) if delay.isidentifier() else f"<mn>{delay}</mn>"
        inside = f"<mi>t</mi>{_MINUS}{shown}"
        return f"<mrow>{mathml_name(variable, derivatives)}<mo>(</mo>{inside}<mo>)</mo></mrow>"
    parts = symbol(name)
    base, dots = _letters(parts.base), parts.dots + derivatives
    below = "<mo>,</mo>".join([*map(_letters, parts.below), *([at] if at else [])])
    is_word = len(LETTERS.get(parts.base, parts.base)) > 1
    # primes are text: in fonts without mathematical tables, prime operators are placed too high
    primes = "<mtext>" + "'" * dots + "</mtext>" if is_word and dots else ""
    while dots > 0 and not is_word:
        # the padding separates the dots from the letter in fonts without mathematical tables
        mark = f'<mo stretchy="false" style="padding-bottom:.2em">{_ABOVE[min(dots, 3)]}</mo>'
        base = f'<mover accent="true">{base}{mark}</mover>'
        dots -= 3
    named = f"<msub>{base}<mrow>{below}</mrow></msub>" if below else base
    return f"<mrow>{named}{primes}</mrow>" if primes else named


def _letters(text: str) -> str:
    if text.isdigit():
        return f"<mn>{text}</mn>"
    text = LETTERS.get(text, text)
    return f"<mi>{html.escape(text)}</mi>"


# -- formulas ------------------------------------------------------------------------------


def mathml_formula(item: Expression, binding: int = 0) -> str:
    """Return a formula as MathML, in brackets if it binds less than its surroundings.

    The binding strength is 1 for sums, 2 for products, 3 for powers, and 5 for everything else.
    """
    match item:
        case Number(value):
            is_integer = value.is_integer() and abs(value) < 1e15
            size = f"<mn>{abs(int(value))}</mn>" if is_integer else _scientific(repr(abs(value)))
            text, level = (_MINUS + size, 1) if value < 0 else (size, 5)
        case Variable(_, name) | Parameter(name):
            text, level = mathml_name(name), 5
        case Sum(terms):
            text, level = mathml_formula(terms[0], 1), 1
            for term in terms[1:]:
                sign = _MINUS if is_negative(term) else "<mo>+</mo>"
                text += sign + mathml_formula(absolute(term), 2)
        case Product(_) if is_negative(item):
            text, level = _MINUS + mathml_formula(absolute(item), 2), 1
        case Product(factors):
            above, below = split_fraction(factors)
            text, level = _product(above), 2
            if below:
                text = _fraction(mathml_formula(multiply(*above)), multiply(*below))
        case Power(_, _) if is_inverse(item):
            text, level = _fraction("<mn>1</mn>", power(item, Number(-1.0))), 2
        case Power(base, Number(0.5)):
            text, level = f"<msqrt>{mathml_formula(base)}</msqrt>", 5
        case Power(Call(function, argument), exponent) if function not in ("abs", "sqrt", "exp"):
            raised = f"<msup>{_function(function)}<mrow>{mathml_formula(exponent)}</mrow></msup>"
            text, level = raised + _APPLY + _bracketed(mathml_formula(argument)), 5
        case Power(base, exponent):
            above = f"<mrow>{mathml_formula(exponent)}</mrow>"
            text, level = f"<msup>{mathml_formula(base, 4)}{above}</msup>", 3
        case Call(function, argument):
            text, level = _call(function, mathml_formula(argument))
    return _bracketed(text) if level < binding else f"<mrow>{text}</mrow>"


def _call(function: str, argument: str) -> tuple[str, int]:
    """Return a function call and its binding strength."""
    match function:
        case "abs":
            bar = '<mo stretchy="true">|</mo>'
            return f"{bar}{argument}{bar}", 5
        case "sqrt":
            return f"<msqrt>{argument}</msqrt>", 5
        case "exp":
            return f"<msup><mi>e</mi><mrow>{argument}</mrow></msup>", 3
    return _function(function) + _APPLY + _bracketed(argument), 5


def _function(name: str) -> str:
    return f'<mi mathvariant="normal">{html.escape(_FUNCTIONS.get(name, name))}</mi>'


def _bracketed(content: str) -> str:
    # fonts without mathematical tables stretch the brackets around any word
    flat = "" if any(tall in content for tall in _TALL) else ' stretchy="false"'
    return f"<mrow><mo{flat}>(</mo>{content}<mo{flat}>)</mo></mrow>"


def _fraction(above: str, below: Expression) -> str:
    return f"<mfrac><mrow>{above}</mrow><mrow>{mathml_formula(below)}</mrow></mfrac>"


def _product(factors: Sequence[Expression]) -> str:
    """Return a product, with a dot before factors that begin with a number."""
    text = mathml_formula(factors[0], 2)
    for factor in factors[1:]:
        between = _TIMES if _begins_with_number(factor) else f'<mspace width="{_THIN}"/>'
        text += between + mathml_formula(factor, 2)
    return text


def _begins_with_number(item: Expression) -> bool:
    match item:
        case Number(_) | Power(Number(_), _) | Product((Number(_), *_)):
            return True
    return False


def _scientific(text: str) -> str:
    """Return a number such as 1.5e-09 as 1.5 ⋅ 10^-9."""
    digits, mark, exponent = text.partition("e")
    if not mark:
        return f"<mn>{digits}</mn>"
    power_of_ten = int(exponent)
    sign = _MINUS if power_of_ten < 0 else ""
    raised = f"<msup><mn>10</mn><mrow>{sign}<mn>{abs(power_of_ten)}</mn></mrow></msup>"
    return f"<mn>{digits}</mn>{_TIMES}{raised}"


def typeset_formula(text: str, variables: Sequence[str]) -> str:
    """Return a formula as MathML, or the escaped text if it is not a formula of these names.

    >>> typeset_formula("a < b", ["a"])
    'a &lt; b'
    """
    try:
        return Markup(math(mathml_formula(parse(text, variables))))
    except FormulaError:
        return Markup(escape(text))


def typeset_sentence(text: str, variables: Sequence[str]) -> str:
    """Return a sentence as HTML, with formulas such as vx**2 and quoted names such as 'x' as
    MathML.

    Names without quotes remain text.

    >>> typeset_sentence("vx and 1/2 < x**2", ["vx"])
    'vx and 1/2 &lt; x**2'
    """
    result, plain, position = [], "", 0
    while position < len(text):
        candidate = ""
        if not position or not _in_word(text[position - 1]):
            candidate = _quoted_at(text, position) or _formula_at(text, position)
        formula = _parsed(candidate.strip("'"), variables) if candidate else None
        if formula is None:
            # lists in brackets are code, as in read_table(positions=['x'])
            end = text.find("]", position) if text[position] == "[" else position
            plain, position = (
                plain + text[position : max(end, position) + 1],
                max(end, position) + 1,
            )
        else:
            result += [escape(plain), math(mathml_formula(formula))]
            plain, position = "", position + len(candidate)
    return Markup("".join([*result, escape(plain)]))


def unicode_formula(text: str) -> str:
    """Return a formula as plain text in common notation, for the axes of charts.

    >>> unicode_formula("-2*vx**2*sin(y)")
    '-2·vx²·sin(y)'
    """
    if "`" in text:
        return text
    raised = re.sub(r"\*\*(\d+)(?![.\d])", lambda match: match[1].translate(_RAISED), text)
    return raised if "**" in raised else raised.replace("*", "·")


def _parsed(text: str, variables: Sequence[str]) -> Expression | None:
    """Return the formula, or None if the text is not a formula with names."""
    try:
        formula = parse(text, variables)
    except FormulaError:
        return None
    return formula if variables_of(formula) or parameters_of(formula) else None


def _quoted_at(text: str, start: int) -> str:
    """Return the quoted text at `start`, such as 'sin(x)' with its quotes, or ''."""
    end = text.find("'", start + 1) if text[start] == "'" else -1
    return text[start : end + 1]


def _in_word(letter: str) -> bool:
    return letter.isalnum() or letter in "_.`'\"-"


def _formula_at(text: str, start: int) -> str:
    """Return the text from `start` to the next space outside brackets, or '' if no formula can
    start there.
    """
    if not (text[start].isalnum() or text[start] in "_`("):
        return ""
    closing, depth = start, 0
    while closing < len(text):
        letter = text[closing]
        if letter == "`":  # a name in backticks
            closing = text.find("`", closing + 1)
            if closing < 0:
                break
            closing = closing + 1
            continue
        depth += (letter == "(") - (letter == ")")
        allowed = letter.isalnum() or letter in "_.+-*/^()" or (letter == " " and depth > 0)
        if depth < 0 or not allowed:
            break
        closing += 1
    candidate = text[start:closing].rstrip(_ENDINGS)
    return candidate if any(sign in candidate for sign in _OPERATORS) else ""
