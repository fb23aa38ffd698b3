"""The `design` command: propose runs to record next."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .._common.errors import InputError
from .._common.progress import working
from ._app import GroupColumn, Json, ModelFile, TimeColumn, app
from ._arguments import check_file, one_of
from ._output import collected_warnings, print_files, print_json, terminal
from ._reading import reads_tables

_LIMITS = {"range", "bandwidth", "rate"}  # of an input
_GOALS = ["constants", "rivals", "coverage"]


@app.command()
@reads_tables
def design(
    model: ModelFile,
    data: Annotated[
        list[Path] | None, typer.Argument(help="Tables from which to estimate the noise.")
    ] = None,
    start: Annotated[
        list[str] | None,
        typer.Option(help="Range of an initial state: 'theta=-2..2'. Repeat for other states."),
    ] = None,
    input: Annotated[
        list[str] | None,
        typer.Option(
            help="Limits of an input: 'u=-1..1', or 'u=-1..1, bandwidth=0.5, rate=2' with the "
            "highest frequency in cycles per time and the largest change per time. Repeat for "
            "other inputs."
        ),
    ] = None,
    stay: Annotated[
        list[str] | None,
        typer.Option(
            help="Range that a state must not leave: 'theta=-3..3'. Repeat for other states."
        ),
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="Number of runs.")] = 3,
    horizon: Annotated[float, typer.Option(help="Duration of a run.")] = 10.0,
    step: Annotated[float, typer.Option(help="Time between rows.")] = 0.05,
    goal: Annotated[
        str,
        typer.Option(
            help=(
                "What the runs should improve: constants (narrower intervals), rivals (distinguish "
                "models, see --rival) or coverage."
            )
        ),
    ] = "constants",
    rival: Annotated[
        list[Path] | None, typer.Option(help="Another model of the same data, for --goal rivals.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="CSV file to write: the inputs to apply and the expected states."),
    ] = None,
    time: TimeColumn = None,
    group: GroupColumn = None,
    *,
    reading: dict[str, Any],
    as_json: Json = False,
) -> None:
    """Propose runs to record next: the most informative initial states and inputs."""
    one_of(goal, _GOALS, "--goal")
    if out is not None:
        check_file(out, "next.csv")
    starts, stays = _ranges_in(start, "--start"), _ranges_in(stay, "--stay")
    inputs = _inputs_in(input)
    with working("Starting"):
        from .. import load
        from ._work import runs_for

    with collected_warnings() as notes:
        fitted = load(model)
        noise = None
        if data:
            with working("Reading the table"):
                measured = runs_for(fitted, data, time, group, reading)
            names = fitted.schema_.measured_states
            columns = [measured.state_names.index(name) for name in names]
            noise = measured.plan.noise[columns]
        with working("Choosing runs"):
            experiment = fitted.next_experiment(
                starts, inputs, runs=runs, horizon=horizon, step=step, goal=goal,
                rivals=[load(path) for path in rival or []], ranges=stays, noise=noise,
            )  # fmt: skip
        if out is not None:
            experiment.to_csv(out)
    if as_json:
        entries = experiment.to_dict() | ({} if out is None else {"out": str(out)})
        return print_json(entries | {"warnings": notes})
    console = terminal()
    console.print(experiment.text, markup=False, soft_wrap=True)
    if out is not None:
        print_files(console, [out])
    elif experiment.inputs is not None:
        console.print("Add --out next.csv to write the inputs to a table.", markup=False)


def _ranges_in(texts: list[str] | None, option: str) -> dict[str, tuple[float, ...]]:
    """Return ranges such as 'theta=-2..2' by name."""
    result: dict[str, tuple[float, ...]] = {}
    for text in texts or []:
        name, _, ends = text.partition("=")
        if not name.strip() or not (numbers := _ends_in(ends)):
            raise InputError(f"{option} must be text such as 'theta=-2..2'; got '{text}'.")
        result[name.strip()] = numbers
    return result


def _inputs_in(texts: list[str] | None) -> dict[str, dict[str, Any]]:
    """Return limits of inputs such as 'u=-1..1, bandwidth=0.5, rate=2' by name."""
    result: dict[str, dict[str, Any]] = {}
    for text in texts or []:
        first, *others = text.split(",")
        name, _, ends = first.partition("=")
        limits: dict[str, Any] = {"range": _ends_in(ends)}
        for part in others:  # a number alone is the bandwidth
            key, _, value = part.partition("=") if "=" in part else ("bandwidth", "", part)
            limits[key.strip()] = _ends_in(value)[0] if len(_ends_in(value)) == 1 else ()
        if not name.strip() or () in limits.values() or limits.keys() - _LIMITS:
            raise InputError(
                f"--input must be text such as 'u=-1..1' or 'u=-1..1, bandwidth=0.5, rate=2'; got "
                f"'{text}'."
            )
        result[name.strip()] = limits
    return result


def _ends_in(text: str) -> tuple[float, ...]:
    """Return the numbers in '-2..2' or '2', nothing if there are others."""
    low, dots, high = text.partition("..")
    try:
        ends = (float(low), float(high)) if dots else (float(low),)
    except ValueError:
        return ()
    return ends if ends[0] <= ends[-1] else ()
