"""Parsing and checks of command-line arguments, before any work is done."""

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
"""The names in `presets.PRESETS`, which takes seconds to import."""

_DELIMITERS = {
    "comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "space": " ", "bar": "|",
    "pipe": "|", "colon": ":",
}  # fmt: skip


def names_in(text: str) -> list[str]:
    """Return the names in a comma-separated list."""
    return [name.strip() for name in text.split(",") if name.strip()]


def positions_in(text: str) -> dict[str, str | None]:
    """Return the columns of positions with those of their velocities: 'theta' or 'theta:omega'."""
    velocity_of: dict[str, str | None] = {}
    for part in names_in(text):
        position, colon, velocity = (word.strip() for word in part.partition(":"))
        if not position or (colon and not velocity):
            raise InputError(
                f"--positions must be columns such as theta, or theta:omega with the column of "
                f"the velocity; got '{part}'."
            )
        if position in velocity_of:
            raise InputError(f"--positions must differ from each other; '{position}' repeats.")
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
    """Return the character of --delimiter, which may be written as a word."""
    if text is None:
        return None
    character = _DELIMITERS.get(text.lower(), text)
    if len(character) != 1:
        raise InputError(
            f"--delimiter must be a single character or one of {quoted(_DELIMITERS)}; got '{text}'."
        )
    return character


def one_of(value: str, known: list[str], what: str) -> None:
    """Refuse a value that is not a known one."""
    if value not in known:
        raise InputError(
            f"{what} must be one of {quoted(known)}; got '{value}'.{suggestion(value, known)}"
        )


def check_strength(value: float | None, option: str, *, may_be_infinite: bool = False) -> None:
    """Refuse a weight that is negative, not a number, or infinite if that is not allowed."""
    if value is None or (value >= 0 and (may_be_infinite or math.isfinite(value))):
        return
    limit = "at least 0 (inf for the projection)" if may_be_infinite else "finite and at least 0"
    raise InputError(f"{option} must be a number, {limit}; got {value!r}.")


def check_names(data: Any, library: Any, physics: Any) -> None:
    """Refuse names in formulas that no column has, before heavy imports."""
    if library is None and physics is None:
        return
    from ..physics import bind_physics
    from ..terms import Fourier, Polynomial

    terms = Polynomial(2) + Fourier(1) if library is None else library
    names, outputs, rates = data.variable_names, data.state_names, data.given_rates
    try:
        bind_physics(physics, terms, names, outputs, rates)
    except InputError:
        if data.time_name in names:
            raise
        try:  # a formula may name time, which is then an input
            bind_physics(physics, terms, (*names, data.time_name), outputs, rates, len(names))
        except InputError:
            pass
        else:
            return
        raise


def check_file(out: Path, example: str = "table.csv", option: str = "--out") -> None:
    """Refuse an --out, or another `option`, that cannot be a file. Creates nothing."""
    if out.is_dir():
        raise InputError(
            f"{option} must be a file; '{out}' is a folder. Add a file name, such as "
            f"'{out / example}'."
        )
    if out.exists() and not out.is_file():
        raise InputError(f"{option} must be a file; '{out}' is a device. Choose another name.")
    folder = out.resolve().parent
    if not folder.is_dir():
        raise InputError(f"There is no folder '{out.parent}' to write '{out.name}' into.")
    _check_writable(folder)


def check_folder(out: Path) -> None:
    """Refuse an --out that cannot be a folder. Creates nothing."""
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
    """Refuse a folder in which a file cannot be created. Permissions alone are not sufficient, as
    in /proc or on a full disk."""
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"0")
    except OSError as error:
        raise InputError(
            f"--out must be in a folder that can be written; '{folder}' is not "
            f"({error.strerror}). Choose another."
        ) from None


def inputs_of(
    model: "AbstractModel", file: Path | None, until: float, reading: dict[str, Any]
) -> Any:
    """Return the model's inputs in a table, at the times of its rows."""
    from ..data import read_table
    from ..simulation import SampledInput
    from ._reading import in_unit_of

    names = tuple(name for name in model.input_names_ if name != model.clock_)
    if not names:
        if file is not None:
            raise InputError(f"The model has no inputs; leave out --inputs (got '{file}').")
        return None
    if file is None:
        raise InputError(
            f"The model has inputs ({', '.join(names)}); give a table with them and their times "
            f"as --inputs."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # an input may well be constant
        given = read_table(file, model.columns_["time"], names, **in_unit_of(model, reading))
    if given.n_runs > 1:
        raise InputError(
            f"--inputs must be a table of one run; '{file}' holds {given.n_runs}. Keep one of them."
        )
    first, last = float(given.times[0]), float(given.times[-1])
    rounding = 1e-9 * until
    if first > rounding or last < until - rounding:
        raise InputError(
            f"--inputs must cover the times 0 to {until:g} of the simulation; '{file}' covers "
            f"{first:g} to {last:g}. Add rows or shorten --until."
        )
    return SampledInput(given.times, given.states)


def interpolation_in(text: str | None, names: Sequence[str]) -> str | dict[str, str] | None:
    """Return 'cubic', 'linear' or 'hold' for all inputs, or by input for 'u=hold,v=linear'."""
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
            f"--interpolation must be such as 'hold', or 'u=hold,v=linear'; got '{text}'."
        )
    for name, kind in chosen.items():
        one_of(name, list(names), "An input in --interpolation")
        one_of(kind, kinds, f"--interpolation of {name}")
    return chosen


@contextmanager
def on_cluster(workers: int | None, address: str | None) -> Iterator[None]:
    """Run the enclosed work on local workers, or on those of a scheduler at an address."""
    from .._common.parallel import cluster

    if workers is not None and address is not None:
        raise InputError(
            "--workers starts local workers and --cluster takes those of a scheduler; leave one "
            "of them out."
        )
    with cluster(address if workers is None else workers):
        yield


def check_discovery(
    discover: bool, alone: Mapping[str, object], preset: str, given: Mapping[str, object]
) -> None:
    """Refuse options that do not apply to --discover, or options in `alone` without it."""
    if not discover:
        for name, value in alone.items():
            if value:
                raise InputError(f"{name} belongs to --discover; leave it out without that.")
        return
    others = [f"--{name}" for name in given if name not in ("library", "physics")]
    others = [{"--augmentation": "--residual"}.get(name, name) for name in others]
    if preset != "recommended":
        others.append("--preset")
    if others:
        raise InputError(
            f"--discover searches for equations only and does not accept {others[0]}; leave it out."
        )
