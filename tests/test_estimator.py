"""`OrthoReg` beyond the scikit-learn contract: ways to fit, parts, units, simulations
and errors."""

import math

import jax
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg._common.errors import InputError, SimulationError
from orthoreg.simulation import Status

X = np.random.default_rng(0).uniform(-1, 1, (240, 2))
LINEAR = np.array([[0.0, -1.0], [1.0, -0.1]])
Y = X @ LINEAR
T = np.linspace(0, 3, 16)
FIXED = og.RandomFeatures(20, ridge=1e-6)


def equations_alone(library=og.Polynomial(1), **options):  # noqa: B008
    return og.OrthoReg(library, og.Zero(), **options)


def swing(times, start=1.0):
    """Return the solution of x'' = -x and its derivative."""
    x = start * np.column_stack([np.cos(times), -np.sin(times)])
    return x, x @ np.array([[0.0, -1.0], [1.0, 0.0]])


# -- ways to fit ---------------------------------------------------------------------------


def test_three_ways_to_fit_agree(pendulum_runs):
    def model():
        return og.OrthoReg(augmentation=FIXED, loss=og.VectorField())

    runs = list(pendulum_runs)
    slopes = og.VectorField().observe(pendulum_runs).targets
    fits = [
        model().fit(pendulum_runs),
        model().fit(runs),
        model().fit([run.states for run in runs], t=[run.times for run in runs]),
        model().fit(pendulum_runs.states.reshape(20, -1, 2), t=runs[0].times),
        model().fit(pendulum_runs.states, slopes),
        model().fit(pendulum_runs.with_derivatives(slopes)),
    ]
    for fit in fits[1:]:
        assert_allclose(fit.coefficients_, fits[0].coefficients_, rtol=1e-9, atol=1e-12)
        assert_allclose(fit.predict(X), fits[0].predict(X), rtol=1e-9, atol=1e-9)
    assert fits[0].score(pendulum_runs) == pytest.approx(
        fits[4].score(pendulum_runs.states, slopes)
    )


def test_ragged_runs_with_unequal_steps_recover_the_system(rng):
    times = [np.sort(rng.uniform(0, 6, length)) for length in (150, 90, 210)]
    runs = [swing(t, start)[0] for t, start in zip(times, (1.0, 0.5, 2.0), strict=True)]
    model = equations_alone().fit(runs, t=times)
    assert model.feature_names_ == ["1", "x0", "x1"]
    assert_allclose(model.coefficients_, [[0, 0, 1], [0, -1, 0]], atol=1e-4)
    assert model.score(runs, t=times) > 1 - 1e-6


def test_a_flat_target_is_a_column_that_stays_flat():
    flat = og.OrthoReg(augmentation=FIXED).fit(X, Y[:, 1])
    column = og.OrthoReg(augmentation=FIXED).fit(X, Y[:, 1:])
    assert flat.predict(X).shape == (240,) and column.predict(X).shape == (240, 1)
    assert_array_equal(flat.predict(X), column.predict(X)[:, 0])
    assert_array_equal(sum(flat.decompose(X)), flat.predict(X))
    assert flat.equations()[0].startswith("y0' = ")


def test_frames_and_arrays_predict_the_same():
    frame = pd.DataFrame(X, columns=["angle", "speed of it"])
    by_frame = equations_alone().fit(frame, Y)
    assert_array_equal(by_frame.predict(frame), equations_alone().fit(X, Y).predict(X))
    assert by_frame.equations()[0] == "angle' = 1.000 `speed of it`"
    with pytest.raises(ValueError, match="same order"):
        by_frame.predict(frame[["speed of it", "angle"]])


