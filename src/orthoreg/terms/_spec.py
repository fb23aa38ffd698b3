"""Libraries as text: "poly(2) + fourier(1) + sin(3*theta)"."""

import re
from typing import Any

from .._common.errors import FormulaError, suggestion
from ._library import AbstractLibrary, Fourier, Neighbors, Polynomial, Terms

_FAMILIES = {"poly": Polynomial, "polynomial": Polynomial, "fourier": Fourier}
_CALL = re.compile(r"\s*([A-Za-z]\w*)\s*\(([^()]*)\)\s*")
_NEAR = re.compile(r"\s*near\s*\((.*)\)\s*", re.IGNORECASE | re.DOTALL)
_WHOLE_NUMBER = re.compile(r"\s*\d{1,3}\s*", re.ASCII)
_MENTION = re.compile(rf"(?<![\w`])({'|'.join(_FAMILIES)})\s*\(", re.IGNORECASE)
_EXPONENT = re.compile(r"(?<![\w`])(\d+\.?\d*|\.\d+)[eE]$")


def as_library(library: Any) -> Any:
    """The library that a text writes; anything else as it is."""
    return parse_library(library) if isinstance(library, str) else library


def parse_library(text: str) -> AbstractLibrary:
    """The library that the text writes: families joined by + and *, and formulas.

    `poly(d)` and `fourier(k)` are families, and `near(poly(2), 1)` has the terms of one in the
    variables near each equation; any other part is a formula and becomes a term of its own.
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
        return _term(text.strip())
    library = known[0]
    for factor in known[1:]:
        library = library * factor
    return library


def _term(text: str) -> AbstractLibrary:
    """A formula as a term; a family has no place inside it."""
    if found := _MENTION.search(re.sub("`[^`]*`", "``", text)):
        raise FormulaError(
            f"Library part '{text}': families such as {found.group(1)}(...) can be multiplied only "
            f"with families, and formulas are terms of their own. Write 'poly(1)*fourier(1)', or "
            f"join a formula with +, as in 'poly(1)+sin(x)'."
        )
    if text.lower() in _FAMILIES:
        raise FormulaError(
            f"Library part '{text}': the family needs a whole number, as in '{text}(2)'. A "
            f"variable of that name stands in backticks: '`{text}`'."
        )
    return Terms([text])


def _near(inner: str) -> AbstractLibrary:
    """`Neighbors`, of the text between its brackets: a library, and how far neighbours may be."""
    library, *reach = _split(inner, ",")
    if len(reach) > 1 or (reach and not _WHOLE_NUMBER.fullmatch(reach[0])):
        raise FormulaError(
            f"near takes a library and how many places away neighbours may be, such as "
            f"near(poly(2), 1); got 'near({inner})'."
        )
    return Neighbors(parse_library(library), int(reach[0]) if reach else 1)


def _family(text: str) -> AbstractLibrary | None:
    if (near := _NEAR.fullmatch(text)) and _MENTION.search(near[1]):
        return _near(near[1])
    match = _CALL.fullmatch(text)
    if match is None:
        return None
    name, number = match.group(1).lower(), match.group(2)
    is_whole = _WHOLE_NUMBER.fullmatch(number) is not None
    if name in _FAMILIES:
        if not is_whole:
            raise FormulaError(
                f"{name} takes a whole number of at most three digits, such as {name}(2); "
                f"got '{text.strip()}'."
            )
        return _FAMILIES[name](int(number))
    if not is_whole:
        return None
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
        if (
            letter == sign
            and depth == 0
            and not quoted
            and not (sign == "+" and _belongs_to_a_number(text[start:place]))
        ):
            parts.append(text[start:place])
            start = place + 1
        place += 1
    parts.append(text[start:])
    if any(not part.strip() for part in parts):
        raise FormulaError(f"Library '{text}': a part is empty; write 'poly(2)+fourier(1)'.")
    return parts


def _belongs_to_a_number(before: str) -> bool:
    """Whether a + after this text is a sign, as in 1e+3 or x**+2, and joins nothing."""
    return before.rstrip().endswith(("*", "^")) or _EXPONENT.search(before) is not None
