"""Claims 1 to 6: the paper's theorems, tested on random problems."""

import itertools
import math
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from orthoreg.diagnostics import (
    error_split,
    l2_hybrid,
    minibatch_bias,
    minibatch_tail,
    penalty_bound,
    two_stage,
)
from orthoreg.solving import Exact, Moments, Regularization
from orthoreg.solving._moments import overlaps, squared_norm

from ._evidence import Part, Reading, Verdict

_N = 30
_ROUNDED_AWAY = 1e-12
_EXACT = 1e-6  # maximum deviation from a closed form
_ROUNDING = 1e-9


def _small(value: float) -> str:
    """Format a deviation. Rounding errors are not shown, because they depend on the machine."""
    return f"{value:.1e}" if value > _ROUNDED_AWAY else f"below {_ROUNDED_AWAY:.0e}"


def statements(instances: int = 20) -> tuple[Verdict, ...]:
    """Return verdicts on the theoretical claims, from `instances` random problems each."""
    seeds = range(instances)
    return (_l2(seeds), _bound(seeds), _split(seeds), _batches(seeds), _stages(seeds),
            _composed(seeds))  # fmt: skip


def _l2(seeds: range) -> Verdict:
    """[thm:l2_failure]"""
    deviations, sizes = [], []
    for seed in seeds:
        phi, rng = _orthonormal(seed)
        lam2 = float(rng.uniform(0.2, 3.0))
        mu = float(rng.uniform(0.1, 0.9)) * 2 * lam2 / (1 + lam2)
        toy = l2_hybrid(mu, lam2)
        fit = _solve(phi, _any_function(), phi.sum(axis=1, keepdims=True), mu=mu, lam2=lam2)
        overlap = overlaps(phi, fit.f_aug)[:, 0]
        deviations += [np.abs(overlap / toy.overlap - 1).max(), np.abs(fit.w / toy.w - 1).max()]
        sizes.append(np.abs(overlap).min())
    return Verdict(
        1,
        "With an L1 penalty on the coefficients, a penalty on the size of the residual does not "
        "prevent overlap with the library, even if the library contains the truth.",
        ("thm:l2_failure", "ex:intro_sparsity_overlap"),
        "The claim holds if the exact minimizer of random toy problems has the coefficient and the "
        f"overlap of the closed form, with a relative error below {_EXACT:g}, and if the overlap "
        "is never zero.",
        "overlap mu / (2 lam2) and coefficient 1 - mu (1 + lam2) / (2 lam2)",
        (_reading(seeds, [
            Part(f"largest relative deviation {_small(max(deviations))}", max(deviations) < _EXACT),
            Part(f"smallest overlap {min(sizes):.3g}", min(sizes) > 1e-3),
        ]),),
    )  # fmt: skip


def _bound(seeds: range) -> Verdict:
    """[thm:penalty_bound_main]"""
    bounds = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        features, basis, y = (rng.standard_normal((_N, count)) for count in (4, 6, 2))
        mu, lam = float(rng.uniform(0.01, 1.0)), float(10 ** rng.uniform(-3, 3))
        fit = _solve(features, basis, y, mu=mu, lam=lam)
        bounds.append(penalty_bound(features, y, fit.w, fit.f_aug, mu=mu, lam=lam))
    shares = [bound.observed / bound.bound for bound in bounds]
    return Verdict(
        2,
        "At a minimizer, the sum of squared overlaps is at most the objective of the best purely "
        "symbolic model, divided by lam.",
        ("thm:penalty_bound_main", "thm:ortho_stationary"),
        "The claim holds if, for random problems with lam from 0.001 to 1000, the objective of the "
        "exact minimizer is at most that of the symbolic model, and if the sum of its squared "
        "overlaps is at most the bound.",
        "sum of squared overlaps at most (symbolic objective) / lam",
        (_reading(seeds, [
            Part("objective no worse than that of the symbolic model in every problem",
                 all(bound.assumption_holds for bound in bounds)),
            Part(f"observed / bound at most {max(shares):.3g}, median {np.median(shares):.2g}",
                 all(bound.holds for bound in bounds)),
        ]),),
    )  # fmt: skip


