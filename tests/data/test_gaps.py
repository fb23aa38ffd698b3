"""Runs with a gap in their times, such as two joined recordings."""

import numpy as np
import pytest

import orthoreg as og
from orthoreg._common.errors import DataWarning
from orthoreg.smoothing import bump_windows

STEP = 1e-2


def joined_recordings(gap, rows=450):
    """Two runs of a damped oscillator in one array, and their times."""
    t = STEP * np.arange(rows)
    parts = [
        size * np.exp(-0.1 * t)[:, None]
        * np.column_stack([np.cos(2 * t), -0.1 * np.cos(2 * t) - 2 * np.sin(2 * t)])
        for size in (1.0, 2.0)
    ]  # fmt: skip
    noise = 1e-3 * np.random.default_rng(0).standard_normal((2 * rows, 2))
    return np.vstack(parts) + noise, np.concatenate([t, t + t[-1] + gap])


@pytest.mark.parametrize("gap", [1.0, 3600.0, 1e6])
def test_a_gap_separates_two_runs(gap):
    x, t = joined_recordings(gap)
    with pytest.warns(DataWarning, match=r"After t = 4.49 .* are separate runs"):
        data = og.Dataset.from_arrays(x, t, names=["x", "v"])
    assert data.labels == ("0.1", "0.2") and data.offsets.tolist() == [0, 450, 900]
    assert [note.code for note in data.notes] == ["gaps"]


def test_a_fit_does_not_look_across_a_gap():
    x, t = joined_recordings(3600.0)
    with pytest.warns(DataWarning, match="separate runs"):
        model = og.OrthoReg("poly(1)", og.Zero()).fit(x, t=t)
    assert model.coefficients_[1, 1:] == pytest.approx([-4.01, -0.2], abs=0.02)


def test_velocities_are_not_estimated_across_a_gap():
    x, t = joined_recordings(3600.0)
    with pytest.warns(DataWarning, match="separate runs"):
        data = og.Dataset.from_positions(x[:, 0], t, names=["x"])
    assert np.abs(data.states[:, 1] - x[:, 1]).max() < 1.0


def test_random_times_of_sampling_have_no_gaps():
    rng = np.random.default_rng(1)
    for _ in range(20):
        t = np.cumsum(rng.exponential(1.0, 2000))
        assert og.Dataset.from_arrays(np.sin(t)[:, None], t).n_runs == 1


def test_rows_with_derivatives_stay_one_run():
    x, t = joined_recordings(3600.0)
    assert og.Dataset.from_arrays(x, t, derivatives=np.zeros_like(x)).n_runs == 1


def test_a_table_says_which_gap_is_tolerated():
    x, t = joined_recordings(1.0)
    table = {"t": t, "x": x[:, 0]}
    with pytest.warns(DataWarning, match="separate runs"):
        assert og.read_table(table, "t", ["x"]).n_runs == 2
    assert og.read_table(table, "t", ["x"], gap=1000).n_runs == 1


def test_no_window_spans_a_step_longer_than_half_of_it():
    t = np.concatenate([STEP * np.arange(100), 1e6 + STEP * np.arange(100)])
    windows = bump_windows(t, np.array([0, 200]), 0.1, 8)
    inside = [np.ptp(t[windows.mean[[i]].indices]) for i in range(len(windows))]
    assert 10 < len(windows) < 100 and max(inside) < 1.0
