"""Libraries as text: "poly(2) + fourier(1) + sin(3*theta)"."""

import re
from collections.abc import Iterator
from typing import Any

from .._common.errors import FormulaError, shortened, suggestion
from ._library import AbstractLibrary, Fourier, Neighbors, Polynomial, Terms
from ._limits import MAX_LIBRARY_CHARACTERS, MAX_PARTS
from ._tokens import check_length, tokens

_FAMILIES = {"poly": Polynomial, "polynomial": Polynomial, "fourier": Fourier}
_CALL = re.compile(r"\s*([A-Za-z]\w*)\s*\(([^()]*)\)\s*")
_NEAR = re.compile(r"\s*near\s*\((.*)\)\s*", re.IGNORECASE | re.DOTALL)
_NESTED = re.compile(r"(?<![\w`])near\s*\(", re.IGNORECASE)
_WHOLE_NUMBER = re.compile(r"\s*\d{1,3}\s*", re.ASCII)
_MENTION = re.compile(rf"(?<![\w`])({'|'.join(_FAMILIES)})\s*\(", re.IGNORECASE)


def as_library(library: Any) -> Any:
    """Return the library that a text describes. Return other values unchanged."""
    return parse_library(library) if isinstance(library, str) else library


def parse_library(text: str) -> AbstractLibrary:
    """Return the library that a text describes: families joined by + and *, and formulas.

    `poly(d)` and `fourier(k)` are families. `near(poly(2), 1)` contains the terms of a family in
    the variables near each equation. Any other part is a formula and becomes a term.
    """
    check_length(text, "A library text", MAX_LIBRARY_CHARACTERS)
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
    """Return a formula as a library of one term. Families are not allowed inside a formula."""
    if match := _MENTION.search(re.sub("`[^`]*`", "``", text)):
        raise FormulaError(
            f"Library part '{shortened(text)}': families such as {match.group(1)}(...) can be "
            "multiplied only by families, and formulas are separate terms. Write "
            "'poly(1)*fourier(1)', or add a formula with +, as in 'poly(1)+sin(x)'."
        )
    if text.lower() in _FAMILIES:
        raise FormulaError(
            f"Library part '{text}': the family needs a whole number, as in '{text}(2)'. Write "
            f"a variable of that name in backticks: '`{text}`'."
        )
    return Terms([text])


def _near(inner: str) -> AbstractLibrary:
    """Return `Neighbors` for the text in brackets: a library and the reach."""
    if _NESTED.search(inner):
        raise FormulaError(f"near must not contain another near; got 'near({shortened(inner)})'.")
    library, *reach = _split(inner, ",")
    if len(reach) > 1 or (reach and not _WHOLE_NUMBER.fullmatch(reach[0])):
        raise FormulaError(
            f"near takes a library and the reach of neighbours, such as "
            f"near(poly(2), 1); got 'near({shortened(inner)})'."
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
                f"got '{shortened(text.strip())}'."
            )
        return _FAMILIES[name](int(number))
    if not is_whole:
        return None
    if hint := suggestion(name, _FAMILIES):
        raise FormulaError(f"Unknown library '{name}'.{hint}")
    return None


def _split(text: str, sign: str) -> list[str]:
    """Return the parts of a text between signs outside brackets.

    The sign of a number or exponent does not count.
    """
    try:
        parts = list(_parts(text, sign))
    except FormulaError as error:
        raise FormulaError(f"Library '{shortened(text)}': {error}") from None
    if any(not part.strip() for part in parts):
        raise FormulaError(
            f"Library '{shortened(text)}': a part is empty; write 'poly(2)+fourier(1)'."
        )
    if len(parts) > MAX_PARTS:
        raise FormulaError(
            f"A library text may have at most {MAX_PARTS} parts; got {len(parts)}. In Python, pass "
            f"a list of formulas, as in Terms(['x', 'sin(x)'])."
        )
    return parts


def _parts(text: str, sign: str) -> Iterator[str]:
    depth, start, before = 0, 0, ""
    for token in tokens(text, "+-*/^(),"):
        mark = token.text if token.kind == "sign" else ""
        depth += (mark == "(") - (mark == ")")
        if mark == sign and depth == 0 and not (mark == "+" and before in ("*", "**", "^")):
            yield text[start : token.start]
            start = token.end
        before = mark
    yield text[start:]
