"""Refined weights of a residual: its orthogonality to the terms, and the range of its gate."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from ..data import Dataset
from ..field.gate import Gate
from ..field.hybrid import HybridField
from . import _limits as limits
from ._constants import Constants
from ._forecasts import squared_forecast_errors
from ._matching import Stage
from ._problem import Problem
from ._stages import match_stage


def reprojected(
    field: HybridField, constants: Constants, data: Dataset
) -> tuple[HybridField, Float[np.ndarray, "k P"]]:
    """Return the same function with its residual made orthogonal to the terms of each equation
    again.

    Also return the derivatives of the coefficients with respect to the free parameters.

    C theta + V'psi - P theta is unchanged by P' = <psi, theta> <theta, theta>^-1 V and C - P + P'.
    """
    jacobian = constants.derivatives()
    coefficients = np.array(field.coefficients, dtype=float)
    correction = np.array(field.correction, dtype=float)
    rows = data.variables[:: -(-data.n_samples // limits.PLAN_ROWS)]
    for i, c in enumerate(constants.weighted):
        used = np.flatnonzero(coefficients[c])
        if not correction[c].any() or not len(used):
            continue
        theta = field.features(rows)
        psi = field.basis(rows)
        projection = np.linalg.lstsq(theta[:, used], psi, rcond=None)[0]
        unused = correction[c].copy()
        unused[used] = 0.0
        residual = psi @ field.weights[:, c] - theta[:, unused != 0] @ unused[unused != 0]
        new = np.linalg.lstsq(theta[:, used], residual, rcond=None)[0]
        coefficients[c, used] += new - correction[c, used]
        correction[c, used] = new
        rows_of_equation = np.flatnonzero(constants.rows == c)
        term = np.searchsorted(used, constants.columns[rows_of_equation])
        jacobian[rows_of_equation, constants.weights_of(i)] = projection[term]
    field = replace(field, coefficients=coefficients, correction=correction)
    return _with_held_values(field, data), jacobian


def _with_held_values(field: HybridField, data: Dataset) -> HybridField:
    """Return the field with updated values of the residual at the landmarks of its gate."""
    region = field.region
    if region is None or region.held is None:
        return field
    varies = np.asarray(region.rate) > 0
    rate = np.where(varies, region.rate, 1.0)
    landmarks = np.where(varies, region.landmarks / rate, data.variables.mean(axis=0))
    held = replace(field, region=None).neural(landmarks)
    return replace(field, region=replace(region, held=held))


def open_gate(
    field: HybridField,
    problem: Problem,
    stage: Stage,
    states: Float[np.ndarray, "N n"],
    bounds: Float[np.ndarray, "2 P"],
) -> HybridField:
    """Return the field with a wider gate, if forecasts of the outermost runs support it.

    Weights and constants are refined on the other runs alone. The outermost runs are then forecast
    with the gate of the other runs, and without a gate. If forecasts without a gate are much
    better, the wider gate trusts the residual as far beyond all data as the outermost runs are
    beyond the other runs. The residual decreases slowly from there.
    """
    data, region = problem.data, field.region
    if region is None or region.period is not None or data.n_runs < limits.GATE_RUNS:
        return field
    distance = (data.variables - data.variables.mean(axis=0)) * region.rate
    largest = np.zeros(data.n_runs)
    np.maximum.at(largest, data.run_of_row, np.square(distance).sum(axis=1))
    order = np.argsort(largest)
    outer = np.isin(data.run_of_row, order[round((1 - limits.OUTER_RUNS) * data.n_runs) :])
    inner_data, outer_data = (data.only(rows).with_plan_of(data) for rows in (~outer, outer))
    gate = Gate(fade=float(region.fade), hold=region.held is not None)
    parts = inner_data.run_of_row % limits.GATE_PARTS
    reach = float(gate(inner_data.variables, parts).distance(outer_data.variables).max())
    if reach <= 1:
        return field
    p = match_stage(
        replace(problem, data=inner_data), stage.length, stage.p, states[~outer],
        stage.precision, bounds, sigma=stage.sigma, max_evaluations=limits.NEAR_EVALUATIONS,
    ).p  # fmt: skip
    free = replace(problem.constants.write(problem.field, p), region=None)
    gated = replace(free, region=gate(inner_data.variables, parts, free.neural))
    errors = [
        squared_forecast_errors(
            replace(problem, field=candidate, constants=Constants.none(), data=outer_data),
            stage, np.zeros(0), states[outer],
        )
        for candidate in (free, gated)
    ]  # fmt: skip
    ratio = np.maximum(errors[0], 1e-300) / np.maximum(errors[1], 1e-300)
    matters = np.abs(np.log(ratio)) > limits.GATE_MATTERS
    if not matters.any():
        return field
    if not errors[0][matters].mean() <= limits.GATE_BETTER * errors[1][matters].mean():
        return field
    if errors[0].max() > limits.LOST_FORECAST**2:
        return field
    wider = replace(
        region, rate=region.rate / reach, landmarks=region.landmarks / reach, fade=limits.SLOW_FADE
    )
    return replace(field, region=wider)
