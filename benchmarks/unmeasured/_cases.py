"""One function per case. Each returns checks, which consist of a quantity, its error and its
target."""

import csv
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import orthoreg as og
from benchmarks.measurements._line import data_file
from benchmarks.timing import cpu_seconds

from . import _ten
from ._delays import forced_oscillator, motor, oscillators
from ._delays import mackey_glass as mackey_glass_data
from ._systems import fitted, forced, noisy, observed, steps, trajectory

Check = dict[str, Any]
Result = dict[str, Any]


def check(what: str, value: Any, error: float, target: float, aim: str) -> Check:
    """Return a check that is met if the error is at most its target."""
    error = float(error)
    return {
        "what": what, "value": value, "error": error, "target": target, "aim": aim,
        "met": bool(error <= target),
    }  # fmt: skip


def constants(
    model: Any, truth: Mapping[str, float], target: float, what: str = "truth"
) -> list[Check]:
    """Return checks of the relative errors of constants."""
    aim = f"within {100 * target:g}% of the {what}"
    found = model.parameters_
    return [
        check(name, found[name], abs(found[name] / value - 1), target, aim)
        if np.isfinite(found[name])
        else check(name, None, np.inf, target, aim)
        for name, value in truth.items()
    ]


def exact(what: str, found: Any, expected: Any) -> Check:
    """Return a check of an answer that is correct or not."""
    return check(what, str(found), float(found != expected), 0.0, str(expected))


def terms_of(model: Any, equation: int) -> dict[str, float]:
    """Return the coefficients of the terms in use."""
    row = zip(model.feature_names_, model.coefficients_[equation], strict=True)
    return {name: float(value) for name, value in row if value}


def result(model: Any, checks: list[Check], seconds: float, **more: Any) -> Result:
    return {
        "checks": checks,
        "fit_seconds": round(seconds, 2),
        "equations": list(model.equations()),
        "undetermined": _undetermined(model),
    } | more


def _undetermined(model: Any) -> dict[str, list[str]] | None:
    found = model.undetermined_
    return None if found is None else {key: list(v) for key, v in found._asdict().items()}


def timed(data: og.Dataset, library: Any = None, **physics: Any) -> tuple[Any, float]:
    start = cpu_seconds()
    model = fitted(data, library, **physics)
    _ = model.parameters_
    return model, cpu_seconds() - start


# hidden states


def flu(case: Result) -> Result:
    """A boarding school with 763 pupils counted the pupils in bed. [BMJ, 1978]"""
    file = data_file("boarding_school_flu_1978.csv")
    if file is None:
        return {"status": "no data", "error": "boarding_school_flu_1978.csv is not available"}
    with file.open() as lines:
        ill = np.array([float(row["in_bed"]) for row in csv.DictReader(lines)])
    data = og.Dataset.from_arrays(
        ill[:, None], np.arange(len(ill)) * 1.0, names=["I"], hidden=["S", "R"]
    )
    model, seconds = timed(
        data,
        equations={"S": "-beta*S*I/N", "I": "beta*S*I/N - gamma*I", "R": "gamma*I"},
        values={"N": 763}, start={"S": "N - I - R", "R": 0},
    )  # fmt: skip
    published = {"beta": 1.79, "gamma": 0.456}
    checks = constants(model, published, 0.1, "published value")
    for name, value in published.items():
        low, high = model.parameter_intervals_[name]
        text = f"{low:.3f} to {high:.3f}"
        outside = float(not low <= value <= high)
        checks.append(check(f"interval of {name}", text, outside, 0.0, f"contains {value:g}"))
    return result(model, checks, seconds)


