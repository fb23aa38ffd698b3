"""`find_equilibria`: find the equilibria in a box of states, with their stability."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Complex, Float

from ..data import Schema
from ..field.hybrid import HybridField
from ..matching import Uncertainty
from . import _limits as limits
from ._constants import intervals_of
from ._jacobian import jacobian


@final
@dataclass(frozen=True, eq=False)
class Equilibrium:
    """An equilibrium, or a fixed point of a map.

    `stability` is "stable", "unstable" or "undecided". `kind` describes the linear motion nearby,
    such as "saddle". If the 95% interval of an eigenvalue's real part contains zero, linearization
    does not determine the stability. `interval` contains the 95% interval of each state, or is None
    if the fit has no intervals. `inside` is true if the state is within the training data.
    """

    x: Float[np.ndarray, " n"]
    eigenvalues: Complex[np.ndarray, " n"]
    stability: str
    kind: str
    inside: bool
    interval: Float[np.ndarray, "n 2"] | None = None


@final
@dataclass(frozen=True, eq=False)
class Equilibria:
    """The equilibria in a box, ordered by their states, with notes on the search."""

    points: tuple[Equilibrium, ...]
    state_names: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Equilibrium]:
        return iter(self.points)

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, index: int) -> Equilibrium:
        return self.points[index]

    def __str__(self) -> str:
        lines = [
            ", ".join(f"{n} = {v:.4g}" for n, v in zip(self.state_names, point.x, strict=True))
            + f": {point.kind}"
            + (", outside the training data" if not point.inside else "")
            for point in self.points
        ]
        return "\n".join([*(lines or ["no equilibrium in these ranges"]), *self.notes])


@final
@dataclass(frozen=True, eq=False)
class _Search:
    """The function f at states x, with fixed inputs u and constants per run. For a map, f(x) -
    x.
    """

    field: HybridField
    fixed: Float[np.ndarray, " V"]
    free: list[int]
    discrete: bool

    def at(self, x: Float[np.ndarray, "N n"]) -> Float[np.ndarray, "N n"]:
        with np.errstate(all="ignore"):
            values = self.field.values(self._variables(x))[:, self.free]
        return values - x if self.discrete else values

    def slopes(self, x: Float[np.ndarray, "N n"]) -> Float[np.ndarray, "N n n"]:
        slopes = jacobian(self.field, self._variables(x))[:, self.free][:, :, self.free]
        return slopes - np.eye(len(self.free)) if self.discrete else slopes

    def matrix(self, x: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n n"]:
        """Return the matrix of the linear model at x."""
        slopes = self.slopes(x[None])[0]
        return slopes + np.eye(len(x)) if self.discrete else slopes

    def _variables(self, x: Float[np.ndarray, "N n"]) -> Float[np.ndarray, "N V"]:
        z = np.tile(self.fixed, (len(x), 1))
        z[:, self.free] = x
        return z


def find_equilibria(
    field: HybridField,
    schema: Schema,
    box: Float[np.ndarray, "2 n"],
    u: Float[np.ndarray, " m"],
    estimates: Uncertainty | None,
    known: Float[np.ndarray, "2 n"],
) -> Equilibria:
    """Return the states in the `box` whose derivative is zero at the constant input u.

    `known` is the range of the training data, which is used for fields without a region.

    Newton's method starts from the points of a Halton sequence, so the result is deterministic.
    Constants per run are set to the middle of their ranges.
    """
    free = [i for i, name in enumerate(schema.state_names) if name not in schema.per_run_names]
    fixed = np.concatenate([box.mean(axis=0), u])
    search = _Search(field, fixed, free, schema.discrete)
    low, high = box[:, free]
    roots = _roots(search, low, high)
    is_simple = np.array([_is_simple(search, root, high - low) for root in roots], dtype=bool)
    notes = []
    chosen = list(roots[is_simple])
    if (~is_simple).any():
        degenerate = roots[~is_simple]
        middle = np.square((degenerate - (low + high) / 2) / (high - low)).sum(axis=1)
        chosen.append(degenerate[int(middle.argmin())])
        if len(degenerate) > 1:
            notes.append("Equilibria are not isolated: they form a line or surface. One is listed.")
    points = [_described(search, root, high - low, estimates, known[:, free]) for root in chosen]
    points.sort(key=lambda point: tuple(np.round((point.x - low) / (high - low), 6)))
    return Equilibria(tuple(points), tuple(schema.state_names[i] for i in free), tuple(notes))


def _roots(
    search: _Search, low: Float[np.ndarray, " n"], high: Float[np.ndarray, " n"]
) -> Float[np.ndarray, "R n"]:
    """Return the distinct roots in the box, found by damped Newton steps from all starts at
    once.
    """
    from scipy.stats import qmc

    n, width = len(low), high - low
    count = min(limits.STARTS_PER_STATE * 2 ** (n - 1), limits.MAX_STARTS)
    x = low + qmc.Halton(n, scramble=False).random(count) * width
    x = np.vstack([(low + high) / 2, x])
    f = search.at(x)
    typical = np.nanmedian(np.abs(np.where(np.isfinite(f), f, np.nan)), axis=0)
    scale = np.where(typical > 0, typical, 1.0)
    for _ in range(limits.NEWTON_STEPS):
        moves = _newton_moves(search, x, width, scale)
        length = np.abs(moves / width).max(axis=1, keepdims=True)
        moves = moves * np.minimum(1.0, limits.MAX_MOVE / np.maximum(length, 1e-300))
        x = _shortened_moves(search, x, moves, scale)
    size = np.max(np.abs(search.at(x) / scale), axis=1)
    edge = limits.EDGE * width
    within = np.all((x >= low - edge) & (x <= high + edge), axis=1)
    x = np.where(np.abs(x) <= limits.EDGE * width, 0.0, x)  # replace a value close to zero by zero
    found = x[within & (size <= limits.ROOT_RESIDUAL)]
    distinct: list[np.ndarray] = []
    for root in found:
        if all(np.abs((root - other) / width).max() > limits.SAME_ROOT for other in distinct):
            distinct.append(root)
    return np.array(distinct).reshape(-1, n)


def _newton_moves(
    search: _Search,
    x: Float[np.ndarray, "N n"],
    width: Float[np.ndarray, " n"],
    scale: Float[np.ndarray, " n"],
) -> Float[np.ndarray, "N n"]:
    """Return the Newton step of each row. If the matrix is singular, return the shortest such
    step.
    """
    f, slopes = search.at(x) / scale, search.slopes(x) * width / scale[:, None]
    valid = np.isfinite(f.sum(axis=1)) & np.isfinite(slopes.sum(axis=(1, 2)))
    f, slopes = np.where(valid[:, None], f, 0.0), np.where(valid[:, None, None], slopes, 0.0)
    inverse = np.linalg.pinv(slopes, rcond=1e-12)
    return -(inverse @ f[..., None])[..., 0] * width


def _shortened_moves(
    search: _Search,
    x: Float[np.ndarray, "N n"],
    moves: Float[np.ndarray, "N n"],
    scale: Float[np.ndarray, " n"],
) -> Float[np.ndarray, "N n"]:
    """Return the states after the moves. Each move is halved until the residual decreases."""
    before = np.square(search.at(x) / scale).sum(axis=1)
    result, pending = x.copy(), np.ones(len(x), dtype=bool)
    for halving in range(limits.HALVINGS):
        rows = np.flatnonzero(pending)
        if not len(rows):
            break
        trial = x[rows] + moves[rows] / 2**halving
        size = np.square(search.at(trial) / scale).sum(axis=1)
        better = np.asarray(size < before[rows])
        result[rows[better]] = trial[better]
        pending[rows[better]] = False
    return result


def _is_simple(
    search: _Search, root: Float[np.ndarray, " n"], width: Float[np.ndarray, " n"]
) -> bool:
    """Return whether the Jacobian of a root is regular."""
    slopes = search.slopes(root[None])[0] * width
    rows = np.abs(slopes).max(axis=1, keepdims=True)
    if not np.isfinite(slopes).all() or not (rows > 0).all():
        return False
    sizes = np.linalg.svd(slopes / rows, compute_uv=False)
    return bool(sizes[-1] > limits.SINGULAR * sizes[0])


def _described(
    search: _Search,
    root: Float[np.ndarray, " n"],
    width: Float[np.ndarray, " n"],
    estimates: Uncertainty | None,
    known: Float[np.ndarray, "2 n"],
) -> Equilibrium:
    """Return a root with its eigenvalues, stability and intervals."""
    eigenvalues = _ordered_eigenvalues(search.matrix(root))
    n, simple = len(root), _is_simple(search, root, width)

    def quantity(field: HybridField) -> np.ndarray:
        """Return the root and its growth rates for other constants.

        Newton steps start from the root.
        """
        moved = _Search(field, search.fixed, search.free, search.discrete)
        x = root[None]
        for _ in range(limits.HALVINGS):
            x = x + _newton_moves(moved, x, width, np.ones(n))
        return np.concatenate([x[0], _growth(_ordered_eigenvalues(moved.matrix(x[0])), moved)])

    intervals = intervals_of(search.field, estimates, quantity) if simple else None
    growth = _growth(eigenvalues, search)
    low, high = growth, growth
    if intervals is not None and np.isfinite(intervals).all():
        low, high = intervals[n:].T
    noise = limits.ROUNDING * max(float(np.abs(eigenvalues).max(initial=0.0)), 1e-300)
    signs = np.where(low > noise, 1, np.where(high < -noise, -1, 0))
    z = search._variables(root[None])
    region = search.field.region
    inside = bool(
        ((root >= known[0]) & (root <= known[1])).all()
        if region is None
        else region.distance(z)[0] <= 1
    )
    stability, kind = _kind(signs, eigenvalues, simple)
    return Equilibrium(
        root, eigenvalues, stability, kind, inside, None if intervals is None else intervals[:n]
    )


def _ordered_eigenvalues(matrix: Float[np.ndarray, "n n"]) -> Complex[np.ndarray, " n"]:
    values = np.linalg.eigvals(matrix).astype(complex)
    return values[np.lexsort((np.imag(values), -np.real(values)))]


def _growth(eigenvalues: Complex[np.ndarray, " n"], search: _Search) -> Float[np.ndarray, " n"]:
    """Return the growth rates of small deviations: real parts of eigenvalues or, for a map,
    logarithms of their magnitudes.
    """
    if not search.discrete:
        return np.real(eigenvalues).copy()
    return np.log(np.maximum(np.abs(eigenvalues), 1e-300))


def _kind(
    signs: np.ndarray, eigenvalues: Complex[np.ndarray, " n"], simple: bool
) -> tuple[str, str]:
    """Return the stability and the kind of an equilibrium, from the signs of its growth rates."""
    size = max(float(np.abs(eigenvalues).max(initial=0.0)), 1e-300)
    turns = bool((np.abs(np.imag(eigenvalues)) > limits.ROUNDING * size).any())
    shape = "focus" if turns else "node"
    if not simple:
        is_unstable = bool((signs > 0).any())
        return "unstable" if is_unstable else "undecided", "degenerate"
    if (signs < 0).all():
        return "stable", f"stable {shape}"
    if (signs > 0).any():
        if (signs < 0).any():
            return "unstable", "saddle"
        return "unstable", f"unstable {shape}" if (signs > 0).all() else "unstable"
    return "undecided", f"{'centre' if turns else 'equilibrium'}, not decided by linearization"
