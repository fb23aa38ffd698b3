"""Missing terms of real machines, found by `explain` and `discover`."""

import time

import numpy as np

import orthoreg as og
from orthoreg.model.model import AbstractModel

from . import double_pendulum, rlc, stage
from ._line import Line, coefficients, data_file, relative_rms

SEEDS = 5
TITLE = "Missing terms of real machines."
ABOUT = (
    "For the stage above (fitted without sign(x_dot) in its library) and the circuit above, "
    "the first proposal of `explain` is accepted. For the double pendulum above, the result is "
    "the first model of `discover`, from its angles alone and from angles and rates. No "
    "physics is given. Targets are the errors of the authors' model. The seeds change the "
    "motion of the stage."
)


def measure(seeds: int) -> list[Line]:
    fits = [_stage(seed) for seed in range(seeds)]
    named = float(np.mean([fit["named"] for fit in fits]))
    return [
        Line("stage: sign(x_dot) named, share of fits", [named], at_least=1),
        *(
            Line(f"stage: error of {what}", [fit[what] for fit in fits], "%", 5)
            for what in ("mass", "viscous", "dry")
        ),
        Line("stage: fit and explain, CPU", [fit["seconds"] for fit in fits], "s"),
        *_circuit(),
        *_double_pendulum(),
    ]


def _stage(seed: int) -> dict[str, float]:
    data = stage.measured(seed)
    start = time.process_time()
    model = og.OrthoReg("poly(1)").fit(data)
    explanation = model.explain(data)
    spent = time.process_time() - start
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
    for label, model, min_factor in (
        ("accepted", better, None), ("accepted and refined", better.refine(train), 5)
    ):  # fmt: skip
        after = _forecast_errors(model, test)
        lines += [
            Line(f"circuit, {label}: reduction factor of the forecast error of {name}",
                 [first / last], at_least=min_factor)
            for name, first, last in zip(test.state_names, before, after, strict=True)
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
        start = time.process_time()
        discovery = og.discover(train)
        spent = time.process_time() - start
        learned = [line for line in discovery.best.equations() if "sin(" in line]
        lines += [
            *(Line(f"double pendulum, {label}", text=f"`{line}`") for line in learned),
            *double_pendulum.forecast_lines(f"double pendulum, {label}", discovery.best, test),
            Line(f"double pendulum, {label}: discover, CPU", [spent], "s"),
        ]
    return lines


def _forecast_errors(model: AbstractModel, test: og.Dataset) -> list[float]:
    (forecast,) = model.forecast(test)
    return [
        relative_rms(found, truth) for found, truth in zip(forecast.x.T, test.states.T, strict=True)
    ]