def fitzhugh_nagumo(case: Result) -> Result:
    """The recovery variable w of a neuron is hidden, and its equation is unknown."""
    rng, t = np.random.default_rng(case["seed"]), np.arange(0, 150, 0.3)
    x = trajectory(
        lambda t, x: [x[0] - x[0] ** 3 / 3 - x[1] + 0.5, 0.08 * (x[0] + 0.7 - 0.8 * x[1])],
        [0.0, 0.0], t,
    )  # fmt: skip
    data = observed([x], t, ["v", "w"], ["w"], 0.02, rng)
    model, seconds = timed(
        data, case["library"], equations={"v": "a*v - b*v**3 - w + 0.5", "w": "..."}
    )
    truth = {"1": 0.056, "v": 0.08, "w": -0.064}
    found = terms_of(model, 1)
    checks = [exact("terms of w'", ", ".join(sorted(found)), ", ".join(sorted(truth)))]
    checks += constants(model, {"a": 1.0, "b": 1 / 3}, 0.05)
    aim = "within 5% of the truth"
    checks += [
        check(f"{name} in w'", found.get(name), abs(found.get(name, np.inf) / v - 1), 0.05, aim)
        for name, v in truth.items()
    ]
    return result(model, checks, seconds)


LORENZ = {"x": "sigma*(y - x)", "y": "x*(rho - z) - y", "z": "x*y - b*z"}
ROSSLER = {"x": "-y - z", "y": "x + a*y", "z": "b + z*(x - c)"}


def lorenz(case: Result) -> Result:
    """Only x of the Lorenz system is measured."""
    rng, t = np.random.default_rng(case["seed"]), np.arange(0, 10, 0.02)
    x = trajectory(
        lambda t, x: [10 * (x[1] - x[0]), x[0] * (28 - x[2]) - x[1], x[0] * x[1] - 8 / 3 * x[2]],
        [1.0, 3.0, 20.0], t,
    )  # fmt: skip
    data = observed([x], t, ["x", "y", "z"], ["y", "z"], 0.01, rng)
    truth = {"sigma": 10.0, "rho": 28.0, "b": 8 / 3}
    if not case["free_scale"]:
        model, seconds = timed(data, equations=LORENZ)
        checks = [*constants(model, truth, 0.02), exact("not determined", _names(model), "nothing")]
        return result(model, checks, seconds)
    free = LORENZ | {"y": "rho*x - p*x*z - y", "z": "q*x*y - b*z"}
    model, seconds = timed(data, equations=free)
    checks = [*constants(model, truth, 0.02), exact("not determined", _names(model), "p, q; z")]
    checks.append(exact("determined product", _products(model), "p*q"))
    return result(model, checks, seconds)


def rossler(case: Result) -> Result:
    """Only y of the Rossler system is measured."""
    rng, t = np.random.default_rng(case["seed"]), np.arange(0, 60, 0.1)
    x = trajectory(
        lambda t, x: [-x[1] - x[2], x[0] + 0.2 * x[1], 0.2 + x[2] * (x[0] - 5.7)],
        [1.0, 3.0, 0.1], t,
    )  # fmt: skip
    data = observed([x], t, ["x", "y", "z"], ["x", "z"], 0.01, rng)
    truth = {"a": 0.2, "b": 0.2, "c": 5.7}
    if not case["free_scale"]:
        model, seconds = timed(data, equations=ROSSLER)
        checks = [*constants(model, truth, 0.02), exact("not determined", _names(model), "nothing")]
        return result(model, checks, seconds)
    del truth["b"]
    model, seconds = timed(data, equations=ROSSLER | {"x": "-y - k*z"})
    checks = [*constants(model, truth, 0.02), exact("not determined", _names(model), "b, k; z")]
    checks.append(exact("determined product", _products(model), "b*k"))
    return result(model, checks, seconds)


def _names(model: Any) -> str:
    """Return the constants and hidden states that are not determined."""
    found = model.undetermined_
    if found is None:
        return "nothing"
    return "; ".join(", ".join(sorted(part)) for part in (found.constants, found.states) if part)


def _products(model: Any) -> str:
    found = model.undetermined_
    return "nothing" if found is None else ", ".join(found.combinations)


RIM, SENSOR = 8.0, 6.5
"""Level above which the upper tank overflows, and largest reading of the lower level."""


