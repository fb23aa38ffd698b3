"""HTML fragments for notebooks and pages. All text is escaped."""

from collections.abc import Sequence
from html import escape as _escape
from typing import final

_CELL = "padding:.3em .8em .3em 0;vertical-align:top"
_NUMBER = "padding:.3em 0 .3em .8em;vertical-align:top;text-align:right;white-space:nowrap"


@final
class Markup(str):
    """HTML that `escape` leaves unchanged."""


def escape(text: str) -> str:
    """Return text with the special characters of HTML escaped."""
    if isinstance(text, Markup):
        return text
    return _escape(text)


def html_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1) -> str:
    """Return a table with inline styles.

    The first `words` columns are text, the others are numbers.
    """
    styles = [f' style="text-align:left;{_CELL}"'] * words  # notebooks centre cells by default
    return _table(columns, rows, styles + [f' style="{_NUMBER}"'] * (len(columns) - words))


def plain_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1) -> str:
    """Return a table for a page with a style sheet, where numbers have the class `number`."""
    return _table(columns, rows, [""] * words + [' class="number"'] * (len(columns) - words))


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], attributes: Sequence[str]) -> str:
    def cells(tag: str, row: Sequence[str]) -> str:
        pairs = zip(attributes, row, strict=True)
        return "".join(f"<{tag}{attribute}>{escape(cell)}</{tag}>" for attribute, cell in pairs)

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    head = f"<thead><tr>{cells('th', columns)}</tr></thead>"
    return f"<table>{head}<tbody>{body}</tbody></table>"


def html_lines(lines: Sequence[str]) -> str:
    """Return lines of HTML, such as equations in MathML, as one block."""
    inside = "".join(f'<div style="padding:.2em 0;overflow-x:auto">{line}</div>' for line in lines)
    return f'<div style="font-size:1.15em">{inside}</div>' if lines else ""


def html_sentences(sentences: Sequence[str]) -> str:
    """Return sentences, one per line."""
    return "".join(f"<div>{escape(text)}</div>" for text in sentences)
