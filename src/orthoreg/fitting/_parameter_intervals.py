"""How well rows determine the parameters inside terms."""

import numpy as np

from .._typing import Mask
from ..data import AnyRows, folds
from ..libraries import FeatureMap
from ..physics import Knowledge
from ._parameters import Projection

_GROUPS = 20  # of runs, or stretches of them, whose scores are compared
_NUDGE = 1e-5  # of a parameter, by which slopes are measured
_LEVEL = 0.975


def parameter_intervals(
    features: FeatureMap, rows: AnyRows, support: Mask, known: Knowledge
) -> dict[str, tuple[float, float]]:
    """The 95 % interval of each parameter that the terms of `support` use.

    With e(p) what least squares leaves and J its slope: (J'J)^-1 (sum_g s_g s_g') (J'J)^-1, with
    the scores s_g = J_g'e_g of groups of runs, since neighbouring rows err alike.
    """
    projection = Projection(features, rows, support, known)
    names = [name for name in features.parameters if name in projection.used]
    groups = folds(projection.rows, min(_GROUPS, len(projection.rows)))
    if not names or len(np.unique(groups)) < 3:
        return {}
    values = np.array(features.values)
    left = projection(values)
    slopes = []
    for name in names:
        step = np.zeros(len(values))
        place = features.parameters.index(name)
        step[place] = _NUDGE * max(abs(values[place]), 1e-300)
        ahead, behind = projection(values + step), projection(values - step)
        slopes.append((ahead - behind) / (2 * step[place]))
    J = np.stack(slopes, axis=1)
    group_of = np.tile(groups, len(left) // len(groups))
    scores = np.stack([J[group_of == g].T @ left[group_of == g] for g in np.unique(groups)])
    count = len(scores)
    inverse = np.linalg.pinv(J.T @ J, hermitian=True)
    covariance = inverse @ (scores.T @ scores) @ inverse * count / (count - 1)
    return _ends(names, values, features, np.sqrt(np.diag(covariance)), count)


def _ends(
    names: list[str], values: np.ndarray, features: FeatureMap, error: np.ndarray, count: int
) -> dict[str, tuple[float, float]]:
    from scipy.special import stdtrit

    reach = float(stdtrit(count - 1.0, _LEVEL)) * error
    middle = [float(values[features.parameters.index(name)]) for name in names]
    return {
        name: (value - float(half), value + float(half))
        for name, value, half in zip(names, middle, reach, strict=True)
    }