def _tanks(case: Result) -> tuple[og.Dataset, og.Dataset, list[np.ndarray], list[np.ndarray]]:
    """Return the training run, the first 50 rows of a second run, and the states and inputs of both
    runs. The inflow is never zero, so that the tanks are never empty."""
    rng, t, rows = np.random.default_rng(case["seed"]), 2.0 * np.arange(1000), 1000

    def field(x: np.ndarray, u: float) -> np.ndarray:
        upper, lower = 0.2 * np.sqrt(x)
        lost = 0.5 * max(x[0] - RIM, 0) * case["overflow"]
        return np.array([0.22 * u - upper - lost, upper - 1.1 * lower])

    inputs = [steps(rows, 25, 0.6, 3.2, rng) for _ in range(2)]
    states = [forced(field, [3.0, 3.0], t, u) for u in inputs]
    noise = 0.01 * states[0][:, 1].std()

    def run(x: np.ndarray, u: np.ndarray) -> og.Dataset:
        y = x[:, 1:] + noise * rng.standard_normal((len(x), 1))
        if case["overflow"]:
            y = np.minimum(y, SENSOR)
        return og.Dataset.from_arrays(
            y, t[: len(x)], u[:, None], names=["y"], input_names=["u"], hidden=["h"]
        )

    return run(states[0], inputs[0]), run(states[1][:50], inputs[1][:50]), states, inputs


def _tank_error(model: Any, first: og.Dataset, truth: np.ndarray, u: np.ndarray) -> float:
    """Return the error of the forecast of a second run, relative to its standard deviation."""
    begin, level = model.forecast(first)[0].x[0], model.state_names_.index("y")
    y = model.simulate(begin, 2.0 * np.arange(len(u)), u[:, None]).x[:, level]
    if len(y) < len(u):
        return np.inf
    return float(np.sqrt(np.mean((y - truth[:, 1]) ** 2)) / truth[:, 1].std())


def two_tanks(case: Result) -> Result:
    """The level of the upper of two tanks, which may overflow, is not measured."""
    data, first, states, inputs = _tanks(case)
    overflows = bool(case["overflow"])
    equations = {
        "h": "b*u - a*sqrt(abs(h))" + " - c*(h - H + abs(h - H))" * overflows,
        "y": "a*sqrt(abs(h)) - d*sqrt(abs(y))",
    }  # fmt: skip
    model, seconds = timed(
        data, equations=equations, values={"H": RIM} if overflows else {}, start={"h": (0.1, RIM)}
    )  # fmt: skip
    truth = {"a": 0.2, "b": 0.22, "d": 0.22} | ({"c": 0.25} if overflows else {})
    error = _tank_error(model, first, states[1], inputs[1])
    checks = [
        check("forecast error of y", error, error, 0.03, "at most 3% of its standard deviation")
    ]
    errors = {name: abs(model.parameters_[name] / value - 1) for name, value in truth.items()}
    return result(model, checks, seconds, constant_errors=errors, **_shares(case, data, states))


def two_tanks_order_two(case: Result) -> Result:
    """The same run, fitted without known equations by the default library with order two."""
    data, first, states, inputs = _tanks(case)

    def positions(run: og.Dataset) -> og.Dataset:
        y = run.states[:, run.state_names.index("y")]
        return og.Dataset.from_positions(
            y, run.times, run.inputs, names=["y"], input_names=["u"]
        )  # fmt: skip

    model, seconds = timed(positions(data))
    error = _tank_error(model, positions(first), states[1], inputs[1])
    checks = [
        check("forecast error of y", error, error, 0.08, "at most 8% of its standard deviation")
    ]
    return result(model, checks, seconds, **_shares(case, data, states))


def _shares(case: Result, data: og.Dataset, states: list[np.ndarray]) -> dict[str, float]:
    if not case["overflow"]:
        return {}
    return {
        "overflowing": float(np.mean(states[0][:, 0] > RIM)),
        "clipped": float(np.mean(data.plan.clipped[:, data.state_names.index("y")] != 0)),
    }


# constants per run

