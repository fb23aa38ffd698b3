"""Scores of a fitted model on the test splits."""

import math
from typing import Any

import numpy as np

from orthoreg.diagnostics import (
    normalized_mse,
    residual_cosine,
    rollout_scores,
    support_scores,
    symbolic_share,
)
from orthoreg.systems import AbstractSystem, Split

from ._settings import Problem, Rows, Test

THRESHOLDS = (0.001, 0.045)
_TOLERANCE = 1e-6  # tolerance of simulations, far below the measured errors
Scores = dict[str, float | None]


def evaluated(model: Any, problem: Problem) -> Scores:
    """Return every metric of a model by name, or None if it is not defined."""
    scores: Scores = {}
    for split, test in problem.tests.items():
        predicted = model.predict(test.data.states)
        scores[f"derivative.{split}"] = normalized_mse(predicted, test.truth)
        scores |= _rollouts(model, split, test)
    test = problem.tests[Split.t3]
    adapted = _adapted(model, problem.adapting).predict(test.data.states)
    scores["derivative.t3-adapted"] = normalized_mse(adapted, test.truth)
    return scores | _support(model, problem.system) | _parts(model, problem.few)


def _rollouts(model: Any, split: Split, test: Test) -> Scores:
    """Return errors of completed forecasts from the true initial states, and the number of diverged
    forecasts."""
    rollouts = model.simulate(test.starts, test.times, rtol=_TOLERANCE).runs()
    scores = rollout_scores(rollouts, [run.states for run in test.data])
    return {
        f"rollout.{split}": scores.normalized_mse,
        f"diverged.{split}": len(rollouts) - scores.n_completed,
        f"rollouts.{split}": len(rollouts),
    }


def _adapted(model: Any, rows: Rows) -> Any:
    """Return the model with coefficients refitted to these rows, or unchanged if it has no
    terms."""
    return model.adapt(rows.dataset) if model.coefficients_.any() else model


def _support(model: Any, system: AbstractSystem) -> Scores:
    """Return F1, precision, recall and number of terms at both thresholds."""
    truth = np.array(
        [
            [term in system.true_support[state] for term in model.feature_names_]
            for state in system.state_names
        ]
    )
    scores: Scores = {}
    for threshold in THRESHOLDS:
        values: tuple[float | None, ...] = (None,) * 4
        if truth.size:
            support = support_scores(np.asarray(model.coefficients_), truth, threshold)
            values = (support.f1, support.precision, support.recall, support.n_terms)
        names = ("f1", "precision", "recall", "terms")
        scores |= {
            f"{name}@{threshold:g}": value for name, value in zip(names, values, strict=True)
        }
    return scores


def _parts(model: Any, rows: Rows) -> Scores:
    """Return the fractions of both parts on the training rows, and the strengths."""
    symbolic, neural = model.decompose(rows.states)
    cosine = residual_cosine(symbolic, neural)
    certificate = model.certificate_
    return {
        "overlap": max(equation.overlap for equation in certificate.equations),
        "cosine": cosine if math.isfinite(cosine) else None,
        "symbolic_share": symbolic_share(symbolic, neural),
        "lambda": certificate.orthogonality,
        "mu": certificate.sparsity,
    }
