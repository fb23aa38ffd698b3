"""The model that proposals were made for, beside the one that accepted some of them."""

from typing import TYPE_CHECKING, Any

from ...data import Dataset
from ...findings import EquationScore, Summary
from ...findings._words import percent
from ._data import Earlier
from ._pieces import verdict_word

if TYPE_CHECKING:  # brings the whole search for formulas
    from ...model.explanation import Explanation


def earlier_of(
    model: Any, found: "Explanation | None", data: Dataset | None, summary: Summary
) -> Earlier | None:
    """The explained model, where the report is about another one that was made from it."""
    if found is None or found.model is model:
        return None
    before: Summary = found.model.summary(data)
    rows = [("verdict", verdict_word(summary.verdict), verdict_word(before.verdict))]
    rows.append(("terms", str(_n_terms(summary)), str(_n_terms(before))))
    old = {one.equation: one for one in before.scores.equations}
    rows += [
        (f"error of {one.equation}'", _error(one), _error(old[one.equation]))
        for one in summary.scores.equations
        if one.equation in old
    ]
    rows.append(("error of forecasts", _forecasts(summary), _forecasts(before)))
    return Earlier(tuple(found.model.to_mathml()), before.verdict, tuple(rows))


def _n_terms(summary: Summary) -> int:
    return sum(one.n_terms for one in summary.certificate)


def _error(score: EquationScore) -> str:
    held_out = score.held_out_error
    return percent(score.fit_error if held_out is None else held_out)


def _forecasts(summary: Summary) -> str:
    scores = summary.scores
    if not scores.forecasts:
        return "–"
    error = "–" if scores.forecast_error is None else percent(scores.forecast_error)
    if not scores.forecasts_failed:
        return error
    return f"{error}, {scores.forecasts_failed} of {scores.forecasts} ended early"
