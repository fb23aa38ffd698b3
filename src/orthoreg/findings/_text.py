"""Format findings for the terminal and as plain text."""

import io
import math
from collections.abc import Sequence
from typing import Any

from .._common.imports import import_cleanly
from .._common.notation import left_side, target_word
from . import _limits as limits
from ._findings import (
    CertificateRow,
    CorrelatedEstimates,
    Findings,
    PathRow,
    Scores,
    TermRow,
)
from ._words import NOT_A_PROBABILITY, counted, interval, number, whole_percent

_BARS = "▁▂▃▄▅▆▇█"
_WIDE = 200  # columns of plain text, so that no table wraps
# characters of an equation and a term together that fit beside numbers in 80 columns
_LONGEST_NAMES = 28


def renderables(summary: Findings, truth: Sequence[str] | None = None) -> list[Any]:
    """Return parts for `rich` to print: equations, verdict and advice, then the evidence.

    `truth` are the true equations, which are printed below the fitted equations.
    """
    advice = [
        [f"{i}. {item.text} ", (f"[{item.code}]", "dim")]
        for i, item in enumerate(summary.advice, start=1)
    ]
    parts = [
        equation_lines(summary.equations, truth),
        _section("Verdict", [summary.verdict.text]),
        _section("What to try next", advice),
        term_table(summary),
        correlation_table(summary.correlations),
        path_table(summary.paths),
        certificate_table(summary.certificate, summary.orthogonality),
        _section("Notes", [f"- {note}" for note in summary.notes]),
    ]
    return [part for part in parts if part is not None]


def as_text(summary: Findings) -> str:
    """Return all findings as plain text, with the scores at the end."""
    import_cleanly("rich.console")
    from rich.console import Console

    stream = io.StringIO()
    console = Console(
        file=stream, width=_WIDE, highlight=False, emoji=False, soft_wrap=True, color_system=None
    )
    parts = renderables(summary)
    if summary.source is not None:
        runs, samples = counted(summary.runs or 0, "run"), counted(summary.samples or 0, "sample")
        title = f"Errors on {summary.source}: {runs}, {samples}"
        parts.append(score_table(title, summary.scores))
    for i, part in enumerate(parts):
        if i:
            console.print()
        console.print(part, soft_wrap=True)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def equation_lines(equations: Sequence[str], truth: Sequence[str] | None = None) -> Any:
    """Return one equation per line, each followed by the true equation if `truth` is given."""
    if truth is None:
        return _section("Equations", equations)
    lines = []
    for equation, true in zip(equations, truth, strict=True):
        lines += [[("found  ", "dim"), equation], [("truth  ", "dim"), true]]
    return _section("Equations", lines)


def _section(heading: str, lines: Sequence[str | Sequence[Any]]) -> Any:
    """Return lines below a heading, each plain text or a list of styled pieces.

    Return None without lines.
    """
    from rich.text import Text

    if not lines:
        return None
    texts = [Text(line) if isinstance(line, str) else Text.assemble(*line) for line in lines]
    return Text("\n").join([Text(heading, "bold"), *texts])


def term_table(summary: Findings) -> Any:
    """Return a table of coefficients, intervals and probabilities, followed by similar terms."""
    from rich.console import Group
    from rich.text import Text

    shown = [row for row in summary.shown_terms if row.stability is not None]
    if not shown:
        return None
    # names that are too long for one line are split over two
    both = [max(len(name) for name in names) for names in zip(*map(_names, shown), strict=True)]
    is_split = sum(both) > _LONGEST_NAMES
    rows, before = [], None
    has_units = any(row.unit for row in shown)
    columns = ("coefficient", *(("unit",) if has_units else ()), "95% interval", "probability")
    for row in shown:
        equation, term = _names(row)
        is_new, before = row.equation != before, row.equation
        if is_split and is_new:
            rows.append((equation, *[""] * len(columns)))
        names = (f"  {term}",) if is_split else (equation if is_new else "", term)
        coefficient, *others = _numbers(row)
        unit = (row.unit or "",) if has_units else ()
        rows.append((*names, coefficient, *unit, *others))
    words = ("equation and term",) if is_split else ("equation", "term")
    source = "score on trajectories" if summary.matched_terms else "bootstrap over runs"
    terms = table(f"Terms (probability: {source})", (*words, *columns), rows, words=len(words))
    below = [pair.text for pair in summary.confounded]
    if any(row.probability is None for row in shown):
        below.append(NOT_A_PROBABILITY)
    return Group(terms, *(Text(f"  {line}") for line in below))


