"""Parse and check command-line arguments before any work is done."""

import math
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._common.errors import DataWarning, InputError, quoted, suggestion

if TYPE_CHECKING:
    from ..model.model import AbstractModel

PRESET_NAMES = [
    "recommended", "paper_orthoreg", "paper_l2", "paper_pure", "lasso", "two_stage",
    "selection_refit",
]  # fmt: skip
"""Names in `presets.PRESETS`, repeated here because the import of `presets` takes seconds."""

_DELIMITERS = {
    "comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "space": " ", "bar": "|",
    "pipe": "|", "colon": ":",
}  # fmt: skip


def names_in(text: str) -> list[str]:
    """Return the names in a comma-separated list."""
    return [name.strip() for name in text.split(",") if name.strip()]


def units_in(text: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the units of columns, as in 'theta=rad,p=kPa', and the units to convert printed
    results to, as in 'rad->deg'.
    """
    of_columns: dict[str, str] = {}
    printed: dict[str, str] = {}
    for part in names_in(text):
        is_conversion = "->" in part
        left, sign, right = (
            word.strip() for word in part.partition("->" if is_conversion else "=")
        )
        if not (left and sign and right):
            raise InputError(
                "--units must be units of columns, such as theta=rad, or conversions of printed "
                f"units, such as rad->deg; got '{part}'."
            )
        (printed if is_conversion else of_columns)[left] = right
    return of_columns, printed


def printed_units_in(text: str) -> dict[str, str]:
    """Return the conversions of printed units in text such as 'rad->deg,s->min'."""
    of_columns, printed = units_in(text)
    for name, unit in of_columns.items():
        raise InputError(
            f"--units must be conversions of printed units, such as rad->deg; got '{name}={unit}'."
        )
    return printed


def positions_in(text: str) -> dict[str, str | None]:
    """Return the velocity column of each position in text such as 'theta:omega,x', or None without
    such a column.
    """
    velocity_of: dict[str, str | None] = {}
    for part in names_in(text):
        position, colon, velocity = (word.strip() for word in part.partition(":"))
        if not position or (colon and not velocity):
            raise InputError(
                f"--positions must name columns, such as theta, or theta:omega with the velocity "
                f"column; got '{part}'."
            )
        if position in velocity_of:
            raise InputError(f"--positions must be distinct; '{position}' occurs more than once.")
        velocity_of[position] = velocity or None
    return velocity_of


def numbers_in(text: str, what: str) -> list[float]:
    """Return the finite numbers in a comma-separated list."""
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = [math.nan]
    if not all(math.isfinite(number) for number in numbers):
        raise InputError(
            f"{what} must be finite numbers separated by commas, such as 1,0; got '{text}'."
        )
    return numbers


def delimiter_in(text: str | None) -> str | None:
    """Return the delimiter character for the text of --delimiter, a character or a word such as
    'tab'.
    """
    if text is None:
        return None
    character = _DELIMITERS.get(text.lower(), text)
    if len(character) != 1:
        raise InputError(
            f"--delimiter must be a single character or one of {quoted(_DELIMITERS)}; got '{text}'."
        )
    return character


def one_of(value: str, known: list[str], what: str) -> None:
    """Raise an error if `value` is not in `known`."""
    if value not in known:
        raise InputError(
            f"{what} must be one of {quoted(known)}; got '{value}'.{suggestion(value, known)}"
        )


def check_strength(value: float | None, option: str, *, may_be_infinite: bool = False) -> None:
    """Raise an error if a weight is negative or NaN, or infinite unless `may_be_infinite`."""
    if value is None or (value >= 0 and (may_be_infinite or math.isfinite(value))):
        return
    limit = "at least 0 (inf for the projection)" if may_be_infinite else "finite and at least 0"
    raise InputError(f"{option} must be a number, {limit}; got {value!r}.")


def check_names(data: Any, library: Any, physics: Any) -> None:
    """Raise an error if a formula contains an unknown name. Needs no heavy imports."""
    if library is None and physics is None:
        return
    from ..physics import bind_physics, requested_delays
    from ..terms import Fourier, Polynomial

    terms = Polynomial(2) + Fourier(1) if library is None else library
    delayed = [delay.name for delay in requested_delays(terms, physics, data)]
    names, outputs, rates = (*data.variable_names, *delayed), data.state_names, data.given_rates
    try:
        bind_physics(physics, terms, names, outputs, rates)
    except InputError:
        if data.time_name in names:
            raise
        try:  # a formula may contain time, which then becomes an input
            bind_physics(physics, terms, (*names, data.time_name), outputs, rates, len(names))
        except InputError:
            pass
        else:
            return
        raise


def check_file(out: Path, example: str = "table.csv", option: str = "--out") -> None:
    """Raise an error if `out`, the value of `option`, cannot be a file. Creates nothing."""
    if out.is_dir():
        raise InputError(
            f"{option} must be a file; '{out}' is a folder. Add a file name, such as "
            f"'{out / example}'."
        )
    if out.exists() and not out.is_file():
        raise InputError(f"{option} must be a file; '{out}' is a device. Choose another name.")
    folder = out.resolve().parent
    if not folder.is_dir():
        raise InputError(f"The folder '{out.parent}' for the file '{out.name}' does not exist.")
    _check_writable(folder)


def check_folder(out: Path) -> None:
    """Raise an error if --out cannot be a folder. Creates nothing."""
    parent = out.resolve()
    if out.is_symlink() and not parent.exists():
        raise InputError(
            f"--out must be a folder; '{out}' is a link to '{parent}', which does not exist."
        )
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir():
        shown = out if parent == out.resolve() else parent
        raise InputError(f"--out must be a folder; '{shown}' is a file. Choose another name.")
    _check_writable(parent)


def _check_writable(folder: Path) -> None:
    """Raise an error if no file can be created in the folder.

    Permissions alone are not conclusive, for example in /proc or on a full disk.
    """
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"0")
    except OSError as error:
        raise InputError(
            f"--out must be in a writable folder; '{folder}' is not writable "
            f"({error.strerror}). Choose another folder."
        ) from None


def inputs_of(
    model: "AbstractModel",
    file: Path | None,
    span: tuple[float, float],
    reading: dict[str, Any],
) -> Any:
    """Return the model's inputs, interpolated between the rows of a table that must cover the times
    `span`. Return None if the model has no inputs.
    """
    from ..data import read_table
    from ..simulation import SampledInput
    from ._reading import in_unit_of, units_to_read

    names = model.schema_.measured_inputs
    if not names:
        if file is not None:
            raise InputError(f"The model has no inputs; omit --inputs (got '{file}').")
        return None
    if file is None:
        raise InputError(
            f"The model has inputs ({', '.join(names)}); pass a table of inputs and times as "
            f"--inputs."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # an input may be constant
        given = read_table(
            file, model.columns_["time"], names, units=units_to_read(model, names),
            **in_unit_of(model, reading),
        )  # fmt: skip
    if given.n_runs > 1:
        raise InputError(
            f"--inputs must be a table of one run; '{file}' has {given.n_runs} runs. Keep one run."
        )
    first, last = float(given.times[0]), float(given.times[-1])
    rounding = 1e-9 * max(abs(span[0]), abs(span[1]))
    if first > span[0] + rounding or last < span[1] - rounding:
        raise InputError(
            f"--inputs must cover the times {span[0]:g} to {span[1]:g} of the simulation; "
            f"'{file}' covers {first:g} to {last:g}. Add rows or shorten --until."
        )
    return SampledInput(given.times, given.states)


def interpolation_in(text: str | None, names: Sequence[str]) -> str | dict[str, str] | None:
    """Return one interpolation for all inputs, or one by input name, as in 'u=hold,v=linear'."""
    from ..simulation import Interpolation

    if text is None:
        return None
    kinds = [str(kind) for kind in Interpolation]
    if "=" not in text:
        one_of(text, kinds, "--interpolation")
        return text
    chosen = dict(part.split("=", 1) for part in names_in(text) if "=" in part)
    if len(chosen) < len(names_in(text)):
        raise InputError(
            f"--interpolation must have the form 'hold' or 'u=hold,v=linear'; got '{text}'."
        )
    for name, kind in chosen.items():
        one_of(name, list(names), "An input in --interpolation")
        one_of(kind, kinds, f"--interpolation of {name}")
    return chosen


@contextmanager
def on_cluster(workers: int | None, address: str | None) -> Iterator[None]:
    """Run the enclosed block on local worker processes or on the workers of a scheduler."""
    from .._common.parallel import cluster

    if workers is not None and address is not None:
        raise InputError(
            "--workers starts local workers, and --cluster uses those of a scheduler; omit one of "
            "the two."
        )
    with cluster(address if workers is None else workers):
        yield


def check_discovery(
    discover: bool, alone: Mapping[str, object], preset: str, given: Mapping[str, object]
) -> None:
    """Raise an error for options that --discover does not accept or that require it."""
    if not discover:
        for name, value in alone.items():
            if value:
                raise InputError(f"{name} requires --discover; add --discover or omit {name}.")
        return
    others = [f"--{name}" for name in given if name not in ("library", "physics")]
    others = [{"--augmentation": "--residual"}.get(name, name) for name in others]
    if preset != "recommended":
        others.append("--preset")
    if others:
        raise InputError(
            "--discover searches for equations without a residual and does not accept "
            f"{others[0]}; omit it."
        )


def check_left_sides(known: Sequence[str], *, discrete: bool) -> None:
    """Raise an error for a known equation of a flow if --discrete is given, or of a map if it is
    not.
    """
    for text in known:
        left = text.partition("=")[0]
        if discrete and "'" in left:
            raise InputError(
                'With --discrete, a known equation must have the form "x[k+1] = r*x"; got '
                f"'{text}'."
            )
        if not discrete and "[k+1]" in left:
            raise InputError(f"'{text}' is an equation of a map; add --discrete.")
