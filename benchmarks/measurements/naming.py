"""What machines lack in their libraries, named by `explain`."""

import time

import numpy as np

import orthoreg as og

from . import double_pendulum, rlc, stage
from ._line import Line, coefficients, data_file, relative_rms

SEEDS = 5
TITLE = "What machines lack, named."
ABOUT = (
    "The stage above without sign(x_dot) in its library, `poly(1)`, and the circuit above: "
    "`explain`, its first proposal accepted. The seeds are those of the stage's motion. The double "
    "pendulum above, from its angles alone and with their rates, nothing told: `discover`, the "
    "model on top of its list; the targets are the errors of the authors' fitted model."
)


def measure(seeds: int) -> list[Line]:
    found = [_stage(seed) for seed in range(seeds)]
    named = float(np.mean([one["named"] for one in found]))
    return [
        Line("stage: sign(x_dot) named, share of fits", [named], at_least=1),
        *(
            Line(f"stage: error of {what}", [one[what] for one in found], "%", 5)
            for what in ("mass", "viscous", "dry")
        ),
        Line("stage: fit and explain, CPU", [one["seconds"] for one in found], "s"),
        *_circuit(),
        *_double_pendulum(),
    ]


def _stage(seed: int) -> dict[str, float]:
    data = stage.measured(seed)
    begun = time.process_time()
    model = og.OrthoReg("poly(1)").fit(data)
    explanation = model.explain(data)
    spent = time.process_time() - begun
    named = bool(explanation.proposals) and explanation.proposals[0].formula == "sign(x_dot)"
    if explanation.proposals:
        model = explanation.accept(0)
    return {**stage.errors(coefficients(model, 1)), "named": float(named), "seconds": spent}


def _circuit() -> list[Line]:
    file = data_file("rlc_saturating.csv")
    if file is None:
        return []
    train, test = rlc.runs_of_circuit(file, (0, 1), "_noisy"), rlc.runs_of_circuit(file, (2,), "")
    model = og.OrthoReg("poly(1)").fit(train)
    explanation = model.explain(train)
    alone = og.OrthoReg("poly(1)", og.Zero()).fit(train)
    formula = explanation.proposals[0].formula if explanation.proposals else "nothing"
    lines = [Line("circuit: first proposal", text=f"`{formula}`")]
    if not explanation.proposals:
        return lines
    better, before = explanation.accept(0), _forecast_errors(alone, test)
    for label, model, least in (
        ("accepted", better, None), ("accepted and refined", better.refine(train), 5)
    ):  # fmt: skip
        after = _forecast_errors(model, test)
        lines += [
            Line(f"circuit, {label}: forecast error of {name}, times lower", [one / other],
                 at_least=least)
            for name, one, other in zip(test.state_names, before, after, strict=True)
        ]  # fmt: skip
    return lines


def _double_pendulum() -> list[Line]:
    file = data_file("double_pendulum.csv")
    if file is None:
        return []
    lines = []
    for label, rates in (("angles alone", False), ("angles and rates", True)):
        train, test = (double_pendulum.runs_of_pendulum(file, split, rates)
                       for split in ("train", "test"))  # fmt: skip
        begun = time.process_time()
        found = og.discover(train)
        spent = time.process_time() - begun
        learned = [line for line in found.best.equations() if "sin(" in line]
        lines += [
            *(Line(f"double pendulum, {label}", text=f"`{line}`") for line in learned),
            *double_pendulum.forecast_lines(f"double pendulum, {label}", found.best, test),
            Line(f"double pendulum, {label}: discover, CPU", [spent], "s"),
        ]
    return lines


def _forecast_errors(model: og.OrthoReg, test: og.Dataset) -> list[float]:
    (forecast,) = model.forecast(test)
    return [
        relative_rms(found, truth) for found, truth in zip(forecast.x.T, test.states.T, strict=True)
    ]
