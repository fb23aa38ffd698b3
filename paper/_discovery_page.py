"""The discovery page: targets and counts, written from records."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from ._discovery_systems import BENCHMARKS
from ._peers import EVALUATIONS
from .discovery import LABELS, SEED_STRIDE

_OPENING = f"""\
# Discovery of missing terms

This page measures how often `explain` finds a missing term and `discover` finds a whole model.
{{conclusion}} `python -m paper discovery` wrote this page.

- *Pendulum, Duffing*: a model is fitted with `poly(2) + fourier(1)`, and the first proposal of
  `explain` is accepted. T2 is the relative squared error of derivatives from other initial states.
- *One term withheld*: the library of 25 systems contains polynomials of degree two and all true
  terms except one. "Named" is the share of first proposals with this term, or with a term that the
  data cannot distinguish from it (correlation above 0.999, or the same right-hand side to 1e-4).
- *Complete libraries*: the library contains all true terms. "Spurious" is the number of equations
  with a proposal.
- *ODEBench, odd half*: the result is the share of systems for which the first model, or any model,
  of `discover` forecasts the other initial state with R^2 > 0.9. If the true equations fail, the
  published run is not accurate enough. PySINDy (the best of nine models: two degrees, or sines,
  with three thresholds) and Operon ({EVALUATIONS:,} evaluations per equation) use the same
  derivatives, for the first seed.

The number of cases is the number of systems times the number of seeds. Derivatives are estimated
from the runs. Noise is relative to each value for ODEBench, and otherwise to the standard deviation
of each state. Seconds are CPU seconds of a shared machine. Percentages are rounded before they are
compared with targets.

