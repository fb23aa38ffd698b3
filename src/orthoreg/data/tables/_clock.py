"""Times that are written as dates, clock times, durations or counts since 1970, as numbers."""

import re
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from jaxtyping import Float

from ..._common.errors import DataError
from .._schema import Note
from ._choice import TIME_UNITS, Format
from ._table import Table, text_of

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
_DAY = 86_400
_YEARS = (946_684_800, 4_102_444_800)  # of 2000 and 2100, in seconds since 1970
_LONGEST = 10 * 365 * _DAY  # of measurements that are timed so
_COUNTS = {"seconds": 1, "milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}


def as_clock(cells: Sequence[str], date_format: str | None = None) -> np.ndarray | None:
    """Texts as datetime64[ns] (in UTC where they name a zone) or timedelta64[ns]; None where one is
    neither, or where day and month cannot be told apart. A missing cell is NaT."""
    given = [cell for cell in cells if cell]
    if not given:
        return None
    if date_format is not None:
        return _formatted(cells, date_format)
    found = exact_clock(given)
    found = _dates_by_day(given) if found is None else found
    if found is None:
        return None
    result = np.full(len(cells), "NaT", dtype=found.dtype)
    result[np.array([bool(cell) for cell in cells])] = found
    return result


def exact_clock(cells: list[str]) -> np.ndarray | None:
    """The same of texts whose meaning no other text can change: ISO 8601 and clock times."""
    found = _iso_dates(cells)
    return _durations(cells) if found is None else found


def times_of(
    table: Table, name: str, form: Format
) -> tuple[Float[np.ndarray, " N"], Note | None] | None:
    """Times from the first of them, in seconds or the unit that was asked for, where the column
    holds dates, durations or counts since 1970, and a word on it; None where it holds plain numbers
    or something else."""
    size, words, _ = TIME_UNITS[form.time_unit or "s"]
    found = _seconds_of(table, name, form, words)
    return None if found is None else (found[0] / size, found[1])


def _seconds_of(
    table: Table, name: str, form: Format, unit: str
) -> tuple[Float[np.ndarray, " N"], Note | None] | None:
    column = table.columns[name]
    if column.dtype.kind in "iuf":
        return _from_counts(column, unit)
    if column.dtype.kind not in "mM":
        cells = [_as_text(cell) for cell in column.tolist()]
        cells = ["" if form.is_missing(cell) else cell for cell in cells]
        found = as_clock(cells, form.date_format)
        if found is None:
            _refuse(table, name, cells, form)
            return None
        column = found
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
        begin = str(np.datetime64(first, "ns")).rstrip("0").rstrip(".")
        begin = str(np.datetime64(first, "ns").astype("M8[s]")) if first % _SECOND == 0 else begin
        return seconds, Note("dates", f"'{name}' holds dates; times are {unit} since {begin}.")
    seconds, days = _over_midnight(seconds)
    words = f", with midnight passed {days} time{'s' * (days != 1)}" if days else ""
    return seconds, Note(
        "durations", f"'{name}' holds clock times or durations; times are {unit} from the first"
        f"{words}.", days
    )  # fmt: skip


def _from_counts(column: np.ndarray, words: str) -> tuple[np.ndarray, Note] | None:
    """Counts since 1970, told by their size: every one of them lies between 2000 and 2100, within
    ten years."""
    good = column[np.isfinite(column)] if column.dtype.kind == "f" else column
    if not good.size:
        return None
    low, high = good.min(), good.max()
    for unit, per_second in _COUNTS.items():
        within = _YEARS[0] * per_second <= low and high <= _YEARS[1] * per_second
        if within and high - low <= _LONGEST * per_second:
            seconds = (column - low).astype(np.float64) / per_second
            begin = datetime.fromtimestamp(int(low) // per_second, UTC).strftime(
                "%Y-%m-%dT%H:%M:%S"
            )
            return seconds, Note(
                "epoch",
                f"Times are {unit} since 1970, as their size tells; they are read as {words} since "
                f"the first, {begin} UTC.",
            )
    return None


def _as_text(cell: Any) -> str:
    if isinstance(cell, datetime) and cell == cell:
        return cell.isoformat()
    if isinstance(cell, timedelta):
        return f"{'-' if cell < timedelta(0) else ''}PT{abs(cell).total_seconds():.9f}S"
    return text_of(cell)


def _iso_dates(cells: list[str]) -> np.ndarray | None:
    matches = [_ISO.fullmatch(cell) for cell in cells]
    if not all(matches):
        return None
    zones = [found[2] for found in matches if found]
    if len({zone == "" for zone in zones}) > 1:  # some with a zone and some without
        return None
    texts = [found[1].replace(",", ".") for found in matches if found]
    if not ("1700" < min(texts) and max(texts) < "2262"):  # what nanoseconds can count
        return None
    try:
        dates = np.array(texts, dtype="M8[ns]")
    except ValueError:  # the 31st of February
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
    matches = [_CLOCK.fullmatch(cell) or _PERIOD.fullmatch(cell) for cell in cells]
    if not all(matches):
        return None
    return np.array([_nanoseconds(found) for found in matches if found], dtype="m8[ns]")


def _nanoseconds(found: re.Match[str]) -> int:
    sign, *counts, last = found.groups()
    days, hours, minutes = counts if len(counts) == 3 else counts[1:]
    weeks = counts[0] if len(counts) == 4 else None
    whole, _, part = (last or "0").replace(",", ".").partition(".")
    total = 7 * _DAY * int(weeks or 0) + _DAY * int(days or 0) + 3600 * int(hours or 0)
    total = (total + 60 * int(minutes or 0) + int(whole)) * _SECOND + int(part.ljust(9, "0")[:9])
    return -total if sign == "-" else total


def _dates_by_day(cells: list[str]) -> np.ndarray | None:
    """Dates such as 31.12.2024 10:00, 31-Dec-2024, or 12/31/2024 10:00 PM where some day shows
    which is the month."""
    matches = [_BY_DAY.fullmatch(_BY_MONTH.sub(_with_number, cell)) for cell in cells]
    if not all(matches):
        return None
    parts = [found.groups() for found in matches if found]
    day_first = _day_first(parts)
    if day_first is None:
        return None
    texts = []
    for one, _, two, year, clock, half in parts:
        day, month = (one, two) if day_first else (two, one)
        hour, _, rest = (clock or "0:00").replace(",", ".").partition(":")
        if half and not 1 <= int(hour) <= 12:
            return None
        if half:
            hour = int(hour) % 12 + 12 * (half in "Pp")
        texts.append(f"{year}-{int(month):02}-{int(day):02}T{int(hour):02}:{rest}")
    return _iso_dates(texts)


def _with_number(found: re.Match[str]) -> str:
    return f"{found[1]}.{_MONTHS.index(found[3].lower()) + 1}.{found[4]}"


def _day_first(parts: Sequence[Any]) -> bool | None:
    """Whether the day stands before the month; None where nothing tells."""
    if all(sign == "." for _, sign, *_ in parts):
        return True
    ones, twos = [int(p[0]) for p in parts], [int(p[2]) for p in parts]
    if max(ones) > 12 >= max(twos):
        return True
    if max(twos) > 12 >= max(ones):
        return False
    return None


def _refuse(table: Table, name: str, cells: list[str], form: Format) -> None:
    """Says what is wrong with texts that look like times; nothing where the first does not."""
    row = next((row for row, cell in enumerate(cells) if cell), 0)
    text = cells[row] if cells else ""
    if form.date_format is not None:
        row = next(
            i
            for i, cell in enumerate(cells)
            if cell and _formatted([cell], form.date_format) is None
        )
        raise DataError(
            f"{table.at(row)}: column '{name}' holds '{cells[row]}', which is not written as "
            f"date_format='{form.date_format}' says."
        )
    if as_clock([text]) is not None:
        others = (i for i, cell in enumerate(cells) if cell and as_clock([text, cell]) is None)
        row = next(others, row)
        raise DataError(
            f"{table.at(row)}: column '{name}' holds '{cells[row]}', which is not written as "
            f"'{text}' above it is: both must be dates, with a time zone or without, or durations. "
            f"Correct it, or pass date_format=... if all are written alike."
        )
    by_day = _BY_DAY.fullmatch(text)
    if by_day and _day_first([by_day.groups()]) is None:
        raise DataError(
            f"{table.at(row)}: column '{name}' holds '{text}', where day and month cannot be told "
            f"apart. Pass date_format='%d/%m/%Y %H:%M:%S', or what it is."
        )
    if re.fullmatch(r"\d{1,2}:\d\d", text):
        raise DataError(
            f"{table.at(row)}: column '{name}' holds '{text}', which may be hours and minutes or "
            f"minutes and seconds. Pass date_format='%H:%M' or date_format='%M:%S'."
        )
    if _LIKE_TIME.search(text):
        raise DataError(
            f"{table.at(row)}: column '{name}' holds '{text}', a time that is written in a way of "
            f"its own. Pass date_format=..., such as '%b %d, %Y %H:%M:%S'."
        )


def _formatted(cells: Sequence[str], date_format: str) -> np.ndarray | None:
    """Dates by a format of `datetime.strptime`; without a year they are durations."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # days without a year
            dates = [datetime.strptime(cell, date_format) if cell else None for cell in cells]
    except ValueError:
        return None
    naive = [d if d is None or d.tzinfo is None else d.astimezone(UTC).replace(tzinfo=None)
             for d in dates]  # fmt: skip
    found = np.array(naive, dtype="M8[us]").astype("M8[ns]")
    has_year = any(sign in date_format for sign in ("%Y", "%y", "%c", "%x", "%s", "%D", "%F"))
    return found if has_year else found - np.datetime64("1900-01-01", "ns")


def _over_midnight(seconds: Float[np.ndarray, " N"]) -> tuple[Float[np.ndarray, " N"], int]:
    """Clock times within a day that fall by more than half of one have passed midnight."""
    if not seconds.size or np.nanmax(seconds) >= _DAY:
        return seconds, 0
    passed = np.diff(seconds, prepend=seconds[:1]) < -_DAY / 2
    unwrapped = seconds + _DAY * np.cumsum(passed)
    return unwrapped - np.nanmin(unwrapped), int(passed.sum())
