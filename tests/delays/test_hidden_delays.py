"""Delayed inputs in equations with hidden states or constants per run."""

import numpy as np
import pytest
from delayed_systems import forced_oscillator

import orthoreg as og
from orthoreg._common.errors import InputError

DELAY = 0.6


def two_rooms(seed: int, rows: int, gains: list[float]) -> og.Dataset:
    """wall' = b u(t - 0.6) - 0.8 (wall - air), air' = 1.1 (wall - air) - 0.4 air, with 1% noise; an
    input held for 15 rows. The wall is hidden. One run for each b."""
    rng, size, fine = np.random.default_rng(seed), 0.2, 20
    t, runs, inputs = size * np.arange(rows), [], []
    for gain in gains:
        u = np.repeat(rng.uniform(0, 1, rows // 15 + 1), 15)[:rows]
        wall, air, states = 0.5, 0.3, []
        for time in t:
            states.append(air)
            for k in range(fine):
                now = time + (k + 0.5) * size / fine
                drive = gain * u[max(int(np.floor((now - DELAY) / size + 1e-9)), 0)]
                a, b = drive - 0.8 * (wall - air), 1.1 * (wall - air) - 0.4 * air
                middle = wall + a * size / fine / 2, air + b * size / fine / 2
                flow = middle[0] - middle[1]
                wall += size / fine * (drive - 0.8 * flow)
                air += size / fine * (1.1 * flow - 0.4 * middle[1])
        x = np.array(states)[:, None]
        runs.append(x + 0.01 * x.std() * rng.standard_normal(x.shape))
        inputs.append(u[:, None])
    return og.Dataset.from_arrays(
        runs, t, inputs, names=["air"], input_names=["u"], hidden=["wall"]
    )  # fmt: skip


ROOMS = {"wall": "b*u(t - tau) - 0.8*(wall - air)", "air": "1.1*(wall - air) - c*air"}


def test_dead_time_before_a_hidden_state(tmp_path):
    data = two_rooms(0, 150, [1.5])
    physics = og.Physics(equations=ROOMS, bounds={"tau": (0, 2)})
    model = og.OrthoReg(physics=physics).fit(data)
    truth = {"tau": DELAY, "b": 1.5, "c": 0.4}
    intervals = model.parameter_intervals_
    for name, value in truth.items():
        low, high = intervals[name]
        margin = (high - low) / 2  # a 95% interval may miss the truth by a little
        assert low - margin < value < high + margin
    assert intervals["tau"][1] - intervals["tau"][0] < 0.1
    assert model.summary(data).verdict.code == "explained"
    model.save(tmp_path / "rooms.orthoreg")
    loaded = og.load(tmp_path / "rooms.orthoreg")
    t, u = data.times[60:], data.inputs[60:]
    later = loaded.simulate(None, t, u, from_data=data)
    air = later.x[:, loaded.state_names_.index("air")]
    assert np.std(air - data.states[60:, 0]) < 0.02 * data.states[:, 0].std()


def test_given_dead_time_before_a_hidden_state():
    data = two_rooms(1, 150, [1.5])
    model = og.OrthoReg(physics=og.Physics(equations=ROOMS, values={"tau": DELAY})).fit(data)
    assert "u(t - 0.6)" in model.equations()[1]
    assert model.parameters_["b"] == pytest.approx(1.5, rel=0.05)


def test_dead_time_with_a_constant_per_run():
    gains = [1.0, 1.2, 1.4]
    data = two_rooms(2, 80, gains)
    physics = og.Physics(equations=ROOMS, per_run=["b"], bounds={"tau": (0, 2)})
    model = og.OrthoReg(physics=physics).fit(data)
    assert model.parameters_["tau"] == pytest.approx(DELAY, abs=0.05)
    values = [value for value, _, _ in model.per_run(data)["b"].values()]
    assert values == pytest.approx(gains, rel=0.05)


def test_dead_time_before_a_hidden_derivative():
    """Without equations, the hidden state is the derivative of one of the measured states."""
    data = forced_oscillator(0)
    rng, lagging = np.random.default_rng(1), [0.0]
    for x in data.states[:-1, 0]:  # y' = x - y
        lagging.append(lagging[-1] + (x - lagging[-1]) * (1 - np.exp(-0.05)))
    y = np.array(lagging) + 0.02 * np.std(lagging) * rng.standard_normal(len(lagging))
    columns = np.column_stack([y, data.states[:, 0]])
    hidden = og.Dataset.from_arrays(
        columns, data.times, data.inputs, names=["y", "x"], input_names=["u"], hidden=["h"]
    )
    model = og.OrthoReg("poly(1) + u(t - tau)").fit(hidden)
    assert "x' = h" in model.equations()
    assert model.parameters_["tau"] == pytest.approx(0.35, abs=0.02)


@pytest.mark.parametrize("variable", ["air", "wall"])
def test_delayed_states_with_hidden_states_are_refused(variable: str):
    equations = ROOMS | {"air": f"1.1*(wall - air) - c*{variable}(t - tau)"}
    model = og.OrthoReg(physics=og.Physics(equations=equations))
    with pytest.raises(InputError, match=rf"'{variable}\(t - tau\)' is a delayed state"):
        model.fit(two_rooms(0, 60, [1.0]))


def test_dead_time_with_constants_that_are_not_determined():
    equations = {"wall": "b*u(t - tau) - 0.8*wall + m*air", "air": "k*wall - c*air"}
    physics = og.Physics(equations=equations, bounds={"tau": (0.4, 0.8)})
    model = og.OrthoReg(physics=physics).fit(two_rooms(0, 100, [1.5]))
    assert model.undetermined_ is not None
    assert set(model.undetermined_.constants) == {"b", "k", "m"}
    assert np.isfinite(model.parameters_["tau"])
