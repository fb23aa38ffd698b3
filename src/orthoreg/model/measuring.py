"""`with_next_runs`: findings with runs to record next, if the data leave something open."""

import shlex
from dataclasses import replace

import numpy as np

from .._common.errors import InputError
from ..control import jacobian
from ..data import Dataset
from ..design import Experiment
from ..findings import Findings
from ..findings._findings import Advice, NextRuns, PlannedRun
from ..findings._words import counted, listed, percent
from . import _limits as limits
from .designing import Request, next_experiment
from .model import AbstractModel
from .rivals import open_rivals

_VERDICTS = ("explained", "noise-limited", "undecided")
"""Verdicts of models whose trajectories are good enough to plan with."""


def with_next_runs(model: AbstractModel, data: Dataset, findings: Findings) -> Findings:
    """Return the findings with a proposal and one item of advice, if wide intervals or undecided
    terms suggest an experiment, and the findings themselves otherwise."""
    if findings.verdict.code not in _VERDICTS or model.output_names_ != model.state_names_:
        return findings
    try:
        planned = _next_runs(model, data)
    except (InputError, np.linalg.LinAlgError):  # the model cannot plan: delays, no noise, ...
        return findings
    if planned is None:
        return findings
    run = planned.runs[0].text.split(". ")[0].rstrip(".")
    text = f"{planned.reason} For example, {run[0].lower()}{run[1:]}: `{planned.command}`."
    advice = (*findings.advice, Advice("next-experiment", text))
    return replace(findings, advice=advice, next_runs=planned)


def _next_runs(model: AbstractModel, data: Dataset) -> NextRuns | None:
    names, ends = model.schema_.measured_inputs, np.zeros((2, 0))
    if names and data.inputs is not None:
        columns = data.inputs[:, [data.input_names.index(name) for name in names]]
        ends = np.stack([columns.min(axis=0), columns.max(axis=0)])
    open_ = [rival for rival in open_rivals(model, ends) if rival.is_other_terms]
    wide = {} if open_ else _wide_intervals(model)
    if not open_ and not wide:
        return None
    horizon, step = _times(model, data)
    if model.schema_.step is None and _fastest_rate(model, ends) * horizon > limits.MAX_STIFFNESS:
        return None
    request = Request(
        starts=_starts(model),
        inputs=dict(zip(names, _rounded(ends.T), strict=True)),
        runs=limits.SUGGESTED_RUNS,
        horizon=horizon,
        step=step,
        goal="rivals" if open_ else "constants",
        rivals=[rival.model for rival in open_],
        candidates=limits.SUGGESTED_CANDIDATES,
        rounds=0,
        rtol=limits.SUGGESTED_TOLERANCE,
    )
    experiment = next_experiment(model, request)
    unit = model.units_.get(model.schema_.time_name, "")
    runs = f"{counted(request.runs, 'run')} of {horizon:g}{f' {unit}' * bool(unit)}"
    where = f"With initial states in up to twice the range of the data, {runs} would"
    if open_:
        assert experiment.separation is not None
        reason = f"The data do not exclude {listed([rival.text for rival in open_])}. {where} "
        if experiment.separation >= limits.TELLING:
            reason += f"separate the nearest alternative by {experiment.separation:.2g} standard "
            reason += "deviations."
        else:
            reason += (
                f"separate the nearest alternative by only {experiment.separation:.2g} standard "
                f"deviations, so that larger motions are needed."
            )
    else:
        widest = max(wide, key=lambda name: wide[name])
        size = f"is ±{percent(wide[widest])} of its value" if wide[widest] < 1 else "includes zero"
        width = percent(experiment.expected_shrinkage.get(widest, 1.0))
        reason = f"The interval of {widest} {size}. {where} narrow it to {width} of its width."
    assumption = "The noise is assumed not to change."
    if experiment.outside.any():
        assumption = (
            "These numbers assume that the equations also hold outside the training data, and that "
            "the noise does not change."
        )
    shown = (*model.schema_.measured_states, *names)
    measured = [model.state_names_.index(name) for name in model.schema_.measured_states]
    box = np.concatenate([model.state_range_[:, measured], ends], axis=1)
    return NextRuns(
        reason=reason,
        names=tuple(
            f"{name} [{model.units_[name]}]" if model.units_.get(name) else name for name in shown
        ),
        ranges=tuple((low, high) for low, high in map(_short, box.T)),
        runs=tuple(_planned(model, experiment, r) for r in range(request.runs)),
        widths=tuple(experiment.expected_shrinkage.items()),
        separation=experiment.separation,
        rivals=tuple(rival.text for rival in open_),
        command=_command(request),
        assumption=assumption,
    )


