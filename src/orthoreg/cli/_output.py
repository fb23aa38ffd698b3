"""What commands print: tables for people on the terminal, one JSON object for programs."""

import json
import math
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from .._errors import DataWarning, TrainingWarning

ERRORS = Console(stderr=True, highlight=False, emoji=False)

_LEAST_ERROR = 1e-8  # the error is the root of a difference of squares: rounding below this
_NEGLIGIBLE = 1e-6  # overlap of a residual that is orthogonal
_NOTABLE = 0.05  # probability of a term that was left out, from which on it is shown
_WIDE = 200  # columns of an output that is no terminal: no table wraps


def terminal() -> Console:
    """Standard output for people. Made anew: it may have been redirected."""
    if sys.stdout.isatty():
        return Console(highlight=False, emoji=False)
    return Console(highlight=False, emoji=False, soft_wrap=True, width=_WIDE)


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


def table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1
) -> Group:
    """A plain table; its first columns are words, the others are numbers."""
    # Text, not str: names of columns may hold square brackets, which are rich's markup
    result = Table(box=None, pad_edge=False)
    for i, column in enumerate(columns):
        result.add_column(
            Text(column), justify="left" if i < words else "right", header_style="dim"
        )
    for row in rows:
        result.add_row(*(Text(cell) for cell in row))
    return Group(Text(title, "bold"), result)  # a title of the table wraps at the table's width


def counted(count: int, noun: str) -> str:
    """'1 run', '2 runs'."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def number(value: float | None) -> str:
    """Two significant digits; '-' for none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if math.isinf(value):
        return "inf"
    if value == 0:
        return "0"
    return f"{value:.2g}" if 1e-3 <= abs(value) < 1e4 else f"{value:.1e}"


def print_equations(
    console: Console, equations: Sequence[str], truth: Sequence[str] | None = None
) -> None:
    """One equation per line, never broken; each above its truth where that is known."""
    console.print(Text("Equations", "bold"))
    for i, equation in enumerate(equations):
        if truth is None:
            console.print(Text(equation), soft_wrap=True)
            continue
        console.print(Text.assemble(("found  ", "dim"), equation), soft_wrap=True)
        console.print(Text.assemble(("truth  ", "dim"), truth[i]), soft_wrap=True)
    console.print()


def print_terms(console: Console, terms: dict[str, Any], lookalikes: Sequence[str]) -> None:
    """Each term's coefficient, interval and probability; then what the data cannot tell apart."""
    rows = []
    for equation, found in terms.items():
        shown = {
            name: one
            for name, one in found.items()
            if one["coefficient"] or one["probability"] >= _NOTABLE
        }
        for i, (name, one) in enumerate(shown.items()):
            used = one["coefficient"] != 0
            rows.append(
                (
                    "" if i else f"{equation}'",
                    name,
                    f"{one['coefficient']:#.4g}" if used else "left out",
                    f"{one['low']:#.4g} to {one['high']:#.4g}" if used else "",
                    f"{100 * one['probability']:.0f} %",
                )
            )
    if not rows:
        return
    columns = ("equation", "term", "coefficient", "95 % interval", "probability")
    console.print(table("Terms (when the runs are drawn again)", columns, rows, words=2))
    for sentence in lookalikes:
        console.print(f"  {sentence}", markup=False, soft_wrap=True)
    console.print()


def certificate_table(certificate: Any) -> Group:
    """Size, overlap and bounds, one row per equation."""
    rows = [
        (
            f"{one.equation}'",
            str(one.n_terms),
            "<1e-8" if one.fit_error < _LEAST_ERROR else number(one.fit_error),
            number(one.residual_share),
            f"{100 * one.library_r2:.0f} %",
            number(one.overlap),
            number(one.penalty_bound.observed),
            _bound(one.penalty_bound, certificate.orthogonality),
            number(one.duality_gap),
        )
        for one in certificate.equations
    ]
    columns = (
        "equation", "terms", "fit error", "residual", "sayable", "overlap", "penalty", "bound",
        "duality gap",
    )  # fmt: skip
    return table("Fit (relative to the size of each derivative)", columns, rows)


def _bound(bound: Any, orthogonality: float) -> str:
    """The bound on the penalty, with '?' where its assumption fails."""
    if math.isinf(orthogonality):
        return "exact"
    doubt = "" if bound.assumption_holds or math.isnan(bound.bound) else " ?"
    return number(bound.bound) + doubt


def size_of(data: Any) -> str:
    """'1 run, 20 samples'."""
    return f"{counted(data.n_runs, 'run')}, {counted(data.n_samples, 'sample')}"


def print_certificate(console: Any, model: Any) -> None:
    """The fit, and in words what a reader must know of it."""
    certificate = model.certificate_
    console.print(certificate_table(certificate))
    for relation in certificate.dependences:
        console.print(
            f"  On these data {relation}: they cannot tell these terms apart.", markup=False
        )
    if any(
        one.residual_share > 0.01 and one.overlap < _NEGLIGIBLE for one in certificate.equations
    ):
        console.print(
            "  The residual is what the terms above cannot say. Where missing physics correlates "
            "with\n  a term, that term's coefficient carries part of it.",
            style="dim",
        )
    for one in certificate.equations:
        if one.library_r2 > 0.5 and one.residual_share > 0.01:
            if one.overlap >= _NEGLIGIBLE:
                advice = "terms; a higher orthogonality keeps them out of it"
            elif model.selection_ is None:
                advice = "terms that were left out; a lower sparsity lets them in"
            else:
                advice = (
                    "terms that were left out,\n  because they do not hold where they were not "
                    "fitted"
                )
            console.print(
                f"  {one.library_r2:.0%} of the residual of {one.equation}' could be said by library "
                f"{advice}.",
                markup=False,
            )
    console.print()


def print_scores(console: Any, title: str, scores: dict[str, Any]) -> None:
    """Errors on a set of runs."""
    rows = []
    if "r2" in scores:
        rows.append(("derivative", number(scores["derivative_error"])))
        rows.append(("derivative, R^2", f"{scores['r2']:.6f}"))
    rows.append(("forecast", number(scores["forecast_error"])))
    rows.append(("diverged", f"{scores['forecasts_failed']} of {scores['forecasts']}"))
    console.print(table(title, ("relative error", ""), rows))
    if scores["first_failure"]:
        console.print(f"  First failure: {scores['first_failure']}", markup=False)
    console.print()


def print_files(console: Any, paths: list[Path]) -> None:
    for path in paths:
        console.print(f"wrote {path}", markup=False)


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Our own warnings as sentences on standard error, and in a list for JSON."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    for warning in caught:
        if issubclass(warning.category, DataWarning | TrainingWarning):
            notes.append(str(warning.message))
            ERRORS.print(f"warning: {warning.message}", markup=False)
