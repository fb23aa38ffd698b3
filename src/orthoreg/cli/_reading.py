"""Options of commands that read a table."""

import inspect
import re
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from .._common.errors import InputError
from ._arguments import delimiter_in, names_in

if TYPE_CHECKING:
    from ..model.model import AbstractModel

_PANEL = "Reading the table"


def _option(words: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=words, rich_help_panel=_PANEL, **more)


_OPTIONS: dict[str, tuple[Any, Any]] = {
    "delimiter": (
        Annotated[
            str | None,
            _option(
                "Column delimiter: a character, tab, semicolon or space. Detected if omitted.",
                callback=delimiter_in,
            ),
        ],
        None,
    ),
    "decimal": (Annotated[str | None, _option("Decimal separator, '.' or ','.")], None),
    "encoding": (
        Annotated[str | None, _option("Encoding of the text: utf-8, utf-16, latin-1, ...")],
        None,
    ),
    "comment": (Annotated[str | None, _option("Character that starts a comment line.")], None),
    "missing": (
        Annotated[
            str,
            _option("Additional markers of missing values, separated by commas, such as -999,off."),
        ],
        "",
    ),
    "date_format": (
        Annotated[
            str | None, _option("Format of dates in the time column, such as '%d/%m/%Y %H:%M'.")
        ],
        None,
    ),
    "time_unit": (
        Annotated[
            str | None,
            _option(
                "Unit of time for the fit: ns, us, ms, s, min, h or d. Dates, and times with a "
                "unit in the header, are converted to this unit."
            ),
        ],
        None,
    ),
    "sheet": (
        Annotated[str | None, _option("Sheet of an Excel file. Default: the first sheet.")],
        None,
    ),
    "long": (
        Annotated[
            str | None,
            _option("Name and value columns of a long-format table, such as sensor:reading."),
        ],
        None,
    ),
    "repair": (
        Annotated[
            bool,
            _option(
                "Remove rows with missing values, sort times, average rows with equal times, "
                "split runs at gaps. Each repair is listed.",
                "--repair",
            ),
        ],
        False,
    ),
    "fill": (
        Annotated[
            bool,
            _option(
                "Repair the table, and fill missing values by smooth interpolation.",
                "--fill",
            ),
        ],
        False,
    ),
    "chunks": (
        Annotated[
            int | None,
            _option(
                "Rows per chunk, in whole runs, for tables that do not fit into memory. Default "
                "for files above 2 GiB: 262144.",
                min=100,
            ),
        ],
        None,
    ),
    "gap": (
        Annotated[float, _option("Multiple of the time step above which a step is a gap.")],
        10.0,
    ),
}


def reads_tables(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the parameter `reading` of a command by the options above, and pass their values to
    the command as keyword arguments of `read_table`.
    """
    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        if parameter.name != "reading":
            parameters.append(
                parameter.replace(annotation=hints[parameter.name], kind=parameter.KEYWORD_ONLY)
            )
            continue
        for name, (annotation, default) in _OPTIONS.items():
            hints[name] = annotation
            parameters.append(parameter.replace(name=name, annotation=annotation, default=default))
    del hints["reading"]

    def wrapped(**given: Any) -> None:
        reading = {name: given.pop(name) for name in _OPTIONS}
        reading["missing"] = names_in(reading["missing"])
        reading["long"] = _pair(reading["long"])
        command(**given, reading=reading)

    wrapped.__name__, wrapped.__doc__ = command.__name__, command.__doc__
    wrapped.__annotations__ = hints
    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return wrapped


def _pair(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    name, colon, value = (part.strip() for part in text.partition(":"))
    if not (name and colon and value):
        raise InputError(
            f"--long must be two columns, one with names and one with values, such as "
            f"sensor:reading; got '{text}'."
        )
    return name, value


def in_unit_of(model: "AbstractModel", reading: dict[str, Any]) -> dict[str, Any]:
    """Return the reading options with the model's unit of time, unless the user requested another
    unit.
    """
    from ..data.tables import time_unit_in

    fitted = time_unit_in(model.units_.get(model.columns_["time"]))
    return {**reading, "time_unit": reading["time_unit"] or fitted}


def units_to_read(model: "AbstractModel", columns: Sequence[str]) -> dict[str, str] | None:
    """Return the units of a model's columns, to which data in other units are converted, or None if
    pint is not installed.
    """
    if find_spec("pint") is None:
        return None
    return {name: unit for name, unit in model.units_.items() if name in columns}


def source_of(files: Sequence[Path]) -> Any:
    """Return the source for `read_table`: a file, a pattern, an address, or a list of them."""
    sources = [_address(file) for file in files]
    return sources[0] if len(sources) == 1 else sources


def _address(file: Path) -> Path | str:
    """Return the path, or an address such as s3://bucket/runs with both of its slashes."""
    match = re.fullmatch(r"([a-z][a-z0-9+.-]+):/+(.*)", file.as_posix())
    return file if match is None else f"{match[1]}://{match[2]}"


def paths_of(files: Sequence[Path]) -> str | list[str]:
    """Return the paths of the tables as the user wrote them."""
    return str(files[0]) if len(files) == 1 else [str(file) for file in files]


def name_of(files: Sequence[Path]) -> str:
    """Return a short name of the tables."""
    return files[0].name if len(files) == 1 else f"{len(files)} tables"


def stem_of(files: Sequence[Path]) -> str:
    """Return the stem of output files: the table's stem, or the folder name for several tables."""
    first = files[0]
    if len(files) == 1 and not set("*?[") & set(first.name):
        return first.stem
    folder = first.resolve().parent.name
    return folder if folder and not set("*?[") & set(folder) else "tables"
