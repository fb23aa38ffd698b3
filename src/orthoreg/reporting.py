"""`report`: one HTML file about a fitted model and its data."""

import ast
import os
import platform
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import __version__
from ._common.errors import InputError
from ._common.files import atomic_write
from ._common.notation import derivative_name, left_side
from ._common.parallel import one_thread
from ._common.scikit import check_is_fitted
from .data import Dataset
from .data.tables import COUNTED
from .findings import EquationScore, Findings, counted, forecast_sample
from .findings._words import interval, listed, percent
from .findings.charts import (
    Earlier,
    ProposalView,
    RankedModel,
    Repeat,
    ReportData,
    charts_of,
    check_columns,
    constants_of,
    digest,
    equations_of,
)
from .model.model import AbstractModel
from .model.validation import given_dataset, in_states_of, known_dataset
from .rendering.html import render, verdict_word
from .simulation import Rollout

if TYPE_CHECKING:  # importing both loads the search for formulas
    from .model.discovery import Discovery
    from .model.explanation import Explanation

_MIN_CHANGE = 0.01  # minimum relative change of a coefficient that is reported


def report(
    model: AbstractModel,
    path: str | os.PathLike[str],
    data: Any = None,
    *,
    t: Any = None,
    u: Any = None,
    explanation: "Explanation | None" = None,
    discovery: "Discovery | None" = None,
    summary: Findings | None = None,
    forecasts: Sequence[Rollout] | None = None,
    title: str | None = None,
    command: str = "",
) -> Path:
    """Write one self-contained HTML file about a fitted model and return its path.

    The report opens in any browser without a network connection. It contains equations with
    intervals, verdict and advice, charts of forecasts, flow, residual, terms and errors, statistics
    of the data, and instructions to reproduce the model. Without data, charts that need data are
    omitted.

    Parameters
    ----------
    model
        a fitted model.
    path
        the file to write.
    data, t, u
        measurements to compare with the model: a `Dataset`, or states with times `t` and inputs
        `u`.
    explanation, discovery
        results of `model.explain` and `discover` to show.
    summary, forecasts
        results of `model.summary` and `model.forecast`, if already computed.
    title, command
        heading, and the command line that reproduces the model.

    Returns
    -------
    path
        path of the file.

    Examples
    --------
    >>> import numpy as np, orthoreg as og, tempfile
    >>> t = np.linspace(0, 6, 120)
    >>> model = og.OrthoReg(og.Polynomial(1), og.Zero()).fit(np.exp(-t)[:, None], t=t)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = og.report(model, f"{folder}/out.html", data=np.exp(-t)[:, None], t=t)
    ...     written.stat().st_size < 6e6
    True
    """
    if not isinstance(model, AbstractModel):
        raise InputError(f"report takes a fitted model such as OrthoReg(); got {model!r}.")
    check_is_fitted(model)
    runs = None
    if data is not None:
        if given_dataset(data) is None and t is None:
            raise InputError(
                "report(data=...) needs runs in time: a Dataset, or states with their times, t=...."
            )
        runs = known_dataset(model, data, None, t, u)
    found = collect(
        model, runs, summary=summary, forecasts=forecasts, explanation=explanation,
        discovery=discovery, title=title, command=command,
    )  # fmt: skip
    with atomic_write(Path(path)) as stream:
        stream.write(render(found).encode())
    return Path(path)


@one_thread()
def report_page(model: AbstractModel, data: Dataset | None = None, **parts: Any) -> str:
    """Return the report as HTML text. `parts` are keyword arguments of `collect`."""
    return render(collect(model, data, **parts))


