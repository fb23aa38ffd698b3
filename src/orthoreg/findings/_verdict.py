"""Write the verdict on equations, and sentences on how reliable equations, network and forecasts
are.
"""

import math
from collections.abc import Sequence

from .._common.notation import left_side, target_word, variable_of
from . import _limits as limits
from ._findings import CertificateRow, EquationScore, Findings, Scores, TermRow, Verdict
from ._held_out import beyond_noise
from ._words import counted, listed, number, percent, rates


def status_of(score: EquationScore) -> str:
    """Return the verdict on one equation from its errors."""
    status = _status(judged_error(score), score.noise or 0.0)
    if status == "explained" and score.has_residual and score.equation_error is not None:
        alone = _status(score.equation_error, score.noise or 0.0)
        return status if alone == "explained" else "needs-residual"
    return status


def _status(error: float, noise: float) -> str:
    excess = beyond_noise(error, noise, limits.NOISE_MARGIN)
    if excess <= limits.GOOD_ERROR:
        return "explained" if error <= limits.FAIR_ERROR else "noise-limited"
    return "roughly-explained" if excess <= limits.FAIR_ERROR else "not-explained"


def sentence_of(score: EquationScore, where: str) -> str:
    """Return the status of one equation in words; `where` names the rows of its error."""
    if score.trajectory_error is not None:
        return _trajectory_sentence(score)
    name, size = score.equation, percent(judged_error(score))
    subject, explains = ("Equation and residual together", "explain") if score.has_residual else (
        "The equation", "explains"
    )  # fmt: skip
    match score.status:
        case "constant":
            return f"{variable_of(name)} never changes in these data."
        case "noise-limited":
            return (
                f"The error of {left_side(name)} is {size} {where}, which is comparable with the "
                f"uncertainty of the {target_word([name])}, {percent(score.noise or 0.0)}."
            )
        case "explained" | "needs-residual":
            return f"{subject} {explains} {left_side(name)} within {size} {where}{_alone([score])}."
        case "roughly-explained":
            return (
                f"{subject} {explains} {left_side(name)} only roughly: the error is {size} {where}."
            )
    verb = "do" if score.has_residual else "does"
    return f"{subject} {verb} not explain {left_side(name)}: the error is {size} {where}."


def _trajectory_sentence(score: EquationScore) -> str:
    """Return the status of one equation in words, based on the misfit of its trajectories."""
    subject = "Equation and residual together" if score.has_residual else "The equation"
    do, misfit = "do" if score.has_residual else "does", _left([score])
    plural = "" if score.has_residual else "s"
    match score.status:
        case "noise-limited" if not score.is_ambiguous:
            return f"{_hidden([score])}."
        case "explained" | "needs-residual" | "noise-limited":
            left = left_side(score.equation)
            text = f"{subject} explain{plural} {left}: {misfit}{_alone_left([score])}"
        case "roughly-explained":
            text = f"{subject} explain{plural} {left_side(score.equation)} only roughly: {misfit}"
        case _:
            text = f"{subject} {do} not explain {left_side(score.equation)}: {misfit}"
    return f"{text}{_ambiguous([score])}."


def _left(scores: Sequence[EquationScore]) -> str:
    """Return 'the misfit of its trajectories over 51 rows is 1.0% of the motion ...' for the worst
    equation.
    """
    worst = max(
        scores, key=lambda score: (score.trajectory_error or 0) - (score.trajectory_noise or 0)
    )
    error, noise = percent(worst.trajectory_error or 0.0), percent(worst.trajectory_noise or 0.0)
    name = f" of {_measured(worst)}" if len(scores) > 1 or worst.judged_by else ""
    whose = "their" if len(scores) > 1 else "its"
    text = (
        f"the misfit of {whose} trajectories over {worst.trajectory_rows} rows is {error} of the "
        f"motion{name}"
    )
    if noise != error:
        return f"{text}, and independent noise would cause {noise}"
    is_noise = not worst.exceeds_noise and (worst.trajectory_error or 0.0) > limits.ROUNDING_MISFIT
    return f"{text}, which is noise" if is_noise else text