def correlation_table(pairs: Sequence[CorrelatedEstimates]) -> Any:
    """Return a table of correlated estimates, or None without any."""
    if not pairs:
        return None
    rows = [(pair.first, pair.second, f"{pair.correlation:.4f}") for pair in pairs]
    return table("Correlated estimates", ("estimate", "estimate", "correlation"), rows, words=2)


def path_table(paths: Sequence[PathRow]) -> Any:
    """Return a table of each equation's error by number of terms, as a sparkline on a logarithmic
    scale.

    Return None if no selection chose the terms.
    """
    rows = [
        (
            left_side(path.equation),
            sparkline(path.outer),
            "-" if path.used is None else str(path.n_terms[path.used]),
            "-" if path.used is None else number(path.outer[path.used]),
            number(min(path.outer)),
        )
        for path in paths
        if len(path.outer) > 1
    ]
    if not rows:
        return None
    smallest, largest = (f(n for path in paths for n in path.n_terms) for f in (min, max))
    columns = ("equation", f"{smallest} to {largest} terms", "in use", "error", "least")
    return table("Error on rows that were not fitted, by number of terms", columns, rows, words=2)


def sparkline(errors: Sequence[float]) -> str:
    """Return errors as bars of eight heights on a logarithmic scale.

    >>> sparkline([1.0, 0.1, 0.01])
    '█▅▁'
    """
    levels = [math.log10(min(max(error, limits.ROUNDING_ERROR), 1e8)) for error in errors]
    low, high = min(levels), max(levels)
    size = max(high - low, 0.3)  # a ratio below two looks flat
    return "".join(_BARS[round((level - low) / size * (len(_BARS) - 1))] for level in levels)


def _names(row: TermRow) -> tuple[str, str]:
    return left_side(row.equation), row.term


def _numbers(row: TermRow) -> tuple[str, str, str]:
    if not row.coefficient:
        return "left out", "", row.share
    if row.is_given:
        return f"{row.coefficient:#.4g}", "given", ""
    ends = "not known" if row.low is None or row.high is None else interval(row.low, row.high)
    return f"{row.coefficient:#.4g}", ends, row.share


def certificate_table(certificate: Sequence[CertificateRow], orthogonality: float) -> Any:
    """Return a table of size, overlap and bounds with one row per equation."""
    rows = [
        (
            left_side(row.equation),
            str(row.n_terms),
            "<1e-8" if row.fit_error < limits.ROUNDING_ERROR else number(row.fit_error),
            number(row.residual_share),
            whole_percent(row.library_share),
            number(row.overlap),
            number(row.penalty),
            _bound(row, orthogonality),
            number(row.duality_gap),
        )
        for row in certificate
    ]
    columns = (
        "equation", "terms", "error", "residual", "library", "overlap", "penalty", "bound",
        "gap",
    )  # fmt: skip
    word = target_word(row.equation for row in certificate)
    return table(f"Fit (relative to the size of each {word})", columns, rows)


def _bound(row: CertificateRow, orthogonality: float) -> str:
    """Return the bound on the penalty, followed by '?' if an assumption of the bound fails."""
    if math.isinf(orthogonality):
        return "exact"
    mark = "" if row.bound_holds or math.isnan(row.bound) else "?"
    return number(row.bound) + mark


def score_table(title: str, scores: Scores) -> Any:
    """Return a table of errors on a set of runs, followed by the first failed forecast."""
    from rich.console import Group
    from rich.text import Text

    rows = []
    if scores.r2 is not None:
        word = target_word(score.equation for score in scores.equations)
        rows.append((word, number(scores.derivative_error)))
        rows.append((f"{word}, R^2", f"{scores.r2:.6f}"))
    if scores.forecasts:
        rows.append(("forecast", number(scores.forecast_error)))
        rows.append(("diverged", f"{scores.forecasts_failed} of {scores.forecasts}"))
    errors = table(title, ("relative error", ""), rows)
    if not scores.first_failure:
        return errors
    return Group(errors, Text(f"  First failure: {scores.first_failure}"))


def table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1
) -> Any:
    """Return a table for `rich`.

    The first `words` columns contain words, which wrap in a narrow terminal. The other columns
    contain numbers, which do not wrap.
    """
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    # Text, not str: rich would interpret square brackets in column names as markup
    result = Table(box=None, pad_edge=False)
    for i, column in enumerate(columns):
        if i < words:
            result.add_column(Text(column), overflow="fold", header_style="dim")
        else:
            result.add_column(Text(column), justify="right", no_wrap=True, header_style="dim")
    for row in rows:
        result.add_row(*(Text(cell) for cell in row))
    # rich would wrap a table's own title to the width of the table
    return Group(Text(title, "bold"), result)
