"""Everything that a report shows, as plain frozen data: numbers, text and MathML.

It is computed by pure functions of a model and data, one module for each part, and rendered by
`_page`. A part that there is no data for is None.
"""

from dataclasses import dataclass
from typing import Any, final

from ...findings import Summary, Verdict

Numbers = list[Any]  # of float, None where there is none


@final
@dataclass(frozen=True)
class Term:
    """A term of a typeset equation: MathML with its sign, what is known of its coefficient, and
    its kind: learned, given or network."""

    math: str
    kind: str
    name: str = ""
    interval: str = ""
    probability: str = ""


@final
@dataclass(frozen=True)
class Equation:
    """A typeset equation in pieces, the unit of its left side, and its LaTeX source where that is
    of the same form."""

    left: str
    terms: tuple[Term, ...]
    label: str
    unit: str = ""
    is_given: bool = False
    latex: str = ""


@final
@dataclass(frozen=True)
class Constant:
    """A named number that was estimated."""

    math: str
    value: str
    interval: str


@final
@dataclass(frozen=True)
class ForecastRun:
    """One run: measured values and the forecast of each state shown; `low` and `high` are the
    band around the forecast."""

    label: str
    error: float | None
    ended: float | None
    left: float | None
    times: Numbers
    measured: list[Numbers]
    forecast_times: Numbers
    forecast: list[Numbers]
    low: list[Numbers]
    high: list[Numbers]
    input_times: list[Numbers]
    inputs: list[Numbers]


@final
@dataclass(frozen=True)
class Forecasts:
    """Forecasts beside measured runs; `band` says in words what the band is, `held` which inputs
    keep their value between rows."""

    runs: tuple[ForecastRun, ...]
    states: list[str]
    inputs: list[str]
    held: list[bool]
    time: str
    band: str
    note: str


@final
@dataclass(frozen=True)
class Flow:
    """Streamlines and arrowheads as polylines with gaps."""

    x: Numbers
    y: Numbers
    heads_x: Numbers
    heads_y: Numbers


@final
@dataclass(frozen=True)
class Portrait:
    """A pair of states: the flow of the model, of its equations and of its network (None where it
    has no network), and measured runs."""

    x_label: str
    y_label: str
    x_range: Numbers
    y_range: Numbers
    whole: Flow
    equations: Flow | None
    network: Flow | None
    runs_x: Numbers
    runs_y: Numbers
    starts_x: Numbers
    starts_y: Numbers


@final
@dataclass(frozen=True)
class Rate:
    """For a single state: its rate over its value, by the model, its equations, its network."""

    x_label: str
    y_label: str
    x: Numbers
    whole: Numbers
    equations: Numbers
    network: Numbers | None
    measured_x: Numbers
    measured_y: Numbers


@final
@dataclass(frozen=True)
class Phase:
    """Portraits, or the rate of a single state."""

    portraits: tuple[Portrait, ...]
    rate: Rate | None
    note: str


@final
@dataclass(frozen=True)
class ResidualMap:
    """One equation's residual over two variables, or one where `y` is empty. On a grid of their
    own: `density` of the data, `distance` from them in units of the trust region's edge."""

    equation: str
    x_label: str
    y_label: str
    x: Numbers
    y: Numbers
    values: list[Any]
    grid_x: Numbers
    grid_y: Numbers
    density: list[Any]
    levels: Numbers
    distance: list[Any] | None
    points_x: Numbers
    points_y: Numbers
    what: str


@final
@dataclass(frozen=True)
class PathStep:
    """An equation with so many terms: errors on rows that were fitted and that were not, the
    equation as MathML, and the forecast of one run with it."""

    n_terms: int
    inner: float | None
    outer: float | None
    low: float | None
    high: float | None
    left: str
    terms: list[str]
    forecast: list[Numbers]


@final
@dataclass(frozen=True)
class Path:
    """All steps of one equation; `chosen` is the place of the one in use."""

    equation: str
    steps: tuple[PathStep, ...]
    chosen: int
    outer: str


@final
@dataclass(frozen=True)
class Paths:
    """The path of each equation, and the run that its steps forecast."""

    equations: tuple[Path, ...]
    states: list[str]
    run: str
    time: str
    times: Numbers
    measured: list[Numbers]
    note: str


@final
@dataclass(frozen=True)
class Coefficients:
    """The terms of one equation with intervals; `labels` are those of the chart, `share` is the
    probability of each in words, `used` are the terms in use."""

    equation: str
    names: list[str]
    labels: list[str]
    values: Numbers
    low: Numbers
    high: Numbers
    share: list[str]
    used: list[bool]


@final
@dataclass(frozen=True)
class Against:
    """Errors over one variable: some points, and means over bins with their standard errors."""

    label: str
    x: Numbers
    y: Numbers
    bins: Numbers
    means: Numbers
    errors: Numbers


@final
@dataclass(frozen=True)
class Diagnostics:
    """What an equation leaves: autocorrelation by rows, and errors over each variable."""

    equation: str
    lags: Numbers
    correlation: Numbers
    white: float
    against: tuple[Against, ...]


@final
@dataclass(frozen=True)
class Quality:
    """The data in numbers: a row of cells for each variable, sentences, and what was repaired."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    repairs: tuple[str, ...]


@final
@dataclass(frozen=True)
class ProposalView:
    """A formula for what the library lacks: the equation as MathML and its evidence in words."""

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
    is_accepted: bool = False


@final
@dataclass(frozen=True)
class Earlier:
    """The model before proposals were accepted: its equations as MathML, its verdict, and rows of
    (what, now, before)."""

    equations: tuple[str, ...]
    verdict: Verdict
    rows: tuple[tuple[str, str, str], ...]
    columns: tuple[str, str, str] = ("", "accepted model", "earlier model")


@final
@dataclass(frozen=True)
class RankedModel:
    """A discovered model: its equations as MathML, its distance from the best in nats, and where
    the two part."""

    equations: tuple[str, ...]
    gap: float
    is_base: bool
    difference: str = ""


@final
@dataclass(frozen=True)
class Repeat:
    """All that is needed to make the model again, as pairs of a word and its content."""

    facts: tuple[tuple[str, str], ...]
    code: str
    command: str = ""


@final
@dataclass(frozen=True)
class ReportData:
    """A report before it is rendered."""

    title: str
    subtitle: str
    equations: tuple[Equation, ...]
    summary: Summary
    sentences: tuple[tuple[str, str], ...]
    repeat: Repeat
    constants: tuple[Constant, ...] = ()
    forecasts: Forecasts | None = None
    phase: Phase | None = None
    residual: tuple[ResidualMap, ...] = ()
    residual_note: str = ""
    paths: Paths | None = None
    coefficients: tuple[Coefficients, ...] = ()
    diagnostics: tuple[Diagnostics, ...] = ()
    diagnostics_note: str = ""
    proposals: tuple[ProposalView, ...] | None = None
    ranking: tuple[RankedModel, ...] = ()
    quality: Quality | None = None
    names: tuple[str, ...] = ()
    has_network: bool = False
    earlier: Earlier | None = None