TIMES = np.array([0, 0.25, 0.5, 1, 2, 3.5, 5, 7, 9, 12, 24.0])
DOSE, NOISE = 4.0, 0.05
MEDIANS, SPREADS = np.array([1.5, 0.09, 0.5]), np.array([0.4, 0.2, 0.15])
ABSORPTION = {"gut": "-ka*gut", "conc": "ka*gut/V - ke*conc"}


def _concentration(t: np.ndarray, p: np.ndarray) -> np.ndarray:
    ka, ke, volume = p
    return DOSE * ka / volume / (ka - ke) * (np.exp(-ke * t) - np.exp(-ka * t))


def one_compartment(case: Result) -> Result:
    """A dose is absorbed from the gut, which is not measured, and the rates differ between
    subjects."""
    rng = np.random.default_rng(case["seed"])
    subjects = MEDIANS * np.exp(SPREADS * rng.standard_normal((12, 3)))
    new = MEDIANS * np.exp(SPREADS * rng.standard_normal((20, 3)))
    clean = [_concentration(TIMES, p)[:, None] for p in subjects]
    data = og.Dataset.from_arrays(
        [noisy(x, NOISE, rng) for x in clean], TIMES, names=["conc"], hidden=["gut"]
    )
    model, seconds = timed(
        data, equations=ABSORPTION, start={"gut": DOSE}, per_run=["ka", "ke", "V"]
    )  # fmt: skip
    fitted_values = {constant.name: constant for constant in model.schema_.per_run}
    logs, checks = np.log(subjects), []
    for j, name in enumerate(("ka", "ke", "V")):
        center = fitted_values[name].center
        error = abs(center / np.exp(logs[:, j].mean()) - 1)
        checks.append(
            check(f"mean of {name}", center, error, 0.1, "within 10% of the subjects' mean")
        )
    for j, name in enumerate(("ka", "ke", "V")):
        ratio = fitted_values[name].std / logs[:, j].std(ddof=1)
        aim = "within a factor of two of the subjects' spread"
        checks.append(check(f"spread of {name}", ratio, abs(np.log2(ratio)), 1.0, aim))
    middle = np.array([fitted_values[name].center for name in ("ka", "ke", "V")])
    errors = {"after three samples": [], "of the population": [], "Bayes": []}
    for p in new:
        x = _concentration(TIMES, p)
        y = noisy(x[:, None], NOISE, rng)
        start = og.Dataset.from_arrays(y[:4], TIMES[:4], names=["conc"], hidden=["gut"])
        begin = model.forecast(start)[0].x[0]
        later = model.simulate(begin, TIMES).x[4:, model.state_names_.index("conc")]
        errors["after three samples"].append(later - x[4:])
        errors["of the population"].append(_concentration(TIMES, middle)[4:] - x[4:])
        best = _posterior_mode(y[:4, 0], NOISE * x.std())
        errors["Bayes"].append(_concentration(TIMES, best)[4:] - x[4:])
    rms = {key: float(np.sqrt(np.mean(np.square(values)))) for key, values in errors.items()}
    ratio = rms["of the population"] / rms["after three samples"]
    possible = rms["of the population"] / rms["Bayes"]
    checks.append(
        check("gain of a new subject's forecast after three samples", ratio, 2 - ratio, 0.0,
              "at least 2 times as accurate as the population's forecast")
    )  # fmt: skip
    return result(model, checks, seconds, possible_gain=possible)


def _posterior_mode(y: np.ndarray, noise: float) -> np.ndarray:
    """Return the constants of a subject for the true distribution and noise, as a bound."""
    from scipy.optimize import least_squares

    def residuals(z: np.ndarray) -> np.ndarray:
        p = MEDIANS * np.exp(SPREADS * z)
        return np.concatenate([(_concentration(TIMES[: len(y)], p) - y) / noise, z])

    return MEDIANS * np.exp(SPREADS * least_squares(residuals, np.zeros(3)).x)


