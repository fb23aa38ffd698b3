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
    """A term of an equation: its coefficient (zero where it was left out) and the 95% interval.

    `stability` is the share of resamples that choose the term, or the weight of the sets of terms
    that have it by their score on trajectories. It is the `probability` of the term if the
    equation explains the data. Otherwise something is missing, and which of the wrong terms stand
    in for it says nothing about their truth. None where there is no such evidence. `is_given` says
    that the coefficient is known and was not estimated.
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
        """The probability, or in brackets the stability where that is not one."""
        if self.stability is None:
            return ""
        text = whole_percent(self.stability)
        return f"({text})" if self.probability is None else text


@final
@dataclass(frozen=True)
class ConfoundedTerms:
    """Two terms that the data cannot tell apart in an equation, and which data would."""

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

    `fit_error` is that on the training data, `derivative_error` that on the data of the summary.
    `held_out_error` is that of the same terms and residual on rows that they were not fitted to,
    `equation_error` that of the terms without the residual. `noise` is what the derivatives
    themselves are uncertain by. `trajectory_error` and `trajectory_noise` are what trajectories of
    `trajectory_rows` rows leave of the measured state, and what noise alone would leave, in its
    standard deviation; `trajectory_alone` is the first without the residual. `exceeds_noise` says
    whether they leave more than noise. None where it was not measured. `errors_grow` says that
    longer trajectories amplify small errors of the initial state. `terms_probability` is the
    probability that the chosen terms are the true ones, where trajectories chose them. `status` is
    what follows, in words `sentence`.
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
        """Whether the data explain other terms as well: the chosen ones are probably wrong."""
        p = self.terms_probability
        return p is not None and p < limits.MIN_TERM_PROBABILITY


@final
@dataclass(frozen=True)
class Scores:
    """Errors on the data of a summary; None where they were not measured.

    `forecast_error` is over the forecasts that reached their end; the others are counted.
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
        """What `forecast_scores` gives."""
        return {
            "forecast_error": self.forecast_error,
            "forecasts": self.forecasts,
            "forecasts_failed": self.forecasts_failed,
            "first_failure": self.first_failure,
        }


@final
@dataclass(frozen=True)
class CertificateRow:
    """What the certificate says about one equation; errors relative to its derivative's size."""

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
    rows that were fitted, `outer` on those that were not. `used` is the place of the terms in use,
    None where trajectories chose others."""

    equation: str
    n_terms: tuple[int, ...]
    inner: tuple[float, ...]
    outer: tuple[float, ...]
    used: int | None


@final
@dataclass(frozen=True)
class Findings:
    """What is known about a model: print it, or take its parts.

    `source` names the data, None where the summary is of the fit alone. `advice` is in order of
    promise; `scores` are the numbers that verdict and advice are decided from. `matched_terms` says
    that probabilities of terms come from trajectories, not from resamples.
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

    def __str__(self) -> str:
        from ._text import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: the text that a terminal does."""
        return f"<pre>{escape(str(self))}</pre>"

    def to_dict(self) -> dict[str, Any]:
        """Dictionaries, lists, numbers and text, as `schema.json` describes them."""
        return _listed(asdict(self))

    def to_json(self, indent: int | None = None) -> str:
        """`to_dict` as JSON; NaN becomes null and infinite numbers text."""
        return json.dumps(plain(self.to_dict()), allow_nan=False, indent=indent)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Findings":
        """Return the findings that `to_dict` described."""
        scores = values["scores"]
        equations = tuple(EquationScore(**one) for one in scores["equations"])
        parts = {
            "verdict": Verdict(**values["verdict"]),
            "advice": tuple(Advice(**one) for one in values["advice"]),
            "scores": Scores(**{**scores, "equations": equations}),
            "terms": tuple(TermRow(**one) for one in values["terms"]),
            "confounded": tuple(ConfoundedTerms(**one) for one in values["confounded"]),
            "certificate": tuple(CertificateRow(**one) for one in values["certificate"]),
            "paths": tuple(PathRow(**_tupled(one)) for one in values.get("paths", ())),
            "correlations": tuple(
                CorrelatedEstimates(**one) for one in values.get("correlations", ())
            ),
            "equations": tuple(values["equations"]),
            "notes": tuple(values["notes"]),
        }
        return cls(**{**values, **parts})


Summary = Findings  # the name in 0.2


def plain(value: Any) -> Any:
    """The value with lists for arrays, None for NaN and text for infinite numbers."""
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
