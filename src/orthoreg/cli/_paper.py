"""Commands related to the paper: `demo`, `generate` (benchmark systems) and `reproduce`."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._common.errors import InputError
from .._common.progress import working
from ._app import Json, OutFolder, Plots, Seed, app, command_line
from ._arguments import check_file, check_folder, one_of
from ._output import (
    collected_warnings,
    print_files,
    print_json,
    print_summary,
    size_of,
    terminal,
)

if TYPE_CHECKING:
    from ..data import Dataset
    from ..model.estimator import OrthoReg
    from ..simulation import Rollout
    from ..systems import AbstractSystem


@app.command()
def demo(
    out: OutFolder = Path("demo"),
    runs: Annotated[int, typer.Option(min=5, help="Training runs to simulate.")] = 1000,
    seed: Seed = 0,
    plots: Plots = False,
    as_json: Json = False,
) -> None:
    """Fit the paper's pendulum, whose forcing the library cannot represent, and forecast it."""
    with working("Starting"):
        from .. import OrthoReg
        from ..findings import forecast_sample
        from ..reporting import report_page
        from ..systems import Pendulum, Split, generate
        from ._work import coefficient_dict, draw, summary_entries, term_entries, write_results

    check_folder(out)
    system = Pendulum()
    with collected_warnings() as notes:
        with working("Simulating the pendulum"):
            train = generate(system, Split.train, runs=runs, seed=seed)
        with working("Fitting"):
            model = OrthoReg(seed=seed).fit(train)
        with working("Comparing the model with the data"):
            known = model.forecast(forecast_sample(train))
            summary = model.summary(train, forecasts=known)
        with working("Forecasting the test splits"):
            splits, unseen, forecasts = _tested(model, system, seed)
        pictures: dict[str, bytes] = {}
        if plots:
            with working("Drawing the plots"):
                pictures = draw(model, train, unseen, forecasts, "unseen runs (split ID)")
        with working("Writing the report"):
            page = report_page(
                model, train, summary=summary, forecasts=known, title="Modified pendulum",
                command=command_line(),
            )  # fmt: skip
            files = write_results(out, "pendulum.orthoreg", model, pictures, summary, page)
    values = {
        "system": "pendulum",
        "runs": runs,
        "samples": train.n_samples,
        "equations": model.equations(),
        "truth": system.true_equations,
        "coefficients": coefficient_dict(model),
        **term_entries(model, summary),
        "certificate": model.certificate_.as_dict(),
        "splits": splits,
        "model": str(files[0]),
        "plots": [str(out / plot) for plot in pictures],
        "report": str(files[1]),
        "warnings": notes,
        **summary_entries(summary),
    }
    if as_json:
        return print_json(values)
    console = terminal()
    console.print(f"Modified pendulum: {size_of(train)}\n")
    print_summary(console, summary, system.true_equations)
    _print_splits(console, splits)
    print_files(console, files)


def _tested(
    model: "OrthoReg", system: "AbstractSystem", seed: int
) -> "tuple[dict[str, dict[str, Any]], Dataset, list[Rollout]]":
    """Return the scores of the test splits, and the runs of split ID with their forecasts."""
    from ..findings import forecast_scores
    from ..systems import Split, generate, true_derivatives
    from ._work import derivative_scores

    test = {
        split: generate(system, split, seed=seed)
        for split in (Split.id, Split.ext, Split.t2, Split.t3)
    }
    scores, forecasts = {}, {}
    for split, data in test.items():
        if split is Split.ext:  # ID runs, scored beyond the last training time
            starts = test[Split.id].states[test[Split.id].offsets[:-1]]
            times = [0.0, *data.times[: data.run_lengths[0]]]
            forecasts[split] = model.simulate(starts, times).runs()
        else:
            forecasts[split] = model.forecast(data)
        truth = true_derivatives(system, split, data)
        scores[str(split)] = derivative_scores(model, data, truth) | forecast_scores(
            forecasts[split], [run.states for run in data]
        )
    return scores, test[Split.id], forecasts[Split.id]


