"""The reproduction page: every table, figure and verdict, written from records."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ._evidence import FAILS, HOLDS, UNTESTED, Verdict
from ._labels import method_label
from ._paper import OVERHEAD, SIR_ORTH
from ._registry import EXPERIMENTS, PAPERS, tables_of
from ._render import FOOTNOTE, escape_markdown, to_markdown
from ._settings import Scale
from ._tables import build_table

_OPENING = """\
# Reproduction of the paper

This page repeats the experiments of the paper and tests its claims. {conclusion} `{command}` wrote
this page from {size} with {seeds}.

| method | meaning |
| --- | --- |
| Pure | Adam with L1, without a network. The paper does not state mu, so two values are shown |
| {l2} | a network trained by Adam with an L2 penalty, with the strengths of the paper |
| {orthoreg} | the same with the orthogonality penalty instead of L2 |
| {validated} | random features solved exactly, with strengths validated on held-out runs |
| {projection} | random features solved exactly, in the limit of a large orthogonality |
"""

_PROTOCOL = """\
## Protocol

The experiments follow the text of the paper. Where the text is open or contradictory:

- **Errors** are squared errors divided by the squared norm of the truth. Predicted derivatives are
  compared with the true ones at the true states, and rollouts with trajectories without noise.
  Diverged rollouts are counted and excluded from the error.
- **Splits.** There are {train_runs} training runs and {test_runs} runs for each test split. ID,ext
  continues the ID runs from T to 1.3 T. T2 has other initial states, and T3 other parameters.
  Strengths are validated on five folds of the training runs.
- **STLSQ** uses the same derivatives as the other methods. In the paper, it uses second-order
  differences.
- **Rows.** The paper's batch of 1000 refers to trajectories in one passage and to samples in
  another. Here, it refers to samples. Gradient training uses the same {rows} rows for every method
  and {epochs} full-batch epochs. Exact solutions use all rows. Duffing runs have 4000 points, of
  which every 40th is evaluated.
- **Library.** One passage lists sin(2 theta) and cos(2 theta), and another has one frequency and
  M = 20. Here, the library has the unit frequency of each state and the constant: 10 terms for two
  states and 16 for SIR. The paper's M = 45 for SIR excludes the constant.
- **Support** is evaluated at two thresholds: 0.001, as in the text, and 0.045, the threshold of
  STLSQ. With shrinkage, small coefficients remain, which the first threshold counts as terms. The
  paper's numbers are compared with those at 0.001. The true term of SIR is S I, because S + I + R
  is constant.
- **T3** is evaluated without adaptation and, as "T3 adapted", after the active coefficients are
  fitted to {adapt_runs} other T3 runs. The paper describes this step only for STLSQ.
- **Units.** States of Lotka-Volterra and SIR are divided by a tenth of their maximum in the
  training data, and the forcing acts on the scaled states. The paper does not state the frequencies
  for Lotka-Volterra, so those of SIR (3.0 and 1.5) are used, with a small constant of 0.1.
- **Irregular sampling.** The paper's table has 3.52 for every method, because its derivatives come
  from a smoother that assumes equal steps. This case and derivatives with the true times are shown
  separately.
- **Numbers of the paper.** Some tables of the paper disagree: for the pendulum T3, 3400 and 940.6
  for Pure, and 790 and 218.5 for L2. The difficulty table labels T3 as a derivative error, but its
  footnote calls it a rollout error for low and high difficulty. Claims are therefore tested by the
  order of the methods and by ratios.
- **Not compared.** The row "Orth." ({orth}) of the SIR table is not defined. The sample-size
  ablation, and all but one strength of the λ ablation, are figures without numbers. The paper
  states the overhead of the penalty as {overhead} of an epoch.
"""

_RELEASED = """\
## The authors' released code

The authors' repository, at commit 6769a79, differs from the text of the paper. The `paper_*`
presets follow the text, and the numbers of the repository are not used as a reference. These
observations were made by running it, and have no records here:

- The first stage does not optimize the hybrid fit and the orthogonality penalty. Its loss consists
  of the symbolic fit, L1, and the mean norm of the part of the network's residual that is
  orthogonal to f_phy. The network therefore receives no gradient from the derivatives and ends near
  zero.
- With equal mu, F1 is the same for L2, OrthoReg and no network: 0.667 at mu = 0.003 and 0.545 at
  mu = 0.001.
- For the pendulum, the training data have two distinct initial states, and the ID test data are the
  training data. The second stage trains on T3 data before T3 is evaluated. Printed names of splits
  are permuted: T2 denotes T3, and ID,ext denotes T2.
- Lotka-Volterra and SIR lack the perturbation terms and stop with an error.
- With the defaults and five seeds, F1 is 0.43 / 0.56 / 0.60 (Pure / L2 / OrthoReg). The paper has
  0.43 / 0.61 / 0.93.
