"""A real double pendulum, from its encoders."""

import csv
from pathlib import Path
from typing import Any

import numpy as np

import orthoreg as og

from ._line import Line, data_file

SEEDS = 1
TITLE = "A real double pendulum."
ABOUT = (
    "The data are encoder angles at 200 Hz: 26 training pieces and four test pieces of 2.7 s. "
    "The error is the RMS error of both angles over the first second, simulated from the "
    "measured initial state. Targets are the errors of the authors' model. Because of the mass "
    "matrix, the equations are fractions, which the terms of the library only approximate."
)
AUTHORS = (0.002, 0.002, 0.002, 0.013)
_FIRST = 201  # rows: one second


def measure(seeds: int) -> list[Line] | None:
    file = data_file("double_pendulum.csv")
    if file is None:
        return None
    lines, lag = [], "not noticed"
    for label, rates in (("angles alone", False), ("angles and rates", True)):
        train, test = runs_of_pendulum(file, "train", rates), runs_of_pendulum(file, "test", rates)
        names = ("omega1", "omega2") if rates else ("theta1_dot", "theta2_dot")
        model = og.OrthoReg(_library(*names)).fit(train)
        lines += forecast_lines(label, model, test)
        if rates:
            said = [item.text for item in model.summary(train).advice if item.code == "lag"]
            lag = said[0] if said else lag
    return [*lines, Line("lag of the rates behind the angles", text=lag)]


def forecast_lines(label: str, model: Any, test: og.Dataset) -> list[Line]:
    """Return the RMS errors of both angles over the first second of each piece."""
    lines = []
    for number, (forecast, run, authors) in enumerate(
        zip(model.forecast(test), test, AUTHORS, strict=True), start=1
    ):
        error = forecast.x[:_FIRST, :2] - run.states[:_FIRST, :2]
        rms = float(np.sqrt(np.mean(error**2)))
        lines.append(Line(f"{label}, piece {number}", [rms], "rad", authors))
    return lines


def _library(one: str, two: str) -> str:
    """Return terms for gravity, centrifugal forces and friction, times even powers of cos(d)."""
    d = "(theta1 - theta2)"
    parts = [
        "sin(theta1)", f"cos{d}*sin(theta2)", "sin(theta2)", f"cos{d}*sin(theta1)",
        f"sin{d}*{one}^2", f"sin{d}*{two}^2", f"sin{d}*cos{d}*{one}^2", f"sin{d}*cos{d}*{two}^2",
        one, two, f"cos{d}*{one}", f"cos{d}*{two}",
    ]  # fmt: skip
    return " + ".join([*parts, *(f"cos{d}^{power}*{part}" for power in (2, 4) for part in parts)])


def runs_of_pendulum(file: Path, split: str, with_rates: bool) -> og.Dataset:
    runs: dict[str, list[list[float]]] = {}
    with file.open() as lines:
        for row in csv.reader(lines):
            if row[1] == split:
                runs.setdefault(row[0], []).append([float(value) for value in row[2:]])
    tables = [np.array(rows) for rows in runs.values()]
    angles, times = [run[:, 1:3] for run in tables], [run[:, 0] for run in tables]
    names = ["theta1", "theta2"]
    if not with_rates:
        return og.Dataset.from_positions(angles, times, names=names)
    return og.Dataset.from_positions(
        angles, times, names=names, states=[run[:, 3:] for run in tables],
        state_names=["omega1", "omega2"], velocity_of={"theta1": "omega1", "theta2": "omega2"},
    )  # fmt: skip
