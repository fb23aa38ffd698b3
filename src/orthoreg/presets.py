"""Ready-to-use estimators: the recommended default, the three methods of the paper, and further
pipelines.

The estimators of the paper use its library, network, derivative targets, optimiser and weights.
"""

import math

from .field import MLP, AbstractAugmentation, Zero
from .losses import SmoothedFiniteDifference, VectorField
from .model.estimator import OrthoReg
from .search.rows import Thresholding
from .solving import AbstractSolver, Adam, Exact, TwoStage
from .terms import Fourier, Polynomial


def recommended(seed: int = 0) -> OrthoReg:
    """Return `OrthoReg()`, the default estimator.

    Parameters
    ----------
    seed
        seed of the random numbers.

    Returns
    -------
    model
        an `OrthoReg` to fit.

    Examples
    --------
    >>> import orthoreg as og
    >>> og.presets.recommended(seed=1).seed
    1
    """
    return OrthoReg(seed=seed)


def paper_orthoreg(
    orthogonality: float = 0.005, sparsity: float = 0.003, seed: int = 0
) -> OrthoReg:
    """Return the paper's OrthoReg: Adam on the full batch, 2000 epochs, lam = 0.005, mu = 0.003.

    Parameters
    ----------
    orthogonality, sparsity
        lam and mu.
    seed
        seed of the random numbers.

    Returns
    -------
    model
        an `OrthoReg` to fit.

    Examples
    --------
    >>> import orthoreg as og
    >>> og.presets.paper_orthoreg().orthogonality
    0.005
    """
    return _paper(MLP(128, 3), sparsity, orthogonality, 0.0, seed)


def paper_l2(magnitude: float = 0.005, sparsity: float = 0.001, seed: int = 0) -> OrthoReg:
    """Return the paper's L2 hybrid, with lam2 = 0.005 and mu = 0.001.

    Parameters
    ----------
    magnitude, sparsity
        lam2 and mu.
    seed
        seed of the random numbers.

    Returns
    -------
    model
        an `OrthoReg` to fit.

    Examples
    --------
    >>> import orthoreg as og
    >>> og.presets.paper_l2().magnitude
    0.005
    """
    return _paper(MLP(128, 3), sparsity, 0.0, magnitude, seed)


def paper_pure(sparsity: float = 0.001, seed: int = 0) -> OrthoReg:
    """Return the paper's purely symbolic model, trained by Adam.

    The paper does not state mu; 0.001 is the value of its L2 hybrid.

    Parameters
    ----------
    sparsity
        mu.
    seed
        seed of the random numbers.

    Returns
    -------
    model
        an `OrthoReg` to fit.

    Examples
    --------
    >>> import orthoreg as og
    >>> og.presets.paper_pure().augmentation
    Zero()
    """
    return _paper(Zero(), sparsity, 0.0, 0.0, seed)


def lasso(sparsity: float = 0.001, seed: int = 0) -> OrthoReg:
    """Return the purely symbolic model of `paper_pure` at its exact minimum.

    Parameters
    ----------
    sparsity
        mu.
    seed
        seed of the random numbers.

    Returns
    -------
    model
        an `OrthoReg` to fit.

    Examples
    --------
    >>> import orthoreg as og
    >>> og.presets.lasso(sparsity=0.01).sparsity
    0.01
    """
    return _paper(Zero(), sparsity, 0.0, 0.0, seed, Exact())


def two_stage(orthogonality: float = 0.0, sparsity: float = 0.003, seed: int = 0) -> OrthoReg:
    """Return a Lasso model with a network for its residual. The overlap may be penalised.

    Parameters
    ----------
    orthogonality, sparsity
        lam of the second stage and mu of the first.
    seed
        seed of the random numbers.

    Returns
    -------
    model
        an `OrthoReg` to fit.

    Examples
    --------
    >>> import orthoreg as og
    >>> type(og.presets.two_stage().solver).__name__
    'TwoStage'
    """
    return _paper(MLP(128, 3), sparsity, orthogonality, 0.0, seed, TwoStage(then=Adam()))


def selection_refit(threshold: float = 0.045, seed: int = 0) -> OrthoReg:
    """Return a model with terms selected by STLSQ and an exactly orthogonal residual.

    Parameters
    ----------
    threshold
        threshold of STLSQ, in the units of the coefficients.
    seed
        seed of the random numbers.

    Returns
    -------
    model
        an `OrthoReg` to fit.

    Examples
    --------
    >>> import orthoreg as og
    >>> og.presets.selection_refit().selection.threshold
    0.045
    """
    model = _paper(MLP(128, 3), None, math.inf, 0.0, seed, TwoStage(then=Adam()))
    return model.set_params(selection=Thresholding(threshold))


def _paper(
    augmentation: AbstractAugmentation,
    sparsity: float | None,
    orthogonality: float,
    magnitude: float,
    seed: int,
    solver: AbstractSolver | None = None,
) -> OrthoReg:
    """Return a model with the paper's library and derivatives. The solver is `Adam()` if None."""
    return OrthoReg(
        Polynomial(2) + Fourier(1),
        augmentation,
        sparsity=sparsity,
        orthogonality=orthogonality,
        magnitude=magnitude,
        loss=VectorField(SmoothedFiniteDifference()),
        solver=Adam() if solver is None else solver,
        gate=None,
        seed=seed,
    )


PRESETS = {
    preset.__name__: preset
    for preset in (
        recommended, paper_orthoreg, paper_l2, paper_pure, lasso, two_stage, selection_refit,
    )
}  # fmt: skip
"""All presets by name."""
