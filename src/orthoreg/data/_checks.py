"""Checks of input data. Their messages name source, column, run and row."""

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float, Int

from .._common.errors import DataError, DataWarning, quoted
from .._common.typed import is_printable, printable
from ..smoothing import MIN_VELOCITY_ROWS, Offsets, Times, Values
from . import _limits as limits

_DATE_ADVICE = "Convert them to seconds (or days) since the start of each run."
DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2}:\d{2}")
DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")

_MAX_SHOWN_ROWS = 3  # maximum number of rows that a message lists


@final
@dataclass(frozen=True)
class Locator:
    """Describe rows of a flat array in the user's terms.

    `row_of` maps an index to the number that the user sees, a line of a file or a row of an array.
    `source_of` maps it to a file if there are several files. `can_repair` is true for `read_table`.
    """

    source: str
    row_word: str
    row_of: Callable[[int], int]
    run_of: Callable[[int], str | None]
    source_of: Callable[[int], str] | None = None
    can_repair: bool = False

    def at(self, index: int) -> str:
        """Return the location of a row, such as 'runs.csv, line 18 (run 7)'."""
        run = self.run_of(index)
        source = self.source if self.source_of is None else self.source_of(index)
        location = f"{source}, {self.row_word} {self.row_of(index)}"
        return location if run is None else f"{location} (run {run})"


def as_numbers(value: Any, argument: str) -> Float[np.ndarray, "..."]:
    """Return a float64 copy of an array-like. Raise DataError for text and ragged lists."""
    if isinstance(value, np.ma.MaskedArray):
        value = np.ma.filled(value.astype(np.float64), np.nan)
    if hasattr(value, "columns"):
        for name in value.columns:
            check_column(np.asarray(value[name]), str(name), lambda row: f"{argument}, row {row}")
    try:
        array = np.asarray(value)
    except ValueError:
        raise DataError(
            f"{argument} must be a rectangular array of numbers, but its rows have different "
            f"lengths. Pass runs of different lengths as a list of two-dimensional arrays."
        ) from None
    if array.dtype.kind == "c":
        raise DataError(
            f"{argument} must contain real numbers; it has complex dtype {array.dtype}."
        )
    if array.dtype.kind in "mM":
        raise DataError(f"{argument} must contain numbers; it contains dates. {_DATE_ADVICE}")
    if array.dtype.kind not in "fiub":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise DataError(
                f"{argument} must contain numbers only; it has dtype {array.dtype}. "
                f"Convert or drop the columns that contain text."
            ) from None
    return np.array(array, dtype=np.float64)


def check_column(column: np.ndarray, name: str, at: Callable[[int], str]) -> None:
    """Raise an error that names the first cell of a column that is not a number."""
    if column.dtype.kind in "fiub":
        return
    if column.dtype.kind in "mM":
        raise DataError(f"{at(0)}: column '{name}' contains dates, not numbers. {_DATE_ADVICE}")
    cells = ["" if cell is None else str(cell).strip() for cell in column.tolist()]
    try:
        column.astype(np.float64)
        if "_" not in "".join(cells):  # Python's `float` accepts 1_000
            return
    except (TypeError, ValueError):
        pass
    for row, text in enumerate(cells):
        if not text:
            n_rows = len(cells) - row
            if n_rows > 1 and not any(cells[row:]):
                raise DataError(
                    f"{at(row)}: column '{name}' ends here, {n_rows} rows before the others. "
                    f"Complete the column or remove these rows."
                )
            raise DataError(f"{at(row)}: column '{name}' is empty. Fill the gap or remove the row.")
        if parse_number(text) is None:
            raise DataError(
                f"{at(row)}: column '{name}' contains '{text}', which is not a number."
                f"{_number_advice(text)}"
            )
    raise DataError(f"{at(0)}: column '{name}' does not contain numbers (dtype {column.dtype}).")


def parse_number(text: str, decimal: str = ".") -> float | None:
    """Return the number in a text, or None. Unlike Python's `float`, reject 1_000."""
    if decimal == "," and "." in text:
        return None
    try:
        return float(text.replace(decimal, ".").replace("_", "?"))
    except ValueError:
        return None


def _number_advice(text: str) -> str:
    if DATE.match(text):
        return f" Times must be numbers, not dates. {_DATE_ADVICE}"
    if DECIMAL_COMMA.fullmatch(text):
        return " Write decimals with a point."
    return ""


def check_finite(
    values: Float[np.ndarray, "N columns"], names: Sequence[str], locator: Locator
) -> None:
    """Raise an error for NaN, infinity, and values that are too large."""
    if values.size and -limits.MAX_VALUE <= values.min() and values.max() <= limits.MAX_VALUE:
        return
    is_invalid = ~(np.abs(values) <= limits.MAX_VALUE)
    if is_invalid.any():
        row, column = np.argwhere(is_invalid)[0]
        value = values[row, column]
        count = int(is_invalid.any(axis=1).sum())
        problem, fix = (
            ("is too large", "Correct it, or give the column in a larger unit")
            if np.isfinite(value)
            else ("is not finite", f"Remove the row, fill the gap or split the run there"
                  f"{', or pass repair=True or fill=True' * locator.can_repair}")
        )  # fmt: skip
        raise DataError(
            f"{locator.at(int(row))}: column '{names[column]}' is {value:g}, which {problem}; "
            f"values must be finite and at most {limits.MAX_VALUE:g} in size. {fix} "
            f"({count} such row{'s' * (count > 1)})."
        )


