"""Fields with signs, simulated by NumPy and compiled, compared with a proximal scheme with small
steps and closed forms: rest, stick and slip, crossing, sliding and leaving."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from orthoreg.field import TanhLayers
from orthoreg.field.hybrid import HybridField, switched
from orthoreg.simulation import NumpyField, SampledInput, Status, in_numpy, integrate, sampled
from orthoreg.simulation import _integrate as rule
from orthoreg.terms import FeatureMap, parse

COMPILED = [False, pytest.param(True, marks=pytest.mark.slow)]
TIMES = np.linspace(0, 12, 241)


def field_of(variables, *equations):
    """Return the field of equations, each a dictionary of terms and coefficients."""
    terms = list(dict.fromkeys(term for equation in equations for term in equation))
    weights = np.array([[float(row.get(term, 0)) for term in terms] for row in equations])
    formulas = tuple(parse(term, variables) for term in terms)
    allowed = tuple((True,) * len(terms) for _ in equations)
    none = np.zeros(len(variables))
    basis = TanhLayers(none, none + 1.0, (), ())
    features = FeatureMap(tuple(variables), formulas, allowed)
    return HybridField(features, weights, basis, np.zeros((0, len(weights))), 0 * weights)


def simulate(field, starts, times=TIMES, inputs=None, compiled=False, **options):
    jumping = switched(field)
    assert jumping is not None
    starts = np.atleast_2d(np.asarray(starts, float))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rule, "COMPILATION", 0.0 if compiled else np.inf)
        return integrate(
            jumping, starts, np.tile(times, (len(starts), 1)), inputs,
            in_numpy=NumpyField(in_numpy(jumping)), **options,
        )  # fmt: skip


def proximal(stiffness, dry, damping, start, drive, times, each):
    """Simulate a mass with x'' = drive(t) - stiffness x - damping x' - dry sign(x') by fixed steps,
    `each` of them between two times. The position is that of the midpoint, and the final velocity
    satisfies the implicit equation with the set-valued sign."""
    h = (times[1] - times[0]) / each
    x, v = start
    found = []
    for i, force in enumerate(drive(times[0] + h * (np.arange(each * (len(times) - 1)) + 0.5))):
        if i % each == 0:
            found.append((x, v))
        x += h / 2 * v
        free = v * (1 - h * damping / 2) + h * (force - stiffness * x)
        v = math.copysign(max(abs(free) - h * dry, 0.0), free) / (1 + h * damping / 2)
        x += h / 2 * v
    return np.array([*found, (x, v)])


def proximal_masses(stiffness, dry, damping, starts, times, each):
    """Simulate several masses that are coupled by springs, in the same way."""
    x, v = np.split(starts, 2, axis=1)
    h, found = (times[1] - times[0]) / each, [starts]
    for _ in times[1:]:
        for _ in range(each):
            x = x + h / 2 * v
            free = v * (1 - h * damping / 2) - h * x @ stiffness
            v = np.sign(free) * np.maximum(np.abs(free) - h * dry, 0) / (1 + h * damping / 2)
            x = x + h / 2 * v
        found.append(np.hstack([x, v]))
    return np.stack(found, axis=1)


def driven(times, values, kind="cubic"):
    return sampled([SampledInput(times, values[:, None])], [kind], np.zeros(1, int))


SPRING = field_of(["x", "v"], {"v": 1}, {"x": -1, "sign(v)": -0.3})


@pytest.mark.parametrize("compiled", COMPILED)
def test_a_spring_with_dry_friction_loses_the_same_at_each_turn_until_it_rests_off_centre(compiled):
    result = simulate(SPRING, [[2.0, 0.0], [-2.0, 0.0], [0.2, 0.0]], compiled=compiled)
    assert result.completed.all()
    half = np.floor(TIMES / np.pi)  # between reversals, the motion is a cosine around -0.3 or 0.3
    moves = half < 3
    around = 0.3 * (-1) ** half
    expected = np.where(moves, around + (1.7 - 0.6 * half) * np.cos(TIMES), -0.2)
    assert_allclose(result.x[0, :, 0], expected, atol=1e-7)
    assert_allclose(result.x[1], -result.x[0], atol=1e-7)
    assert_array_equal(result.x[0, ~moves, 1], 0)  # the mass stays at rest
    assert_array_equal(np.ptp(result.x[0, ~moves, 0]), 0)
    assert_array_equal(result.x[2], np.tile([0.2, 0.0], (len(TIMES), 1)))


def test_a_spring_in_motion_agrees_with_the_proximal_scheme():
    result = simulate(SPRING, [[0.5, -1.7]])
    turn, size = np.arctan2(1.7, -0.2), np.hypot(0.2, 1.7) - 0.6
    second = (turn < TIMES) & (turn + np.pi > TIMES)  # between the first two reversals
    exact = size * np.sin(TIMES - turn)
    assert_allclose(result.x[0, second, 1], exact[second], atol=1e-8)
    expected = proximal(1, 0.3, 0, (0.5, -1.7), np.zeros_like, TIMES, 500)
    assert result.completed.all() and (result.x[0, -1, 1] == 0) and abs(result.x[0, -1, 0]) > 0.01
    assert_allclose(result.x[0], expected, atol=1e-5)


STAGE = field_of(["x", "v", "F"], {"v": 1}, {"F": 2, "v": -1.5, "sign(v)": -1, "1": 0.2})


@pytest.mark.parametrize("kind", ["cubic", "linear", "hold"])
@pytest.mark.parametrize("compiled", COMPILED)
def test_a_stage_follows_a_sampled_force_with_sticking_and_slipping(kind, compiled):
    known = np.linspace(0, 12, 241)
    force = np.sin(2 * known) * np.sin(0.3 * known) + 0.1 * np.sign(np.sin(7 * known))
    inputs = driven(known, force, kind)
    result = simulate(STAGE, [[0.0, 0.0]], inputs=inputs, compiled=compiled)
    expected = proximal(
        0, 1, 1.5, (0.0, 0.0), lambda t: 2 * inputs.at(t[None])[0, :, 0] + 0.2, TIMES, 500
    )
    assert result.completed.all()
    rests = result.x[0, :, 1] == 0
    assert 0.1 < rests.mean() < 0.9
    assert_allclose(result.x[0], expected, atol=2e-4)


@pytest.mark.parametrize("amplitude, moves", [(0.9, False), (1.3, True)])
def test_a_sinusoidal_force_moves_what_it_can(amplitude, moves):
    field = field_of(["x", "v", "F"], {"v": 1}, {"F": 1, "sign(v)": -1})
    known = np.linspace(0, 12, 121)
    result = simulate(field, [[0.4, 0.0]], inputs=driven(known, amplitude * np.sin(known)))
    assert result.completed.all()
    if not moves:
        assert_array_equal(result.x[0], np.tile([0.4, 0.0], (len(TIMES), 1)))
        return
    released = TIMES < np.arcsin(1 / amplitude) - 1e-9
    assert_array_equal(result.x[0, released, 1], 0)
    expected = proximal(0, 1, 0, (0.4, 0.0), lambda t: amplitude * np.sin(t), TIMES, 500)
    assert_allclose(result.x[0], expected, atol=1e-4)


def test_a_held_force_beyond_the_dry_friction_releases_at_its_jump():
    known = np.array([0.0, 2.0, 5.0, 12.0])
    field = field_of(["x", "v", "F"], {"v": 1}, {"F": 1, "sign(v)": -1})
    force = driven(known, np.array([0.5, 2.0, -0.9, -0.9]), "hold")
    result = simulate(field, [[0.0, 0.0]], inputs=force)
    t = TIMES
    speed = np.clip(t - 2, 0, 3) - np.clip((t - 5) * 1.9, 0, 3)
    assert_allclose(result.x[0, :, 1], speed, atol=1e-7)
    assert_array_equal(result.x[0, (t < 2) | (t > 5 + 3 / 1.9 + 1e-6), 1], 0)


@pytest.mark.parametrize("compiled", COMPILED)
def test_two_coupled_masses_stick_and_slip_each_by_itself(compiled):
    field = field_of(
        ["x", "y", "v", "w"], {"v": 1}, {"w": 1},
        {"x": -2, "y": 1, "sign(v)": -0.3}, {"x": 1, "y": -2, "w": -0.05, "sign(w)": -0.5},
    )  # fmt: skip
    starts = np.array([[1.5, 0, 0, 0], [0, 2.0, 1.0, 0], [0.1, 0.2, 0, 0], [1, -1, 0, 0.0]])
    result = simulate(field, starts, compiled=compiled)
    assert result.completed.all()
    stiffness, dry = np.array([[2.0, -1.0], [-1.0, 2.0]]), np.array([0.3, 0.5])
    expected = proximal_masses(stiffness, dry, np.array([0, 0.05]), starts, TIMES, 100)
    assert_allclose(result.x, expected, atol=4e-4)
    rests = result.x[:, :, 2:] == 0
    assert (rests[..., 0] & ~rests[..., 1]).any() and (rests[..., 1] & ~rests[..., 0]).any()
    assert rests[:, -1].all()
    assert_array_equal(result.x[2], np.tile(starts[2], (len(TIMES), 1)))


def test_friction_between_two_masses_lets_them_stick_together():
    """Two masses rub on each other and end with the common velocity that follows from momentum."""
    field = field_of(["v", "w"], {"sign(v - w)": -0.4}, {"sign(w - v)": -0.2, "w": 0.0, "1": 0.05})
    result = simulate(field, [[1.0, -0.5]])
    meet = 1.5 / (0.4 + 0.2 + 0.05)
    both = 0.05 * 2 / 3  # the second has twice the mass of the first
    expected = np.where(TIMES < meet, 1 - 0.4 * TIMES, 1 - 0.4 * meet + both * (TIMES - meet))
    assert_allclose(result.x[0, :, 0], expected, atol=1e-7)
    later = TIMES > meet
    assert_allclose(result.x[0, later, 0], result.x[0, later, 1], atol=1e-12)


def test_bang_bang_control_reaches_zero_and_stays():
    result = simulate(field_of(["x"], {"sign(x)": -1}), [[1.0], [-3.0], [0.0]])
    assert_allclose(result.x[0, :, 0], np.maximum(1 - TIMES, 0), atol=1e-12)
    assert_allclose(result.x[1, :, 0], np.minimum(TIMES - 3, 0), atol=1e-12)
    assert_array_equal(result.x[2], 0)
    assert_array_equal(result.x[:, -1], 0)


@pytest.mark.parametrize("compiled", COMPILED)
def test_a_relay_oscillates_without_sliding(compiled):
    """x'' = -sign(x) has parabolas with the period 4 sqrt(2 x0)."""
    field = field_of(["x", "v"], {"v": 1}, {"sign(x)": -1})
    result = simulate(field, [[0.5, 0.0], [0.08, 0.0]], compiled=compiled)
    for found, top in zip(result.x, (0.5, 0.08), strict=True):
        quarter = np.sqrt(2 * top)
        phase = np.mod(TIMES + quarter, 4 * quarter) - quarter
        up, down = top - phase**2 / 2, (phase - 2 * quarter) ** 2 / 2 - top
        assert_allclose(found[:, 0], np.where(phase < quarter, up, down), atol=1e-6)


@pytest.mark.parametrize("compiled", COMPILED)
def test_sliding_ends_where_a_side_no_longer_pushes_back(compiled):
    """x' = y - sign(x), y' = 1: the solution stays at x = 0 while |y| < 1, and then x' = y - 1."""
    field = field_of(["x", "y"], {"y": 1, "sign(x)": -1}, {"1": 1})
    result = simulate(field, [[0.3, -0.5]], np.linspace(0, 4, 81), compiled=compiled)
    t = np.linspace(0, 4, 81)
    falling = 0.3 - 1.5 * t + t**2 / 2
    reached = 1.5 - np.sqrt(1.5**2 - 0.6)
    x = np.where(t < reached, falling, np.where(t < 1.5, 0, (t - 1.5) ** 2 / 2))
    assert_allclose(result.x[0], np.stack([x, t - 0.5], 1), atol=1e-7)