def _print_splits(console: Any, splits: Mapping[str, Mapping[str, Any]]) -> None:
    """Print the scores of the test splits as a table."""
    from ..findings import number, table

    names = {"id": "ID: unseen runs", "ext": "ID,ext: beyond the last time",
             "t2": "T2: other starts", "t3": "T3: other parameters"}  # fmt: skip
    rows = [
        (
            names[split],
            number(scores["derivative_error"]),
            number(scores["forecast_error"]),
            f"{scores['forecasts_failed']} of {scores['forecasts']}",
        )
        for split, scores in splits.items()
    ]
    console.print(table("Relative errors", ("split", "derivative", "forecast", "diverged"), rows))
    console.print()


@app.command()
def generate(
    system: Annotated[
        str, typer.Argument(help="System: pendulum, duffing, lotka-volterra or sir.")
    ],
    out: Annotated[Path, typer.Option(help="CSV file to write.")],
    split: Annotated[
        str,
        typer.Option(
            help="train, validation, id, ext (later times), t2 (other initial states) or t3."
        ),
    ] = "train",
    runs: Annotated[int | None, typer.Option(min=1, help="Number of runs.")] = None,
    difficulty: Annotated[
        str | None, typer.Option(help="Difficulty of the pendulum: low, medium (default) or high.")
    ] = None,
    within_library: Annotated[
        bool, typer.Option("--within-library", help="Omit the terms that the library lacks.")
    ] = False,
    sampling: Annotated[
        str, typer.Option(help="regular, or irregular (random steps from 0.01 to 0.05).")
    ] = "regular",
    noise: Annotated[float, typer.Option(min=0, help="Standard deviation of added noise.")] = 0.0,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Simulate a benchmark system and write its runs to a table."""
    from ..data import write_table
    from ..findings import counted
    from ..systems import DIFFICULTIES, SYSTEMS, Pendulum, Sampling, Split
    from ..systems import generate as simulated

    one_of(system, list(SYSTEMS), "SYSTEM")
    one_of(split, [str(name) for name in Split], "--split")
    one_of(sampling, [str(name) for name in Sampling], "--sampling")
    chosen = SYSTEMS[system]()
    if difficulty is not None:
        one_of(difficulty, list(DIFFICULTIES), "--difficulty")
        if system != "pendulum":
            raise InputError(f"--difficulty applies to the pendulum; omit it for '{system}'.")
        chosen = Pendulum.of_difficulty(difficulty)
    check_file(out)
    with working("Simulating"):
        data = simulated(
            chosen.within_library() if within_library else chosen,
            split, runs=runs, seed=seed, noise=noise, sampling=sampling,
        )  # fmt: skip
        columns = {"run": data.run_of_row, "t": data.times}
        write_table(out, columns | dict(zip(data.state_names, data.states.T, strict=True)))
    values = {"out": str(out), "runs": data.n_runs, "samples": data.n_samples}
    if as_json:
        return print_json({**values, "columns": [*columns, *data.state_names]})
    console = terminal()
    console.print(f"{counted(data.n_runs, 'run')}, {counted(data.n_samples, 'row')}")
    print_files(console, [out])


_SETTINGS = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


@app.command(context_settings=_SETTINGS, options_metavar="[NAME ...] [OPTIONS]")
def reproduce(context: typer.Context) -> int:
    """Run the paper's experiments. Requires a clone of the repository.

    Equivalent to `python -m paper` in the clone, with the same arguments.
    """
    repository = _repository()
    if repository is None and context.args == ["--help"]:
        sys.stdout.write(f"{context.get_help()}\n")
        return 0
    if repository is None:
        raise InputError(
            "The reproduction of the paper is part of the repository, not of the installed "
            "package: clone the repository and run 'orthoreg reproduce' in its folder."
        )
    paths = [str(repository / "src"), str(repository), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    # -P keeps a folder `paper` in the current directory from being imported instead
    command = [sys.executable, "-P", "-m", "paper", *context.args]
    code = subprocess.call(command, env=environment)
    return code if code >= 0 else 1


def _repository() -> Path | None:
    """Return the clone that contains this package, or the current directory if it is a clone, else
    None.
    """
    for folder in (Path(__file__).parents[3], Path.cwd()):
        if (folder / "paper" / "__main__.py").is_file() and (folder / "src/orthoreg").is_dir():
            return folder
    return None
