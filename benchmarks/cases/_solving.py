"""Cases from moments to a model."""

import math
from functools import lru_cache, partial
from typing import Any

import numpy as np

import orthoreg as og
from orthoreg.solving import Moments, exact_path, gather
from orthoreg.terms import bind
from paper.timing import Epochs, batch

from ..flows import chain, chain_support, dataset, incomplete, pendulum
from ._case import Case, Peer, Work
from ._plain_loop import plain_loop

_WIDTH, _RIDGE = 400, 1e-7
_PAIRS = 20
_EPOCHS, _WHOLE = 20, 2000


@lru_cache
def _moments() -> tuple[Moments, np.ndarray]:
    """Return moments of the pendulum's terms and random features, and the mask of terms."""
    rows = og.VectorField(og.SmoothedFiniteDifference()).observe(dataset(100, 100, incomplete))
    features = bind(og.Polynomial(2) + og.Fourier(1), rows.names, rows.outputs)
    basis = og.RandomFeatures(_WIDTH).init(
        rows.extent.mean, rows.extent.std, rng=np.random.default_rng(0)
    )
    (moments,) = gather(features, basis, rows)
    return moments, features.mask


def _exact_solve(peers: bool) -> Work:
    moments, mask = _moments()
    return Work(
        lambda: exact_path(moments, mask, [0.005], [0.003], ridge=_RIDGE),
        {"gemm": 4 / 3 * _WIDTH**3},
    )


def _path(peers: bool) -> Work:
    moments, mask = _moments()
    lams, mus = (*np.logspace(-4, 4, _PAIRS - 1), math.inf), tuple(np.logspace(-5, 0, _PAIRS))
    others = {}
    if peers:
        import sklearn.linear_model

        lasso_path: Any = sklearn.linear_model.lasso_path
        rows = og.VectorField(og.SmoothedFiniteDifference()).observe(dataset(100, 100, incomplete))
        phi = bind(og.Polynomial(2) + og.Fourier(1), rows.names, rows.outputs)(rows.points)
        y, alphas = rows.targets[:, 0], np.array(mus) / 2
        given = {"precompute": phi.T @ phi, "Xy": phi.T @ y, "check_input": False}

        def one_lam() -> Any:
            return lasso_path(phi, y, alphas=alphas, **given)

        # two equations per lam; forming their Gram matrices is not timed
        others = {"scikit-learn's lasso_path, Gram matrix given": Peer(one_lam, 2.0 * _PAIRS)}
    return Work(lambda: exact_path(moments, mask, lams, mus, ridge=_RIDGE), {}, others)


def _paper_fit(peers: bool) -> Work:
    data = batch(4096)
    x, y = data.states, data.derivatives
    exact = og.presets.paper_orthoreg().set_params(
        augmentation=og.RandomFeatures(200, ridge=_RIDGE), solver=og.Exact()
    )
    others = {}
    if peers:
        loop = plain_loop(x, y)
        loop(2)
        others = {"plain JAX loop of Algorithm 1": Peer(lambda: loop(_EPOCHS), _WHOLE / _EPOCHS)}
    return Work(lambda: exact.fit(x, y), {}, others)


def _adam_epoch(peers: bool) -> Work:
    data = batch(1000)
    epochs = Epochs(og.presets.paper_orthoreg(), data)
    epochs.window(0, _EPOCHS)
    others = {}
    if peers:
        loop = plain_loop(data.states, data.derivatives)
        loop(2)
        others = {"plain JAX loop": Peer(lambda: loop(_EPOCHS))}
    # one forward pass and a backward pass of twice the cost, through 128 x 3 units
    flops = 3 * 2 * 1000 * (2 * 128 + 2 * 128**2 + 128 * 2)
    return Work(lambda: epochs.window(1, _EPOCHS), {"gemm": 1.0 * flops * _EPOCHS}, others)


def _default_fit(peers: bool, count: int, slope: Any, dimension: int = 2) -> Work:
    data = dataset(count, 100, slope, dimension)
    og.OrthoReg().fit(data[:2])  # loads the modules that a fit needs
    return Work(lambda: og.OrthoReg().fit(data))


