"""What is known beside the data, as the search for one equation respects it."""

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from ...physics import Knowledge
from ...terms import Expression, FeatureMap
from ._candidates import Candidate
from ._limits import BOUND_SLACK
from ._measurements import Measurements


@final
@dataclass(frozen=True, eq=False)
class Limits:
    """Bounds of the coefficients of terms, terms that every candidate has, and the rows, at whose
    further points it must be defined."""

    bounds: dict[Expression, tuple[float, float]]
    required: frozenset[Expression]
    rows: Measurements

    def allow(self, found: Candidate) -> bool:
        """Whether a candidate has what is required, no coefficient clearly beyond a bound, and a
        value wherever it must."""
        if not self.required <= set(found.terms) or not self.rows.are_defined(found.values):
            return False
        errors = found.standard_errors()
        for term, w, error in zip(found.terms, found.fit.coefficients, errors, strict=False):
            low, high = self.bounds.get(term, (-np.inf, np.inf))
            slack = BOUND_SLACK * float(np.nan_to_num(error))
            if not low - slack <= w <= high + slack:
                return False
        return True


def limits_of(
    features: FeatureMap, knowledge: Knowledge, output: int, rows: Measurements
) -> Limits:
    """What is known of one equation's coefficients, and where its data are."""
    open_ = ~knowledge.given[output]
    return Limits(
        {
            features.terms[k]: (float(knowledge.low[output, k]), float(knowledge.high[output, k]))
            for k in np.flatnonzero(open_)
        },
        frozenset(features.terms[k] for k in np.flatnonzero(knowledge.required[output] & open_)),
        rows,
    )


def without_given(
    rows: Measurements, features: FeatureMap, knowledge: Knowledge, output: int
) -> Measurements:
    """The rows with the terms of an equation subtracted whose coefficients are known."""
    w = np.where(knowledge.given[output], knowledge.low[output], 0.0)
    if not w.any():
        return rows
    used = np.flatnonzero(w).tolist()
    values = features.only(used)(rows.points) @ w[used]
    targets = rows.targets.copy()
    targets[:, output] -= rows.at_rows(values[:, None])[:, 0]
    slopes = None if rows.slopes is None else rows.slopes.copy()
    if slopes is not None:
        slopes[:, output] -= values
    return replace(rows, targets=targets, slopes=slopes)
