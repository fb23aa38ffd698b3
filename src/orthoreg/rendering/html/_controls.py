"""What a reader works a chart with: native elements, for keyboard, touch and screen readers."""

from collections.abc import Mapping, Sequence

from ..._common.html import escape


def chart(key: str, label: str) -> str:
    """The place of a chart."""
    return f'<div class="chart" id="{key}" role="img" aria-label="{escape(label)}"></div>'


def copy_button(text: str, label: str) -> str:
    """A button that copies a text, empty without one."""
    if not text:
        return ""
    return f'<button type="button" class="copy" data-copy="{escape(text)}">{escape(label)}</button>'


def select(key: str, label: str, names: Sequence[str]) -> str:
    """A list to choose one of."""
    options = "".join(
        f'<option value="{i}">{escape(name)}</option>' for i, name in enumerate(names)
    )
    return (
        f'<label class="control">{escape(label)} '
        f'<select id="{key}" autocomplete="off">{options}</select></label>'
    )


def choice(key: str, label: str, values: Mapping[str, str]) -> str:
    """Radio buttons; the first is chosen."""
    return _group(key, label, values, "radio", first_only=True)


def switches(key: str, label: str, values: Mapping[str, str]) -> str:
    """Check boxes, all on."""
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
    """A slider with its value beside it."""
    return (
        f'<label class="control wide">{escape(label)} <input type="range" id="{key}" min="0" '
        f'max="1" step="1" value="0" autocomplete="off"><output id="{key}-value"></output></label>'
    )


def legend(keys: Sequence[tuple[str, str, str]]) -> str:
    """(colour, mark, words) of what a chart shows."""
    items = "".join(
        f'<li><span class="key {mark} {colour}" aria-hidden="true"></span>{escape(words)}</li>'
        for colour, mark, words in keys
    )
    return f'<ul class="legend">{items}</ul>'
