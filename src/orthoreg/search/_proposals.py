"""A quadratic approximation of the sum of squares in all candidate coefficients, and a search for
the sets of terms with the best scores.
"""

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Bool, Float, Int

from ..data import Dataset
from ..matching import _limits as limits
from ..matching._noise import min_misfit
from ..matching._problem import Problem, eliminate_starts, normal_equations
from ..matching._segments import RunSegments, Trajectories, input_nodes
from ..matching._sensitivities import linearized
from ..terms import parameters_of

TermMask = Bool[np.ndarray, " P"]


@final
class Quadratic(NamedTuple):
    """RSS(p) = square - 2 g'(p - center) + (p - center)'H(p - center), for `rows` values in noise
    variances.

    The variables p are the free parameters. The `n_starts` initial values of all segments are
    eliminated. Differences of RSS below `min_rss` are rounding errors and are ignored.

    `users[i, j]` states that parameter i occurs only in terms, and that j is the coefficient of
    such a term. Without any of these terms, parameter i keeps its value.
    """

    H: np.ndarray
    g: np.ndarray
    square: float
    rows: float
    n_starts: int
    center: np.ndarray | float = 0.0
    min_rss: float = 0.0
    users: Bool[np.ndarray, "P P"] | None = None

    def idle(self, support: TermMask) -> TermMask:
        """Return a mask of the parameters that occur in no term of a set."""
        if self.users is None:
            return np.zeros(len(support), dtype=bool)
        has_user = np.asarray(self.users[:, support].any(axis=1))
        return self.users.any(axis=1) & ~has_user

    def without_given(self, w: Float[np.ndarray, " K"]) -> "Quadratic":
        """Return the same function of the differences from the coefficients w."""
        return self._replace(center=self.center - w)

    def temperature(self) -> float:
        """Return the residual variance with all candidates, in noise variances, at least 1.

        Scores are divided by this value, so that the residual of a missing term does not make other
        terms significant.
        """
        H, g = self.H, self.g
        scale = np.sqrt(np.maximum(np.diag(H), 1e-300))
        values, axes = np.linalg.eigh(H / np.outer(scale, scale))
        usable = values > limits.USABLE_EIGENVALUE * max(float(values.max(initial=0.0)), 1e-300)
        explained = float(((axes[:, usable].T @ (g / scale)) ** 2 / values[usable]).sum())
        n_free = max(self.rows - self.n_starts - usable.sum(), 1.0)
        return max(1.0, max(self.square - explained, 0.0) / n_free)


def linearize(
    problem: Problem,
    states: Float[np.ndarray, "T n B"],
    segments: RunSegments,
    substeps: int,
    sigma: Float[np.ndarray, " n"],
) -> Quadratic | None:
    """Return the Gauss-Newton model of the sum of squares at a problem's initial constants.

    Return None if the field cannot be evaluated along these states.

    The states need not be a trajectory of the field: gaps between steps are closed to first order.
    For a zero field, the result is the integral form x(t) = x(t_0) + int theta(x) w of each
    equation. Candidates with coefficient zero are included.
    """
    p = problem.initial_constants
    nodes = input_nodes(problem.data, problem.inputs, segments, substeps)
    field = problem.field_at(p)
    with np.errstate(all="ignore"):
        near, by = linearized(field, len(p), states, segments, nodes, substeps)
    is_valid = np.isfinite(near).all(axis=(0, 1)) & np.isfinite(by).all(axis=(1, 2, 3))
    is_valid = np.asarray(is_valid)
    if not is_valid.any():
        return None
    std, clipped = problem.likelihood_std(sigma, segments), problem.clipped(segments)
    with np.errstate(all="ignore"):  # sums of large numbers may overflow
        normal = normal_equations(
            Trajectories(near, is_valid), by, problem.measured_states(segments),
            segments.weight * is_valid, std, clipped=clipped,
        )  # fmt: skip
    try:
        H, scores, solved = eliminate_starts(normal, np.zeros(len(p)))
    except np.linalg.LinAlgError:
        return None
    gradient = scores.sum(axis=(0, 1))
    if not (np.isfinite(H).all() and np.isfinite(gradient).all()):
        return None
    s_scores = normal.s_scores.sum(axis=1)
    # initial values are optimal for these constants
    gain = float((solved[:, :, len(p) :].sum(axis=2) * s_scores).sum())
    square = 2 * float(normal.costs[is_valid].sum()) - gain
    n_measured = int(np.isfinite(sigma).sum())
    rows = float(segments.weight[:, is_valid].sum()) * n_measured
    n_starts = int(is_valid.sum()) * len(sigma)
    return Quadratic(
        H, gradient, max(square, 0.0), rows, n_starts, p, users=_users_of_parameters(problem)
    )