def test_what_slides_leaves_a_surface_that_no_longer_attracts():
    field = field_of(["x", "y"], {"y*sign(x)": -1, "1": 0.1}, {"1": -1})
    result = simulate(field, [[0.2, 1.0]], np.linspace(0, 3, 61))
    assert result.completed.all()
    t = np.linspace(0, 3, 61)
    leaves = 0.9  # where y = 0.1
    assert_allclose(result.x[0, (t > 0.3) & (t < leaves), 0], 0, atol=1e-12)
    later = t - leaves
    assert_allclose(  # x' = 0.1 - y
        result.x[0, t > leaves, 0], (later**2 / 2)[t > leaves], atol=1e-7
    )


def test_a_source_is_left():
    result = simulate(field_of(["x"], {"sign(x)": 1}), [[1e-3], [-1e-3], [0.0]], TIMES)
    assert_allclose(result.x[0, :, 0], 1e-3 + TIMES, rtol=1e-9)
    assert_allclose(result.x[1, :, 0], -1e-3 - TIMES, rtol=1e-9)
    assert result.completed.all()


def test_signs_that_vanish_with_their_factor_change_nothing():
    """sign(v) v**2 equals v abs(v) and needs no events: a pendulum with drag."""
    jumping = field_of(["x", "v"], {"v": 1}, {"x": -1, "sign(v)*v**2": -0.4})
    plain = field_of(["x", "v"], {"v": 1}, {"x": -1, "v*abs(v)": -0.4})
    assert switched(plain) is None
    starts = np.array([[2.0, 0.0], [0.0, 0.0], [0.3, -1.0]])
    grid = np.tile(TIMES, (3, 1))
    smooth = NumpyField(lambda t, x, u: plain.values(x))
    expected = integrate(None, starts, grid, in_numpy=smooth, rtol=1e-10, atol=1e-10).x
    result = simulate(jumping, starts)
    assert result.completed.all()
    assert_allclose(result.x, expected, atol=1e-6)
    assert_array_equal(result.x[1], 0)