def check_not_tiny(
    values: Float[np.ndarray, "N columns"], names: Sequence[str], source: str
) -> None:
    """Raise an error for columns so small that their squares would be rounded to zero."""
    for name, size in zip(names, np.abs(values).max(axis=0, initial=0.0), strict=True):
        if 0 < size < limits.MIN_VALUE:
            raise DataError(
                f"{source}: column '{name}' is at most {size:g} in size, which is too small; the "
                f"largest value must be 0 or at least {limits.MIN_VALUE:g}. Give the column in a "
                f"smaller unit."
            )


def check_increasing(
    times: Times, offsets: Offsets, time_name: str, locator: Locator, *, grouped: bool
) -> None:
    """Raise an error if times repeat or go back within a run."""
    steps = np.diff(times)
    steps[offsets[1:-1] - 1] = 1.0  # steps between runs
    violations = np.flatnonzero(steps <= 0)
    if violations.size:
        i = int(violations[0]) + 1
        repeats = times[i] == times[i - 1]
        run = int(np.searchsorted(offsets, i, side="right")) - 1
        first, last = int(offsets[run]), int(offsets[run + 1])
        advice = _repeat_advice if repeats else _return_advice
        raise DataError(
            f"{locator.at(i)}: time '{time_name}' {'repeats' if repeats else 'goes back'}, "
            f"{times[i - 1]:.10g} then {times[i]:.10g}; times must increase within each run. "
            f"{advice(times[first:last], first, time_name, locator, grouped)}"
            f"{' To repair the table, pass repair=True.' * locator.can_repair}"
        )


def check_map(
    times: Times, offsets: Offsets, time_name: str, locator: Locator, *, has_rates: bool
) -> None:
    """Raise an error unless the rows can be those of a map: equal steps, no positions or
    derivatives.
    """
    if has_rates:
        raise DataError(
            f"{locator.source}: a map (discrete=True) has neither positions nor derivatives; pass "
            f"all its columns as states."
        )
    steps = np.diff(times)
    inside = np.ones(len(steps), dtype=bool)
    inside[offsets[1:-1] - 1] = False
    if not inside.any():
        raise DataError(
            f"{locator.source}: a map (discrete=True) needs runs of at least 2 rows; every run has "
            f"a single row."
        )
    typical = float(np.median(steps[inside]))
    is_unequal = inside & (np.abs(steps - typical) > limits.EQUAL_MAP_STEPS * typical)
    if is_unequal.any():
        i = int(np.argmax(is_unequal))
        count = int(is_unequal.sum())
        raise DataError(
            f"{locator.at(i + 1)}: a map (discrete=True) needs equal time steps, but the step from "
            f"{time_name} = {times[i]:.6g} to {times[i + 1]:.6g} is not {typical:.6g} "
            f"({count} such step{'s' * (count > 1)}). Split the runs where rows are missing"
            f"{', as repair=True does' * locator.can_repair}, or fit a flow (without discrete)."
        )


def _repeat_advice(
    times: Float[np.ndarray, " T"], first: int, time_name: str, locator: Locator, grouped: bool
) -> str:
    """Return advice on rows of one run that have the same time."""
    _, counts = np.unique(times, return_counts=True)
    if not grouped and np.mean(counts > 1) > 0.5:
        return (
            "Most times occur more than once, as in a table of several runs: pass group=..., the "
            "column that identifies the run."
        )
    rows = 1 + np.flatnonzero(np.diff(times) == 0)
    row_list = _row_list(rows + first, locator)
    return f"Keep one of the rows with the same time, or their mean ({row_list})."


def _return_advice(
    times: Float[np.ndarray, " T"], first: int, time_name: str, locator: Locator, grouped: bool
) -> str:
    """Return advice on a run in which times go back: it is several runs, or its rows are not
    sorted.
    """
    rows = 1 + np.flatnonzero(np.diff(times) < 0)
    row_list = _row_list(rows + first, locator)
    if not restarts(times, rows).all():
        others = "" if grouped else (
            " If there are several runs, pass group=..., the column that identifies the run."
        )  # fmt: skip
        return f"Sort the rows by '{time_name}' ({row_list}).{others}"
    if grouped:
        return f"Times start again, as at the start of a run: split the run there ({row_list})."
    return (
        f"Times start again, as at the start of a run ({row_list}): pass group=..., the column "
        f"that identifies the run, or add one."
    )


