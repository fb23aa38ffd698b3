"""Equations with several derivatives are solved exactly, estimated and printed as written."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg.physics import bind_physics, parse_equation, physics_of, read_fields

CART = (
    "Mt*v' + q*cos(a)*w' = q*w^2*sin(a) - b*v - k*x",
    "J*w' + q*cos(a)*v' = -G*sin(a)",
)
TRUE = {"Mt": 1.5, "q": 0.15, "b": 0.2, "k": 3.0, "J": 0.075, "G": 1.4715}
NAMES = ["x", "a", "v", "w"]


def rate(z):
    """Return the derivatives of a cart with a pendulum, solved by NumPy."""
    x, a, v, w = z.T
    p = TRUE
    mass = np.array([[np.full_like(a, p["Mt"]), p["q"] * np.cos(a)],
                     [p["q"] * np.cos(a), np.full_like(a, p["J"])]])  # fmt: skip
    force = np.array([p["q"] * w**2 * np.sin(a) - p["b"] * v - p["k"] * x, -p["G"] * np.sin(a)])
    solved = np.linalg.solve(np.moveaxis(mass, 2, 0), force.T[..., None])[..., 0]
    return np.column_stack([v, w, solved])


def fitted(physics):
    z = np.random.default_rng(0).uniform(-2, 2, (300, 4))
    model = og.OrthoReg(og.Polynomial(1), physics=physics)
    return model.fit(pd.DataFrame(z, columns=NAMES), rate(z))


@pytest.fixture(scope="module")
def cart():
    return fitted(og.Physics(equations=["x' = v", "a' = w", *CART]))


def test_constants_are_found_up_to_a_factor_of_all(cart):
    assert cart.knowledge().systems[0].scale == ("Mt",)
    wanted = {name: value / TRUE["Mt"] for name, value in TRUE.items() if name != "Mt"}
    assert set(cart.parameters_) == set(wanted)
    for name, value in wanted.items():
        assert cart.parameters_[name] == pytest.approx(value, rel=1e-6)
    assert (
        ". The equations determine them only up to a common factor, which is fixed by Mt = 1."
        in str(cart.summary())
    )


def test_equations_are_printed_as_they_were_written(cart):
    assert cart.equations()[2:] == [
        "v' + 0.1*w'*cos(a) = -2*x - 0.1333*v + 0.1*w**2*sin(a)",
        "0.05*w' + 0.1*v'*cos(a) = -0.981*sin(a)",
    ]


def test_predictions_source_and_files_agree(cart, tmp_path):
    z = np.random.default_rng(1).uniform(-3, 3, (20, 4))
    frame = pd.DataFrame(z, columns=NAMES)
    assert_allclose(cart.predict(frame), rate(z), rtol=1e-6)
    module: dict = {}
    exec(cart.to_python(), module)
    assert_allclose(module["vector_field"](z), cart.predict(frame), rtol=1e-12)
    assert "cos(a)" in str(cart.to_sympy()[2])
    assert r"\frac" in cart.to_latex()[2]
    assert "cos(" in cart.to_c()
    cart.save(tmp_path / "cart.orthoreg")
    loaded = og.load(tmp_path / "cart.orthoreg")
    assert loaded.equations() == cart.equations()
    assert loaded.parameters_ == cart.parameters_
    assert_allclose(loaded.predict(frame), cart.predict(frame), rtol=0)


def test_a_value_settles_the_factor():
    physics = og.Physics(equations=["x' = v", "a' = w", *CART], values={"k": TRUE["k"]})
    model = fitted(physics)
    for name, value in TRUE.items():
        if name != "k":
            assert model.parameters_[name] == pytest.approx(value, rel=1e-6)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(
    arrays(float, (3, 3), elements=st.floats(-1, 1)), arrays(float, 3, elements=st.floats(-9, 9))
)
def test_three_derivatives_are_solved_as_numpy_does(mass, force):
    mass = mass + 4 * np.eye(3)
    texts = [
        " + ".join(f"({float(mass[e, j])!r})*{name}'" for j, name in enumerate("abc"))
        + f" = ({float(force[e])!r})*(1 + a)"
        for e in range(3)
    ]
    bound = bind_physics(og.Physics(equations=texts), og.Polynomial(1), "abc", "abc")
    found = bound.features(np.array([[0.5, 0.0, 0.0]]))[0] @ bound.knowledge.low.T
    assert_allclose(found, 1.5 * np.linalg.solve(mass, force), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("equations", "words"),
    [
        (["m*x' + c*y' = -x"], "1 equations for the derivatives.*2 are needed"),
        (["x' + y' = 1", "2*x' + 2*y' = 3"], "does not determine"),
        (["x' + c*y' = -x + ...", "y' + c*x' = -y"], "must be complete"),
        (["x'*y' = 1", "y' + x' = 2"], "must be linear"),
        (["m*z' + x' = 1"], "z' is not a derivative"),
        (["m*x'' + x' = 1"], "x'' is not a derivative"),
    ],
)
def test_what_cannot_be_solved_is_said_in_a_sentence(equations, words):
    with pytest.raises(og.InputError, match=words):
        bind_physics(og.Physics(equations=equations), og.Polynomial(1), "xy", "xy")


def test_a_constant_before_one_derivative_is_divided_by():
    """The equation m x'' = ... is not a system: its quotients are coefficients, and terms may be
    added."""
    t = np.linspace(0, 9, 300)
    data = og.Dataset.from_positions(np.cos(2 * t)[:, None], t, names=["x"])
    physics = og.Physics(equations=["m*x'' = -k*x + ..."], values={"m": 0.5})
    model = og.OrthoReg(og.Polynomial(1), og.Zero(), physics=physics).fit(data)
    assert model.parameters_["k"] == pytest.approx(2.0, rel=1e-3)


def test_a_file_and_marks_of_velocities(tmp_path):
    file = tmp_path / "physics.toml"
    file.write_text("equations = [\"m*p'' + c*q'' = -k*p'\", \"n*q'' + c*p'' = -q\"]\n")
    variables, outputs = ("p", "q", "dp", "dq"), ("p", "q", "dp", "dq")
    bound = bind_physics(
        physics_of(read_fields(file)), og.Polynomial(1), variables, outputs, {0: 2, 1: 3}
    )
    (system,) = bound.knowledge.systems
    assert system.rates == (2, 3) and system.constants == ("c", "k", "m", "n")
    assert parse_equation("m*p'' + c*q'' = -k*p'") == ("m*p'' + c*q''", "-k*p'")


@pytest.mark.slow
def test_positions_alone_give_the_constants_with_intervals_of_trajectories():
    from scipy.integrate import solve_ivp

    times = np.linspace(0, 4, 201)
    runs = [
        solve_ivp(lambda t, z: rate(z[None])[0], (0, 4), start, t_eval=times, rtol=1e-9).y[:2].T
        for start in ([0.5, 2, 0, 0], [-0.3, 1, 0.5, 1])
    ]
    rng = np.random.default_rng(0)
    noisy = [run + 0.003 * rng.standard_normal(run.shape) for run in runs]
    data = og.Dataset.from_positions(noisy, times, names=["x", "a"])
    marked = [one.replace("w'", "a''").replace("v'", "x''").replace("w^2", "a'^2") for one in CART]
    physics = og.Physics(
        equations=[one.replace("b*v", "b*x'") for one in marked], values={"k": TRUE["k"]}
    )
    model = og.OrthoReg(og.Polynomial(1), physics=physics).fit(data)
    assert model.refinement_.kept
    for name, value in TRUE.items():
        if name != "k":
            assert model.parameters_[name] == pytest.approx(value, rel=0.02)
            low, high = model.parameter_intervals_[name]
            assert low - 0.5 * (high - low) < value < high + 0.5 * (high - low)
    assert "x'' + " in model.equations()[0] and "a''*cos(a)" in model.equations()[0]


def test_a_constant_of_an_equation_with_one_derivative_keeps_its_value_in_others():
    """x'' is inserted into the equation of a'', because k would otherwise be undetermined."""

    def slope(_: float, z: np.ndarray) -> list[float]:
        own = -4 * z[0]
        return [z[2], z[3], own, -9 * np.sin(z[1]) - 2 * np.cos(z[1]) * own]

    times = np.linspace(0, 5, 300)
    path = solve_ivp(slope, (0, 5), [1, 0.5, 0, 0], t_eval=times, rtol=1e-9, atol=1e-9).y.T
    data = og.Dataset.from_positions(path[:, :2], times, names=["x", "a"])
    physics = og.Physics(equations=["x'' = -k*x", "a'' + c*cos(a)*x'' = -g*sin(a)"])
    model = og.OrthoReg(physics=physics).fit(data)
    assert model.parameters_ == pytest.approx({"k": 4.0, "c": 2.0, "g": 9.0}, rel=0.01)
