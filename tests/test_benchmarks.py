"""The benchmarks judge models correctly: their cases, classes and bounds."""

from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import ablations, sweeps
from benchmarks._jobs import run_jobs, stored
from benchmarks.boards._page import page as boards_page
from benchmarks.boards._snippets import code_lines
from benchmarks.boards._strogatz import SYSTEMS as STROGATZ
from benchmarks.boards._strogatz import TIMES, clean_runs
from benchmarks.boards._strogatz import fit_case as strogatz_case
from benchmarks.dysts._flows import monomial, structure
from benchmarks.truth._case import _canonical, _judged
from benchmarks.truth._cases import IN_VIEW, cases
from benchmarks.truth._information import covariance
from benchmarks.truth._system import Drawn, System
from benchmarks.truth._systems import SYSTEMS
from orthoreg.terms import feature_names, parse_library

DECAY = System("decay", {"k": 0.8}, {"x": {"x": "-k"}}, "poly(2)", (1.0,), (2.0,), 3.0, 40, 2)


def test_cases_are_about_200_in_two_halves_and_known_ones_are_not_held_out():
    every = cases()
    assert len({case["id"] for case in every}) == len(every) and 180 <= len(every) <= 220
    held_out = {case["system"] for case in every if case["half"] == "held-out"}
    assert not held_out & set(IN_VIEW)
    assert 0.4 < np.mean([case["half"] == "held-out" for case in every]) < 0.6


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_a_library_has_the_true_terms_and_the_lacking_one_does_not(system):
    names = [*system.states, *system.inputs]

    def offered(text):
        return {_canonical(term) for term in feature_names(parse_library(text), names)}

    truth = {_canonical(term) for row in system.equations.values() for term in row}
    if set(system.groups) - {"physics"}:
        assert truth <= offered(system.library)
    if "lacking" in system.groups:
        assert truth - offered(system.lacking)


def _model(drawn: Drawn, factor: float, extra: float = 0.0) -> SimpleNamespace:
    row = np.array([[0.0, -factor * drawn.constants["k"], extra]])
    return SimpleNamespace(
        feature_names_=["1", "x", "x**2"], coefficients_=row, parameters_={},
        decompose=lambda x, u: (x * row[0, 1] + x**2 * extra, 0 * x),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("factor", "extra", "noise", "expected"),
    [
        (1.02, 0.0, 0.0, "correct"),
        (1.1, 0.0, 0.0, "wrong"),  # the right terms with wrong constants
        (1.1, 0.0, 0.6, "correct"),  # the noise does not permit a better model
        (1.0, 0.001, 0.0, "equivalent"),
        (1.0, 0.1, 0.0, "wrong"),
    ],
)
def test_a_model_is_correct_equivalent_or_wrong(monkeypatch, factor, extra, noise, expected):
    monkeypatch.setitem(SYSTEMS, "decay", DECAY)
    drawn = DECAY.drawn(0)
    runs = drawn.simulate(DECAY.rows, DECAY.runs, 0)
    case = {"system": "decay", "group": "plain", "noise": noise, "right": True}
    spread = np.concatenate(runs.states).std(axis=0)
    result = _judged(case, drawn, runs, runs, _model(drawn, factor, extra), spread)
    assert result["class"] == expected


def test_the_bound_on_a_decay_rate_is_that_of_its_formula():
    """The derivative of x = a exp(-k t) by k, without the part that a change of a explains."""
    drawn = Drawn(DECAY, {"k": 0.8})
    runs = drawn.simulate(40, 1, 0)
    t, a = runs.times, runs.starts[0][0]
    by_rate, by_start = -a * t * np.exp(-0.8 * t), np.exp(-0.8 * t)
    rest = by_rate - by_start * (by_start @ by_rate) / (by_start @ by_start)
    found = covariance(drawn, runs, (0.05,), ("k",))
    assert found is not None
    assert found[0, 0] == pytest.approx(0.05**2 / (rest @ rest), rel=1e-4)
    same = covariance(drawn, runs, (0.05,), ((0, "x"),))
    assert same is not None and same[0, 0] == pytest.approx(found[0, 0], rel=1e-6)


def test_held_inputs_are_held_between_rows():
    drawn = SYSTEMS["RC low-pass"].drawn(0)
    runs = drawn.simulate(50, 1, 0)
    v, u, step = runs.states[0][:, 0], runs.inputs[0][:, 0], runs.times[1]
    share = np.exp(-drawn.constants["k"] * step)
    np.testing.assert_allclose(v[1:], u[:-1] + (v[:-1] - u[:-1]) * share, rtol=1e-7, atol=1e-8)


