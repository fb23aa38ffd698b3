"""Tables, lists, remarks and native controls as HTML. All text is escaped."""

from collections.abc import Mapping, Sequence

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
    """Return the short form of a verdict."""
    return _VERDICTS.get(verdict.code, ("fair", verdict.code))[1]


def badge(verdict: Verdict) -> str:
    """Return the short form of a verdict as a coloured badge."""
    kind = _VERDICTS.get(verdict.code, ("fair", ""))[0]
    return f'<span class="badge {kind}">{escape(verdict_word(verdict))}</span>'


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1) -> str:
    """Return a table that scrolls if it is wide. Its first `words` columns are text."""
    inside = plain_table(columns, rows, words=words)
    return f'<div class="scroll" tabindex="0" role="region" aria-label="Table">{inside}</div>'


def fact_list(pairs: Sequence[tuple[str, str]]) -> str:
    """Return a list of (term, value) pairs, side by side if there is room."""

    def kind(text: str) -> str:
        return ' class="digest"' if len(text) == _DIGEST and text.isalnum() else ""

    inside = "".join(
        f"<div><dt>{escape(word)}</dt><dd{kind(text)}>{escape(text)}</dd></div>"
        for word, text in pairs
    )
    return f'<dl class="facts">{inside}</dl>'


def quiet(text: str) -> str:
    """Return a remark, or '' if the text is empty."""
    return f'<p class="quiet">{escape(text)}</p>' if text else ""


def known_percent(share: float | None) -> str:
    """Return a share as a percentage, or a dash if it is unknown."""
    return "–" if share is None else percent(share)


def chart(key: str, label: str) -> str:
    """Return the placeholder of a chart."""
    return f'<div class="chart" id="{key}" role="img" aria-label="{escape(label)}"></div>'


def copy_button(text: str, label: str) -> str:
    """Return a button that copies a text, or '' if the text is empty."""
    if not text:
        return ""
    return f'<button type="button" class="copy" data-copy="{escape(text)}">{escape(label)}</button>'


def select(key: str, label: str, names: Sequence[str]) -> str:
    """Return a drop-down list, or '' if there is nothing to choose."""
    if len(names) < 2:
        return ""
    options = "".join(
        f'<option value="{i}">{escape(name)}</option>' for i, name in enumerate(names)
    )
    return (
        f'<label class="control">{escape(label)} '
        f'<select id="{key}" autocomplete="off">{options}</select></label>'
    )


def choice(key: str, label: str, values: Mapping[str, str]) -> str:
    """Return radio buttons, the first of which is selected."""
    return _group(key, label, values, "radio", first_only=True)


def switches(key: str, label: str, values: Mapping[str, str]) -> str:
    """Return check boxes, all of them selected."""
    return _group(key, label, values, "checkbox", first_only=False)


def _group(key: str, label: str, values: Mapping[str, str], kind: str, *, first_only: bool) -> str:
    boxes = "".join(
        f'<label><input type="{kind}" name="{key}" value="{value}" autocomplete="off"'
        f"{'' if first_only and i else ' checked'}><span>{escape(word)}</span></label>"
        for i, (word, value) in enumerate(values.items())
    )
    return (
        f'<fieldset class="control" id="{key}"><legend>{escape(label)}</legend>'
        f'<span class="buttons">{boxes}</span></fieldset>'
    )


def slider(key: str, label: str) -> str:
    """Return a slider that shows its value."""
    return (
        f'<label class="control wide">{escape(label)} <input type="range" id="{key}" min="0" '
        f'max="1" step="1" value="0" autocomplete="off"><output id="{key}-value"></output></label>'
    )


def legend(keys: Sequence[tuple[str, str, str]]) -> str:
    """Return a legend with entries (colour, mark, words)."""
    items = "".join(
        f'<li><span class="key {mark} {colour}" aria-hidden="true"></span>{escape(words)}</li>'
        for colour, mark, words in keys
    )
    return f'<ul class="legend">{items}</ul>'
