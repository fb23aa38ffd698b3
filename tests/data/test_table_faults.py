"""Faults of tables are repaired on request and counted, or reported with place and option."""

import gzip

import numpy as np
import pandas as pd
import pytest
from small_table import CSV, written

import orthoreg as og
from orthoreg import DataError, DataWarning, read_table


def repaired(tmp_path, content, **options):
    data = read_table(written(tmp_path, content), "t", ["x"], repair=True, **options)
    return data, {note.code: note.count for note in data.notes if note.is_repair}


def test_rows_without_values_are_left_out_and_counted(tmp_path):
    content = "t,x,u\n0,1,\n1,NA,\n2,3,\n,4,\n4,-,\n5,err,\n6,7,\n7,inf,\n8,off,1\n"
    data, repairs = repaired(tmp_path, content, missing="off")
    assert data.times.tolist() == [0, 2, 6] and data.states.ravel().tolist() == [1, 3, 7]
    assert repairs == {"missing": 6}
    assert "5 of 'x'" in str(data.notes[-1]) and "1 of 't'" in str(data.notes[-1])


def test_sensors_that_write_at_their_own_times_are_filled_in(tmp_path):
    """Two sensors in a long table have different rates. The slow one is interpolated within its own
    steps, but not across its gap or beyond its ends."""
    fast = np.arange(0, 24, 0.1).round(1)
    slow = np.r_[0.05:8:0.3, 16.05:22:0.3].round(2)
    rows = [(t, "x", np.sin(t)) for t in fast] + [(t, "y", np.cos(t)) for t in slow]
    content = "t,name,value\n" + "".join(f"{t},{n},{v}\n" for t, n, v in sorted(rows))
    options = dict(long=("name", "value"), group=None)
    with pytest.raises(DataError, match="line 3: 'x' has no value .* fill=True to fill"):
        read_table(written(tmp_path, content), "t", ["x", "y"], **options)
    with pytest.raises(DataError, match="no row has values in all columns"):
        read_table(written(tmp_path, content), "t", ["x", "y"], repair=True, **options)
    data = read_table(written(tmp_path, content), "t", ["x", "y"], fill=True, **options)
    np.testing.assert_allclose(
        data.states, np.column_stack([np.sin(data.times), np.cos(data.times)]), atol=2e-3
    )
    assert data.n_runs == 2 and data.times.min() >= 0.05 and data.times.max() <= slow.max()
    assert not ((data.times > slow[26]) & (data.times < 16)).any()
    assert {note.code for note in data.notes} == {"long", "filled", "missing", "gaps"}


def test_a_number_may_stand_for_a_missing_value(tmp_path):
    content = "t,x\n0,1\n1,-999\n2,-999.0\n3,4\n"
    data, repairs = repaired(tmp_path, content, missing="-999")
    assert data.times.tolist() == [0, 3] and repairs == {"missing": 2}
    with pytest.raises(DataError, match="line 3: column 'x' contains '-999', a missing value"):
        read_table(written(tmp_path, content), "t", ["x"], missing="-999")


def test_times_are_sorted_and_rows_of_one_time_averaged(tmp_path):
    data, repairs = repaired(tmp_path, "t,x\n0,1\n2,4\n1,2\n3,8\n2,6\n4,7\n")
    assert data.times.tolist() == [0, 1, 2, 3, 4]
    assert data.states.ravel().tolist() == [1, 2, 5, 8, 7]
    assert repairs == {"sorted": 4, "doubled": 1}


def test_runs_are_cut_where_times_begin_again(tmp_path):
    rows = "".join(f"{t},{t + k}\n" for k in range(3) for t in range(10))
    data, repairs = repaired(tmp_path, "t,x\n" + rows)
    assert data.offsets.tolist() == [0, 10, 20, 30] and data.labels == ("0.1", "0.2", "0.3")
    assert repairs == {"restarts": 2}


def test_runs_are_cut_at_gaps(tmp_path):
    times = [*range(10), *range(100, 102), *range(200, 210)]
    content = "t,x\n" + "".join(f"{t},{t % 7}\n" for t in times)
    data, repairs = repaired(tmp_path, content)
    assert data.offsets.tolist() == [0, 10, 20] and data.times[10] == 200
    assert repairs == {"gaps": 2, "short": 1}
    with pytest.warns(DataWarning, match="after t = 9 the next row .* first of 2. Pass repair=Tru"):
        assert read_table(written(tmp_path, content), "t", ["x"]).n_runs == 1
    assert repaired(tmp_path, content, gap=1000)[1] == {}


