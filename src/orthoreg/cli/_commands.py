"""The commands. Each parses, calls the library and prints; heavy imports wait until they run."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .._common.errors import InputError
from .._common.progress import working
from ._app import (
    Cluster,
    Json,
    ModelFile,
    OutFolder,
    Plots,
    Seed,
    Tables,
    Workers,
    app,
    command_line,
)
from ._arguments import (
    PRESET_NAMES,
    check_discovery,
    check_file,
    check_folder,
    check_names,
    check_strength,
    names_in,
    on_cluster,
    one_of,
    positions_in,
)
from ._known import BoundOption, Known, PhysicsFile, Relation, Value, physics_in
from ._output import (
    collected_warnings,
    data_entries,
    print_files,
    print_json,
    print_reading,
    print_scores,
    print_summary,
    size_of,
    terminal,
)
from ._reading import name_of, paths_of, reads_tables, source_of, stem_of


@app.command()
@reads_tables
def fit(
    data: Tables,
    time: Annotated[str, typer.Option(help="Column with the times.")],
    states: Annotated[str, typer.Option(help="Columns with the states, separated by commas.")] = "",
    positions: Annotated[
        str,
        typer.Option(
            help="Columns with positions whose velocities are states too (second order): theta, "
            "or theta:omega where the column omega holds the velocity."
        ),
    ] = "",
    inputs: Annotated[str, typer.Option(help="Columns with inputs, separated by commas.")] = "",
    group: Annotated[str | None, typer.Option(help="Column that tells runs apart.")] = None,
    derivatives: Annotated[
        str, typer.Option(help="Columns with measured derivatives, in the order of the states.")
    ] = "",
    preset: Annotated[
        str, typer.Option(help="Ready settings: recommended, paper_orthoreg, paper_l2, ...")
    ] = "recommended",
    library: Annotated[
        str | None,
        typer.Option(
            help="Candidate terms: poly(d), fourier(k) and formulas, with + and *. "
            "poly(2)+fourier(1) if not given."
        ),
    ] = None,
    residual: Annotated[
        int | None, typer.Option(min=0, help="Random features of the residual; 0 for none.")
    ] = None,
    sparsity: Annotated[
        float | None,
        typer.Option(
            help="Weight of the L1 norm of the coefficients, which then chooses the terms."
        ),
    ] = None,
    orthogonality: Annotated[
        float | None,
        typer.Option(help="Weight of the overlap; inf for an exactly orthogonal residual."),
    ] = None,
    magnitude: Annotated[float | None, typer.Option(help="Weight of the residual's size.")] = None,
    discover: Annotated[
        bool,
        typer.Option(
            "--discover", help="Seek whole models, with formulas that the library does not have."
        ),
    ] = False,
    minutes: Annotated[
        float | None, typer.Option(help="With --discover: the best after so many minutes.")
    ] = None,
    functions_of_time: Annotated[
        bool, typer.Option(help="With --discover: oscillations and trends of time itself too.")
    ] = False,
    known: Known = None,
    value: Value = None,
    bound: BoundOption = None,
    relation: Relation = None,
    physics: PhysicsFile = None,
    *,
    reading: dict[str, Any],
    workers: Workers = None,
    cluster: Cluster = None,
    seed: Seed = 0,
    out: OutFolder = Path("orthoreg-out"),
    plots: Plots = False,
    as_json: Json = False,
) -> None:
    """Learn equations and residual from a table; print equations, verdict and what to try next.

    Writes the model, an HTML report and the summary as text and JSON. The preset sets all options
    that are omitted.
    """
    check_folder(out)
    one_of(preset, PRESET_NAMES, "--preset")
    check_strength(sparsity, "--sparsity")
    check_strength(orthogonality, "--orthogonality", may_be_infinite=True)
    check_strength(magnitude, "--magnitude")
    settings: dict[str, object] = {
        "sparsity": sparsity,
        "orthogonality": orthogonality,
        "magnitude": magnitude,
        "library": _library_in(library),
        "physics": physics_in(known, value, bound, relation, physics),
    }
    if residual is not None:
        from ..field import RandomFeatures, Zero

        settings["augmentation"] = RandomFeatures(residual) if residual else Zero()
    given = {name: value for name, value in settings.items() if value is not None}
    alone = {"--minutes": minutes, "--functions-of-time": functions_of_time}
    check_discovery(discover, alone, preset, given)
    with collected_warnings() as notes, on_cluster(workers, cluster):
        with working("Reading the table"):
            from ..data import read_table

            runs = read_table(
                source_of(data), time, names_in(states), names_in(inputs), group,
                positions=positions_in(positions), derivatives=names_in(derivatives),
                **reading,
            )  # fmt: skip
            if preset == "recommended" or library is not None:
                some = getattr(runs, "sample", runs)  # of data in chunks
                check_names(some, settings["library"], settings["physics"])
        # what takes seconds to import waits until nothing that was asked is wrong
        with working("Starting"):
            from ..findings import forecast_sample
            from ..presets import PRESETS
            from ..reporting import report_page
            from ..simulation import interpolation_words
            from ._work import (
                coefficient_dict,
                discovered,
                draw,
                in_memory,
                physics_entries,
                second_order_entries,
                summary_entries,
                term_entries,
                write_results,
            )
        found = None
        with working("Searching for equations" if discover else "Fitting"):
            if discover:
                found = discovered(
                    runs, settings["library"], minutes, settings["physics"], functions_of_time
                )
                model = found.best
            else:
                model = PRESETS[preset](seed=seed).set_params(**given).fit(runs)
        with working("Forecasting the runs"):
            some = in_memory(runs)
            chosen = forecast_sample(some)
            forecasts = model.forecast(chosen)
        with working("Comparing the model with the data"):
            summary = model.summary(runs, forecasts=forecasts)
            scores = summary.scores.of_forecasts
        pictures: dict[str, bytes] = {}
        if plots:
            with working("Drawing the plots"):
                pictures = draw(
                    model, some, chosen, forecasts, "training runs", summary.verdict.text
                )
        with working("Writing the report"):
            page = report_page(
                model, some, summary=summary, forecasts=forecasts, discovery=found,
                command=command_line(),
            )  # fmt: skip
            files = write_results(out, f"{stem_of(data)}.orthoreg", model, pictures, summary, page)
    if as_json:
        return print_json(
            {
                **data_entries(paths_of(data), runs),
                "preset": preset,
                "equations": model.equations(),
                "input_interpolation": model.input_interpolation_,
                **second_order_entries(model),
                **physics_entries(model),
                "coefficients": coefficient_dict(model),
                **term_entries(model, summary),
                "certificate": model.certificate_.as_dict(),
                "training": scores,
                "model": str(files[0]),
                "plots": [str(out / plot) for plot in pictures],
                "report": str(files[1]),
                "warnings": notes,
                **summary_entries(summary),
                **({} if found is None else {"discovery": found.to_dict()["models"]}),
            }
        )
    console = terminal()
    print_reading(console, name_of(data), runs)
    if words := interpolation_words(model.input_interpolation_):
        console.print(words, markup=False)
    console.print()
    print_summary(console, summary)
    if found is not None:
        console.print(f"{found!r}\n", markup=False)
    print_scores(console, "Forecasts of training runs from their first rows", scores)
    print_files(console, files)


def _library_in(text: str | None) -> Any:
    if text is None:
        return None
    from ..terms import parse_library

    return parse_library(text)


@app.command()
@reads_tables
def evaluate(
    model: ModelFile,
    data: Tables,
    time: Annotated[str | None, typer.Option(help="Column with the times, if renamed.")] = None,
    group: Annotated[str | None, typer.Option(help="Column that tells runs apart.")] = None,
    *,
    reading: dict[str, Any],
    as_json: Json = False,
) -> None:
    """Errors of a model's derivatives and forecasts on a table of measurements."""
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


@app.command()
def generate(
    system: Annotated[
        str, typer.Argument(help="The system: pendulum, duffing, lotka-volterra or sir.")
    ],
    out: Annotated[Path, typer.Option(help="CSV file to write.")],
    split: Annotated[
        str, typer.Option(help="train, validation, id, ext (later times), t2 (other starts) or t3.")
    ] = "train",
    runs: Annotated[int | None, typer.Option(min=1, help="How many runs.")] = None,
    difficulty: Annotated[
        str | None, typer.Option(help="Of the pendulum: low, medium (usual) or high.")
    ] = None,
    within_library: Annotated[
        bool, typer.Option("--within-library", help="Without the terms that the library lacks.")
    ] = False,
    sampling: Annotated[
        str, typer.Option(help="regular, or irregular (random steps from 0.01 to 0.05).")
    ] = "regular",
    noise: Annotated[float, typer.Option(min=0, help="Standard deviation of added noise.")] = 0.0,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Simulate a benchmark system and write its runs as a table."""
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
            raise InputError(f"--difficulty is for the pendulum; leave it out for '{system}'.")
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
