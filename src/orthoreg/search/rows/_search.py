"""Search for supports, and compute their errors on held-out parts of the data, from moments."""

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
    """Mean second moments of the inner and outer part of each split, and of all rows.

    `all` has one entry per data set, each for an equal number of consecutive splits.
    `extrapolation_gram` weights the difference of fits beyond the data, `centered` contains the
    sizes of terms, and `bounds` are the bounds on coefficients.
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
        """Return the mean squared errors of fits to the inner parts, on the inner and on the outer
        parts.

        Outer errors include the squared distance, beyond the data, between each fit and the fit to
        all rows. Terms of a support cancel if, in the fit to all rows, they are more than
        `MAX_CANCELLATION` times larger than their sum. The error of such a support is set larger
        than the error without any terms.
        """
        y = self.target(equation)
        w = least_squares(self.inner, supports, y, self.bounds)
        inner = squared_errors(self.inner, supports, y, w)
        outer = squared_errors(self.outer, supports, y, w)
        overall = least_squares(self.all, supports, y, self.bounds)
        repeats = len(w) // len(overall)
        gram = self.extrapolation_gram
        if gram.any():
            outer += _quadratic(gram[None], supports, w - np.repeat(overall, repeats, axis=0))
        cancellation = self._cancellation(supports, overall)
        excess = np.repeat(cancellation / limits.MAX_CANCELLATION, repeats, axis=0)
        refused = excess**2 * self.outer[:, y, y][:, None]  # 1 is the error without terms
        return inner.T, np.where(excess > 1, np.maximum(outer, refused), outer).T

    def _cancellation(
        self, supports: Int[np.ndarray, "M k"], w: Float[np.ndarray, "R M k"]
    ) -> Float[np.ndarray, "R M"]:
        """Return the ratio of the size of the terms to the size of their sum.

        It is exact if it is large.
        """
        size = np.sqrt(np.maximum(_quadratic(self.all, supports, w), 0.0))
        ratio = np.abs(w).sum(axis=2) / np.maximum(size, 1e-150)  # terms have mean square one
        r, m = np.nonzero(ratio > limits.MAX_CANCELLATION)
        coefficients = np.zeros((len(r), len(self.extrapolation_gram)))
        np.put_along_axis(coefficients, supports[m], w[r, m], axis=1)
        ratio[r, m] = self.centered.cancellation(coefficients, size[r, m])
        return ratio

    def grown_errors(
        self, support: Int[np.ndarray, " k"], others: Int[np.ndarray, " r"], equation: int
    ) -> Float[np.ndarray, "r S"]:
        """Return the outer errors of the support with one more term, for each term in `others`.

        Adding term j moves the fit by delta_j = (r_j - C_j'w) / (A_jj - C_j'M_j) along (-M_j, 1)
        with M = A^-1 C, so one factorization serves all terms. Because of rounding errors, the
        result is suitable only for ranking; `errors` scores the best supports.
        """
        w, delta = _grown_fits(self.inner, support, others, self.target(equation))
        y, outer = self.target(equation), self.outer
        errors = (
            outer[:, y, y, None]
            - 2 * np.einsum("sk,skr->sr", outer[:, support, y], w)
            - 2 * outer[:, others, y] * delta
            + _grown_quadratic(outer, support, others, w, delta)
        )
        if self.extrapolation_gram.any():
            overall, shift = _grown_fits(self.all, support, others, y)
            repeats = len(w) // len(overall)
            w, delta = (
                w - np.repeat(overall, repeats, axis=0),
                delta - np.repeat(shift, repeats, axis=0),
            )
            gram = self.extrapolation_gram[None]
            errors = errors + _grown_quadratic(gram, support, others, w, delta)
        return np.where(np.isfinite(errors), np.maximum(errors, 0.0), np.inf).T


def splits(
    cells: PartitionedMoments, outer: Bool[np.ndarray, "C S"], *, caution: float = 0.0
) -> Splits:
    """Return the splits with these cells as outer parts, except splits with an empty part.

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
    """Return a mask of the fold that contains each cell. Groups are distributed over the folds."""
    count = min(most, cells.n_groups)
    return cells.group[:, None] % count == np.arange(count)