@pytest.mark.parametrize("way", ["t", "dataset"])
def test_a_frame_with_the_columns_of_the_training_data_needs_no_warning(way):
    frame = pd.DataFrame(swing(T)[0], columns=["p", "q"])
    data = og.Dataset.from_arrays(frame, T)
    model = equations_alone()
    model = model.fit(frame, t=T) if way == "t" else model.fit(data)
    assert model.state_names_ == ("p", "q")
    assert_array_equal(model.predict(frame), model.predict(data))
    with pytest.raises(ValueError, match="order|same columns"):
        model.predict(frame[["q", "p"]])


def test_a_second_fit_forgets_the_first():
    model = equations_alone().fit(pd.DataFrame(X, columns=["a", "b"]), Y[:, 0])
    model.fit(og.Dataset.from_arrays(np.hstack([X, X**2]), 1.0, derivatives=np.hstack([Y, Y])))
    fresh = equations_alone().fit(np.hstack([X, X**2]), np.hstack([Y, Y]))
    assert not hasattr(model, "feature_names_in_") and model.n_features_in_ == 4
    assert model.equations() == fresh.equations()


# -- parts ---------------------------------------------------------------------------------


def test_per_state_gives_each_equation_its_own_library():
    own = {"x1": og.Terms(["x0", "x1", "sin(x0)"])}
    model = og.OrthoReg(og.PerState(own, og.Polynomial(1)), FIXED, sparsity=0.0).fit(X, Y)
    alone = [
        og.OrthoReg(library, FIXED, sparsity=0.0).fit(X, Y[:, c])
        for c, library in enumerate([og.Polynomial(1), own["x1"]])
    ]
    for c, single in enumerate(alone):
        table = dict(zip(model.feature_names_, model.coefficients_[c], strict=True))
        expected = dict(zip(single.feature_names_, single.coefficients_[0], strict=True))
        for name, value in table.items():
            assert value == pytest.approx(expected.get(name, 0.0), rel=1e-9, abs=1e-12)
        assert_allclose(model.predict(X)[:, c], single.predict(X), atol=1e-9)


@pytest.mark.parametrize(
    "augmentation",
    [og.Zero(), og.RandomFeatures(20), og.MLP(10, 2)],
    ids=lambda a: type(a).__name__,
)
def test_decompose_sums_to_predict(pendulum_runs, augmentation):
    model = og.OrthoReg(augmentation=augmentation).fit(pendulum_runs)
    for x in (pendulum_runs, pendulum_runs.states[:1], X.tolist()):
        symbolic, neural = model.decompose(x)
        assert_array_equal(symbolic + neural, model.predict(x))
    terms = np.column_stack(
        [np.ones(240), *X.T, X[:, 0] ** 2, X[:, 0] * X[:, 1], X[:, 1] ** 2,
         np.sin(X[:, 0]), np.cos(X[:, 0]), np.sin(X[:, 1]), np.cos(X[:, 1])]
    )  # fmt: skip
    assert_allclose(model.decompose(X)[0], terms @ model.coefficients_.T, rtol=1e-10, atol=1e-12)
    assert_array_equal(model.support_, model.coefficients_ != 0)


@settings(max_examples=15)
@given(st.integers(-8, 8), st.integers(-8, 8))
def test_units_change_the_numbers_and_nothing_else(first, second):
    scale = 10.0 ** np.array([first, second])
    slopes = Y + 0.3 * np.cos(5 * X[:, :1])
    one = og.OrthoReg(og.Polynomial(2), FIXED).fit(X, slopes)
    other = og.OrthoReg(og.Polynomial(2), FIXED).fit(X * scale, slopes * scale)
    a, b = scale
    factors = np.array([1, a, b, a * a, a * b, b * b])
    assert_allclose(other.predict(X * scale) / scale, one.predict(X), rtol=1e-6, atol=1e-9)
    assert_array_equal(other.support_, one.support_)
    assert_allclose(other.coefficients_ * factors / scale[:, None], one.coefficients_, rtol=1e-7)


