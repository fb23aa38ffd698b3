"""Choose states, runs, rows and labels for charts of large data, each with a note."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, final, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from ..._common.errors import DataError, InputError, quoted, suggestion
from ...control import Equilibria
from ...data import Dataset, Schema
from ...export import CoefficientUnits, equation_names
from ...field.hybrid import HybridField
from ...fitting import Recipe
from ...physics import Knowledge
from ...search.rows import SelectionResult
from ...simulation import Rollout, input_interpolation

_STRETCH_ROWS = 500  # number of consecutive rows taken from a long run
_LABEL_LENGTH = 26  # characters
_UNIT_LENGTH = 12  # characters
_TAIL_LENGTH = 9  # number of characters kept at the end of a shortened name


@runtime_checkable
class AbstractFittedModel(Protocol):
    """The attributes and methods of a fitted model that charts use.

    `orthoreg.OrthoReg` and the baselines provide them.
    """

    @property
    def field_(self) -> HybridField: ...
    @property
    def state_names_(self) -> tuple[str, ...]: ...
    @property
    def input_names_(self) -> tuple[str, ...]: ...
    @property
    def output_names_(self) -> tuple[str, ...]: ...
    @property
    def feature_names_(self) -> list[str]: ...
    @property
    def coefficients_(self) -> np.ndarray: ...
    @property
    def support_(self) -> np.ndarray: ...
    @property
    def parameters_(self) -> dict[str, float]: ...
    @property
    def parameter_intervals_(self) -> dict[str, tuple[float, float]]: ...
    @property
    def schema_(self) -> Schema: ...
    @property
    def velocity_of_(self) -> dict[str, str]: ...
    @property
    def units_(self) -> dict[str, str]: ...
    @property
    def coefficient_units_(self) -> CoefficientUnits | None: ...
    @property
    def columns_(self) -> dict[str, Any]: ...
    @property
    def input_interpolation_(self) -> dict[str, str]: ...
    @property
    def selection_(self) -> SelectionResult | None: ...
    def printed_constants(self) -> dict[str, float]: ...
    def recipe(self) -> Recipe: ...
    def knowledge(self) -> Knowledge: ...
    def learned_equations(self) -> list[int]: ...
    def equation_labels(self) -> tuple[str, ...]: ...
    def predict(self, X: Dataset) -> np.ndarray: ...
    def decompose(self, X: Dataset) -> tuple[np.ndarray, np.ndarray]: ...
    def target_derivatives(self, data: Dataset) -> np.ndarray: ...
    def simulate(self, x0: np.ndarray, t: np.ndarray) -> Rollout: ...
    def equilibria(
        self, ranges: Mapping[str, tuple[float, float]], u: np.ndarray | None
    ) -> Equilibria: ...
    def to_latex(self) -> list[str]: ...


@final
@dataclass(frozen=True)
class Detail:
    """Limits on how much of the data a chart shows."""

    runs: int  # of forecasts
    equations: int
    pairs: int  # pairs of states, each drawn as a phase portrait
    portrait_runs: tuple[int, int]  # minimum and maximum; fewer if runs are long
    points: int | None  # points of a curve; None: as many as fit on a page
    line_points: int  # points of a run in a phase portrait
    line_extremes: bool  # whether a shortened run keeps its minima and maxima
    grid: int  # points along each side of a phase portrait
    margin: float  # margin of a phase portrait, as a share of a state's range
    rows: int  # rows at which derivatives are estimated


PAGE = Detail(
    runs=8, equations=4, pairs=3, portrait_runs=(4, 12), points=None, line_points=300,
    line_extremes=True, grid=32, margin=0.08, rows=8_000,
)  # fmt: skip
PICTURE = Detail(
    runs=3, equations=6, pairs=6, portrait_runs=(12, 200), points=1_600, line_points=2_000,
    line_extremes=False, grid=40, margin=0.05, rows=20_000,
)  # fmt: skip


@final
@dataclass(frozen=True)
class Label:
    """A name with its unit, for an axis or a chart.

    >>> str(Label("theta", "rad")), str(Label("n"))
    ('theta [rad]', 'n')
    """

    name: str
    unit: str = ""

    def short(self, longest: int) -> str:
        """Return name and unit, shortened to about `longest` characters."""
        unit = f" [{shortened(self.unit, _UNIT_LENGTH)}]" if self.unit else ""
        return f"{shortened(self.name, max(longest - len(unit), 8))}{unit}"

    def __str__(self) -> str:
        return self.short(_LABEL_LENGTH)


def shortened(name: str, longest: int = _LABEL_LENGTH) -> str:
    """Return a name on one line.

    A long name is cut in the middle, to keep endings such as '_dot'.

    >>> shortened("temperature of the upper bearing_dot")
    'temperature of th…ring_dot'
    """
    name = " ".join(name.split())
    if len(name) <= longest:
        return name
    tail = min(_TAIL_LENGTH, longest // 3)
    return f"{name[: longest - tail - 1]}…{name[-tail:]}"


def variable_labels(data: Dataset) -> tuple[Label, ...]:
    """Return labels of states and inputs, such as theta' for the velocity theta_dot of theta."""
    shown = equation_names(data.variable_names, data.velocity_of)
    return tuple(
        Label(text, data.units.get(name, ""))
        for text, name in zip(shown, data.variable_names, strict=True)
    )