def _alone_left(scores: Sequence[EquationScore]) -> str:
    """Return '; without the residual, it is 8% of the motion of x' for equations with a
    residual.
    """
    helped = [score for score in scores if score.trajectory_alone is not None]
    if not helped:
        return ""
    worst = max(helped, key=lambda score: score.trajectory_alone or 0.0)
    error = percent(worst.trajectory_alone or 0.0)
    return f"; without the residual, it is {error} of the motion of {_measured(worst)}"


def _measured(score: EquationScore) -> str:
    """Return the state by which an equation is judged: the position for second order."""
    return score.judged_by or variable_of(score.equation)


def _hidden(scores: Sequence[EquationScore]) -> str:
    """Return the statement that these data could not reveal wrong equations."""
    worst = max(scores, key=lambda score: score.trajectory_noise or 0.0)
    return (
        f"{percent(worst.trajectory_noise or 0.0)} of the motion of {_measured(worst)} varies at "
        f"random from row to row, from noise or because samples are too far apart: these data "
        f"could not reveal wrong equations"
    )


def _trajectory_verdict(scores: Scores, moving: Sequence[EquationScore]) -> tuple[str, str]:
    """Return the code of the worst equation, and the verdict based on the misfit of
    trajectories.
    """
    for code, verb in (("not-explained", "do not explain"), ("roughly-explained", "explain")):
        failing = _with(moving, code)
        if failing:
            rough = " only roughly" if code == "roughly-explained" else ""
            if rough and _may_be_noise(failing, scores):
                rough += ", unless the noise is correlated"
            names = rates([equation.equation for equation in failing])
            return code, f"{_who(failing)} {verb} {names}{rough}: {_left(failing)}"
    limited = _with(moving, "noise-limited")
    hidden = [score for score in limited if not score.is_ambiguous]
    if hidden:
        return "noise-limited", _hidden(hidden)
    needed = bool(_with(moving, "needs-residual"))
    names = rates([equation.equation for equation in moving])
    text = f"{_who(moving)} explain {names}: {_left(moving)}{_alone_left(moving)}"
    text += _ambiguous(limited)
    return "noise-limited" if limited else "needs-residual" if needed else "explained", text


def _may_be_noise(failing: Sequence[EquationScore], scores: Scores) -> bool:
    """Return whether noise that is correlated between rows could cause the misfit. Such a misfit is
    not much larger than the independent part of the noise, and does not grow along trajectories.
    """
    if scores.forecasts_failed or scores.forecast_error is None:
        return False
    errors = [score.trajectory_error or 0.0 for score in failing]
    independent = [score.trajectory_noise or 0.0 for score in failing]
    return scores.forecast_error <= limits.MAX_GROWTH_OF_NOISE * max(errors) and all(
        noise >= limits.MIN_INDEPENDENT_NOISE * error
        for noise, error in zip(independent, errors, strict=True)
    )


def _ambiguous(scores: Sequence[EquationScore]) -> str:
    """Return '; but other terms explain y' as well: ...' for equations whose terms are
    uncertain.
    """
    scores = [score for score in scores if score.is_ambiguous and not score.exceeds_noise]
    if not scores:
        return ""
    worst = min(scores, key=lambda score: score.terms_probability or 0.0)
    names = rates([score.equation for score in scores])
    chosen = f"those of {left_side(worst.equation)}" if len(scores) > 1 else "the selected terms"
    return (
        f"; but other terms explain {names} as well: {chosen} are correct with a probability of "
        f"{percent(worst.terms_probability or 0.0)}"
    )