def collect(
    model: AbstractModel,
    data: Dataset | None = None,
    *,
    summary: Findings | None = None,
    forecasts: Sequence[Rollout] | None = None,
    explanation: "Explanation | None" = None,
    discovery: "Discovery | None" = None,
    title: str | None = None,
    command: str = "",
) -> ReportData:
    """Return the content of a report.

    `forecasts` are the forecasts of `forecast_sample(data)`, if already computed.
    """
    parts: dict[str, Any] = {}
    is_closed = model.output_names_ == model.state_names_
    if data is not None:
        data = in_states_of(model, data)
        check_columns(model, data, "report")
        some = forecast_sample(data)
        if forecasts is None and is_closed:
            forecasts = model.forecast(some)
        if summary is None:
            summary = model.summary(data, forecasts=forecasts)
        parts = charts_of(model, data, some, forecasts if is_closed else None)
    findings: Findings = model.summary() if summary is None else summary
    if explanation is not None:
        parts["proposals"] = _proposals(explanation, model)
        parts["earlier"] = _earlier(explanation, model, data, findings)
    if discovery is not None:
        parts["ranking"] = tuple(
            RankedModel(
                equations=tuple(ranked.to_mathml()),
                gap=ranked.gap,
                is_base=ranked.is_base,
                difference="" if ranked.difference is None else str(ranked.difference),
            )
            for ranked in discovery.models
        )
    features = model.field_.features
    return ReportData(
        title=title or _title(model),
        subtitle=_subtitle(model, data),
        equations=equations_of(model, findings),
        summary=findings,
        repeat=_repeat(model, data, command),
        names=(*features.variables, *features.parameters, model.columns_["time"]),
        has_network=model.field_.has_residual,
        constants=constants_of(model),
        **parts,
    )


def _title(model: AbstractModel) -> str:
    names = [name for name in model.output_names_ if name not in model.velocity_of_.values()]
    return f"Equations of {listed(names)}"


def _subtitle(model: AbstractModel, data: Dataset | None) -> str:
    if data is None:
        return counted(len(model.state_names_), "state")
    size = f"{counted(data.n_runs, 'run')} · {data.n_samples:,} samples"
    states = counted(data.n_states, "state")
    given = data.schema.measured_inputs
    inputs = f" · {counted(len(given), 'input')}" if given else ""
    source = f"{data.source} · " if "." in data.source else ""
    return f"{source}{size} · {states}{inputs}"


# -- results of searches -------------------------------------------------------------------


def _proposals(explanation: "Explanation", model: AbstractModel) -> tuple[ProposalView, ...]:
    """Return the proposals with their evidence in words, and whether the model accepted them."""
    accepted = {(one["equation"], one["formula"]) for one in model.accepted_}
    result = []
    for proposal in explanation.proposals:
        constants = [
            f"{c.name} = {c.value:.5g}{f' {c.unit}' * bool(c.unit)}"
            f"{', a simple number' if c.is_snapped else ''} "
            f"({interval(c.low, c.high)})"
            for c in proposal.constants
        ]
        changes = [
            f"{name}: {before:.4g} → {after:.4g}"
            for name, (before, after) in proposal.changes.items()
            if abs(after - before) > _MIN_CHANGE * max(abs(before), abs(after))
        ]
        result.append(
            ProposalView(
                equation=proposal.left,
                formula=proposal.formula,
                math=proposal.to_mathml(),
                gain=proposal.gain,
                inside=proposal.inside,
                outside=proposal.outside,
                probability=proposal.probability,
                constants=tuple(constants),
                changes=tuple(changes),
                alternatives=tuple(
                    f"{other.formula} ({other.gap:+.1f} nats)" for other in proposal.alternatives
                ),
                is_accepted=(proposal.equation, proposal.formula) in accepted,
            )
        )
    return tuple(result)


def _earlier(
    explanation: "Explanation", model: AbstractModel, data: Dataset | None, findings: Findings
) -> Earlier | None:
    """Return the explained model if the report describes a model that accepted its proposals, else
    None.
    """
    if explanation.model is model:
        return None
    before: Findings = explanation.model.summary(data)
    rows = [
        ("verdict", verdict_word(findings.verdict), verdict_word(before.verdict)),
        ("terms", _n_terms(findings), _n_terms(before)),
    ]
    old = {score.equation: score for score in before.scores.equations}
    rows += [
        (f"error of {left_side(score.equation)}", _error(score), _error(old[score.equation]))
        for score in findings.scores.equations
        if score.equation in old
    ]
    rows.append(("error of forecasts", _forecast_error(findings), _forecast_error(before)))
    return Earlier(tuple(explanation.model.to_mathml()), before.verdict, tuple(rows))


