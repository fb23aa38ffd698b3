"""Printed summaries: tables show what is known, and names are not interpreted as markup."""

import io
import math
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from orthoreg.findings import (
    Advice,
    CertificateRow,
    ConfoundedTerms,
    PathRow,
    Scores,
    Summary,
    TermRow,
    Verdict,
    certificate_table,
    renderables,
    score_table,
    table,
)

ROW = CertificateRow(
    equation="x", n_terms=2, fit_error=0.1, residual_share=0.2, library_share=0.0, overlap=0.0,
    penalty=0.0, bound=0.0, bound_holds=True, duality_gap=0.0,
)  # fmt: skip
SUMMARY = Summary(
    equations=("x' = -1.500 [a]",),
    verdict=Verdict("explained", "The equations explain the data [well]."),
    advice=(),
    scores=Scores(()),
    terms=(),
    confounded=(),
    certificate=(ROW,),
    orthogonality=math.inf,
    notes=(),
)

PATH = PathRow("x", (0, 1, 2), (1.0, 0.2, 0.1), (1.0, 0.01, 0.1), 1)


def printed(part: Any, width: int = 120) -> list[str]:
    stream = io.StringIO()
    Console(file=stream, width=width).print(part)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def section(text: str, title: str) -> list[str]:
    """Return the lines below a heading, up to the next empty line."""
    lines = text.splitlines()
    below = lines[lines.index(title) + 1 :]
    return below[: below.index("")] if "" in below else below


def test_titles_and_headers_are_no_markup():
    lines = printed(table("[red]title[/red]", ("[bold]w", "v [m]"), [("[i]1", "2")]), 80)
    assert " ".join(lines).split() == ["[red]title[/red]", "[bold]w", "v", "[m]", "[i]1", "2"]


@pytest.mark.parametrize(
    ("orthogonality", "bound"), [(math.inf, "exact"), (0.5, "0.25"), (0.0, "inf")]
)
def test_certificate_table_says_what_is_known(orthogonality, bound):
    value = math.inf if orthogonality == 0 else 0.125 / orthogonality
    row = replace(ROW, fit_error=3e-10, library_share=0.123, bound=value)
    last = printed(certificate_table([row], orthogonality))[-1].split()
    assert last == ["x'", "2", "<1e-8", "0.2", "12%", "0", "0", bound, "0"]


def test_a_bound_whose_assumption_fails_is_marked():
    row = replace(ROW, bound=0.5, bound_holds=False)
    assert printed(certificate_table([row], 0.5))[-1].split()[-2:] == ["0.5?", "0"]
    unknown = replace(row, bound=math.nan)
    assert printed(certificate_table([unknown], 0.5))[-1].split()[-2:] == ["-", "0"]


def test_terms_that_were_left_out_are_named_where_resamples_chose_them():
    terms = (
        TermRow("x", "[a]", -1.5, -1.6, -1.4, 0.7),
        TermRow("x", "b", 0.0, 0.0, 0.0, 0.3),
        TermRow("x", "c", 0.0, 0.0, 0.0, 0.01),
    )
    pair = ConfoundedTerms("x", "[a]", "b", 0.99, "x': one sentence [b].")
    text = str(replace(SUMMARY, terms=terms, confounded=(pair,)))
    _, *rows, sentence = section(text, "Terms (probability: bootstrap over runs)")
    assert [row.split() for row in rows] == [
        ["x'", "[a]", "-1.500", "-1.600", "to", "-1.400", "70%"],
        ["b", "left", "out", "30%"],
    ]
    assert sentence == "  x': one sentence [b]."


def test_the_stability_of_terms_is_no_probability_where_the_equation_lacks_something():
    terms = (
        TermRow("x", "a", -1.5, -1.6, -1.4, stability=0.7),
        TermRow("y", "b", 2.0, 1.9, 2.1, 0.9),
    )
    _, *rows, sentence = section(
        str(replace(SUMMARY, terms=terms)), "Terms (probability: bootstrap over runs)"
    )
    assert [row.split()[-1] for row in rows] == ["(70%)", "90%"]
    assert sentence.strip().startswith("In brackets")


