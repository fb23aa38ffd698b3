"""The whole grid of strengths: 50 x 50 pairs from one set of moments."""

import math
import time
from typing import Any

import numpy as np

import orthoreg as og
from orthoreg._validation import training_rows
from orthoreg.fitting import prepare
from orthoreg.moments import gather
from orthoreg.solvers import exact_path

from .pendulum import samples

_GRID, _WIDTH, _RIDGE = 50, 400, 1e-7


def measure() -> dict[str, Any]:
    """Seconds for the moments of all training samples, and for all pairs after that."""
    x, y = samples()
    model = og.OrthoReg(augmentation=og.RandomFeatures(_WIDTH, ridge=_RIDGE), solver=og.Exact())
    model.fit(x[:1000], y[:1000])
    start = time.perf_counter()
    recipe = model.recipe()
    rows, _ = training_rows(model, recipe.loss, x, y, None, None)
    features = prepare(recipe, rows).features
    (moments,) = gather(features, model.field_.basis, rows)
    gathered = time.perf_counter()
    lams = (*np.logspace(-4, 4, _GRID - 1), math.inf)
    mus = tuple(np.logspace(-5, 0, _GRID))
    w = exact_path(moments, features.mask, lams, mus, ridge=_RIDGE)
    solved = time.perf_counter()
    return {
        "samples": len(x),
        "features": _WIDTH,
        "pairs": len(lams) * len(mus),
        "moment_seconds": gathered - start,
        "path_seconds": solved - gathered,
        "fewest_terms": int((w != 0).sum((2, 3)).min()),
        "most_terms": int((w != 0).sum((2, 3)).max()),
    }


def render(record: dict[str, Any]) -> str:
    return (
        "## The path\n\n"
        f"All {record['pairs']} pairs of 50 lam and 50 mu on the pendulum, {record['samples']} "
        f"samples, {record['features']} random features.\n\n"
        "| | |\n|---|---|\n"
        f"| moments | {record['moment_seconds']:.2f} s |\n"
        f"| all pairs after that | {record['path_seconds']:.2f} s |\n"
        f"| terms in the solutions | {record['fewest_terms']} to {record['most_terms']} |\n"
    )
