"""The compared methods by name, with the settings of the paper if it states them."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from orthoreg import (
    PINN,
    STLSQ,
    Adam,
    Exact,
    InputError,
    OrthoReg,
    RandomFeatures,
    UniversalODE,
    fit_together,
    presets,
    tune,
)  # fmt: skip
from orthoreg.model.model import AbstractModel

from ._settings import Problem, Scale

KNOWN = {"theta": "omega", "omega": "-sin(theta) - 0.2*omega"}
"""The known equations of the pendulum that the PINN uses."""

_SPARSITY, _ORTHOGONALITY = 0.003, 0.005
_WIDTH, _RIDGE = 200, 1e-7
_LAMBDAS = (*np.logspace(-3, 3, 12), math.inf)
_GRADIENT = ("pure@", "l2", "orthoreg", "pinn", "universal-ode")


def fitted(names: Sequence[str], problem: Problem, scale: Scale, seed: int) -> dict[str, Any]:
    """Return a fitted model for each name, from training rows only. Methods that train by gradients
    use the subset `few`, and models of the same kind are trained in one batch. The other methods
    use the moments of all rows."""
    models: dict[str, AbstractModel] = {}
    for kind in _GRADIENT:
        chosen = [name for name in names if name.startswith(kind)]
        group = [_unfitted(name, problem, scale, seed) for name in chosen]
        if group:
            models |= dict(zip(chosen, fit_together(group, problem.few.dataset), strict=True))
    for name in names:
        if name == "stlsq":
            models[name] = STLSQ().fit(problem.training.dataset)
        elif name == "projection":
            model = _exact(seed).set_params(orthogonality=math.inf)
            models[name] = model.fit(problem.training.dataset)
        elif name == "validated":
            models[name] = tune(
                _exact(seed),
                problem.training.dataset,
                orthogonalities=_LAMBDAS,
                sparsities=tuple(np.logspace(-5, -0.5, 16)),
            ).model
        elif name == "recommended":
            models[name] = presets.recommended(seed).fit(problem.runs)
        elif name not in models:
            raise InputError(f"There is no method '{name}'.")
    return {name: models[name] for name in names}


def _exact(seed: int) -> OrthoReg:
    """Return the exact minimum of the paper's objective for random features."""
    return presets.paper_orthoreg(_ORTHOGONALITY, _SPARSITY, seed).set_params(
        augmentation=RandomFeatures(_WIDTH, _RIDGE, weight_scale=1.0, univariate_fraction=0.0),
        solver=Exact(),
    )


def _unfitted(name: str, problem: Problem, scale: Scale, seed: int) -> Any:
    solver = Adam(epochs=scale.epochs)
    kind, _, value = name.partition("@")
    if kind == "pure":
        return presets.paper_pure(float(value), seed).set_params(solver=solver)
    if kind == "l2":
        return presets.paper_l2(seed=seed).set_params(solver=solver)
    if kind == "orthoreg":
        lam = float(value.removeprefix("lam=")) if value else _ORTHOGONALITY
        return presets.paper_orthoreg(lam, _SPARSITY, seed).set_params(solver=solver)
    if kind == "pinn":
        return PINN(KNOWN, solver=solver, seed=seed)
    return UniversalODE(solver=solver, seed=seed)
