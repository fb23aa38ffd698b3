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

Written by `python -m paper extrapolation` from the records of {size} with {seeds} seeds. Each
method has {train_runs} training runs and is tested on {test_runs} new runs of each split. ID runs
are like the training runs. ID,ext continues them to 1.3 times their duration. T2 has other
initial states, and T3 other parameters. "T3 adapted" is T3 after `adapt` on {adapt_runs} further
T3 runs. Errors are squared errors divided by the squared norm of the truth, so predicting zero
has the error 1. [Reproduction](reproduction.md) describes methods and systems.
"""

_NOTES = """\
## Missed targets

- **Pendulum, high difficulty.** The missing terms are twice as large as those in the library. A
  pure network, whose units are trained, has the lowest errors on ID and T3. The 400 random units
  approximate cos(3 theta) over many turns less accurately.
- **T3 adapted, high difficulty.** The missing terms are larger than those in the library, and all
  parameters of T3 are 1.2 times as large. `adapt` refits coefficients and keeps the residual, so
  the change of the missing terms remains. A model with the exact training pendulum would not
  improve by a factor of ten either; see "What adapting can do" in
  [Benchmarks](benchmarks.md#what-adapting-can-do).
- **Duffing, T2 and T3.** Training runs cover one of two wells, and the library lacks x^3. The
  default fits x^2 instead. The other terms are true, but x^2 has the wrong sign in the other
  well, and forecasts diverge there. In earlier records of this page, cosines had lower errors
  than other methods. This was a coincidence: the cosines replaced true terms, and with 60
  training runs the same rule selected sines, which failed like x^2. Now sines and cosines are
  candidates only for angles and for equations that need them. Training runs do not show which set
  of terms holds in the other well, and errors above 1 are worse than predicting zero. The
  symmetry of the system does: [Benchmarks](benchmarks.md#known-physics) has the errors with
  `Physics(symmetry=og.Odd())`.
- **Lotka-Volterra and SIR.** Their missing terms oscillate in time, faster than the sampling. No
  function of the state can represent them, and the methods fit different approximations. The
  training data of Lotka-Volterra hardly distinguish the candidate sets of terms. The selected set
  diverges from all initial states of T2 and from a few of ID.
- **Cells that are behind** include all differences above 5%, also between negligible errors, as
  on ID of the pendulum at low difficulty.
- **ID,ext of SIR** begins after the epidemic. Derivatives are nearly zero, so relative errors are
  large for every method.

**Revisions of the records.** The runs of the recommended default were repeated after several
changes: the gate holds residuals beyond the data; terms that cancel are rejected; a residual is
fitted to at most 32,768 rows and kept only if its forecasts are no worse than those of the
equations; and noisy runs are fitted in the weak form, with terms and constants from trajectories.
They were repeated again at version 0.2.0, when clean samples that are too sparse for derivatives
were also matched to trajectories, and last at revision 957471b, after the sines and cosines of
the default library became candidates only for angles and for equations that need them. The runs
of the other methods were not repeated.

**Bias.** All choices of a fit use training runs only, and a test checks that the model does not
depend on the test splits. However, the design was not blind. The T2 splits had been seen when the
defaults of selection and gate were first set, although these were later chosen again on other
systems. They had also been seen when units with many weight scales were introduced, based on
other systems and validation runs. [Background of the
choices](choosing.md#how-the-defaults-were-chosen) has the details.
"""


def extrapolation_page(
    records: Sequence[Mapping[str, Any]],
    targets: Iterable[Part],
    picture: str,
    scale: Scale | None = None,
) -> str:
    """Return the page on the recommended default as Markdown."""
    scale = scale or Scale()
    lines = [
        f"| {escape_markdown(target.text)} | {'yes' if target.holds else 'no'} |"
        for target in targets
    ]
    parts = [
        _OPENING.format(
            size="a full run" if scale.is_full else "**a quick run at reduced sizes**",
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
