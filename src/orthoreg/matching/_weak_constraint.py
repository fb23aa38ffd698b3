"""Trajectories with gaps: Levenberg-Marquardt on constants and the states at all rows.

The misfit of the measured states is minimized together with the gaps between the end of each step
and the next state. While wide gaps are tolerated, hidden states take any course that explains the
measured states, and constants adapt to it. As the tolerance shrinks, the states become a
trajectory. [weak-constraint 4D-Var, Tremolet 2006; generalized profiling, Ramsay et al. 2007]
"""

from dataclasses import replace
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Bool, Float

from ..terms import without_kinks
from . import _limits as limits
from ._censoring import censored
from ._kinks import argument_values, kinks_of
from ._problem import Problem
from ._segments import cut, input_nodes
from ._sensitivities import step_ends, step_maps


@final
class StartingPoint(NamedTuple):
    """Constants, their natural sizes, the states of all rows, and the sizes of the states.

    The first `skipped` tolerances are too wide for a point near another minimum. Kinks are smoothed
    over `kink_width` times the tolerance, in sizes of their arguments.
    """

    p: Float[np.ndarray, " P"]
    natural: Float[np.ndarray, " P"]
    states: Float[np.ndarray, "N n"]
    sizes: Float[np.ndarray, " n"]
    skipped: int = 0
    kink_width: float = 1.0


@final
class DescentPoint(NamedTuple):
    """The end of a descent.

    It contains constants, states (T, n, B), mean squared misfit, costs at each tolerance, sizes of
    the states, and substeps between rows.
    """

    p: np.ndarray
    states: np.ndarray
    misfit: float
    path: list[float]
    sizes: np.ndarray
    substeps: int


@final
class _System(NamedTuple):
    """The Gauss-Newton system at a point.

    `gaps` (L, B, n) and their derivatives `by` (L, B, n, P + n) are in tolerances, and `scale` is
    the inverse tolerance. `misfit` (T, B, n) is in standard deviations, and `weight` (T, B, n)
    contains its derivatives. `starts` are values (m, B) and derivatives (m, n, B) of the conditions
    on first states.
    """

    cost: float
    gaps: np.ndarray
    by: np.ndarray
    scale: np.ndarray
    misfit: np.ndarray
    weight: np.ndarray
    starts: tuple[np.ndarray, np.ndarray] | None


