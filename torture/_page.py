"""`docs/torture.md`, written from the record of a run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torture._limits import CPU_SECONDS, MEMORY, SIGNIFICANCE

RECORD = Path(__file__).parent / "record.json"
DOCS = Path(__file__).parents[1] / "docs" / "torture.md"


def table(entries: Sequence[dict[str, Any]]) -> str:
    """Return the table of attacks, trials and failures, and the failures below it."""
    lines = ["| kind | attack | trials | refused | failures |", "|---|---|---:|---:|---:|"]
    lines += [
        f"| {entry['kind']} | {entry['name']} | {entry['trials']:,} | {entry['refused']:,} "
        f"| {entry['broken']} |"
        for entry in entries
    ]
    totals = [sum(entry[key] for entry in entries) for key in ("trials", "refused", "broken")]
    lines.append(f"| | all | {totals[0]:,} | {totals[1]:,} | {totals[2]} |")
    failures = [
        f"- {entry['name']}, trial {failure['trial']} ({failure['count']} times): "
        f"`{failure['error']}` in `{failure['where']}`"
        for entry in entries
        for failure in entry["failures"]
    ]
    return "\n".join(lines + ["", *failures]).rstrip() + "\n"


def statements(entries: Sequence[dict[str, Any]]) -> str:
    """Return the section on statistical promises, empty if there are none."""
    rows = [
        f"| {entry['name']} | {row['statement']} | {row['cases']:,} "
        f"| {100 * row['promised']:.1f}% | {100 * row['true'] / row['cases']:.1f}% |"
        for entry in entries
        for row in entry.get("statements", ())
    ]
    if not rows:
        return ""
    header = ["| attack | statement | cases | promised | true |", "|---|---|---:|---:|---:|"]
    lines = "\n".join(header + rows)
    return f"""
## Statistical promises

Some statements must be true with a given probability. A binomial test compares this probability
with the share of random systems for which the statement was true. A p-value below {SIGNIFICANCE:g}
counts as a failure.

{lines}
"""


def page(record: dict[str, Any]) -> str:
    """Return the page of a record."""
    entries = record["attacks"]
    totals = [sum(entry[key] for entry in entries) for key in ("trials", "broken")]
    promises = "\n".join(f"- **{entry['name']}**: {entry['promise']}" for entry in entries)
    return f"""# Torture

This page shows how orthoreg reacts to random and hostile input: {totals[1]} of {totals[0]:,} trials
failed. `python -m torture` wrote this page (seed {record["seed"]}, {record["machine"]}).

Each attack runs random trials in separate processes. A trial fails if the promise of the attack
is broken, if an exception is not an error of orthoreg, or if it takes more than {CPU_SECONDS:g} CPU
seconds or {MEMORY >> 20} MiB of memory. Trials that start processes or fit models have other
limits. A trial is *refused* if it ends with an error of orthoreg, which says what to correct.

{table(entries)}
`make torture` repeats all trials, and `python -m torture --only NAME --first TRIAL --trials 1
--verbose` repeats a single one.
{statements(entries)}
## Promises

{promises}
"""
