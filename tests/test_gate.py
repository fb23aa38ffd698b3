"""The gate: the residual is unchanged within the training data, and held or zero beyond them."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from test_persistence import rewritten

import orthoreg as og
from orthoreg._common.errors import InputError
from orthoreg.field.gate import _nearest_distances
from orthoreg.field.hybrid import HybridField

GATE = og.Gate()


def shapes(rng: np.random.Generator, name: str, n: int) -> np.ndarray:
    """Training rows with different distributions in three variables, one of which may be
    constant."""
    t = rng.uniform(0, 6, n)
    return {
        "box": rng.uniform(-1, 1, (n, 3)),
        "curve": np.column_stack([np.cos(t), np.sin(t), t]),
        "outlier": np.vstack([rng.normal(size=(n - 1, 3)), [[50.0, 0, 0]]]),
        "constant": np.column_stack([t, t**2, np.full(n, 0.1)]),
        "all constant": np.full((n, 3), 7.0),
    }[name]


SHAPES = st.sampled_from(["box", "curve", "outlier", "constant", "all constant"])


@given(SHAPES, st.integers(2, 1500), st.integers(0, 99), st.floats(0.01, 10))
def test_every_training_row_is_inside_whatever_the_data(name, n, seed, fade):
    rows = shapes(np.random.default_rng(seed), name, n)
    region = og.Gate(fade)(rows)
    assert len(region.landmarks) == max(1, min(100, n // 10))
    assert region.distance(rows).max() <= 1
    assert_array_equal(region.share(rows), 1.0)
    far = rows + 1e6 * np.ptp(rows, axis=0)
    assert_array_equal(region.share(far), 0.0 if np.ptp(rows) else 1.0)


@given(SHAPES, st.lists(st.floats(1e-6, 1e6), min_size=3, max_size=3), st.integers(0, 9))
def test_units_and_origin_do_not_matter(name, unit, seed):
    rng = np.random.default_rng(seed)
    rows, points = shapes(rng, name, 300), 3 * rng.normal(size=(50, 3))
    origin = np.array([3.0, -20.0, 0.0])
    one, other = GATE(rows), GATE(rows * unit + origin * unit)
    assert_allclose(
        other.distance(points * unit + origin * unit), one.distance(points), rtol=1e-6, atol=1e-6
    )


def test_the_region_follows_data_that_are_not_convex():
    angle = np.linspace(0, 20 * np.pi, 2000)
    ring = np.column_stack([np.cos(angle), 1e3 * np.sin(angle)])
    region = GATE(ring)
    assert region.share(np.zeros((1, 2))) == 0  # the middle of a ring contains no data
    assert region.share(np.array([[1.03, 0.0]])) == 1
    edge = region.distance(np.array([[1.0 + d, 0.0] for d in (0.0, 0.2, 0.4)]))
    assert edge[0] < 1 < edge[1] < edge[2]


def test_few_runs_make_a_wide_edge_and_many_a_narrow_one(rng):
    """A left-out run is inside, because states between runs are not beyond the data."""
    angle = np.linspace(0, 2 * np.pi, 200)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    for radii in (np.linspace(0.2, 1, 5), np.linspace(0.2, 1, 50)):
        order = rng.permutation(len(radii))
        runs = np.concatenate([radii[i] * circle for i in order])
        region = GATE(runs, np.repeat(np.arange(len(radii)) % 5, 200))
        between = (radii[0] + radii[1]) / 2 * circle
        assert region.distance(between).max() <= 1
        assert region.distance(np.array([[1 + 2 * (radii[1] - radii[0]) + 0.3, 0.0]])) > 1


@given(st.floats(0.05, 3), st.floats(0, 3.9))
@pytest.mark.slow
def test_the_fade_is_a_step_without_kinks(fade, distance):
    region = replace(GATE(np.array([[-1.0], [1.0]])), landmarks=np.zeros((1, 1)), fade=fade)
    region = replace(region, rate=np.ones(1))
    here, there = region.share(np.array([[distance], [distance + 1e-6]]))
    slope = jax.grad(lambda z: region.share(z, jax.numpy))(np.array([distance]))[0]
    assert 0 <= there <= here <= 1
    assert abs((there - here) / 1e-6 - slope) < 1e-4 / fade**2 + 1e-3 / fade
    assert here == 1 if distance <= 1 else here == 0 if distance >= 1 + fade else here < 1


@pytest.fixture(scope="module")
def data(pendulum_runs) -> og.Dataset:
    return pendulum_runs


@pytest.fixture(scope="module")
def pair(data) -> tuple[og.OrthoReg, og.OrthoReg]:
    """The same fit with and without a gate; L1 selects the terms."""
    gated, free = (
        og.OrthoReg(augmentation=og.RandomFeatures(60), sparsity=0.05, gate=g) for g in (GATE, None)
    )
    return gated.fit(data), free.fit(data)


def around(data: og.Dataset, rng: np.random.Generator) -> np.ndarray:
    return data.states[::7] + rng.normal(size=(len(data.states[::7]), 2)) * [2.0, 2.0]


def test_nothing_changes_on_the_training_data(pair, data):
    gated, free = pair
    assert gated.field_.weights.any()
    assert_array_equal(gated.predict(data), free.predict(data))
    assert gated.certificate_ == free.certificate_
    overlap = gated.field_.features(data.states).T @ gated.decompose(data)[1] / data.n_samples
    assert np.abs(overlap.T[gated.support_]).max() < 1e-11


def fading(model: og.OrthoReg) -> HybridField:
    """Return the field with a residual that vanishes beyond the data, as with
    `Gate(hold=False)`."""
    return replace(model.field_, region=replace(model.field_.region, held=None))


def test_between_the_edge_and_beyond_the_residual_has_its_share(pair, data, rng):
    gated, free = pair
    x = around(data, rng)
    region = gated.field_.region
    share = region.share(x)
    assert (share == 0).any() and ((share > 0) & (share < 1)).any() and (share == 1).any()
    own = share[:, None] * free.decompose(x)[1]
    assert_allclose(fading(gated).neural(x), own, atol=1e-13)
    away = np.linalg.norm((x * region.rate)[:, None] - region.landmarks, axis=2)
    weight = np.exp(-4 * np.maximum(away, 1.0))
    held = weight @ region.held / weight.sum(axis=1, keepdims=True)
    assert_allclose(gated.decompose(x)[1], own + (1 - share)[:, None] * held, atol=1e-12)
    assert_array_equal(gated.decompose(x)[0], free.decompose(x)[0])
    assert_array_equal(gated.distance(x) > 1, share < 1)


def test_far_away_the_residual_is_none_or_of_the_size_it_has_on_the_data(pair, data):
    gated, free = pair
    far = np.array([[1e200, 1.0], [40.0, -40.0], [-1e7, 1e-7]])
    with np.errstate(all="ignore"):
        assert not np.isfinite(free.predict(far)).all()
        neural = gated.decompose(far)[1]
        assert_array_equal(fading(gated).neural(far), 0.0)
    on_data = free.decompose(data)[1]
    assert (neural >= on_data.min(axis=0)).all() and (neural <= on_data.max(axis=0)).all()
    assert np.abs(neural).max() > 0.01


def test_what_is_held_has_no_jumps(pair, data):
    field = pair[0].field_
    centre, reach = data.states.mean(axis=0), np.ptp(data.states, axis=0)
    angle = np.linspace(0, 2 * np.pi, 20_001)
    for radius in (0.5, 1.0, 3.0, 30.0):
        ring = centre + radius * reach * np.column_stack([np.cos(angle), np.sin(angle)])
        jumps = np.abs(np.diff(field.neural(ring), axis=0))
        assert jumps.max() < 0.01 * np.abs(field.region.held).max()


def test_an_equation_that_is_all_residual_does_not_stand_still_beyond_the_data():
    s = np.linspace(0, 3, 600)[:, None]
    model = og.OrthoReg(og.Terms(["exp(-9*x0)"]), og.RandomFeatures(60)).fit(s, -s / (0.3 + s))
    assert model.equations() == ["x0' = residual"]
    far = np.array([[4.0], [6.0], [60.0]])
    assert_allclose(model.predict(far), -3 / 3.3, atol=0.03)
    assert_array_equal(fading(model).values(far), 0.0)
    still = model.set_params(gate=og.Gate(hold=False)).fit(s, -s / (0.3 + s))
    assert_array_equal(still.predict(far), 0.0)


MODELS = {
    "random features": og.OrthoReg(augmentation=og.RandomFeatures(20, ridge=1e-6)),
    "projected": og.OrthoReg(augmentation=og.MLP(6, 1), solver=og.Adam(epochs=9)),
    "penalised": og.OrthoReg(
        augmentation=og.MLP(6, 1), solver=og.Adam(epochs=9), orthogonality=1.0
    ),
    "shaped on some rows": og.OrthoReg(
        augmentation=og.RandomFeatures(20), solver=og.Exact(normalize=True, most_rows=500)
    ),
}


@pytest.mark.parametrize(
    "kind", [k if "rand" in k else pytest.param(k, marks=pytest.mark.slow) for k in MODELS]
)
def test_numpy_jax_exported_source_and_file_agree(kind, data, rng, tmp_path):
    model = clone(MODELS[kind]).fit(data)
    assert model.field_.correction.any() == (kind in ("projected", "shaped on some rows"))
    x = around(data, rng)
    expected = model.predict(x)
    assert_allclose(expected, sum(model.decompose(x)), atol=1e-14)
    with jax.enable_x64(True):
        traced = jax.vmap(lambda z: model.field_(0.0, z))(x)
    assert_allclose(traced, expected, rtol=1e-12, atol=1e-12)
    namespace = {}
    exec(model.to_python(), namespace)
    assert_allclose(namespace["vector_field"](x), expected, rtol=1e-12, atol=1e-12)
    model.save(tmp_path / "m.orthoreg")
    loaded = og.load(tmp_path / "m.orthoreg")
    assert loaded.gate is model.gate is True
    assert_array_equal(loaded.predict(x), expected)
    assert_array_equal(loaded.distance(x), model.distance(x))


def test_inputs_count_and_a_constant_one_does_not(rng):
    x, u = rng.uniform(-1, 1, (400, 1)), rng.uniform(-1, 1, (400, 1))
    model = og.OrthoReg(og.Polynomial(1), og.Zero()).fit(x, -x + u, u=u)
    assert model.distance([[0.0]], [[0.0]]) <= 1 < model.distance([[0.0]], [[3.0]])
    model.fit(x, -x, u=np.full((400, 1), 0.1))
    assert model.distance([[0.0]], [[99.0]]) <= 1


@pytest.fixture(scope="module")
def growth() -> og.OrthoReg:
    """The field x' = x with data for x from 0 to 1."""
    x = np.random.default_rng(0).permutation(np.linspace(0, 1, 1001))[:, None]
    return og.OrthoReg(og.Terms(["x0"]), og.Zero()).fit(x, x)