def time_label(data: Dataset) -> Label:
    """Return the label of the time axis."""
    return Label(data.time_name, data.units.get(data.time_name, ""))


def equation_labels(model: AbstractFittedModel) -> tuple[str, ...]:
    """Return the left sides of the equations, such as theta' for a second-order equation."""
    return model.equation_labels()


def chosen_names(
    given: Sequence[str] | None, names: Sequence[str], function: str, kind: str
) -> list[int] | None:
    """Return the indices of the names that the caller chose, in the order of the choice.

    Return None if `given` is None.
    """
    if given is None:
        return None
    wanted = [given] if isinstance(given, str) else list(given)
    for name in wanted:
        if name not in names:
            raise InputError(
                f"{function}(states=...) names {name!r}, which is not one of the {kind} "
                f"{quoted(names)}.{suggestion(str(name), names)}"
            )
    if not wanted or len(set(wanted)) < len(wanted):
        raise InputError(
            f"{function}(states=...) must name at least one of the {kind}, each once; got {wanted}."
        )
    return [list(names).index(name) for name in wanted]


def largest(scores: Float[np.ndarray, " n"], count: int) -> list[int]:
    """Return the indices of the `count` largest scores, in increasing order."""
    order = np.argsort(-np.nan_to_num(scores, nan=np.inf), kind="stable")[:count]
    return sorted(int(i) for i in order)


def joined(notes: Iterable[str]) -> str:
    """Return the nonempty notes, joined by semicolons."""
    return "; ".join(note for note in notes if note)


def not_measured(data: Dataset) -> str:
    """Return a note on velocities that were estimated, or '' if all were measured."""
    if not data.estimated:
        return ""
    labels = equation_names(data.state_names, data.velocity_of)
    shown = dict(zip(data.state_names, labels, strict=True))
    return f"{', '.join(shown[name] for name in data.estimated)} estimated from positions"


def share_shown(shown: int, total: int, kind: str, reason: str) -> str:
    """Return a note such as '6 of 20 states: ...', or '' if all are shown."""
    return f"{shown:,} of {total:,} {kind}{reason}" if shown < total else ""


def evenly(count: int, max_count: int) -> Int[np.ndarray, " _"]:
    """Return at most `max_count` of the integers below `count`, evenly spaced, with first and
    last.
    """
    return np.unique(np.linspace(0, count - 1, min(count, max_count)).round().astype(np.int64))


def check_columns(
    model: AbstractFittedModel, data: Dataset, function: str, *, closed: bool = False
) -> None:
    """Raise an error if the columns of data and model differ.

    If `closed`, also raise an error if the model does not have one equation for each state.
    """
    known = model.state_names_ + model.input_names_
    if data.variable_names != known:
        raise InputError(
            f"{function}: the model was fitted to {quoted(known)}; the data have "
            f"{quoted(data.variable_names)}. Choose the same columns in the same order."
        )
    if closed and model.output_names_ != model.state_names_:
        raise InputError(
            f"{function} needs a model with one equation for each of its "
            f"{len(model.state_names_)} states; it was fitted to {len(model.output_names_)} "
            f"targets."
        )