def verdict_of(scores: Scores, terms: Sequence[TermRow], rows: int | None, where: str) -> Verdict:
    """Return the verdict: a sentence, and the code of the worst equation."""
    if rows is not None and rows < limits.MIN_ROWS:
        are = "is" if rows == 1 else "are"
        text = f"{counted(rows, 'row')} {are} not enough to judge these equations."
        return Verdict("undecided", text)
    moving = [score for score in scores.equations if score.status != "constant"]
    if not moving:
        return Verdict("undecided", "Nothing changes in these data: there is nothing to explain.")
    if all(score.trajectory_error is not None for score in moving):
        code, text = _trajectory_verdict(scores, moving)
        return Verdict(code, _ended(text, scores, terms, joint="; "))
    failed = _with(moving, "not-explained")
    if failed:
        text = f"{_who(failed)} do not explain {_errors(failed, where)}"
        return Verdict("not-explained", _ended(text, scores, terms, joint="; "))
    limited = _with(moving, "noise-limited")
    if limited:
        worst = max(limited, key=judged_error)
        text = (
            f"The error of {rates([score.equation for score in limited])} "
            f"({percent(judged_error(worst))} {where}) is comparable with the uncertainty of "
            f"the {target_word([worst.equation])}s ({percent(worst.noise or 0.0)})"
        )
        return Verdict("noise-limited", _ended(text, scores, terms, joint="; "))
    rough = _with(moving, "roughly-explained")
    if rough:
        text = f"{_who(rough)} explain {_errors(rough, where)} only roughly"
        code = "forecasts-fail" if forecasts_fail(scores) else "roughly-explained"
        return Verdict(code, _ended(text, scores, terms, joint=", "))
    worst = max(moving, key=judged_error)
    names = rates([score.equation for score in moving])
    text = f"{_who(moving)} explain {names} within {percent(judged_error(worst))} {where}"
    if judged_error(worst) > limits.GOOD_ERROR:
        words = f"{target_word([worst.equation])}s"
        text += f", where {words} are uncertain by {percent(worst.noise or 0.0)}"
    text += _alone(moving)
    code = "needs-residual" if _with(moving, "needs-residual") else "explained"
    if forecasts_fail(scores):
        code = "forecasts-fail"
    elif scores.forecast_error is not None and scores.forecast_error > limits.GOOD_FORECAST_ERROR:
        code = "roughly-explained"
    return Verdict(code, _ended(text, scores, terms, joint="; " if "; " in text else ", "))


def forecasts_fail(scores: Scores) -> bool:
    """Return whether too many forecasts end early, or the completed forecasts have large errors."""
    if not scores.forecasts:
        return False
    early = scores.forecasts_failed / scores.forecasts >= limits.FAILED_FORECAST_SHARE
    return (
        early or scores.forecast_error is None or scores.forecast_error > limits.POOR_FORECAST_ERROR
    )


def uncertain_terms(terms: Sequence[TermRow]) -> list[TermRow]:
    """Return the terms in use whose probability is below one half."""
    return [
        row
        for row in terms
        if row.coefficient
        and row.probability is not None
        and row.probability < limits.MIN_TERM_PROBABILITY
    ]


def _ended(text: str, scores: Scores, terms: Sequence[TermRow], *, joint: str) -> str:
    """Return the sentence with clauses on forecasts and uncertain terms, and a full stop."""
    text += _forecast_words(scores, joint)
    doubtful = uncertain_terms(terms)
    if doubtful and not any(score.is_ambiguous for score in scores.equations):
        weakest = min(doubtful, key=lambda row: row.probability or 0.0)
        others = f" (and {counted(len(doubtful) - 1, 'other')})" if len(doubtful) > 1 else ""
        text += (
            f"; the term {weakest.term} of {left_side(weakest.equation)}{others} is uncertain, "
            f"with a probability of {percent(weakest.probability or 0.0)}"
        )
    return f"{text}."


def _forecast_words(scores: Scores, joint: str) -> str:
    if not scores.forecasts:
        return ""
    fail = forecasts_fail(scores)
    link = f"{joint}but " if fail and joint == ", " else f"{joint}and " if joint == ", " else joint
    if scores.forecasts_failed:
        ending = f"{scores.forecasts_failed} of {counted(scores.forecasts, 'forecast')} end early"
        if scores.forecast_error is None:
            return f"{link}{ending}"
        return f"{link}{ending}, and the others are off by {percent(scores.forecast_error)}"
    text = f"{link}forecasts of whole runs are off by {percent(scores.forecast_error or 0.0)}"
    grow = fail and any(score.errors_grow and not score.exceeds_noise for score in scores.equations)
    return f"{text}, because small errors of the initial state grow" if grow else text


def _errors(scores: Sequence[EquationScore], where: str) -> str:
    """Return "theta' (error 98% on held-out rows) and omega' (35%)", with the worst equation
    first.
    """
    worst = sorted(scores, key=judged_error, reverse=True)
    parts = [f"{left_side(score.equation)} ({percent(judged_error(score))})" for score in worst]
    parts[0] = f"{left_side(worst[0].equation)} (error {percent(judged_error(worst[0]))} {where})"
    return listed(parts)


