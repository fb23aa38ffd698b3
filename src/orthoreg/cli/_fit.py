"""The `fit` command: read a table, fit or discover a model, write and print the result."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, final

import typer

from .._common.errors import InputError
from .._common.progress import working
from ._app import (
    Cluster,
    GroupColumn,
    Json,
    Minutes,
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
    check_folder,
    check_left_sides,
    check_names,
    check_strength,
    names_in,
    on_cluster,
    one_of,
    positions_in,
    units_in,
)
from ._output import (
    collected_warnings,
    constants_table,
    data_entries,
    print_files,
    print_json,
    print_reading,
    print_scores,
    print_summary,
    terminal,
)
from ._reading import name_of, paths_of, reads_tables, source_of, stem_of

if TYPE_CHECKING:
    from ..data import ChunkedDataset, Dataset
    from ..findings import Summary
    from ..model.discovery import Discovery
    from ..model.model import AbstractModel
    from ..physics import Physics

Time = Annotated[
    str | None,
    typer.Option(help="Column of times. Optional with --discrete, where rows are then counted."),
]
States = Annotated[str, typer.Option(help="State columns, separated by commas.")]
Positions = Annotated[
    str,
    typer.Option(
        help="Position columns, whose velocities are also states (second order): theta, or "
        "theta:omega if the column omega is the velocity."
    ),
]
Order = Annotated[
    int,
    typer.Option(
        help="Order of the equations of --positions. For 3, accelerations are states too."
    ),
]
Inputs = Annotated[str, typer.Option(help="Input columns, separated by commas.")]
Hidden = Annotated[
    str,
    typer.Option(
        help="Names of states without a column, separated by commas. They are estimated together "
        "with the equations in --known."
    ),
]
PerRunOption = Annotated[
    list[str] | None,
    typer.Option(
        "--per-run",
        help='Constants of --known that differ between runs, "m", or the coefficient of a '
        'library term, "omega: sin(theta)". Can be repeated.',
    ),
]
Start = Annotated[
    list[str] | None,
    typer.Option(
        help='Initial value of a state in each run: a range, "h = 0..10", or a formula, "S = N - '
        'I - R". Can be repeated.'
    ),
]
UnitsOption = Annotated[
    str,
    typer.Option(
        "--units",
        help="Units of columns, theta=rad,p=kPa, to which values with other units in the header "
        "are converted, or units in which to print results, rad->deg.",
    ),
]
Derivatives = Annotated[
    str, typer.Option(help="Columns of measured derivatives, in the order of the states.")
]
Discrete = Annotated[
    bool,
    typer.Option(
        "--discrete",
        help="Fit a map from row to row, x[k+1] = f(x[k], u[k]), instead of a flow.",
    ),
]
Preset = Annotated[
    str, typer.Option(help="Predefined settings: recommended, paper_orthoreg, paper_l2, ...")
]
LibraryText = Annotated[
    str | None,
    typer.Option(
        help="Candidate terms: poly(d), fourier(k) and formulas, joined by + and *. Default: "
        "poly(2)+fourier(1)."
    ),
]
ResidualSize = Annotated[
    int | None, typer.Option(min=0, help="Random features of the residual; 0 for no residual.")
]
Sparsity = Annotated[
    float | None,
    typer.Option(help="Weight of the L1 norm of the coefficients, which then selects the terms."),
]
Orthogonality = Annotated[
    float | None,
    typer.Option(
        help=(
            "Weight of the overlap of residual and terms; inf for an exactly orthogonal residual."
        )
    ),
]
Magnitude = Annotated[float | None, typer.Option(help="Weight of the residual's size.")]
Discover = Annotated[
    bool,
    typer.Option(
        "--discover", help="Search for complete models, with formulas beyond the library."
    ),
]
FunctionsOfTime = Annotated[
    bool, typer.Option(help="With --discover: also try oscillations and trends in time.")
]
Covariates = Annotated[
    str,
    typer.Option(
        help="Columns that are constant within each run, such as a length, separated by commas. "
        "The fit tests whether constants in --per-run depend on them."
    ),
]
Known = Annotated[
    list[str] | None,
    typer.Option(
        help='Known equation, "theta\' = omega", or part of an equation, '
        '"omega\' = -g/L*sin(theta) + ...". With --discrete: "x[k+1] = r*x + ...". Other names are '
        "constants. Can be repeated."
    ),
]
Value = Annotated[
    list[str] | None,
    typer.Option(
        help=(
            "Value of a constant: g=9.81 or 'g=9.81 m/s^2'. Constants without a value are "
            "estimated. Can be repeated."
        )
    ),
]
BoundOption = Annotated[
    list[str] | None,
    typer.Option(
        "--bound",
        help='Bound on a coefficient, "omega\': omega <= 0", or on a constant, '
        '"0.1 <= L <= 2". Can be repeated.',
    ),
]
Relation = Annotated[
    list[str] | None,
    typer.Option(
        help='Linear relation between coefficients, "coef(x, x*y) = -coef(y, x*y)". Can be '
        "repeated."
    ),
]
PhysicsFile = Annotated[
    Path | None,
    typer.Option(
        help="TOML file with all known physics: equations, values, required, forbidden, bounds, "
        "relations, conserved, start, symmetry."
    ),
]


@app.command()
@reads_tables
def fit(
    data: Tables,
    time: Time = None,
    states: States = "",
    positions: Positions = "",
    order: Order = 2,
    inputs: Inputs = "",
    hidden: Hidden = "",
    group: GroupColumn = None,
    derivatives: Derivatives = "",
    units: UnitsOption = "",
    discrete: Discrete = False,
    preset: Preset = "recommended",
    library: LibraryText = None,
    residual: ResidualSize = None,
    sparsity: Sparsity = None,
    orthogonality: Orthogonality = None,
    magnitude: Magnitude = None,
    discover: Discover = False,
    minutes: Minutes = None,
    functions_of_time: FunctionsOfTime = False,
    known: Known = None,
    value: Value = None,
    bound: BoundOption = None,
    relation: Relation = None,
    start: Start = None,
    per_run: PerRunOption = None,
    covariates: Covariates = "",
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
    """Learn equations and a residual from a table, and print equations, verdict and advice.

    Also write the model, an HTML report, and the summary as text and JSON. --preset sets all
    options that are omitted.
    """
    check_folder(out)
    one_of(preset, PRESET_NAMES, "--preset")
    check_strength(sparsity, "--sparsity")
    check_strength(orthogonality, "--orthogonality", may_be_infinite=True)
    check_strength(magnitude, "--magnitude")
    settings = {
        "sparsity": sparsity,
        "orthogonality": orthogonality,
        "magnitude": magnitude,
        **_parts(library, residual),
        "physics": physics_in(known, value, bound, relation, start, per_run, physics),
    }
    settings = {name: setting for name, setting in settings.items() if setting is not None}
    alone = {"--minutes": minutes, "--functions-of-time": functions_of_time}
    column_units, printed = units_in(units)
    if printed:
        from ..data import checked_conversions

        checked_conversions(printed)
    check_discovery(discover, alone, preset, settings)
    check_left_sides(known or [], discrete=discrete)
    if time is None and not discrete:
        raise InputError(
            "--time must name the column of times. It is optional only with --discrete."
        )
    with collected_warnings() as notes, on_cluster(workers, cluster):
        with working("Reading the table"):
            from ..data import read_table

            runs = read_table(
                source_of(data), time, names_in(states), names_in(inputs), group,
                positions=positions_in(positions), order=order, hidden=names_in(hidden),
                derivatives=names_in(derivatives), covariates=names_in(covariates),
                discrete=discrete, units=column_units or None, **reading,
            )  # fmt: skip
            if preset == "recommended" or library is not None:
                # of chunked data, only the sample is checked
                sample = getattr(runs, "sample", runs)
                check_names(sample, settings.get("library"), settings.get("physics"))
        if discover:
            discovery = _discovered(runs, settings, minutes, functions_of_time=functions_of_time)
            model = discovery.best
        else:
            discovery, model = None, _fitted(runs, preset, settings, seed)
        result = _written(model, runs, discovery, out, f"{stem_of(data)}.orthoreg", plots, printed)
    if as_json:
        entries = data_entries(paths_of(data), runs) | {"preset": preset}
        return print_json(entries | _entries(result, runs, notes))
    _print(result, name_of(data), runs)


def _fitted(runs: Any, preset: str, settings: Mapping[str, Any], seed: int) -> "AbstractModel":
    """Return the fitted estimator of a preset."""
    with working("Starting"):  # imports that take seconds, after the options are checked
        from ..presets import PRESETS
    with working("Fitting"):
        return PRESETS[preset](seed=seed).set_params(**settings).fit(runs)


def _discovered(
    runs: Any, settings: Mapping[str, Any], minutes: float | None, *, functions_of_time: bool
) -> "Discovery":
    """Return the result of a search for equations."""
    with working("Starting"):
        from ..model.discovery import discover
    with working("Searching for equations"):
        return discover(
            runs, settings.get("library"), minutes=minutes, physics=settings.get("physics"),
            functions_of_time=functions_of_time,
        )  # fmt: skip


def _parts(library: str | None, residual: int | None) -> dict[str, object]:
    """Return the library and the residual that the options describe, None for an omitted option."""
    parts: dict[str, object] = {"library": None, "augmentation": None}
    if library is not None:
        from ..terms import parse_library

        parts["library"] = parse_library(library)
    if residual is not None:
        from ..field import RandomFeatures, Zero

        parts["augmentation"] = RandomFeatures(residual) if residual else Zero()
    return parts


@final
@dataclass(frozen=True, eq=False)
class _Result:
    """A fitted model, its summary, and the written files: model, report, others."""

    model: "AbstractModel"
    summary: "Summary"
    discovery: "Discovery | None"
    files: Sequence[Path]
    plots: Sequence[Path]


def _written(
    model: "AbstractModel",
    runs: "Dataset | ChunkedDataset",
    discovery: "Discovery | None",
    folder: Path,
    name: str,
    plots: bool,
    printed: dict[str, str],
) -> _Result:
    """Compare a model with its data and write model, report, summary and plots to a folder.

    `printed` maps units to the units in which coefficients are shown.
    """
    from ..findings import forecast_sample
    from ..model.validation import in_states_of
    from ..reporting import report_page
    from ._work import draw, in_memory, write_results

    with working("Forecasting the runs"):
        sample = in_states_of(model, in_memory(runs))
        forecast_runs = forecast_sample(sample)
        forecasts = model.forecast(forecast_runs)
    with working("Comparing the model with the data"):
        summary = model.summary(runs, forecasts=forecasts)
        shown = model.in_units(printed) if printed else model
        summary = (shown.summary() if printed else summary).with_model(str(folder / name))
    pictures: dict[str, bytes] = {}
    if plots:
        with working("Drawing the plots"):
            pictures = draw(
                model, sample, forecast_runs, forecasts, "training runs", summary.verdict.text
            )
    with working("Writing the report"):
        page = report_page(
            shown, sample, summary=summary, forecasts=forecasts, discovery=discovery,
            command=command_line(),
        )  # fmt: skip
        files = write_results(folder, name, model, pictures, summary, page)
    return _Result(shown, summary, discovery, files, [folder / plot for plot in pictures])


def _entries(result: _Result, runs: "Dataset | ChunkedDataset", notes: list[str]) -> dict[str, Any]:
    """Return the JSON entries of a result."""
    from ..data import ChunkedDataset
    from ._work import (
        coefficient_dict,
        per_run_entries,
        physics_entries,
        second_order_entries,
        summary_entries,
        term_entries,
        unit_entries,
    )

    model, summary, discovery = result.model, result.summary, result.discovery
    return {
        "equations": model.equations(),
        "input_interpolation": model.input_interpolation_,
        **second_order_entries(model),
        **physics_entries(model),
        **({} if isinstance(runs, ChunkedDataset) else per_run_entries(model, runs)),
        "coefficients": coefficient_dict(model),
        **unit_entries(model),
        **term_entries(model, summary),
        "certificate": model.certificate_.as_dict(),
        "training": summary.scores.of_forecasts,
        "model": str(result.files[0]),
        "plots": [str(plot) for plot in result.plots],
        "report": str(result.files[1]),
        "warnings": notes,
        **summary_entries(summary),
        **({} if discovery is None else {"discovery": discovery.to_dict()["models"]}),
    }


def _print(result: _Result, name: str, runs: "Dataset | ChunkedDataset") -> None:
    """Print a result as text."""
    from ..simulation import interpolation_words

    console = terminal()
    print_reading(console, name, runs)
    words = interpolation_words(result.model.input_interpolation_)
    if words and not result.model.schema_.discrete:
        console.print(words, markup=False)
    console.print()
    print_summary(console, result.summary)
    if result.discovery is not None:
        console.print(f"{result.discovery!r}\n", markup=False)
    if result.model.schema_.per_run:
        from ..data import Dataset
        from ._work import per_run_units

        assert isinstance(runs, Dataset)  # in memory because states are hidden
        constants = result.model.per_run(runs)
        console.print(constants_table(constants, per_run_units(result.model)))
        console.print()
    title = "Forecasts of training runs from their first rows"
    print_scores(console, title, result.summary.scores.of_forecasts)
    print_files(console, result.files)


def physics_in(
    known: list[str] | None,
    values: list[str] | None,
    bounds: list[str] | None,
    relations: list[str] | None,
    starts: list[str] | None,
    per_run: list[str] | None,
    file: Path | None,
) -> "Physics | None":
    """Return the known physics from options and file, or None if there is none."""
    if not (known or values or bounds or relations or starts or per_run or file):
        return None
    from ..physics import parse_bound, parse_equation, parse_start, physics_of, read_fields

    fields: dict[str, Any] = {} if file is None else read_fields(file)
    added: dict[str, list[Any]] = {
        "equations": [parse_equation(one) for one in known or ()],
        "values": [_constant(one) for one in values or ()],
        "bounds": [parse_bound(one) for one in bounds or ()],
        "relations": list(relations or ()),
        "start": [parse_start(one) for one in starts or ()],
    }
    for name, more in added.items():
        fields[name] = [*fields.get(name, []), *more]
    if per_run:
        fields["per_run"] = _per_run(per_run)
    return physics_of(fields)


def _per_run(texts: list[str]) -> Any:
    """Return names of constants, or lists of terms by equation."""
    parts = [part.strip() for text in texts for part in text.split(",")]
    if not any(":" in part for part in parts):
        return parts
    terms: dict[str, list[str]] = {}
    for part in parts:
        state, colon, term = (piece.strip() for piece in part.partition(":"))
        if not colon or not state or not term:
            raise InputError(
                f"--per-run must name constants, such as m, or terms, such as "
                f"'omega: sin(theta)', not both; got '{part}'."
            )
        terms.setdefault(state.rstrip("'"), []).append(term)
    return terms


def _constant(text: str) -> tuple[str, float | str]:
    """Return the name and the number in text such as 'g=9.81'. A value with a unit remains text."""
    name, sign, number = (part.strip() for part in text.partition("="))
    head, _, unit = number.partition(" ")
    try:
        value = float(head)
    except ValueError:
        value = math.nan
    if not sign or not name or not math.isfinite(value):
        raise InputError(f"--value must have the form g=9.81; got '{text}'.")
    return name, number if unit.strip() else value