def _users_of_parameters(problem: Problem) -> Bool[np.ndarray, "P P"] | None:
    """Return a mask of the coefficients of the terms in which each inner parameter occurs.

    It is empty for parameters that also occur in terms without a free coefficient.
    """
    constants, features = problem.constants, problem.field.features
    if not len(constants.inner):
        return None
    users = np.zeros((constants.size, constants.size), dtype=bool)
    lead = constants.lead
    fixed = np.asarray(problem.field.coefficients) != 0
    fixed[constants.rows[lead], constants.columns[lead]] = False
    inside = [parameters_of(term) for term in features.terms]
    for i, parameter in enumerate(constants.inner, start=len(lead)):
        has_it = np.array([features.parameters[parameter] in names for names in inside])
        if not fixed[:, has_it].any():
            users[i, : len(lead)] = has_it[constants.columns[lead]]
    return users


def integral_form(
    data: Dataset,
    smoothed: Float[np.ndarray, "N n"],
    features: Callable[[np.ndarray], np.ndarray],
    variance: Float[np.ndarray, "N n"],
    max_rows: int = limits.STRETCH_STEPS,
) -> dict[int, Quadratic]:
    """Return the integral form x(t) = x(t_0) + int theta(x) w of each learned equation.

    It is in units of the noise of x. The initial value x(t_0) is free in every stretch of about
    `max_rows` rows.

    For a velocity that was not measured, use the form of its position: q(t) = q_0 + v_0 t + int int
    theta w; higher derivatives are treated alike. Unlike in derivatives or windows, the noise is
    not correlated between rows, so likelihoods can be compared. States inside theta are smoothed.
    For a map, the form is that of the next row, x[k+1] = theta(x[k]) w.
    """
    variables = smoothed if data.inputs is None else np.hstack([smoothed, data.inputs])
    if data.discrete:
        return _next_state_form(data, variables, features)
    with np.errstate(all="ignore"):
        theta = np.asarray(features(variables))
        usable = np.isfinite(theta).all(axis=0) & _is_resolved(data, theta)
    theta = np.where(usable, theta, 0.0)
    integrals = [_integral(data, theta)]
    stretch = stretch_of_row(data, max_rows)
    for _ in range(data.schema.max_derivative - 1):
        integrals.append(_integral(data, integrals[-1]))
    forms = {}
    for c in range(data.n_states):
        if c in data.given_rates:
            continue
        measured, times = data.schema.derivative_of.get(c, (c, 0))
        offsets = _times_in_stretch(data, stretch)[:, None] ** np.arange(times + 1)
        values = np.column_stack([data.states[:, measured], integrals[times]])
        is_known = data.plan.clipped[:, [measured]] == 0
        root = is_known / np.sqrt(variance[:, measured])[:, None]
        values, n_offsets = _without_offsets(values * root, offsets * root, stretch)
        y, columns = values[:, 0], values[:, 1:]
        forms[c] = Quadratic(
            columns.T @ columns, columns.T @ y, float(y @ y), int(is_known.sum()), n_offsets
        )
    return forms


def _next_state_form(
    data: Dataset,
    variables: Float[np.ndarray, "N V"],
    features: Callable[[np.ndarray], np.ndarray],
) -> dict[int, Quadratic]:
    """Return the form x[k+1] = theta(x[k]) w of each equation of a map.

    It is in units of the error that noise of x[k] and x[k+1] causes.
    """
    error = np.maximum(data.plan.map_noise.prediction, np.sqrt(min_misfit(data.states)))
    rows = data.rows_with_next()
    with np.errstate(all="ignore"):
        theta = np.asarray(features(variables[rows]))
        theta = np.where(np.isfinite(theta).all(axis=0), theta, 0.0)
    forms = {}
    for c in range(data.n_states):
        y, columns = data.states[rows + 1, c] / error[c], theta / error[c]
        forms[c] = Quadratic(columns.T @ columns, columns.T @ y, float(y @ y), len(rows), 0)
    return forms


