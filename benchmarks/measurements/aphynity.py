"""APHYNITY's damped pendulum, with and without the damping in the library."""

import csv
from pathlib import Path

import numpy as np

import orthoreg as og

from ._line import Line, data_file

SEEDS = 5
TITLE = "APHYNITY's pendulum."
ABOUT = (
    "The data are 25 runs of 40 points, half a second apart. The result is log10 of the mean "
    "squared error of 25 forecasts. Published values are -8.58 for the true equation and -7.86 "
    "for APHYNITY without the damping term. Forecasts of held-out training runs choose between "
    'the default residual and 100 features with small weights ("gentle units"). The seeds '
    "change the random features."
)
_GENTLE = og.RandomFeatures(100, weight_scale=(0.1, 1.0))


def measure(seeds: int) -> list[Line] | None:
    file = data_file("aphynity_pendulum.csv")
    if file is None:
        return None
    train, test = _runs(file, "train"), _runs(file, "test")
    whole = og.OrthoReg("sin(theta) + omega").fit(train)
    found = [_score(whole, test), _score(whole.refine(train), test)]
    lines = [
        Line("sin(theta) and omega", found[:1]),
        Line("sin(theta) and omega, refined", found[1:], at_most=-9.0),
    ]
    if not seeds:
        return [*lines, Line("omega withheld", text="not run")]
    lacking = [og.OrthoReg("sin(theta)", _GENTLE, seed=seed).fit(train) for seed in range(seeds)]
    refined = [model.refine(train) for model in lacking]
    default = og.OrthoReg("sin(theta)", og.RandomFeatures(100)).fit(train).refine(train)
    held_out = [_held_out_error(model) for model in (refined[0], default)]
    return [
        *lines,
        Line("omega withheld", [_score(model, test) for model in lacking]),
        Line("omega withheld, refined", [_score(m, test) for m in refined], at_most=-7.9),
        Line("omega withheld, refined, default features", [_score(default, test)]),
        Line(
            "forecast error of held-out training runs, seed 0",
            text="gentle units {:.2g}%, default ones {:.2g}%".format(*held_out),
        ),
    ]


def _held_out_error(model: og.OrthoReg) -> float:
    """Return the error of held-out forecasts in percent."""
    assert model.refinement_ is not None
    return 100 * model.refinement_.error_after


def _score(model: og.OrthoReg, test: og.Dataset) -> float:
    forecasts = model.forecast(test)
    errors = [(f.x - run.states) ** 2 for f, run in zip(forecasts, test, strict=True)]
    return float(np.log10(np.mean(errors)))


def _runs(file: Path, split: str) -> og.Dataset:
    runs: dict[str, list[tuple[float, float, float]]] = {}
    with file.open() as lines:
        for row in csv.DictReader(lines):
            if row["split"] == split:
                values = (float(row["t"]), float(row["theta"]), float(row["omega"]))
                runs.setdefault(row["traj"], []).append(values)
    table = np.array(list(runs.values()))
    return og.Dataset.from_positions(
        list(table[:, :, 1:2]), list(table[:, :, 0]), names=["theta"],
        states=list(table[:, :, 2:]), state_names=["omega"], velocity_of={"theta": "omega"},
    )  # fmt: skip
