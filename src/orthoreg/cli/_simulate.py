"""The commands `simulate` and `evaluate`, which apply a model."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._common.errors import InputError
from .._common.progress import working
from ._app import GroupColumn, Json, ModelFile, PrintedUnits, Tables, TimeColumn, app
from ._arguments import check_file, inputs_of, interpolation_in, numbers_in, printed_units_in
from ._output import (
    collected_warnings,
    data_entries,
    print_files,
    print_json,
    print_reading,
    print_scores,
    size_of,
    terminal,
)
from ._reading import name_of, paths_of, reads_tables

if TYPE_CHECKING:
    import numpy as np

    from ..simulation import Rollout


Until = Annotated[
    float,
    typer.Option(
        help="Final time. The simulation starts at 0, or at the last time of --from-data."
    ),
]
Step = Annotated[float, typer.Option(help="Time between output rows.")]
Start = Annotated[str | None, typer.Option(help="Initial state: numbers separated by commas.")]
FromData = Annotated[
    Path | None,
    typer.Option(
        help="Table with past samples of one run. The initial state is estimated from them, "
        "including hidden states and constants per run."
    ),
]
InputTable = Annotated[
    Path | None, typer.Option(help="Table of the model's inputs with a time column.")
]
InterpolationText = Annotated[
    str | None,
    typer.Option(
        help="Interpolation of inputs between rows of the table: cubic, linear or hold (the "
        "last value), or one per input: u=hold,v=linear. Default: as in the fit."
    ),
]
TrajectoryOut = Annotated[Path | None, typer.Option(help="CSV file for the trajectory.")]


@app.command()
@reads_tables
def simulate(
    model: ModelFile,
    until: Until,
    step: Step,
    start: Start = None,
    from_data: FromData = None,
    inputs: InputTable = None,
    interpolation: InterpolationText = None,
    *,
    reading: dict[str, Any],
    out: TrajectoryOut = None,
    units: PrintedUnits = "",
    as_json: Json = False,
) -> None:
    """Simulate a model from an initial state or from past samples.

    Divergence is reported and is not an error.
    """
    import numpy as np

    if out is not None:
        check_file(out)
    if (start is None) == (from_data is None):
        raise InputError("Pass the initial state as --start, or past samples as --from-data.")
    from .. import load
    from ..data import converted_columns, write_table

    with collected_warnings() as notes:
        first = None if start is None else numbers_in(start, "--start")
        fitted = load(model)
        _check_start(first, fitted.state_names_)
        past = None if from_data is None else _past(fitted, from_data, inputs, reading)
        times = _times(0.0 if past is None else float(past.times[-1]), until, step)
        span = float(times[0]), float(times[-1])
        values = inputs_of(fitted, inputs, span, reading)
        kinds = interpolation_in(interpolation, fitted.input_names_)
        with working("Simulating"):
            rollout = fitted.simulate(first, times, values, from_data=past, interpolation=kinds)
        columns = {fitted.columns_["time"]: times}
        columns |= dict(zip(fitted.state_names_, rollout.x.T, strict=True))
        reached = np.isfinite(rollout.x).all(axis=1)
        columns = {name: column[reached] for name, column in columns.items()}
        columns, shown_units = converted_columns(columns, fitted.schema_, printed_units_in(units))
        if out is not None:
            write_table(out, columns)
    if as_json:
        parts = ("stopped_at", "left_at", "reliable_until", "message")
        entries = {name: getattr(rollout, name) for name in parts}
        where = {"out": str(out)} if out is not None else {"trajectory": columns}
        values = {"status": str(rollout.status), **entries, "rows": int(reached.sum()), **where}
        return print_json({**values, "warnings": notes})
    _print(rollout, columns, shown_units)
    if out is not None:
        print_files(terminal(), [out])


def _print(
    rollout: "Rollout", columns: "Mapping[str, np.ndarray]", units: Mapping[str, str]
) -> None:
    """Print how a rollout ended and eleven of its rows."""
    import numpy as np

    from ..findings import counted, table

    console = terminal()
    count = len(next(iter(columns.values())))
    shown = np.unique(np.linspace(0, count - 1, 11).astype(int))
    rows = [[f"{column[i]:.6g}" for column in columns.values()] for i in shown]
    if rollout.message:
        console.print(f"note: {rollout.message}", markup=False, soft_wrap=True)
    title = f"{rollout.status}: {counted(count, 'row')}"
    header = tuple(f"{name} [{units[name]}]" if name in units else name for name in columns)
    console.print(table(title, header, rows))


@app.command()
@reads_tables
def evaluate(
    model: ModelFile,
    data: Tables,
    time: TimeColumn = None,
    group: GroupColumn = None,
    *,
    reading: dict[str, Any],
    as_json: Json = False,
) -> None:
    """Compute the errors of a model's derivatives and forecasts on a table of measurements."""
    with working("Starting"):
        from .. import load
        from ._work import measure, runs_for

    with collected_warnings() as notes:
        with working("Reading the table"):
            fitted = load(model)
            runs = runs_for(fitted, data, time, group, reading)
        with working("Forecasting the runs"):
            scores = measure(fitted, runs)
    if as_json:
        return print_json(
            {
                "model": str(model),
                **data_entries(paths_of(data), runs),
                **scores,
                "warnings": notes,
            }
        )
    console = terminal()
    print_reading(console, None, runs)
    print_scores(console, f"{name_of(data)}: {size_of(runs)}", scores)


def _check_start(start: Sequence[float] | None, names: Sequence[str]) -> None:
    """Raise an error unless --start gives a number for each state."""
    if start is not None and len(start) != len(names):
        raise InputError(
            f"--start must give {len(names)} numbers ({', '.join(names)}); got {len(start)}."
        )


def _past(model: Any, file: Path, inputs: Path | None, reading: dict[str, Any]) -> Any:
    """Return the run of past samples in a table."""
    from ._work import runs_for

    past = runs_for(model, [file], None, None, reading, is_single=True)
    codes = {note.code for note in past.notes}
    if inputs is not None and codes & {"dates", "durations", "epoch"}:
        raise InputError(
            f"The times in '{file}' and in '{inputs}' count from the first row of each file. Write "
            "both as numbers, such as seconds since the same instant."
        )
    return past


def _times(first: float, until: float, step: float) -> Any:
    """Return at least two output times from `first` to `until`."""
    import numpy as np

    duration = until - first
    if not (step > 0 and duration > 0 and duration / step <= 1e7):
        after = f"after {first:g}, the last row of --from-data" if first else "positive"
        raise InputError(
            f"--step must be positive, and --until {after}, with at most 10 million steps; "
            f"got {step:g} and {until:g}."
        )
    if step > duration * (1 + 1e-12):
        raise InputError(
            "--step must not exceed the duration, or only the initial state would remain; got "
            f"{step:g} and {duration:g}."
        )
    return first + step * np.arange(int(math.floor(duration / step * (1 + 1e-12))) + 1)
