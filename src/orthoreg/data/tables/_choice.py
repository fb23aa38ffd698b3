"""Arguments of `read_table`: `Format` describes how a table is written, `Choice` which columns to
read.
"""

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, NamedTuple, final

from ..._common.errors import DataError, quoted, suggestion
from ..._common.typed import printable
from .._assembly import check_order, named_positions
from .._checks import check_names
from .._limits import GAP

MARKS = (
    "", "-", "--", "na", "n/a", "#n/a", "nan", "null", "none", "nil", "err", "error", "#error",
    "#value!", "#div/0!", "missing", "?", "*", ".",
)  # fmt: skip
"""Cells that denote a missing value, regardless of case."""

COUNTED = "k"
"""Name of the row number of a map without a time column, as in x[k+1]."""

TIME_UNITS = {
    "ns": (1e-9, "nanoseconds", ("nanosecond", "nanoseconds")),
    "us": (1e-6, "microseconds", ("µs", "μs", "microsecond", "microseconds")),
    "ms": (1e-3, "milliseconds", ("msec", "millisecond", "milliseconds")),
    "s": (1.0, "seconds", ("sec", "secs", "second", "seconds")),
    "min": (60.0, "minutes", ("mins", "minute", "minutes")),
    "h": (3600.0, "hours", ("hr", "hrs", "hour", "hours")),
    "d": (86400.0, "days", ("day", "days")),
}
"""Units of time: length in seconds, name and other spellings."""

_WITH_UNIT = re.compile(r"(.*\S)\s*\[([^\[\]]*)\]|(.*\S)\s+\(([^()]*)\)|(.*\S)\s+/\s+(\S+)")
_NO_UNIT = ("", "-", "1", "none")
_KNOWN = re.compile(
    "([fpnuµμmcdhkMGT]|da)?(m|g|s|A|K|mol|cd|Hz|N|Pa|J|W|C|V|F|Ohm|ohm|Ω|S|Wb|T|H|L|l|eV|bar|rad)"
    "|deg|°|°C|°F|degC|min|h|hr|d|days?|hours?|sec|seconds|a|yr|years?|rpm|rev|psi|%|ppm|counts?|px"
)


def time_unit_in(text: str | None) -> str | None:
    """Return the unit of time that a text denotes, or None."""
    word = (text or "").strip()
    word = word if word in TIME_UNITS else word.lower()
    return next(
        (unit for unit, (_, _, others) in TIME_UNITS.items() if word in (unit, *others)), None
    )


@final
@dataclass(frozen=True, kw_only=True)
class Format:
    """The format of a table, and whether it may be repaired. A format that is None is detected."""

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    comment: str | None = None
    missing: str | Sequence[str] = ()
    date_format: str | None = None
    sheet: str | None = None
    long: Sequence[str] | None = None
    repair: bool = False
    fill: bool = False
    gap: float | int = GAP
    time_unit: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise DataError(
                f"delimiter must be a single character, other than a quote or the end of a line; "
                f"got {self.delimiter!r}."
            )
        if self.decimal not in (None, ".", ","):
            raise DataError(f"decimal must be '.' or ','; got {self.decimal!r}.")
        if self.decimal == "," and self.delimiter == ",":
            raise DataError("decimal must differ from the delimiter; got ',' with delimiter=','.")
        if self.encoding is not None:
            try:
                io.TextIOWrapper(
                    io.BytesIO(), self.encoding
                )  # reject codecs of bytes, such as zlib
            except (LookupError, ValueError):
                raise DataError(
                    f"encoding must be known to Python, such as 'utf-8', 'utf-16' or "
                    f"'latin-1'; got '{self.encoding}'."
                ) from None
        if self.comment == "":
            raise DataError("comment must be the prefix of comments; got empty text.")
        if self.long is not None and (len(self.long) != 2 or isinstance(self.long, str)):
            raise DataError(
                f"long must be a pair of columns, (names of quantities, their values); got "
                f"{self.long!r}."
            )
        if self.time_unit is not None:
            unit = time_unit_in(self.time_unit)
            if unit is None:
                raise DataError(
                    f"time_unit must be one of {quoted(TIME_UNITS)}; got '{self.time_unit}'."
                )
            object.__setattr__(self, "time_unit", unit)
        if not self.gap > 1:
            raise DataError(f"gap must be a multiple of the time step above 1; got {self.gap:g}.")

    @property
    def marks(self) -> list[str]:
        """Additional markers of missing values."""
        return [self.missing] if isinstance(self.missing, str) else list(self.missing)

    def is_missing(self, text: str) -> bool:
        """Return whether a cell denotes a missing value."""
        return text.lower() in MARKS or text in self.marks