def least_squares(
    moments: Float[np.ndarray, "S P P"],
    supports: Int[np.ndarray, "M k"],
    target: int,
    bounds: Float[np.ndarray, "2 K"] | None = None,
) -> Float[np.ndarray, "S M k"]:
    """Return the coefficients of each support's terms, from each split's moments.

    A coefficient beyond its bound is fixed at the bound, and the other coefficients are solved for
    again. NumPy's batched solver handles thousands of small systems in one call; a separate
    `QuadraticProblem` for each would take a hundred times longer.
    """
    A = _blocks(moments, supports) + limits.DIAGONAL_ROUNDING * np.eye(supports.shape[1])
    r = moments[:, supports, target]
    w = np.linalg.solve(A, r[..., None])[..., 0]
    if bounds is None or not np.isfinite(bounds).any():
        return w
    low, high = (np.broadcast_to(ends[supports], w.shape) for ends in bounds)
    at_bound = np.zeros(w.shape, dtype=bool)
    for _ in range(supports.shape[1]):
        beyond = ~at_bound & ((w < low) | (w > high))
        affected = np.nonzero(beyond.any(axis=2))
        if not len(affected[0]):
            break
        at_bound |= beyond
        w = np.where(beyond, np.clip(w, low, high), w)
        fixed, values = at_bound[affected], w[affected]
        free = ~fixed
        part = A[affected] * free[:, :, None] * free[:, None, :]
        part = part + fixed[:, :, None] * np.eye(fixed.shape[1])
        right = np.where(
            free, r[affected] - np.einsum("nkl,nl->nk", A[affected], values * fixed), values
        )
        w[affected] = np.linalg.solve(part, right[..., None])[..., 0]
    return np.clip(w, low, high)


def squared_errors(
    moments: Float[np.ndarray, "S P P"],
    supports: Int[np.ndarray, "M k"],
    target: int,
    w: Float[np.ndarray, "S M k"],
) -> Float[np.ndarray, "S M"]:
    """Return |y - Phi w|^2 from moments."""
    linear = np.einsum("smk,smk->sm", moments[:, supports, target], w)
    square = moments[:, target, target][:, None] + _quadratic(moments, supports, w)
    return np.maximum(square - 2 * linear, 0.0)


def _grown_fits(
    moments: Float[np.ndarray, "S P P"],
    support: Int[np.ndarray, " k"],
    others: Int[np.ndarray, " r"],
    target: int,
) -> tuple[Float[np.ndarray, "S k r"], Float[np.ndarray, "S r"]]:
    """Return the least-squares coefficients of the support and of one further term."""
    A = moments[:, support[:, None], support] + limits.DIAGONAL_ROUNDING * np.eye(len(support))
    C = moments[:, support[:, None], others]
    columns = np.concatenate([moments[:, support, target][..., None], C], axis=2)
    solved = np.linalg.solve(A, columns) if len(support) else columns
    w, M = solved[..., :1], solved[..., 1:]
    remaining = (
        moments[:, others, others] + limits.DIAGONAL_ROUNDING - np.einsum("skr,skr->sr", C, M)
    )
    slope = moments[:, others, target] - np.einsum("skr,sk->sr", C, w[..., 0])
    with np.errstate(divide="ignore", invalid="ignore"):
        delta = np.where(remaining > limits.DIAGONAL_ROUNDING, slope / remaining, np.nan)
    return w - M * delta[:, None], delta