@final
class Descent:
    """Levenberg-Marquardt on constants and states of whole runs, for shrinking tolerances."""

    def __init__(self, problem: Problem, bounds: Float[np.ndarray, "2 P"]):
        data, n = problem.data, len(problem.sizes)
        longest = max(int(data.run_lengths.max()) - 1, 1)
        self._problem, self._exact, self._bounds = problem, problem, bounds
        self._kinks = kinks_of(problem) if problem.constants.size else []
        self.segments = cut(data, longest, data.n_runs * (longest + 1))
        counted = (self.segments.weight > 0)[:, None]
        noise = data.plan.smoother.noise
        sigma = np.clip(noise / problem.sizes, limits.HIDDEN_MIN_NOISE, limits.HIDDEN_MAX_NOISE)
        sigma = sigma * problem.sizes
        relative = problem.relative_std(self.segments) * np.ones((1, n, 1))
        with np.errstate(divide="ignore"):
            weight = counted * problem.measured[:, None] / (sigma[:, None] * relative)
        self._weight = np.moveaxis(weight, 1, 2)  # (T, B, n), as all following arrays
        measured = problem.measured_states(self.segments)
        self._measured = np.where(self._weight > 0, np.moveaxis(measured, 1, 2), 0.0)
        clipped = problem.clipped(self.segments)
        self._clipped = (
            None if clipped is None else np.moveaxis(clipped, 1, 2) * counted[:, 0, :, None]
        )
        if self._clipped is not None:  # censored values, with the noise of their states
            self._measured = np.where(
                self._clipped != 0, np.moveaxis(measured, 1, 2), self._measured
            )
        self._is_step = self.segments.steps > 0
        span = self.segments.steps.sum(axis=0).mean()
        self._share = np.sqrt(np.maximum(self.segments.steps, 0.0) / span)[:, :, None]
        self._count = float((self._weight > 0).sum())
        self._nodes: dict[int, np.ndarray | None] = {}

    def __call__(
        self,
        start: StartingPoint,
        best: list[float] | None,
    ) -> DescentPoint | None:
        """Return the end of a descent, or None if it fails.

        It also fails if its costs are clearly worse than `best`, the costs of the best descent.
        """
        self._problem = self._exact
        hidden = ~self._problem.measured
        p, sizes = start.p, start.sizes
        at = np.moveaxis(start.states[self.segments.rows], 2, 1)
        at = self._in_domain(p, at, self._last_valid(p, at), 1)
        substeps = self._substeps(p, at, sizes)
        prior = 1 / (limits.HIDDEN_PRIOR * start.natural) ** 2
        path: list[float] = []
        tolerances = limits.HIDDEN_TOLERANCES[start.skipped :]
        for i, tolerance in enumerate(tolerances):
            width = start.kink_width * tolerance if i < len(tolerances) - 1 else 0.0
            self._problem = self._smoothed(p, at, width)
            result = self._minimum(
                p, at, sizes, tolerance, prior if i == 0 else 0 * prior, substeps
            )
            if result is None:
                return None
            p, at, cost = result
            path.append(cost)
            if best is not None and cost > limits.HIDDEN_HOPELESS * max(best[i], self._count / 2):
                if i >= limits.HIDDEN_PATIENCE:
                    return None
            size = np.abs(at - at.mean(axis=(0, 2), keepdims=True)).max(axis=(0, 2))
            floor = limits.HIDDEN_MIN_NOISE * np.abs(at).max(axis=(0, 2))
            sizes = np.where(hidden, np.maximum(size, np.maximum(floor, 1e-300)), sizes)
            substeps = max(substeps, self._substeps(p, at, sizes))
        return DescentPoint(p, at, 2 * path[-1] / max(self._count, 1.0), path, sizes, substeps)

    def _smoothed(self, p: np.ndarray, at: Float[np.ndarray, "T n B"], share: float) -> Problem:
        """Return the problem with kinks smoothed over a share of the size of their arguments.

        Without smoothing, terms beyond a kink that no state passes have no slope. [continuation]
        """
        if not self._kinks or not share:
            return self._exact
        exact, is_row = self._exact, self.segments.weight > 0
        data, field = exact.data, exact.field
        z = np.moveaxis(at, 1, 2)[is_row]
        if data.inputs is not None:
            z = np.hstack([z, data.inputs[self.segments.rows[is_row]]])
        values = exact.constants.values(field, p).parameters
        widths = {}
        for kink, argument in zip(
            self._kinks, argument_values(exact, self._kinks, z, values), strict=True
        ):
            size = float(np.sqrt(np.mean(np.square(argument))))
            if np.isfinite(size) and size > 0:  # powers of two, because terms are compiled
                widths[kink] = 2.0 ** round(float(np.log2(share * size)))
        terms = tuple(without_kinks(term, widths) for term in field.features.terms)
        return replace(exact, field=replace(field, features=replace(field.features, terms=terms)))

    def reweighted(self, point: DescentPoint) -> tuple[DescentPoint, Float[np.ndarray, "n R"]]:
        """Return the minimum for the noise that the residuals show, and the variance of the first
        states.
        """
        self._problem = self._exact  # the last descent may have ended with smoothed kinks
        p, at, _, _, sizes, substeps = point
        nothing = np.zeros(len(p))
        tolerance = limits.HIDDEN_TOLERANCES[-1]
        for tolerance in limits.HIDDEN_TOLERANCES[-limits.REWEIGHTED :]:
            self._reweight(p, at)
            result = self._minimum(p, at, sizes, tolerance, nothing, substeps)
            if result is not None:
                p, at, _ = result
        system = self._system(p, at, tolerance * sizes * self._share, p, nothing, substeps)
        variance = np.full(at.shape[1:], np.inf)
        if system is not None:
            variance = self._start_variance(system, p, sizes)
        return point._replace(p=p, states=at), variance

    def _reweight(self, p: np.ndarray, at: Float[np.ndarray, "T n B"]) -> None:
        """Weight the measured states by the noise that their residuals show."""
        is_counted = self._weight > 0
        n_estimated = len(p) + at.shape[1] * at.shape[2]
        free = max(1 - n_estimated / max(self._count, 1.0), limits.MIN_FREE_SHARE)
        residuals = np.where(is_counted, self._measured - np.moveaxis(at, 1, 2), 0.0)
        square = (residuals**2).sum(axis=(0, 1)) / np.maximum(is_counted.sum(axis=(0, 1)), 1)
        std = np.maximum(np.sqrt(square / free), limits.HIDDEN_MIN_NOISE * self._problem.sizes)
        self._weight = np.where(is_counted, 1 / std, 0.0)

    def variance(
        self, p: np.ndarray, at: Float[np.ndarray, "T n B"], covariance: Float[np.ndarray, "P P"]
    ) -> Float[np.ndarray, "T B n"]:
        """Return the variance of all states at a minimum, for constants with this covariance."""
        self._reweight(p, at)
        sizes = np.maximum(np.abs(at).max(axis=(0, 2)), 1e-300)
        tolerance = limits.HIDDEN_TOLERANCES[-1]
        substeps = self._substeps(p, at, sizes)
        system = self._system(p, at, tolerance * sizes * self._share, p, 0 * p, substeps)
        if system is None:
            return np.full((len(at), at.shape[2], at.shape[1]), np.nan)
        (length, count, n), size = system.gaps.shape, len(p)
        blocks, next_blocks = self._blocks(system, sizes, 0.0, size)
        variance = _inverse_diagonal(blocks, next_blocks)
        if size:
            right = self._right(system, size)[:, 1:]
            by_p = self._solve_states(system, sizes, 0.0, right, size)
            if by_p is None:
                return np.full((length + 1, count, n), np.nan)
            by_p = by_p.reshape(count, length + 1, n, size)
            variance += np.einsum("btnp,pq,btnq->tbn", by_p, covariance, by_p)
        return np.maximum(variance, 0.0)

    def _substeps(
        self, p: np.ndarray, at: Float[np.ndarray, "T n B"], sizes: Float[np.ndarray, " n"]
    ) -> int:
        accuracy = limits.HIDDEN_ACCURACY * sizes
        return self._problem.substeps(p, at[0], at, self.segments, accuracy, limits.HIDDEN_SUBSTEPS)

    def _minimum(
        self,
        p: np.ndarray,
        at: Float[np.ndarray, "T n B"],
        sizes: Float[np.ndarray, " n"],
        tolerance: float,
        prior: Float[np.ndarray, " P"],
        substeps: int,
    ) -> tuple[np.ndarray, np.ndarray, float] | None:
        """Return constants, states and cost at the minimum for a `tolerance` of gaps.

        Over a whole run, gaps have standard deviations of `tolerance` times the sizes.
        """
        std, mean = tolerance * sizes * self._share, p
        system = self._system(p, at, std, mean, prior, substeps)
        if system is None:
            return None
        damping = limits.FIRST_DAMPING
        for _ in range(limits.HIDDEN_STEPS):
            step = self._step(system, p, sizes, mean, prior, damping)
            trial = None if step is None else (np.clip(p + step[0], *self._bounds), at + step[1])
            new = None if trial is None else self._system(*trial, std, mean, prior, substeps)
            if trial is not None and new is None:
                trial = trial[0], self._in_domain(*trial, at, substeps)
                new = self._system(*trial, std, mean, prior, substeps)
            if trial is None or new is None or not new.cost < system.cost:
                damping *= 10
                if damping > limits.MAX_DAMPING:
                    break
                continue
            gained = system.cost - new.cost
            (p, at), system = trial, new
            damping = max(damping / 10, limits.MIN_DAMPING)
            if gained < limits.HIDDEN_GAIN * max(system.cost, self._count / 2):
                break
        return p, at, system.cost

    def _in_domain(
        self, p: np.ndarray, at: Float[np.ndarray, "T n B"], other: np.ndarray, substeps: int
    ) -> Float[np.ndarray, "T n B"]:
        """Return the states, moved towards `other` states in rows where the equations have no
        value.

        An example is sqrt(h) of a negative h.
        """
        for share in limits.DOMAIN_SHARES:
            is_lost = ~self._has_values(p, at, substeps) & self._is_step
            if not is_lost.any():
                break
            moved = (1 - share) * at[:-1] + share * other[:-1]
            at = np.concatenate([np.where(is_lost[:, None], moved, at[:-1]), at[-1:]])
        return at

    def _last_valid(
        self, p: np.ndarray, at: Float[np.ndarray, "T n B"]
    ) -> Float[np.ndarray, "T n B"]:
        """Return, for each row, the states of the last row at or before it where the equations have
        values.
        """
        length = len(at) - 1
        valid = self._has_values(p, at, 1)
        rows = np.where(valid, np.arange(length)[:, None], valid.argmax(axis=0))
        rows = np.maximum.accumulate(rows, axis=0)
        return np.concatenate([np.take_along_axis(at[:-1], rows[:, None], axis=0), at[-1:]])

    def _has_values(
        self, p: np.ndarray, at: Float[np.ndarray, "T n B"], substeps: int
    ) -> Bool[np.ndarray, "L B"]:
        field, nodes = self._problem.field_at(p), self._inputs(substeps)
        ends = step_ends(field, at, self.segments, nodes, substeps)
        return np.asarray(np.isfinite(ends).all(axis=0)).T

    def _inputs(self, substeps: int) -> np.ndarray | None:
        """Return the inputs in all steps."""
        if substeps not in self._nodes:
            problem = self._problem
            self._nodes[substeps] = input_nodes(
                problem.data, problem.inputs, self.segments, substeps
            )
        return self._nodes[substeps]

    def _system(
        self,
        p: np.ndarray,
        at: Float[np.ndarray, "T n B"],
        std: Float[np.ndarray, "L B n"],
        mean: np.ndarray,
        prior: np.ndarray,
        substeps: int,
    ) -> _System | None:
        """Return the system at a point, or None if it is not finite."""
        problem = self._problem
        nodes = self._inputs(substeps)
        maps = step_maps(problem.field_at(p), len(p), at, self.segments, nodes, substeps)
        is_step = self._is_step[:, :, None]
        scale = np.where(is_step, 1 / np.where(is_step, std, 1.0), 0.0)
        x = np.moveaxis(at, 1, 2)
        gaps = np.where(is_step, np.swapaxes(maps.ends, 0, 1) - x[1:], 0.0) * scale
        by = np.where(is_step[..., None], np.swapaxes(maps.by, 0, 1), 0.0) * scale[..., None]
        misfit, weight, cost = self._misfit(x)
        square = float((gaps**2).sum() + 2 * cost + (prior * (p - mean) ** 2).sum())
        starts = None
        if problem.starts is not None:
            starts = problem.start_conditions(at[0], self.segments)
            square += float((starts[0] ** 2).sum())
        if not (np.isfinite(square) and np.isfinite(by).all()):
            return None
        return _System(square / 2, gaps, by, scale, misfit, weight, starts)

    def _misfit(
        self, x: Float[np.ndarray, "T B n"]
    ) -> tuple[Float[np.ndarray, "T B n"], Float[np.ndarray, "T B n"], float]:
        """Return the misfit of the states, its derivatives (times -1), and its cost."""
        misfit = (self._measured - x) * self._weight
        if self._clipped is None:
            return misfit, self._weight, float((misfit**2).sum()) / 2
        is_censored = self._clipped != 0
        inverse_std = self._weight.max(axis=(0, 1))
        distance = np.where(is_censored, self._clipped * (x - self._measured) * inverse_std, 0.0)
        cost, curvature, residual = censored(distance)
        root = np.sqrt(curvature)
        total = float((misfit**2).sum()) / 2 + float(cost[is_censored].sum())
        misfit = np.where(is_censored, self._clipped * residual * root, misfit)
        return misfit, np.where(is_censored, root * inverse_std, self._weight), total

    def _step(
        self,
        system: _System,
        p: np.ndarray,
        sizes: Float[np.ndarray, " n"],
        mean: np.ndarray,
        prior: np.ndarray,
        damping: float,
    ) -> tuple[Float[np.ndarray, " P"], Float[np.ndarray, "T n B"]] | None:
        """Return the damped Gauss-Newton step of constants and states, or None if it is not
        finite.

        The states of each run form a block tridiagonal system, which is eliminated first.
        """
        (length, count, n), size = system.gaps.shape, len(p)
        G = system.by[..., :size]
        right = self._right(system, size)
        solved = self._solve_states(system, sizes, damping, right, size)
        if solved is None:
            return None
        pp = np.einsum("lbnp,lbnq->pq", G, G) + np.diag(prior)
        H = pp - right[:, 1:].T @ solved[:, 1:]
        p_gradient = np.einsum("lbnp,lbn->p", G, system.gaps) + prior * (p - mean)
        p_gradient -= right[:, 1:].T @ solved[:, 0]
        unit = np.sqrt(np.maximum(np.diag(pp), 1e-300))
        H = (H + H.T) / 2 / np.outer(unit, unit)
        H += (min(damping, 1.0) + limits.HIDDEN_RIDGE) * np.eye(size)
        try:
            step = -np.linalg.solve(H, p_gradient / unit) / unit
        except np.linalg.LinAlgError:
            return None
        moves = -solved[:, 0] - solved[:, 1:] @ step
        if not (np.isfinite(step).all() and np.isfinite(moves).all()):
            return None
        return step, np.moveaxis(moves.reshape(count, length + 1, n), (0, 1), (2, 0))

    def _start_variance(
        self, system: _System, p: np.ndarray, sizes: Float[np.ndarray, " n"]
    ) -> Float[np.ndarray, "n B"]:
        """Return the variance of the first states, from the inverse of the Gauss-Newton matrix."""
        (length, count, n), size = system.gaps.shape, len(p)
        right = self._right(system, size)[:, 1:]
        units = np.zeros((count, length + 1, n, n))
        units[:, 0] = np.eye(n)  # given the constants, runs are independent
        both = np.concatenate([units.reshape(-1, n), right], axis=1)
        solved = None
        for damping in limits.VARIANCE_DAMPINGS:
            solved = self._solve_states(system, sizes, damping, both, size)
            if solved is not None:
                break
        if solved is None:
            return np.full((n, count), np.inf)
        solved = solved.reshape(count, length + 1, n, n + size)
        variance = np.einsum("bii->ib", solved[:, 0, :, :n])
        if size:
            by_p = solved[:, 0, :, n:]  # B n P
            G = system.by[..., :size]
            H = np.einsum("lbnp,lbnq->pq", G, G)
            H = H - right.T @ solved[..., n:].reshape(-1, size)
            unit = np.sqrt(np.maximum(np.diag(H), 1e-300))
            inverse = np.linalg.pinv(H / np.outer(unit, unit), hermitian=True)
            variance = variance + np.einsum(
                "bnp,pq,bnq->nb", by_p, inverse / np.outer(unit, unit), by_p
            )
        return np.maximum(variance, 0.0)

    def _right(self, system: _System, size: int) -> Float[np.ndarray, "M q"]:
        """Return the gradient with respect to the states, and its derivatives with respect to the
        constants."""
        _, gaps, by, scale, misfit, weight, starts = system
        length, count, n = gaps.shape
        G, F_t = by[..., :size], np.swapaxes(by[..., size:], 2, 3)
        gradient = -weight * misfit
        coupling = np.zeros((length + 1, count, n, size))
        gradient[:-1] += (F_t @ gaps[..., None])[..., 0]
        gradient[1:] -= scale * gaps
        coupling[:-1] += F_t @ G
        coupling[1:] -= scale[..., None] * G
        if starts is not None:
            r, J = starts
            gradient[0] += np.einsum("mir,mr->ri", J, r)
        right = np.concatenate([gradient[..., None], coupling], axis=3)
        return np.swapaxes(right, 0, 1).reshape(-1, 1 + size)

    def _solve_states(
        self,
        system: _System,
        sizes: Float[np.ndarray, " n"],
        damping: float,
        right: Float[np.ndarray, "M q"],
        size: int,
    ) -> Float[np.ndarray, "M q"] | None:
        """Return the solution of the system of the states, or None if the system is singular."""
        from scipy.linalg import LinAlgError, cho_solve_banded, cholesky_banded

        n = len(sizes)
        bands = _bands(*(np.swapaxes(part, 0, 1).reshape(-1, n, n)
                         for part in self._blocks(system, sizes, damping, size)))  # fmt: skip
        try:
            factor = cholesky_banded(bands, check_finite=False)
            return cho_solve_banded((factor, False), right, check_finite=False)
        except LinAlgError:
            return None

    def _blocks(
        self, system: _System, sizes: Float[np.ndarray, " n"], damping: float, size: int
    ) -> tuple[Float[np.ndarray, "T B n n"], Float[np.ndarray, "T B n n"]]:
        """Return the blocks of the Gauss-Newton matrix of the states at each row, and the blocks
        that couple each row to the next.
        """
        _, gaps, by, scale, _, weight, starts = system
        length, count, n = gaps.shape
        F, i = by[..., size:], np.arange(n)
        F_t = np.swapaxes(F, 2, 3)
        blocks = np.zeros((length + 1, count, n, n))
        blocks[:-1] += F_t @ F
        blocks[1:, :, i, i] += scale**2
        blocks[..., i, i] += weight**2 + (damping + limits.HIDDEN_RIDGE) / sizes**2
        if starts is not None:
            blocks[0] += np.einsum("mir,mjr->rij", starts[1], starts[1])
        next_blocks = np.zeros_like(blocks)
        next_blocks[:-1] = -F_t * scale[:, :, None]
        return blocks, next_blocks


