"""What equations and network carry, and how far split and forecasts can be trusted."""

import math

from . import _limits as limits
from ._summary import CertificateRow, Summary
from ._verdict import forecasts_fail
from ._words import counted, listed, number, percent


def trust_sentences(summary: Summary) -> tuple[tuple[str, str], ...]:
    """(heading, sentence) for the equations, the network and the split between them, where there is
    one, and forecasts."""
    rows = [row for row in summary.certificate if row.residual_share > 0]
    if not rows:
        equations = f"{_equations(summary)} The model has no network."
        return (("Equations", equations), ("Forecasts", _forecasts(summary)))
    return (
        ("Equations", _equations(summary)),
        ("Network", _network(rows)),
        ("Split", _split(rows)),
        ("Forecasts", _forecasts(summary)),
    )


def _equations(summary: Summary) -> str:
    """What the terms alone leave of each derivative."""
    left = [
        (one.equation, one.equation_error)
        for one in summary.scores.equations
        if one.equation_error is not None and one.status != "constant"
    ]
    where = "on held-out rows" if summary.source else "on the rows of the fit"
    if not left:
        return "The error of the equations was not measured here."
    parts = [f"{percent(error)} of {name}'" for name, error in left]
    return f"The error of the equations alone is {listed(parts)} {where}."


def _network(rows: list[CertificateRow]) -> str:
    """How large the network is, and how much of it library terms could represent."""
    parts = [f"{percent(row.residual_share)} of the size of {row.equation}'" for row in rows]
    text = f"The network adds {listed(parts)}"
    shared = [row for row in rows if row.residual_share > limits.NOTABLE_RESIDUAL]
    if shared:
        most = max(shared, key=lambda row: row.library_share)
        text += (
            f"; library terms that are not in use could represent up to "
            f"{percent(most.library_share)} of it"
        )
    return f"{text}."


def _split(rows: list[CertificateRow]) -> str:
    """Whether the network could hold what the terms represent."""
    overlap = max(row.overlap for row in rows)
    bias = (
        "missing physics that correlates with a term still moves that term's coefficient, which "
        "orthogonality cannot undo"
    )
    if overlap < limits.NEGLIGIBLE_OVERLAP:
        return (
            f"The network is orthogonal to every term on these data (overlap {number(overlap)}), "
            f"so it holds nothing that the terms in use could represent; {bias}."
        )
    return f"The network overlaps with the terms by {number(overlap)}{_bound(rows)}; {bias}."


def _bound(rows: list[CertificateRow]) -> str:
    worst = max(rows, key=lambda row: row.overlap)
    if not math.isfinite(worst.bound):
        return ", without a bound on it"
    if worst.bound_holds:
        return f", the penalty {number(worst.penalty)} is within its bound {number(worst.bound)}"
    return f", and the bound {number(worst.bound)} on its penalty rests on an assumption that fails"


def _forecasts(summary: Summary) -> str:
    """How far forecasts of whole runs were off."""
    scores = summary.scores
    if not scores.forecasts:
        return "No forecasts were made: how far they can be trusted is not known."
    runs = counted(scores.forecasts, "run")
    ended = (
        f"{scores.forecasts_failed} of {counted(scores.forecasts, 'forecast')} ended early"
        if scores.forecasts_failed
        else f"The forecasts of {runs} reached the last row"
        if scores.forecasts > 1
        else "The forecast of the run reached its last row"
    )
    if scores.forecast_error is None:
        return f"{ended}: forecasts cannot be trusted."
    off = f"off by {percent(scores.forecast_error)}"
    joint = ", the others are" if scores.forecasts_failed else " and are"
    joint = " and is" if scores.forecasts == 1 and not scores.forecasts_failed else joint
    trust = (
        "do not trust them over whole runs"
        if forecasts_fail(scores)
        else "good over the length of these runs; states outside them were not tested"
        if scores.forecast_error <= limits.GOOD_FORECAST_ERROR and not scores.forecasts_failed
        else "rough over whole runs"
    )
    chaotic = any(one.code == "chaotic" for one in summary.advice)
    more = "; the motion is chaotic, so errors grow with time" if chaotic else ""
    return f"{ended}{joint} {off}: {trust}{more}."