def test_terms_that_are_zero_to_rounding_are_not_in_the_equations(rng):
    s = 1000 * rng.dirichlet([1, 1, 1], 300)
    infection, recovery = 3e-4 * s[:, 0] * s[:, 1], 0.1 * s[:, 1]
    slopes = np.column_stack([-infection, infection - recovery, recovery])
    data = og.Dataset.from_arrays(s, 1.0, names=["S", "I", "R"], derivatives=slopes)
    model = equations_alone(og.Polynomial(2)).fit(data)
    assert model.equations() == [
        "S' = -0.0003000 S*I", "I' = -0.1000 I + 0.0003000 S*I", "R' = 0.1000 I",
    ]  # fmt: skip


# -- dependent terms and overlap -----------------------------------------------------------


@pytest.mark.parametrize("augmentation", [og.Zero(), FIXED])
def test_data_on_a_circle_are_reported_and_still_predicted(augmentation):
    x, slopes = swing(np.linspace(0, 6, 300))
    model = og.OrthoReg(og.Polynomial(3), augmentation).fit(x, slopes)
    assert set(model.certificate_.dependences) == {
        "x1**2 = 1 - x0**2", "x0*x1**2 = x0 - x0**3", "x1**3 = x1 - x0**2*x1",
    }  # fmt: skip
    assert_allclose(model.predict(x), slopes, atol=1e-9)
    assert_allclose(model.coefficients_[:, 1:3], [[0, 1], [-1, 0]], atol=1e-9)


@pytest.mark.parametrize("total, shown", [(1.0, "1"), (1000.0, "1000"), (0.25, "0.25")])
def test_a_conserved_sum_is_reported_as_it_is(rng, total, shown):
    s = total * rng.dirichlet([1, 1, 1], 300)
    slopes = np.column_stack([-s[:, 0], s[:, 0] - s[:, 1], s[:, 1]])
    data = og.Dataset.from_arrays(s, 1.0, names=["S", "I", "R"], derivatives=slopes)
    model = equations_alone(sparsity=1e-4).fit(data)
    assert model.certificate_.dependences == (f"R = {shown} - S - I",)
    assert_allclose(model.predict(data), slopes, atol=1e-9 * total)


def overlaps(model, library_values, x):
    """Return <f_aug, theta_k>_D from the definition."""
    return library_values.T @ model.decompose(x)[1] / len(x)


def test_overlap_shrinks_with_orthogonality_to_zero():
    slopes = Y + 0.5 * np.cos(3 * X[:, :1]) + X[:, 1:] ** 3
    terms = np.column_stack([np.ones(len(X)), X])
    sizes = []
    for strength in (0.0, 0.1, 1.0, 10.0, 100.0, math.inf):
        model = og.OrthoReg(
            og.Polynomial(1), FIXED, sparsity=0.3, orthogonality=strength, solver=og.Exact()
        ).fit(X, slopes)
        sizes.append(np.sum(overlaps(model, terms, X) ** 2))
        bounds = [one.penalty_bound for one in model.certificate_.equations]
        assert sum(bound.observed for bound in bounds) == pytest.approx(
            sizes[-1], rel=1e-9, abs=1e-24
        )
        assert all(bound.assumption_holds and bound.holds for bound in bounds)
        assert np.abs(model.decompose(X)[1]).max() > 0.1
    assert (np.diff(sizes) < 0).all() and sizes[0] > 1e-3
    assert sizes[-1] < 1e-24


def test_the_default_residual_is_orthogonal_to_the_terms_in_use(pendulum_runs, pendulum_model):
    values = pendulum_model.field_.features(pendulum_runs.states)
    overlap = overlaps(pendulum_model, values, pendulum_runs.states)
    in_use = pendulum_model.support_.T
    assert in_use.any() and np.abs(overlap[in_use]).max() < 1e-12
    assert max(one.overlap for one in pendulum_model.certificate_.equations) < 1e-11


# -- rollouts ------------------------------------------------------------------------------