def test_steps_in_a_state():
    """x' = 1 + 2 heaviside(x - 1) is faster above one and slower below minus two."""
    field = field_of(["x"], {"1": 1, "heaviside(x - 1)": 2, "heaviside(-3 - 1.5*x)": -0.5})
    result = simulate(field, [[0.0], [-3.0]], np.linspace(0, 3, 31))
    t = np.linspace(0, 3, 31)
    assert_allclose(result.x[0, :, 0], np.where(t < 1, t, 1 + 3 * (t - 1)), atol=1e-9)
    assert_allclose(result.x[1, :, 0], np.where(t < 2, -3 + t / 2, t - 4), atol=1e-9)


def test_an_input_may_jump_across_a_sign():
    field = field_of(["x", "u"], {"sign(u)": 1})
    known = np.linspace(0, 12, 49)
    force = driven(known, np.where(np.floor(known / 3) % 2 == 0, 1.0, -2.0), "hold")
    result = simulate(field, [[0.0]], inputs=force)
    assert_allclose(result.x[0, :, 0], 3 - np.abs(np.mod(TIMES, 6) - 3), atol=1e-9)
    smooth = simulate(field, [[0.0]], inputs=driven(known, np.sin(known)))
    folded = np.pi - np.abs(np.mod(TIMES, 2 * np.pi) - np.pi)
    assert_allclose(smooth.x[0, :, 0], folded, atol=1e-3)  # as good as the spline