def _inverse_diagonal(
    blocks: Float[np.ndarray, "T B n n"], next_blocks: Float[np.ndarray, "T B n n"]
) -> Float[np.ndarray, "T B n"]:
    """Return the diagonal of the inverse of a symmetric block tridiagonal matrix. [Takahashi et al.
    1973]"""
    length = len(blocks)
    inverses = np.empty_like(blocks)  # inverses of the pivots of block elimination
    inverses[0] = np.linalg.pinv(blocks[0], hermitian=True)
    for k in range(1, length):
        E = next_blocks[k - 1]
        pivot = blocks[k] - np.swapaxes(E, 1, 2) @ inverses[k - 1] @ E
        inverses[k] = np.linalg.inv((pivot + np.swapaxes(pivot, 1, 2)) / 2)
    S = inverses[-1]
    result = [np.einsum("bii->bi", S)]
    for k in range(length - 2, -1, -1):
        G = inverses[k] @ next_blocks[k]
        S = inverses[k] + G @ S @ np.swapaxes(G, 1, 2)
        result.append(np.einsum("bii->bi", S))
    return np.stack(result[::-1])


def _bands(
    blocks: Float[np.ndarray, "M n n"], next_blocks: Float[np.ndarray, "M n n"]
) -> Float[np.ndarray, "w Mn"]:
    """Return a symmetric block tridiagonal matrix in the upper banded form of SciPy.

    `next_blocks` couple each block to the next.
    """
    count, n = blocks.shape[:2]
    bands = np.zeros((2 * n, count * n))
    for i in range(n):
        for j in range(i, n):
            bands[2 * n - 1 + i - j, j::n] = blocks[:, i, j]
        for j in range(n):
            bands[n - 1 + i - j, n + j :: n] = next_blocks[:-1, i, j]
    return bands
