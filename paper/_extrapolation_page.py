"""The extrapolation page: targets, figure and tables of the default, written from records."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ._evidence import Part
from ._page import figure_part
from ._registry import BEYOND, EXPERIMENTS
from ._render import FOOTNOTE, escape_markdown, to_markdown
from ._settings import Scale
from ._tables import build_table
from .figures import BEYOND_CAPTION

_OPENING = """\
# The recommended default, in and beyond the data

This page compares the default settings of orthoreg with the methods of the paper. The default
reaches {reached} of {count} targets. `python -m paper extrapolation` wrote this page from {size}
with {seeds} seeds.

Each method has {train_runs} training runs and is tested on {test_runs} new runs of each split:

- **ID**: initial states and parameters like those of the training runs
- **ID,ext**: the ID runs from their end to 1.3 times their duration
- **T2**: other initial states
- **T3**: other parameters
- **T3 adapted**: T3 after `adapt` with {adapt_runs} further T3 runs

Errors are squared errors divided by the squared norm of the truth, so a prediction of zero has the
error 1. [Reproduction](reproduction.md) describes methods and systems.
"""

_NOTES = """\
## Missed targets

- **Pendulum, high difficulty.** The missing terms are twice as large as those in the library. A
  network with trained units has lower errors on ID and T3 than the 400 random units of the
  default, which represent cos(3 theta) over many turns less accurately.
- **T3 adapted, high difficulty.** `adapt` estimates the coefficients but does not change the
  residual, so it cannot follow changes of the missing terms. Even an exact model of the training
  pendulum would not improve by a factor of ten
  ([Benchmarks](benchmarks.md#adapting-to-another-pendulum)).
- **Duffing, T2 and T3.** Training runs cover one of two wells, and the library lacks x^3. The
  default selects x^2 instead, which has the wrong sign in the other well, so forecasts diverge
  there. The training runs cannot show which terms hold in the other well. With the known symmetry
  `Physics(symmetry=og.Odd())`, the errors are small ([Benchmarks](benchmarks.md#known-physics)).
- **Lotka-Volterra and SIR.** The missing terms oscillate in time, faster than the sampling, and no
  function of the state can represent them. The training data of Lotka-Volterra hardly distinguish
  the candidate sets of terms. With the selected set, all rollouts of T2 and some of ID diverge.
- **Best or within 5%.** The combinations that miss this target include differences between
  negligible errors, as on ID of the pendulum at low difficulty.
- **ID,ext of SIR** begins after the epidemic. Derivatives are nearly zero, so relative errors are
  large for every method.

**Bias.** A fit uses only training runs, and a test checks that the model does not depend on the
test splits. However, the T2 splits had been seen when defaults of the selection, the gate and the
residual were first set. These defaults were later chosen again on other systems ([Background of
the choices](choosing.md#how-the-defaults-were-chosen)).
"""


def extrapolation_page(
    records: Sequence[Mapping[str, Any]],
    targets: Iterable[Part],
    picture: str,
    scale: Scale | None = None,
) -> str:
    """Return the page on the recommended default as Markdown."""
    scale = scale or Scale()
    targets = list(targets)
    lines = [
        f"| {escape_markdown(target.text)} | {'yes' if target.holds else 'no'} |"
        for target in targets
    ]
    parts = [
        _OPENING.format(
            size="a full run" if scale.is_full else "**a quick run at reduced sizes**",
            reached=sum(target.holds for target in targets),
            count=len(targets),
            seeds=len({record["seed"] for record in records}),
            train_runs=scale.train_runs,
            test_runs=scale.test_runs,
            adapt_runs=scale.adapt_runs,
        ),
        "\n".join(["## Targets\n", "| target | reached |", "| --- | --- |", *lines, ""]),
        figure_part({picture: BEYOND_CAPTION}),
        *([_NOTES] if scale.is_full else []),  # notes on the full run
        f"## Tables\n\n{FOOTNOTE}\n",
        *(
            f"### {table.title}\n\n{escape_markdown(table.caption)}\n\n{to_markdown(table)}"
            for table in (build_table(EXPERIMENTS[name], records) for name in BEYOND)
        ),
    ]
    return "\n".join(parts)
