"""The pages that compare verdicts with the truth."""

import re
from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Any

Row = dict[str, Any]

BINS = ((0.0, 0.1), (0.1, 0.5), (0.5, 0.9), (0.9, 0.99), (0.99, 1.0))
CHANGES = ("second-order", "larger-library", "missing-variable", "time-dependent", "explain")
"""Codes of advice to change the model."""
HELPFUL = ("larger-library", "explain")
"""Codes of helpful advice if a term is missing."""
_EXPLAIN = re.compile(r"model\.explain|orthoreg explain|`explain`|explain\(")
TARGETS = (
    "Targets: at least 97% of the correct models and at most 2% of the wrong models are called "
    "correct."
)


def page(record: dict[str, Any]) -> str:
    """Return the page with all cases."""
    rows = record["rows"]
    return "\n".join(
        [
            _about(record),
            "## Verdicts\n",
            f"{TARGETS}\n",
            _verdicts(rows, _halves),
            "In the group *lacking*, the library lacks a true term. In *wrong physics*, a given "
            "equation lacks a term. In *physics*, correct equations are given. In *steps*, an "
            "input changes in steps. In *sparse*, runs have few samples. In *positions*, "
            "velocities are not measured.\n",
            _verdicts(rows, lambda row: [row["group"]], "group"),
            _verdicts(rows, lambda row: [f"{100 * row['noise']:g}%"], "noise"),
            "## Probabilities of terms\n",
            "Terms of complete libraries are grouped by their probability in the summary. The last "
            "column is the share of true terms. Target: in the bin from 90 to 99%, it differs from "
            "the mean probability by at most 5 percentage points.\n",
            _calibration(rows),
            "## Intervals\n",
            "The table shows the share of 95% intervals that contain the true value, for models "
            "with the true terms. Target: 90 to 98%. In the column *correlated*, the correlation "
            "with another constant is at least 0.9 at the Cramer-Rao bound. This column excludes "
            "chaotic systems.\n",
            _intervals(rows),
            "## Advice\n",
            "Advice on a wrong model is helpful if it proposes a larger library or `explain`.\n",
            _advice(rows),
            *_hard(record.get("hard", ())),
            "## CPU seconds\n",
            _seconds(rows),
            "## Wrong verdicts\n",
            _misjudged(rows),
            "## Failed fits\n",
            _failed(rows),
        ]
    )


def before(record: dict[str, Any]) -> str:
    """Return the section on an earlier revision."""
    rows = record["rows"]
    text = (
        "## Earlier revision\n\n"
        f"For comparison, {len(rows)} of the cases at revision {record['revision']}:\n\n"
    )
    return text + _verdicts(rows, _halves) + "\n" + _verdicts(rows, lambda r: [r["group"]], "group")


def _about(record: dict[str, Any]) -> str:
    rows = record["rows"]
    systems = len({row["system"] for row in rows})
    return (
        "# Are verdicts true?\n\n"
        f"{_conclusion(rows)} This page compares the verdicts, probabilities, intervals and "
        f"advice of `model.summary(data)` with the truth, for {len(rows)} fits of {systems} "
        "systems with known equations. Constants and initial states are random. `python -m "
        f"benchmarks truth` wrote this page at revision {record['revision']}.\n\n"
        "A model is *called correct* if its verdict is `explained`. Models are classified as:\n\n"
        "- **correct**: the model has the true terms, and every constant is within 3% of the "
        "truth or within three standard errors of the Cramer-Rao bound.\n"
        "- **equivalent**: other terms, but the equations without the residual predict the "
        "derivatives of runs from other initial states. The error of each equation is at most "
        "0.2% plus twice the relative noise, and at most 5%.\n"
        "- **wrong**: all other models.\n\n"
        "Settings of the package were chosen on the development half. This half includes all "
        "systems with wrong verdicts at the time when the benchmark was made. A hash of the name "
        "assigns the other systems to the halves.\n"
    )


def _conclusion(rows: Sequence[Row]) -> str:
    counts = {}
    for kind in ("correct", "wrong"):
        these = [row for row in rows if row.get("class") == kind]
        called = sum(row["verdict"] == "explained" for row in these)
        counts[kind] = f"{called} of {len(these)} {kind} models"
    return f"{counts['correct']} and {counts['wrong']} are called correct."