def _wide_fit(peers: bool) -> Work:
    data = dataset(1000, 100, chain, 200)
    model = og.OrthoReg(og.Polynomial(1))

    def checked() -> dict[str, float]:
        wrong = model.support_[:, 1:] != chain_support(100)
        return {"wrong terms": float(wrong.sum() + model.support_[:, 0].sum())}

    return Work(lambda: model.fit(data), {"gemm": 401.0**2 * 1e5}, {}, checked)


def _bootstrap(peers: bool) -> Work:
    model = og.OrthoReg().fit(dataset(20, 200))
    return Work(lambda: og.bootstrap(model, resamples=500))


def _explain(peers: bool) -> Work:
    data = dataset(10, 200, incomplete)
    model = og.OrthoReg().fit(data)
    others = {}
    if peers:
        others = _operon(data)
    return Work(lambda: model.explain(data), {}, others)


def _operon(data: og.Dataset) -> dict[str, Peer]:
    """Return symbolic regression of the equation that lacks a term, or nothing if Operon is not
    installed."""
    try:
        from pyoperon.sklearn import SymbolicRegressor  # pyright: ignore[reportMissingImports]
    except ImportError:
        return {}
    slopes = og.VectorField().observe(data).targets[:, 1]
    search = SymbolicRegressor(
        allowed_symbols="add,sub,mul,div,sin,cos,exp,tanh,constant,variable",
        max_evaluations=100_000, generations=1000, n_threads=1, random_state=0,
    )  # fmt: skip
    return {
        "Operon, 100,000 evaluations of one equation": Peer(lambda: search.fit(data.states, slopes))
    }


def _refine(peers: bool) -> Work:
    data = dataset(6, 300, pendulum, 2, 0.02)
    model = og.OrthoReg(loss=og.Weak()).fit(data)
    return Work(lambda: model.refine(data))


def _noisy_fit(peers: bool) -> Work:
    data = dataset(6, 300, pendulum, 2, 0.02)
    return Work(lambda: og.OrthoReg().fit(data))


CASES = (
    Case("solving", "exact solve, 400 random features", _exact_solve, 1, "pair"),
    Case("solving", "lam-mu path, 20 x 20 pairs", _path, _PAIRS**2, "pair", "call"),
    Case("solving", "exact fit of the paper's objective, 4,096 samples", _paper_fit,
         yardstick="gemm"),
    Case("solving", "Adam, 20 epochs of 1,000 samples", _adam_epoch, _EPOCHS, "epoch"),
    Case("solving", "bootstrap, 500 refits", _bootstrap, 500, "refit", "call"),
    Case("solving", "refine, 6 noisy runs of 300 rows", _refine, yardstick="call", guarded=False),
    Case("solving", "explain, 10 runs of 200 rows", _explain, guarded=False, repeats=1),
    Case("whole fits", "default fit, 1,000 runs of 100 rows, complete library",
         partial(_default_fit, count=1000, slope=pendulum), 1e5, "row", "call"),
    Case("whole fits", "default fit, 1,000 runs of 100 rows, with a residual",
         partial(_default_fit, count=1000, slope=incomplete), 1e5, "row", "gemm"),
    Case("whole fits", "default fit, 10,000 runs of 100 rows, complete library",
         partial(_default_fit, count=10_000, slope=pendulum), 1e6, "row", guarded=False, repeats=2),
    Case("whole fits", "default fit, 10,000 runs of 100 rows, with a residual",
         partial(_default_fit, count=10_000, slope=incomplete), 1e6, "row", guarded=False,
         repeats=2),
    Case("whole fits", "default fit, 6 noisy runs of 300 rows", _noisy_fit, 1800, "row",
         guarded=False, repeats=1),
    Case("whole fits", "default fit, 20 states, 20 runs of 100 rows",
         partial(_default_fit, count=20, slope=chain, dimension=20), 2000, "row", guarded=False,
         repeats=1),
    Case("whole fits", "100 coupled oscillators, 200 states, 100,000 rows", _wide_fit, 1e5, "row",
         guarded=False, repeats=1),
)  # fmt: skip
