"""Output of commands: tables for people, JSON for programs, and errors in terms of command-line
options.

Every command imports this module, so Rich and `orthoreg.findings` are imported only when something
is printed. Usage errors need neither.
"""

import json
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._common.errors import DataWarning, TrainingWarning
from .._common.imports import import_cleanly
from ._app import ARGUMENTS, options_of

_MAX_RUNS = 24  # rows in a table of constants per run

if TYPE_CHECKING:
    from rich.console import Console

    from ..findings import Summary


_OTHER_NAMES = {
    "x0": "start", "u": "inputs", "augmentation": "residual", "starts": "start", "rivals": "rival",
    "ranges": "stay",
}  # fmt: skip
_PARTS = {
    r"\bPolynomial\(": "poly(",
    r"\bFourier\(": "fourier(",
    r"\bmath\.inf\b": "inf",
    r"\bPhysics\(equations=\.\.\.\)": "--known",
    r"\bPhysics\(values=\.\.\.\)": "--value",
    r"\bPhysics\(bounds=\.\.\.\)": "--bound",
    r"\bPhysics\(relations=\.\.\.\)": "--relation",
    r"\bPhysics\(start=\.\.\.\)": "--start",
    r"\bPhysics\(per_run=\.\.\.\)": "--per-run",
    r"\bPhysics\((\w+)=\.\.\.\)": r"'\1' in --physics",
    r"^starts has\b": "--start has",
    r"^ranges has\b": "--stay has",
    r"^inputs has\b": "--input has",
    r"^inputs needs (a range for each of [^,]*), such as .*\.$": r"--input needs \1.",
    r"\bphysics=\.\.\. contradicts": "What is known contradicts",
    r"\bphysics='([^']*)'": r"--physics '\1'",
    r"\b(Automatic|\w*FiniteDifference|LocalPolynomial|SavitzkyGolay|SmoothingSpline)\([^()]*\)"
    r"(?= needs)": "the estimate of derivatives",
}
_QUOTED = re.compile(r"(?<![\w)])'[^']*'(?!\w)")
_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z])")
_PYTHON = re.compile(r"\b[A-Z]\w*\(|\b[a-z]\w*=|\blearning_rate\b")
_ANOTHER_PRESET = "Choose another --preset."


def in_options(message: str, options: Mapping[str, str]) -> str:
    """Replace argument names in a message by the names in `options`, such as {'group': '--group'}.

    Advice on Python objects without an option is removed. Commands with presets suggest another
    preset instead.
    """
    written: list[str] = []

    def hide(found: re.Match[str]) -> str:
        written.append(found.group())
        return f"\0{len(written) - 1}\0"

    text = _QUOTED.sub(hide, message)
    for part, words in _PARTS.items():
        text = re.sub(part, words, text)
    known = dict(options)
    known |= {name: options[other] for name, other in _OTHER_NAMES.items() if other in options}
    if known:
        text = _with_options(text, known)
    fault, *advice = _SENTENCE.split(text)
    usable = [sentence for sentence in advice if not _PYTHON.search(sentence)]
    if len(usable) < len(advice) and "preset" in options:
        usable.append(_ANOTHER_PRESET)
    return re.sub(r"\0(\d+)\0", lambda found: written[int(found[1])], " ".join([fault, *usable]))


def _with_options(text: str, options: Mapping[str, str]) -> str:
    longest_first = sorted(options, key=len, reverse=True)  # 'time_unit' before 'time'
    name = rf"(?<![\w.-])({'|'.join(map(re.escape, longest_first))})"
    text = re.sub(  # a list of names, inputs=['u']
        rf"{name}=\[(\0\d+\0)\]", lambda found: f"{options[found[1]]} {found[2]}", text
    )
    text = re.sub(rf"{name}=(?:\.\.\.|True\b)", lambda found: options[found[1]], text)
    text = re.sub(
        rf"{name}=([^\s,;()]*[^\s,;().])", lambda found: f"{options[found[1]]} {found[2]}", text
    )
    named = rf"((?:^|(?<=[.?!] )){name}(?: and {name})?)(?= must\b)"
    return re.sub(named, lambda found: re.sub(name, lambda word: options[word[1]], found[0]), text)


_WIDE = 200  # columns of output to a file or pipe, so that no table wraps