def test_simulate_solves_the_equations_that_predict_states(pendulum_model):
    start = [1.0, -0.5]
    result = pendulum_model.simulate(start, T, rtol=1e-10)
    expected = solve_ivp(
        lambda t, x: pendulum_model.predict(x[None])[0], (0, 3), start, "DOP853", T,
        rtol=1e-11, atol=1e-11,
    ).y.T  # fmt: skip
    assert result.status is Status.completed and result.completed is True
    assert (result.message, result.stopped_at, result.stopped_state) == ("", None, None)
    assert result.x.shape == (16, 2)
    assert_allclose(result.x, expected, rtol=0, atol=1e-7)


@pytest.fixture(scope="module")
def linear():
    return equations_alone().fit(X, Y)


@pytest.fixture(scope="module")
def driven():
    """A model of x' = -x + 2 u, learned exactly."""
    u = X[:, 1:]
    return equations_alone().fit(X[:, :1], -X[:, :1] + 2 * u, u=u)


def test_inputs_pass_through_fit_predict_and_simulate(driven):
    assert driven.equations() == ["x0' = -1.000 x0 + 2.000 u0"]
    data = og.Dataset.from_arrays(X[:, :1], 1.0, X[:, 1:], derivatives=-X[:, :1] + 2 * X[:, 1:])
    assert_allclose(equations_alone().fit(data).coefficients_, driven.coefficients_, atol=1e-12)
    assert_array_equal(driven.predict(X[:, :1], X[:, 1:]), driven.predict(data))
    ramp = 2 * (T - 1) + 3 * np.exp(-T)  # from 1 with u = t
    shared = driven.simulate([[1.0], [2.0]], T, u=T[:, None])
    assert_allclose(shared.x[..., 0], [ramp, ramp + np.exp(-T)], rtol=0, atol=1e-6)
    own = driven.simulate([[1.0], [1.0]], T, u=np.stack([T, 0 * T])[..., None])
    assert_allclose(own.x[..., 0], [ramp, np.exp(-T)], rtol=0, atol=1e-6)


@pytest.fixture(scope="module")
def explosive():
    """A model of a' = a**2 + 0.1 b, b' = -b, which diverges from a = 1 shortly before t = 1."""
    data = og.Dataset.from_arrays(
        X, 1.0, names=["a", "b"],
        derivatives=np.column_stack([X[:, 0] ** 2 + 0.1 * X[:, 1], -X[:, 1]]),
    )  # fmt: skip
    return equations_alone(og.Terms(["b", "a**2"]), sparsity=1e-4).fit(data)


def test_divergence_is_a_status_with_time_state_and_term(explosive):
    result = explosive.simulate([[1.0, 0.0], [-1.0, 1.0]], T)
    assert result.status == [Status.diverged, Status.completed]
    assert result.stopped_at[0] == pytest.approx(1.0, abs=1e-3) and result.stopped_at[1] is None
    assert np.isnan(result.x[0, T > 1]).all() and np.isfinite(result.x[0, T < 1]).all()
    assert result.stopped_state[0][0] > 1e4 and "dominates" not in result.message[1]
    shown = f"t = {result.stopped_at[0]:.6g} (a = {result.stopped_state[0][0]:.3g}, b = 0)"
    assert shown in result.message[0]
    assert "the term a**2 in a' dominates" in result.message[0]


@pytest.mark.parametrize("other", [[0.5, 0.2], [-1e6, 1e6]])
def test_a_rollout_is_accurate_whatever_else_is_in_its_batch(explosive, other):
    result = explosive.simulate([[-1.0, 0.0], other], T)
    assert result.x.shape == (2, 16, 2) and result.status[0] is Status.completed
    assert_allclose(result.x[0], np.column_stack([-1 / (1 + T), 0 * T]), rtol=0, atol=1e-6)


