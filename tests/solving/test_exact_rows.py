"""`Exact` on rows: a network fitted to some of the rows, and rows that are weighted sums."""

import math
from dataclasses import replace
from typing import final

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.linear_model import Lasso

import orthoreg as og
from orthoreg._common.errors import InputError
from orthoreg.data import Rows
from orthoreg.field import AbstractBasis
from orthoreg.fitting import Recipe, choose_terms, fit, prepare
from orthoreg.solving import Regularization, Solution, Task

LIBRARY = og.Polynomial(2)
NET = og.RandomFeatures(100)


def observed(n_rows: int = 3000, missing: float = 0.3) -> Rows:
    """Return thirty runs with targets, of which the second needs a term that the library lacks."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1.5, 1.5, (n_rows, 2))
    y = np.column_stack([x[:, 1], -x[:, 0] - 0.2 * x[:, 1] + missing * np.sin(4 * x[:, 0])])
    run = np.arange(n_rows) * 30 // n_rows
    return Rows(x, y, run, np.zeros(2), ("x", "v"), ("x", "v"), np.arange(float(n_rows)))


def recipe(most_rows: int | None = None, *, sparsity: float = 0.0, **parts) -> Recipe:
    parts = {
        "library": LIBRARY, "augmentation": NET, "loss": og.VectorField(),
        "regularization": Regularization(sparsity, math.inf, 0.0),
        "solver": og.Exact(normalize=True, most_rows=most_rows), **parts,
    }  # fmt: skip
    return Recipe(**parts)


def solved(parts: Recipe, rows: Rows) -> tuple[Task, Solution]:
    task, _ = choose_terms(parts, prepare(parts, rows))
    return task, parts.solver.solve_all([task])[0]


def residual_values(solution: Solution, task: Task, rows: Rows) -> np.ndarray:
    every = np.arange(len(rows))
    psi, theta = (rows.evaluate(one, every) for one in (solution.basis, task.features))
    return psi @ solution.weights - theta @ solution.correction.T


def overlaps(solution: Solution, task: Task, rows: Rows) -> np.ndarray:
    """Return <f_aug, theta_k> of the terms in use on all rows, relative to the sizes of both."""
    theta = rows.evaluate(task.features, np.arange(len(rows)))
    residual = residual_values(solution, task, rows)
    size = np.sqrt((theta**2).mean(axis=0))[:, None] * np.sqrt((rows.targets**2).mean(axis=0))
    return np.abs(theta.T @ residual / len(rows) / size).T[task.support]


@pytest.mark.parametrize("selection", [None, og.Extrapolation()], ids=["all terms", "chosen"])
def test_a_network_shaped_on_some_rows_leaves_least_squares_on_all(selection):
    rows = observed()
    task, solution = solved(recipe(400, selection=selection), rows)
    theta = task.features(rows.points)
    for c, used in enumerate(task.support):
        expected = np.linalg.lstsq(theta[:, used], rows.targets[:, c], rcond=None)[0]
        assert_allclose(solution.coefficients[c, used], expected, rtol=1e-9, atol=1e-11)
        assert not solution.coefficients[c, ~used].any()
    assert overlaps(solution, task, rows).max() < 1e-13
    residual = residual_values(solution, task, rows)
    assert not residual[:, 0].any() and np.std(residual[:, 1]) > 0.1
    assert solution.correction[1].any()


def test_a_network_shaped_on_some_rows_does_nearly_as_well():
    rows, other = observed(), observed(3010)
    errors = []
    for most_rows in (None, 600):
        task, solution = solved(recipe(most_rows), rows)
        symbolic = task.features(other.points) @ solution.coefficients.T
        left = other.targets - symbolic - residual_values(solution, task, other)
        errors.append(np.sqrt(np.mean(left[:, 1] ** 2)))
    without = 0.2  # about the error of the terms alone
    assert errors[1] < 3 * errors[0] < 0.1 * without


def test_the_certificate_of_a_thinned_network_is_about_all_rows():
    rows = observed()
    found = fit(recipe(400), rows)
    assert found.certificate.n_samples == 3000
    predicted = found.field.values(rows.points)
    residual = found.field.neural(rows.points)
    for c, one in enumerate(found.certificate.equations):
        size = np.sqrt(np.mean(rows.targets[:, c] ** 2))
        error = np.sqrt(np.mean((predicted - rows.targets)[:, c] ** 2)) / size
        assert one.fit_error == pytest.approx(error, abs=1e-7)
        share = np.sqrt(np.mean(residual[:, c] ** 2)) / size
        assert one.residual_share == pytest.approx(share, rel=1e-6, abs=1e-9)
        assert one.overlap < 1e-12 and one.duality_gap < 1e-12


def test_rows_that_are_few_are_all_used():
    rows = observed(900)
    all_rows, bounded = (solved(recipe(most), rows)[1] for most in (None, 900))
    assert_array_equal(bounded.coefficients, all_rows.coefficients)
    assert_array_equal(bounded.weights, all_rows.weights)
    assert not bounded.correction.any()


@final
class Watched(AbstractBasis):
    """A basis that must not be evaluated."""

    @property
    def size(self) -> int:
        return 3

    def __call__(self, variables, xp=np):
        raise AssertionError("the network was evaluated")

    def mask_inputs(self, variables):
        return self

    def arrays(self):
        return {}

    @classmethod
    def from_arrays(cls, arrays):
        return cls()


@pytest.mark.parametrize("target_mse", [0.0, 0.1])
def test_where_the_terms_explain_the_data_the_network_is_not_even_evaluated(target_mse):
    rows = observed(missing=0.0 if target_mse == 0 else 0.3)
    rows = replace(rows, target_mse=np.full(2, target_mse))
    task = replace(prepare(recipe(), rows), basis=Watched())
    (solution,) = og.Exact(normalize=True, most_rows=400).solve_all([task])
    assert solution.weights.shape == (3, 2) and not solution.weights.any()
    theta = task.features(rows.points)
    expected = np.linalg.lstsq(theta, rows.targets, rcond=None)[0].T
    assert_allclose(solution.coefficients, expected, atol=1e-9)
    lacking = replace(rows, target_mse=np.zeros(2), targets=rows.targets + rows.points[:, :1] ** 3)
    with pytest.raises(AssertionError, match="was evaluated"):
        og.Exact(normalize=True, most_rows=400).solve_all(
            [replace(task, observed=lacking, linear=lacking)]
        )


def test_sparsity_counts_on_all_rows_as_well():
    rows = observed()
    task, solution = solved(recipe(400, sparsity=0.3, solver=og.Exact(most_rows=400)), rows)
    reference = Lasso(alpha=0.15, fit_intercept=False, tol=1e-14, max_iter=1_000_000)
    expected = reference.fit(task.features(rows.points), rows.targets).coef_
    assert 0 < np.count_nonzero(expected) < expected.size
    assert_allclose(solution.coefficients, expected, atol=1e-8)
    assert overlaps(solution, task, rows).max() < 1e-13


@pytest.mark.parametrize("bad", [0, 99, -1])
def test_too_few_rows_are_refused(bad):
    with pytest.raises(InputError, match=r"Exact\(most_rows=\.\.\.\) must be None or.*100; got"):
        og.Exact(most_rows=bad)


# -- rows that are weighted sums -------------------------------------------------------------------


def smoothed(width: int = 9) -> Rows:
    """Return the same rows as weighted sums over neighbouring points of their run."""
    rows = observed(900)
    rng = np.random.default_rng(1)
    weights = np.zeros((len(rows), len(rows)))
    for i in range(len(rows)):
        first = min(i, (rows.run_of_row[i] + 1) * 30 - width)
        weights[i, first : first + width] = rng.uniform(0.2, 1, width)
    return replace(rows, targets=weights @ rows.targets, windows=csr_array(weights))


def as_plain_rows(rows: Rows, task: Task) -> tuple[np.ndarray, np.ndarray]:
    """Return terms and network of weighted rows, by dense products."""
    weights = rows.windows.toarray()
    return weights @ task.features(rows.points), weights @ task.basis(rows.points)


@pytest.mark.parametrize("most_rows", [None, 300])
def test_exact_solves_for_weighted_rows(most_rows):
    rows = smoothed()
    task, solution = solved(recipe(most_rows), rows)
    theta, psi = as_plain_rows(rows, task)
    for c in range(2):
        expected = np.linalg.lstsq(theta, rows.targets[:, c], rcond=None)[0]
        assert_allclose(solution.coefficients[c], expected, rtol=1e-8, atol=1e-10)
    assert overlaps(solution, task, rows).max() < 1e-12
    residual = psi @ solution.weights - theta @ solution.correction.T
    left = rows.targets - theta @ solution.coefficients.T
    assert np.std((left - residual)[:, 1]) < 0.2 * np.std(left[:, 1])


@pytest.mark.parametrize("rule", [og.Extrapolation(), og.CrossValidation()])
def test_terms_are_chosen_from_weighted_rows(rule):
    """The true equations are linear, so that sums over windows are sums of the same terms."""
    rows = replace(smoothed(), target_mse=np.full(2, 0.0))
    plain = observed(900, missing=0.0)
    rows = replace(rows, targets=rows.windows @ plain.targets)
    found = fit(recipe(selection=rule, augmentation=og.Zero()), rows)
    names = [
        {found.field.features.names[k] for k in np.flatnonzero(row)}
        for row in np.asarray(found.field.coefficients) != 0
    ]
    assert names == [{"v"}, {"x", "v"}]
    assert_allclose(found.field.values(plain.points), plain.targets, atol=1e-9)
