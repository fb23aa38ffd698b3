"""Small pieces of HTML for notebooks and pages; all text is escaped."""

from collections.abc import Sequence
from html import escape as _escape
from typing import final

_CELL = "padding:.3em .8em .3em 0;vertical-align:top"
_NUMBER = "padding:.3em 0 .3em .8em;vertical-align:top;text-align:right;white-space:nowrap"


@final
class Markup(str):
    """HTML, which `escape` leaves as it is."""


def escape(text: str) -> str:
    """Text that HTML shows as it is."""
    if isinstance(text, Markup):
        return text
    return _escape(text)


def html_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1) -> str:
    """A table that looks the same in every notebook; its first columns are words, the others
    numbers."""
    styles = [f' style="text-align:left;{_CELL}"'] * words  # a notebook would centre them
    return _table(columns, rows, styles + [f' style="{_NUMBER}"'] * (len(columns) - words))


def plain_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1) -> str:
    """The same for a page with a style sheet: numbers are of the class `number`."""
    return _table(columns, rows, [""] * words + [' class="number"'] * (len(columns) - words))


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], looks: Sequence[str]) -> str:
    def cells(tag: str, row: Sequence[str]) -> str:
        pairs = zip(looks, row, strict=True)
        return "".join(f"<{tag}{look}>{escape(cell)}</{tag}>" for look, cell in pairs)

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    head = f"<thead><tr>{cells('th', columns)}</tr></thead>"
    return f"<table>{head}<tbody>{body}</tbody></table>"


def html_lines(lines: Sequence[str]) -> str:
    """Lines of HTML below each other, such as equations in MathML."""
    inside = "".join(f'<div style="padding:.2em 0;overflow-x:auto">{line}</div>' for line in lines)
    return f'<div style="font-size:1.15em">{inside}</div>' if lines else ""


def html_sentences(sentences: Sequence[str]) -> str:
    """Sentences, one per line."""
    return "".join(f"<div>{escape(text)}</div>" for text in sentences)