def _who(scores: Sequence[EquationScore]) -> str:
    together = any(score.has_residual for score in scores)
    return "Equations and residual together" if together else "The equations"


def _alone(scores: Sequence[EquationScore]) -> str:
    """Return '; without the residual, the error of x' is 8%' for equations with a residual."""
    helped = [score for score in scores if score.has_residual and score.equation_error is not None]
    if not helped:
        return ""
    names = rates([score.equation for score in helped])
    if all((score.equation_error or 0.0) <= judged_error(score) for score in helped):
        return f"; the residual of {names} does not reduce this error"
    alone = max(score.equation_error or 0.0 for score in helped)
    errors = "errors" if len(helped) > 1 else "error"
    are = "are up to" if len(helped) > 1 else "is"
    return f"; without the residual, the {errors} of {names} {are} {percent(alone)}"


def _with(scores: Sequence[EquationScore], status: str) -> list[EquationScore]:
    return [score for score in scores if score.status == status]


def judged_error(score: EquationScore) -> float:
    """Return the error by which an equation is judged.

    This is the larger of the errors on the data and on held-out rows, or the error of the fit if
    neither was computed.
    """
    measured = [e for e in (score.derivative_error, score.held_out_error) if e is not None]
    return max(measured, default=score.fit_error or 0.0)


def trust_sentences(summary: Findings) -> tuple[tuple[str, str], ...]:
    """Return pairs (heading, sentence) on equations, network, their split and forecasts.

    Without a network, there are only the first and the last.
    """
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


def _equations(summary: Findings) -> str:
    """Return a sentence on the error of the terms alone in each derivative."""
    errors = [
        (score.equation, score.equation_error)
        for score in summary.scores.equations
        if score.equation_error is not None and score.status != "constant"
    ]
    where = "on held-out rows" if summary.source else "on the rows of the fit"
    if not errors:
        return "The error of the equations was not computed."
    parts = [f"{percent(error)} of {left_side(name)}" for name, error in errors]
    return f"The error of the equations alone is {listed(parts)} {where}."


def _network(rows: list[CertificateRow]) -> str:
    """Return a sentence on the size of the network and the share that library terms could
    represent.
    """
    parts = [
        f"{percent(row.residual_share)} of the size of {left_side(row.equation)}" for row in rows
    ]
    text = f"The network adds {listed(parts)}"
    shared = [row for row in rows if row.residual_share > limits.NOTABLE_RESIDUAL]
    if shared:
        largest = max(shared, key=lambda row: row.library_share)
        text += (
            f"; library terms that are not in use could represent up to "
            f"{percent(largest.library_share)} of it"
        )
    return f"{text}."


def _split(rows: list[CertificateRow]) -> str:
    """Return a sentence on the overlap of the network with the terms."""
    overlap = max(row.overlap for row in rows)
    bias = (
        "missing physics that correlates with a term still biases its coefficient, which "
        "orthogonality cannot prevent"
    )
    if overlap < limits.NEGLIGIBLE_OVERLAP:
        return (
            f"The network is orthogonal to every term on these data (overlap {number(overlap)}), "
            f"so the terms in use cannot represent any part of it; {bias}."
        )
    return f"The network overlaps with the terms by {number(overlap)}{_bound(rows)}; {bias}."


def _bound(rows: list[CertificateRow]) -> str:
    worst = max(rows, key=lambda row: row.overlap)
    if not math.isfinite(worst.bound):
        return ", and its penalty has no bound"
    if worst.bound_holds:
        return f", the penalty {number(worst.penalty)} is within its bound {number(worst.bound)}"
    return f", and an assumption of the bound {number(worst.bound)} on its penalty does not hold"


def _forecasts(summary: Findings) -> str:
    """Return a sentence on the errors of forecasts of whole runs."""
    scores = summary.scores
    if not scores.forecasts:
        return "No forecasts were made, so their accuracy is unknown."
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
    chaotic = any(advice.code == "chaotic" for advice in summary.advice)
    more = "; the motion is chaotic, so errors grow with time" if chaotic else ""
    return f"{ended}{joint} {off}: {trust}{more}."