def terminal() -> "Console":
    """Return a console on the current standard output, which may have been redirected."""
    import_cleanly("rich.console")
    from rich.console import Console

    if sys.stdout.isatty():
        return Console(highlight=False, emoji=False)
    return Console(highlight=False, emoji=False, soft_wrap=True, width=_WIDE)


def print_error(line: str) -> None:
    """Print a line on standard error."""
    import_cleanly("rich.console")
    from rich.console import Console

    Console(stderr=True, highlight=False, emoji=False).print(line, markup=False)


def print_json(values: dict[str, Any]) -> None:
    """Print one JSON object on standard output; NaN becomes null, infinite numbers become text."""
    from ..findings import plain

    sys.stdout.write(json.dumps(plain(values), allow_nan=False) + "\n")


def print_equations(console: "Console", equations: Sequence[str]) -> None:
    """Print one equation per line, without wrapping."""
    from ..findings import equation_lines

    console.print(equation_lines(equations), soft_wrap=True)
    console.print()


def size_of(data: Any) -> str:
    """Return the size of the data as text: '1 run, 20 samples'."""
    from ..findings import counted

    return f"{counted(data.n_runs, 'run')}, {counted(data.n_samples, 'sample')}"


def print_reading(console: "Console", name: str | None, data: Any) -> None:
    """Print the name and size of data, with notes and repairs."""
    if name is not None:
        console.print(f"{name}: {size_of(data)}", markup=False)
    for note in data.notes:
        word = "repaired" if note.is_repair else "note"
        console.print(f"{word}: {note}", markup=False, soft_wrap=True)


def data_entries(paths: Any, runs: Any) -> dict[str, Any]:
    """Return JSON entries: the tables, the numbers of runs and samples, and the notes of the
    reader.
    """
    return {
        "data": paths,
        "reading": [asdict(note) for note in runs.notes],
        "units": dict(runs.units),
        "runs": runs.n_runs,
        "samples": runs.n_samples,
    }


def print_summary(
    console: "Console", summary: "Summary", truth: Sequence[str] | None = None
) -> None:
    """Print equations, verdict, advice and their evidence, with the true equations if given."""
    from ..findings import renderables

    equations, *others = renderables(summary, truth)
    console.print(equations, soft_wrap=True)
    console.print()
    for part in others:
        console.print(part)
        console.print()


def print_scores(console: "Console", title: str, scores: dict[str, Any]) -> None:
    """Print errors on a set of runs."""
    from ..findings import Scores, score_table

    overall = {
        name: value for name, value in scores.items() if name != "derivative_error_by_equation"
    }
    console.print(score_table(title, Scores((), **overall)))
    console.print()


def constants_table(
    constants: Mapping[str, Mapping[str, tuple[float, float, float]]],
    units: Mapping[str, tuple[float, str]],
) -> Any:
    """Return a table of the constants that differ between runs, at most `_MAX_RUNS` of these.
    `units` are the factor and the unit with which a constant is printed."""
    from ..findings._text import table
    from ..findings._words import interval

    runs = list(next(iter(constants.values())))
    rows = []
    for run in runs[:_MAX_RUNS]:
        cells = []
        for name, values in constants.items():
            value, low, high = (units[name][0] * end for end in values[run])
            cells.append(f"{value:.4g} ({interval(low, high)})")
        rows.append([run, *cells])
    more = f", the first {_MAX_RUNS} of {len(runs)}" if len(runs) > _MAX_RUNS else ""
    heads = [f"{name} [{units[name][1]}]" if units[name][1] else name for name in constants]
    return table(f"Constants of single runs, with 95% intervals{more}", ["run", *heads], rows)


def print_files(console: "Console", paths: Sequence[Path]) -> None:
    for path in paths:
        console.print(f"wrote {path}", markup=False)


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Print this package's warnings on standard error, and collect them for JSON."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    for warning in caught:
        if issubclass(warning.category, DataWarning | TrainingWarning):
            notes.append(in_options(str(warning.message), _current_options()))
            print_error(f"warning: {notes[-1]}")


def _current_options() -> dict[str, str]:
    """Return the options of the running command by parameter name."""
    return options_of(next(iter(ARGUMENTS.get()), ""))