def test_throw_raises_the_message(explosive):
    starts = [[1.0, 0.0], [-1.0, 1.0]]
    with pytest.raises(SimulationError, match="a\\*\\*2 in a' dominates") as caught:
        explosive.simulate(starts, T, throw=True)
    assert str(caught.value) == explosive.simulate(starts, T).message[0]
    assert explosive.simulate([starts[1]] * 2, T, throw=True).completed.all()


# -- what is not touched, and what is refused ------------------------------------------------


def test_nothing_global_and_nothing_of_the_caller_is_changed(driven):
    generator = np.random.get_state()[1].copy()  # noqa: NPY002
    options, errors = np.get_printoptions(), np.geterr()
    x, u = X[:, :1].copy(), X[:, 1:].copy()
    y = -x + 2 * u
    for array in (x, u, y):
        array.flags.writeable = False
    fit = og.OrthoReg(augmentation=og.RandomFeatures(20)).fit(x, y, u=u)
    fit.predict(x, u), fit.equations(), fit.to_python()
    driven.simulate([[1.0], [2.0]], T, u=T[:, None])
    assert_array_equal(np.random.get_state()[1], generator)  # noqa: NPY002
    assert np.get_printoptions() == options and np.geterr() == errors
    assert not jax.config.jax_enable_x64
    assert_array_equal(x, X[:, :1])


