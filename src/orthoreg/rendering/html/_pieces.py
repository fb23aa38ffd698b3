"""Tables, lists and remarks of a report as HTML; all text is escaped."""

from collections.abc import Sequence

from ..._common.html import escape, plain_table
from ...findings import Verdict
from ...findings._words import percent

_DIGEST = 64  # characters
_VERDICTS = {
    "explained": ("good", "Explained"),
    "needs-residual": ("good", "Explained with the network"),
    "roughly-explained": ("fair", "Roughly explained"),
    "noise-limited": ("fair", "Limited by noise"),
    "forecasts-fail": ("poor", "Forecasts fail"),
    "not-explained": ("poor", "Not explained"),
    "undecided": ("fair", "Undecided"),
}


def verdict_word(verdict: Verdict) -> str:
    """A verdict in a word or two."""
    return _VERDICTS.get(verdict.code, ("fair", verdict.code))[1]


def badge(verdict: Verdict) -> str:
    """The same as a coloured badge."""
    kind = _VERDICTS.get(verdict.code, ("fair", ""))[0]
    return f'<span class="badge {kind}">{escape(verdict_word(verdict))}</span>'


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1) -> str:
    """A table that scrolls by itself where it is wide; its first columns are words."""
    inside = plain_table(columns, rows, words=words)
    return f'<div class="scroll" tabindex="0" role="region" aria-label="Table">{inside}</div>'


def fact_list(pairs: Sequence[tuple[str, str]]) -> str:
    """Words and what they are, side by side where there is room."""

    def kind(text: str) -> str:
        return ' class="digest"' if len(text) == _DIGEST and text.isalnum() else ""

    inside = "".join(
        f"<div><dt>{escape(word)}</dt><dd{kind(text)}>{escape(text)}</dd></div>"
        for word, text in pairs
    )
    return f'<dl class="facts">{inside}</dl>'


def quiet(text: str) -> str:
    """A remark, if there is one."""
    return f'<p class="quiet">{escape(text)}</p>' if text else ""


def known_percent(share: float | None) -> str:
    """A share, or a dash where it is not known."""
    return "–" if share is None else percent(share)
