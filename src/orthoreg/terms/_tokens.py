"""Tokens of formulas and of library texts. All text to be parsed is split here, in one pass."""

import re
from collections.abc import Iterator
from typing import NamedTuple, final

from .._common.errors import FormulaError, shortened
from ._limits import MAX_CHARACTERS

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[^\W\d]\w*)|`(?P<quoted>[^`]+)`|(?P<sign>\*\*|[-+*/^(),]))"
)


@final
class Token(NamedTuple):
    """A number, name, quoted name or sign, and its position in the text."""

    kind: str
    text: str
    start: int
    end: int


def check_length(text: str, what: str = "A formula", limit: int = MAX_CHARACTERS) -> None:
    """Raise FormulaError for a text with more than `limit` characters."""
    if len(text) > limit:
        raise FormulaError(
            f"{what} may have at most {limit} characters; got {len(text)}: '{shortened(text)}'."
        )


def tokens(text: str, signs: str = "+-*/^()") -> Iterator[Token]:
    """Yield the tokens of a text, in which `signs` and `**` are signs."""
    position = 0
    text = text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        kind = "" if match is None else match.lastgroup or ""
        if match is None or (kind == "sign" and match.group(kind)[0] not in signs):
            raise FormulaError(f"the sign '{text[position:].lstrip()[0]}' has no meaning here.")
        yield Token(kind, match.group(kind), match.start(kind), match.end())
        position = match.end()