RUN = og.Dataset.from_arrays(X, 1.0)
RENAMED = og.Dataset.from_arrays(X, 1.0, names=["p", "q"])
REFUSED_FITS = {
    "times and derivatives": (dict(X=X, y=Y, t=T), "not both"),
    "dataset and derivatives": (dict(X=RUN, y=Y), "omit t, u and y"),
    "dataset and times": (dict(X=RUN, t=1.0), "omit t, u and y"),
    "dataset and inputs": (dict(X=RUN, u=X), "omit t, u and y"),
    "no target": (dict(X=X), "derivatives.*times.*Dataset"),
    "times too short": (dict(X=X, t=T), "same number of rows"),
    "times going back": (dict(X=X, t=np.linspace(9, 0, 240)), "increase"),
    "flat inputs": (dict(X=X, y=Y, u=X[:, 0]), "u must have two dimensions"),
    "inputs too short": (dict(X=X, y=Y, u=X[:9]), "one row for each of the 240"),
    "inputs with gaps": (dict(X=X, y=Y, u=X * np.nan), "finite"),
    "inputs of text": (dict(X=X, y=Y, u=[["a"]] * 240), "u must contain numbers"),
    "inputs named like states": (
        dict(X=pd.DataFrame(X, columns=["u0", "b"]), y=Y, u=X[:, :1]), "different names",
    ),
    "library": (dict(X=X, y=Y, library=["x0"]), "library must be.*Polynomial.*text"),
    "augmentation": (dict(X=X, y=Y, augmentation=og.Zero), "augmentation must be.*Zero"),
    "solver": (dict(X=X, y=Y, solver="exact"), "solver must be.*Exact"),
    "loss": (dict(X=X, y=Y, loss="mse"), "loss must be.*VectorField"),
    "sparsity": (dict(X=X, y=Y, sparsity=-1), "sparsity must be.*at least 0; got -1"),
    "orthogonality": (dict(X=X, y=Y, orthogonality=math.nan), "orthogonality must be.*got nan"),
    "magnitude": (dict(X=X, y=Y, magnitude=math.inf), "magnitude must be.*finite"),
    "seed": (dict(X=X, y=Y, seed=1.5), "seed must be a whole number"),
    "unknown variable": (dict(X=X, y=Y, library=og.Terms(["x2"])), "x2.*x0"),
    "term without value": (dict(X=X, y=Y, library=og.Terms(["log(x0)"])), "log\\(x0\\).*finite"),
    "unknown equation": (dict(X=X, y=Y, library=og.PerState({"x9": og.Fourier()})), "x9.*x0"),
    "missing equation": (dict(X=X, y=Y, library=og.PerState({"x0": og.Fourier()})), "'x1'"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED_FITS)
def test_fit_refuses_in_a_sentence(kind):
    given_, message = REFUSED_FITS[kind]
    params = {name: value for name, value in given_.items() if name not in "Xytu"}
    with pytest.raises(InputError, match=message) as caught:
        og.OrthoReg(**params).fit(**{k: v for k, v in given_.items() if k in "Xytu"})
    assert str(caught.value).endswith(".")


REFUSED_USES = {
    "predict without inputs": ("driven", "predict", (X[:, :1],), {}, "u must have 1 col.*u0"),
    "predict with too many": ("driven", "predict", (X[:, :1], X), {}, "u must have 1 col.*has 2"),
    "predict unasked inputs": ("linear", "predict", (X, X), {}, "without inputs"),
    "decompose unasked inputs": ("linear", "decompose", (X, X), {}, "without inputs"),
    "predict other names": ("linear", "predict", (RENAMED,), {}, "'x0', 'x1'.*'p', 'q'"),
    "predict dataset and inputs": ("linear", "predict", (RUN, X), {}, "omit u"),
    "score without target": ("linear", "score", (X,), {}, "derivatives.*times.*Dataset"),
    "score both": ("linear", "score", (X, Y), {"t": 1.0}, "not both"),
    "one start too long": ("linear", "simulate", ([1.0, 2, 3], T), {}, "x0 must have shape \\(2,"),
    "a number for a start": ("linear", "simulate", (1.0, T), {}, "x0 must have shape"),
    "no start": ("linear", "simulate", (np.zeros((0, 2)), T), {}, "x0.*at least one"),
    "text for a start": ("linear", "simulate", (["a", "b"], T), {}, "x0 must.*numbers"),
    "ragged starts": ("linear", "simulate", ([[1.0, 2], [3]], T), {}, "x0 must"),
    "start not finite": ("linear", "simulate", ([1.0, math.inf], T), {}, "finite"),
    "times going back": ("linear", "simulate", ([1.0, 0], T[::-1]), {}, "t must increase"),
    "times repeated": ("linear", "simulate", ([1.0, 0], [0, 1, 1]), {}, "increase.* 1 then 1"),
    "no times": ("linear", "simulate", ([1.0, 0], []), {}, "t must"),
    "one number for times": ("linear", "simulate", ([1.0, 0], 5.0), {}, "t must be a one-dim"),
    "text for times": ("linear", "simulate", ([1.0, 0], "now"), {}, "t must.*numbers"),
    "tolerance of zero": ("linear", "simulate", ([1.0, 0], T), {"rtol": 0.0}, "rtol must"),
    "tolerance below zero": ("linear", "simulate", ([1.0, 0], T), {"rtol": -1e-8}, "rtol must"),
    "unasked inputs": ("linear", "simulate", ([1.0, 0], T), {"u": X}, "without inputs"),
    "missing inputs": ("driven", "simulate", ([1.0], T), {}, "1 input.*\\(16, 1\\)"),
    "flat inputs": ("driven", "simulate", ([1.0], T), {"u": T}, "\\(16, 1\\).*\\(16,\\)"),
    "inputs with gaps": ("driven", "simulate", ([1.0], T), {"u": T[:, None] * np.nan}, "finite"),
    "text inputs": ("driven", "simulate", ([1.0], T), {"u": [["a"]] * 16}, "u must.*numbers"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED_USES)
def test_predict_score_and_simulate_refuse_in_a_sentence(kind, request):
    model, method, arguments, options, message = REFUSED_USES[kind]
    with pytest.raises(InputError, match=message) as caught:
        getattr(request.getfixturevalue(model), method)(*arguments, **options)
    assert str(caught.value).endswith(".")


def test_simulate_needs_an_equation_for_every_state():
    with pytest.raises(InputError, match="each of the 2 states.*1 target"):
        equations_alone().fit(X, Y[:, 0]).simulate([1.0, 0.0], T)