def theophylline(case: Result) -> Result:
    """Twelve subjects after one oral dose. [Boeckmann, Sheiner and Beal 1994]"""
    file = data_file("theophylline.csv")
    if file is None:
        return {"status": "no data", "error": "theophylline.csv is not available"}
    subjects: dict[str, list[list[float]]] = {}
    with file.open() as lines:
        for row in csv.DictReader(lines):
            values = [float(row[key]) for key in ("time_h", "conc_mg_per_l", "dose_mg_per_kg")]
            subjects.setdefault(row["subject"], []).append(values)
    tables = [np.array(values) for values in subjects.values()]
    data = og.Dataset.from_arrays(
        [x[:, 1:2] for x in tables], [x[:, 0] for x in tables], [x[:, 2:] for x in tables],
        names=["conc"], input_names=["dose"], hidden=["gut"],
    )  # fmt: skip
    model, seconds = timed(
        data, equations=ABSORPTION, start={"gut": "dose"}, per_run=["ka", "ke", "V"]
    )  # fmt: skip
    found = {constant.name: constant for constant in model.schema_.per_run}
    checks = [
        check(name, found[name].center, abs(found[name].center / value - 1), 0.1,
              f"within 10% of nlme's {value:g}")
        for name, value in {"ka": 1.6, "ke": 0.086, "V": 0.46}.items()
    ]  # fmt: skip
    ratio = found["ka"].std / 0.64
    checks.append(
        check("spread of log ka", found["ka"].std, abs(np.log2(ratio)), 1.0,
              "within a factor of two of nlme's 0.64")
    )  # fmt: skip
    return result(model, checks, seconds)


def _pendulums(
    lengths: np.ndarray, t: np.ndarray, noise: float, rng: np.random.Generator
) -> og.Dataset:
    runs = [
        trajectory(
            lambda t, x, length=length: [x[1], -9.81 / length * np.sin(x[0]) - 0.1 * x[1]],
            [rng.uniform(0.5, 2), 0.0], t,
        )
        for length in lengths
    ]  # fmt: skip
    return observed(runs, t, ["theta", "omega"], [], noise, rng)


PENDULUM = {"theta": "omega", "omega": "-m*sin(theta) - c*omega"}


def pendulums(case: Result) -> Result:
    """Twenty pendulums. The known lengths of ten give g, and g gives the other lengths."""
    rng = np.random.default_rng(case["seed"])
    lengths = rng.uniform(0.5, 2, 20)
    data = _pendulums(lengths, np.arange(0, 10, 0.05), 0.02, rng)
    model, seconds = timed(data, equations=PENDULUM, per_run=["m"])
    m = np.array([run.x[0, 2] for run in model.forecast(data)])
    g = float(np.mean(m[:10] * lengths[:10]))
    errors = np.abs(g / m[10:] / lengths[10:] - 1)
    checks = [
        check("g", g, abs(g / 9.81 - 1), 0.01, "within 1% of 9.81"),
        check("largest error of ten lengths", errors.max(), errors.max(), 0.01, "at most 1%"),
    ]
    return result(model, checks, seconds)


def detection(case: Result) -> Result:
    """Twenty pendulums without known equations. The advice must name the coefficient that differs,
    and no coefficient if none differs."""
    rng = np.random.default_rng(case["seed"])
    lengths = rng.uniform(0.5, 2, 20) if case["differ"] else np.ones(20)
    data = _pendulums(lengths, np.arange(0, 10, 0.05), 0.02, rng)
    start = cpu_seconds()
    model = fitted(data, "poly(1) + fourier(1)")
    advice = {item.code: item.text for item in model.summary(data).advice}
    seconds = cpu_seconds() - start
    text = advice.get("per-run", "nothing")
    if not case["differ"]:
        return result(model, [exact("coefficient that differs", text, "nothing")], seconds)
    named = "sin(theta)" if "The coefficient of sin(theta) in omega' differs" in text else text
    return result(model, [exact("coefficient that differs", named, "sin(theta)")], seconds)


# delays


