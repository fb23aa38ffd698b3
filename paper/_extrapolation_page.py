"""The page on the recommended default: targets, figure and tables, written from records."""

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

Written by `python -m paper extrapolation` from the records of {size}: no number is typed by
hand. Seeds: {seeds}. Each method has {train_runs} training runs, and {test_runs} runs of each test
split that it has not seen: ID like the training runs, ID,ext their continuation to 1.3 times
their duration, T2 other starts, T3 other parameters, and "T3 adapted" after `adapt` on
{adapt_runs} further T3 runs. Errors are squared errors divided by the squared norm of the truth:
predicting zero has the error 1. Methods and systems are those of `docs/reproduction.md`.
"""

_NOTES = """\
## What is missed, and why

- **Pendulum, high difficulty.** The missing terms are twice as large as those in the library, so a
  network alone, whose units are trained, has the lowest errors on ID and T3. Four hundred
  random units approximate cos(3 theta) over many turns less accurately.
- **T3 adapted, high difficulty.** The missing terms are larger than those in the library, and T3
  makes every parameter 1.2 times as large. `adapt` refits coefficients and keeps the residual, so
  the change of the missing terms remains. A model with the exact training pendulum would not
  gain a factor of ten either: `docs/benchmarks.md` has its numbers under "What adapting can do".
- **Duffing, T2 and T3.** Training runs see one of two wells, and the library lacks x^3. The
  default fits x^2 instead: the other terms are the true ones, but in the other well x^2 has the
  wrong sign, and forecasts from there diverge. Earlier records of this page had cosines, whose
  errors were lower than those of other methods. That was luck: they replaced true terms, and with
  60 training runs the same rule chose sines that failed like x^2 does. Now sines and cosines
  are candidates only of angles and of equations that need them. Training runs do not say which set
  holds in the other well, and errors above 1 are worse than no model at all. The fact that decides
  is that the system is symmetric: `Physics(symmetry=og.Odd())`, with its errors in
  `docs/benchmarks.md`.
- **Lotka-Volterra and SIR.** Their missing terms oscillate in time, faster than the sampling. No
  function of the state can represent them, and the methods differ in what they fit instead. On
  Lotka-Volterra the training data hardly distinguish the candidate sets of terms, and the chosen
  set diverges from all starts of T2 and from a few of ID.
- **Cells that are behind** count every difference above 5%, also between errors that are both
  negligible, as on ID of the pendulum at low difficulty.
- **ID,ext of SIR** is an epidemic that is over: derivatives are nearly zero, so relative errors are
  large for every method.

**Revisions of the records.** The runs of the recommended default were repeated when the gate
started to hold residuals beyond the data, sets of terms that cancel were rejected, a residual was
fitted on at most 32,768 rows and had to forecast no worse than the equations alone, and noisy runs
were fitted in the weak form, with terms and constants from trajectories. They were repeated
again at version 0.2.0, when clean samples that are too sparse for derivatives were matched to
trajectories too, and last at revision 957471b, after sines and cosines of the default library had
become candidates only of angles and of equations that need them. The runs of the other methods
were not repeated.

**What was in view.** Everything is chosen from training runs, and a test checks that the model is
the same without the test splits. But the design was not blind: the T2 splits had been seen when
the defaults of selection and gate were first set (they were then chosen again on other systems),
and when the residual's units got many weight scales (based on other systems and validation runs).
`docs/choosing.md` has the details, and what was tried and dropped.
"""


def extrapolation_page(
    records: Sequence[Mapping[str, Any]],
    targets: Iterable[Part],
    picture: str,
    scale: Scale | None = None,
) -> str:
    """What the recommended default reaches, as Markdown."""
    scale = scale or Scale()
    lines = [f"| {escape_markdown(one.text)} | {'yes' if one.holds else 'no'} |" for one in targets]
    parts = [
        _OPENING.format(
            size="a full run" if scale.is_full else "**a quick look at reduced sizes**",
            seeds=len({record["seed"] for record in records}),
            train_runs=scale.train_runs,
            test_runs=scale.test_runs,
            adapt_runs=scale.adapt_runs,
        ),
        "\n".join(["## Targets\n", "| target | reached |", "| --- | --- |", *lines, ""]),
        figure_part({picture: BEYOND_CAPTION}),
        *([_NOTES] if scale.is_full else []),  # they speak of the full run
        f"## Tables\n\n{FOOTNOTE}\n",
        *(
            f"### {one.title}\n\n{escape_markdown(one.caption)}\n\n{to_markdown(one)}"
            for one in (build_table(EXPERIMENTS[name], records) for name in BEYOND)
        ),
    ]
    return "\n".join(parts)
