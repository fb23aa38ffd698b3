"""Targets of the default from synthetic records: each can be reached and missed."""

import pytest

from paper import (
    Reproduction,
    Scale,
    complete_library,
    extrapolation,
    read,
    write,
)
from paper._command import as_dict
from paper._extrapolation_page import extrapolation_page
from paper._targets import OURS, SPLITS, targets


def records(change=None, ours=1e-4, others=1.0):
    """All settings, three seeds; `change` gives other values by (setting, method, metric)."""
    rows = []
    for setting in extrapolation.SETTINGS:
        for method in extrapolation.METHODS:
            error = ours if method == OURS else others
            values = {f"derivative.{split}": error for split in SPLITS}
            values |= {"derivative.t3-adapted": 0.05 * error, "f1@0.001": 1.0, "overlap": 0.0}
            values |= {f"diverged.{split}": 0 for split in SPLITS}
            rows += [(setting, method, metric, value) for metric, value in values.items()]
    for setting in complete_library.SETTINGS:
        rows += [(setting, OURS, "f1@0.001", 1.0), (setting, OURS, "overlap", 0.0)]
    return [
        {
            "setting": setting, "method": method, "seed": seed, "metric": metric,
            "value": (change or {}).get((setting, method, metric), value),
        }
        for setting, method, metric, value in rows
        for seed in range(3)
    ]  # fmt: skip


def test_all_targets_can_be_reached():
    found = targets(records())
    assert len(found) == 2 + 3 + 2 + 3 + 3 + len(complete_library.SETTINGS)
    assert all(one.holds for one in found)


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("pendulum/low", OURS, "derivative.t2"), 0.006, "at most 0.005"),
        (("pendulum/low", OURS, "f1@0.001"), 0.8, "low difficulty: F1"),
        (("pendulum/medium", OURS, "derivative.t2"), 0.06, "at most 0.05"),
        (("pendulum/medium", "l2", "derivative.t2"), 5e-4, "at most a tenth"),
        (("pendulum/medium", OURS, "derivative.id"), 2e-3, "below 0.001"),
        (("pendulum/high", OURS, "derivative.t2"), 0.11, "at most 0.1"),
        (("pendulum/high", "stlsq", "derivative.t2"), 5e-5, "no worse than"),
        (("pendulum/low", OURS, "derivative.t3-adapted"), 2e-5, "after adapting"),
        (("duffing", "pure@0.001", "derivative.t2"), 5e-5, "at most 1.1 times"),
        (("sir", OURS, "diverged.ext"), 1, "no diverged rollout"),
        (("sir/complete/noise=1%", OURS, "f1@0.001"), 0.9, "SIR, noise 1%: F1"),
    ],
)
def test_each_target_can_be_missed(place, value, words):
    missed = [one.text for one in targets(records({place: value})) if not one.holds]
    assert any(words in text for text in missed), missed
    assert len(missed) <= 2


def test_three_quarters_of_the_cells_are_enough_and_fewer_are_not():
    cells = [(s, "l2", f"derivative.{split}") for s in extrapolation.SETTINGS for split in SPLITS]
    for count, enough in ((len(cells) // 4, True), (len(cells) // 4 + 1, False)):
        change = dict.fromkeys(cells[-count:], 5e-5)
        (part,) = [one for one in targets(records(change)) if "combinations" in one.text]
        assert part.holds == enough


def test_nothing_is_said_without_records():
    assert targets([]) == ()


def test_the_page_has_every_target():
    rows = records({("sir", OURS, "diverged.t2"): 2})
    found = targets(rows)
    page = extrapolation_page(rows, found, "picture.png")
    assert page.count("| yes |") == len(found) - 1 and page.count("| no |") == 1
    assert "](picture.png)" in page and "Pendulum, high difficulty, irregular times" in page


@pytest.mark.slow
def test_records_tables_figure_and_page_are_written_and_read_again(tmp_path):
    rows = tuple(records())
    files = write(Reproduction(("extrapolation",), Scale(), rows, ()), tmp_path)
    names = {path.relative_to(tmp_path).as_posix() for path in files}
    assert {"records.csv", "extrapolation.md", "figures/extrapolation.png",
            "tables/extrapolation.csv", "tables/complete_library.md"} <= names  # fmt: skip
    again = read(tmp_path, ["extrapolation"])
    assert again.targets == targets(rows)
    assert again.beyond_page() == (tmp_path / "extrapolation.md").read_text()
    assert as_dict(again, files)["targets"][0]["reached"] is True
