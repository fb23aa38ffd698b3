"""Known physics: whether it holds exactly, whether the unknown part is found, and its cost."""

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import orthoreg as og
from benchmarks._constraint_cost import solves
from benchmarks._known_systems import KNOWN_OF_PENDULUM, LENGTH, epidemic, prey, swings
from benchmarks._large_tables import reading
from benchmarks.measurements import table
from benchmarks.measurements._line import Line, data_file, rounded
from benchmarks.measurements.double_pendulum import AUTHORS, runs_of_pendulum
from orthoreg.diagnostics import normalized_mse
from orthoreg.systems import Duffing, Pendulum, generate

_SEEDS = 6
_RECORD = Path(__file__).parent / "records" / "knowledge.json"
_SECOND = 201  # rows of a forecast of the double pendulum
_MASS_MATRIX = og.Physics(
    equations=[
        "J1*theta1'' + c*cos(theta1 - theta2)*theta2'' = -c*sin(theta1 - theta2)*theta2'^2"
        " + b1*sin(theta1) - k1*theta1' - k2*(theta1' - theta2')",
        "J2*theta2'' + c*cos(theta1 - theta2)*theta1'' = c*sin(theta1 - theta2)*theta1'^2"
        " + b2*sin(theta2) + k2*(theta1' - theta2')",
    ]
)


def length_of_a_pendulum() -> list[Line]:
    """The fit estimates L, without noise and with 2% noise, and must select the damping term."""
    clean = og.OrthoReg(physics=KNOWN_OF_PENDULUM).fit(swings(0.0, 0))
    covered, named = 0, 0
    for seed in range(_SEEDS):
        model = og.OrthoReg(physics=KNOWN_OF_PENDULUM).fit(swings(0.02, seed))
        low, high = model.parameter_intervals_["L"]
        covered += low <= LENGTH <= high
        named += "omega" in np.array(model.feature_names_)[model.support_[1]]
    return [
        Line("L, clean: error", [100 * abs(clean.parameters_["L"] / LENGTH - 1)], "%", 0.1),
        Line(
            f"L, 2% noise: intervals that contain the truth, of {_SEEDS}",
            [covered],
            at_least=_SEEDS - 1,
        ),
        Line(f"2% noise: damping selected, of {_SEEDS}", [named], at_least=_SEEDS),
    ]


def signs_and_sums() -> list[Line]:
    """The fit must satisfy a bound that the noise would violate, a conserved sum, and a relation
    between coefficients."""
    x = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    y = np.column_stack([x[:, 1], -x[:, 0] + 0.05 * x[:, 1]])  # noise that suggests a driven system
    bounded = og.Physics(required={"x1": ["x1"]}, bounds={("x1", "x1"): (None, 0)})
    model = og.OrthoReg(og.Polynomial(1), og.Zero(), physics=bounded).fit(x, y)
    active = "x1" in model.certificate_.equations[1].active_bounds
    sums = []
    for extra in (0.0, 3.0):
        physics = og.Physics(conserved=["S + I + R"])
        sir = og.OrthoReg(og.Polynomial(2), loss=og.VectorField(), physics=physics)
        sir.fit(epidemic(extra))
        rates = sir.predict(np.random.default_rng(1).uniform(0, 1.5, (100, 3)))
        sums.append(float(np.abs(rates.sum(axis=1)).max() / np.abs(rates).max()))
    physics = og.Physics(relations=["coef(x, x*y) = -coef(y, x*y)"])
    species = og.OrthoReg(og.Polynomial(2), og.Zero(), physics=physics).fit(prey())
    both = species.coefficients_[:, species.feature_names_.index("x*y")]
    return [
        Line("bounded coefficient", [float(model.coefficients_[1, 2])], at_most=0.0),
        Line("the certificate says that the bound is active", text="yes" if active else "no"),
        Line("SIR: sum of the derivatives relative to the largest, with and without residual", sums,
             at_most=1e-12),
        Line("Lotka-Volterra: sum of the related coefficients, relative to one of them",
             [abs(float(both.sum() / both[0]))], at_most=1e-12),
    ]  # fmt: skip