def name_and_unit(header: str) -> tuple[str, str | None]:
    """Return the name and the unit in 'theta [rad]', 'v (m/s)' or 't / s'.

    The unit is None if absent.
    """
    header = header.strip()
    # the pattern takes ten times longer than this test, which most cells fail
    has_sign = "[" in header or "(" in header or "/" in header
    match = _WITH_UNIT.fullmatch(header) if has_sign else None
    if match is None:
        return header, None
    name, unit = (part for part in match.groups() if part is not None)
    return name.strip(), None if unit.strip() in _NO_UNIT else unit.strip()


def _without_unit(name: str) -> str:
    """Return a chosen name without its unit.

    Text in round brackets is removed only if it is a unit, unlike in 'Position (left)'.
    """
    base, unit = name_and_unit(name)
    return base if not name.strip().endswith(")") or looks_like_unit(unit or "") else name


def looks_like_unit(text: str) -> bool:
    """Return whether a text consists of symbols of common units."""
    parts = re.split(r"[*/·.^ 0-9⁻¹²³-]+", text)
    return all(_KNOWN.fullmatch(part) for part in parts if part)


@final
class Columns(NamedTuple):
    """The chosen columns of a header: index and unit by name, and the names of unused columns."""

    indices: dict[str, int]
    units: dict[str, str]
    unused: tuple[str, ...]