def restarts(times: Float[np.ndarray, " T"], rows: Int[np.ndarray, " k"]) -> Bool[np.ndarray, " k"]:
    """Return whether each of these rows, where times go back, is the start of a new run."""
    elapsed = np.maximum.accumulate(times)[rows - 1] - times[0]
    return times[rows] - times[0] <= limits.RESTART_SHARE * elapsed


def _row_list(rows: Int[np.ndarray, " k"], locator: Locator) -> str:
    """Return a list of row numbers such as 'lines 4, 6, 9 and 12 more'."""
    shown = ", ".join(str(locator.row_of(int(row))) for row in rows[:_MAX_SHOWN_ROWS])
    remainder = f" and {len(rows) - _MAX_SHOWN_ROWS} more" if len(rows) > _MAX_SHOWN_ROWS else ""
    return f"{locator.row_word}{'s' * (len(rows) > 1)} {shown}{remainder}"


def check_moving(
    states: Values, names: Sequence[str], offsets: Offsets, positions: Sequence[str], source: str
) -> None:
    """Raise an error if no position ever changes within a run."""
    columns = states[:, [names.index(name) for name in positions]]
    steps = np.diff(columns, axis=0)
    steps[offsets[1:-1] - 1] = 0.0  # steps between runs
    if not steps.any():
        subject = f"position {quoted(positions)} never changes" if len(positions) == 1 else (
            f"positions {quoted(positions)} never change"
        )  # fmt: skip
        raise DataError(
            f"{source}: {subject} within a run. Data of a system at rest contain no information "
            f"on its motion; measure runs that move."
        )


def warn_constant(states: Values, names: Sequence[str], source: str) -> None:
    """Warn about states that never change. Nothing can be learned about their dynamics."""
    if len(states) < 2:
        return
    constant = [
        name for name, column in zip(names, states.T, strict=True) if column.min() == column.max()
    ]
    if constant:
        warnings.warn(
            f"{source}: state {quoted(constant)} never changes, so nothing can be learned about "
            f"its dynamics. If it is a setting, pass it as an input instead.",
            DataWarning,
            stacklevel=4,
        )


def check_names(names: Sequence[str], argument: str) -> tuple[str, ...]:
    """Return the names as a tuple. Raise an error unless they are distinct, non-empty texts."""
    if isinstance(names, str):
        raise DataError(
            f"{argument} must be a list of names; got the text '{names}'. Write ['{names}']."
        )
    result = tuple(str(name) for name in names)
    duplicates = sorted({name for name in result if result.count(name) > 1})
    if duplicates:
        raise DataError(f"{argument} must be distinct; {quoted(duplicates)} occurs twice.")
    if any(not name.strip() for name in result):
        raise DataError(f"{argument} must not be empty text; got {list(result)}.")
    for name in result:
        if not is_printable(name):
            raise DataError(
                f"{argument} must not have control characters; got '{printable(name)}'. Rename the "
                f"column."
            )
    return result


def is_gap(times: Float[np.ndarray, " T"], multiple: float | int) -> Bool[np.ndarray, " steps"]:
    """Return whether each step is a gap.

    A gap is longer than `multiple` times the median of its neighbours (five on each side), and
    longer than `multiple` times the median of all steps.
    """
    return _is_long_step(times, multiple, np.median)


def cut_at_gaps(
    times: Times, offsets: Offsets, multiple: float | int = limits.GAP
) -> tuple[Int[np.ndarray, " more"], list[int]]:
    """Return the offsets of runs that are cut at gaps, and the number of parts of each run.

    A gap is a step longer than `multiple` times each of its neighbours. Joined recordings have such
    steps; random sampling times do not. Parts that are too short for derivatives, and short bursts
    of samples, are not separated.

    Returns
    -------
    offsets, counts
        offsets of the runs after cutting, and the number of parts of each original run.
    """
    boundaries, counts = [], []
    for first, last in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        starts = [first]
        for cut in first + 1 + np.flatnonzero(_is_long_step(times[first:last], multiple, np.max)):
            if cut - starts[-1] >= MIN_VELOCITY_ROWS and last - cut >= MIN_VELOCITY_ROWS:
                starts.append(int(cut))
        if len(starts) > 1 and last - first < len(starts) * limits.BURST:
            starts = [first]
        boundaries += starts
        counts.append(len(starts))
    if len(boundaries) == len(counts):
        return offsets, counts
    return np.array([*boundaries, offsets[-1]], dtype=np.int64), counts


def _is_long_step(
    times: Float[np.ndarray, " T"], multiple: float | int, typical: Callable[[Any], Any]
) -> Bool[np.ndarray, " steps"]:
    steps = np.diff(times)
    result = np.zeros(len(steps), dtype=bool)
    if len(steps) < 3 or steps.max() <= multiple * steps.min():
        return result
    for i in np.flatnonzero(steps > multiple * np.median(steps)):
        before = steps[max(0, i - limits.NEIGHBOUR_STEPS) : i]
        after = steps[i + 1 : i + 1 + limits.NEIGHBOUR_STEPS]
        result[i] = steps[i] > multiple * typical(np.r_[before, after])
    return result
