"""Libraries as text, for command lines: "poly(2) + fourier(1) + sin(3*theta)"."""

import re

from .._errors import FormulaError, suggestion
from ._families import Fourier, Polynomial, Terms
from ._library import AbstractLibrary

_FAMILIES = {"poly": Polynomial, "polynomial": Polynomial, "fourier": Fourier}
_FAMILY = re.compile(r"\s*([A-Za-z]\w*)\s*\(\s*(\d{1,3})\s*\)\s*")


def parse_library(text: str) -> AbstractLibrary:
    """The library that the text writes: families joined by + and *, and formulas.

    `poly(d)` and `fourier(k)` are families; any other part is a formula and becomes a term of
    its own.
    """
    parts = [_part(part) for part in _split(text, "+")]
    library = parts[0]
    for part in parts[1:]:
        library = library + part
    return library


def _part(text: str) -> AbstractLibrary:
    factors = [_family(factor) for factor in _split(text, "*")]
    known = [factor for factor in factors if factor is not None]
    if len(known) < len(factors):
        return Terms([text.strip()])
    library = known[0]
    for factor in known[1:]:
        library = library * factor
    return library


def _family(text: str) -> AbstractLibrary | None:
    match = _FAMILY.fullmatch(text)
    if match is None:
        return None
    name, number = match.group(1).lower(), int(match.group(2))
    if name in _FAMILIES:
        return _FAMILIES[name](number)
    if hint := suggestion(name, _FAMILIES):
        raise FormulaError(f"Unknown library '{name}'.{hint}")
    return None


def _split(text: str, sign: str) -> list[str]:
    """The text cut at a sign that stands outside all brackets and backticks; `**` is no cut."""
    parts, depth, quoted, start, place = [], 0, False, 0, 0
    while place < len(text):
        letter = text[place]
        quoted ^= letter == "`"
        depth += 0 if quoted else (letter == "(") - (letter == ")")
        if sign == "*" and text.startswith("**", place):
            place += 2
            continue
        exponent = place > 1 and text[place - 1] in "eE*^" and sign == "+"
        if letter == sign and depth == 0 and not quoted and not exponent:
            parts.append(text[start:place])
            start = place + 1
        place += 1
    parts.append(text[start:])
    if any(not part.strip() for part in parts):
        raise FormulaError(f"Library '{text}': a part is empty; write 'poly(2)+fourier(1)'.")
    return parts
