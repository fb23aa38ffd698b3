"""Condition and near dependences of a library against least squares on the samples."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import orthoreg as og
from orthoreg._errors import DataError, InputError
from orthoreg.diagnostics import condition_number, library_condition, near_dependences
from orthoreg.systems import Pendulum, generate

seeds = st.integers(0, 10_000)
NAMES = ("a", "b", "c", "d", "e")


def gram(Phi: np.ndarray) -> np.ndarray:
    return Phi.T @ Phi / len(Phi)


def nearly_dependent(seed: int, distance: float) -> np.ndarray:
    """e is 2 a - 3 c but for noise; units differ."""
    rng = np.random.default_rng(seed)
    Phi = rng.standard_normal((200, 5))
    Phi[:, 4] = 2 * Phi[:, 0] - 3 * Phi[:, 2] + distance * rng.standard_normal(200)
    return Phi


@given(seeds, st.sampled_from([1e-3, 0.01, 0.1]))
def test_inflation_is_that_of_regressing_each_term_on_the_others(seed, distance):
    Phi = nearly_dependent(seed, distance)
    found = {one.term: one for one in near_dependences(gram(Phi), NAMES, inflation=1.0)}
    assert set(found) == set(NAMES)
    for k, name in enumerate(NAMES):
        others = np.delete(Phi, k, axis=1)
        rest = Phi[:, k] - others @ np.linalg.lstsq(others, Phi[:, k], rcond=None)[0]
        unexplained = np.sum(rest**2) / np.sum(Phi[:, k] ** 2)
        assert found[name].inflation == pytest.approx(1 / unexplained, rel=1e-6)
        assert 1 - found[name].r_squared == pytest.approx(unexplained, rel=1e-6)


@given(seeds, st.integers(-6, 6), st.integers(-6, 6))
def test_the_terms_that_explain_it_are_named_with_weights_in_the_units_of_the_data(seed, up, down):
    units = 10.0 ** np.array([up, 0, down, 1, 2])
    found = near_dependences(gram(nearly_dependent(seed, 0.01) * units), NAMES)
    assert {one.term for one in found} == {"a", "c", "e"}
    (last,) = [one for one in found if one.term == "e"]
    assert last.others == ("c", "a")
    assert_allclose(last.weights, [-3 * units[4] / units[2], 2 * units[4] / units[0]], rtol=0.01)


@given(seeds, st.floats(1.5, 1e6))
def test_only_terms_above_the_threshold_are_reported_and_the_worst_first(seed, inflation):
    A = gram(nearly_dependent(seed, 0.05))
    everything = near_dependences(A, NAMES, inflation=1.0)
    assert [one.inflation for one in everything] == sorted(
        [one.inflation for one in everything], reverse=True
    )
    reported = near_dependences(A, NAMES, inflation=inflation)
    assert reported == tuple(one for one in everything if one.inflation >= inflation)


@given(seeds)
def test_exact_dependences_are_infinite_for_every_term_in_them_and_for_no_other(seed):
    Phi = nearly_dependent(seed, 0.0)
    found = near_dependences(gram(Phi), NAMES, inflation=100.0)
    assert {one.term for one in found} == {"a", "c", "e"}
    for one in found:
        assert one.inflation == math.inf and one.r_squared == 1.0
        combined = sum(
            weight * Phi[:, NAMES.index(name)]
            for name, weight in zip(one.others, one.weights, strict=True)
        )
        assert_allclose(combined, Phi[:, NAMES.index(one.term)], atol=1e-6)


@given(seeds)
def test_terms_outside_an_exact_dependence_keep_their_inflation(seed):
    """b is nearly d, while a, c and e depend on each other exactly."""
    Phi = nearly_dependent(seed, 0.0)
    Phi[:, 1] = Phi[:, 3] + 0.01 * Phi[:, 1]
    found = {one.term: one for one in near_dependences(gram(Phi), NAMES)}
    others = Phi[:, [0, 2, 3]]
    rest = Phi[:, 1] - others @ np.linalg.lstsq(others, Phi[:, 1], rcond=None)[0]
    expected = np.sum(Phi[:, 1] ** 2) / np.sum(rest**2)
    assert found["b"].inflation == pytest.approx(expected, rel=1e-5)
    assert found["b"].others == ("d",) and found["e"].inflation == math.inf


def test_a_term_that_is_always_zero_is_given_by_none():
    Phi = np.column_stack([np.ones(10), np.zeros(10), np.arange(10.0)])
    (found,) = near_dependences(gram(Phi), "abc")
    assert (found.term, found.inflation, found.others) == ("b", math.inf, ())


@given(seeds, st.integers(1, 5))
def test_orthogonal_terms_have_condition_one_and_no_dependence(seed, columns):
    rng = np.random.default_rng(seed)
    Phi = np.linalg.qr(rng.standard_normal((40, columns)))[0] * rng.uniform(0.1, 10, columns)
    assert condition_number(gram(Phi)) == pytest.approx(1.0, rel=1e-9)
    assert near_dependences(gram(Phi), NAMES[:columns], inflation=1.01) == ()


@given(seeds, st.floats(1e-3, 1.0))
def test_condition_number_is_that_of_the_matrix_with_unit_columns(seed, distance):
    Phi = nearly_dependent(seed, distance)
    expected = np.linalg.cond(Phi / np.linalg.norm(Phi, axis=0))
    assert condition_number(gram(Phi)) == pytest.approx(expected, rel=1e-6)
    assert condition_number(gram(Phi * [1, 10, 0.1, 7, 3])) == pytest.approx(expected, rel=1e-6)


def test_the_pendulum_hardly_tells_cosines_from_squares():
    """The paper's library on the paper's training box: what a fit has to live with."""
    data = generate(Pendulum(), "train", runs=20)
    library = og.Polynomial(2) + og.Fourier(1)
    condition = library_condition(library, data)
    named = {one.term: set(one.others) for one in condition.near_dependences}
    assert named["cos(theta)"] >= {"1", "theta**2"}
    assert named["cos(omega)"] >= {"1", "omega**2"}
    assert "theta*omega" not in named
    features = og.libraries.bind(library, data.state_names, data.state_names)(data.states)
    unit = features / np.linalg.norm(features, axis=0)
    assert condition.condition_number == pytest.approx(np.linalg.cond(unit), rel=1e-6)


def test_blocks_of_rows_give_the_same_as_all_at_once(rng):
    data = og.Dataset.from_arrays(rng.standard_normal((9000, 2)), 0.1)
    found = library_condition(og.Polynomial(3), data, inflation=1.0)
    features = og.libraries.bind(og.Polynomial(3), ["x0", "x1"], ["x0", "x1"])
    expected = near_dependences(gram(features(data.states)), features.names, inflation=1.0)
    assert [one.term for one in found.near_dependences] == [one.term for one in expected]
    assert_allclose(
        [one.inflation for one in found.near_dependences],
        [one.inflation for one in expected],
        rtol=1e-9,
    )


def test_mistakes_are_named(rng):
    with pytest.raises(InputError, match="5 terms of A; got 2 names"):
        near_dependences(np.eye(5), "ab")
    data = og.Dataset.from_arrays(rng.standard_normal((20, 1)), 0.1, names=["x"])
    with pytest.raises(DataError, match=r"'log\(x\)' is nan at row"):
        library_condition(og.Terms(["x", "log(x)"]), data)
