"""Residuals with different units: errors on validation runs of the benchmark systems."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import orthoreg as og
from orthoreg.diagnostics import normalized_mse
from orthoreg.systems import SIR, LotkaVolterra, Pendulum, Split, generate, true_derivatives

_SYSTEMS = {
    "pendulum, low": Pendulum.of_difficulty("low"),
    "pendulum, medium": Pendulum(),
    "pendulum, high": Pendulum.of_difficulty("high"),
    "Lotka-Volterra": LotkaVolterra(),
    "SIR": SIR(),
}
_RESIDUALS = {
    "the default": og.RandomFeatures(),
    "no residual": og.Zero(),
    "`RandomFeatures(200)`": og.RandomFeatures(200),
    "`RandomFeatures(800)`": og.RandomFeatures(800),
    "`weight_scale=1, univariate_fraction=0`": og.RandomFeatures(
        weight_scale=1.0, univariate_fraction=0.0
    ),
    "`weight_scale=(0.5, 8)`": og.RandomFeatures(weight_scale=(0.5, 8.0)),
    "`weight_scale=(0.5, 16)`": og.RandomFeatures(weight_scale=(0.5, 16.0)),
    "`weight_scale=(0.5, 64)`": og.RandomFeatures(weight_scale=(0.5, 64.0)),
}
_SEEDS = (0, 1)


def measure() -> dict[str, Any]:
    """Return derivative errors on validation runs, which are separate from the training runs."""
    rows = []
    for name, system in _SYSTEMS.items():
        for seed in _SEEDS:
            runs = generate(system, Split.train, seed=seed)
            fresh = generate(system, Split.validation, seed=seed)
            truth = true_derivatives(system, Split.validation, fresh, seed=seed)
            for label, residual in _RESIDUALS.items():
                model = og.OrthoReg(augmentation=residual, seed=seed).fit(runs)
                error = normalized_mse(model.predict(fresh.states), truth)
                rows.append(
                    {
                        "system": name,
                        "seed": seed,
                        "residual": label,
                        "error": float(f"{error:.4g}"),
                    }
                )
    return {"rows": rows}


def residuals_table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the table as Markdown."""
    table = [["", *_SYSTEMS], ["---"] * (len(_SYSTEMS) + 1)]
    for label in _RESIDUALS:
        errors = [
            np.mean([r["error"] for r in rows if (r["residual"], r["system"]) == (label, name)])
            for name in _SYSTEMS
        ]
        table.append([label, *(f"{error:.2g}" for error in errors)])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in table)
