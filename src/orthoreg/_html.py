"""Small pieces of HTML for notebooks and pages; all text is escaped."""

from collections.abc import Sequence
from html import escape as _escape

_CELL = "padding:.3em .8em .3em 0;vertical-align:top"
_NUMBER = "padding:.3em 0 .3em .8em;vertical-align:top;text-align:right;white-space:nowrap"


def escape(text: str) -> str:
    """Text that HTML shows as it is; a number stays with its percent sign."""
    return _escape(text.replace(" %", "\u00a0%"))


def html_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1) -> str:
    """A table; its first columns are words, the others numbers."""

    def cells(tag: str, row: Sequence[str]) -> str:
        styles = [
            f"text-align:left;{_CELL}" if i < words else _NUMBER for i in range(len(row))
        ]  # a notebook would centre them
        return "".join(
            f'<{tag} style="{style}">{escape(cell)}</{tag}>'
            for style, cell in zip(styles, row, strict=True)
        )

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
