"""`Findings`: verdict, advice and scores of a fitted model as plain frozen data."""

import json
import math
import shlex
from dataclasses import asdict, dataclass, replace
from typing import Any, final

from .._common.html import escape
from . import _limits as limits
from ._words import whole_percent

CODES = (
    "second-order", "larger-library", "dead-time", "per-run", "missing-variable", "time-dependent",
    "few-rows", "lag", "noise", "chaotic", "explain", "discrete", "next-experiment",
)  # fmt: skip
"""Codes of advice; a stable interface for programs."""

VERDICTS = (
    "explained", "needs-residual", "roughly-explained", "noise-limited", "forecasts-fail",
    "not-explained", "undecided",
)  # fmt: skip
"""Codes of verdicts, from best to worst."""


@final
@dataclass(frozen=True)
class Verdict:
    """An assessment of a model in one sentence, and its code for programs."""

    code: str
    text: str


@final
@dataclass(frozen=True)
class Advice:
    """A suggestion for the next step, and its code for programs."""

    code: str
    text: str


@final
@dataclass(frozen=True)
class TermRow:
    """A term of an equation with its coefficient (zero for an unused term) and 95% interval.

    `stability` is the share of resamples that select the term or, for terms selected by
    trajectories, the weight of the sets that contain it. `probability` equals `stability` if the
    equation explains the data. It is None if the equation does not, because substitutes for a
    missing term are then selected as well. Both are None if the fit has no such evidence.
    `is_given` is true if the coefficient was given, not estimated. `unit` is the unit of the
    coefficient: "1" for a pure number, None if the units of the columns are unknown.
    """

    equation: str
    term: str
    coefficient: float
    low: float | None = None
    high: float | None = None
    probability: float | None = None
    stability: float | None = None
    is_given: bool = False
    unit: str | None = None

    def __post_init__(self):
        if self.stability is None:
            object.__setattr__(self, "stability", self.probability)

    @property
    def share(self) -> str:
        """The probability as text, or the stability in brackets if there is no probability."""
        if self.stability is None:
            return ""
        text = whole_percent(self.stability)
        return f"({text})" if self.probability is None else text


@final
@dataclass(frozen=True)
class ConfoundedTerms:
    """Two terms of an equation that the data cannot distinguish, and what data would."""

    equation: str
    term: str
    other: str
    correlation: float
    text: str


@final
@dataclass(frozen=True)
class CorrelatedEstimates:
    """Two constants with correlated estimates.

    The data determine a combination of the two better than each constant alone.
    """

    first: str
    second: str
    correlation: float


@final
@dataclass(frozen=True)
class PlannedRun:
    """A run to record next, in words, and a few points of its expected course: times, and one curve
    for each measured state and input."""

    text: str
    times: tuple[float, ...]
    curves: tuple[tuple[float, ...], ...]


@final
@dataclass(frozen=True)
class NextRuns:
    """Runs to record next, because the data leave something open.

    `reason` says what. `names` are the names of the curves of the `runs`, with units, and `ranges`
    their ranges in the training data. `widths` are pairs of a constant and the expected width of
    its interval after the runs, as a fraction of its present width. `separation` is the expected
    difference, in standard deviations, between the model and the nearest one of its `rivals`.
    `command` proposes such runs within ranges that can be changed, and `assumption` says when the
    numbers hold.
    """

    reason: str
    names: tuple[str, ...]
    ranges: tuple[tuple[float, float], ...]
    runs: tuple[PlannedRun, ...]
    widths: tuple[tuple[str, float], ...]
    separation: float | None
    rivals: tuple[str, ...]
    command: str
    assumption: str

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "NextRuns":
        """Return the runs from plain data."""
        runs = [PlannedRun(**_nested(run)) for run in values["runs"]]
        return cls(**{**_nested(values), "runs": tuple(runs)})


@final
@dataclass(frozen=True)
class EquationScore:
    """The errors of one equation, relative to the root mean square of its derivative.

    `fit_error` is the error on the training data, `derivative_error` on the data of the summary.
    `held_out_error` is the error of the same terms and residual on held-out rows, `equation_error`
    the error of the terms without the residual. `noise` is the uncertainty of the derivative.
    `trajectory_error` is the misfit of simulated segments of `trajectory_rows` rows, in standard
    deviations of the measured state; `trajectory_noise` is the misfit that independent noise would
    cause, and `trajectory_alone` the misfit without the residual. `exceeds_noise` is true if noise
    cannot explain the misfit. `errors_grow` is true if small errors of the initial state grow along
    longer trajectories. `terms_probability` is the probability that the selected terms are correct,
    if trajectories selected them. `judged_by` is the measured state whose trajectory judges the
    equation of a hidden state. `status` is the verdict on the equation, and `sentence` expresses it
    in words. Values that were not computed are None."""

    equation: str
    status: str
    sentence: str
    has_residual: bool
    fit_error: float
    derivative_error: float | None = None
    held_out_error: float | None = None
    equation_error: float | None = None
    noise: float | None = None
    trajectory_error: float | None = None
    trajectory_noise: float | None = None
    trajectory_alone: float | None = None
    trajectory_rows: int | None = None
    exceeds_noise: bool | None = None
    errors_grow: bool = False
    terms_probability: float | None = None
    judged_by: str | None = None

    @property
    def is_ambiguous(self) -> bool:
        """Whether other terms explain the data as well, so that the selected terms are probably
        wrong.
        """
        p = self.terms_probability
        return p is not None and p < limits.MIN_TERM_PROBABILITY


