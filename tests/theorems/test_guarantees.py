"""Appendix B: the penalty bound and the error split."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from instances import Solution, any_function, drawn, inner, projection, seeds, solve
from numpy.testing import assert_allclose
from sklearn.linear_model import Lasso

from orthoreg.diagnostics import EquationCertificate, certify, error_split, penalty_bound
from orthoreg.solving._moments import overlaps, squared_norm


def symbolic_objective(Phi: np.ndarray, y: np.ndarray, mu: float) -> float:
    """Return min_w |y - Phi w|^2 + mu |w|_1 by scikit-learn."""
    model = Lasso(alpha=mu / 2, fit_intercept=False, tol=1e-14, max_iter=1_000_000)
    w = np.atleast_2d(model.fit(Phi, y).coef_)
    return squared_norm(y - Phi @ w.T) + mu * np.abs(w).sum()


def stated(fit: Solution) -> EquationCertificate:
    """Return the certificate of the first equation."""
    return certify(fit.result, ("y",), tuple("abcd"), normalized=False).equations[0]


@given(seeds, st.floats(0.01, 1.0), st.floats(1e-3, 1e3))
def test_thm_penalty_bound_main(seed, mu, lam):
    Phi, Psi, y = drawn(seed, 4, 6, 2)
    fit = solve(Phi, Psi, y, mu=mu, lam=lam)
    found = penalty_bound(Phi, y, fit.w, fit.f_aug, mu=mu, lam=lam)
    assert found.assumption_holds and found.holds
    assert found.observed == pytest.approx(np.sum(overlaps(Phi, fit.f_aug) ** 2), rel=1e-9)
    assert found.bound == pytest.approx(symbolic_objective(Phi, y, mu) / lam, rel=1e-7)


@given(seeds, st.floats(0.01, 0.5), st.floats(0.01, 100.0))
def test_thm_penalty_bound_main_assumption_is_met_by_the_symbolic_model_and_none_worse(
    seed, mu, lam
):
    """The objective equals the baseline, so that the test fails if a coefficient is 1% larger."""
    Phi, y = drawn(seed, 4, 2)
    y = y + Phi[:, :2]
    fit = solve(Phi, Phi[:, :0], y, mu=mu)
    found = penalty_bound(Phi, y, fit.w, fit.f_aug, mu=mu, lam=lam)
    reached = inner(y - fit.f_phy, y - fit.f_phy) + mu * np.abs(fit.w).sum()
    assert found.assumption_holds and found.observed == 0
    assert found.bound == pytest.approx(reached / lam, rel=1e-9)
    for factor in (0.99, 1.01):
        worse = penalty_bound(Phi, y, factor * fit.w, fit.f_aug, mu=mu, lam=lam)
        assert not worse.assumption_holds


@given(seeds, st.floats(0.01, 1.0))
def test_thm_penalty_bound_main_cannot_be_lowered(seed, mu):
    """Of the residuals 0 and y, y has the smaller objective if its penalty equals the baseline."""
    Phi, y = drawn(seed, 3, 2)
    baseline = symbolic_objective(Phi, y, mu)
    observed = np.sum(overlaps(Phi, y) ** 2)
    nothing = np.zeros((2, 3))
    lam = baseline / observed * (1 - 1e-6)
    best = penalty_bound(Phi, y, nothing, y, mu=mu, lam=lam)
    assert best.assumption_holds and best.holds
    assert best.observed == pytest.approx(best.bound, rel=1e-5)
    other = penalty_bound(Phi, y, nothing, y, mu=mu, lam=lam * (1 + 1e-4))
    assert not other.assumption_holds and not other.holds


@given(seeds, st.floats(0.01, 1.0), st.floats(0.01, 100.0))
def test_thm_penalty_bound_main_is_what_the_certificate_states(seed, mu, lam):
    Phi, Psi, y = drawn(seed, 4, 6, 1)
    fit = solve(Phi, Psi, y, mu=mu, lam=lam)
    certificate = stated(fit)
    found = penalty_bound(Phi, y, fit.w, fit.f_aug, mu=mu, lam=lam)
    assert certificate.penalty_bound.bound == pytest.approx(found.bound, rel=1e-7)
    assert certificate.penalty_bound.observed == pytest.approx(found.observed, rel=1e-6, abs=1e-14)
    assert certificate.penalty_bound.assumption_holds and certificate.penalty_bound.holds
    reached = squared_norm(y - fit.f_phy - fit.f_aug) + mu * np.abs(fit.w).sum()
    assert certificate.objective == pytest.approx(reached + lam * found.observed, rel=1e-9)


@given(seeds, st.floats(0.01, 0.5), st.floats(0.01, 1e4))
def test_thm_ortho_stationary_leaves_an_error_that_is_the_penalised_overlap(seed, mu, lam):
    """At the minimum, an unrestricted residual satisfies y - f = lam sum_j <f_aug, phi_j> phi_j."""
    Phi, y = drawn(seed, 4, 2)
    fit = solve(Phi, any_function(), y, mu=mu, lam=lam, rho=1e-13)
    error = y - fit.f_phy - fit.f_aug
    assert_allclose(error, lam * Phi @ overlaps(Phi, fit.f_aug), atol=1e-6)


@given(seeds, st.floats(0.01, 1.0))
def test_thm_ortho_stationary_overlap_vanishes_as_the_weight_grows(seed, mu):
    Phi, Psi, y = drawn(seed, 4, 6, 2)
    baseline = symbolic_objective(Phi, y, mu)
    seen = []
    for lam in (1e2, 1e4, 1e6, math.inf):
        fit = solve(Phi, Psi, y, mu=mu, lam=lam)
        found = penalty_bound(Phi, y, fit.w, fit.f_aug, mu=mu, lam=lam)
        assert found.observed <= found.bound + 1e-20
        assert found.bound == pytest.approx(baseline / lam, rel=1e-7)
        seen.append(found.observed)
    assert seen[1] < seen[0] / 10 and seen[2] < seen[1] / 10 and seen[3] < 1e-20


@given(seeds)
def test_thm_error_decomp(seed):
    Phi, f, f_aug, weights = drawn(seed, 4, 2, 2, 2)
    w = weights[:4].T
    f_aug = f_aug - projection(Phi, f_aug)
    split = error_split(Phi, f, w, f_aug)
    size, inside = inner(f, f), projection(Phi, f)
    error, symbolic, neural = f - Phi @ w.T - f_aug, inside - Phi @ w.T, f - inside - f_aug
    assert split.symbolic == pytest.approx(inner(symbolic, symbolic) / size, rel=1e-9)
    assert split.neural == pytest.approx(inner(neural, neural) / size, rel=1e-9)
    assert split.total == pytest.approx(inner(error, error) / size, rel=1e-9)
    assert split.symbolic + split.neural == pytest.approx(split.total, rel=1e-9)


@given(seeds)
def test_thm_error_decomp_needs_orthogonality(seed):
    """Without orthogonality, the identity lacks the term -2 <P f - f_phy, f_aug>."""
    Phi, f, f_aug, weights = drawn(seed, 4, 2, 2, 2)
    w = weights[:4].T
    split = error_split(Phi, f, w, f_aug)
    missing = -2 * inner(projection(Phi, f) - Phi @ w.T, f_aug) / inner(f, f)
    assert split.cross == pytest.approx(missing, rel=1e-7, abs=1e-10)
    assert split.total == pytest.approx(split.symbolic + split.neural + missing, rel=1e-9)


@given(seeds, st.floats(0.01, 1.0), st.sampled_from([0.1, 10.0, math.inf]))
def test_thm_error_decomp_is_what_the_certificate_states(seed, mu, lam):
    Phi, Psi, y = drawn(seed, 4, 6, 1)
    fit = solve(Phi, Psi, y, mu=mu, lam=lam)
    found, expected = stated(fit).error_split, error_split(Phi, y, fit.w, fit.f_aug)
    assert found.total == pytest.approx(expected.total, rel=1e-7)
    assert found.symbolic == pytest.approx(expected.symbolic, rel=1e-7)
    assert found.neural == pytest.approx(expected.neural, rel=1e-7)
    assert found.cross == pytest.approx(expected.cross, rel=1e-6, abs=1e-10)
    if math.isinf(lam):
        assert abs(found.cross) < 1e-10
