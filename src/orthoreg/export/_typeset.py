"""Sentences for pages, with their formulas typeset."""

import re
from collections.abc import Collection, Sequence

from .._errors import FormulaError
from .._html import Markup, escape
from ..libraries import Expression, parameters_of, parse, variables_of
from ._mathml import math, mathml_formula

_OPERATORS = "*/^("  # a word without any of them is no formula, but a name
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_ENDINGS = "+-*/^(., "  # characters that end no formula


def typeset_formula(text: str, variables: Sequence[str], parameters: Collection[str] = ()) -> str:
    """A formula as MathML; text that is not a formula of these names is escaped.

    >>> typeset_formula("a < b", ["a"])
    'a &lt; b'
    """
    try:
        return Markup(math(mathml_formula(parse(text, variables, parameters))))
    except FormulaError:
        return Markup(escape(text))


def typeset_sentence(text: str, variables: Sequence[str], parameters: Collection[str] = ()) -> str:
    """A sentence as HTML in which formulas such as vx**2, and quoted ones such as 'x', are MathML;
    other names stay text.

    >>> typeset_sentence("vx and 1/2 < x**2", ["vx"])
    'vx and 1/2 &lt; x**2'
    """
    result, plain, place = [], "", 0
    while place < len(text):
        found = ""
        if not place or not _in_word(text[place - 1]):
            found = _quoted_at(text, place) or _formula_at(text, place)
        formula = _parsed(found.strip("'"), variables, parameters) if found else None
        if formula is None:
            # a list in brackets is code to copy, as read_table(positions=['x'])
            end = text.find("]", place) if text[place] == "[" else place
            plain, place = plain + text[place : max(end, place) + 1], max(end, place) + 1
        else:
            result += [escape(plain), math(mathml_formula(formula))]
            plain, place = "", place + len(found)
    return Markup("".join([*result, escape(plain)]))


def unicode_formula(text: str) -> str:
    """A formula in plain text as it is written by hand, for the axes of charts.

    >>> unicode_formula("-2*vx**2*sin(y)")
    '-2·vx²·sin(y)'
    """
    if "`" in text:
        return text
    raised = re.sub(r"\*\*(\d+)(?![.\d])", lambda found: found[1].translate(_RAISED), text)
    return raised if "**" in raised else raised.replace("*", "·")


def _parsed(text: str, variables: Sequence[str], parameters: Collection[str]) -> Expression | None:
    """The formula, None where the text is none or names no variable."""
    try:
        found = parse(text, variables, parameters)
    except FormulaError:
        return None
    return found if variables_of(found) or parameters_of(found) else None


def _quoted_at(text: str, start: int) -> str:
    """'sin(x)' with its quotes, where they stand at `start`."""
    end = text.find("'", start + 1) if text[start] == "'" else -1
    return text[start : end + 1]


def _in_word(letter: str) -> bool:
    return letter.isalnum() or letter in "_.`'\"-"


def _formula_at(text: str, start: int) -> str:
    """The characters from `start` on that could be a formula: up to a space outside brackets."""
    if not (text[start].isalnum() or text[start] in "_`("):
        return ""
    place, depth = start, 0
    while place < len(text):
        letter = text[place]
        if letter == "`":  # a name that is no plain word
            end = text.find("`", place + 1)
            if end < 0:
                break
            place = end + 1
            continue
        depth += (letter == "(") - (letter == ")")
        allowed = letter.isalnum() or letter in "_.+-*/^()" or (letter == " " and depth > 0)
        if depth < 0 or not allowed:
            break
        place += 1
    found = text[start:place].rstrip(_ENDINGS)
    return found if any(sign in found for sign in _OPERATORS) else ""
