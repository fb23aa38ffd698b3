"""The command that prints a model's equations, verdict, advice and evidence from its file."""

from ._app import Json, ModelFile, app
from ._output import collected_warnings, print_json, print_scores, print_summary, terminal


@app.command()
def show(model: ModelFile, as_json: Json = False) -> None:
    """Print a model's equations, verdict, advice, intervals and probabilities again."""
    from dataclasses import asdict

    from .. import load
    from ._work import coefficient_dict, second_order_entries, summary_entries, term_entries

    with collected_warnings() as notes:
        fitted = load(model)
        summary = fitted.summary()
    if as_json:
        return print_json(
            {
                "model": str(model),
                "equations": fitted.equations(),
                **second_order_entries(fitted),
                "coefficients": coefficient_dict(fitted),
                **term_entries(fitted, summary),
                "certificate": fitted.certificate_.as_dict(),
                "warnings": notes,
                **summary_entries(summary),
            }
        )
    console = terminal()
    print_summary(console, summary)
    if summary.source is not None:
        scores = {name: value for name, value in asdict(summary.scores).items()
                  if name != "equations"}  # fmt: skip
        print_scores(console, f"Errors on {summary.source}", scores)