def symmetries() -> list[Line]:
    """The table shows squared relative errors of derivatives beyond the data (T2), with and without
    the symmetry."""
    lines = []
    cases: list[tuple[str, Any, Any, float | None]] = [
        ("Duffing from one well", Duffing(), og.Odd(), 0.05),
        ("pendulum, medium", Pendulum.of_difficulty("medium"), og.Periodic("theta"), None),
        ("pendulum, high", Pendulum.of_difficulty("high"), og.Periodic("theta"), None),
    ]
    for label, system, symmetry, most in cases:
        train, beyond = (generate(system, split, runs=30, seed=0) for split in ("train", "t2"))
        truth = np.asarray(system(0.0, beyond.states))
        for name, physics in (("no symmetry given", None), (repr(symmetry), symmetry)):
            known = None if physics is None else og.Physics(symmetry=physics)
            model = og.OrthoReg(physics=known).fit(train)
            error = normalized_mse(model.predict(beyond.states), truth)
            bound = most if physics is not None else None
            lines.append(Line(f"{label}, T2, {name}", [error], at_most=bound))
    return lines


def double_pendulum() -> list[Line] | None:
    """The mass matrix is given, all constants are estimated, and only angles are measured."""
    file = data_file("double_pendulum.csv")
    if file is None:
        return None
    train, test = (runs_of_pendulum(file, split, False) for split in ("train", "test"))
    model = og.OrthoReg(physics=_MASS_MATRIX).fit(train)
    m1, m2, a1, a2, length, g = 0.0938, 0.1376, 0.1086, 0.1168, 0.1727, 9.8086
    inertia = 4.375e-4 + m1 * a1**2 + m2 * length**2
    published = {
        "c": m2 * length * a2 / inertia,
        "J2": (1.2688e-3 + m2 * a2**2) / inertia,
        "b1": (m1 * a1 + m2 * length) * g / inertia,
        "b2": m2 * a2 * g / inertia,
    }
    found = model.parameters_
    lines = [
        Line(
            f"{name}/J1: difference from the authors' value",
            [100 * abs(found[name] / value - 1)],
            "%",
            1,
        )
        for name, value in published.items()
    ]
    for name, value in (("k1", 2.371e-4), ("k2", 1.0e-5)):
        low, high = model.parameter_intervals_[name]
        lines.append(
            Line(f"friction {name}/J1", text=f"{found[name]:.3g} ({low:.2g} to {high:.2g}), "
                 f"authors' {value / inertia:.2g}")
        )  # fmt: skip
    pieces = zip(model.forecast(test), test, AUTHORS, strict=True)
    for number, (forecast, run, authors) in enumerate(pieces, start=1):
        error = forecast.x[:_SECOND, :2] - run.states[:_SECOND, :2]
        rms = float(np.sqrt(np.mean(error**2)))
        lines.append(Line(f"forecast over one second, piece {number}", [rms], "rad", 1.5 * authors))
    return lines


def circuit() -> list[Line] | None:
    """The equation of the capacitor is given, and C is estimated."""
    file = data_file("rlc_saturating.csv")
    if file is None:
        return None
    rows = np.genfromtxt(file, delimiter=",", names=True)
    lines = []
    for kind in ("", "_noisy"):
        runs = [rows[rows["run"] == number] for number in (0, 1)]
        data = og.Dataset.from_arrays(
            [np.column_stack([run[f"v_c{kind}"], run[f"i_l{kind}"]]) for run in runs],
            [run["t"] for run in runs], [run["v_in"][:, None] for run in runs], ["v_c", "i_l"],
            input_names=["v_in"],
        )  # fmt: skip
        model = og.OrthoReg(physics=og.Physics(equations={"v_c": "i_l/C"})).fit(data)
        low, high = model.parameter_intervals_["C"]
        error = 100 * abs(model.parameters_["C"] / 270e-9 - 1)
        label = "noisy" if kind else "clean"
        lines.append(Line(f"C, {label}: error", [error], "%", 1))
        within = low <= 270e-9 <= high
        lines.append(Line(f"C, {label}: interval", text=f"{1e9 * low:.2f} to {1e9 * high:.2f} nF, "
                          f"which {'covers' if within else 'does not cover'} 270"))  # fmt: skip
    return lines


