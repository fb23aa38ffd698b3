"""Second order: a state's rate is no function of the columns, but its second derivative is."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ...data import folds
from ...libraries import AbstractLibrary, bind
from .._held_out import held_out_errors
from .._neighbours import Determination
from .._observations import FOLDS, Observations
from .._summary import Advice
from .._thresholds import DETERMINED, FREE, NOISE_MARGIN, ROWS_PER_TERM
from .._words import listed, rates


def second_order(
    seen: Observations,
    library: AbstractLibrary,
    failing: Sequence[int],
    first: Determination | None,
) -> tuple[Advice | None, list[int]]:
    """Advice, and the states it is about: those among `failing` whose rate the columns leave free
    (`first`), while columns and rates together determine the second derivative.

    That a function of columns and rates exists is seen from neighbours, or from the library's
    terms in both, on held-out rows.
    """
    if first is None or not first.enough:
        return None, []
    free = [c for c in failing if first.share[c] > FREE]
    if not free or seen.curvature is None:
        return None, []
    share = _library_share(seen, library)
    second = seen.second_order()
    if second is not None and second.enough:
        share = np.fmin(share, second.share)
    found = [c for c in free if share[c] < DETERMINED]
    if not found:
        return None, []
    states = [seen.samples.outputs[c] for c in found]
    explained = 100 * (1 - float(np.max(share[found])))
    return Advice(
        "second-order",
        f"{rates(states)} {'is' if len(found) == 1 else 'are'} no function of the columns given, "
        f"but columns and rates together explain {explained:.0f} % of the second derivative of "
        f"{listed(states)}: in these columns the system is of second order. Give the velocity as a "
        f"state too: add a column with the derivative of {listed(states)}.",
    ), found


def _library_share(seen: Observations, library: AbstractLibrary) -> Float[np.ndarray, " c"]:
    """The share of each second derivative that the library in columns and rates does not explain
    on held-out rows, less noise; NaN where there are too few rows for its terms."""
    samples, targets, noise = seen.samples, seen.curvature, seen.curvature_noise
    assert targets is not None and noise is not None
    mark = "_dot"
    while any(f"{name}{mark}" in samples.names for name in samples.outputs):
        mark += "_"
    names = samples.names + tuple(f"{name}{mark}" for name in samples.outputs)
    unknown = np.full(targets.shape[1], np.nan)
    if len(samples.targets) < ROWS_PER_TERM * len(library.terms(names)):
        return unknown
    features = bind(library, names, samples.outputs)
    terms = features(np.hstack([samples.variables, samples.targets]))
    if not np.isfinite(terms).all():
        return unknown
    size = np.mean(targets**2, axis=0)
    error = held_out_errors(terms, targets, folds(samples, FOLDS)) ** 2 * size
    variance = np.maximum(targets.var(axis=0), 1e-300)
    return np.maximum(error - NOISE_MARGIN**2 * noise, 0.0) / variance
