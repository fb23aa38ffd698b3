"""`Table`: raw columns of a source. They are converted to numbers here.

Times may be dates, clock times, durations or counts since 1970.
"""

import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, final

import numpy as np
from jaxtyping import Float

from ..._common.errors import DataError, shortened
from .._checks import DATE, DECIMAL_COMMA, parse_number
from .._schema import Note
from ._choice import TIME_UNITS, Format

_WITH_UNIT = re.compile(r"[+-]?\d+(?:[.,]\d+)?(?:[eE][+-]?\d+)? ?(?=[^\W\d]|[%°])\D.{0,9}")
_TOTAL = re.compile(
    r"(grand )?(total|sum|mean|average|avg|min|max|std|count|summe|mittelwert)\b.*", re.IGNORECASE
)
_THOUSANDS = re.compile(r"[+-]?\d{1,3}([.,' ]\d{3})+([.,]\d+)?")


def text_of(cell: Any) -> str:
    """Return a cell as text, which is empty for None, NaN, NaT and pandas' NA."""
    if isinstance(cell, str):
        return cell.strip()
    if cell is None or type(cell).__name__ in ("NAType", "NaTType") or cell != cell:
        return ""
    return str(cell).strip()


@final
@dataclass(frozen=True, eq=False)
class Table:
    """The chosen columns as numbers, dates or text, under the names that the user gave.

    `row_of` maps a row to its number for the user; `row_word` is 'line' for files and 'row'
    otherwise. `decimal` is the decimal sign of text. `units` are the units in the header, `others`
    the columns that were not chosen.
    """

    columns: dict[str, np.ndarray]
    source: str
    row_word: str = "row"
    row_of: Callable[[int], int] = int
    decimal: str = "."
    units: dict[str, str] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    others: tuple[str, ...] = ()

    def at(self, row: int) -> str:
        """Return the location of a row, such as 'runs.csv, line 18'."""
        return f"{self.source}, {self.row_word} {self.row_of(row)}"


def is_number(text: str) -> bool:
    """Return whether a text is a number with a decimal point."""
    return parse_number(text) is not None


def plain_numbers(cells: Any, decimal: str) -> Float[np.ndarray, " N"] | None:
    """Return the cells as float64 if all of them are numbers, or else None."""
    text = np.asarray(cells, dtype=str)
    try:
        if decimal == ",":
            if (np.char.find(text, ".") >= 0).any():
                return None
            text = np.char.replace(text, ",", ".")
        if (np.char.find(text, "_") >= 0).any():  # Python's `float` accepts 1_000
            return None
        return text.astype(np.float64)
    except ValueError:
        return None


def numbers_of(table: Table, name: str, form: Format, group: str = "") -> Float[np.ndarray, " N"]:
    """Return a column as float64. Missing values are NaN if they may be repaired.

    Raise an error for any other cell that is not a number, and name a suitable option.
    """
    column = table.columns[name]
    if column.dtype.kind in "fiub":
        return _without_marks(column.astype(np.float64, copy=False), table, name, form, group)
    if column.dtype.kind in "mM":
        raise DataError(
            f"{table.at(0)}: column '{name}' contains dates or durations, which only time=... may."
        )
    cells = column.tolist()
    values = np.full(len(cells), np.nan)
    for row, cell in enumerate(cells):
        if isinstance(cell, float) and cell == cell:
            values[row] = cell
            continue
        text = text_of(cell).replace("\u2212", "-")  # typographic minus
        number = parse_number(text, table.decimal)
        if number is not None:
            values[row] = number
        elif not form.is_missing(text):
            raise DataError(
                f"{table.at(row)}{_run(table, group, row)}: column '{name}' contains '{text}', "
                f"which is not a number.{_advice(text, name, table.decimal)}"
            )
        elif not form.repair:
            texts = [text_of(cell) for cell in cells]
            raise DataError(_missing(table, name, texts, row, _run(table, group, row)))
    return _without_marks(values, table, name, form, group)


