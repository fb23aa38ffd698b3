"""Minima of the objective at the strengths of the paper and at larger strengths."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import orthoreg as og
from orthoreg.diagnostics import effective_threshold, relative_error
from orthoreg.systems import Pendulum, Split, generate, true_derivatives

from .pendulum import SUBSET, subset

_LAMBDAS = (0.005, 1.0, 10.0, 100.0, math.inf)
_MU = 0.003


def measure() -> dict[str, Any]:
    """Fit the network of the paper by Adam, and random features exactly, to the same samples.

    Errors are relative to the true field on validation runs.
    """
    x, y = subset()
    fresh = generate(Pendulum(), Split.validation)
    truth = true_derivatives(Pendulum(), Split.validation, fresh)
    adam = og.fit_together([og.presets.paper_orthoreg(lam, _MU) for lam in _LAMBDAS], x, y)
    exact = [
        og.presets.paper_orthoreg(lam, _MU)
        .set_params(augmentation=og.RandomFeatures(400, ridge=1e-7), solver=og.Exact())
        .fit(x, y)
        for lam in _LAMBDAS
    ]
    rows = [
        {"solver": name, **_row(model, fresh, truth)}
        for name, models in (("exact", exact), ("adam", adam))
        for model in models
    ]
    return {"samples": SUBSET, "sparsity": _MU, "rows": rows}


def _row(model: og.OrthoReg, fresh: og.Dataset, truth: np.ndarray) -> dict[str, Any]:
    symbolic, neural = model.decompose(fresh.states)
    energy = float(np.sum(symbolic**2)), float(np.sum(neural**2))
    lam = float(model.orthogonality)
    return {
        "orthogonality": lam if math.isfinite(lam) else "inf",
        "threshold": effective_threshold(_MU, lam),
        "overlap": max(equation.overlap for equation in model.certificate_.equations),
        "symbolic_share": energy[0] / (energy[0] + energy[1]),
        "symbolic_error": relative_error(symbolic, truth),
        "error": relative_error(symbolic + neural, truth),
        "terms": int((np.abs(model.coefficients_) > 1e-3).sum()),
    }


def strengths_table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the table as Markdown."""
    names = {"exact": "random features, exact", "adam": "128 x 3 network, Adam"}
    lines = [
        f"| {names[row['solver']]} | {row['orthogonality']} | {row['threshold']:.2g} | "
        f"{row['overlap']:.1e} | {100 * row['symbolic_share']:.0f}% | "
        f"{row['symbolic_error']:.2g} | {row['error']:.2g} | {row['terms']} |"
        for row in rows
    ]
    head = (
        "| residual | lam | threshold | overlap | energy in the equations | error of the "
        "equations alone | error of both | terms |\n|---|---|---|---|---|---|---|---|\n"
    )
    return head + "\n".join(lines) + "\n"