def test_a_batch_equals_its_members_one_by_one():
    starts = np.random.default_rng(0).normal(size=(7, 2)) * 2
    together = simulate(SPRING, starts).x
    alone = [simulate(SPRING, start).x[0] for start in starts]
    assert_allclose(together, alone, atol=1e-12)


def test_what_diverges_is_still_said_to():
    field = field_of(["x"], {"x**2": 1, "sign(x)": 1})
    result = simulate(field, [[1.0], [-0.5]], np.linspace(0, 3, 31))
    assert result.status == [Status.diverged, Status.completed]
    assert result.stopped_at[0] == pytest.approx(np.pi / 4, abs=1e-5)  # tan(t + pi/4)
    root = field_of(["x"], {"sqrt(x)": -1, "sign(x)": -0.1})
    ended = simulate(root, [[-1.0]])
    assert ended.status == [Status.stalled] and "undefined" in ended.message[0]


@pytest.mark.slow
def test_a_long_measured_run_is_simulated_in_seconds():
    import time

    known = np.arange(25_000) * 1e-3
    force = 2 * np.sin(4.4 * known) * np.sin(0.3 * known) + 0.3 * np.sin(19 * known)
    field = field_of(["x", "v", "F"], {"v": 1}, {"F": 1, "v": -2, "sign(v)": -1, "1": 0.05})
    begun = time.process_time()
    result = simulate(field, [[0.0, 0.0]], known, driven(known, force), compiled=True)
    assert time.process_time() - begun < 10
    assert result.completed.all() and 0.2 < (result.x[0, :, 1] == 0).mean() < 0.8
