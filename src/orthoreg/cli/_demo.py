"""The demonstration: the paper's pendulum, fitted and forecast."""

from pathlib import Path
from typing import Annotated

import typer

from .._common.progress import working
from ._app import Json, OutFolder, Plots, Seed, app, command_line
from ._arguments import check_folder
from ._output import (
    collected_warnings,
    print_files,
    print_json,
    print_summary,
    size_of,
    terminal,
)


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
        from ..findings import forecast_sample, forecast_scores, number, table
        from ..reporting import report_page
        from ..systems import Pendulum, Split, generate, true_derivatives
        from ._work import (
            coefficient_dict,
            derivative_scores,
            draw,
            summary_entries,
            term_entries,
            write_results,
        )

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
        test = {
            split: generate(system, split, seed=seed)
            for split in (Split.id, Split.ext, Split.t2, Split.t3)
        }
        splits, forecasts = {}, {}
        with working("Forecasting the test splits"):
            for split, data in test.items():
                if split is Split.ext:  # from the starts of the ID runs, scored on what follows
                    starts = test[Split.id].states[test[Split.id].offsets[:-1]]
                    times = [0.0, *data.times[: data.run_lengths[0]]]
                    forecasts[split] = model.simulate(starts, times).runs()
                else:
                    forecasts[split] = model.forecast(data)
                truth = true_derivatives(system, split, data)
                splits[str(split)] = derivative_scores(model, data, truth) | forecast_scores(
                    forecasts[split], [run.states for run in data]
                )
        pictures: dict[str, bytes] = {}
        if plots:
            with working("Drawing the plots"):
                runs_shown = (test[Split.id], forecasts[Split.id])
                pictures = draw(model, train, *runs_shown, "unseen runs (split ID)")
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
    print_files(console, files)