def _split(seeds: range) -> Verdict:
    """[thm:error_decomp]"""
    orthogonal, free = [], []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        features, basis, y = (rng.standard_normal((_N, count)) for count in (4, 6, 2))
        for lam, crosses in ((math.inf, orthogonal), (0.0, free)):
            fit = _solve(features, basis, y, mu=0.3, lam=lam)
            crosses.append(abs(error_split(features, y, fit.w, fit.f_aug).cross))
    return Verdict(
        3,
        "If the residual is orthogonal to the library, the squared error is the sum of an error "
        "inside the span of the library and an error outside.",
        ("thm:error_decomp",),
        "The claim holds if, for exact fits with an orthogonal residual, the sum of the two errors "
        f"differs from the total by less than {_ROUNDING:g} of the squared target, and if it "
        "differs by more for a residual without constraints.",
        "an identity; without orthogonality there is also a cross term",
        (_reading(seeds, [
            Part(f"difference with an orthogonal residual {_small(max(orthogonal))}",
                 max(orthogonal) < _ROUNDING),
            Part(f"difference without constraints at least {min(free):.1e}, "
                 f"median {np.median(free):.2g}", min(free) > _ROUNDING),
        ]),),
    )  # fmt: skip


def _batches(seeds: range) -> Verdict:
    """Test the claim on minibatches by sums over all possible batches. [lem:minibatch_deviation]"""
    tails, biases, two = [], [], []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        tails.append(_tail_excess(rng.integers(-6, 7, 40), int(rng.integers(1, 30))))
        products = rng.normal(0.2, 1.0, 6)
        for size in (1, 2, 4):
            drawn = np.array([np.mean(b) for b in itertools.product(products, repeat=size)])
            bias = np.mean(drawn**2) - products.mean() ** 2
            stated = minibatch_bias(products, size)
            per_sample = minibatch_bias(products, 1) / size  # O(1/B)
            biases += [abs(stated / bias - 1), abs(per_sample / bias - 1)]
            two.append(abs(np.mean(np.outer(drawn, drawn)) - products.mean() ** 2))
    return Verdict(
        4,
        "The deviation of a minibatch overlap satisfies Hoeffding's bound. The square of the "
        "overlap has the bias variance / B, and the product of two batches has no bias.",
        ("lem:minibatch_deviation", "app:complexity"),
        "The claim holds if no exact probability of a deviation exceeds the bound, if the exact "
        "bias of the squared estimate is Var / B for B = 1, 2, 4, with a relative error below "
        f"{_ROUNDING:g}, and if the two-batch estimate has no bias.",
        "tail 2 exp(-B eps^2 / (2 R^2)); bias of order 1/B, exactly the variance",
        (_reading(seeds, [
            Part(f"largest probability minus bound {max(tails):.2g}", max(tails) <= 1e-12),
            Part(f"bias against Var / B: deviation {_small(max(biases))}", max(biases) < _ROUNDING),
            Part(f"bias of two batches {_small(max(two))}", max(two) < _ROUNDING),
        ]),),
    )  # fmt: skip


def _stages(seeds: range) -> Verdict:
    """[prop:seq_two_stage_failure]"""
    free, penalised = [], []
    for seed in seeds:
        phi, rng = _orthonormal(seed)
        f = phi.sum(axis=1, keepdims=True)
        mu, lam = float(rng.uniform(0.1, 1.9)), float(10 ** rng.uniform(-1, 3))
        first = _solve(phi, phi[:, :0], f, mu=mu)
        leftover = f - first.f_phy
        for strength, deviations in ((0.0, free), (lam, penalised)):
            toy = two_stage(mu, strength)
            g = np.linalg.solve(np.eye(_N) + strength * phi @ phi.T / _N, leftover)
            overlap = overlaps(phi, g)[:, 0]
            deviations.append(np.abs(overlap / toy.overlap - 1).max())
            deviations.append(np.abs(first.w - toy.w).max())
    return Verdict(
        5,
        "A residual that is fitted without a penalty after a lasso has the overlap mu/2. If its "
        "overlap is penalized, it has the overlap (mu/2) / (1 + lam).",
        ("prop:seq_two_stage_failure", "app:sequential_extension"),
        "The claim holds if the overlaps of both pipelines on random toy problems have these "
        f"values, with a relative error below {_EXACT:g}.",
        "mu/2 and (mu/2) / (1 + lam)",
        (_reading(seeds, [
            Part(f"without a penalty: largest deviation {_small(max(free))}", max(free) < _EXACT),
            Part(f"with a penalty: {_small(max(penalised))}", max(penalised) < _EXACT),
        ]),),
    )  # fmt: skip


