"""Inner and outer parts of the observed states: where terms are fitted, and where they are tried.

Every rule is free of units and of the order of the rows: distances are counted in standard
deviations, and runs are told apart by how far out they go.
"""

import numpy as np
from jaxtyping import Float, Int

from ..data import Samples
from ..moments import Division

MOST_GROUPS = 50
_MOST_AXES = 6  # half-spaces along more states than these would hold too few rows each
_FEWEST_RUNS = 8
_FLAT = 1e-8  # a direction with less of the largest variance has no extent


def distances(variables: Float[np.ndarray, "N V"]) -> Float[np.ndarray, " N"]:
    """How far out each row is: the Mahalanobis distance from the mean."""
    z = standardized(variables)
    if not z.shape[1]:
        return np.zeros(len(z))
    values, vectors = np.linalg.eigh(z.T @ z / len(z))
    wide = values > _FLAT * values[-1]
    return np.sqrt((((z @ vectors[:, wide]) / np.sqrt(values[wide])) ** 2).sum(axis=1))


def standardized(variables: Float[np.ndarray, "N V"]) -> Float[np.ndarray, "N _"]:
    """The variables that vary, less their mean, over their standard deviation."""
    moving = variables[:, np.ptp(variables, axis=0) > 0]
    return (moving - moving.mean(axis=0)) / moving.std(axis=0)


def groups(samples: Samples, distance: Float[np.ndarray, " N"]) -> Int[np.ndarray, " N"]:
    """A group for each row, at most 50: runs dealt out from the nearest to the furthest.

    Where there are few runs, stretches of them; rows without times, dealt out like runs.
    """
    run = samples.run_of_row
    n_runs = int(run.max()) + 1
    if n_runs >= _FEWEST_RUNS:
        return (_rank(_mean_by_run(distance, run)) % min(MOST_GROUPS, n_runs))[run]
    if samples.times is None:
        return _rank(distance) % min(MOST_GROUPS, len(run))
    each = max(min(MOST_GROUPS, len(run)) // n_runs, 1)
    length = np.bincount(run)
    return run * each + _place_in_run(run) * each // length[run]


def extrapolations(samples: Samples, inner: float, reach: float, caution: float) -> Division:
    """Partitions in which the share `inner` of the rows is inner.

    A shell (the rows furthest from the mean are outer), half-spaces (the rows highest, or lowest,
    in one variable), the runs that go furthest, and the last part of every run.
    """
    variables, run = samples.variables, samples.run_of_row
    distance, z = distances(variables), standardized(variables)
    outer = {"shell": distance > np.quantile(distance, inner)}
    for axis in range(min(z.shape[1], _MOST_AXES)):
        outer[f"above {axis}"] = z[:, axis] > np.quantile(z[:, axis], inner)
        outer[f"below {axis}"] = z[:, axis] < np.quantile(z[:, axis], 1 - inner)
    if run.max() + 1 >= _FEWEST_RUNS:
        of_run = _mean_by_run(distance, run)
        outer["runs"] = (of_run > np.quantile(of_run, inner))[run]
    if samples.times is not None:
        outer["tail"] = _place_in_run(run) >= inner * np.bincount(run)[run]
    mean = variables.mean(axis=0)
    return Division(
        groups(samples, distance),
        np.column_stack(list(outer.values())),
        tuple(outer),
        mean + reach * (variables - mean),
        caution,
    )


def grouping(samples: Samples) -> Division:
    """Groups alone."""
    nothing = np.zeros((len(samples.targets), 0), dtype=bool)
    return Division(groups(samples, distances(samples.variables)), nothing, ())


def _rank(values: Float[np.ndarray, " R"]) -> Int[np.ndarray, " R"]:
    return np.argsort(np.argsort(values, kind="stable"))


def _mean_by_run(
    values: Float[np.ndarray, " N"], run: Int[np.ndarray, " N"]
) -> Float[np.ndarray, " R"]:
    return np.bincount(run, values) / np.maximum(np.bincount(run), 1)


def _place_in_run(run: Int[np.ndarray, " N"]) -> Int[np.ndarray, " N"]:
    """0, 1, 2, ... within each run; runs follow each other."""
    length = np.bincount(run)
    return np.arange(len(run)) - (np.cumsum(length) - length)[run]
