"""Selection by extrapolation, compared with brute force on rows, for other units and orders."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import orthoreg as og
from orthoreg._common.errors import InputError
from orthoreg.data import Dataset, Rows
from orthoreg.search.rows import SelectionResult
from orthoreg.search.rows._search import splits
from orthoreg.search.rows._selection import check_number
from orthoreg.solving import Regularization, Task, gather_partitioned
from orthoreg.systems import SYSTEMS, Pendulum, Split
from orthoreg.terms import bind

LIBRARY = og.Polynomial(2) + og.Fourier(1)


def rows_of(data: Dataset) -> Rows:
    return og.VectorField().observe(data)


def select(rule, features, rows: Rows) -> SelectionResult:
    """Return the terms that a rule selects on these rows."""
    return rule.select(
        Task(
            features=features, basis=og.Zero().init(np.zeros(2), np.ones(2), rng=None),
            learns_hidden=False, ridge=0.0, regularization=Regularization(0.0, 0.0, 0.0),
            loss=og.VectorField(), observed=rows, linear=rows, seed=0, support=features.mask,
        )
    )  # fmt: skip


def runs_of(system, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return times and states (runs, times, states) by Runge-Kutta steps, which need no
    compilation."""
    times = system.times()
    x = [system.starts(Split.train, count, np.random.default_rng(0))]
    fine = (times[1] - times[0]) / 4
    for start in times[:-1]:
        state = x[-1]
        for t in start + fine * np.arange(4):
            k1 = system.slope(t, state, np)
            k2 = system.slope(t, state + fine / 2 * k1, np)
            k3 = system.slope(t, state + fine / 2 * k2, np)
            k4 = system.slope(t, state + fine * k3, np)
            state = state + fine / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        x.append(state)
    return times, np.stack(x, axis=1)


@pytest.fixture(scope="module")
def swings() -> Rows:
    """Sixty runs of the pendulum with terms that the library lacks."""
    system = Pendulum.of_difficulty("low")
    times, x = runs_of(system, 60)
    data = Dataset.from_arrays(
        list(x), times, names=system.state_names, derivatives=list(system.slope(0.0, x, np))
    )
    return rows_of(data)


def features_of(rows: Rows, library=LIBRARY):
    return bind(library, rows.names, rows.outputs)


def names(features, selected) -> list[set[str]]:
    return [{features.names[k] for k in np.flatnonzero(row)} for row in selected.support]


def test_the_best_support_of_each_size_is_that_of_brute_force_on_the_rows(swings):
    library = og.Polynomial(1) + og.Fourier(1)
    features = features_of(swings, library)
    rule = og.Extrapolation(caution=0.0)
    path = select(rule, features, swings).paths[1]
    phi, y = features(swings.variables), swings.targets[:, 1]
    outer_rows = rule.divide(swings)(swings).outer.T
    for k in range(len(features.names) + 1):
        scores = {}
        for support in itertools.combinations(range(len(features.names)), k):
            logs = []
            for outer in outer_rows:
                w = np.linalg.lstsq(phi[~outer][:, support], y[~outer], rcond=None)[0]
                error = ((y[outer] - phi[outer][:, support] @ w) ** 2).mean() / (y**2).mean()
                logs.append(math.log(error + 1e-8))
            scores[support] = np.mean(logs)
        best = min(scores, key=scores.__getitem__)
        assert tuple(np.flatnonzero(path.supports[k])) == best
        assert_allclose(path.outer[k] + 1e-8, math.exp(scores[best]), rtol=1e-6)


def test_a_beam_finds_what_all_supports_contain(swings, monkeypatch):
    features = features_of(swings)
    rule = og.Extrapolation()
    everything = select(rule, features, swings)
    monkeypatch.setattr("orthoreg.search.rows._limits.MAX_EXHAUSTIVE", 1)
    beam = select(rule, features, swings)
    assert_array_equal(beam.support, everything.support)


def test_cells_add_up_to_the_moments_of_each_part(swings):
    features = features_of(swings)
    partition = og.Extrapolation().divide(swings)(swings)
    cells = gather_partitioned(features, swings, partition)
    z = np.hstack([features(swings.variables), swings.targets])
    parts = splits(cells, cells.outer)
    assert cells.count.sum() == len(z)
    for p, outer in enumerate(partition.outer.T):
        assert_allclose(parts.inner[p], z[~outer].T @ z[~outer] / (~outer).sum(), atol=1e-10)
        assert_allclose(parts.outer[p], z[outer].T @ z[outer] / outer.sum(), atol=1e-10)