[Benchmarks](benchmarks.md#measurements) has the same test for real machines: dry friction of a
stage, the saturating inductance of a circuit, and the equations of a double pendulum.
"""

_NOTES = """\
Causes of these misses, as far as they were examined:

- *Withheld terms with noise*: over the range of these runs, polynomials of degree two fit almost as
  well as the true term.
- *ODEBench 55*: the system is chaotic. The true equations do not forecast the published run
  either.
- *ODEBench 53*: two of the three states have a constant sum in the only run, so that terms in one
  state can replace terms in the other.
- *ODEBench 7, 15 and 47 with noise*: the forecast starts far from the run. For 7, the forecast
  covers 9.5 to 30 and the run 1.7 to 2.9. For 15, the forecast covers 4.5 to 47 and the run 44 to
  90. For 47, the forecast starts at (3.2, 10.3), and the run stays below 0.65.
- *ODEBench 57 with noise*: the equation is stiff, and the search does not propose the true terms,
  because they nearly cancel.

**Bias.** Settings of the search were chosen with the odd half of ODEBench in view, and some
features were added because of systems 29, 35 and 47. Results for unseen systems may be worse.
"""


@final
class Count(NamedTuple):
    """A number of the page: its setting, method and metric, and its target."""

    setting: str
    method: str
    metric: str
    words: str
    unit: str = ""
    at_least: float | None = None
    at_most: float | None = None
    of: Callable[[Any], Any] = np.mean


def _pendulum(difficulty: str, max_error: float) -> tuple[Count, ...]:
    setting = f"discovery/pendulum/{difficulty}"
    return (
        Count(
            setting, "discovery", "named_percent", "cos(3 theta) and exp(-theta^2) named", "%", 80
        ),
        Count(setting, "base", "derivative.t2", "T2 error before"),
        Count(setting, "discovery", "derivative.t2", "T2 error after", at_most=max_error),
        Count(
            setting,
            "discovery",
            "seconds",
            "fit and explain, median",
            " s",
            at_most=10,
            of=np.median,
        ),
    )


def _odebench(noise: int, top: float, anywhere: float) -> tuple[Count, ...]:
    setting = f"discovery/odebench/{noise}%"
    return (
        Count(setting, "base", "top_percent", "base library alone", "%"),
        Count(setting, "discovery", "top_percent", "first model of the list", "%", top),
        Count(setting, "discovery", "list_percent", "any model of the list", "%", anywhere),
        Count(setting, "discovery", "seconds", "median time", " s", at_most=10, of=np.median),
        Count(setting, "truth", "top_percent", "true equations", "%"),
        Count(setting, "pysindy", "list_percent", "PySINDy, any of nine models", "%"),
        Count(setting, "operon", "top_percent", "Operon", "%"),
        Count(setting, "operon", "seconds", "Operon, median time", " s", of=np.median),
    )


COUNTS = (
    *_pendulum("low", 0.01),
    *_pendulum("medium", 0.02),
    *_pendulum("high", 0.05),
    Count("discovery/duffing", "discovery", "named_percent", "x^3 within 2%", "%", 80),
    Count("discovery/duffing", "discovery", "derivative.t2", "T2 error after", at_most=1e-3),
    Count("discovery/withheld/0%", "discovery", "named_percent", "named", "%", 85),
    Count("discovery/withheld/2%", "discovery", "named_percent", "named", "%", 70),
    Count(
        "discovery/complete/1%", "discovery", "spurious", "spurious, in 25 libraries", at_most=2,
        of=lambda values: 25 * np.mean(values),
    ),
    *_odebench(0, 88, 94),
    *_odebench(2, 78, 84),
    *_odebench(5, 65, 80),
)  # fmt: skip


def discovery_page(records: Sequence[Mapping[str, Any]], n_cases: Mapping[str, int]) -> str:
    """Return the page as Markdown. `n_cases` are the numbers of cases in a full run of one seed."""
    lines = [
        "| setting | | value | cases | target | reached |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        line
        for count in COUNTS
        if (line := _line(count, records, n_cases.get(count.setting, 1))) is not None
    ]
    reached = sum(line.endswith("| yes |") for line in lines)
    missed = sum(line.endswith("| no |") for line in lines)
    conclusion = f"{reached} of {reached + missed} targets are reached."
    return "\n".join(
        [_OPENING.format(conclusion=conclusion), *lines, "", *_misses(records), _NOTES]
    )


def _misses(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """List the missed systems, with numbers of seeds, for each count with a minimum."""
    lines = ["**Missed systems**, each with the number of seeds:", ""]
    for count in COUNTS:
        if count.at_least is None or not count.setting.endswith("%"):
            continue
        missed = Counter(
            _system(count.setting, int(record["seed"]) % SEED_STRIDE)
            for record in records
            if (record["setting"], record["method"], record["metric"])
            == (count.setting, count.method, count.metric)
            and not record["value"]
        )
        shown = ", ".join(f"{name} ({seeds})" for name, seeds in missed.items()) or "none"
        lines.append(f"- {LABELS[count.setting]}, {count.words}: {shown}.")
    return [*lines, ""]


def _system(setting: str, number: int) -> str:
    return str(number) if "odebench" in setting else list(BENCHMARKS)[number]


def _line(count: Count, records: Sequence[Mapping[str, Any]], n_cases: int) -> str | None:
    values = [
        float(record["value"])
        for record in records
        if (record["setting"], record["method"], record["metric"])
        == (count.setting, count.method, count.metric)
    ]
    if not values:
        return None
    value = float(count.of(values))
    target, verdict = "", ""
    if count.at_least is not None:
        rounded = round(value) if count.unit == "%" else value
        target = f"at least {count.at_least:g}{count.unit}"
        verdict = _yes(rounded >= count.at_least)
    elif count.at_most is not None:
        target = f"at most {count.at_most:g}{count.unit}"
        verdict = _yes(value <= count.at_most)
    if verdict and len(values) < n_cases:
        verdict = f"not judged: {len(values)} of {n_cases}"
    shown = f"{value:.3g}{count.unit}"
    cells = [LABELS[count.setting], count.words, shown, str(len(values)), target, verdict]
    return f"| {' | '.join(cells)} |"


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"