def boarding_school() -> list[Line] | None:
    """The SIR model is fitted without measurements of S. S(0) is known, so that S = S(0) exp(-beta
    J/N) with J' = I."""
    file = data_file("boarding_school_flu_1978.csv")
    if file is None:
        return None
    rows = np.genfromtxt(file, delimiter=",", names=True)
    ill, days = rows["in_bed"], rows["t"]
    total = np.concatenate([[0.0], np.cumsum((ill[1:] + ill[:-1]) / 2)])
    data = og.Dataset.from_arrays(np.column_stack([ill, total]), days, names=["I", "J"])
    physics = og.Physics(
        equations={"J": "I", "I": "beta*S0/N*exp(-beta*J/N)*I - gamma*I"},
        values={"N": 763, "S0": 760}, bounds={"beta": (0.1, 10)},
    )  # fmt: skip
    found = og.OrthoReg(physics=physics).fit(data).parameters_
    return [
        Line(f"{name}, published {value:g}", [found[name]], "", 1.1 * value, 0.9 * value)
        for name, value in (("beta", 1.79), ("gamma", 0.456))
    ]


CASES: dict[str, tuple[str, Callable[[], list[Line] | None]]] = {
    "pendulum": ("Pendulum with theta' = omega and g given.", length_of_a_pendulum),
    "signs": ("Signs, sums, relations.", signs_and_sums),
    "symmetries": ("Symmetries.", symmetries),
    "double_pendulum": ("A real double pendulum with its mass matrix.", double_pendulum),
    "circuit": ("RLC circuit with v_c' = i_l/C.", circuit),
    "boarding_school": ("An epidemic without measured susceptibles.", boarding_school),
    "solves": ("Cost of constraints.", solves),
    "reading": ("Large tables.", reading),
}


def measure() -> dict[str, Any]:
    """Measure all cases, or those named in ORTHOREG_KNOWLEDGE; keep the records of the others."""
    wanted = [name for name in os.environ.get("ORTHOREG_KNOWLEDGE", "").split(",") if name]
    if unknown := set(wanted) - set(CASES):
        sys.exit(f"error: ORTHOREG_KNOWLEDGE names {sorted(unknown)}; known are {list(CASES)}.")
    known = json.loads(_RECORD.read_text())["cases"] if _RECORD.exists() else {}
    for name in wanted or CASES:
        print(f"  {name} ...", file=sys.stderr)
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            lines = CASES[name][1]()
        if lines is None:
            print(f"  {name}: skipped, because its data are missing", file=sys.stderr)
            continue
        known[name] = {
            "cpu_seconds": rounded(time.process_time() - start),
            "lines": [line.record() for line in lines],
        }
    return {"cases": {name: known[name] for name in CASES if name in known}}


def render(record: dict[str, Any]) -> str:
    page = (
        "## Known physics\n\nEquations, constants, signs, relations or symmetries are given "
        "(`Physics`). The fit must satisfy them and find the unknown part.\n"
    )
    for name, case in record["cases"].items():
        page += (
            f"\n**{CASES[name][0]}** {_about(CASES[name][1])} CPU time: "
            f"{case['cpu_seconds']:.0f} s."
        )
        page += "\n\n" + table(case["lines"], False)
    return page


def _about(case: Callable[[], Any]) -> str:
    return " ".join((case.__doc__ or "").split())