@final
class Choice:
    """The arguments of `read_table`.

    These are the roles and units of columns, the `form` of the table, and whether its rows are
    those of a map (`discrete`).

    States and inputs are named as in the header, without units. A `*` in these names matches the
    run, for runs in adjacent columns.
    """

    def __init__(
        self,
        time: str | None,
        states: Sequence[str],
        inputs: Sequence[str],
        group: str | None,
        derivatives: Sequence[str] | None,
        positions: Any,
        units: Mapping[str, str] | None,
        form: Format,
        *,
        order: int = 2,
        discrete: bool = False,
        hidden: Sequence[str] = (),
        covariates: Sequence[str] = (),
    ):
        named = named_positions(positions)
        velocities = check_names([v for v in named.values() if v], "positions")
        others = check_names(states or (), "states")
        input_columns = check_names(inputs or (), "inputs")
        derivative_columns = check_names(derivatives or (), "derivatives")
        for part, name in (("time", time), ("group", group)):
            if name is not None and not str(name).strip():
                raise DataError(f"{part} must name a column; got empty text.")
            if name is not None:
                check_names([name], part)
        self.is_counted = time is None
        time = COUNTED if time is None else time
        covariate_columns = check_names(covariates or (), "covariates")
        requested = [
            time, *named, *velocities, *others, *input_columns, *derivative_columns,
            *covariate_columns,
        ]  # fmt: skip
        bases = [_without_unit(str(name)) for name in dict.fromkeys(requested)]
        self._requested = {
            base if bases.count(base) == 1 else str(name): str(name)
            for name, base in zip(dict.fromkeys(requested), bases, strict=True)
        }
        clean = {name: base for base, name in self._requested.items()}
        self.time, self.group = clean[str(time)], group
        self.units, self.form, self.discrete = dict(units or {}), form, discrete
        self.hidden = check_names(hidden or (), "hidden")
        self.order = check_order(order, named, discrete)
        self.positions = {clean[p]: v and clean[v] for p, v in named.items()}
        self.states = tuple(clean[name] for name in (*named, *velocities, *others))
        self.inputs = tuple(clean[name] for name in input_columns)
        self.derivatives = tuple(clean[name] for name in derivative_columns)
        self.covariates = tuple(clean[name] for name in covariate_columns)
        self._check()

    def _check(self) -> None:
        if self.is_counted:
            self._check_counted()
        if not self.states:
            raise DataError(
                "states must name at least one column; pass positions=... if velocities were not "
                "measured."
            )
        if self.discrete and (self.positions or self.derivatives):
            raise DataError(
                f"{'positions' if self.positions else 'derivatives'} must be omitted with "
                f"discrete=True: a map gives the next values of its columns. Pass them all as "
                f"states."
            )
        if self.discrete and self.form.fill:
            raise DataError(
                "fill must be omitted with discrete=True: values between rows of a map do not lie "
                "on a smooth curve. Pass repair=True, which leaves out rows with missing values."
            )
        if self.positions and self.derivatives:
            raise DataError(
                "derivatives must be omitted if positions are given. Name a measured velocity with "
                "its position, as theta:omega."
            )
        if self.derivatives and len(self.derivatives) != len(self.states):
            raise DataError(
                f"derivatives must name one column for each of the {len(self.states)} states; "
                f"got {len(self.derivatives)}."
            )
        parts = [self.time, *self.states, *self.inputs, *self.covariates]
        doubled = sorted({name for name in parts if parts.count(name) > 1})
        if doubled:
            raise DataError(
                f"A column can be the time, {'a position, ' if self.positions else ''}a state"
                f"{', an input or a covariate' if self.covariates else ' or an input'}, not two of "
                f"them; "
                f"{quoted(doubled)} was chosen twice."
            )
        if self.covariates and (self.patterns or self.form.long is not None):
            raise DataError(
                "covariates need a table with a row for each time and a column for each quantity; "
                "omit long, and * in names."
            )
        if self.patterns and (self.group is not None or self.form.long is not None):
            raise DataError(
                f"group and long must be omitted if a * stands for the run; got "
                f"'{self.patterns[0]}'."
            )

    def _check_counted(self) -> None:
        """Raise DataError if there is no time column, unless the rows are steps of a map."""
        if not self.discrete:
            raise DataError(
                "time must name the column of times. It is optional only for a map, discrete=True."
            )
        if self.form.long is not None:
            raise DataError("long needs times; pass the column of times or steps as time=....")
        if COUNTED in (*self.states, *self.inputs):
            raise DataError(
                f"Without a time column, rows are counted as '{COUNTED}', but '{COUNTED}' is a "
                f"state or an input. Pass time=..., or rename the column."
            )

    @property
    def measured(self) -> list[str]:
        """The columns of states, inputs and derivatives."""
        return list(dict.fromkeys([*self.states, *self.inputs, *self.derivatives]))

    @property
    def numeric(self) -> list[str]:
        """The columns that must contain numbers."""
        times = [] if self.is_counted else [self.time]
        return [*times, *self.measured, *self.covariates]

    @property
    def patterns(self) -> list[str]:
        """Names with a `*`, each of which matches one column per run."""
        return [name for name in self.numeric if "*" in name]

    @property
    def labels(self) -> tuple[str | None, ...]:
        """The columns that contain text: names of runs, and names of quantities in a long table."""
        return (self.group, None if self.form.long is None else self.form.long[0])

    @property
    def wanted(self) -> list[str]:
        """The columns to search for. In a long table, these are the columns of names and values."""
        names = self.numeric
        if self.form.long is not None:
            names = [self.time, *self.form.long]
        return list(dict.fromkeys(names + ([self.group] if self.group is not None else [])))

    def fits(self, header: Sequence[str]) -> bool:
        """Return whether a header contains all wanted columns."""
        return all(self._matches(name, header) for name in self.wanted)

    def count(self, header: Sequence[str]) -> int:
        """Return the number of wanted columns in a header."""
        return sum(bool(self._matches(name, header)) for name in self.wanted)

    def is_number(self, column: str) -> bool:
        """Return whether a column of the header was chosen and must contain numbers."""
        return any(column in (name, self._requested[name]) or name_and_unit(column)[0] == name
                   for name in self.numeric)  # fmt: skip

    def locate(self, header: Sequence[Any], source: str) -> "Columns":
        """Return the chosen columns of a header. Columns that match a pattern keep their own
        names.
        """
        known = [str(name).strip() for name in header]
        indices: dict[str, int] = {}
        for name in self.wanted:
            matches = self._matches(name, known)
            if not matches:
                bases = [name_and_unit(column)[0] for column in known]
                raise DataError(
                    f"{source} has no column '{name}'.{suggestion(name, bases)} "
                    f"Its columns are {quoted(known)}."
                )
            if "*" in name:
                indices |= {known[index]: index for index in matches}
            elif len(matches) > 1:
                raise DataError(
                    f"{source} has more than one column named '{name}'. Give them different names "
                    f"in its header, or remove one."
                )
            else:
                indices[name] = matches[0]
        chosen = set(indices.values())
        unused = [name for index, name in enumerate(known) if index not in chosen and name]
        return Columns(
            indices,
            self.header_units(header, indices),
            tuple(name_and_unit(name)[0] for name in unused),
        )

    def header_units(self, header: Sequence[Any], indices: dict[str, int]) -> dict[str, str]:
        """Return the units of numeric columns, from the header or from a row of units."""
        known = {
            name: name_and_unit(str(header[index]))[1]
            for name, index in indices.items()
            if index < len(header)  # a row of units may end before the group column
        }
        return {
            name: printable(unit) for name, unit in known.items() if unit and name in self.numeric
        }

    def _matches(self, name: str, header: Sequence[str]) -> list[int]:
        """Return the columns with exactly this name or, if there are none, with this name and a
        unit.
        """
        if "*" in name:
            exact = [i for i, column in enumerate(header) if fnmatchcase(column, name)]
        else:
            exact = [
                i for i, column in enumerate(header) if column in (name, self._requested.get(name))
            ]
        return exact or [i for i, column in enumerate(header) if name_and_unit(column)[0] == name]