def test_groups_are_merged_where_cells_would_be_too_many(swings, monkeypatch):
    features, partition = features_of(swings), og.Extrapolation().divide(swings)(swings)
    monkeypatch.setattr("orthoreg.solving._limits.MAX_CELL_NUMBERS", 120 * 12**2)
    cells = gather_partitioned(features, swings, partition)
    assert len(cells.count) <= 120 and cells.count.sum() == len(swings.targets)


def test_the_pendulum_keeps_its_sine_and_damping_where_the_library_lacks_terms(swings):
    features = features_of(swings)
    found = select(og.Extrapolation(), features, swings)
    assert names(features, found) == [{"omega"}, {"omega", "sin(theta)"}]


def test_cross_validation_falls_for_terms_that_only_hold_inside(swings):
    features = features_of(swings)
    found = select(og.CrossValidation(), features, swings)
    assert "theta**2" in names(features, found)[1]


def test_units_do_not_matter(swings):
    library = og.Polynomial(2)
    data = swings.variables * [1e3, 1e-4], swings.targets * [1e3, 1e-4]
    scaled = replace(swings, points=data[0], targets=data[1])
    features = features_of(swings, library)
    here = select(og.Extrapolation(), features, swings)
    there = select(og.Extrapolation(), features, scaled)
    assert_array_equal(here.support, there.support)
    for a, b in zip(here.paths, there.paths, strict=True):
        assert_allclose(a.outer, b.outer, rtol=1e-5, atol=1e-9)


def test_the_order_of_runs_does_not_matter(swings):
    order = np.random.default_rng(1).permutation(60)
    rows = np.concatenate([np.flatnonzero(swings.run_of_row == run) for run in order])
    mixed = replace(
        swings,
        points=swings.points[rows],
        targets=swings.targets[rows],
        run_of_row=np.repeat(np.arange(60), np.bincount(swings.run_of_row)[order]),
        times=swings.times[rows],
    )
    features = features_of(swings)
    here = select(og.Extrapolation(), features, swings)
    there = select(og.Extrapolation(), features, mixed)
    for a, b in zip(here.paths, there.paths, strict=True):
        assert_allclose(a.outer, b.outer, rtol=1e-5, atol=1e-9)


