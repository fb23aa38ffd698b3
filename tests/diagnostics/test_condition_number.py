"""The condition number of a library is that of its matrix with unit columns."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import orthoreg as og
from orthoreg.diagnostics import condition_number

seeds = st.integers(0, 10_000)


def gram(Phi: np.ndarray) -> np.ndarray:
    return Phi.T @ Phi / len(Phi)


@given(seeds, st.integers(1, 5))
def test_orthogonal_terms_have_condition_one(seed, columns):
    rng = np.random.default_rng(seed)
    Phi = np.linalg.qr(rng.standard_normal((40, columns)))[0] * rng.uniform(0.1, 10, columns)
    assert condition_number(gram(Phi)) == pytest.approx(1.0, rel=1e-9)


@given(seeds, st.floats(1e-3, 1.0))
def test_condition_number_is_that_of_the_matrix_with_unit_columns(seed, distance):
    """The last term is the sum of two others plus noise, and the terms have different units."""
    rng = np.random.default_rng(seed)
    Phi = rng.standard_normal((200, 5))
    Phi[:, 4] = 2 * Phi[:, 0] - 3 * Phi[:, 2] + distance * rng.standard_normal(200)
    expected = np.linalg.cond(Phi / np.linalg.norm(Phi, axis=0))
    assert condition_number(gram(Phi)) == pytest.approx(expected, rel=1e-6)
    assert condition_number(gram(Phi * [1, 10, 0.1, 7, 3])) == pytest.approx(expected, rel=1e-6)


def test_a_term_that_is_always_zero_makes_it_infinite():
    Phi = np.column_stack([np.ones(10), np.zeros(10), np.arange(10.0)])
    assert condition_number(gram(Phi)) == math.inf


def test_the_certificate_has_that_of_the_whole_library(pendulum_model, pendulum_runs):
    features = pendulum_model.field_.features(pendulum_runs.states)
    unit = features / np.linalg.norm(features, axis=0)
    found = pendulum_model.certificate_.condition_number
    assert found == pytest.approx(np.linalg.cond(unit), rel=1e-5)
    alone = og.OrthoReg(og.Terms(["theta"]), og.Zero()).fit(pendulum_runs)
    assert alone.certificate_.condition_number == pytest.approx(1.0)
