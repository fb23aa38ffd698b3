"""`Findings`: what is known about a fitted model, as plain frozen data."""

import json
import math
from dataclasses import asdict, dataclass
from typing import Any, final

from .._common.html import escape
from . import _limits as limits
from ._words import whole_percent

CODES = (
    "second-order", "larger-library", "missing-variable", "time-dependent", "few-rows", "lag",
    "noise", "chaotic", "explain",
)  # fmt: skip
"""The codes of advice, which programs may rely on."""

VERDICTS = (
    "explained", "needs-residual", "roughly-explained", "noise-limited", "forecasts-fail",
    "not-explained", "undecided",
)  # fmt: skip
"""The codes of verdicts, from good to bad."""


@final
@dataclass(frozen=True)
class Verdict:
    """One sentence on what a model is worth, and a code for programs."""

    code: str
    text: str


@final
@dataclass(frozen=True)
class Advice:
    """One thing to try next, in a sentence, and a code for programs."""

    code: str
    text: str


@final
@dataclass(frozen=True)
class TermRow:
    """A term of an equation: its coefficient (zero if it is not in use) and the 95% interval.

    `stability` is the share of resamples that choose the term, or the weight of the sets of terms
    that contain it, by their score on trajectories. It is the `probability` of the term if the
    equation explains the data. Otherwise a term is missing, and the choice among wrong terms that
    replace it is no evidence for them. None if there is no such evidence. `is_given` says that the
    coefficient was given and not estimated.
    """

    equation: str
    term: str
    coefficient: float
    low: float | None = None
    high: float | None = None
    probability: float | None = None
    stability: float | None = None
    is_given: bool = False

    def __post_init__(self):
        if self.stability is None:
            object.__setattr__(self, "stability", self.probability)

    @property
    def share(self) -> str:
        """The probability; in brackets the stability if it is not a probability."""
        if self.stability is None:
            return ""
        text = whole_percent(self.stability)
        return f"({text})" if self.probability is None else text


@final
@dataclass(frozen=True)
class ConfoundedTerms:
    """Two terms of an equation that the data cannot distinguish, and which data could."""

    equation: str
    term: str
    other: str
    correlation: float
    text: str


@final
@dataclass(frozen=True)
class CorrelatedEstimates:
    """Two constants whose estimates depend on each other: the data determine a combination of
    them better than each alone."""

    first: str
    second: str
    correlation: float


@final
@dataclass(frozen=True)
class EquationScore:
    """The errors of one equation, relative to the root mean square of its derivative.

    `fit_error` is the error on the training data, `derivative_error` on the data of the summary.
    `held_out_error` is the error of the same terms and residual on rows that they were not fitted
    to, `equation_error` of the terms without the residual. `noise` is the uncertainty of the
    derivative. `trajectory_error` is the misfit of simulated segments of `trajectory_rows` rows in
    standard deviations of the measured state, `trajectory_noise` the misfit from noise alone,
    `trajectory_alone` the misfit without the residual. `exceeds_noise` says whether the misfit is
    larger than noise explains. None if it was not measured. `errors_grow` says that longer
    trajectories amplify small errors of the initial state. `terms_probability` is the probability
    that the chosen terms are the true ones, if trajectories chose them. `status` is the verdict on
    the equation, and `sentence` the status in words.
    """

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

    @property
    def is_ambiguous(self) -> bool:
        """Whether other terms explain the data as well, so that the chosen ones are probably
        wrong."""
        p = self.terms_probability
        return p is not None and p < limits.MIN_TERM_PROBABILITY


@final
@dataclass(frozen=True)
class Scores:
    """Errors on the data of a summary; None if they were not measured.

    `forecast_error` is that of the forecasts that reached their end; the others are counted.
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
        """The scores of forecasts alone, as `forecast_scores` returns them."""
        return {
            "forecast_error": self.forecast_error,
            "forecasts": self.forecasts,
            "forecasts_failed": self.forecasts_failed,
            "first_failure": self.first_failure,
        }


@final
@dataclass(frozen=True)
class CertificateRow:
    """The certificate of one equation; errors are relative to the size of its derivative."""

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
    """An equation's error by its number of terms, relative to its derivative's size: `inner` on
    rows that were fitted, `outer` on others. `used` is the index of the terms in use, None if
    trajectories chose others."""

    equation: str
    n_terms: tuple[int, ...]
    inner: tuple[float, ...]
    outer: tuple[float, ...]
    used: int | None


@final
@dataclass(frozen=True)
class Findings:
    """What is known about a model: print it, or take its parts.

    `source` names the data; None for findings of the fit alone. `advice` is in order of promise.
    `scores` are the numbers that verdict and advice are based on. `matched_terms` says that
    probabilities of terms come from trajectories and not from resamples.
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

    @property
    def shown_terms(self) -> tuple[TermRow, ...]:
        """The terms in use, and others that enough resamples or sets of terms contain."""
        return tuple(
            row
            for row in self.terms
            if row.coefficient or (row.stability or 0.0) >= limits.SHOWN_TERM_STABILITY
        )

    def __str__(self) -> str:
        from ._text import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        """HTML for a notebook: the text that a terminal shows."""
        return f"<pre>{escape(str(self))}</pre>"

    def to_dict(self) -> dict[str, Any]:
        """Return dictionaries, lists, numbers and text, as `schema.json` describes them."""
        return _listed(asdict(self))

    def to_json(self, indent: int | None = None) -> str:
        """Return `to_dict` as JSON; NaN becomes null and infinite numbers text."""
        return json.dumps(plain(self.to_dict()), allow_nan=False, indent=indent)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Findings":
        """Return the findings that `to_dict` described."""
        scores = values["scores"]
        equations = tuple(EquationScore(**score) for score in scores["equations"])
        parts: dict[str, Any] = {
            name: tuple(kind(**_tupled(row)) for row in values.get(name, ()))
            for name, kind in _ROWS.items()
        }
        parts["verdict"] = Verdict(**values["verdict"])
        parts["scores"] = Scores(**{**scores, "equations": equations})
        return cls(**{**_tupled(values), **parts})


Summary = Findings  # the name in 0.2
_ROWS = {
    "advice": Advice, "terms": TermRow, "confounded": ConfoundedTerms, "paths": PathRow,
    "certificate": CertificateRow, "correlations": CorrelatedEstimates,
}  # fmt: skip


def plain(value: Any) -> Any:
    """Return the value with lists for arrays, None for NaN and text for infinite numbers."""
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


def _listed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _listed(item) for key, item in value.items()}
    return [_listed(item) for item in value] if isinstance(value, list | tuple) else value