def dead_time(case: Result) -> Result:
    """The force on an oscillator acts with or without a delay."""
    delay = case["delay"]
    data = forced_oscillator(delay, np.random.default_rng(case["seed"]))
    model, seconds = timed(data, "poly(1) + u(t - tau)")
    found, forced_by = model.parameters_, "u(t - tau)" if delay else "u"
    terms = ", ".join(sorted(terms_of(model, 1)))
    checks = [exact("terms of v'", terms, ", ".join(sorted([forced_by, "v", "x"])))]
    if delay:
        error = abs(found.get("tau", np.inf) - delay)
        checks.append(check("tau", found.get("tau"), error, 0.01, "within 0.01 of 0.35"))
        low, high = model.parameter_intervals_.get("tau", (np.inf, -np.inf))
        outside = float(not low <= delay <= high)
        checks.append(
            check("95% interval of tau", high - low, outside, 0.0, "contains 0.35; width shown")
        )
    return result(model, checks, seconds)


def hidden_dead_time(case: Result) -> Result:
    """A voltage acts with a delay on the current of a motor, which is not measured."""
    data = motor(np.random.default_rng(case["seed"]))
    equations = {"i": "b*u(t - tau) - r*i - w", "w": "k*i - 0.7*w"}
    model, seconds = timed(data, equations=equations)
    checks = [*_tau(model), *constants(model, {"b": 5.0, "r": 3.0, "k": 2.0}, 0.05)]
    return result(model, checks, seconds)


def per_run_dead_time(case: Result) -> Result:
    """A force acts with a delay on eight oscillators with different stiffness."""
    rng = np.random.default_rng(case["seed"])
    stiffness = rng.uniform(3, 6, 8)
    data = oscillators(stiffness, rng)
    equations = {"x": "v", "v": "-k*x - c*v + b*u(t - tau)"}
    model, seconds = timed(data, equations=equations, per_run=["k"])
    k = np.array([value for value, _, _ in model.per_run(data)["k"].values()])
    worst = float(np.abs(k / stiffness - 1).max())
    checks = [*_tau(model), check("largest error of k", worst, worst, 0.02, "at most 2%")]
    return result(model, [*checks, *constants(model, {"b": 2.0, "c": 0.5}, 0.05)], seconds)


def _tau(model: Any) -> list[Check]:
    """Return checks of a dead time of 0.35 and its interval."""
    tau = model.parameters_["tau"]
    low, high = model.parameter_intervals_["tau"]
    outside = float(not low <= 0.35 <= high)
    return [
        check("tau", tau, abs(tau - 0.35), 0.01, "within 0.01 of 0.35"),
        check("95% interval of tau", high - low, outside, 0.0, "contains 0.35; width shown"),
    ]


def mackey_glass(case: Result) -> Result:
    """Delayed feedback with an unknown delay and three unknown constants."""
    data = mackey_glass_data(np.random.default_rng(case["seed"]))
    model, seconds = timed(data, equations={"x": "beta*x(t - tau)/(1 + x(t - tau)**n) - gamma*x"})
    checks = constants(model, {"tau": 17.0}, 0.01)
    truth = {"beta": 0.2, "gamma": 0.1, "n": 10.0}
    checks += constants(model, truth, 0.05)
    ends = model.parameter_intervals_
    for name, value in {"tau": 17.0, **truth}.items():
        low, high = ends[name]
        outside = float(not low <= value <= high)
        what = f"95% interval of {name}"
        checks.append(check(what, high - low, outside, 0.0, f"contains {value:g}; width shown"))
    return result(model, checks, seconds)


# maps


def logistic(case: Result) -> Result:
    """x[k+1] = 3.8 x (1 - x)."""
    truth = {"x": {"x": 3.8, "x**2": -3.8}}
    return _map(case, lambda x: [3.8 * x[0] * (1 - x[0])], [0.3], ["x"], "poly(3)", truth)