def test_the_order_of_rows_without_times_does_not_matter(rng):
    x = rng.uniform(-1, 1, (150, 2))
    y = np.column_stack([x[:, 1], -np.sin(x[:, 0]) + 0.01 * rng.standard_normal(150)])
    order = rng.permutation(150)
    for rule in (og.Extrapolation(), og.CrossValidation()):
        one = og.OrthoReg(augmentation=og.Zero(), selection=rule).fit(x, y)
        other = og.OrthoReg(augmentation=og.Zero(), selection=rule).fit(x[order], y[order])
        for a, b in zip(one.selection_.paths, other.selection_.paths, strict=True):
            assert_allclose(a.outer, b.outer, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("rule", [og.Extrapolation(), og.CrossValidation()])
def test_more_terms_never_fit_worse_inside(swings, rule):
    features = features_of(swings)
    path = select(rule, features, swings).paths[1]
    assert_array_equal(path.n_terms, path.supports.sum(axis=1))
    assert (path.inner[-1] <= path.inner * (1 + 1e-9)).all()
    assert path.outer[path.chosen] >= path.outer[path.best]
    assert (path.standard_error >= 0).all() and path.standard_error[path.best] == 0


def test_only_allowed_and_independent_terms_are_chosen(swings):
    library = og.PerState(
        {"theta": og.Terms(["omega", "sin(theta)"])},
        default=og.Terms(["theta", "2*omega", "omega"]),
    )
    features = features_of(swings, library)
    found = select(og.Extrapolation(), features, swings)
    assert not (found.support & ~features.mask).any()
    assert names(features, found)[0] == {"omega"}
    twice = [features.names.index("2*omega"), features.names.index("omega")]
    assert found.support[1, twice].sum() <= 1


@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("key", ["pendulum", "lotka-volterra"])
def test_a_complete_library_gives_the_exact_support(key, noise):
    system = SYSTEMS[key]().within_library()
    times, x = runs_of(system, 60)
    spread = x.std(axis=(0, 1))
    x = x + noise * spread * np.random.default_rng(2).standard_normal(x.shape)
    rows = rows_of(Dataset.from_arrays(list(x), times, names=system.state_names))
    features = features_of(rows)
    found = select(og.Extrapolation(), features, rows)
    assert names(features, found) == [set(system.true_support[s]) for s in system.state_names]


def test_a_model_solves_for_the_chosen_terms_without_shrinkage(swings):
    x, y = swings.variables, swings.targets
    model = og.OrthoReg(augmentation=og.RandomFeatures(50), selection=og.Extrapolation()).fit(x, y)
    assert_array_equal(model.support_, model.selection_.support)
    phi, (_, neural) = model.field_.features(x), model.decompose(x)
    for c, used in enumerate(model.support_):
        exact = np.linalg.lstsq(phi[:, used], y[:, c], rcond=None)[0]
        assert_allclose(model.coefficients_[c, used], exact, rtol=1e-6)
        overlap = phi[:, used].T @ neural[:, c] / len(x)
        assert np.abs(overlap).max() < 1e-9
    assert np.abs(neural).max() > 0.01
    assert model.certificate_.sparsity == 0


def test_without_a_selection_there_is_no_record_of_one(swings):
    model = og.OrthoReg(augmentation=og.Zero(), selection=og.Extrapolation())
    model.fit(swings.variables, swings.targets)
    assert model.selection_ is not None
    model.set_params(selection=None, sparsity=0.1).fit(swings.variables, swings.targets)
    assert model.selection_ is None


@pytest.mark.filterwarnings("ignore:The data have:orthoreg._common.errors.DataWarning")
@pytest.mark.parametrize("rows", [2, 3, 7])
def test_a_handful_of_rows_is_enough(rows, rng):
    x = rng.uniform(-1, 1, (rows, 2))
    model = og.OrthoReg(og.Polynomial(1), og.Zero(), selection=og.Extrapolation()).fit(x, x)
    assert np.isfinite(model.coefficients_).all()


def test_terms_that_are_not_defined_further_out_can_be_chosen(rng):
    x = rng.uniform(0.5, 2.0, (200, 1))
    library = og.Polynomial(2) + og.Terms(["log(x0)", "sqrt(x0)"])
    model = og.OrthoReg(library, og.Zero(), selection=og.Extrapolation()).fit(x, 3 * np.log(x))
    assert model.equations() == ["x0' = 3.000 log(x0)"]


def test_what_cannot_be_is_refused_in_a_sentence(rng):
    for bad in (0.0, 1.5, math.nan):
        with pytest.raises(InputError, match=r"Extrapolation\(inner=\.\.\.\) must be a number"):
            og.Extrapolation(inner=bad)
    for bad in ("half", True, None):
        with pytest.raises(InputError, match=r"^inner must be a number between 0.05 and 0.95; got"):
            check_number("inner", bad, 0.05, 0.95)
    with pytest.raises(InputError, match=r"most_terms=\.\.\.\) must be a whole number"):
        og.Extrapolation(most_terms=0)
    x = rng.uniform(-1, 1, (30, 2))
    with pytest.raises(InputError, match="selection must be a part such as Extrapolation"):
        og.OrthoReg(selection="extrapolation").fit(x, x)


def test_a_selection_is_not_used_where_the_sparsity_is_given_or_there_is_nothing_to_compare(rng):
    x = rng.uniform(-1, 1, (60, 2))
    by_l1 = og.OrthoReg(og.Polynomial(1), og.Zero(), sparsity=0.3)
    assert by_l1.fit(x, x).selection_ is None
    assert (
        by_l1.certificate_.sparsity == 0
    )  # the terms that L1 selected are estimated again without it
    as_it_stands = og.OrthoReg(og.Polynomial(1), og.Zero(), sparsity=0.3, solver=og.Exact())
    assert as_it_stands.fit(x, x).selection_ is None
    assert as_it_stands.certificate_.sparsity == 0.3
    quick = og.Adam(epochs=2)
    model = og.OrthoReg(og.Polynomial(1), og.Zero(), loss=og.MultiStep(1), solver=quick)
    assert model.fit(x, t=0.1).selection_ is None
    assert model.certificate_.sparsity == 0.05
