"""Candidate supports and their errors on held-out parts of the data, from moments."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int

from ...solving import (
    CenteredTerms,
    Moments,
    PartitionedMoments,
    QuadraticProblem,
    independent_terms,
)
from . import _limits as limits


@final
@dataclass(frozen=True, eq=False)
class Splits:
    """Mean second moments of the inner and the outer part of each split, and of all rows.

    There are as many `all` as there are data sets, each for the same number of splits in a row.
    `extrapolation_gram` weighs how far fits differ beyond the data, `centered` has the sizes of
    terms. `bounds` are those of coefficients, where there are some.
    """

    inner: Float[np.ndarray, "S P P"]
    outer: Float[np.ndarray, "S P P"]
    all: Float[np.ndarray, "R P P"]
    extrapolation_gram: Float[np.ndarray, "K K"]
    centered: CenteredTerms
    bounds: Float[np.ndarray, "2 K"] | None = None

    def target(self, equation: int) -> int:
        return len(self.extrapolation_gram) + equation

    def errors(
        self, supports: Int[np.ndarray, "M k"], equation: int
    ) -> tuple[Float[np.ndarray, "M S"], Float[np.ndarray, "M S"]]:
        """Mean squared errors of fits to the inner parts, on the inner and on the outer parts.

        Outer errors include the squared distance, beyond the data, of each fit from the fit to
        all rows. A support whose terms cancel is worse than none at all: where they are more
        than ten times larger than their sum, in the fit to all rows, they hold together by their
        last digits only.
        """
        y = self.target(equation)
        w = least_squares(self.inner, supports, y, self.bounds)
        inner = squared_errors(self.inner, supports, y, w)
        outer = squared_errors(self.outer, supports, y, w)
        whole = least_squares(self.all, supports, y, self.bounds)
        each = len(w) // len(whole)
        gram = self.extrapolation_gram
        if gram.any():
            outer += _quadratic(gram[None], supports, w - np.repeat(whole, each, axis=0))
        cancellation = self._cancellation(supports, whole)
        excess = np.repeat(cancellation / limits.MAX_CANCELLATION, each, axis=0)
        refused = excess**2 * self.outer[:, y, y][:, None]  # an error of one is that of no terms
        return inner.T, np.where(excess > 1, np.maximum(outer, refused), outer).T

    def _cancellation(
        self, supports: Int[np.ndarray, "M k"], w: Float[np.ndarray, "R M k"]
    ) -> Float[np.ndarray, "R M"]:
        """How many times larger than their sum the terms are; exact where that is too much."""
        size = np.sqrt(np.maximum(_quadratic(self.all, supports, w), 0.0))
        ratio = np.abs(w).sum(axis=2) / np.maximum(size, 1e-150)  # terms have mean square one
        r, m = np.nonzero(ratio > limits.MAX_CANCELLATION)
        coefficients = np.zeros((len(r), len(self.extrapolation_gram)))
        np.put_along_axis(coefficients, supports[m], w[r, m], axis=1)
        ratio[r, m] = self.centered.cancellation(coefficients, size[r, m])
        return ratio

    def grown_errors(
        self, support: Int[np.ndarray, " k"], rest: Int[np.ndarray, " r"], equation: int
    ) -> Float[np.ndarray, "r S"]:
        """The outer errors of the support with one more term, for each of `rest`.

        The fit with term j is that without it, moved by delta_j = (r_j - C_j'w) / (A_jj - C_j'M_j)
        along (-M_j, 1) with M = A^-1 C, so that all of them cost one factorisation. What rounding
        leaves of this serves to rank supports; the best are scored by `errors`.
        """
        w, delta = _grown_fits(self.inner, support, rest, self.target(equation))
        y, outer = self.target(equation), self.outer
        errors = (
            outer[:, y, y, None]
            - 2 * np.einsum("sk,skr->sr", outer[:, support, y], w)
            - 2 * outer[:, rest, y] * delta
            + _grown_quadratic(outer, support, rest, w, delta)
        )
        if self.extrapolation_gram.any():
            whole, shift = _grown_fits(self.all, support, rest, y)
            each = len(w) // len(whole)
            w, delta = w - np.repeat(whole, each, axis=0), delta - np.repeat(shift, each, axis=0)
            gram = self.extrapolation_gram[None]
            errors = errors + _grown_quadratic(gram, support, rest, w, delta)
        return np.where(np.isfinite(errors), np.maximum(errors, 0.0), np.inf).T


def splits(
    cells: PartitionedMoments, outer: Bool[np.ndarray, "C S"], *, caution: float = 0.0
) -> Splits:
    """The splits whose outer parts are these cells; those with an empty part are left out.

    `caution` is the weight of disagreement beyond the data.
    """
    n = cells.count.astype(float)
    rows = n @ outer
    outer = outer[:, (rows > 0) & (rows < n.sum())]
    shares = np.concatenate([~outer.T, outer.T]).astype(float)
    parts = np.tensordot(shares, cells.total, 1) / (shares @ n)[:, None, None]
    half = len(parts) // 2
    total = cells.total.sum(axis=0, keepdims=True) / n.sum()
    gram = caution * cells.extrapolation_gram
    return Splits(parts[:half], parts[half:], total, gram, cells.centered, cells.bounds)


def folds(cells: PartitionedMoments, most: int = 5) -> Bool[np.ndarray, "C F"]:
    """Groups dealt out to folds: for each cell the one it is in."""
    count = min(most, cells.n_groups)
    return cells.group[:, None] % count == np.arange(count)


def least_squares(
    moments: Float[np.ndarray, "S P P"],
    supports: Int[np.ndarray, "M k"],
    target: int,
    bounds: Float[np.ndarray, "2 K"] | None = None,
) -> Float[np.ndarray, "S M k"]:
    """The coefficients of each support's terms, from each split's moments.

    One beyond its bound is held there and the others are solved for again, until none is.

    NumPy's batched solver: thousands of systems of a few unknowns in one call, which one
    `QuadraticProblem` after the other would take a hundred times longer for.
    """
    A = _blocks(moments, supports) + limits.DIAGONAL_ROUNDING * np.eye(supports.shape[1])
    r = moments[:, supports, target]
    w = np.linalg.solve(A, r[..., None])[..., 0]
    if bounds is None or not np.isfinite(bounds).any():
        return w
    low, high = (np.broadcast_to(ends[supports], w.shape) for ends in bounds)
    held = np.zeros(w.shape, dtype=bool)
    for _ in range(supports.shape[1]):
        beyond = ~held & ((w < low) | (w > high))
        places = np.nonzero(beyond.any(axis=2))
        if not len(places[0]):
            break
        held |= beyond
        w = np.where(beyond, np.clip(w, low, high), w)
        keep, at = held[places], w[places]
        free = ~keep
        part = A[places] * free[:, :, None] * free[:, None, :]
        part = part + keep[:, :, None] * np.eye(keep.shape[1])
        right = np.where(free, r[places] - np.einsum("nkl,nl->nk", A[places], at * keep), at)
        w[places] = np.linalg.solve(part, right[..., None])[..., 0]
    return np.clip(w, low, high)


def squared_errors(
    moments: Float[np.ndarray, "S P P"],
    supports: Int[np.ndarray, "M k"],
    target: int,
    w: Float[np.ndarray, "S M k"],
) -> Float[np.ndarray, "S M"]:
    """|y - Phi w|^2 from moments."""
    linear = np.einsum("smk,smk->sm", moments[:, supports, target], w)
    square = moments[:, target, target][:, None] + _quadratic(moments, supports, w)
    return np.maximum(square - 2 * linear, 0.0)


def _grown_fits(
    moments: Float[np.ndarray, "S P P"],
    support: Int[np.ndarray, " k"],
    rest: Int[np.ndarray, " r"],
    target: int,
) -> tuple[Float[np.ndarray, "S k r"], Float[np.ndarray, "S r"]]:
    """Least squares with the support and one more term: the coefficients of both."""
    A = moments[:, support[:, None], support] + limits.DIAGONAL_ROUNDING * np.eye(len(support))
    C = moments[:, support[:, None], rest]
    columns = np.concatenate([moments[:, support, target][..., None], C], axis=2)
    solved = np.linalg.solve(A, columns) if len(support) else columns
    w, M = solved[..., :1], solved[..., 1:]
    left = moments[:, rest, rest] + limits.DIAGONAL_ROUNDING - np.einsum("skr,skr->sr", C, M)
    slope = moments[:, rest, target] - np.einsum("skr,sk->sr", C, w[..., 0])
    with np.errstate(divide="ignore", invalid="ignore"):
        delta = np.where(left > limits.DIAGONAL_ROUNDING, slope / left, np.nan)
    return w - M * delta[:, None], delta


def _grown_quadratic(
    moments: Float[np.ndarray, "_ P P"],
    support: Int[np.ndarray, " k"],
    rest: Int[np.ndarray, " r"],
    w: Float[np.ndarray, "S k r"],
    delta: Float[np.ndarray, "S r"],
) -> Float[np.ndarray, "S r"]:
    """The quadratic form of these moments in (w, delta)."""
    inside = moments[:, support[:, None], support] @ w
    cross = moments[:, support[:, None], rest]
    return (
        np.einsum("skr,skr->sr", w, inside + 2 * cross * delta[:, None])
        + moments[:, rest, rest] * delta**2
    )


def _blocks(
    moments: Float[np.ndarray, "S P P"], supports: Int[np.ndarray, "M k"]
) -> Float[np.ndarray, "S M k k"]:
    return moments[:, supports[:, :, None], supports[:, None, :]]


def _quadratic(
    moments: Float[np.ndarray, "_ P P"],
    supports: Int[np.ndarray, "M k"],
    w: Float[np.ndarray, "S M k"],
) -> Float[np.ndarray, "S M"]:
    product = (_blocks(moments, supports) @ w[..., None])[..., 0]
    return np.einsum("smk,smk->sm", w, product)


def as_mask(supports: Sequence[Int[np.ndarray, " _"]], n_features: int) -> np.ndarray:
    """One row for each support, true at its terms."""
    mask = np.zeros((len(supports), n_features), dtype=bool)
    for row, terms in zip(mask, supports, strict=True):
        row[terms] = True
    return mask


@final
@dataclass(frozen=True, eq=False)
class Candidates:
    """The best few supports of one size, best first, and their errors split by split."""

    supports: Int[np.ndarray, "M k"]
    inner: Float[np.ndarray, "M S"]
    outer: Float[np.ndarray, "M S"]


def search(
    parts: Splits,
    score: Callable[[np.ndarray], np.ndarray],
    moments: Moments,
    terms: Int[np.ndarray, " k"],
    equation: int,
    most_terms: int,
    always: Int[np.ndarray, " q"] | None = None,
) -> list[Candidates]:
    """For each number of terms, from none on, the best supports by `score` of their outer errors.
    The terms `always` are in each of them, and are not counted.

    Sizes are searched exhaustively while there are at most 3000 supports in all. From there on
    the best of one size grow by every other term; the Lasso path, forward growth and backward
    elimination on all rows add theirs. Of more than 64 terms only a shortlist is looked at.
    """
    terms = shortlist(moments, terms, equation)
    found: list[Candidates] = []
    seeds: list[np.ndarray] | None = None
    seen, best, since = 0, np.inf, 0
    kept = max(limits.BEAM_WIDTH, limits.CONTENDERS)
    most = min(len(terms), most_terms)
    always = np.zeros(0, dtype=np.int64) if always is None else always
    for size in range(most + 1):
        seen += math.comb(len(terms), size)
        if seen <= limits.MAX_EXHAUSTIVE:
            supports = np.array(list(itertools.combinations(terms, size)), dtype=np.int64)
            supports = supports.reshape(math.comb(len(terms), size), size)
            supports = _joined(supports, always)
        else:
            seeds = _paths(moments, terms, equation, most, always) if seeds is None else seeds
            supports = _grown(
                parts, score, found[-1].supports[: limits.BEAM_WIDTH], terms, equation
            )
            own = {tuple(seed.tolist()) for seed in seeds if len(seed) == size + len(always)}
            both = own | {tuple(support) for support in supports.tolist()}
            supports = np.array(sorted(both), dtype=np.int64)
        inner, outer = parts.errors(supports, equation)
        value = score(outer)
        order = np.argsort(value, kind="stable")[:kept]
        found.append(Candidates(supports[order], inner[order], outer[order]))
        since = 0 if value[order[0]] < best else since + 1
        best = min(best, value[order[0]])
        if seen > limits.MAX_EXHAUSTIVE and since >= limits.BEAM_PATIENCE:
            break
    return found


def shortlist(
    moments: Moments, terms: Int[np.ndarray, " k"], equation: int
) -> Int[np.ndarray, " s"]:
    """The first 64 terms that forward growth takes up; all where they are no more.

    By a Cholesky factor that grows with them, so that it costs 64 products of the Gram matrix's
    rows and looks at no pairs.
    """
    if len(terms) <= limits.SHORTLIST_TERMS:
        return terms
    slope, left = moments.a[terms, equation], moments.total.diagonal()[terms] / moments.count
    smallest = 1e-12 * left
    rows = np.zeros((limits.SHORTLIST_TERMS, len(terms)))
    chosen: list[int] = []
    for step, row in enumerate(rows):
        gain = np.where(left > smallest, slope**2 / np.maximum(left, 1e-300), 0.0)
        gain[chosen] = 0.0
        k = int(np.argmax(gain))
        if gain[k] <= 0:
            break
        products = moments.total[terms[k], terms] / moments.count
        row[:] = (products - rows[:step, k] @ rows[:step]) / np.sqrt(left[k])
        slope = slope - row * (slope[k] / row[k])
        left = left - row * row
        chosen.append(k)
    return np.sort(terms[chosen])


def _joined(
    supports: Int[np.ndarray, "M k"], always: Int[np.ndarray, " q"]
) -> Int[np.ndarray, "M kq"]:
    """The supports with these terms in each."""
    if not len(always):
        return supports
    return np.sort(np.hstack([supports, np.tile(always, (len(supports), 1))]), axis=1)


def contenders(found: list[Candidates]) -> list[Int[np.ndarray, " k"]]:
    """The best few supports of each size."""
    return [support for one in found for support in one.supports[: limits.CONTENDERS]]


def _grown(
    parts: Splits,
    score: Callable[[np.ndarray], np.ndarray],
    supports: Int[np.ndarray, "M k"],
    terms: Int[np.ndarray, " t"],
    equation: int,
) -> Int[np.ndarray, "_ k1"]:
    """The best of all supports that have one term more than one of these."""
    values: dict[tuple[int, ...], float] = {}
    for support in supports:
        rest = np.setdiff1d(terms, support)
        scores = score(parts.grown_errors(support, rest, equation))
        for place in np.argsort(scores, kind="stable")[: limits.MAX_GROWN_SUPPORTS]:
            larger = tuple(sorted((*support.tolist(), int(rest[place]))))
            values[larger] = float(scores[place])
    best = sorted(values, key=values.__getitem__)[: limits.MAX_GROWN_SUPPORTS]
    return np.array(best, dtype=np.int64).reshape(len(best), supports.shape[1] + 1)


def _paths(
    moments: Moments,
    terms: Int[np.ndarray, " k"],
    equation: int,
    most: int,
    always: Int[np.ndarray, " q"],
) -> list[np.ndarray]:
    """Supports along the Lasso path, forward growth and backward elimination, on all rows, of what
    the terms `always` leave."""
    if len(always):
        moments = moments.without(always)
    terms = terms[independent_terms(moments.A[np.ix_(terms, terms)])[0]]
    A, a = moments.A[np.ix_(terms, terms)], moments.a[terms, equation]
    along = []
    w = np.zeros(len(terms))
    for mu in 2 * np.abs(a).max(initial=1e-300) * np.logspace(-0.1, -5, limits.SEARCH_LASSO_STEPS):
        w = QuadraticProblem(A, a, float(mu)).solve(w)
        along.append(terms[np.flatnonzero(w)])
        if np.count_nonzero(w) > 3 * most:  # it will hardly come back to sets that are looked for
            break
    grown = growth(moments, terms, equation, most)
    found = along + grown + elimination(moments, terms, equation)
    return [np.sort(np.concatenate([one, always])) for one in found]


def elimination(
    moments: Moments, terms: Int[np.ndarray, " k"], equation: int
) -> list[Int[np.ndarray, " _"]]:
    """All terms, then one fewer each time, down to none.

    Least squares without term j has a squared error that is larger by w_j^2 / (A^-1)_jj. The
    inverse without a term is that with it less a matrix of rank one.
    """
    path = [terms]
    inverse = np.zeros((0, 0))
    while len(terms):
        if (len(path) - 1) % limits.INVERSE_REFRESH == 0:
            inverse = np.linalg.pinv(moments.A[np.ix_(terms, terms)], hermitian=True)
        w = inverse @ moments.a[terms, equation]
        out = int(np.argmin(w**2 / np.maximum(np.diag(inverse), 1e-300)))
        column = inverse[:, out] / np.sqrt(max(inverse[out, out], 1e-300))
        inverse = np.delete(np.delete(inverse - np.outer(column, column), out, 0), out, 1)
        terms = np.delete(terms, out)
        path.append(terms)
    return path


def growth(
    moments: Moments, terms: Int[np.ndarray, " k"], equation: int, most: int
) -> list[Int[np.ndarray, " _"]]:
    """No term, then one more each time, the one that lowers the squared error most."""
    chosen = np.zeros(0, dtype=np.int64)
    path: list[np.ndarray] = []
    A, a = moments.A, moments.a[:, equation]
    while len(chosen) < min(len(terms), most):
        rest = np.setdiff1d(terms, chosen)
        inner = np.linalg.pinv(A[np.ix_(chosen, chosen)], hermitian=True) @ A[np.ix_(chosen, rest)]
        slope = a[rest] - inner.T @ a[chosen]
        size = A[rest, rest] - np.einsum("kr,kr->r", A[np.ix_(chosen, rest)], inner)
        gain = np.where(size > 1e-12 * A[rest, rest], slope**2 / np.maximum(size, 1e-300), 0.0)
        chosen = np.sort(np.append(chosen, rest[np.argmax(gain)]))
        path.append(chosen)
    return path