def _hard(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return []
    return [
        "## Few and noisy rows\n",
        f"{_conclusion(rows)} These are {len(rows)} additional cases with complete libraries, at "
        "most two runs, a fifth of the usual number of rows (at least 30), and 5 to 20% noise, so "
        "that the data often do not determine the terms. If the selected terms are probably wrong, "
        "the verdict is `noise-limited`.\n",
        _verdicts(rows, _halves),
        _verdicts(rows, lambda row: [f"{100 * row['noise']:g}%"], "noise"),
        "Share of true terms by probability:\n",
        _calibration(rows),
        "Share of 95% intervals that contain the true value, for models with the true terms:\n",
        _intervals(rows),
    ]


def _halves(row: Row) -> list[str]:
    return ["all", row["half"]]


def _verdicts(rows: Sequence[Row], labels: Callable[[Row], list[str]], what: str = "half") -> str:
    lines = [[what, "cases", "correct", "of these, called correct", "wrong",
              "of these, called correct", "equivalent", "of these, called correct",
              "failed"]]  # fmt: skip
    lines.append(["---"] * len(lines[0]))
    for label in _ordered(label for row in rows for label in labels(row)):
        here = [row for row in rows if label in labels(row)]
        cells = [label, str(len(here))]
        for kind in ("correct", "wrong", "equivalent"):
            these = [row for row in here if row.get("class") == kind]
            called = sum(row["verdict"] == "explained" for row in these)
            cells += [str(len(these)), _share(called, len(these))]
        lines.append([*cells, str(sum(row["status"] != "done" for row in here))])
    return _table(lines)


def _terms(row: Row) -> list[tuple[float, bool]]:
    """Return the probability of each recorded term, and whether the term is true."""
    texts = [text.rstrip("?") for text in row["terms"].split()]
    return [(float(text[:-1]), text.endswith("+")) for text in texts]


def _calibration(rows: Sequence[Row]) -> str:
    lines = [["probability", "half", "terms", "mean probability", "true terms"], ["---"] * 5]
    for low, high in BINS:
        for label in ("all", "development", "held-out"):
            terms = [
                term
                for row in rows
                if row["right"] and label in _halves(row)
                for term in _terms(row)
                if low <= term[0] < high or term[0] == high == 1.0
            ]
            mean = sum(p for p, _ in terms) / len(terms) if terms else 0.0
            lines.append(
                [f"{100 * low:g} to {100 * high:g}%", label, str(len(terms)),
                 f"{100 * mean:.1f}%" if terms else "-",
                 _share(sum(true for _, true in terms), len(terms), 1)]
            )  # fmt: skip
    return _table(lines)


def _intervals(rows: Sequence[Row]) -> str:
    lines = [["noise", "all", "held-out half", "correlated", "with physics"], ["---"] * 5]
    noises = sorted({row["noise"] for row in rows})
    groups = [("with noise", [n for n in noises if n]), *((f"{100 * n:g}%", [n]) for n in noises)]
    for label, chosen in groups:
        here = [row for row in rows if row["noise"] in chosen]
        lines.append(
            [label, _covered(here, "all"),
             _covered([row for row in here if row["half"] == "held-out"], "all"),
             _covered(here, "correlated"),
             _covered([row for row in here if row["group"] == "physics"], "all")]
        )  # fmt: skip
    return _table(lines)


def _covered(rows: Sequence[Row], kind: str) -> str:
    counts = [row["coverage"][kind].split(" of ") for row in rows]
    held, total = (sum(int(count[i]) for count in counts) for i in (0, 1))
    return f"{_share(held, total, 1)} of {total}"


def _advice(rows: Sequence[Row]) -> str:
    lines = [
        ["half", "wrong models", "with advice", "with helpful advice", "correct models",
         "with advice", "with advice to change the model"],
    ]  # fmt: skip
    lines.append(["---"] * len(lines[0]))
    for label in ("all", "development", "held-out"):
        here = [row for row in rows if label in _halves(row)]
        wrong = [row for row in here if row.get("class") == "wrong"]
        right = [row for row in here if row.get("class") == "correct"]
        lines.append(
            [label, str(len(wrong)), _count(wrong, lambda row: bool(row["advice"])),
             _count(wrong, _helps), str(len(right)),
             _count(right, lambda row: bool(row["advice"])),
             _count(right, lambda row: any(code in CHANGES for code, _ in row["advice"]))]
        )  # fmt: skip
    return _table(lines)


def _helps(row: Row) -> bool:
    return any(code in HELPFUL or _EXPLAIN.search(text) for code, text in row["advice"])


def _seconds(rows: Sequence[Row]) -> str:
    lines = [["group", "fit, median", "fit, maximum", "summary, median", "summary, maximum"],
             ["---"] * 5]  # fmt: skip
    for label in ["all", *_ordered(row["group"] for row in rows)]:
        here = [row for row in rows if label in ("all", row["group"]) and "fit_seconds" in row]
        if here:
            cells = [label]
            for kind in ("fit_seconds", "summary_seconds"):
                values = [row[kind] for row in here]
                cells += [f"{median(values):.1f}", f"{max(values):.1f}"]
            lines.append(cells)
    return _table(lines)


def _misjudged(rows: Sequence[Row]) -> str:
    lines = []
    for row in rows:
        called = row.get("verdict") == "explained"
        if row.get("class") == ("wrong" if called else "correct"):
            verdict = "called correct" if called else row["verdict"]
            lines.append(
                f"- **{row['id']}** ({row['half']}): {row['class']}, {verdict}; field error "
                f"{100 * row['field_error']:.2g}%. {'; '.join(row['equations'])}. Verdict: "
                f"{row['text']}"
            )
    return "\n".join(lines or ["None."]) + "\n"


def _failed(rows: Sequence[Row]) -> str:
    lines = [
        f"- **{row['id']}**: {row['status']}. {row['error'].strip().splitlines()[-1]}"
        for row in rows
        if row["status"] != "done"
    ]
    return "\n".join(lines or ["None."]) + "\n"


def _ordered(labels: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(labels))


def _count(rows: Sequence[Row], test: Callable[[Row], bool]) -> str:
    return _share(sum(test(row) for row in rows), len(rows))


def _share(part: int, whole: int, digits: int = 0) -> str:
    return f"{100 * part / whole:.{digits}f}%" if whole else "-"


def _table(lines: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
