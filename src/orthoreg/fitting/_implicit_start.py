"""First values of the constants of equations with a mass matrix, from their unsolved form."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from ..data import Rows, thinned
from ..libraries import FeatureMap
from ..physics import Implicit
from . import _limits as limits


def implicit_starts(
    systems: Sequence[Implicit], rows: Rows, bounds: Mapping[str, tuple[float, float]]
) -> dict[str, float]:
    """The constants with which the equations, as they were written, hold best on these rows.

    A derivative within a row is the row's target: in a window of the weak form its mean, so that
    the product with a factor that changes is right for narrow windows only. Good to begin with.
    """
    found: dict[str, float] = {}
    for system in systems:
        found |= _start(system, rows, bounds)
    return found


def _start(
    system: Implicit, rows: Rows, bounds: Mapping[str, tuple[float, float]]
) -> dict[str, float]:
    from scipy.optimize import least_squares

    names, chosen = list(system.constants), thinned(rows, limits.MAX_ROWS_PARAMETERS)
    summands = system.summands()
    count = len(system.equations)
    terms = tuple(dict.fromkeys(one.part.term for one in summands))
    inner = tuple(sorted(system.inner))
    features = FeatureMap(rows.names, terms, ((True,) * len(terms),), inner)
    rates = [None if one.rate is None else rows.targets[chosen, one.rate] for one in summands]

    def errors(values: Float[np.ndarray, " q"]) -> Float[np.ndarray, "e M"]:
        named = dict(zip(names, values.tolist(), strict=True))
        with np.errstate(all="ignore"):
            phi = rows.evaluate(features.with_values([named[name] for name in inner]), chosen)
            left = np.zeros((count, len(chosen)))
            for one, rate in zip(summands, rates, strict=True):
                factor = one.part.number
                for name, exponent in one.part.powers:
                    factor *= named[name] ** exponent
                value = phi[:, terms.index(one.part.term)]
                left[one.equation] += factor * (value if rate is None else value * rate)
        return np.nan_to_num(left, nan=1e6, posinf=1e6, neginf=-1e6)

    low, high = np.array([bounds.get(name, (-np.inf, np.inf)) for name in names]).reshape(-1, 2).T
    values = np.clip(np.ones(len(names)), low, high)
    sizes = np.ones(count)
    for _ in range(limits.IMPLICIT_ROUNDS if names else 0):
        tried = least_squares(
            lambda p, sizes=sizes: (errors(p) / sizes[:, None]).ravel(), values,
            bounds=(low, high), x_scale="jac", max_nfev=50,
        )  # fmt: skip
        values = tried.x
        sizes = np.maximum(np.sqrt(np.mean(errors(values) ** 2, axis=1)), 1e-300)
    return dict(zip(names, values.tolist(), strict=True))
