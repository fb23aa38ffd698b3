"""Systems with some measured states, in which derivatives replace the other states."""

from collections.abc import Mapping
from typing import Any

import numpy as np

import orthoreg as og

from ._cases import Check, Result, check, exact, result, terms_of, timed
from ._systems import forced, noisy, observed, steps, trajectory

CLOSE = 0.05  # relative error of a coefficient


def terms(model: Any, state: str, truth: Mapping[str, float]) -> list[Check]:
    """Return checks of the terms of a state's equation, and of their coefficients."""
    found = terms_of(model, model.state_names_.index(state))
    checks = [exact(f"terms of {state}'", ", ".join(sorted(found)), ", ".join(sorted(truth)))]
    for name, value in truth.items():
        error = abs(found.get(name, np.inf) / value - 1)
        checks.append(
            check(f"{name} in {state}'", found.get(name), error, CLOSE, "within 5% of the truth")
        )
    return checks


def genesio_rows(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    t = np.arange(0, 100, 0.1)
    x = trajectory(
        lambda t, x: [x[1], x[2], -x[0] - 1.1 * x[1] - 0.44 * x[2] + x[0] ** 2], [0.1] * 3, t
    )
    return noisy(x[:, :1], 0.02, rng), t


def genesio_tesi(case: Result) -> Result:
    """A chaotic jerk flow from its position. [Genesio and Tesi 1992]"""
    x, t = genesio_rows(np.random.default_rng(case["seed"]))
    data = og.Dataset.from_positions(x, t, names=["x"], order=3)
    model, seconds = timed(data, "poly(2)")
    truth = {"x": -1.0, "x_dot": -1.1, "x_ddot": -0.44, "x**2": 1.0}
    return result(model, terms(model, "x_ddot", truth), seconds)


def motor(case: Result) -> Result:
    """The angle of a motor with a slow current, driven by a stepped voltage."""
    rng, t, rows = np.random.default_rng(case["seed"]), 0.05 * np.arange(1200), 1200
    u = steps(rows, 40, -1.0, 1.0, rng)

    def field(x: np.ndarray, u: float) -> np.ndarray:
        return np.array([x[1], x[2], -3.0 * x[2] - 2.5 * x[1] - 1.5 * x[0] + 4.0 * u])

    x = forced(field, [0.0] * 3, t, u)
    data = og.Dataset.from_positions(noisy(x[:, :1], 0.01, rng), t, u, ["a"], ["u"], order=3)
    model, seconds = timed(data, "poly(2)")
    truth = {"a": -1.5, "a_dot": -2.5, "a_ddot": -3.0, "u": 4.0}
    return result(model, terms(model, "a_ddot", truth), seconds)


def van_der_pol_rows(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    t = np.arange(0, 60, 0.1)
    x = trajectory(lambda t, x: [1.2 * (x[0] - x[0] ** 3 / 3 - x[1]), x[0] / 1.2], [0.5, 0.0], t)
    return noisy(x[:, :1], 0.02, rng), t


def van_der_pol(case: Result) -> Result:
    """One of two states is measured, and no equation is given. [Lienard's form]"""
    x, t = van_der_pol_rows(np.random.default_rng(case["seed"]))
    data = og.Dataset.from_arrays(x, t, names=["x"], hidden=["h"])
    model, seconds = timed(data, "poly(3)")
    return result(model, terms(model, "h", {"x": -1.0, "h": 1.2, "x**2*h": -1.2}), seconds)


def rossler_two(case: Result) -> Result:
    """Two of three states are measured, and no equation is given. Only x depends on the third
    state."""
    rng, t = np.random.default_rng(case["seed"]), np.arange(0, 100, 0.1)
    x = trajectory(
        lambda t, x: [-x[1] - x[2], x[0] + 0.2 * x[1], 0.2 + x[2] * (x[0] - 5.7)],
        [1.0, 3.0, 0.1], t,
    )  # fmt: skip
    data = observed([x], t, ["x", "y", "z"], ["z"], 0.01, rng)
    data = og.Dataset.from_arrays(data.states[:, :2], t, names=["x", "y"], hidden=["h"])
    model, seconds = timed(data, "poly(2)")
    checks = [exact("derivative", f"h is {_derived(model)}'", "h is x'")]
    if _derived(model) == "x":
        truth = {"1": -0.2, "x": -1.0, "y": -5.9, "h": -5.7, "x*y": 1.0, "x*h": 1.0}
        checks += terms(model, "h", truth) + terms(model, "y", {"x": 1.0, "y": 0.2})
    return result(model, checks, seconds)


def _derived(model: Any) -> str:
    return next(iter(model.velocity_of_))


def advice(case: Result) -> Result:
    """A state is missing, and the columns are fitted without it."""
    rng = np.random.default_rng(case["seed"])
    rows = {"jerk flow": genesio_rows(rng), "van der Pol": van_der_pol_rows(rng)}
    values, x = np.repeat(rng.standard_normal(30), 20), np.zeros(600)
    for k in range(599):
        x[k + 1] = x[k] + 0.1 * (values[k] - x[k])
    rows["unmeasured input"] = noisy(x[:, None], 0.01, rng), 0.1 * np.arange(600)
    libraries = {"jerk flow": "poly(2)", "van der Pol": "poly(3)", "unmeasured input": "poly(2)"}
    expected = {
        "jerk flow": "--positions x --order 3",
        "van der Pol": "--positions x",
        "unmeasured input": "none",
    }
    checks = []
    for name, (columns, t) in rows.items():
        data = og.Dataset.from_arrays(columns, t, names=["x"])
        model = og.OrthoReg(libraries[name]).fit(data)
        texts = [item.text for item in model.summary(data).advice]
        named = [text for text in texts if "--positions" in text]
        option = "none"
        if named:
            option = "--positions" + named[0].partition("--positions")[2].partition(" on the")[0]
        checks.append(exact(name, option, expected[name]))
    return {"checks": checks}
