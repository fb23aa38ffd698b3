"""What commands print: tables for people on the terminal, one JSON object for programs."""

import json
import math
import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

ERRORS = Console(stderr=True, highlight=False)


def terminal() -> Console:
    """Standard output for people. Made anew: it may have been redirected."""
    return Console(highlight=False, soft_wrap=not sys.stdout.isatty())


def print_json(values: dict[str, Any]) -> None:
    """One object on standard output; numbers without a JSON form become text."""
    sys.stdout.write(json.dumps(_plain(values), allow_nan=False) + "\n")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return value


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A plain table; the first column is text, the others are numbers."""
    result = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for i, column in enumerate(columns):
        result.add_column(column, justify="left" if i == 0 else "right", header_style="dim")
    for row in rows:
        result.add_row(*(escape(cell) for cell in row))
    return result


def number(value: float | None) -> str:
    """Two significant digits; '-' for none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if math.isinf(value):
        return "inf"
    if value == 0:
        return "0"
    return f"{value:.2g}" if 1e-3 <= abs(value) < 1e4 else f"{value:.1e}"


def equation_table(equations: Sequence[str], truth: Sequence[str] | None = None) -> Table:
    """The equations, each above its truth where that is known."""
    result = Table(
        title="Equations", title_justify="left", title_style="bold", box=None,
        show_header=False, pad_edge=False,
    )  # fmt: skip
    for i, equation in enumerate(equations):
        if truth is None:
            result.add_row(escape(equation))
            continue
        result.add_row("[dim]found[/dim]", escape(equation))
        result.add_row("[dim]truth[/dim]", escape(truth[i]))
    return result


def certificate_table(certificate: Any) -> Table:
    """Size, overlap and bounds, one row per equation."""
    rows = [
        (
            f"{one.equation}'",
            str(one.n_terms),
            number(one.fit_error),
            number(one.residual_share),
            number(one.overlap),
            number(one.penalty_bound.observed),
            number(one.penalty_bound.bound) + ("" if one.penalty_bound.assumption_holds else " ?"),
            number(one.duality_gap),
        )
        for one in certificate.equations
    ]
    columns = (
        "equation", "terms", "fit error", "residual", "overlap", "penalty", "bound", "duality gap"
    )  # fmt: skip
    return table("Fit (relative to the size of each derivative)", columns, rows)