- Further differences from the text are a library without the constant (9 terms), library features
  as inputs of the network, two hidden layers of 64 units with LayerNorm, gradients clipped at 1, a
  learning rate that is halved on plateaus, another normalization of errors, and a threshold of
  0.045 for the support.
"""


_METHODS = {name: method_label(name) for name in ("l2", "orthoreg", "validated", "projection")}


def reproduction_page(
    records: Sequence[Mapping[str, Any]],
    *,
    verdicts: Sequence[Verdict] | None = None,
    figures: Mapping[str, str] | None = None,
    scale: Scale | None = None,
) -> str:
    """Return the page as Markdown.

    `verdicts` are computed from the records if omitted. `figures` maps files, relative to the page,
    to captions.
    """
    scale = scale or Scale()
    if verdicts is None:
        from ._verdicts import verdicts as verdicts_of

        verdicts = verdicts_of(records)
    seeds = len({record["seed"] for record in records})
    parts = [
        _OPENING.format(
            command="python -m paper" if scale.is_full else "python -m paper --quick",
            size="a full run" if scale.is_full else "**a quick run at reduced sizes**",
            seeds=f"{seeds} seeds" if seeds > 1 else "one seed",
            conclusion=_conclusion(verdicts),
            **_METHODS,
        ),
        _verdict_part(verdicts),
        *_table_parts(records),
        figure_part(figures or {}),
        _protocol_part(scale),
        _RELEASED,
    ]
    return "\n".join(part for part in parts if part)


def _conclusion(verdicts: Sequence[Verdict]) -> str:
    """Return a sentence that counts the outcomes."""
    counts = Counter(
        verdict.verdict if len({r.verdict for r in verdict.readings}) == 1 else "mixed"
        for verdict in verdicts
    )
    words = {HOLDS: "hold", FAILS: "do not hold", "mixed": "hold for some settings"}
    words |= {UNTESTED: UNTESTED}
    parts = [f"{counts[outcome]} {text}" for outcome, text in words.items() if counts[outcome]]
    return f"Of {len(verdicts)} claims, {', '.join(parts)}."


def _protocol_part(scale: Scale) -> str:
    orth = ", ".join(
        f"{method_label(name)} {value.mean} ± {value.std}" for name, value in SIR_ORTH.items()
    )
    return _PROTOCOL.format(
        train_runs=scale.train_runs,
        test_runs=scale.test_runs,
        adapt_runs=scale.adapt_runs,
        rows=scale.rows,
        epochs=scale.epochs,
        orth=orth,
        overhead=f"{OVERHEAD[0]:.0%} to {OVERHEAD[1]:.0%}",
    )


def _table_parts(records: Sequence[Mapping[str, Any]]) -> list[str]:
    parts = [f"## Tables\n\n{FOOTNOTE}\n"]
    for name in tables_of(PAPERS):
        experiment = EXPERIMENTS[name]
        table = build_table(experiment, records)
        heading = f"### {table.title}\n\n`python -m paper {table.name}`"
        parts.append(f"{heading}. {escape_markdown(table.caption)}\n\n{to_markdown(table)}")
    return parts


def figure_part(figures: Mapping[str, str]) -> str:
    if not figures:
        return ""
    pictures = (
        f"![{escape_markdown(caption)}]({file})\n\n{escape_markdown(caption)}\n"
        for file, caption in figures.items()
    )
    return "\n".join(["## Figures\n", *pictures])


def _verdict_part(verdicts: Sequence[Verdict]) -> str:
    """Return an overview of all claims, then each claim with its rule and numbers."""
    lines = ["## Verdicts\n", "| | claim | verdict |", "| ---: | --- | --- |"]
    lines += [
        f"| {verdict.number} | {escape_markdown(verdict.claim)} | {_outcomes(verdict)} |"
        for verdict in verdicts
    ]
    return "\n".join([*lines, "", *map(_claim_part, verdicts)])


def _outcomes(verdict: Verdict) -> str:
    """Return the outcome if all readings agree, otherwise that of each reading."""
    if len({reading.verdict for reading in verdict.readings}) == 1:
        return verdict.verdict
    return "<br>".join(
        f"{escape_markdown(reading.name)}: {reading.verdict}" for reading in verdict.readings
    )


def _claim_part(verdict: Verdict) -> str:
    labels = ", ".join(f"`{label}`" for label in verdict.labels)
    lines = [
        f"### Claim {verdict.number}\n",
        f"{escape_markdown(verdict.claim)} ({labels})\n",
        f"- Rule: {escape_markdown(verdict.rule)}",
        f"- Paper: {escape_markdown(verdict.paper)}",
    ]
    for reading in verdict.readings:
        name = escape_markdown(reading.name)
        lines.append(f"- **{name}: {reading.verdict}.** {_text(reading.numbers)}")
    if verdict.why:
        lines.append(f"\n{escape_markdown(verdict.why)}")
    return "\n".join([*lines, ""])


def _text(numbers: str) -> str:
    return escape_markdown(numbers) if numbers else "No numbers."
