"""Equilibria in a box, their stability, and cases that the linearization does not decide."""

import numpy as np
import pytest
from controlled_systems import pendulum
from numpy.testing import assert_allclose

import orthoreg as og
from orthoreg import InputError

RNG = np.random.default_rng(0)


def rows_model(rate, library, low=-2.0, high=2.0, n=2, inputs=0, noise=0.0, names=None):
    """Return a model fitted to rows of states and rates."""
    z = RNG.uniform(low, high, (400, n + inputs))
    y = rate(*z.T) + noise * RNG.standard_normal((400, n))
    if names:
        import pandas as pd

        return og.OrthoReg(library, og.Zero()).fit(pd.DataFrame(z, columns=names), y)
    return og.OrthoReg(library, og.Zero()).fit(z[:, :n], y, u=z[:, n:] if inputs else None)


def test_a_bistable_oscillator_has_three_equilibria():
    model = rows_model(lambda x, v: np.column_stack([v, x - x**3 - 0.3 * v]), "poly(3)")
    points = model.equilibria()
    assert_allclose([point.x for point in points], [[-1, 0], [0, 0], [1, 0]], atol=1e-9)
    assert [point.kind for point in points] == ["stable focus", "saddle", "stable focus"]
    assert [point.stability for point in points] == ["stable", "unstable", "stable"]
    wanted = np.roots([1, 0.3, 2])
    assert_allclose(np.sort_complex(points[0].eigenvalues), np.sort_complex(wanted), rtol=1e-8)
    assert all(point.inside for point in points)


def test_every_root_of_a_crowded_field_is_listed():
    """A grid of 25 roots of two independent equations."""
    model = rows_model(
        lambda x, y: np.column_stack([np.sin(3 * x), np.sin(3 * y)]), "sin(3*x0) + sin(3*x1)",
    )  # fmt: skip
    points = model.equilibria({"x0": (-2.5, 2.5), "x1": (-2.5, 2.5)})
    grid = np.arange(-2, 3) * np.pi / 3
    wanted = [[a, b] for a in grid for b in grid]
    assert len(points) == 25
    assert_allclose([point.x for point in points], wanted, atol=1e-9)
    kinds = {point.kind for point in points}
    assert kinds == {"unstable node", "stable node", "saddle"}


def test_centres_of_predator_and_prey_are_not_decided():
    model = rows_model(
        lambda x, y: np.column_stack([x - x * y, x * y - 0.5 * y]), "poly(2)", 0.1, 3.0
    )
    interior = [point for point in model.equilibria() if point.x.min() > 0.2]
    assert len(interior) == 1
    assert_allclose(interior[0].x, [0.5, 1.0], rtol=1e-8)
    assert interior[0].stability == "undecided"
    assert interior[0].kind == "centre, not decided by linearization"
    origin = model.equilibria({"x0": (-1, 3), "x1": (-1, 3)})
    assert any(point.kind == "saddle" and np.abs(point.x).max() < 1e-9 for point in origin)


def test_weak_damping_that_noise_hides_is_not_decided():
    """The true growth rate is -0.0005, and its interval contains zero."""
    z = np.random.default_rng(1).uniform(-2, 2, (300, 2))
    y = np.column_stack([z[:, 1], -z[:, 0] - 0.001 * z[:, 1]])
    y += 0.2 * np.random.default_rng(2).standard_normal(y.shape)
    physics = og.Physics(required={"x1": ["x0", "x1"]})
    model = og.OrthoReg("x0 + x1", og.Zero(), physics=physics).fit(z, y)
    (point,) = model.equilibria()
    assert abs(point.eigenvalues[0].real) > 1e-5  # the sign is due to noise
    assert point.stability == "undecided"


def test_the_interval_of_an_equilibrium_covers_the_truth():
    """x' = a - x**2 with noise: 95% intervals of the root at 1 in 40 data sets."""
    hits = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x = rng.uniform(0, 2, (200, 1))
        y = 1 - x**2 + 0.2 * rng.standard_normal(x.shape)
        model = og.OrthoReg("1 + x0**2", og.Zero()).fit(x, y)
        (point,) = model.equilibria()
        low, high = point.interval[0]
        hits += low <= 1 <= high
        assert high - low < 0.2
    assert 34 <= hits  # 38 expected; 33 or fewer has a probability of 1%


def test_a_line_of_equilibria_is_one_entry_with_a_note():
    model = rows_model(lambda x, y: np.column_stack([-x * y, x * y]), "poly(2)", 0.1, 2.0)
    found = model.equilibria({"x0": (0.5, 2.0), "x1": (-1.0, 2.0)})
    assert len(found) == 1 and "not isolated" in found.notes[0]
    assert found[0].kind == "degenerate"


def test_fixed_points_of_a_map_and_their_stability():
    x = [[0.5]]
    for _ in range(60):
        x.append([3.2 * x[-1][0] * (1 - x[-1][0])])
    data = og.Dataset.from_arrays(np.array(x), names=["x"], discrete=True)
    model = og.OrthoReg("poly(2)", og.Zero()).fit(data)
    points = model.equilibria({"x": (-0.1, 1.0)})
    assert_allclose([point.x[0] for point in points], [0.0, 1 - 1 / 3.2], atol=1e-7)
    assert [point.stability for point in points] == ["unstable", "unstable"]
    assert points[1].eigenvalues[0] == pytest.approx(2 - 3.2, rel=1e-5)


def test_equilibria_follow_the_input_and_may_lie_outside_the_data():
    model = rows_model(
        lambda x, u: (u - x)[:, None], "poly(1)", n=1, inputs=1,
    )  # fmt: skip
    assert model.equilibria(u=[1.5])[0].x == pytest.approx([1.5])
    far = model.equilibria({"x0": (-5, 5)}, u=[4.0])
    assert far[0].x == pytest.approx([4.0]) and not far[0].inside
    assert len(model.equilibria(u=[4.0])) == 0
    assert str(model.equilibria(u=[4.0])) == "no equilibrium in these ranges"


def test_the_pendulum_has_its_saddles_by_symmetry():
    model, _ = pendulum()
    points = model.equilibria({"theta": (-4, 4)})
    assert_allclose([point.x[0] for point in points], [-np.pi, 0, np.pi], atol=1e-9)
    assert [point.kind for point in points] == ["saddle", "stable focus", "saddle"]


def test_jumps_and_wrong_ranges_are_refused():
    model, _ = pendulum()
    for ranges, message in [
        ({"thta": (0, 1)}, "'thta', which is not a state. Did you mean 'theta'"),
        ({"theta": (1, 0)}, "a lowest and a larger highest value"),
        ({"theta": 3.0}, "a lowest and a larger highest value"),
        ({"theta": (0, np.inf)}, "a lowest and a larger highest value"),
    ]:
        with pytest.raises(InputError, match=message):
            model.equilibria(ranges)
    friction = rows_model(
        lambda x, v: np.column_stack([v, -x - 0.5 * np.sign(v)]), "poly(1) + sign(x1)"
    )
    with pytest.raises(InputError, match=r"without jumps, but the model contains sign\(x1\)"):
        friction.equilibria()