def _grown_quadratic(
    moments: Float[np.ndarray, "_ P P"],
    support: Int[np.ndarray, " k"],
    others: Int[np.ndarray, " r"],
    w: Float[np.ndarray, "S k r"],
    delta: Float[np.ndarray, "S r"],
) -> Float[np.ndarray, "S r"]:
    """Return the quadratic form of these moments in (w, delta)."""
    inner = moments[:, support[:, None], support] @ w
    cross = moments[:, support[:, None], others]
    return (
        np.einsum("skr,skr->sr", w, inner + 2 * cross * delta[:, None])
        + moments[:, others, others] * delta**2
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
    """Return a mask with one row per support, true at its terms."""
    mask = np.zeros((len(supports), n_features), dtype=bool)
    for row, terms in zip(mask, supports, strict=True):
        row[terms] = True
    return mask


@final
@dataclass(frozen=True, eq=False)
class Candidates:
    """The best supports of one size, best first, with their errors in each split."""

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
    required: Int[np.ndarray, " q"] | None = None,
) -> list[Candidates]:
    """Return the best supports of each size, starting with no terms, ranked by the `score` of outer
    errors.

    The `required` terms are in every support and are not counted. Sizes are searched exhaustively
    while the total number of supports is at most `MAX_EXHAUSTIVE`. For larger sizes, the best
    supports of the previous size are combined with every other term; the Lasso path, forward growth
    and backward elimination on all rows are added. With more than `SHORTLIST_TERMS` terms, only a
    shortlist is searched.
    """
    terms = shortlist(moments, terms, equation)
    result: list[Candidates] = []
    seeds: list[np.ndarray] | None = None
    seen, best, since = 0, np.inf, 0
    count = max(limits.BEAM_WIDTH, limits.CONTENDERS)
    max_size = min(len(terms), most_terms)
    required = np.zeros(0, dtype=np.int64) if required is None else required
    for size in range(max_size + 1):
        seen += math.comb(len(terms), size)
        if seen <= limits.MAX_EXHAUSTIVE:
            supports = np.array(list(itertools.combinations(terms, size)), dtype=np.int64)
            supports = supports.reshape(math.comb(len(terms), size), size)
            supports = _joined(supports, required)
        else:
            seeds = _paths(moments, terms, equation, max_size, required) if seeds is None else seeds
            supports = _grown(
                parts, score, result[-1].supports[: limits.BEAM_WIDTH], terms, equation
            )
            of_size = {tuple(seed.tolist()) for seed in seeds if len(seed) == size + len(required)}
            merged = of_size | {tuple(support) for support in supports.tolist()}
            supports = np.array(sorted(merged), dtype=np.int64)
        inner, outer = parts.errors(supports, equation)
        value = score(outer)
        order = np.argsort(value, kind="stable")[:count]
        result.append(Candidates(supports[order], inner[order], outer[order]))
        since = 0 if value[order[0]] < best else since + 1
        best = min(best, value[order[0]])
        if seen > limits.MAX_EXHAUSTIVE and since >= limits.BEAM_PATIENCE:
            break
    return result


def shortlist(
    moments: Moments, terms: Int[np.ndarray, " k"], equation: int
) -> Int[np.ndarray, " s"]:
    """Return the first `SHORTLIST_TERMS` terms of forward growth, or all terms if there are no
    more.

    A growing Cholesky factor needs only as many rows of the Gram matrix.
    """
    if len(terms) <= limits.SHORTLIST_TERMS:
        return terms
    slope, remaining = moments.a[terms, equation], moments.total.diagonal()[terms] / moments.count
    smallest = limits.INDEPENDENT_SQUARE * remaining
    rows = np.zeros((limits.SHORTLIST_TERMS, len(terms)))
    chosen: list[int] = []
    for step, row in enumerate(rows):
        gain = np.where(remaining > smallest, slope**2 / np.maximum(remaining, 1e-300), 0.0)
        gain[chosen] = 0.0
        k = int(np.argmax(gain))
        if gain[k] <= 0:
            break
        products = moments.total[terms[k], terms] / moments.count
        row[:] = (products - rows[:step, k] @ rows[:step]) / np.sqrt(remaining[k])
        slope = slope - row * (slope[k] / row[k])
        remaining = remaining - row * row
        chosen.append(k)
    return np.sort(terms[chosen])


def _joined(
    supports: Int[np.ndarray, "M k"], required: Int[np.ndarray, " q"]
) -> Int[np.ndarray, "M kq"]:
    """Return the supports with the required terms added."""
    if not len(required):
        return supports
    return np.sort(np.hstack([supports, np.tile(required, (len(supports), 1))]), axis=1)


def contenders(candidates: list[Candidates]) -> list[Int[np.ndarray, " k"]]:
    """Return the best supports of each size."""
    return [support for best in candidates for support in best.supports[: limits.CONTENDERS]]


