"""Find relations between constants per run and covariates.

The estimate y_r from run r has the standard error s_r. A relation g predicts the estimates up to a
scatter, whose variance is added to s_r**2. Forms are compared by their likelihoods, with a price
for each constant.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, final

import numpy as np
from jaxtyping import Bool, Float
from scipy.optimize import minimize_scalar
from scipy.special import stdtrit
from scipy.stats import chi2

from ..data import Relation, evaluate_relation
from ..data._relation import Form
from . import _limits as limits


@final
class _Shape(NamedTuple):
    """A form of a relation: its kind, its covariates and, for powers, their exponents."""

    form: Form
    columns: tuple[int, ...]
    exponents: tuple[float, ...] = ()

    @property
    def size(self) -> int:
        """The number of constants."""
        return 1 if self.form == "power" else 2


@final
class _Match(NamedTuple):
    """A relation matched to runs: its constants, its scatter and its log-likelihood."""

    shape: _Shape
    values: Float[np.ndarray, " k"]
    scatter: float
    likelihood: float


_CONSTANT = _Shape("power", (), ())


def find_relation(
    y: Float[np.ndarray, " R"],
    std: Float[np.ndarray, " R"],
    covariates: Float[np.ndarray, "R q"],
    names: Sequence[str],
) -> Relation | None:
    """Return the relation of these estimates to covariates, or None.

    A relation must be clearly better than a constant and must predict left-out runs better. Runs
    with an unknown value or covariate are ignored.
    """
    is_known = np.isfinite(y) & np.isfinite(std) & (std > 0)
    best: tuple[float, _Match, Bool[np.ndarray, " R"]] | None = None
    shapes = list(_shapes(covariates))
    for shape in shapes:
        rows = is_known & np.isfinite(covariates[:, shape.columns]).all(axis=1)
        if rows.sum() < shape.size + limits.MIN_RELATION_FREEDOM:
            continue
        data = _Runs(y[rows], std[rows], covariates[rows])
        match, mean = data.match(shape), data.match(_CONSTANT)
        gain = match.likelihood - mean.likelihood
        price = limits.SECOND_CONSTANT * (shape.size - 1) + np.log(len(shapes))
        price += limits.COMPLEX_RELATION * sum(p % 1 != 0 for p in shape.exponents)
        score = gain - price
        if score > limits.RELATION_GAIN and (best is None or score > best[0]):
            best = score, match, rows
    if best is None:
        return None
    _, match, rows = best
    return _Runs(y[rows], std[rows], covariates[rows]).relation(match, names)


def _shapes(covariates: Float[np.ndarray, "R q"]) -> Iterator[_Shape]:
    """Yield the forms that are defined for these covariates."""
    with np.errstate(invalid="ignore"):
        is_positive = (covariates > 0) | np.isnan(covariates)
    differs = [len(np.unique(column[np.isfinite(column)])) > 1 for column in covariates.T]
    positive = [j for j, column in enumerate(is_positive.T) if column.all() and differs[j]]
    for j, is_varied in enumerate(differs):
        if is_varied:
            yield _Shape("linear", (j,))
            yield _Shape("exponential", (j,))
    for j in positive:
        yield _Shape("free power", (j,))
        yield from (_Shape("power", (j,), (p,)) for p in limits.EXPONENTS)
    for pair in itertools.combinations(positive, 2):
        for exponents in itertools.product(limits.PAIR_EXPONENTS, repeat=2):
            yield _Shape("power", pair, exponents)


@final
class _Runs(NamedTuple):
    """Estimates, standard errors and covariates of runs."""

    y: Float[np.ndarray, " R"]
    std: Float[np.ndarray, " R"]
    z: Float[np.ndarray, "R q"]

    @property
    def is_relative(self) -> bool:
        """Whether the scatter is relative. This requires that all constants have the same sign."""
        return bool((self.y > 0).all() or (self.y < 0).all())

    def only(self, rows: Bool[np.ndarray, " R"]) -> "_Runs":
        return _Runs(self.y[rows], self.std[rows], self.z[rows])

    def match(self, shape: _Shape) -> _Match:
        """Return the most likely constants and scatter."""
        values = self._values(shape, self.std**2)
        largest = float(np.std(self.y)) / (float(np.abs(self.y).mean()) if self.is_relative else 1)
        scatters = [0.0, *(largest * np.geomspace(limits.MIN_SCATTER, 2.0, limits.SCATTERS))]
        best: _Match | None = None
        for scatter in scatters:
            variance = self.std**2
            for _ in range(limits.SCATTER_ROUNDS):
                at = np.abs(self.at(shape, values)) if self.is_relative else np.ones_like(self.y)
                variance = self.std**2 + (scatter * at) ** 2
                values = self._values(shape, variance)
            residual = self.y - self.at(shape, values)
            likelihood = -0.5 * float(np.sum(np.log(variance) + residual**2 / variance))
            if best is None or likelihood > best.likelihood:
                best = _Match(shape, values, scatter, likelihood)
        assert best is not None
        return best

    def at(self, shape: _Shape, values: Float[np.ndarray, " k"]) -> Float[np.ndarray, " R"]:
        z = self.z[:, shape.columns]
        return evaluate_relation(shape.form, shape.exponents, values, z)[0]

    def _values(self, shape: _Shape, variance: Float[np.ndarray, " R"]) -> Float[np.ndarray, " k"]:
        """Return the constants that minimize the weighted squared deviations."""
        z, root = self.z[:, shape.columns], np.sqrt(variance)

        if shape.form == "power":
            factor = np.prod(z ** np.array(shape.exponents), axis=1)
            return np.array([(factor * self.y / variance).sum() / (factor**2 / variance).sum()])
        if shape.form == "linear":
            columns = np.column_stack([np.ones(len(z)), z[:, 0]]) / root[:, None]
            return np.linalg.lstsq(columns, self.y / root, rcond=None)[0]
        x = np.log(z[:, 0]) if shape.form == "free power" else z[:, 0]
        center, size = x.mean(), x.std()
        reach = limits.MAX_LOG_RANGE / size

        def fit(b: Float[np.ndarray, " B"]) -> tuple[np.ndarray, np.ndarray]:
            shape = np.exp(b[:, None] * (x - center))
            a = (shape * self.y / variance).sum(axis=1) / (shape**2 / variance).sum(axis=1)
            return a, ((self.y - a[:, None] * shape) ** 2 / variance).sum(axis=1)

        def error(b: float) -> float:
            return float(fit(np.array([b]))[1][0])

        grid = np.linspace(-reach, reach, limits.RATES)
        start = int(np.argmin(fit(grid)[1]))
        ends = grid[max(start - 1, 0)], grid[min(start + 1, len(grid) - 1)]
        minimum: Any = minimize_scalar(
            error, bounds=ends, method="bounded", options={"xatol": limits.RATE_ACCURACY}
        )
        b = float(minimum.x)
        a = float(fit(np.array([b]))[0][0])
        return np.array([a * np.exp(-b * center), b])

    def relation(self, match: _Match, names: Sequence[str]) -> Relation | None:
        """Return the relation with intervals and tests.

        Return None if the mean of the other runs predicts left-out runs better.
        """
        shape, count = match.shape, match.shape.size
        freedom = len(self.y) - count
        value = self.at(shape, match.values)
        exact = self.only(np.ones(len(self.y), dtype=bool))._values(shape, self.std**2)
        squares = float(np.sum(((self.y - self.at(shape, exact)) / self.std) ** 2))
        probability = float(chi2.sf(squares, freedom))
        scatter, values = match.scatter, match.values
        if probability > limits.RELATION_LEVEL:
            scatter, values = 0.0, exact
            value = self.at(shape, values)
        variance = self.std**2
        if scatter:
            variance = variance + (scatter * (np.abs(value) if self.is_relative else 1.0)) ** 2
        z = self.z[:, shape.columns]
        _, slopes = evaluate_relation(shape.form, shape.exponents, values, z)
        covariance = np.linalg.pinv((slopes / variance[:, None]).T @ slopes, hermitian=True)
        reach = float(stdtrit(freedom, 0.975)) * np.sqrt(np.diag(covariance))
        left_out, spread = self._left_out_errors(shape, variance)
        if not left_out < spread:
            return None
        return Relation(
            form=shape.form,
            covariates=tuple(names[j] for j in shape.columns),
            exponents=shape.exponents,
            values=tuple(values.tolist()),
            intervals=tuple(
                (float(v - r), float(v + r)) for v, r in zip(values, reach, strict=True)
            ),
            covariance=tuple(map(tuple, covariance.tolist())),
            scatter=float(scatter),
            is_relative=self.is_relative,
            chi_squared=squares,
            degrees_of_freedom=freedom,
            probability=probability,
            left_out_error=left_out,
            spread=spread,
        )

    def _left_out_errors(
        self, shape: _Shape, variance: Float[np.ndarray, " R"]
    ) -> tuple[float, float]:
        """Return the root mean square errors of predictions for runs that are left out one at a
        time.

        The first is the error of the relation, the second that of the mean. Both are relative to
        the mean size of the constant.
        """
        errors = []
        for run in range(len(self.y)):
            rows = np.arange(len(self.y)) != run
            rest, one = self.only(rows), self.only(~rows)
            values = rest._values(shape, variance[rows])
            errors.append((one.at(shape, values)[0] - one.y[0], rest.y.mean() - one.y[0]))
        rms = np.sqrt(np.mean(np.square(errors), axis=0)) / np.abs(self.y).mean()
        return float(rms[0]), float(rms[1])
