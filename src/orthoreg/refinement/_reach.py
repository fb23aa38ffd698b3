"""How far beyond the data a refined residual may be trusted: as far as it was seen to be right."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from ..field.gate import Gate
from ..field.hybrid import HybridField
from . import _limits as limits
from ._constants import Constants
from ._held_out import USELESS, forecast_errors
from ._problem import Problem
from ._stages import Stage, run_stage

_PARTS = 5
_MOST_EVALUATIONS = 8


def open_gate(
    field: HybridField,
    problem: Problem,
    stage: Stage,
    smooth: Float[np.ndarray, "N n"],
    bounds: Float[np.ndarray, "2 P"],
) -> HybridField:
    """The field with its gate further out and slower, where that is seen to be right.

    The runs that go furthest are taken away, weights and constants refined on the others alone,
    and those runs forecast: as the gate has it that the others would give, and without a gate.
    Where the residual itself is by far the better of the two, it is trusted as far beyond all data
    as these runs are beyond the others, and fades slowly from there.
    """
    data, region = problem.data, field.region
    if region is None or region.period is not None or data.n_runs < limits.GATE_RUNS:
        return field
    away = (data.variables - data.variables.mean(axis=0)) * region.rate
    farthest = np.zeros(data.n_runs)
    np.maximum.at(farthest, data.run_of_row, np.square(away).sum(axis=1))
    order = np.argsort(farthest)
    outer = np.isin(data.run_of_row, order[round((1 - limits.OUTER_RUNS) * data.n_runs) :])
    rest, unseen = (data.only(rows).with_plan_of(data) for rows in (~outer, outer))
    gate = Gate(fade=float(region.fade), hold=region.held is not None)
    parts = rest.run_of_row % _PARTS
    seen = float(gate(rest.variables, parts).distance(unseen.variables).max())
    if seen <= 1:
        return field
    p = run_stage(
        replace(problem, data=rest), stage.length, stage.p, smooth[~outer],
        stage.precision, bounds, sigma=stage.sigma, most=_MOST_EVALUATIONS,
    ).p  # fmt: skip
    free = replace(problem.constants.write(problem.field, p), region=None)
    held = replace(free, region=gate(rest.variables, parts, free.neural))
    errors = [
        forecast_errors(
            replace(problem, field=one, constants=Constants.none(), data=unseen),
            stage, np.zeros(0), smooth[outer],
        )
        for one in (free, held)
    ]  # fmt: skip
    matters = (
        np.abs(np.log(np.maximum(errors[0], 1e-300) / np.maximum(errors[1], 1e-300)))
        > limits.GATE_MATTERS
    )
    if (
        not matters.any()
        or not errors[0][matters].mean() <= limits.GATE_BETTER * errors[1][matters].mean()
    ):
        return field
    if errors[0].max() > USELESS**2:
        return field
    wider = replace(
        region, rate=region.rate / seen, landmarks=region.landmarks / seen, fade=limits.SLOW_FADE
    )
    return replace(field, region=wider)