def test_structures_are_compared_by_monomials():
    assert monomial("x0**2*x1", 3) == (2, 1, 0) and monomial("1", 2) == (0, 0)
    truth = [{(1, 0): 2.0}, {(0, 1): -1.0, (2, 0): 0.5}]
    found = [{(1, 0): 2.2}, {(0, 1): -1.0, (0, 0): 0.1}]
    result = structure(found, truth)
    assert (result["exact"], result["missed"], result["spurious"]) == (False, 1, 1)
    assert result["f1"] == pytest.approx(2 / 3)
    assert result["coefficient_error"] == pytest.approx(0.1)
    assert structure(truth, truth)["exact"]


@pytest.mark.slow
def test_jobs_are_stored_and_not_run_again(tmp_path):
    store = tmp_path / "jobs.jsonl"
    case = {"id": "a", "value": 3}
    done = run_jobs("builtins:dict", [case], store, revision="r")
    assert done["a"]["status"] == "done" and done["a"]["value"] == 3
    again = run_jobs("builtins:nothing", [case], store, revision="r")
    assert again == done == stored(store, "r")
    failed = run_jobs("json:loads", [{**case, "id": "b"}], store, revision="r")
    assert failed["b"]["status"] == "failed" and "TypeError" in failed["b"]["error"]


def test_a_swept_limit_is_changed_wherever_it_is_used():
    from orthoreg.data import _limits
    from orthoreg.fitting import _fit

    before = _limits.CLEAN
    try:
        sweeps._scale("data", "CLEAN", 2.0)
        assert _limits.CLEAN == _fit.CLEAN == 2 * before
    finally:
        ablations.set_name("data._limits", "CLEAN", before)


def test_every_swept_limit_is_there():
    values = sweeps._values()
    assert len(values) == sum(map(len, sweeps.SWEPT.values()))
    assert all(np.isfinite(value) and value > 0 for value in values.values())


def test_the_table_of_sweeps_names_what_changes():
    usual = {"case": "a", "class": "correct", "explained": True, "held": 9, "intervals": 10}
    row = {"package": "data", "limit": "CLEAN", "factor": 0.5} | usual
    rows = [
        {"package": "", "limit": sweeps.AS_IT_IS, "factor": 1.0} | usual,
        row,
        row | {"factor": 2.0, "class": "wrong", "held": 5},
    ]
    record = {"revision": "x", "values": {"data CLEAN": 1e-3}, "rows": rows}
    text = sweeps.page(record)
    change = "a correct, explained → wrong, explained; coverage 90 → 50%"
    assert f"| `data.CLEAN` | 0.001 | - | {change} |" in text
    assert "1 of 1 limits change" in text


def test_lines_of_a_program_do_not_include_its_documentation():
    assert code_lines("discover") == 4  # import, def, fit and return


@pytest.mark.parametrize(
    ("system", "run", "slope"),
    [
        ("bacterial respiration", 0, 8.21314775719214),
        ("bacterial respiration", 3, 11.0117129332459),
        ("van der Pol", 3, 10.0298820788784),
    ],
)
def test_ode_strogatz_has_the_derivatives_of_the_published_tables(system, run, slope):
    """The first derivative of a run, which the published table states for its initial state."""
    field, starts = STROGATZ[system]
    assert field(np.array(starts[run]))[0] == pytest.approx(slope, rel=1e-8)
    assert clean_runs(system)[run].shape == (len(TIMES), 2) == (100, 2)


def test_a_program_that_finds_the_equations_has_exact_derivatives_and_a_good_forecast():
    case = {"system": "competition", "noise": 0.0, "seed": 0, "methods": ["library", "missing"]}
    fits = strogatz_case(case)["fits"]
    assert fits["library"]["r2"] > 0.999 and fits["library"]["error"] < 0.01
    assert fits["missing"]["r2"] is None and "missing" in fits["missing"]["failure"]


def test_the_page_of_the_boards_names_where_another_tool_is_better():
    rows = [
        {"system": system, "noise": 0.0, "seed": 0, "method": method, "r2": r2, "error": 0.5,
         "seconds": 1.0}
        for system in STROGATZ
        for method, r2 in (("discover", 0.2), ("operon", 0.99), ("pysindy_validated", None))
    ]  # fmt: skip
    text = boards_page({"revision": "abc", "rows": rows, "lines": {"operon": 32}})
    assert "ODE-Strogatz at 0% noise (0%, Operon 100%)" in text
    assert "| ODE-Strogatz | 0% | 0% | 0% | **100%** |" in text
    assert "7 of 14 data sets" in text