def _integral(data: Dataset, values: Float[np.ndarray, "N K"]) -> Float[np.ndarray, "N K"]:
    """Return the integrals of the values from the start of each run."""
    result = np.empty_like(values)
    for begin, end in zip(data.offsets[:-1], data.offsets[1:], strict=True):
        result[begin:end] = antiderivative(data.times[begin:end], values[begin:end])
    return result


def antiderivative(
    times: Float[np.ndarray, " N"], values: Float[np.ndarray, "N K"]
) -> Float[np.ndarray, "N K"]:
    """Return the integrals from the first time to each time.

    The integrand is interpolated by cubic splines, or linearly if there are fewer than four times.
    """
    from scipy.interpolate import CubicSpline

    if len(times) < 4:
        areas = np.diff(times)[:, None] * (values[1:] + values[:-1]) / 2
        return np.cumsum(np.concatenate([np.zeros((1, values.shape[1])), areas]), axis=0)
    return np.asarray(CubicSpline(times, values).antiderivative()(times))


def _is_resolved(data: Dataset, values: Float[np.ndarray, "N K"]) -> Bool[np.ndarray, " K"]:
    """Return a mask of the functions that change little between rows.

    Other functions, such as a sine that turns several radians per step, cannot be integrated.
    """
    steps = np.diff(values, axis=0)[np.diff(data.run_of_row) == 0]
    return np.sqrt((steps**2).mean(axis=0)) <= limits.ROUGH_FUNCTION * values.std(axis=0) + 1e-300


