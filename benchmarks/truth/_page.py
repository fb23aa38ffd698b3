"""The record of what is said and what is true, as Markdown."""

import re
from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Any

Row = dict[str, Any]

BINS = ((0.0, 0.1), (0.1, 0.5), (0.5, 0.9), (0.9, 0.99), (0.99, 1.0))
CHANGES = ("second-order", "larger-library", "missing-variable", "time-dependent", "explain")
"""Codes of advice that proposes another model."""
HELPFUL = ("larger-library", "explain")
"""Codes of advice that fit a library or an equation that lacks a term."""
_EXPLAIN = re.compile(r"model\.explain|orthoreg explain|`explain`|explain\(")
TARGETS = "Targets: 97% of the correct and at most 2% of the wrong models are called correct."


def render(record: dict[str, Any]) -> str:
    """The section of the page of benchmarks."""
    text = (
        "## Are verdicts true?\n\nSystems whose equations are known: whether the "
        f"verdict is true ([details](truth.md)). {TARGETS} Revision {record['revision']}.\n\n"
    )
    return text + _verdicts(record["rows"], _halves)


def page(record: dict[str, Any]) -> str:
    """The page with all cases."""
    rows = record["rows"]
    return "\n".join(
        [
            _about(record),
            "## Verdicts\n",
            f"{TARGETS}\n",
            _verdicts(rows, _halves),
            _verdicts(rows, lambda row: [row["group"]], "group"),
            _verdicts(rows, lambda row: [f"{100 * row['noise']:g}%"], "noise"),
            "## Probabilities of terms\n",
            "Share of true terms among terms with a probability in the summary, for libraries "
            "with all terms. Target: within 5 points of the mean probability in the bin from 90 "
            "to 99%.\n",
            _calibration(rows),
            "## Intervals\n",
            "Share of 95% intervals that contain the true value, for models with the true terms. "
            "Correlated constants have a correlation of at least 0.9 with another one at the "
            "Cramer-Rao bound; this column excludes chaotic systems. Target: 90 to 98%.\n",
            _intervals(rows),
            "## Advice\n",
            _advice(rows),
            *_hard(record.get("hard", ())),
            "## CPU seconds\n",
            _seconds(rows),
            "## Misjudged\n",
            _misjudged(rows),
            "## Failed\n",
            _failed(rows),
        ]
    )


def before(record: dict[str, Any]) -> str:
    """The section on an earlier revision."""
    rows = record["rows"]
    text = f"## Before\n\nRevision {record['revision']}, {len(rows)} of these cases.\n\n"
    return text + _verdicts(rows, _halves) + "\n" + _verdicts(rows, lambda r: [r["group"]], "group")


def _about(record: dict[str, Any]) -> str:
    rows = record["rows"]
    systems = len({row["system"] for row in rows})
    return (
        "# Are verdicts true?\n\n"
        f"Written by `python -m benchmarks truth`; revision {record['revision']} of the source. "
        f"{len(rows)} cases of {systems} systems with constants and starts drawn from a seed, "
        "fitted with `og.OrthoReg(library=...)`, in the group *physics* also with `physics=...`, "
        "and otherwise with defaults. *lacking*: the library lacks a term. *wrong physics*: an "
        "given equation lacks one. *positions*: velocities are not measured.\n\n"
        "- **correct**: the terms are the true ones, and every constant is within 3% or within "
        "three standard errors of the Cramer-Rao bound;\n"
        "- **equivalent**: otherwise, if the equations (without a residual) give the derivatives "
        "of runs from other starts within 0.2% plus twice the relative noise, at most 5%, in "
        "each equation; these count neither as correct nor as wrong;\n"
        "- **wrong**: all others.\n\n"
        "A model is *called correct* if the verdict is `explained`. Settings were chosen on the "
        "development half. Systems that were known to be misjudged when this benchmark was made "
        "belong to this half; all others are assigned by a hash of their name.\n"
    )


def _hard(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return []
    return [
        "## Few and noisy rows\n",
        f"{len(rows)} more cases with complete libraries, in which the data often do not determine "
        "the terms: at most two runs with a fifth of the rows (at least 30) and 5 to 20% noise, "
        "four seeds. If other terms explain the data as well, so that the chosen ones are correct "
        "with a probability below one half, the verdict is `noise-limited`.\n",
        _verdicts(rows, _halves),
        _verdicts(rows, lambda row: [f"{100 * row['noise']:g}%"], "noise"),
        "Share of true terms by their probability:\n",
        _calibration(rows),
        "Share of 95% intervals that contain the true value, for models with the true terms:\n",
        _intervals(rows),
    ]


def _halves(row: Row) -> list[str]:
    return ["all", row["half"]]


def _verdicts(rows: Sequence[Row], labels: Callable[[Row], list[str]], what: str = "half") -> str:
    lines = [[what, "cases", "correct", "called correct", "wrong", "called correct", "equivalent",
              "called correct", "failed"]]  # fmt: skip
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
    """Probability, and whether the term is true, of the terms in a record."""
    texts = [text.rstrip("?") for text in row["terms"].split()]
    return [(float(text[:-1]), text.endswith("+")) for text in texts]


def _calibration(rows: Sequence[Row]) -> str:
    lines = [["probability", "half", "terms", "mean probability", "true"], ["---"] * 5]
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
        ["half", "wrong models", "with advice", "that fits or names explain", "correct models",
         "with advice", "that changes the model"],
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
    lines = [["group", "fit, median", "fit, worst", "summary, median", "summary, worst"],
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
            said = "called correct" if called else row["verdict"]
            lines.append(
                f"- **{row['id']}** ({row['half']}): {row['class']}, {said}; field error "
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
