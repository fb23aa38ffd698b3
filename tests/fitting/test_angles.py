"""The default library has sines for angles, and for other columns if the data prefer them."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg.fitting._angles import is_angle


def _runs(rates, starts, until, names, noise, units=None):
    t = np.linspace(0, until, 200)
    runs = [solve_ivp(rates, (0, until), x, t_eval=t, rtol=1e-9, atol=1e-11).y.T for x in starts]
    rng, std = np.random.default_rng(1), np.concatenate(runs).std(axis=0)
    runs = [x + noise * std * rng.standard_normal(x.shape) for x in runs]
    return og.Dataset.from_arrays(runs, [t] * len(runs), names=names, units=units)


def _pendulum(_, x):
    return [x[1], -2 * np.sin(x[0]) - 0.1 * x[1]]


def _drag(_, x):
    return [x[1], -x[0] - 0.3 * x[1] * abs(x[1])]


def _pendulum_in_air(_, x):
    return [x[1], -1.2 * np.sin(x[0]) - 0.25 * x[1] * abs(x[1])]


def _terms(data) -> list[str]:
    model = og.OrthoReg(augmentation=og.Zero()).fit(data)
    return np.array(model.feature_names_)[model.support_.any(axis=0)].tolist()


@pytest.mark.parametrize("names", [["x", "v"], None, ["theta", "omega"]])
@pytest.mark.parametrize("noise", [0, 0.02])
def test_a_pendulum_has_a_sine_whatever_its_columns_are_called(names, noise):
    data = _runs(_pendulum, [[2, 0], [1, 1], [-1.5, 0.5]], 10, names, noise)
    (sine,) = [name for name in _terms(data) if "(" in name]
    assert sine == f"sin({data.state_names[0]})"


@pytest.mark.parametrize("noise", [0, 0.02])
def test_sines_do_not_stand_in_for_drag_or_saturation(noise):
    drag = _runs(_drag, [[2, 0], [-1, 1.5], [0, 2.5]], 10, ["x", "vx"], noise)
    enzyme = _runs(lambda _, x: [-1.2 * x[0] / (0.8 + x[0])], [[4], [2], [1]], 5, ["S"], noise)
    for data in (drag, enzyme):
        assert not any("sin" in name or "cos" in name for name in _terms(data))


def test_an_angle_keeps_its_sine_beside_drag_that_the_library_lacks():
    """A sine of the speed, which would correct for drag, is rejected. The sine of the
    angle is not."""
    starts = [[2, 0], [-1.5, 2], [0.5, -2.5], [-2.5, 0.5]]
    data = _runs(_pendulum_in_air, starts, 8, ["x", "v"], 0)
    assert set(_terms(data)) == {"v", "sin(x)"}


@pytest.mark.parametrize(
    ("name", "unit", "ends", "expected"),
    [
        ("theta", "", (-1, 1), True),
        ("theta2", "", (-1, 1), True),
        ("pitch angle", "", (-1, 1), True),
        ("q", "rad", (-1, 1), True),
        ("q", "", (-3.14, 3.141), True),
        ("q", "", (0.001, 6.28), True),
        ("theta_dot", "", (-1, 1), False),
        ("yaw rate", "", (-1, 1), False),
        ("theta", "deg", (-60, 60), False),
        ("omega", "rad/s", (-1, 1), False),
        ("hares", "", (2, 80), False),
        ("T", "K", (290, 350), False),
        ("x", "", (-4, 9), False),
    ],
)
def test_angles_are_known_by_unit_name_or_range(name, unit, ends, expected):
    assert is_angle(name, unit, *ends) == expected