def _without_marks(
    values: Float[np.ndarray, " N"], table: Table, name: str, form: Format, group: str
) -> Float[np.ndarray, " N"]:
    """Return the values with NaN for numbers, such as -999, that denote missing values."""
    marks = [float(mark) for mark in form.marks if is_number(mark)]
    if not marks:
        return values
    is_mark = np.isin(values, marks)
    if not is_mark.any():
        return values
    if not form.repair:
        row = int(np.argmax(is_mark))
        cells = [""] * row + [f"{values[row]:g}"]
        raise DataError(_missing(table, name, cells, row, _run(table, group, row)))
    return np.where(is_mark, np.nan, values)


def _run(table: Table, group: str, row: int) -> str:
    return f" (run {str(table.columns[group][row]).strip()})" if group else ""


def _missing(table: Table, name: str, cells: list[str], row: int, run: str) -> str:
    location, remainder = f"{table.at(row)}{run}: column '{name}'", cells[row:]
    fix = "Correct it; pass repair=True to leave out such rows, or fill=True to fill them in."
    if cells[row]:
        return f"{location} contains '{cells[row]}', a missing value. {fix}"
    if len(remainder) > 1 and not any(remainder):
        return (
            f"{location} ends here, {len(remainder)} rows before the others. Complete the column "
            f"or remove these rows; pass repair=True to leave them out."
        )
    return f"{location} is empty. {fix}"


def _advice(text: str, name: str, decimal: str) -> str:
    if text == name:
        return " The header is repeated there; remove the line."
    if DATE.match(text) and not DECIMAL_COMMA.fullmatch(text):
        return " Only time=... may contain dates."
    if decimal == "," and "." in text and is_number(text):
        return "Numbers with decimal commas were detected; pass decimal='.' if they have points."
    if DECIMAL_COMMA.fullmatch(text):
        return " Write decimals with a point, or pass decimal=',' if this is one."
    if _THOUSANDS.fullmatch(text):
        return "Write numbers without thousands separators."
    if re.fullmatch(r".*\d[dD][+-]?\d+", text) and is_number(re.sub("[dD]", "e", text)):
        return " Write exponents with E, as in 1.5E-3."
    if _WITH_UNIT.fullmatch(text):
        return f" Write only numbers in cells, and the unit in the header: '{name} [unit]'."
    if _TOTAL.fullmatch(text):
        return (
            f" Remove the line if it is not a measurement, or pass missing='{text}' and "
            f"repair=True to leave it out."
        )
    return f"If it denotes a missing value, pass missing='{text}'." if len(text) < 20 else ""