def rows_of(data: Dataset, max_rows: int) -> Dataset:
    """Return at most about `max_rows` rows: all runs, or evenly spaced stretches.

    Each stretch becomes a run of its own, so that derivatives can be estimated.
    """
    if data.n_samples <= max_rows:
        return data
    pieces = -(-data.run_lengths // _STRETCH_ROWS)
    ends = np.cumsum(pieces)
    total = int(ends[-1])
    size = data.n_samples / total
    taken = evenly(total, max(int(max_rows / size), 1))
    run = np.searchsorted(ends, taken, side="right")
    piece = taken - (ends - pieces)[run]
    length = data.run_lengths[run]
    first = data.offsets[run] + piece * length // pieces[run]
    last = data.offsets[run] + (piece + 1) * length // pieces[run]
    rows = np.concatenate([np.arange(a, b) for a, b in zip(first, last, strict=True)])
    return data.at(rows, np.concatenate([[0], np.cumsum(last - first)]), run)


def at_states(data: Dataset, states: Float[np.ndarray, "N n"]) -> Dataset:
    """Return rows with these states, and with inputs at their mean, to evaluate a model."""
    rows = len(states)
    inputs = None if data.inputs is None else np.tile(data.inputs.mean(axis=0), (rows, 1))
    return replace(
        data, times=np.arange(float(rows)), states=states, inputs=inputs, derivatives=None,
        offsets=np.array([0, rows]), labels=("",), filled=None, state_std=None, input_lines=None,
        covariates=None,
    )  # fmt: skip


def value_changes(values: Float[np.ndarray, " N"], max_count: int) -> Int[np.ndarray, " M"]:
    """Return the first and last row, and the rows at which a held value changes.

    If there are more than `max_count` changes, return the rows of `envelope`.
    """
    changes = np.flatnonzero(np.diff(values)) + 1
    rows = np.unique(np.concatenate([[0], changes, [len(values) - 1]]))
    return rows if len(rows) <= max_count else envelope(values, max_count)


def envelope(values: Float[np.ndarray, " N"], max_count: int) -> Int[np.ndarray, " M"]:
    """Return about `max_count` rows that preserve the shape of a curve.

    These are the first and last row, and the minimum and maximum of equal parts. NaN values are
    left out.
    """
    rows = np.flatnonzero(np.isfinite(values))
    if len(rows) <= max_count:
        return rows
    parts = max(max_count // 2 - 1, 1)
    size = -(-len(rows) // parts)
    padded = np.append(rows, np.full(parts * size - len(rows), rows[-1])).reshape(parts, size)
    curve = values[padded]
    line = np.arange(parts)
    extremes = [padded[line, curve.argmin(axis=1)], padded[line, curve.argmax(axis=1)]]
    return np.unique(np.concatenate([rows[[0, -1]], *extremes]))


def bounds_of(
    values: Float[np.ndarray, "N k"], margin: float
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """Return lower and upper limits of each column with a margin, also for constant columns."""
    low, high = values.min(axis=0), values.max(axis=0)
    reach = np.maximum(np.abs(low), np.abs(high))
    constant = high - low <= 1e-9 * reach
    add = np.where(constant, np.where(reach > 0, 0.5 * reach, 0.5), margin * (high - low))
    return low - add, high + add


@final
@dataclass(frozen=True, eq=False)
class Slopes:
    """Rows with derivatives, or the reason why the derivatives are unknown."""

    rows: Dataset
    values: Float[np.ndarray, "N n"] | None
    reason: str = ""


def slopes_of(model: AbstractFittedModel, data: Dataset, max_rows: int) -> Slopes:
    """Return derivatives at some rows, estimated by the model's loss."""
    rows = rows_of(data, max_rows)
    if model.output_names_ != model.state_names_:
        return Slopes(rows, None, "the targets of the model are not derivatives of its states.")
    try:
        return Slopes(rows, np.asarray(model.target_derivatives(rows)))
    except DataError as problem:  # runs are too short
        return Slopes(rows, None, str(problem))


def interpolation_of(data: Dataset, given: Mapping[str, str]) -> dict[str, str]:
    """Return the interpolation of each input, as in `given` or else detected from the data."""
    return input_interpolation(data.input_names, data) | dict(given)
