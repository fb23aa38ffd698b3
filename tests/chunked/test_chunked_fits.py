"""Fits of chunked data equal fits of the same data in memory, for any size of the chunks."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import orthoreg as og
from orthoreg.data import (
    ChunkedRows,
    Rows,
    chunked,
    extrapolation_rule,
    grouping_rule,
    outward_fold_rule,
)
from orthoreg.solving import gather, gather_partitioned, no_basis
from orthoreg.terms import bind


def swings(runs: int = 30, rows: int = 40, missing: float = 0.0, seed: int = 0) -> og.Dataset:
    """Runs of a damped pendulum with different lengths."""
    rng = np.random.default_rng(seed)
    x, step, found = rng.uniform(-2, 2, (runs, 2)), 0.05, []

    def slope(z):
        force = -np.sin(z[:, 0]) - 0.2 * z[:, 1] + missing * np.tanh(4 * z[:, 0])
        return np.stack([z[:, 1], force], axis=1)

    for _ in range(rows):
        found.append(x)
        for _ in range(2):
            h = step / 2
            k1 = slope(x)
            k2 = slope(x + h / 2 * k1)
            k3 = slope(x + h / 2 * k2)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(x + h * k3))
    states = np.stack(found, axis=1)
    lengths = rng.integers(rows // 2, rows + 1, runs)
    times = step * np.arange(rows)
    return og.Dataset.from_arrays(
        [one[:n] for one, n in zip(states, lengths, strict=True)],
        [times[:n] for n in lengths],
        names=["theta", "omega"],
    )


@pytest.fixture
def small_samples(monkeypatch):
    """Samples that are smaller than the small data of these tests."""
    monkeypatch.setattr("orthoreg.data._limits.SUBSAMPLE_ROWS", 400)
    monkeypatch.setattr("orthoreg.data._limits.EXTENT_SAMPLE", 300)
    monkeypatch.setattr("orthoreg.solving._limits.CENTERED_ROWS", 200)
    monkeypatch.setattr("orthoreg.fitting._route.SEARCHED", 250)


@given(st.integers(1, 1500), st.booleans())
@settings(max_examples=4)
def test_what_is_gathered_does_not_depend_on_the_chunks(size, windows):
    data = swings(12, 30)
    loss = og.Weak(0.3) if windows else og.VectorField()
    rows = loss.observe(data)
    parts = ChunkedRows.of(chunked(data, size), loss.resolved(data))
    assert (len(parts), parts.n_runs, parts.names) == (len(rows), rows.n_runs, rows.names)
    assert_allclose(parts.extent.mean, rows.extent.mean, rtol=1e-12)
    features = bind(og.Polynomial(2), rows.names, rows.outputs)
    for rule in (grouping_rule, lambda own: extrapolation_rule(own, 0.5, 2.0)):
        one = gather_partitioned(features, rows, rule(rows))
        other = gather_partitioned(features, parts, rule(parts))
        assert_array_equal(other.count, one.count)
        assert_array_equal(other.group, one.group)
        assert_array_equal(other.outer, one.outer)
        assert_allclose(other.total, one.total, rtol=1e-9, atol=1e-9)
        assert_allclose(other.extrapolation_gram, one.extrapolation_gram, rtol=1e-9)
    for rule in (outward_fold_rule,):
        one = gather(features, no_basis, rows, folds=3, fold_of_row=rule(rows, 3))
        other = gather(features, no_basis, parts, folds=3, fold_of_row=rule(parts, 3))
        assert [part.count for part in one] == [part.count for part in other]


@pytest.mark.parametrize("size", [90, 500])
def test_a_sample_of_rows_is_the_same_in_chunks(size):
    data = swings()
    rows = og.VectorField().observe(data)
    parts = ChunkedRows.of(chunked(data, size), og.VectorField().resolved(data))
    for most in (50, 333, 5000):
        one, other = rows.subsample(most), parts.subsample(most)
        assert isinstance(other, Rows) and len(other) <= max(2 * most, len(data.states))
        assert_array_equal(one.points, other.points)
        assert_array_equal(one.run_of_row, other.run_of_row)
        assert_allclose(one.targets, other.targets, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_a_default_fit_in_chunks_is_that_in_memory(missing, small_samples):
    data = swings(missing=missing)
    solver = og.Exact(normalize=True, most_rows=200)
    model = og.presets.recommended().set_params(solver=solver)
    one = og.presets.recommended().set_params(solver=solver).fit(data)
    other = model.fit(chunked(data, 170))
    assert_array_equal(one.support_, other.support_)
    assert_allclose(other.coefficients_, one.coefficients_, rtol=1e-10, atol=1e-12)
    points = data.states[::7]
    assert_allclose(other.predict(points), one.predict(points), rtol=1e-10, atol=1e-10)
    assert_allclose(other.distance(points), one.distance(points), rtol=1e-10, atol=1e-6)
    assert_allclose(other.state_range_, one.state_range_)
    found, again = og.bootstrap(one, resamples=50), og.bootstrap(other, resamples=50)
    assert_allclose(again.interval, found.interval, rtol=1e-9, atol=1e-10)
    assert_array_equal(again.probability, found.probability)
    for a, b in zip(one.certificate_.equations, other.certificate_.equations, strict=True):
        assert_allclose(b.fit_error, a.fit_error, rtol=1e-3, atol=1e-10)  # rounding of squares


def test_positions_inputs_and_time_in_chunks(small_samples):
    data = swings(runs=20)
    positions = og.Dataset.from_positions(
        [run.states[:, :1] for run in data], [run.times for run in data],
        [np.cos(run.times)[:, None] for run in data], names=["theta"], input_names=["u"],
    )  # fmt: skip
    model = og.OrthoReg("poly(1) + fourier(1)", og.Zero(), loss=og.VectorField())
    one = model.fit(positions).coefficients_
    other = model.fit(chunked(positions, 100)).coefficients_
    assert_allclose(other, one, rtol=1e-9, atol=1e-10)
    known = og.Physics(equations={"omega": "c*t + ..."})
    timed = og.OrthoReg("poly(1) + fourier(1)", og.Zero(), physics=known, selection=None)
    one, other = (timed.fit(d).parameters_["c"] for d in (data, chunked(data, 100)))
    assert_allclose(other, one, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(
    "fit", ["stlsq", pytest.param("tune", marks=pytest.mark.slow), "sparsity", "parameters"]
)
def test_other_fits_in_chunks(fit):
    data = swings(runs=20).sorted_runs  # `tune` makes folds from the order of the chunks
    parts = chunked(data, 150)
    if fit == "stlsq":
        model = og.STLSQ(0.1, library=og.Polynomial(1) + og.Fourier(1))
        one, other = (model.fit(d).coefficients_ for d in (data, parts))
    elif fit == "tune":
        model = og.OrthoReg(
            og.Polynomial(1), og.RandomFeatures(10), orthogonality=0.1, solver=og.Exact()
        )
        one, other = (og.tune(model, d, folds=3).model.coefficients_ for d in (data, parts))
    elif fit == "sparsity":
        model = og.OrthoReg(og.Polynomial(1) + og.Fourier(1), og.Zero(), sparsity=0.01)
        one, other = (model.fit(d).coefficients_ for d in (data, parts))
    else:
        terms = og.Terms(["sin(k*theta)", "omega"], bounds={"k": (0.5, 2.0)})
        model = og.OrthoReg(terms, og.Zero())
        one, other = (np.array(list(model.fit(d).parameters_.values())) for d in (data, parts))
    assert_allclose(other, one, rtol=1e-8, atol=1e-10)


def test_networks_are_trained_on_the_sample(small_samples, monkeypatch):
    parts = chunked(swings(), 170)
    seen = []
    monkeypatch.setattr(
        "orthoreg.solving.Adam.solve_all", lambda self, tasks: seen.extend(tasks) or 1 / 0
    )
    with pytest.raises(ZeroDivisionError):
        og.OrthoReg(og.Polynomial(1), og.MLP(4, 1), solver=og.Adam(epochs=1)).fit(parts)
    assert len(seen[0].observed) == parts.sample.n_samples < parts.n_samples


@pytest.mark.slow
def test_what_needs_runs_at_hand_works_on_the_sample_and_says_so(small_samples):
    data = swings()
    parts = chunked(data, 170)
    model = og.OrthoReg("poly(1) + fourier(1)", og.Zero()).fit(parts)
    summary = model.summary(parts)
    assert (summary.runs, summary.samples) == (data.n_runs, data.n_samples)
    words = f"sample of {parts.sample.n_samples} rows in {parts.sample.n_runs} whole runs"
    assert sum(words in note for note in summary.notes) == 1
    assert words in parts.notes[-1].text and "chunks" in repr(parts)
    assert len(model.forecast(parts)) == parts.sample.n_runs
    assert model.refine(parts).coefficients_.shape == (2, len(model.feature_names_))


def test_a_state_that_never_changes_is_told_of_all_chunks(small_samples):
    data = swings(runs=16)
    still = replace(data, states=np.column_stack([data.states[:, 0], np.full(data.n_samples, 2.0)]))
    with pytest.warns(og.DataWarning, match="state 'omega' never changes"):
        og.OrthoReg(og.Polynomial(1), og.Zero()).fit(chunked(still, 100))
    with pytest.raises(og.InputError, match="has its own times"):
        og.OrthoReg().fit(chunked(data, 100), t=0.1)


def test_a_default_fit_passes_over_the_data_four_times(monkeypatch):
    """Columns, extent, moments and the edge of the gate equal those of data in memory."""
    passes = []
    for name in ("sum_chunks", "map_chunks"):
        own = getattr(og.ChunkedDataset, name)

        def counted(self, function, words, own=own):
            passes.append(words)
            return own(self, function, words)

        monkeypatch.setattr(og.ChunkedDataset, name, counted)
    t = np.linspace(0, 6, 100)
    x = np.stack([np.column_stack([a * np.cos(t), -a * np.sin(t)]) for a in np.linspace(1, 2, 9)])
    og.OrthoReg(og.Polynomial(2)).fit(og.ChunkedDataset.from_arrays(x, t, rows=250))
    assert len(passes) == 4, passes