def _composed(seeds: range) -> Verdict:
    """Test the claim on composed networks, where a table of values represents an expressive
    network. [prop:seq_two_stage_failure]"""
    penalties, errors, deviations = [], [], []
    for seed in seeds:
        phi, rng = _orthonormal(seed)
        f = phi.sum(axis=1)
        mu = float(rng.uniform(0.1, 1.9))
        symbolic = _solve(phi, phi[:, :0], f[:, None], mu=mu).f_phy[:, 0].tolist()
        inputs = rng.uniform(100, 200, _N).tolist()
        network = dict.fromkeys(inputs, 0.0) | dict(zip(symbolic, f - symbolic, strict=True))
        at_inputs = np.array([[network[x]] for x in inputs])
        effective = np.array([[network[x]] for x in symbolic])
        penalties.append(float(np.sum(overlaps(phi, at_inputs) ** 2)))
        errors.append(squared_norm((f - symbolic)[:, None] - effective))
        overlap = overlaps(phi, effective)[:, 0]
        deviations.append(np.abs(overlap / two_stage(mu).overlap - 1).max())
    return Verdict(
        6,
        "A network composed with the symbolic part can fit any function with a penalty of zero at "
        "the measured states, while its effective residual has the overlap mu/2.",
        ("prop:seq_two_stage_failure", "app:limitations"),
        "The claim holds if, on random toy problems, the constructed network has zero penalty and "
        f"zero error, and an effective overlap of mu/2 with a relative error below {_EXACT:g}.",
        "penalty 0, effective overlap mu/2",
        (_reading(seeds, [
            Part(f"largest penalty {max(penalties):.1g}", max(penalties) < _ROUNDING),
            Part(f"largest squared error {max(errors):.1g}", max(errors) < _ROUNDING),
            Part(f"effective overlap: largest relative deviation {_small(max(deviations))}",
                 max(deviations) < _EXACT),
        ]),),
    )  # fmt: skip


def _reading(seeds: range, parts: list[Part]) -> Reading:
    return Reading.from_parts(f"{len(seeds)} random problems", parts)


def _tail_excess(products: np.ndarray, batch: int) -> float:
    """Return the largest excess of the exact probability of a deviation over its bound."""
    largest = int(np.abs(products).max())
    single = np.bincount(products + largest, minlength=2 * largest + 1) / len(products)
    chance = np.ones(1)
    for _ in range(batch):
        chance = np.convolve(chance, single)
    deviations = np.abs(np.arange(len(chance)) / batch - largest - products.mean())
    return max(
        float(chance[deviations >= deviation - 1e-9].sum())
        - minibatch_tail(float(largest), batch, float(deviation))
        for deviation in np.unique(deviations)
    )


@final
@dataclass(frozen=True, eq=False)
class _Fit:
    """The global minimizer, evaluated on the samples."""

    w: Float[np.ndarray, "c K"]
    f_phy: Float[np.ndarray, "N c"]
    f_aug: Float[np.ndarray, "N c"]


def _solve(
    features: Float[np.ndarray, "N K"],
    basis: Float[np.ndarray, "N R"],
    y: Float[np.ndarray, "N c"],
    *,
    mu: float,
    lam: float = 0.0,
    lam2: float = 0.0,
) -> _Fit:
    """Minimize |y - Phi w - Psi v|^2 + mu |w|_1 + lam sum_j <Psi v, phi_j>^2 + lam2 |Psi v|^2."""
    block = np.hstack([features, basis, y])
    moments = Moments(len(y), block.T @ block, features.shape[1], basis.shape[1])
    mask = np.ones((y.shape[1], features.shape[1]), bool)
    result = Exact().solve([moments], mask, Regularization(mu, lam, lam2), 0.0)
    return _Fit(result.coefficients, features @ result.coefficients.T, basis @ result.weights)


def _orthonormal(seed: int) -> tuple[Float[np.ndarray, "N 2"], np.random.Generator]:
    """Return two functions with <phi_i, phi_j>_D = 1 if i = j and 0 otherwise."""
    rng = np.random.default_rng(seed)
    return np.linalg.qr(rng.standard_normal((_N, 2)))[0] * math.sqrt(_N), rng


def _any_function() -> Float[np.ndarray, "N N"]:
    """Return a basis that represents any function on the samples."""
    return np.eye(_N) * math.sqrt(_N)
