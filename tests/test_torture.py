"""The harness of attacks counts each kind of failure, and then continues."""

import json

import pytest
import torture_attacks  # noqa: F401  registers the attacks below
from torture_attacks import __file__ as ATTACKS_FILE

from torture._attack import ATTACKS, all_attacks, attack
from torture._page import DOCS, RECORD, page, statements
from torture._run import run_attacks


def run(name, monkeypatch, **options):
    monkeypatch.setenv("PYTHONPATH", ATTACKS_FILE.rpartition("/")[0])
    return run_attacks([ATTACKS[name]], **options)[0]


@pytest.mark.parametrize(
    ("name", "trials", "refused", "broken", "error"),
    [
        ("refusal", 3, 3, 0, None),
        ("raw-error", 4, 0, 1, "ValueError: cannot reshape"),
        ("broken", 2, 0, 2, "it does not hold"),
        ("busy", 2, 0, 2, "Hang: more CPU time"),
        ("asleep", 2, 0, 2, "no progress for 1 s"),
        ("dead", 2, 0, 2, "the process ended with 3"),
        ("large", 2, 0, 1, "MiB of memory"),
        ("huge", 1, 0, 1, "MemoryError: "),
    ],
)
def test_failures_are_counted(name, trials, refused, broken, error, monkeypatch):
    entry = run(name, monkeypatch)
    assert [entry[key] for key in ("trials", "refused", "broken")] == [trials, refused, broken]
    assert len(entry["failures"]) == (error is not None)
    for failure in entry["failures"]:
        assert error in failure["error"] and failure["count"] == broken
        assert failure["trial"] == (2 if name == "raw-error" else 0)


def test_one_trial_can_be_repeated(monkeypatch):
    assert run("raw-error", monkeypatch, first=2, trials=1)["broken"] == 1
    assert run("raw-error", monkeypatch, first=1, trials=1)["broken"] == 0


def test_statements_with_a_probability_are_tested_over_all_trials(monkeypatch):
    entry = run("rare", monkeypatch)
    kept, rare = entry["statements"]
    assert (kept["cases"], kept["true"], kept["rejected"]) == (40, 36, False)
    assert (rare["cases"], rare["true"], rare["rejected"]) == (40, 20, True)
    assert rare["promised"] == pytest.approx(0.9)
    assert entry["broken"] == 1
    assert entry["failures"][0]["error"] == "too rare: 20 of 40 cases instead of 90.0%"
    assert "| rare | too rare | 40 | 90.0% | 50.0% |" in statements([entry])


def test_few_cases_reject_nothing(monkeypatch):
    assert run("rare", monkeypatch, trials=3)["broken"] == 0


def test_time_is_limited(monkeypatch):
    assert run("refusal", monkeypatch, minutes=0)["trials"] <= 1


def test_the_page_names_attacks_failures_and_promises(monkeypatch):
    entries = [run(name, monkeypatch) for name in ("raw-error", "refusal")]
    record = {"machine": "a machine", "seed": 0, "attacks": json.loads(json.dumps(entries))}
    text = page(record)
    assert "| test | raw-error | 4 | 0 | 1 |" in text
    assert "| | all | 7 | 3 | 1 |" in text
    assert "raw-error, trial 2 (1 times): `ValueError: cannot reshape" in text
    assert "- **refusal**: Wrong input is refused." in text


def test_the_page_is_that_of_its_record():
    record = json.loads(RECORD.read_text())
    assert DOCS.read_text() == page(record)
    assert sum(entry["broken"] for entry in record["attacks"]) == 0
    assert {entry["name"] for entry in record["attacks"]} <= set(all_attacks())


def test_attacks_have_a_promise_and_a_unique_name():
    assert len(all_attacks()) >= 2
    with pytest.raises(ValueError, match="no docstring"):
        attack("test", trials=1)(lambda rng, folder: None)