def henon(case: Result) -> Result:
    """x[k+1] = 1 - 1.4 x**2 + y, y[k+1] = 0.3 x."""
    truth = {"x": {"1": 1.0, "x**2": -1.4, "y": 1.0}, "y": {"x": 0.3}}
    return _map(
        case, lambda x: [1 - 1.4 * x[0] ** 2 + x[1], 0.3 * x[0]], [0.1, 0.1], ["x", "y"],
        "poly(3)", truth,
    )  # fmt: skip


def ricker(case: Result) -> Result:
    """x[k+1] = x exp(2.9 (1 - x)) with an estimated rate in the exponential. The motion is chaotic.
    At a rate of 2.6, it is a cycle of four values, which four terms fit exactly."""
    truth = {"x": {"x*exp(-x*c)": float(np.exp(2.9))}}
    return _map(
        case, lambda x: [x[0] * np.exp(2.9 * (1 - x[0]))], [0.4], ["x"],
        "poly(2) + x*exp(-c*x)", truth, {"c": 2.9},
    )  # fmt: skip


def ricker_discovered(case: Result) -> Result:
    """The same rows without a library: `og.discover` searches for formulas."""
    rng, states = np.random.default_rng(case["seed"]), [0.4]
    for _ in range(499):
        states.append(states[-1] * float(np.exp(2.9 * (1 - states[-1]))))
    x = noisy(np.array(states)[:, None], 0.01, rng)
    data = og.Dataset.from_arrays(x, names=["x"], discrete=True)
    start = cpu_seconds()
    text = og.discover(data).best.equations(6)[0]
    seconds = cpu_seconds() - start
    found = re.fullmatch(r"x\[k\+1\] = ([\d.]+) x\*exp\(-([\d.]+)\*x\)", text)
    form = "a*x*exp(-c*x)" if found else text
    checks = [exact("equation", form, "a*x*exp(-c*x)")]
    for i, (name, value) in enumerate({"a": float(np.exp(2.9)), "c": 2.9}.items(), start=1):
        number = float(found[i]) if found else np.inf
        error = abs(number / value - 1)
        checks.append(check(name, number if found else None, error, 0.02, "within 2% of the truth"))
    return {"checks": checks, "fit_seconds": round(seconds, 2), "equations": [text]}


def _map(
    case: Result, step: Callable[[list[float]], list[float]], start: list[float],
    names: list[str], library: str, truth: dict[str, dict[str, float]],
    parameters: Mapping[str, float] = {},
) -> Result:  # fmt: skip
    rng, states = np.random.default_rng(case["seed"]), [start]
    for _ in range(499):
        states.append(step(states[-1]))
    data = og.Dataset.from_arrays(noisy(np.array(states), 0.01, rng), names=names, discrete=True)
    model, seconds = timed(data, library)
    checks, found = [], {}
    for c, name in enumerate(names):
        found = terms_of(model, c)
        expected = ", ".join(sorted(truth[name]))
        checks.append(exact(f"terms of {name}[k+1]", ", ".join(sorted(found)), expected))
        for term, value in truth[name].items():
            error = abs(found.get(term, np.inf) / value - 1)
            what = f"{term} in {name}[k+1]"
            checks.append(check(what, found.get(term), error, 0.02, "within 2% of the truth"))
    checks += constants(model, parameters, 0.02)
    return result(model, checks, seconds)


# identifiability


def identifiability(case: Result) -> Result:
    """One of ten systems. In half of them, the measured states do not determine all constants."""
    system = _ten.SYSTEMS[case["system"]]
    data, physics = system.data(np.random.default_rng(case["seed"]))
    model, seconds = timed(data, **physics)
    checks = [exact(case["system"], _answer(model), system.answer)]
    return result(model, checks, seconds, products=_products(model))


def _answer(model: Any) -> str:
    """Return what is not determined. Constants that occur only in products are not parameters."""
    products = [name for name in model.parameters_ if not name.isidentifier()]
    single = sorted({part for name in products for part in re.findall(r"[a-z]\w*", name)})
    named = _names(model)
    return named if not single else ", ".join(single) if named == "nothing" else named


# cost