def test_steps_that_grow_are_no_gaps(tmp_path):
    content = "t,x\n" + "".join(f"{2.0**k},{k}\n" for k in range(40))
    assert read_table(written(tmp_path, content), "t", ["x"]).n_runs == 1
    assert repaired(tmp_path, content)[1] == {}


def test_a_sound_table_needs_no_repair(tmp_path, pendulum_runs):
    run = pendulum_runs.run_of_row
    frame = pd.DataFrame(pendulum_runs.states, columns=list(pendulum_runs.state_names))
    frame = frame.assign(t=pendulum_runs.times, run=run)
    names = list(pendulum_runs.state_names)
    plain, mended = (read_table(frame, "t", names, group="run", repair=r) for r in (False, True))
    assert np.array_equal(plain.states, mended.states) and plain.labels == mended.labels
    assert mended.notes == ()


def test_a_repair_of_many_runs_goes_run_by_run(tmp_path):
    rows = "a,0,1\nb,0,5\na,2,3\nb,1,6\na,1,2\nb,1,8\na,3,\nb,2,9\na,4,4\na,5,3\n"
    data, repairs = repaired(tmp_path, "run,t,x\n" + rows, group="run")
    assert data.labels == ("a", "b") and data.offsets.tolist() == [0, 5, 8]
    assert data.states.ravel().tolist() == [1, 2, 3, 4, 3, 5, 7, 9]
    assert repairs == {"missing": 1, "sorted": 2, "doubled": 1}


# -- what cannot be read

REFUSED = {
    "no header": ("0,1\n1,2\n", {}, ["line 1", "header", "numbers"]),
    "day or month": ("t;x\n3/4/2024;1\n4/4/2024;2\n", {}, ["line 2", "'t'", "date_format="]),
    "hours or minutes": ("t,x\n12:30,1\n12:31,2\n", {}, ["line 2", "'t'", "date_format='%H:%M'"]),
    "zone lost": (
        "t,x\n2024-01-01T00:00:00Z,1\n2024-01-01T00:00:01,2\n", {},
        ["line 3", "'t'", "time zone", "date_format=..."],
    ),
    "no such day": ("t,x\n2024-02-01,1\n2024-02-31,2\n", {}, ["line 3", "'2024-02-31'"]),
    "other dates": ("t,x\n01.02.24,1\n2024-02-03,2\n", {"date_format": "%d.%m.%y"},
                    ["line 3", "'2024-02-03'", "date_format='%d.%m.%y'"]),
    "a mark of its own": ("t,x\n0,1\n1,off\n", {}, ["line 3", "'x'", "'off'", "missing='off'"]),
    "a usual mark": ("t,x\n0,1\n1,n/a\n2,2\n", {}, ["line 3", "'x'", "'n/a'", "repair=True"]),
    "thousands or decimals": ("t;x\n0;1,250\n1;2,500\n", {}, ["line 2", "'x'", "decimal=','"]),
    "thousands": ("t;x\n0;1.250,5\n1;2\n", {"decimal": ","}, ["line 2", "'x'", "thousands"]),
    "wrong decimals": ("t;x\n0;1.5\n", {"decimal": ","}, ["line 2", "'x'", "decimal='.'"]),
    "header again": ("t,x\n0,1\nt,x\n1,2\n", {}, ["line 3", "'t'", "header is repeated there"]),
    "remark": ("t,x\n0,1\nREM pump off\n1,2\n", {}, ["line 3", "1 field", "comment=..."]),
    "wrong encoding": ("t,x\n0,é\n".encode("latin-1"), {"encoding": "utf-8"},
                       ["utf-8", "encoding='latin-1'"]),
    "binary": (bytes(range(256)) * 8, {}, ["not a text table"]),
    "no values": ("t,x\n0,\n1,NA\n", {"repair": True}, ["runs.csv: no row", "'x'", "fill=True"]),
    "runs in one": ("t,x\n0,1\n0,2\n1,3\n1,4\n", {"repair": True}, ["'t'", "group=..."]),
    "cut off": (gzip.compress(CSV.encode())[:-10], {}, ["damaged gzip"]),
    "back": ("t,x\n0,1\n3,1\n2,1\n4,2\n", {}, ["line 4", "'t'", "table, pass repair=True."]),
    "state of dates": ("t,x\n0,2024-01-01\n1,2024-01-02\n", {}, ["line 2", "'x'", "time=..."]),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_read_is_named_with_what_helps(tmp_path, kind):
    content, options, words = REFUSED[kind]
    with pytest.raises(DataError) as caught:
        read_table(written(tmp_path, content), "t", ["x"], **options)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [dict(decimal=";"), dict(encoding="utf-9"), dict(comment=""), dict(gap=0.5), dict(long="ab"),
     dict(decimal=",", delimiter=","), dict(sheet="a")],
)  # fmt: skip
def test_a_wrong_option_is_named(tmp_path, options):
    with pytest.raises(DataError, match=f"^{next(iter(options))} must"):
        read_table(written(tmp_path, CSV), "t", ["x"], **options)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("t,x\n0,1.5 mm\n", "line 2: column 'x' contains '1.5 mm', which is not a number. Write "
                              "only numbers in cells, and the unit in the header: 'x ["),
        ("t,x\n0,15%\n", "the unit in the header"),
        ("t,x\n0,1.5D-3\n", "Write exponents with E"),
        ("t,x\n0,1\n1,2\nTotal,3\n", "line 4: column 't' contains 'Total', which is not a number. "
                                      "Remove the line if it is not a measurement, or pass "
                                      "missing='Total' and repair=True"),
        ("t,x\nMarch 5th 10:00,1\n", "line 2: column 't' contains 'March 5th 10:00', a time "
                                     "in an unknown format. Pass date_format=..."),
        ("t,x\n3/14/2024 13:00:00 PM,1\n", "Pass date_format=..."),
        ("t,x,x\n0,1,2\n", "more than one column named 'x'. Give them different names"),
        ("<!DOCTYPE html><html></html>", "is a web page, not a table"),
        ('{"t": [0, 1]}', "is JSON, not a table of lines"),
    ],
)  # fmt: skip
def test_what_is_no_table_of_numbers_is_said_with_what_would_help(tmp_path, content, words):
    with pytest.raises(DataError) as caught:
        read_table(written(tmp_path, content), "t", ["x"])
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "above",
    ["", "# drive of monday, 2 laps\n", "drive of monday\nsecond lap, wet\n", "# "],
)
@pytest.mark.parametrize("sign", [",", ";"])
def test_a_mistyped_column_is_the_one_that_is_named(tmp_path, above, sign):
    """Units and spaces in the header do not hide a column or the time."""
    head = "time [s],yaw rate [rad/s],steer angle [rad]\n"
    rows = "".join(f"{k},{k % 3},{k % 2}\n" for k in range(5))
    file = written(tmp_path, above + (head + rows).replace(",", sign))
    with pytest.raises(DataError, match=r"no column 'yawrate'\. Did you mean 'yaw rate'\?"):
        read_table(file, "time", ["yawrate"])
    with pytest.raises(DataError, match=r"no column 'tme'\. Did you mean 'time'\?"):
        read_table(file, "tme", ["yaw rate"])
    assert read_table(file, "time", ["yaw rate"]).unused == ("steer angle",)


