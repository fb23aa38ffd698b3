"""`time_unit` sets the unit of times and therefore of all rates."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import orthoreg as og
from orthoreg.cli import run

HOURS = np.arange(0, 12, 0.25)
DECAY = np.exp(-0.5 * HOURS)
DATES = np.datetime64("2024-03-01T08:00:00") + (HOURS * 3600).astype("m8[s]")


def read(times, header="t", **options):
    return og.read_table({header: times, "x": DECAY}, "t", ["x"], **options)


@pytest.mark.parametrize(
    ("times", "header"),
    [
        (DATES, "t"),
        (DATES.astype(str), "t"),
        (DATES - DATES[0], "t"),
        (DATES.astype("M8[ms]").astype(np.int64), "t"),
        (3600 * HOURS, "t [s]"),
        (60 * HOURS, "t (minutes)"),
        (HOURS / 24, "t [d]"),
        (HOURS, "t [h]"),
        (HOURS, "t"),
    ],
)
def test_times_are_in_the_unit_that_was_asked_for(times, header):
    for word in ("h", "hours"):
        data = read(times, header, time_unit=word)
        assert_allclose(data.times, HOURS, atol=1e-9)
        assert data.units["t"] == "h"


def test_rates_are_per_unit():
    model = og.OrthoReg("x", og.Zero()).fit(read(DATES, time_unit="h"))
    assert model.coefficients_[0, 0] == pytest.approx(-0.5, rel=1e-3)


def test_a_conversion_is_noted_and_a_unit_is_named():
    assert "times are hours since" in str(read(DATES, time_unit="h").notes[0])
    assert "'t' is in seconds; its times were converted to hours." in map(
        str, read(HOURS, "t [s]", time_unit="h").notes
    )
    assert read(DATES).units["t"] == "s" and read(DATES).times[1] == 900
    with pytest.raises(og.DataError, match="^time_unit must be one of 'ns', .*; got 'fortnight'"):
        read(HOURS, time_unit="fortnight")


def test_rates_in_the_unit_of_the_header_are_not_left_behind():
    table = {"t [s]": HOURS, "x": DECAY, "v": -0.5 * DECAY}
    with pytest.raises(og.DataError, match="time_unit must be omitted or be 's'"):
        og.read_table(table, "t", ["x"], derivatives=["v"], time_unit="h")


@pytest.mark.slow
def test_a_model_keeps_its_unit_for_other_tables(tmp_path, capsys):
    for name, times in (("dates", DATES), ("seconds", 3600 * HOURS)):
        header = "t" if name == "dates" else "t [s]"
        lines = [f"{t},{x}" for t, x in zip(times, DECAY, strict=True)]
        (tmp_path / f"{name}.csv").write_text("\n".join([f"{header},x", *lines]) + "\n")
    dates, out = str(tmp_path / "dates.csv"), str(tmp_path / "out")
    asked = ["--time", "t", "--states", "x", "--library", "poly(1)", "--residual", "0"]
    assert run(["fit", dates, *asked, "--time-unit", "h", "--out", out]) == 0
    model = og.load(tmp_path / "out" / "dates.orthoreg")
    assert model.coefficients_[0, 1] == pytest.approx(-0.5, rel=1e-3)
    for table in (dates, str(tmp_path / "seconds.csv")):
        assert run(["evaluate", str(tmp_path / "out" / "dates.orthoreg"), table, "--json"]) == 0
    assert "Convert the column" not in capsys.readouterr().err
