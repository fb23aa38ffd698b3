"""`refine`: constants, starts and the residual's weights by matching trajectories."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from .._common.progress import progress
from ..data import Dataset
from ..field.hybrid import HybridField
from ..physics import Knowledge
from ._constants import Constants
from ._covariance import spread
from ._held_out import Comparison, HeldOut
from ._likelihood import Match
from ._limits import TRIFLE
from ._orthogonal import reprojected
from ._problem import Problem
from ._profile import profiled
from ._reach import open_gate
from ._result import Refinement
from ._stages import FULL, Stage, all_stages
from ._uncertainty import Uncertainty

_TRIES = 3  # stages, from the last, that held-out data may refuse
_FEWEST_STEPS = 3


def refine(
    field: HybridField,
    data: Dataset,
    *,
    interpolation: Mapping[str, str] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    residual: bool = True,
    knowledge: Knowledge | None = None,
    noise: Float[np.ndarray, " n"] | None = None,
    matched: Match | None = None,
) -> Refinement:
    """The field's constants by trajectory matching: all non-zero coefficients, the parameters in
    their terms, the residual's weights unless `residual=False`, and every segment's start.

    Minimises the sum of squared differences between simulated and measured states, each state in
    its own standard deviation, which is estimated and may grow with the state; differences beyond
    four of them count linearly. Segments grow from 4 steps to whole runs, as far as they can be
    followed. Equations of positions (`data.velocity_of`) stay, and states that were not measured
    do not count. The weights' prior is normal around what they were, with the variance that makes
    the data most probable: what trajectories do not determine stays.

    Kept if the field was `matched` within noise, or if forecasts of held-out runs, or of the end of
    a single one, are no worse; where it is the weights that make them worse, these stay and the
    constants alone are refined. The gate
    of refined weights opens further where they forecast runs beyond the others better than it. What
    `knowledge` gives stays as well, and relations and bounds hold. A misfit of the size of `noise`,
    the standard deviations of the states' noise, is no reason to end with shorter segments. A field
    that was `matched` to these runs within noise is refined from the segments on which that ended.
    """
    fixed = [data.state_names.index(name) for name in data.velocity_of]
    constants = Constants.of(field, fixed, residual=residual, knowledge=knowledge)
    if not constants.size:
        return _as_it_was(field, "there is no constant to refine")
    if int(data.run_lengths.max()) <= _FEWEST_STEPS:
        return _as_it_was(field, f"no run has more than {_FEWEST_STEPS} rows")
    measured = data.is_measured
    spreads = data.states.std(axis=0)
    if not spreads[measured].any():
        return _as_it_was(field, "no measured state moves")
    problem = Problem(
        field,
        constants,
        data,
        dict(interpolation or dict.fromkeys(data.input_names, "cubic")),
        np.where(spreads > 0, spreads, 1.0),
        measured,
        growing_noise=True,
        expected=noise,
    )
    ends = constants.bounds(field, bounds or {}, knowledge)
    with np.errstate(all="ignore"), progress("Matching trajectories", 1.0) as show:
        chosen, found, stages, smooth = None, None, [], data.states
        for start in _starts(data, matched):
            tried, reached = all_stages(problem, ends, lambda done: show(0.7 * done, ""), **start)
            if not tried:
                continue
            last, compared = tried[-1], None
            if matched is None or not matched.leaves_white_noise:
                show(0.7, "(held-out runs)")
                last, compared = _checked(problem, tried, reached, ends)
            if chosen is None or (last is not None and _is_better(compared, found)):
                chosen, found, stages, smooth = last, compared, tried, reached
        if chosen is None and found is None:
            return _as_it_was(
                field, "its trajectories do not follow the data even over a few steps"
            )
        if chosen is not None:
            result = _result(problem, (chosen, stages[0]), found, ends, knowledge)
            if not constants.weighted:
                return result
            show(0.9, "(outside the data)")
            return replace(result, field=open_gate(result.field, problem, chosen, smooth, ends))
    if constants.weighted and constants.count:  # perhaps without the weights
        return refine(
            field, data, interpolation=interpolation, bounds=bounds, residual=False,
            knowledge=knowledge, noise=noise, matched=matched,
        )  # fmt: skip
    assert found is not None
    return _refused(field, found, stages[-1])


def _is_better(new: Comparison | None, old: Comparison | None) -> bool:
    """Whether the constants from another start forecast held-out data better."""
    return new is not None and old is not None and new.after < old.after


def _starts(data: Dataset, matched: Match | None) -> list[dict[str, Any]]:
    """The first segments, and states near which they begin: those of a match that left noise.
    Another match has trajectories of constants that may be wrong and lead back to these: refinement
    then begins with short segments of the measured states as well."""
    if matched is None or len(matched.states) != data.n_samples:
        return [{}]
    warm = {"effort": FULL._replace(first=matched.length), "states": matched.states}
    return [warm] if matched.leaves_noise else [{}, warm]


def _checked(
    problem: Problem,
    stages: Sequence[Stage],
    smooth: Float[np.ndarray, "N n"],
    bounds: Float[np.ndarray, "2 P"],
) -> tuple[Stage | None, Comparison]:
    """The last stage whose constants do not forecast held-out data worse than the old ones, or
    None; and what the comparison of the last one tried was."""
    found = Comparison(np.nan, np.nan)
    check = HeldOut(problem, smooth, bounds)
    for stage in stages[: -_TRIES - 1 : -1]:
        found = check(stage)
        if found.holds:
            return stage, found
    return None, found


def _result(
    problem: Problem,
    stages: tuple[Stage, Stage],
    found: Comparison | None,
    bounds: Float[np.ndarray, "2 P"],
    knowledge: Knowledge | None,
    *,
    is_curved: bool = True,
) -> Refinement:
    """What the last of two stages gives, the other being the first of all; `found` is how it
    forecasts held-out data, where this was looked at. Intervals follow the curved profile of the
    likelihood if `is_curved`."""
    stage, first = stages
    constants, data = problem.constants, problem.data
    field = constants.write(problem.field, stage.p)
    field, follows = reprojected(field, constants, data)
    known = spread(problem, stage, first)
    coefficients = np.asarray(field.coefficients)[constants.rows, constants.columns]
    freedom = known.groups - 1.0 if known.is_sandwich else _left_over(problem, stage)
    used = len(np.unique(stage.segments.rows[stage.segments.weight > 0]))
    some = "" if used >= data.n_samples else f", {used:,} of {data.n_samples:,} rows"
    rows = stage.segments.length + 1
    status = f"refined on segments of {rows} rows{some}"
    # where a descent ended on its way, curvature says nothing about the distance to the minimum
    m = problem.measured
    misfits = bool((stage.sigma[m] > TRIFLE * problem.sizes[m]).any())
    is_stuck = misfits and known.is_sandwich and not stage.solution.converged
    if is_stuck:
        status += (
            " without reaching a minimum, so that intervals are not known (bounds near the true "
            "values of the constants help)"
        )
    if found is not None:
        status += f": forecast error {_percent(found.before)} -> {_percent(found.after)}"
    return Refinement(
        field=field,
        kept=True,
        status=status,
        uncertainty=None
        if is_stuck
        else Uncertainty(
            places=tuple(zip(constants.rows.tolist(), constants.columns.tolist(), strict=True)),
            parameters=tuple(field.features.parameters[i] for i in constants.inner),
            values=np.append(coefficients, stage.p[len(constants.lead) : constants.count]),
            covariance=follows @ known.covariance @ follows.T,
            degrees_of_freedom=freedom,
            bounds=constants.limits(bounds, knowledge),
            stretch=constants.spread_out(
                # a profile knows nothing of a misfit beyond noise, which the sandwich is for
                np.ones((constants.count, 2))
                if known.is_sandwich or not is_curved
                else profiled(problem, stage, bounds, freedom)
            ),
        ),
        is_sandwich=known.is_sandwich,
        noise=stage.sigma,
        error_before=np.nan if found is None else found.before,
        error_after=np.nan if found is None else found.after,
        segment_rows=rows,
        rows_used=used,
    )


def _left_over(problem: Problem, stage: Stage) -> float:
    """How many more values were measured than numbers estimated."""
    values = stage.segments.weight.sum() * problem.measured.sum()
    starts = stage.segments.count * len(problem.sizes)
    return float(max(values - problem.constants.count - starts, 1.0))


def _as_it_was(field: HybridField, why: str) -> Refinement:
    return Refinement(field, False, f"kept as it was: {why}")


def _refused(field: HybridField, found: Comparison, stage: Stage) -> Refinement:
    return Refinement(
        field,
        False,
        f"kept as it was: refined constants forecast held-out data with an error of "
        f"{_percent(found.after)}, the old ones with {_percent(found.before)}",
        noise=stage.sigma,
        error_before=found.before,
        error_after=found.after,
        segment_rows=stage.segments.length + 1,
    )


def _percent(error: float) -> str:
    return f"{100 * error:.2g}%"


def matched_result(problem: Problem, stage: Stage, first: Stage, *, is_curved: bool) -> Refinement:
    """Return the constants of a stage with their covariance, without a check on held-out data."""
    free = np.tile([[-np.inf], [np.inf]], problem.constants.size)
    result = _result(problem, (stage, first), None, free, None, is_curved=is_curved)
    return replace(result, status=f"matched to segments of {result.segment_rows} rows")
