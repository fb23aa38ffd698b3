"""The content of a report as plain frozen data: findings, charts, text and MathML."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from ...data import Dataset
from ...simulation import Rollout
from .._findings import Findings, Verdict
from .._verdict import trust_sentences
from ._choice import PAGE, AbstractFittedModel, slopes_of
from ._equations import Constant, Equation
from ._forecast import Forecasts, as_forecasts, forecast_chart, forecast_errors
from ._paths import Paths, paths_chart
from ._phase import Phase, phase_chart
from ._quality import Quality, quality_of
from ._residual import Diagnostics, NetworkMap, diagnostics_of, network_maps


@final
@dataclass(frozen=True)
class ProposalView:
    """A proposed formula for a missing term: the equation as MathML, and its evidence in words."""

    equation: str
    formula: str
    math: str
    gain: float
    inside: float | None
    outside: float | None
    probability: float
    constants: tuple[str, ...]
    changes: tuple[str, ...]
    alternatives: tuple[str, ...]
    is_accepted: bool


@final
@dataclass(frozen=True)
class Earlier:
    """The model before proposals were accepted: its equations as MathML, its verdict, and rows of
    (quantity, now, before).
    """

    equations: tuple[str, ...]
    verdict: Verdict
    rows: tuple[tuple[str, str, str], ...]


@final
@dataclass(frozen=True)
class RankedModel:
    """A discovered model: its equations as MathML, its distance from the best model in nats, and
    where the two models differ most.
    """

    equations: tuple[str, ...]
    gap: float
    is_base: bool
    difference: str


@final
@dataclass(frozen=True)
class Repeat:
    """Facts, code and the command to reproduce the model."""

    facts: tuple[tuple[str, str], ...]
    code: str
    command: str


@final
@dataclass(frozen=True, eq=False)
class ReportData:
    """The content of a report before rendering.

    Parts without data are None or empty. `names` are the names of variables, constants and time,
    which are typeset in sentences.
    """

    title: str
    subtitle: str
    equations: tuple[Equation, ...]
    summary: Findings
    repeat: Repeat
    names: tuple[str, ...]
    has_network: bool
    constants: tuple[Constant, ...] = ()
    forecasts: Forecasts | None = None
    phase: Phase | None = None
    residual: tuple[NetworkMap, ...] = ()
    residual_note: str = ""
    paths: Paths | None = None
    diagnostics: tuple[Diagnostics, ...] = ()
    diagnostics_note: str = ""
    proposals: tuple[ProposalView, ...] | None = None
    ranking: tuple[RankedModel, ...] = ()
    quality: Quality | None = None
    earlier: Earlier | None = None

    @property
    def sentences(self) -> tuple[tuple[str, str], ...]:
        """Pairs (heading, sentence) on equations, network, their split and forecasts."""
        return trust_sentences(self.summary)


def charts_of(
    model: AbstractFittedModel, data: Dataset, some: Dataset, rollouts: Sequence[Rollout] | None
) -> dict[str, Any]:
    """Return the parts of a report that need data.

    `rollouts` are forecasts of the runs in `some`, or None if the model cannot be simulated.
    """
    parts: dict[str, Any] = {"quality": quality_of(data)}
    if model.output_names_ != model.state_names_:
        return parts
    slopes = slopes_of(model, data, PAGE.rows)
    parts["residual"], parts["residual_note"] = network_maps(model, slopes.rows)
    parts["diagnostics"], parts["diagnostics_note"] = diagnostics_of(model, slopes)
    parts["phase"] = phase_chart(model, data, PAGE, slopes=slopes)
    if rollouts is not None:
        parts["forecasts"] = forecast_chart(
            some, rollouts, interpolation=model.input_interpolation_, max_runs=PAGE.runs,
            points=PAGE.points, model=model,
        )  # fmt: skip
        errors, _ = forecast_errors(some, as_forecasts(some, rollouts))
        median_run = int(np.argsort(errors, kind="stable")[len(errors) // 2])
        parts["paths"] = paths_chart(model, some, rollouts, median_run)
    return parts
