"""`Rows`: subsets of rows, and rows that are weighted sums over many points."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

import orthoreg as og
from orthoreg.data import Rows, fold_rule, grouping, held_out_rows, outward_fold_rule, thinned


def windowed(seed: int = 0, points: int = 60, rows: int = 25) -> tuple[Rows, np.ndarray]:
    """Return rows that are weighted sums over five neighbouring points, and the dense weights."""
    rng = np.random.default_rng(seed)
    weights = np.zeros((rows, points))
    for i, first in enumerate(np.linspace(0, points - 5, rows).astype(int)):
        weights[i, first : first + 5] = rng.standard_normal(5)
    run = np.repeat(np.arange(5), rows // 5)
    made = Rows(
        rng.standard_normal((points, 2)), rng.standard_normal((rows, 2)), run, np.zeros(2),
        ("x", "y"), ("x", "y"), np.tile(np.arange(rows / 5), 5), csr_array(weights),
    )  # fmt: skip
    return made, weights


def squares(points: np.ndarray) -> np.ndarray:
    return np.column_stack([points, points**2, np.ones(len(points))])


def test_a_row_counts_a_function_with_the_weighted_sum_over_its_window():
    rows, weights = windowed()
    expected = weights @ squares(rows.points)
    assert len(rows) == 25 and rows.n_runs == 5
    for chosen in (np.arange(25), np.array([3]), np.array([9, 2, 2, 17])):
        assert_allclose(rows.evaluate(squares, chosen), expected[chosen], rtol=1e-12, atol=1e-12)


def test_only_points_of_the_chosen_windows_are_evaluated():
    rows, weights = windowed()
    seen = []

    def watched(points: np.ndarray) -> np.ndarray:
        seen.append(len(points))
        return squares(points)

    rows.evaluate(watched, np.array([0, 1]))
    assert seen == [np.count_nonzero(weights[:2].any(axis=0))]


def test_a_row_is_at_the_centre_of_its_window():
    rows, weights = windowed()
    share = np.abs(weights) / np.abs(weights).sum(axis=1, keepdims=True)
    assert_allclose(rows.variables, share @ rows.points, rtol=1e-12)
    assert_allclose(rows.extent.mean, rows.variables.mean(axis=0), rtol=1e-12)
    inside = [rows.points[row != 0] for row in weights]
    for place, near in zip(rows.variables, inside, strict=True):
        assert (near.min(axis=0) <= place).all() and (place <= near.max(axis=0)).all()


def test_some_rows_keep_their_windows():
    rows, weights = windowed()
    part = rows.only(np.isin(rows.run_of_row, [1, 3]))
    assert_array_equal(part.run_of_row, np.repeat([0, 1], 5))
    chosen = np.r_[5:10, 15:20]
    everywhere = part.evaluate(squares, np.arange(10))
    assert_allclose(everywhere, weights[chosen] @ squares(rows.points), rtol=1e-12, atol=1e-12)
    assert_array_equal(part.targets, rows.targets[chosen])
    assert_array_equal(part.times, rows.times[chosen])
    again = rows.at(np.array([4, 4, 0]))
    assert again.times is None
    assert_allclose(
        again.evaluate(squares, np.arange(3)), weights[[4, 4, 0]] @ squares(rows.points), atol=1e-12
    )


def test_a_window_of_one_point_is_a_row_without_windows():
    rng = np.random.default_rng(1)
    plain = Rows(
        rng.standard_normal((30, 2)), rng.standard_normal((30, 1)), np.arange(30) // 6, np.zeros(1)
    )
    same = replace(plain, windows=csr_array(np.eye(30)))
    every = np.arange(30)
    assert_array_equal(same.variables, plain.variables)
    assert_array_equal(same.evaluate(squares, every), plain.evaluate(squares, every))
    assert_array_equal(grouping(same).group, grouping(plain).group)


# -- splitting -----------------------------------------------------------------------------------


def runs(lengths: list[int], times: bool = True) -> Rows:
    rng = np.random.default_rng(0)
    run = np.repeat(np.arange(len(lengths)), lengths)
    own = np.concatenate([np.arange(float(length)) for length in lengths])
    size = (1.0 + run)[:, None]
    return Rows(
        size * rng.uniform(-1, 1, (len(run), 2)), np.zeros((len(run), 1)), run, np.zeros(1),
        ("x", "y"), ("x",), own if times else None,
    )  # fmt: skip


def test_folds_hold_whole_runs_where_there_are_enough():
    many, few = runs([5] * 7), runs([30, 20])
    for rule in (fold_rule, outward_fold_rule):
        found = rule(many, 3)(many).reshape(7, 5)
        assert (found == found[:, :1]).all() and set(found[:, 0]) == {0, 1, 2}
        stretches = rule(few, 5)(few)
        assert (np.diff(stretches) >= 0).all()
        assert_array_equal(np.bincount(stretches), [10] * 5)


def test_the_last_outward_fold_has_the_runs_that_go_furthest():
    rows = runs([40] * 12)  # each run goes further than the previous one
    fold = outward_fold_rule(rows, 4)(rows)[::40]
    reach = np.abs(rows.variables).max(axis=1).reshape(12, 40).max(axis=1)
    assert reach[fold == 3].min() > reach[fold == 0].max()
    assert_array_equal(np.bincount(fold), [3] * 4)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (runs([10] * 4), np.repeat([False, False, True, False], 10)),
        (runs([20]), np.arange(20) >= 15),
        (runs([8], times=False), np.isin(np.arange(8), [2, 6])),
    ],
    ids=["a whole run", "the end of a single run", "some rows without times"],
)
def test_rows_to_validate_with(rows, expected):
    assert_array_equal(held_out_rows(rows, 0.25), expected)


def test_thinning_takes_an_even_share_of_every_run():
    rows = runs([100, 7, 50, 3, 1])
    assert_array_equal(thinned(rows, 161), np.arange(161))
    kept = thinned(rows, 40)  # every fifth row
    assert_array_equal(np.bincount(rows.run_of_row[kept], minlength=5)[[0, 2]], [20, 10])
    inside = np.diff(kept[rows.run_of_row[kept] == 0])
    assert_array_equal(inside, [5] * 19)


def test_short_runs_are_not_all_seen_at_their_first_rows():
    rows = runs([4] * 100)
    place = thinned(rows, 100) % 4
    assert_array_equal(np.bincount(place), [25] * 4)


def test_observed_rows_name_their_variables_and_targets(pendulum_runs):
    rows = og.VectorField().observe(pendulum_runs)
    assert (rows.names, rows.outputs) == (("theta", "omega"), ("theta", "omega"))
    assert rows.n_runs == pendulum_runs.n_runs and len(rows) == pendulum_runs.n_samples
