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
            help="Range of an input, and optionally its highest frequency: 'u=-1..1' or "
            "'u=-1..1,0.5'."
        ),
    ] = None,
    stay: Annotated[
        list[str] | None,
        typer.Option(help="Range that a state must not leave: 'theta=-3..3'."),
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
    out: Annotated[Path | None, typer.Option(help="CSV file for the proposed runs.")] = None,
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
    ranges = [_ranges_in(texts, option) for texts, option in
              ((start, "--start"), (input, "--input"), (stay, "--stay"))]  # fmt: skip
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
                ranges[0], ranges[1], runs=runs, horizon=horizon, step=step, goal=goal,
                rivals=[load(path) for path in rival or []], ranges=ranges[2], noise=noise,
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


def _ranges_in(texts: list[str] | None, option: str) -> dict[str, tuple[float, ...]]:
    """Return the numbers of ranges such as 'u=-1..1,0.5' by name."""
    result: dict[str, tuple[float, ...]] = {}
    for text in texts or []:
        name, _, right = text.partition("=")
        ends, _, bandwidth = right.partition(",")
        low, dots, high = ends.partition("..")
        try:
            numbers = [float(low), float(high)] if dots else [float(low)]
            numbers += [float(bandwidth)] if bandwidth else []
        except ValueError:
            numbers = []
        if not name.strip() or not numbers:
            raise InputError(f"{option} must be text such as 'u=-1..1'; got '{text}'.")
        result[name.strip()] = tuple(numbers)
    return result
