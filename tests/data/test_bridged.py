"""A missing value in a column affects only this column."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import orthoreg as og
from orthoreg.data import concatenate


def frame(rows=60):
    t = 0.1 * np.arange(rows)
    return pd.DataFrame({"t": t, "x": np.cos(t), "v": -np.sin(t), "u": t})


def read(table, **options):
    return og.read_table(table, "t", ["x", "v"], ["u"], repair=True, **options)


def test_single_values_are_bridged_marked_and_told():
    table = frame()
    table.loc[[10, 30, 31], "x"] = np.nan
    table.loc[20, "v"] = np.nan
    data = read(table)
    assert data.n_samples == 60
    assert np.argwhere(data.filled).tolist() == [[10, 0], [20, 1], [30, 0], [31, 0]]
    assert_allclose(data.states, frame()[["x", "v"]], atol=1e-4)
    (note,) = data.notes
    assert note.code == "bridged" and note.count == 4
    assert "do not count as measured: 3 of 'x', 1 of 'v'" in note.text


def test_long_stretches_and_empty_rows_still_cost_their_rows():
    table = frame()
    table.loc[10:16, "x"] = np.nan
    table.loc[40, ["x", "v"]] = np.nan
    data = read(table)
    assert data.n_samples == 52 and data.filled is None
    assert [note.code for note in data.notes][0] == "missing"


def test_marks_follow_rows_through_sorting_runs_and_joins():
    table = pd.concat([frame().assign(run=run) for run in ("a", "b")])
    table.iloc[70, 1] = np.nan
    shuffled = table.sample(frac=1.0, random_state=0)
    data = og.read_table(shuffled, "t", ["x", "v"], group="run", repair=True)
    (run,) = [one for one in data if one.filled.any()]
    assert run.labels == ("b",) and np.argwhere(run.filled).tolist() == [[10, 0]]
    whole = concatenate([replace(data, filled=None), data])
    assert whole.filled.sum() == 1 and len(whole.filled) == whole.n_samples
    moving = data.with_velocities({"x": None})
    assert moving.state_names == ("x", "x_dot", "v") and moving.filled.sum(axis=0).tolist()[0] == 1


@pytest.mark.slow
def test_what_stands_in_a_bridged_cell_does_not_matter_to_trajectories():
    rng = np.random.default_rng(0)
    table = frame(200)
    table[["x", "v"]] += 0.01 * rng.standard_normal((200, 2))
    table.loc[rng.choice(np.arange(5, 195), 12, replace=False), "x"] = np.nan
    data = og.read_table(table, "t", ["x", "v"], repair=True)
    model = og.OrthoReg(og.Polynomial(1), og.Zero()).fit(data)
    moved = np.array(data.states)
    moved[data.filled] += 0.02
    one, other = model.refine(data), model.refine(replace(data, states=moved))
    assert_allclose(one.coefficients_, other.coefficients_, atol=2e-4)
    trusting = model.refine(replace(data, states=moved, filled=None))
    near = np.abs(one.coefficients_ - other.coefficients_).max()
    assert near < 0.2 * np.abs(one.coefficients_ - trusting.coefficients_).max()