def cost_hidden(case: Result) -> Result:
    """Prey with unmeasured predators, saturation and crowding: 1,000 rows, six constants."""
    rng, t = np.random.default_rng(case["seed"]), np.arange(0, 100, 0.1)
    x = trajectory(
        lambda t, x: [
            x[0] * (1 - 0.2 * x[0]) - x[0] * x[1] / (1 + 0.8 * x[0]),
            0.9 * x[0] * x[1] / (1 + 0.8 * x[0]) - 0.3 * x[1] - 0.02 * x[1] ** 2,
        ],
        [1.0, 1.0], t,
    )  # fmt: skip
    data = observed([x], t, ["x", "y"], ["y"], 0.02, rng)
    equations = {
        "x": "r*x - q*x**2 - x*y/(1 + k*x)", "y": "e*x*y/(1 + k*x) - d*y - m*y**2",
    }  # fmt: skip
    model, seconds = timed(data, equations=equations)
    checks = [check("CPU seconds of the fit", seconds, seconds, 20.0, "at most 20")]
    truth = {"r": 1.0, "q": 0.2, "k": 0.8, "e": 0.9, "d": 0.3, "m": 0.02}
    errors = {name: abs(model.parameters_[name] / value - 1) for name, value in truth.items()}
    return result(model, checks, seconds, constant_errors=errors)


def cost_per_run(case: Result) -> Result:
    """The time of a fit with a constant per run in 100 runs, relative to one shared constant."""
    t = np.arange(0, 5, 0.05)
    lengths = np.random.default_rng(case["seed"]).uniform(0.5, 2, 100)
    rngs = [np.random.default_rng(case["seed"] + 1) for _ in range(2)]
    equal = _pendulums(np.full(100, 1.0), t, 0.02, rngs[0])
    different = _pendulums(lengths, t, 0.02, rngs[1])
    _, shared = timed(equal, equations=PENDULUM)
    model, seconds = timed(different, equations=PENDULUM, per_run=["m"])
    ratio = seconds / shared
    checks = [
        check("CPU time of the fit, relative to the shared fit", ratio, ratio, 3.0, "at most 3")
    ]
    return result(model, checks, seconds, shared_seconds=round(shared, 2))


# mistakes


def mistakes(case: Result) -> Result:
    """Errors name each mistake in one or two sentences."""
    t, x = np.arange(0, 20, 0.2), 10 + np.sin(np.arange(0, 20, 0.2))[:, None]
    equations = {"x": "a*x - x*y", "y": "x*y - d*y"}
    forced = og.Dataset.from_arrays(x, t, x, names=["x"], input_names=["u"])

    def fit(hidden: list[str], **more: Any) -> None:
        data = og.Dataset.from_arrays(x, t, names=["x"], hidden=hidden)
        fitted(data, equations=equations, **more)

    attempts: dict[str, tuple[Callable[[], Any], str]] = {
        "a hidden state that is a column": (lambda: fit(["x"]), "'x'"),
        "a hidden state in no equation": (lambda: fit(["y", "w"]), "'w'"),
        "a start of a name that is not a state": (lambda: fit(["y"], start={"w": 1}), "'w'"),
        "a start that is not a number": (lambda: fit(["y"], start={"y": (3, 1)}), "(3, 1)"),
        "a constant per run in no equation": (lambda: fit(["y"], per_run=["q"]), "'q'"),
        "a delay longer than the run": (
            lambda: fitted(forced, equations={"x": "u(t - tau) - k*x"}, values={"tau": 30}), "30",
        ),
        "a map with irregular times": (
            lambda: og.Dataset.from_arrays(x, t**1.1, names=["x"], discrete=True), "step",
        ),
    }  # fmt: skip
    checks = []
    for what, (attempt, word) in attempts.items():
        try:
            attempt()
            text = "no error"
        except Exception as error:
            known = type(error).__module__.startswith("orthoreg")
            text = str(error) if known else f"{type(error).__name__}: {error}"
        wrong = float(text == "no error" or word not in text or "\n" in text)
        checks.append(check(what, text, wrong, 0.0, f"names {word}"))
    return {"checks": checks}