def test_a_rollout_tells_when_it_leaves_the_data(growth):
    times = np.linspace(0, 3, 301)
    edge = np.log(1 + 0.1 * np.std(np.linspace(0, 1, 1001)))  # within a step, the tolerance
    batch = growth.simulate([[np.exp(-1.0)], [-0.5], [1e-3]], times)
    assert batch.left_at[0] == pytest.approx(1 + edge, abs=0.03) and batch.left_at[0] in times
    assert batch.left_at[1:] == [0.0, None]
    assert "left the training data at t = 1.0" in batch.message[0] and batch.message[2] == ""
    assert batch.completed.all() and growth.simulate([0.5], times, throw=True).left_at > 0
    one = growth.simulate([1e-3], times)
    assert one.left_at is None
    runs = og.Dataset.from_arrays(np.exp(times - 1)[:, None], times)
    assert growth.forecast(runs)[0].left_at == batch.left_at[0]


def test_a_rollout_that_fails_says_so_too():
    x = np.linspace(0, 1, 500)[:, None]
    model = og.OrthoReg(og.Terms(["x0**2"]), og.Zero()).fit(x, x**2)
    result = model.simulate([0.9], [0.0, 2.0])
    assert not result.completed and result.left_at == result.stopped_at
    assert "dominates" in result.message
    assert result.message.startswith("The rollout left the training data at t = ")


