"""A summary as data, as text and as JSON."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from orthoreg.findings import (
    Advice,
    CertificateRow,
    ConfoundedTerms,
    EquationScore,
    Scores,
    Summary,
    TermRow,
    Verdict,
    as_text,
    certificate_table,
    diagnoses,
    equation_lines,
    renderables,
    score_table,
    table,
)
from orthoreg.findings._findings import CODES
from orthoreg.findings._notes import certificate_notes
from orthoreg.findings._words import percent, whole_percent


def row(**changes):
    values = dict(
        equation="x", n_terms=2, fit_error=0.1, residual_share=0.2, library_share=0.0, overlap=0.0,
        penalty=0.0, bound=0.0, bound_holds=True, duality_gap=0.0,
    )  # fmt: skip
    return CertificateRow(**{**values, **changes})


@pytest.fixture
def summary():
    return Summary(
        equations=("x' = -1.500 [a]",),
        verdict=Verdict("explained", "All is well."),
        advice=(Advice("noise", "Measure [b] again."), Advice("few-rows", "Measure more.")),
        scores=Scores(
            (EquationScore("x", "explained", "It is.", False, 0.1),), 0.01, 0.999, 0.02, 3, 1,
            "The rollout [c] left.",
        ),
        terms=(
            TermRow("x", "[a]", -1.5, -1.6, -1.4, 0.7),
            TermRow("x", "b", 0.0, 0.0, 0.0, 0.3),
            TermRow("x", "c", 0.0, 0.0, 0.0, 0.01),
        ),
        confounded=(ConfoundedTerms("x", "[a]", "b", 0.995, "x': one sentence [b]."),),
        certificate=(row(penalty=math.nan),),
        orthogonality=math.inf,
        notes=("Mind [this].",),
        source="runs.csv",
        runs=3,
        samples=30,
    )  # fmt: skip


def printed(part):
    console = Console(width=120, color_system=None)
    with console.capture() as capture:
        console.print(part)
    return [line.rstrip() for line in capture.get().splitlines()]


def test_it_goes_through_plain_data_and_back(summary):
    finite = replace(summary, certificate=(row(),))
    assert Summary.from_dict(finite.to_dict()) == finite
    values = json.loads(summary.to_json())
    assert values["orthogonality"] == "inf" and values["certificate"][0]["penalty"] is None
    assert values["verdict"] == {"code": "explained", "text": "All is well."}
    assert [one["code"] for one in values["advice"]] == ["noise", "few-rows"]


def test_text_has_equations_verdict_and_advice_first(summary):
    lines = str(summary).splitlines()
    assert str(summary) == as_text(summary) and str(summary).isascii()
    assert lines[:9] == [
        "Equations", "x' = -1.500 [a]", "", "Verdict", "All is well.", "", "What to try next",
        "1. Measure [b] again. [noise]", "2. Measure more. [few-rows]",
    ]  # fmt: skip
    assert "- Mind [this]." in lines and "  First failure: The rollout [c] left." in lines
    assert "Errors on runs.csv: 3 runs, 30 samples" in lines


def test_terms_that_were_left_out_are_named_where_resamples_chose_them(summary):
    lines = printed(renderables(summary)[3])
    assert lines[0] == "Terms (probability: bootstrap over runs)" and "95% interval" in lines[1]
    assert [line.split() for line in lines[2:4]] == [
        ["x'", "[a]", "-1.500", "-1.600", "to", "-1.400", "70%"],
        ["b", "left", "out", "30%"],
    ]  # fmt: skip
    assert lines[4:] == ["  x': one sentence [b]."]


def test_without_evidence_or_advice_there_is_no_heading(summary):
    bare = replace(summary, advice=(), notes=(), terms=(TermRow("x", "a", 1.0),), source=None)
    text = str(bare)
    for words in ("What to try next", "Terms", "Notes", "Errors on"):
        assert words not in text


def test_long_equations_stay_on_one_line(summary):
    equation = "x' = " + " + ".join(f"{k}.000 sin({k}*x)" for k in range(1, 60))
    assert equation in str(replace(summary, equations=(equation,))).splitlines()
    assert str(equation_lines([equation], [equation])).splitlines() == [
        "Equations", f"found  {equation}", f"truth  {equation}",
    ]  # fmt: skip


def test_titles_and_headers_are_no_markup():
    lines = printed(table("[red]title[/red]", ("[bold]w", "v [m]"), [("[i]1", "2")]))
    assert " ".join(lines).split() == ["[red]title[/red]", "[bold]w", "v", "[m]", "[i]1", "2"]


@pytest.mark.parametrize(
    ("orthogonality", "changes", "bound"),
    [
        (math.inf, {}, "exact"),
        (0.5, {"bound": 0.25}, "0.25"),
        (0.5, {"bound": 0.25, "bound_holds": False}, "0.25?"),
        (0.0, {"bound": math.inf}, "inf"),
    ],
)
def test_certificate_table_says_what_is_known(orthogonality, changes, bound):
    one = row(fit_error=3e-10, library_share=0.123, **changes)
    cells = printed(certificate_table([one], orthogonality))[-1].split()
    assert cells == ["x'", "2", "<1e-8", "0.2", "12%", "0", "0", *bound.split(), "0"]


def test_scores_that_were_not_measured_are_not_shown():
    assert "R^2" not in " ".join(printed(score_table("Title", Scores((), forecasts=2))))
    assert "diverged" not in " ".join(printed(score_table("Title", Scores((), r2=0.5))))


@pytest.mark.parametrize(
    ("share", "size", "said"), [(0.8, 0.2, True), (0.4, 0.2, False), (0.8, 0.001, False)]
)
@pytest.mark.parametrize(
    ("is_selected", "overlap", "reason"),
    [
        (False, 0.0, "terms that were left out; decrease sparsity to include them."),
        (True, 0.0, "terms that were left out because they did not hold"),
        (True, 0.1, "terms; increase orthogonality to prevent this."),
    ],
)
def test_a_residual_that_the_library_could_represent_is_pointed_out(
    share, size, said, is_selected, overlap, reason
):
    one = row(library_share=share, residual_share=size, overlap=overlap)
    notes = " ".join(certificate_notes([one], [], is_selected=is_selected))
    line = f"80% of the residual of x' could be represented by library {reason}"
    assert (line in notes) is said


def test_dependent_terms_are_named():
    (note,) = certificate_notes([row(residual_share=0.0)], ["y = 2 x"], is_selected=True)
    assert note == "On these data, y = 2 x, so the data cannot distinguish these terms."


def test_every_code_of_advice_is_listed():
    sources = [file.read_text() for file in Path(diagnoses.__file__).parent.glob("_*.py")]
    used = {code for text in sources for code in re.findall(r'Advice\(\s*"([\w-]+)"', text)}
    assert used and used <= set(CODES)


@pytest.mark.parametrize(
    ("share", "text", "rounded"),
    [(-0.001, "-0.1%", "0%"), (-2.3, "-230%", "-230%"), (-1e-9, "less than 0.01%", "0%"),
     (math.nan, "not known", "-")],
)  # fmt: skip
def test_no_share_is_printed_as_minus_zero_or_nan(share, text, rounded):
    assert (percent(share), whole_percent(share)) == (text, rounded)