@final
@dataclass(frozen=True)
class Scores:
    """Errors on the data of a summary; None if they were not computed.

    `forecast_error` is the error of completed forecasts; `forecasts_failed` is the number of other
    forecasts.
    """

    equations: tuple[EquationScore, ...]
    derivative_error: float | None = None
    r2: float | None = None
    forecast_error: float | None = None
    forecasts: int = 0
    forecasts_failed: int = 0
    first_failure: str | None = None

    @property
    def of_forecasts(self) -> dict[str, Any]:
        """The scores of forecasts only, with the keys of `forecast_scores`."""
        return {
            "forecast_error": self.forecast_error,
            "forecasts": self.forecasts,
            "forecasts_failed": self.forecasts_failed,
            "first_failure": self.first_failure,
        }


@final
@dataclass(frozen=True)
class CertificateRow:
    """The certificate of one equation. Errors are relative to the size of its derivative."""

    equation: str
    n_terms: int
    fit_error: float
    residual_share: float
    library_share: float
    overlap: float
    penalty: float
    bound: float
    bound_holds: bool
    duality_gap: float


@final
@dataclass(frozen=True)
class PathRow:
    """Errors of an equation for each number of terms, relative to the size of its derivative.

    `inner` is the error on fitted rows, `outer` on other rows. `used` is the index of the terms in
    use, or None if trajectories selected other terms.
    """

    equation: str
    n_terms: tuple[int, ...]
    inner: tuple[float, ...]
    outer: tuple[float, ...]
    used: int | None


@final
@dataclass(frozen=True)
class Findings:
    """Findings about a model. Print them, or read their attributes.

    `source` is the name of the data, or None for findings on the fit alone. `advice` starts with
    the most promising item. Verdict and advice are based on `scores`. `matched_terms` is true if
    the probabilities of terms come from trajectories, not from resamples. `next_runs` are runs to
    record next, or None if nothing suggests them.
    """

    equations: tuple[str, ...]
    verdict: Verdict
    advice: tuple[Advice, ...]
    scores: Scores
    terms: tuple[TermRow, ...]
    confounded: tuple[ConfoundedTerms, ...]
    certificate: tuple[CertificateRow, ...]
    orthogonality: float
    notes: tuple[str, ...]
    source: str | None = None
    runs: int | None = None
    samples: int | None = None
    paths: tuple[PathRow, ...] = ()
    correlations: tuple[CorrelatedEstimates, ...] = ()
    matched_terms: bool = False
    next_runs: NextRuns | None = None

    def with_model(self, path: str) -> "Findings":
        """Return the findings with the path of the model file in suggested commands."""
        if self.next_runs is None:
            return self
        old = self.next_runs.command
        new = old.replace(" MODEL ", f" {shlex.quote(path)} ", 1)
        advice = tuple(replace(item, text=item.text.replace(old, new)) for item in self.advice)
        return replace(self, advice=advice, next_runs=replace(self.next_runs, command=new))

    @property
    def shown_terms(self) -> tuple[TermRow, ...]:
        """The terms in use, and unused terms that enough resamples or sets of terms contain."""
        return tuple(
            row
            for row in self.terms
            if row.coefficient or (row.stability or 0.0) >= limits.SHOWN_TERM_STABILITY
        )

    def __str__(self) -> str:
        from ._text import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        """HTML for a notebook, with the same text as a terminal."""
        return f"<pre>{escape(str(self))}</pre>"

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as dictionaries, lists, numbers and text, as `schema.json` describes
        them.
        """
        return _listed(asdict(self))

    def to_json(self, indent: int | None = None) -> str:
        """Return `to_dict` as JSON. NaN becomes null, and infinite numbers become text."""
        return json.dumps(plain(self.to_dict()), allow_nan=False, indent=indent)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Findings":
        """Return the findings that `to_dict` converted to a dictionary."""
        scores = values["scores"]
        equations = tuple(EquationScore(**score) for score in scores["equations"])
        parts: dict[str, Any] = {
            name: tuple(kind(**_tupled(row)) for row in values.get(name, ()))
            for name, kind in _ROWS.items()
        }
        parts["verdict"] = Verdict(**values["verdict"])
        parts["scores"] = Scores(**{**scores, "equations": equations})
        if values.get("next_runs") is not None:
            parts["next_runs"] = NextRuns.from_dict(values["next_runs"])
        return cls(**{**_tupled(values), **parts})


Summary = Findings  # name in version 0.2
_ROWS = {
    "advice": Advice, "terms": TermRow, "confounded": ConfoundedTerms, "paths": PathRow,
    "certificate": CertificateRow, "correlations": CorrelatedEstimates,
}  # fmt: skip


def plain(value: Any) -> Any:
    """Return the value with arrays as lists, NaN as None and infinite numbers as text."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else repr(value)
    return value


def _tupled(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }


def _nested(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values with tuples for lists, and for lists in lists."""

    def converted(value: Any) -> Any:
        return tuple(map(converted, value)) if isinstance(value, list | tuple) else value

    return {name: converted(value) for name, value in values.items()}


def _listed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _listed(item) for key, item in value.items()}
    return [_listed(item) for item in value] if isinstance(value, list | tuple) else value