def stretch_of_row(data: Dataset, max_rows: int = limits.STRETCH_STEPS) -> Int[np.ndarray, " N"]:
    """Return the index of the stretch that contains each row."""
    result = np.empty(data.n_samples, dtype=int)
    count = 0
    for begin, end in zip(data.offsets[:-1], data.offsets[1:], strict=True):
        rows = int(end - begin)
        length = min(max(rows // limits.STRETCHES_OF_A_RUN, limits.MIN_STRETCH_STEPS), max_rows)
        parts = max(rows // length, 1)
        result[begin:end] = count + np.arange(rows) * parts // rows
        count += parts
    return result


def _times_in_stretch(data: Dataset, stretch: Int[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
    """Return the times since the first row of each stretch, as a share of the stretch's
    duration.
    """
    begins = np.flatnonzero(np.diff(stretch, prepend=-1))
    rows = np.diff(begins, append=len(stretch))
    elapsed = data.times - np.repeat(data.times[begins], rows)
    duration = np.repeat(np.maximum.reduceat(elapsed, begins), rows)
    return elapsed / np.where(duration > 0, duration, 1.0)


def _without_offsets(
    values: Float[np.ndarray, "N k"],
    offsets: Float[np.ndarray, "N o"],
    stretch: Int[np.ndarray, " N"],
) -> tuple[Float[np.ndarray, "N k"], int]:
    """Return the part of the values orthogonal to the `offsets` in every stretch, and the number of
    offsets.
    """
    begins = np.flatnonzero(np.diff(stretch, prepend=-1))
    rows = np.diff(begins, append=len(stretch))
    count = offsets.shape[1]
    columns, n_offsets = np.concatenate([offsets, values], axis=1), 0
    for k in range(count):  # Gram-Schmidt, vectorized over the stretches
        offset, others = columns[:, [k]], columns[:, k + 1 :]
        square = np.add.reduceat(offset**2, begins)
        is_free = square > limits.DEPENDENT_OFFSET * np.add.reduceat(offsets[:, [k]] ** 2, begins)
        factor = np.add.reduceat(offset * others, begins) / np.where(is_free, square, np.inf)
        others -= offset * np.repeat(factor, rows, axis=0)
        n_offsets += int(is_free.sum())
    return columns[:, count:], n_offsets


@final
class Neighbours(NamedTuple):
    """RSS and coefficients of a set of terms, and the RSS of its neighbours.

    Neighbours have one term added (P,), removed (P,) or exchanged (P, P: row removed, column
    added). Impossible changes have an infinite RSS.
    """

    rss: float
    coefficients: np.ndarray
    added: np.ndarray
    removed: np.ndarray
    exchanged: np.ndarray


def neighbours(
    quadratic: Quadratic, support: TermMask, candidates: TermMask, required: TermMask
) -> Neighbours:
    """Return all sets that differ from `support` by one added, removed or exchanged term.

    Terms in `required` are never removed.
    """
    near = _neighbours(quadratic, support, candidates, required)
    if quadratic.users is None:
        return near
    removable = support & ~required & quadratic.users.any(axis=0)
    for k in np.flatnonzero(removable):  # parameters may become idle
        without = toggled(support, [int(k)])
        others = candidates & (np.arange(len(support)) != k)
        rest = _neighbours(quadratic, without, others, required)
        near.removed[k], near.exchanged[k] = rest.rss, rest.added
    return near


def _neighbours(
    quadratic: Quadratic, support: TermMask, candidates: TermMask, required: TermMask
) -> Neighbours:
    H, g, square = quadratic.H, quadratic.g, quadratic.square
    scale = np.sqrt(np.maximum(np.diag(H), 1e-300))
    H, g, center = H / np.outer(scale, scale), g / scale, quadratic.center * scale
    size = len(g)
    idle = quadratic.idle(support)
    inside = np.flatnonzero(support & ~idle)
    outside = np.flatnonzero(candidates & ~support & (np.diag(quadratic.H) > 0))
    # terms outside the set move from their center to zero; idle parameters stay
    moved = np.where(support | idle, 0.0, -center)
    g_moved = g - H @ moved
    inverse = _inverse(H[np.ix_(inside, inside)])
    change = inverse @ g_moved[inside]
    moved[inside] = change
    # errors of the minimizer are of second order here, while g'H^-1 g would lose all digits
    rss = square - 2 * float(g @ moved) + float(moved @ (H @ moved))
    g = g_moved
    w = center[inside] + change
    # terms outside the set, orthogonalized to those inside: slope of the RSS, and squared norm
    cross = H[np.ix_(outside, inside)]
    projection = cross @ inverse
    slope, pivot = g[outside] - cross @ change, 1 - np.sum(projection * cross, axis=1)
    added, removed = np.full(size, np.inf), np.full(size, np.inf)
    added[outside] = rss - _gains(slope, pivot)
    # a rank-one update of the inverse removes term j of the set
    free = np.flatnonzero(~required[inside])
    removable, diagonal = inside[free], np.maximum(np.diag(inverse)[free], 1e-12)
    removed[removable] = rss + w[free] ** 2 / diagonal
    slope = slope + (w[free] / diagonal)[:, None] * projection.T[free]
    pivot = pivot + projection.T[free] ** 2 / diagonal[:, None]
    exchanged = np.full((size, size), np.inf)
    exchanged[np.ix_(removable, outside)] = removed[removable][:, None] - _gains(slope, pivot)
    coefficients = np.zeros(size)
    coefficients[inside] = w / scale[inside]
    floor = quadratic.min_rss
    return Neighbours(
        max(rss, floor), coefficients, np.maximum(added, floor), np.maximum(removed, floor),
        np.maximum(exchanged, floor),
    )  # fmt: skip


@final
class SetScores(NamedTuple):
    """The score of a set of terms, and the scores of its neighbours.

    Neighbours have one term added (P,), removed (P,) or exchanged (P, P).
    """

    score: float
    added: np.ndarray
    removed: np.ndarray
    exchanged: np.ndarray

    def moves(self, limit: float) -> list[tuple[float, list]]:
        """Return the neighbours with a score below the limit, as (score, terms that differ)."""
        return [
            *((float(self.added[k]), [k]) for k in np.flatnonzero(self.added < limit)),
            *((float(self.removed[k]), [k]) for k in np.flatnonzero(self.removed < limit)),
            *(
                (float(self.exchanged[j, k]), [j, k])
                for j, k in np.argwhere(self.exchanged < limit)
            ),
        ]


@final
@dataclass(frozen=True, eq=False)
class SetSearch:
    """Sets of terms and their score, which is RSS / (2 temperature) plus the price of each term.

    Terms in `candidates` may be added. Terms in `required` are in every set.
    """

    quadratic: Quadratic
    candidates: TermMask
    required: TermMask
    price: Float[np.ndarray, " P"]
    temperature: float

    def neighbours(self, support: TermMask) -> Neighbours:
        """Return the neighbours of a set."""
        return neighbours(self.quadratic, support, self.candidates, self.required)

    def coefficients(self, support: TermMask) -> Float[np.ndarray, " P"]:
        """Return the coefficients of a set."""
        return neighbours(self.quadratic, support, support & False, self.required).coefficients

    def scores(self, support: TermMask) -> SetScores:
        """Return the scores of a set and of its neighbours."""
        near, price, scale = self.neighbours(support), self.price, 2 * self.temperature
        set_price = float(price[support].sum())
        return SetScores(
            near.rss / scale + set_price,
            near.added / scale + set_price + price,
            near.removed / scale + set_price - price,
            near.exchanged / scale + set_price - price[:, None] + price,
        )

    def descend(self, support: TermMask) -> tuple[float, TermMask, Neighbours]:
        """Return a set that no added, removed or exchanged term improves, with its score and its
        neighbours.
        """
        support = support | self.required
        near = self.neighbours(support)
        for _ in range(limits.MAX_MOVES):
            gain, move = self._best_move(near)
            if not gain > 1e-9:
                break
            support = toggled(support, move)
            near = self.neighbours(support)
        score = near.rss / (2 * self.temperature) + float(self.price[support].sum())
        return score, support, near

    def _best_move(self, near: Neighbours) -> tuple[float, list[int]]:
        """Return the largest decrease of the score by one move, and the terms that the move adds or
        removes.
        """
        price, scale = self.price, 2 * self.temperature
        gains = (near.rss - near.added) / scale - price
        losses = (near.rss - near.removed) / scale + price
        swaps = (near.rss - near.exchanged) / scale + price[:, None] - price
        best = [
            (float(gains.max()), [int(gains.argmax())]),
            (float(losses.max()), [int(losses.argmax())]),
            (float(swaps.max()), [int(i) for i in np.unravel_index(swaps.argmax(), swaps.shape)]),
        ]
        return max(best, key=lambda item: item[0])

    def within(self, support: TermMask, matched: dict[bytes, float]) -> dict[bytes, float]:
        """Return the scores, relative to `support`, of the sets within `WINDOW` of it.

        Sets are reached by adding, removing and exchanging single terms. The bytes of its mask are
        the key of a set.

        Sets in `matched` have the given score instead of the linearized one. [Occam's window,
        Madigan and Raftery 1994]
        """
        origin = self.scores(support).score
        exact = {**matched, support.tobytes(): 0.0}
        scores = dict(exact)
        queue = sorted((score, key) for key, score in scores.items() if score < limits.WINDOW)
        for _ in range(limits.MAX_WINDOW_SETS):
            if not queue:
                break
            _, key = heappop(queue)
            current = np.frombuffer(key, dtype=bool)
            near = self.scores(current)
            if key not in exact:  # updates of nearly dependent terms lose digits
                scores[key] = float(near.score - origin)
                if scores[key] >= limits.WINDOW:
                    continue
            for value, move in near.moves(origin + limits.WINDOW):
                other = toggled(current, move).tobytes()
                if other not in scores:
                    scores[other] = float(value - origin)
                    heappush(queue, (scores[other], other))
        return scores


def toggled(support: TermMask, terms: list) -> TermMask:
    """Return the set with these terms added if they are not in it, and removed if they are."""
    result = support.copy()
    result[terms] ^= True
    return result


def duplicates(quadratic: Quadratic, support: TermMask) -> TermMask:
    """Return the terms outside a set that are proportional to a term in it.

    An example is u**2 and u, if u is 0 or 1. Both describe the same model.
    """
    scale = np.sqrt(np.maximum(np.diag(quadratic.H), 1e-300))
    cosine = np.abs(quadratic.H / np.outer(scale, scale))
    return ~support & (cosine[:, support] > 1 - limits.SET_EIGENVALUE).any(axis=1)


def _gains(slope: np.ndarray, pivot: np.ndarray) -> np.ndarray:
    """Return the decrease of the RSS by each further term.

    It is zero if the term depends on the others.
    """
    free = pivot > limits.PIVOT
    return np.where(free, slope**2 / np.where(free, pivot, 1.0), 0.0)


def _inverse(H: np.ndarray) -> np.ndarray:
    """Return the pseudo-inverse of a correlation matrix."""
    values, axes = np.linalg.eigh(H)
    usable = values > limits.SET_EIGENVALUE * values.max(initial=0.0)
    return (axes[:, usable] / values[usable]) @ axes[:, usable].T


def screened(near: Neighbours, support: TermMask, max_terms: int) -> TermMask:
    """Return the support plus the terms that would reduce the RSS most, `max_terms` in total."""
    kept = np.array(support)
    n_added = max(max_terms - int(support.sum()), 0)
    kept[np.argsort(near.added, kind="stable")[:n_added]] = True
    return kept