_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?)?) ?(Z|UTC|[+-]\d\d:?\d\d|)"
)
_CLOCK = re.compile(r"([+-]?)(?:(\d+) days?,? )?(\d+):(\d\d):(\d\d(?:[.,]\d+)?)")
_PERIOD = re.compile(
    r"([+-]?)P(?=.)(?:(\d+)W)?(?:(\d+)D)?(?:T(?=.)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d+)?)S)?)?"
)
_BY_DAY = re.compile(
    r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})"
    r"(?:[ T](\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?)(?: ?([AaPp])\.?[Mm]\.?)?)?"
)
_MONTHS: tuple[str, ...] = tuple("jan feb mar apr may jun jul aug sep oct nov dec".split())
_BY_MONTH = re.compile(rf"(\d{{1,2}})([- ])({'|'.join(_MONTHS)})[a-z]*\2(\d{{4}})", re.IGNORECASE)
_LIKE_TIME = re.compile(r"\d:\d\d|\d[-/.]\d+[-/.]\d")
_SECOND = 1_000_000_000  # nanoseconds
_MAX_TICKS = 2**63 - 1  # nanoseconds: 292 years
_DAY = 86_400
_YEARS = (946_684_800, 4_102_444_800)  # seconds since 1970 in the years 2000 and 2100
_LONGEST = 10 * 365 * _DAY  # seconds; longest measurement with such times
_COUNTS = {"seconds": 1, "milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}


def as_clock(cells: Sequence[str], date_format: str | None = None) -> np.ndarray | None:
    """Return texts as datetime64[ns] (in UTC if they have a time zone) or timedelta64[ns].

    Return None if a text is neither, or if day and month are ambiguous. A missing cell becomes NaT.
    """
    given = [cell for cell in cells if cell]
    if not given:
        return None
    if date_format is not None:
        return _formatted(cells, date_format)
    values = exact_clock(given)
    values = _dates_by_day(given) if values is None else values
    if values is None:
        return None
    result = np.full(len(cells), "NaT", dtype=values.dtype)
    result[np.array([bool(cell) for cell in cells])] = values
    return result


def exact_clock(cells: list[str]) -> np.ndarray | None:
    """Return the result of `as_clock` for unambiguous texts (ISO 8601 and clock times), or None."""
    values = _iso_dates(cells)
    return _durations(cells) if values is None else values


def times_of(
    table: Table, name: str, form: Format
) -> tuple[Float[np.ndarray, " N"], Note | None] | None:
    """Return times since the first row, in seconds or the requested unit, and a note.

    Return None if the column does not contain dates, durations or counts since 1970.
    """
    size, unit_name, _ = TIME_UNITS[form.time_unit or "s"]
    result = _seconds_of(table, name, form, unit_name)
    return None if result is None else (result[0] / size, result[1])


def _seconds_of(
    table: Table, name: str, form: Format, unit: str
) -> tuple[Float[np.ndarray, " N"], Note | None] | None:
    column = table.columns[name]
    if column.dtype.kind in "iuf":
        return _from_counts(column, unit)
    if column.dtype.kind not in "mM":
        cells = [_time_text(cell) for cell in column.tolist()]
        cells = ["" if form.is_missing(cell) else cell for cell in cells]
        values = as_clock(cells, form.date_format)
        if values is None:
            _refuse(table, name, cells, form)
            return None
        column = values
    absent = np.isnat(column)
    if absent.all():
        return None
    if absent.any() and not form.repair:
        raise DataError(
            f"{table.at(int(np.argmax(absent)))}: column '{name}' is empty. Fill the gap or remove "
            f"the row; pass repair=True to leave out such rows."
        )
    ticks = column.astype(f"{column.dtype.kind}8[ns]").astype(np.int64)
    first = int(ticks[~absent].min())
    seconds = np.where(absent, np.nan, (ticks - first) / _SECOND)
    if column.dtype.kind == "M":
        start = str(np.datetime64(first, "ns")).rstrip("0").rstrip(".")
        start = str(np.datetime64(first, "ns").astype("M8[s]")) if first % _SECOND == 0 else start
        return seconds, Note("dates", f"'{name}' contains dates; times are {unit} since {start}.")
    seconds, days = _over_midnight(seconds)
    text = f", midnight was passed {days} time{'s' * (days != 1)}" if days else ""
    return seconds, Note(
        "durations", f"'{name}' contains clock times or durations; times are {unit} from the first"
        f"{text}.", days
    )  # fmt: skip


def _from_counts(column: np.ndarray, unit_name: str) -> tuple[np.ndarray, Note] | None:
    """Return times from counts since 1970, all between 2000 and 2100 and within ten years.

    Return None for other numbers.
    """
    good = column[np.isfinite(column)] if column.dtype.kind == "f" else column
    if not good.size:
        return None
    low, high = good.min(), good.max()
    for unit, per_second in _COUNTS.items():
        within = _YEARS[0] * per_second <= low and high <= _YEARS[1] * per_second
        if within and high - low <= _LONGEST * per_second:
            seconds = (column - low).astype(np.float64) / per_second
            start = datetime.fromtimestamp(int(low) // per_second, UTC).strftime(
                "%Y-%m-%dT%H:%M:%S"
            )
            return seconds, Note(
                "epoch",
                f"Times look like {unit} since 1970; they are read as {unit_name} since the first, "
                f"{start} UTC.",
            )
    return None


def _time_text(cell: Any) -> str:
    if isinstance(cell, datetime) and cell == cell:
        return cell.isoformat()
    return duration_text(cell) if isinstance(cell, timedelta) else text_of(cell)


def duration_text(duration: timedelta) -> str:
    """Return a duration in the notation of ISO 8601."""
    return f"{'-' if duration < timedelta(0) else ''}PT{abs(duration).total_seconds():.9f}S"


def _matches(
    match: Callable[[str], re.Match[str] | None], cells: Iterable[str]
) -> list[re.Match[str]] | None:
    """Return the match of each cell, or None if a cell has no match."""
    result = []
    for cell in cells:
        if (cell_match := match(cell)) is None:
            return None
        result.append(cell_match)
    return result


def _iso_dates(cells: list[str]) -> np.ndarray | None:
    matches = _matches(_ISO.fullmatch, cells)
    if matches is None:
        return None
    zones = [match[2] for match in matches]
    if len({zone == "" for zone in zones}) > 1:
        return None
    texts = [match[1].replace(",", ".") for match in matches]
    # nanoseconds cannot represent other years
    if not ("1700" < min(texts) and max(texts) < "2262"):
        return None
    try:
        dates = np.array(texts, dtype="M8[ns]")
    except ValueError:  # dates such as the 31st of February
        return None
    if set(zones) <= {"", "Z", "UTC"}:
        return dates
    offsets = {zone: _offset(zone) for zone in set(zones)}
    return dates - np.array([offsets[zone] for zone in zones], dtype="m8[s]")


def _offset(zone: str) -> int:
    if zone in ("Z", "UTC"):
        return 0
    hours, minutes = int(zone[1:3]), int(zone[-2:])
    return (-1 if zone[0] == "-" else 1) * (3600 * hours + 60 * minutes)


def _durations(cells: list[str]) -> np.ndarray | None:
    matches = _matches(lambda cell: _CLOCK.fullmatch(cell) or _PERIOD.fullmatch(cell), cells)
    if matches is None:
        return None
    counts = [_nanoseconds(match) for match in matches]
    if any(abs(count) > _MAX_TICKS for count in counts):
        return None
    return np.array(counts, dtype="m8[ns]")


def _nanoseconds(match: re.Match[str]) -> int:
    sign, *counts, last = match.groups()
    days, hours, minutes = counts if len(counts) == 3 else counts[1:]
    weeks = counts[0] if len(counts) == 4 else None
    whole, _, part = (last or "0").replace(",", ".").partition(".")
    total = 7 * _DAY * int(weeks or 0) + _DAY * int(days or 0) + 3600 * int(hours or 0)
    total = (total + 60 * int(minutes or 0) + int(whole)) * _SECOND + int(part.ljust(9, "0")[:9])
    return -total if sign == "-" else total


def _dates_by_day(cells: list[str]) -> np.ndarray | None:
    """Return dates such as 31.12.2024 10:00, 31-Dec-2024, or 12/31/2024 10:00 PM.

    The last format is recognised only if at least one day exceeds 12, so that day and month can be
    distinguished.
    """
    matches = _matches(lambda cell: _BY_DAY.fullmatch(_BY_MONTH.sub(_with_number, cell)), cells)
    if matches is None:
        return None
    parts = [match.groups() for match in matches]
    day_first = _day_first(parts)
    if day_first is None:
        return None
    texts = []
    for first, _, second, year, clock, half in parts:
        day, month = (first, second) if day_first else (second, first)
        hour, _, remainder = (clock or "0:00").replace(",", ".").partition(":")
        if half and not 1 <= int(hour) <= 12:
            return None
        if half:
            hour = int(hour) % 12 + 12 * (half in "Pp")
        texts.append(f"{year}-{int(month):02}-{int(day):02}T{int(hour):02}:{remainder}")
    return _iso_dates(texts)


def _with_number(match: re.Match[str]) -> str:
    return f"{match[1]}.{_MONTHS.index(match[3].lower()) + 1}.{match[4]}"


def _day_first(parts: Sequence[Any]) -> bool | None:
    """Return whether the day precedes the month, or None if this is ambiguous."""
    if all(sign == "." for _, sign, *_ in parts):
        return True
    max_first, max_second = (max(int(part[i]) for part in parts) for i in (0, 2))
    if max_first > 12 >= max_second:
        return True
    if max_second > 12 >= max_first:
        return False
    return None


def _refuse(table: Table, name: str, cells: list[str], form: Format) -> None:
    """Raise an error for texts that look like times but cannot be read."""
    row = next((row for row, cell in enumerate(cells) if cell), 0)
    text = cells[row] if cells else ""
    if form.date_format is not None:
        row = next(
            i
            for i, cell in enumerate(cells)
            if cell and _formatted([cell], form.date_format) is None
        )
        raise DataError(
            f"{table.at(row)}: column '{name}' contains '{cells[row]}', which does not match "
            f"date_format='{form.date_format}'."
        )
    if as_clock([text]) is not None:
        others = (i for i, cell in enumerate(cells) if cell and as_clock([text, cell]) is None)
        row = next(others, row)
        raise DataError(
            f"{table.at(row)}: column '{name}' contains '{cells[row]}', whose format differs from "
            f"'{text}' above: both must be dates, with or without a time zone, or durations. "
            "Correct it, or pass date_format=... if all are written alike."
        )
    by_day = _BY_DAY.fullmatch(text)
    if by_day and _day_first([by_day.groups()]) is None:
        raise DataError(
            f"{table.at(row)}: column '{name}' contains '{text}', in which day and month are "
            f"ambiguous. Pass date_format='%d/%m/%Y %H:%M:%S', or the actual format."
        )
    if re.fullmatch(r"\d{1,2}:\d\d", text):
        raise DataError(
            f"{table.at(row)}: column '{name}' contains '{text}', which may be hours and minutes "
            f"or minutes and seconds. Pass date_format='%H:%M' or date_format='%M:%S'."
        )
    if _CLOCK.fullmatch(text) or _PERIOD.fullmatch(text):
        raise DataError(
            f"{table.at(row)}: column '{name}' contains '{shortened(text)}', a duration of more "
            f"than 292 years. Write times as numbers."
        )
    if _LIKE_TIME.search(text):
        raise DataError(
            f"{table.at(row)}: column '{name}' contains '{text}', a time in an unknown format. "
            f"Pass date_format=..., such as '%b %d, %Y %H:%M:%S'."
        )


def _formatted(cells: Sequence[str], date_format: str) -> np.ndarray | None:
    """Return dates in a format of `datetime.strptime`, or durations if the format has no year."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # days without a year
            dates = [datetime.strptime(cell, date_format) if cell else None for cell in cells]
    except ValueError:
        return None
    naive = [d if d is None or d.tzinfo is None else d.astimezone(UTC).replace(tzinfo=None)
             for d in dates]  # fmt: skip
    dates_ns = np.array(naive, dtype="M8[us]").astype("M8[ns]")
    has_year = any(sign in date_format for sign in ("%Y", "%y", "%c", "%x", "%s", "%D", "%F"))
    return dates_ns if has_year else dates_ns - np.datetime64("1900-01-01", "ns")


def _over_midnight(seconds: Float[np.ndarray, " N"]) -> tuple[Float[np.ndarray, " N"], int]:
    """Return clock times with a day added after each decrease of more than half a day, and the
    number of days.
    """
    if not seconds.size or np.nanmax(seconds) >= _DAY:
        return seconds, 0
    passed = np.diff(seconds, prepend=seconds[:1]) < -_DAY / 2
    unwrapped = seconds + _DAY * np.cumsum(passed)
    return unwrapped - np.nanmin(unwrapped), int(passed.sum())