def _grown(
    parts: Splits,
    score: Callable[[np.ndarray], np.ndarray],
    supports: Int[np.ndarray, "M k"],
    terms: Int[np.ndarray, " t"],
    equation: int,
) -> Int[np.ndarray, "_ k1"]:
    """Return the best supports that have one term more than one of these supports."""
    values: dict[tuple[int, ...], float] = {}
    for support in supports:
        others = np.setdiff1d(terms, support)
        scores = score(parts.grown_errors(support, others, equation))
        for index in np.argsort(scores, kind="stable")[: limits.MAX_GROWN_SUPPORTS]:
            larger = tuple(sorted((*support.tolist(), int(others[index]))))
            values[larger] = float(scores[index])
    best = sorted(values, key=values.__getitem__)[: limits.MAX_GROWN_SUPPORTS]
    return np.array(best, dtype=np.int64).reshape(len(best), supports.shape[1] + 1)


def _paths(
    moments: Moments,
    terms: Int[np.ndarray, " k"],
    equation: int,
    max_size: int,
    required: Int[np.ndarray, " q"],
) -> list[np.ndarray]:
    """Return supports along the Lasso path, forward growth and backward elimination on all rows.

    The required terms are eliminated first.
    """
    if len(required):
        moments = moments.without(required)
    terms = terms[independent_terms(moments.A[np.ix_(terms, terms)])[0]]
    A, a = moments.A[np.ix_(terms, terms)], moments.a[terms, equation]
    path = []
    w = np.zeros(len(terms))
    for mu in 2 * np.abs(a).max(initial=1e-300) * np.logspace(-0.1, -5, limits.SEARCH_LASSO_STEPS):
        w = QuadraticProblem(A, a, float(mu)).solve(w)
        path.append(terms[np.flatnonzero(w)])
        if np.count_nonzero(w) > 3 * max_size:  # the path rarely returns to smaller sets
            break
    grown = growth(moments, terms, equation, max_size)
    supports = path + grown + elimination(moments, terms, equation)
    return [np.sort(np.concatenate([support, required])) for support in supports]


def elimination(
    moments: Moments, terms: Int[np.ndarray, " k"], equation: int
) -> list[Int[np.ndarray, " _"]]:
    """Return all terms, then one term fewer each time, down to none.

    Least squares without term j increases the squared error by w_j^2 / (A^-1)_jj. Removing a term
    from the inverse is a rank-one update.
    """
    path = [terms]
    inverse = np.zeros((0, 0))
    while len(terms):
        if (len(path) - 1) % limits.INVERSE_REFRESH == 0:
            inverse = np.linalg.pinv(moments.A[np.ix_(terms, terms)], hermitian=True)
        w = inverse @ moments.a[terms, equation]
        weakest = int(np.argmin(w**2 / np.maximum(np.diag(inverse), 1e-300)))
        column = inverse[:, weakest] / np.sqrt(max(inverse[weakest, weakest], 1e-300))
        inverse = np.delete(np.delete(inverse - np.outer(column, column), weakest, 0), weakest, 1)
        terms = np.delete(terms, weakest)
        path.append(terms)
    return path


def growth(
    moments: Moments, terms: Int[np.ndarray, " k"], equation: int, max_size: int
) -> list[Int[np.ndarray, " _"]]:
    """Return sets with one more term each time: the term that lowers the squared error most."""
    chosen = np.zeros(0, dtype=np.int64)
    path: list[np.ndarray] = []
    A, a = moments.A, moments.a[:, equation]
    while len(chosen) < min(len(terms), max_size):
        others = np.setdiff1d(terms, chosen)
        inner = (
            np.linalg.pinv(A[np.ix_(chosen, chosen)], hermitian=True) @ A[np.ix_(chosen, others)]
        )
        slope = a[others] - inner.T @ a[chosen]
        size = A[others, others] - np.einsum("kr,kr->r", A[np.ix_(chosen, others)], inner)
        gain = np.where(
            size > limits.INDEPENDENT_SQUARE * A[others, others],
            slope**2 / np.maximum(size, 1e-300),
            0.0,
        )
        chosen = np.sort(np.append(chosen, others[np.argmax(gain)]))
        path.append(chosen)
    return path
