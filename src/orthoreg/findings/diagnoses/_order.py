"""Second order: a state's rate is no function of the columns, but its second derivative is."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ...data import folds
from ...terms import AbstractLibrary
from .. import _limits as limits
from .._held_out import held_out_errors
from .._neighbours import Determination
from .._observations import Observations
from .._summary import Advice
from .._words import listed, rates
from ._order_trial import forecasts_better


def second_order(
    seen: Observations,
    library: AbstractLibrary,
    failing: Sequence[int],
    first: Determination | None,
) -> tuple[Advice | None, list[int]]:
    """Advice, and the states it is about: those among `failing` whose rate the columns leave free
    (`first`), while columns and rates together determine the second derivative.

    That a function exists is seen from neighbours, or from the library's terms on held-out rows.
    Where the rows have no neighbours, as in many columns, the library alone decides both, and what
    it explains of the second derivative must be more. The advice is tried before it is given: the
    equations of second order must forecast segments of the runs better than those of first order.
    """
    if seen.curvature is None or not failing:
        return None, []
    known = first is not None and first.enough
    rate_share = first.share if first is not None and known else _rate_share(seen, library)
    velocities = seen.samples.given.values()  # of which there is a second order already
    free = [c for c in failing if rate_share[c] > limits.FREE_RATE_SHARE and c not in velocities]
    if not free:
        return None, []
    share = _curvature_share(seen, library)
    second = seen.second_order()
    if second is not None and second.enough:
        share = np.fmin(share, second.share)
    most = limits.DETERMINED_SHARE if known else limits.DETERMINED_SHARE_LIBRARY
    found = [c for c in free if share[c] < most]
    if not found or not forecasts_better(seen, library, found, _rate_names(seen)):
        return None, []
    states = [seen.labels[c] for c in found]
    one = len(found) == 1
    explained = 100 * (1 - float(np.max(share[found])))
    return Advice(
        "second-order",
        f"{rates(states)} {'is' if one else 'are'} no function of the columns given, "
        f"but columns and rates together explain {explained:.0f}% of the second derivative of "
        f"{listed(states)}: in these columns the system is of second order. Give {listed(states)} "
        f"as {'a position, whose velocity' if one else 'positions, whose velocities'} need not be "
        f"measured: --positions {','.join(states)} on the command line, Dataset.from_positions or "
        f"read_table(positions={states}) in Python.",
    ), found


def _rate_share(seen: Observations, library: AbstractLibrary) -> Float[np.ndarray, " c"]:
    """The share of each rate that the library does not explain on held-out rows, less noise."""
    samples = seen.samples
    return _share(library, seen, samples.names, samples.variables, samples.targets, seen.noise)


def _curvature_share(seen: Observations, library: AbstractLibrary) -> Float[np.ndarray, " c"]:
    """The same of each second derivative, for the library in columns and rates."""
    samples = seen.samples
    assert seen.curvature is not None and seen.curvature_noise is not None
    names = samples.names + _rate_names(seen)
    points = np.hstack([samples.variables, samples.targets])
    return _share(library, seen, names, points, seen.curvature, seen.curvature_noise)


def _rate_names(seen: Observations) -> tuple[str, ...]:
    """Return names of the rates that no column has."""
    samples, mark = seen.samples, "_dot"
    while any(f"{name}{mark}" in samples.names for name in samples.outputs):
        mark += "_"
    return tuple(f"{name}{mark}" for name in samples.outputs)


def _share(
    library: AbstractLibrary,
    seen: Observations,
    names: tuple[str, ...],
    points: Float[np.ndarray, "N V"],
    targets: Float[np.ndarray, "N c"],
    noise: Float[np.ndarray, " c"],
) -> Float[np.ndarray, " c"]:
    """NaN where there are too few rows for the library's terms, or these are not finite."""
    unknown = np.full(targets.shape[1], np.nan)
    if len(targets) < limits.MIN_ROWS_PER_TERM * len(library.terms(names)):
        return unknown
    terms = seen.bind(library, names, seen.samples.outputs, seen.samples.given)(points)
    if not np.isfinite(terms).all():
        return unknown
    size = np.mean(targets**2, axis=0)
    error = held_out_errors(terms, targets, folds(seen.samples, limits.FOLDS)) ** 2 * size
    variance = np.maximum(targets.var(axis=0), 1e-300)
    return np.maximum(error - limits.NOISE_MARGIN**2 * noise, 0.0) / variance