def test_without_a_gate_nothing_is_measured(pair, data):
    _, free = pair
    assert free.simulate([90.0, 0.0], [0.0, 0.1]).left_at is None
    with pytest.raises(InputError, match="Only models with a gate.*Gate()"):
        free.distance(data)
    assert og.STLSQ().fit(data).field_.region is None
    assert og.OrthoReg().recipe().gate == GATE and og.presets.paper_orthoreg().gate is None
    assert og.OrthoReg(gate=False).recipe().gate is None


@pytest.mark.parametrize("change", ["rate", "landmarks", "held", "fade"])
def test_a_forged_region_is_refused(pair, change, tmp_path):
    path = tmp_path / "m.orthoreg"
    pair[0].save(path)

    def forge(manifest, arrays):
        if change == "fade":
            manifest["field"]["fade"] = -1.0
        else:
            arrays[f"region.{change}"] = np.full_like(arrays[f"region.{change}"], np.nan)

    with pytest.raises(InputError, match="finite|fade"):
        og.load(rewritten(path, forge))


def test_what_is_no_gate_is_refused(data):
    for fade in (0, -1.0, np.inf, np.nan, True):
        with pytest.raises(InputError, match="fade"):
            og.Gate(fade)
    for landmarks in (0, -3, True):
        with pytest.raises(InputError, match="landmarks"):
            og.Gate(landmarks=landmarks)
    with pytest.raises(InputError, match="gate must be Gate"):
        og.OrthoReg(gate=0.5).fit(data)


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_distances_are_those_of_all_pairs(offset):
    rng = np.random.default_rng(3)
    points = rng.normal(size=(400, 3)) * [1.0, 1e-3, 50.0] + offset
    region = og.Gate(hold=False)(points)
    at = np.concatenate([points, points[:50] * 1.5, [[np.inf, 0, 0], [np.nan, 0, 0], [1e200] * 3]])
    scaled = at * region.rate
    pairs = np.linalg.norm(scaled[:450, None] - region.landmarks, axis=2).min(axis=1)
    found = region.distance(at)
    assert_allclose(found[:450], pairs, rtol=1e-6, atol=1e-6)
    assert found[450] == np.inf and np.isnan(found[451]) and found[452] > 1e100


def test_the_short_way_for_rows_inside_is_the_formula():
    rng = np.random.default_rng(4)
    points = rng.normal(size=(300, 2))
    region = og.Gate()(points, residual=lambda x: np.sin(3 * x))
    at = np.concatenate([points, 3 * points])
    residual = np.sin(3 * at)
    whole = region._mixed(at, residual, np)
    assert (region.distance(at) > 1).any()
    assert_allclose(region.gated(at, residual), whole, rtol=1e-12, atol=1e-14)
    assert_array_equal(region.gated(points, residual[:300]), residual[:300])


def test_distances_among_many_variables_are_those_of_few():
    rng = np.random.default_rng(5)
    points, rows = rng.normal(size=(90, 13)) + 100, rng.normal(size=(1500, 13)) + 100
    pairs = np.linalg.norm(rows[:, None] - points, axis=2).min(axis=1)
    assert_allclose(_nearest_distances(points, rows), pairs, rtol=1e-10)