@pytest.mark.parametrize("kind", ["csv", "frame", "dict", "long", "xlsx", "parquet"])
def test_columns_that_were_not_chosen_are_known(tmp_path, kind):
    frame = pd.DataFrame({"t": np.arange(6.0), "x [m]": np.arange(6.0) ** 2, "u [V]": np.ones(6)})
    source, options = frame, {}
    if kind == "csv":
        source = tmp_path / "a.csv"
        frame.to_csv(source, index=False)
    elif kind == "xlsx":
        source = tmp_path / "a.xlsx"
        frame.to_excel(source, index=False)
    elif kind == "parquet":
        source = tmp_path / "a.parquet"
        frame.to_parquet(source)
    elif kind == "dict":
        source = {name: frame[name].to_numpy() for name in frame}
    elif kind == "long":
        source = frame.melt("t", var_name="sensor", value_name="reading")
        options = {"long": ("sensor", "reading")}
        assert read_table(source, "t", ["x"], **options).unused == ("u [V]",)
        return
    assert read_table(source, "t", ["x"], **options).unused == ("u",)
    assert read_table(source, "t", ["x"], ["u"], **options).unused == ()


def test_a_known_equation_with_a_column_that_was_not_chosen_is_refused():
    t = np.linspace(0, 5, 60)
    table = {"t": t, "x": np.exp(-t), "u": np.sin(t)}
    physics = og.Physics(equations={"x": "-k*x + b*u"})
    model = og.OrthoReg("poly(1)", og.Zero(), physics=physics)
    data = read_table(table, "t", ["x"])
    with pytest.raises(og.InputError, match=r"names 'u', a column .* Pass inputs=\['u'\]"):
        model.fit(data)
    for named in (
        og.Physics(equations={"x": "-k*x + u"}, values={"u": 0.0}),
        og.Physics(equations={"x": "-k*x + u"}, bounds={"u": (-1, 1)}),
    ):
        og.OrthoReg("poly(1)", og.Zero(), physics=named).fit(data)
