"""Columns that are sums of other columns, such as a copy or a total, and the terms they repeat."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from ..data import Dataset
from ..diagnostics import dependence_text
from ..physics import Knowledge
from ..solving import independent_terms
from ..terms import FeatureMap, variables_of


@final
@dataclass(frozen=True)
class DependentTerms:
    """Names of terms that other terms repeat, and the relations between these terms as text."""

    names: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()


def dependent_terms(features: FeatureMap, known: Knowledge, data: Dataset) -> DependentTerms:
    """Return the terms that are sums of other terms, because columns are sums of other columns.

    The recorded values decide, because smoothing each column separately hides such relations.
    Differences between smoothed columns would otherwise get large coefficients that cancel. Terms
    that are required or given remain.
    """
    values = data.variables
    values = values[np.isfinite(values).all(axis=1)]
    if features.parameters or values.shape != (len(values), len(features.variables)):
        return DependentTerms()  # estimated delays and constants inside terms have no values yet
    if len(values) <= len(features.terms):
        return DependentTerms()
    moved = values - values.mean(axis=0)
    varies = np.greater(values.max(axis=0), values.min(axis=0))
    size = np.where(varies, moved.std(axis=0), 1.0)
    _, dependences = independent_terms(_moments(moved / size))
    repeated = {dependence.term for dependence in dependences if varies[dependence.term]}
    if not repeated:
        return DependentTerms()
    columns = features(values)
    usable = np.flatnonzero(np.isfinite(columns).all(axis=0))
    shown = tuple(features.names[k] for k in usable)
    needed = np.any(known.with_support(np.zeros_like(features.mask)), axis=0)
    names, relations = list[str](), list[str]()
    for dependence in independent_terms(_moments(columns[:, usable]))[1]:
        term = int(usable[dependence.term])
        if not needed[term] and variables_of(features.terms[term]) & repeated:
            names.append(features.names[term])
            relations.append(dependence_text(dependence, shown, np.ones(len(usable))))
    return DependentTerms(tuple(names), tuple(relations))


def _moments(columns: Float[np.ndarray, "N K"]) -> Float[np.ndarray, "K K"]:
    return columns.T @ columns / len(columns)