def test_equations_verdict_and_advice_come_first_and_nothing_is_said_of_what_is_not_known():
    bare = str(SUMMARY).splitlines()
    assert bare[:2] == ["Equations", "x' = -1.500 [a]"]
    assert bare[3:5] == ["Verdict", "The equations explain the data [well]."]
    assert not {"What to try next", "Notes", "Terms (probability: bootstrap over runs)"} & set(bare)
    advice = (Advice("noise", "Filter [x]."), Advice("few-rows", "Measure more."))
    text = str(replace(SUMMARY, advice=advice, notes=("one [note].",)))
    assert section(text, "What to try next") == [
        "1. Filter [x]. [noise]", "2. Measure more. [few-rows]"
    ]  # fmt: skip
    assert section(text, "Notes") == ["- one [note]."]


def test_scores_name_the_data_and_the_first_failure():
    scores = Scores((), 0.01, 0.999, 0.2, forecasts=4, forecasts_failed=1, first_failure="run [3].")
    text = str(replace(SUMMARY, scores=scores, source="runs.csv", runs=1, samples=20))
    rows = section(text, "Errors on runs.csv: 1 run, 20 samples")
    assert [row.split() for row in rows] == [
        ["relative", "error"], ["derivative", "0.01"], ["derivative,", "R^2", "0.999000"],
        ["forecast", "0.2"], ["diverged", "1", "of", "4"],
        ["First", "failure:", "run", "[3]."],
    ]  # fmt: skip
    assert [row.split()[0] for row in printed(score_table("x", Scores((), r2=0.5)))] == (
        ["x", "relative", "derivative", "derivative,"]
    )


def test_dictionary_and_json_keep_everything():
    full = replace(
        SUMMARY, terms=(TermRow("x", "[a]", -1.5, -1.6, -1.4, 0.7),), source="runs.csv",
        advice=(Advice("noise", "Filter."),), notes=("note.",), runs=1, samples=2,
        confounded=(ConfoundedTerms("x", "a", "b", 0.9, "both."),), paths=(PATH,),
    )  # fmt: skip
    assert Summary.from_dict(full.to_dict()) == full
    assert '"orthogonality": "inf"' in full.to_json()


def test_the_error_by_number_of_terms_is_a_sparkline():
    lines = section(str(replace(SUMMARY, paths=(PATH,))), TITLE)
    assert [line.split() for line in lines] == [
        ["equation", "0", "to", "2", "terms", "in", "use", "error", "least"],
        ["x'", "█▁▅", "1", "0.01", "0.01"],
    ]
    elsewhere = replace(PATH, used=None)  # trajectories selected other terms
    assert section(str(replace(SUMMARY, paths=(elsewhere,))), TITLE)[1].split()[2:4] == ["-", "-"]
    assert TITLE not in str(SUMMARY)


TITLE = "Error on rows that were not fitted, by number of terms"


def test_tables_fit_eighty_columns():
    row = replace(
        ROW, equation="theta1", n_terms=12, fit_error=1.5e-6, residual_share=0.125, overlap=1.5e-16,
        library_share=1.0, penalty=2.5e-32, bound=1.2e-4, bound_holds=False, duality_gap=3.5e-32,
    )  # fmt: skip
    terms = (TermRow("theta1", "sin(theta1 - theta2)", -0.15, -0.16, -0.14, 0.7),)
    full = replace(SUMMARY, certificate=(row,), terms=terms, paths=(PATH,), orthogonality=0.5)
    for part in renderables(full):
        wide, narrow = printed(part), printed(part, 80)
        assert wide == narrow and max(map(len, wide)) <= 80


def test_long_names_are_folded_and_numbers_stay_whole():
    equation, term = "temperature_of_the_room", "temperature_of_the_room*flow_of_water"
    row = TermRow(equation, term, -0.000151234, -0.000160001, -0.000140001, 0.7)
    full = replace(
        SUMMARY, certificate=(replace(ROW, equation=equation),), terms=(row,), orthogonality=0.5
    )
    lines = [line for part in renderables(full)[1:] for line in printed(part, 80)]
    assert max(map(len, lines)) <= 80
    assert any("-0.0001512  -0.0001600 to -0.0001400          70%" in line for line in lines)
    assert f"{equation}'" in lines
    assert not any("…" in line for line in lines)


def test_a_notebook_shows_the_text_with_names_that_run_no_code():
    shown = replace(SUMMARY, equations=("<script>alert(1)</script>' = 0",))._repr_html_()
    assert shown.startswith("<pre>Equations\n&lt;script&gt;")