def _wide_intervals(model: AbstractModel) -> dict[str, float]:
    """Return the half-widths of wide intervals of constants, relative to their values."""
    estimates = model.fit_.estimates
    if estimates is None:
        return {}
    functions, wide = model._constant_functions(estimates), {}
    for name, gradient in model._gradients(estimates):
        value = (
            functions[name](estimates.values) if name in functions else gradient @ estimates.values
        )
        std = np.sqrt(max(gradient @ estimates.covariance @ gradient, 0.0))
        relative = limits.NORMAL_95 * std / max(abs(float(value)), 1e-300)
        if limits.WIDE < relative < np.inf:
            wide[name] = float(relative)
    return wide


def _fastest_rate(model: AbstractModel, inputs: np.ndarray) -> float:
    """Return the largest eigenvalue of the linearized model within the training data."""
    box = np.concatenate([model.state_range_, inputs], axis=1)
    slopes = jacobian(model.field_, np.stack([*box, box.mean(axis=0)]))
    slopes = slopes[:, :, : len(model.state_names_)]
    return float(np.abs(np.linalg.eigvals(np.where(np.isfinite(slopes), slopes, 0.0))).max())


def _times(model: AbstractModel, data: Dataset) -> tuple[float, float]:
    """Return duration and time step of a typical run, with at most `SUGGESTED_ROWS` rows."""
    length = int(np.median(data.run_lengths))
    if model.schema_.step is not None:
        return model.schema_.step * min(length - 1, limits.SUGGESTED_ROWS), model.schema_.step
    duration = np.median(data.step_of_run() * (data.run_lengths - 1))
    horizon = float(f"{duration:.2g}")
    step = horizon / min(max(length - 1, 2), limits.SUGGESTED_ROWS)
    return horizon, float(f"{step:.2g}")


def _starts(model: AbstractModel) -> dict[str, tuple[float, float]]:
    """Return wider ranges of the initial states than in the data. States that have one sign in the
    data keep it, and velocities of positions that were not measured start at zero."""
    starts = {}
    for i, name in enumerate(model.state_names_):
        if name in model.estimated_ or name in model.schema_.hidden:
            continue
        low, high = model.state_range_[:, i].tolist()
        more = (limits.WIDENED - 1) * (high - low) / 2
        starts[name] = (
            low if low - more < 0 <= low else low - more,
            high if high <= 0 < high + more else high + more,
        )
    return dict(zip(starts, _rounded(np.array(list(starts.values()))), strict=True))


def _rounded(values: np.ndarray) -> list[tuple[float, float]]:
    """Return ranges with two significant digits of their size."""
    result = []
    for low, high in values.reshape(-1, 2).tolist():
        digits = 1 - int(np.floor(np.log10(max(high - low, abs(high), 1e-300))))
        result.append((round(low, digits), round(high, digits)))
    return result


def _planned(model: AbstractModel, experiment: Experiment, r: int) -> PlannedRun:
    """Return a run in words, with some points of its measured states and its inputs."""
    some = np.unique(
        np.linspace(0, len(experiment.times) - 1, limits.DRAWN_POINTS).round().astype(int)
    )
    measured = [model.state_names_.index(name) for name in model.schema_.measured_states]
    columns = experiment.predicted[r][:, measured]
    if experiment.inputs is not None:
        columns = np.concatenate([columns, experiment.inputs[r]], axis=1)
    text = experiment.run_text(r)
    return PlannedRun(
        text[0].upper() + text[1:],
        _short(experiment.times[some]),
        tuple(_short(column[some]) for column in columns.T),
    )


def _short(values: np.ndarray) -> tuple[float, ...]:
    """Return numbers with four significant digits."""
    return tuple(float(f"{value:.4g}") for value in values)


def _command(request: Request) -> str:
    """Return the command that proposes such runs."""
    words = ["orthoreg", "design", "MODEL"]
    words += ["--goal", "rivals"] if request.goal == "rivals" else []
    for option, ranges in (("--start", request.starts), ("--input", request.inputs)):
        for name, (low, high) in ranges.items():
            words += [option, f"{name}={low:g}..{high:g}"]
    words += ["--runs", f"{request.runs}", "--horizon", f"{request.horizon:g}"]
    return shlex.join([*words, "--step", f"{request.step:g}", "--out", "next.csv"])
