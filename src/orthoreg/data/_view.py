"""A dataset as a notebook shows it."""

from typing import Any

from .._common.html import html_sentences, html_table

_MOST = 30  # variables


def view(data: Any) -> str:
    """The size, a row for each variable, and what was noted while the data were read."""
    runs = f"{data.n_runs:,} run{'s' * (data.n_runs != 1)}"
    low, high = int(data.run_lengths.min()), int(data.run_lengths.max())
    each = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    time = data.units.get(data.time_name, "")
    size = f"{runs} of {each} samples; {data.time_name}{f' in {time}' * bool(time)}"
    rows, values = [], data.variables
    for k, name in enumerate(data.variable_names[:_MOST]):
        column = values[:, k]
        kind = "input" if k >= data.n_states else "state"
        if name in data.estimated:
            kind = "state, estimated"
        numbers = (f"{column.min():.4g}", f"{column.max():.4g}")
        rows.append((name, kind, data.units.get(name, ""), *numbers))
    more = len(data.variable_names) - _MOST
    notes = [f"and {more} more"] if more > 0 else []
    table = html_table(("variable", "kind", "unit", "from", "to"), rows, words=3)
    return html_sentences([size]) + table + html_sentences([*notes, *map(str, data.notes)])
