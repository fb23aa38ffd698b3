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
    """Return the library that a text describes. Other values are returned unchanged."""
    return parse_library(library) if isinstance(library, str) else library


def parse_library(text: str) -> AbstractLibrary:
    """Return the library that a text describes: families joined by + and *, and formulas.

    `poly(d)` and `fourier(k)` are families. `near(poly(2), 1)` has the terms of a family in the
    variables near each equation. Any other part is a formula and becomes a term.
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
    """Return a formula as a term. Families are not allowed inside a formula."""
    if match := _MENTION.search(re.sub("`[^`]*`", "``", text)):
        raise FormulaError(
            f"Library part '{text}': families such as {match.group(1)}(...) can be multiplied only "
            f"by families, and formulas are separate terms. Write 'poly(1)*fourier(1)', or "
            f"add a formula with +, as in 'poly(1)+sin(x)'."
        )
    if text.lower() in _FAMILIES:
        raise FormulaError(
            f"Library part '{text}': the family needs a whole number, as in '{text}(2)'. Write "
            f"a variable of that name in backticks: '`{text}`'."
        )
    return Terms([text])


def _near(inner: str) -> AbstractLibrary:
    """Return `Neighbors` for the text between brackets: a library and the reach."""
    library, *reach = _split(inner, ",")
    if len(reach) > 1 or (reach and not _WHOLE_NUMBER.fullmatch(reach[0])):
        raise FormulaError(
            f"near takes a library and the reach of neighbours, such as "
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
    """Split a text at a sign outside brackets and backticks. `**` is not a product sign."""
    parts, depth, quoted, start, position = [], 0, False, 0, 0
    while position < len(text):
        letter = text[position]
        quoted ^= letter == "`"
        depth += 0 if quoted else (letter == "(") - (letter == ")")
        if sign == "*" and text.startswith("**", position):
            position += 2
            continue
        if (
            letter == sign
            and depth == 0
            and not quoted
            and not (sign == "+" and _belongs_to_a_number(text[start:position]))
        ):
            parts.append(text[start:position])
            start = position + 1
        position += 1
    parts.append(text[start:])
    if any(not part.strip() for part in parts):
        raise FormulaError(f"Library '{text}': a part is empty; write 'poly(2)+fourier(1)'.")
    return parts


def _belongs_to_a_number(before: str) -> bool:
    """Return whether a + after this text is part of a number or exponent: 1e+3, x**+2."""
    return before.rstrip().endswith(("*", "^")) or _EXPONENT.search(before) is not None