def _n_terms(findings: Findings) -> str:
    return str(sum(row.n_terms for row in findings.certificate))


def _error(score: EquationScore) -> str:
    return percent(score.fit_error if score.held_out_error is None else score.held_out_error)


def _forecast_error(findings: Findings) -> str:
    scores = findings.scores
    if not scores.forecasts:
        return "–"
    error = "–" if scores.forecast_error is None else percent(scores.forecast_error)
    if not scores.forecasts_failed:
        return error
    return f"{error}, {scores.forecasts_failed} of {scores.forecasts} ended early"


# -- reproduction --------------------------------------------------------------------------


def _repeat(model: AbstractModel, data: Dataset | None, command: str) -> Repeat:
    """Return version, settings, seed, digest of the data, and a script."""
    facts = [
        ("orthoreg", __version__),
        ("Python", platform.python_version()),
        ("Model", type(model).__name__),
        ("Seed", repr(getattr(model, "seed", None))),
    ]
    defaults = type(model)().get_params(deep=False)
    facts += [
        (name, repr(value))
        for name, value in model.get_params(deep=False).items()
        if name != "seed" and repr(value) != repr(defaults.get(name))
    ]
    if data is not None:
        source = data.source if "." in data.source else "arrays"
        facts += [("Data", source), ("SHA-256 of the data", digest(data))]
    return Repeat(tuple(facts), _code(model, data), command)


def _code(model: AbstractModel, data: Dataset | None) -> str:
    """Return a script that reproduces the model and this page."""
    lines = [f"data = {_reading(data)}", f"model = {model!r}", "model.fit(data)"]
    text = "\n".join([*lines, "report(model, 'report.html', data=data)"])
    parts = [part for part in ast.walk(ast.parse(text)) if isinstance(part, ast.Name)]
    used = sorted({part.id for part in parts} & set(import_module("orthoreg").__all__))
    return f"from orthoreg import {', '.join(used)}\n\n{text}"


def _reading(data: Dataset | None) -> str:
    """Return the call that reads the data, if they came from a table."""
    if data is None or "." not in data.source:
        return "...  # the runs, as a Dataset"
    named = f"states={list(data.schema.measured_states)!r}"
    hidden = [name for name in data.schema.hidden if name not in data.schema.per_run_names]
    derived = [
        rate
        for state, rate in data.velocity_of.items()
        if rate in data.estimated and rate.rstrip("_") != derivative_name(state)
    ]
    if derived and derived == list(data.estimated):  # hidden states about which nothing is known
        hidden = [*derived, *hidden]
    elif data.velocity_of:
        known = {*data.velocity_of, *data.velocity_of.values(), *data.hidden}
        states = [name for name in data.state_names if name not in known]
        pairs = data.schema.positions
        positions = pairs if any(pairs.values()) else list(pairs)
        named = f"positions={positions!r}" + (f", states={states!r}" if states else "")
        named += f", order={data.schema.order}" if data.schema.order > 2 else ""
    is_counted = data.discrete and data.time_name == COUNTED
    times = [] if is_counted else [f"time={data.time_name!r}"]
    parts = [repr(data.source), *times, named]
    inputs = list(data.schema.measured_inputs)
    parts += [f"inputs={inputs!r}"] if inputs else []
    parts += [f"group={data.group_name!r}"] if data.group_name else []
    parts += [f"hidden={hidden!r}"] if hidden else []
    parts += [f"covariates={list(data.covariate_names)!r}"] if data.covariates is not None else []
    parts += ["discrete=True"] if data.discrete else []
    return f"read_table({', '.join(parts)})"
