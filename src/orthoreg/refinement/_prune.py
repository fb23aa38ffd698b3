"""Refinement without the terms that trajectories do not need."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from .._field import HybridField
from ..data import Dataset
from ..physics import Knowledge
from ._problem import TRIFLE
from ._refine import refine
from ._result import Refinement

_ROUNDS = 6


def refine_and_prune(
    field: HybridField,
    data: Dataset,
    *,
    interpolation: Mapping[str, str] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    knowledge: Knowledge | None = None,
    noise: Float[np.ndarray, " n"] | None = None,
) -> Refinement:
    """The field refined; a term whose coefficient is less than sqrt(log N) standard errors from
    zero is left out, the weakest first, and the others are refined again. Noise below what is
    rounded away counts as that.

    That is what the Bayesian information criterion asks for one term more, N being the number of
    measured values. An equation keeps its last term, and those that are known to be there; those
    that a relation ties to the term leave with it.
    """
    known = knowledge or Knowledge.none(field.features.mask.shape)
    measured = data.is_measured
    least = np.sqrt(np.log(data.n_samples * measured.sum()))
    trifle = TRIFLE * data.states.std(axis=0)[measured]

    def refined(field: HybridField) -> Refinement:
        return refine(
            field, data, interpolation=interpolation, bounds=bounds, knowledge=knowledge,
            noise=noise,
        )  # fmt: skip

    found = refined(field)
    for _ in range(_ROUNDS):
        if not found.kept:
            break
        assert found.noise is not None
        # as if the noise were no less than what is rounded away
        coarser = float(np.max(trifle / found.noise[measured], initial=1.0))
        weakest = _weakest(found, least * coarser, known)
        if weakest is None:
            break
        coefficients = np.array(found.field.coefficients)
        coefficients[known.tied_to(weakest, coefficients != 0)] = 0.0
        again = refined(replace(found.field, coefficients=coefficients))
        if not again.kept:
            break
        found = again
    return found


def _weakest(found: Refinement, least: float, known: Knowledge) -> tuple[int, int] | None:
    """The term that is nearest to zero, if it is nearer than `least` standard errors."""
    assert found.values is not None and found.standard_errors is not None
    count = len(found.places)
    ratio = np.abs(found.values[:count]) / np.maximum(found.standard_errors[:count], 1e-300)
    equations = np.array([equation for equation, _ in found.places], dtype=int)
    used = (np.asarray(found.field.coefficients) != 0).sum(axis=1)
    ratio[used[equations] < 2 if count else []] = np.inf
    ratio[[bool(known.required[place]) for place in found.places]] = np.inf
    if not count or ratio.min() >= least:
        return None
    return found.places[int(ratio.argmin())]
