"""Ready estimators: the recommended one, the paper's three, and its other pipelines.

The paper's follow its text: library, network, derivative targets, optimiser and strengths.
"""

import math

from .field import MLP, Zero
from .losses import SmoothedFiniteDifference, VectorField
from .model.estimator import OrthoReg
from .search.rows import Thresholding
from .solving import Adam, Exact, TwoStage
from .terms import Fourier, Polynomial


def recommended(seed: int = 0) -> OrthoReg:
    """What `OrthoReg()` is.

    Parameters
    ----------
    seed
        of random parts.

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
    """The paper's OrthoReg: Adam on the full batch, 2000 epochs, lam = 0.005, mu = 0.003.

    Parameters
    ----------
    orthogonality, sparsity
        lam and mu.
    seed
        of random parts.

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
    """The paper's L2 hybrid: lam2 = 0.005 on the size of the residual, mu = 0.001.

    Parameters
    ----------
    magnitude, sparsity
        lam2 and mu.
    seed
        of random parts.

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
    """The paper's purely symbolic model by Adam. It does not state mu; 0.001 is its L2 hybrid's.

    Parameters
    ----------
    sparsity
        mu.
    seed
        of random parts.

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
    """The purely symbolic model of `paper_pure` at its exact minimum.

    Parameters
    ----------
    sparsity
        mu.
    seed
        of random parts.

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
    return _with_paper_data(Zero(), sparsity, 0.0, 0.0, Exact(), seed)


def two_stage(orthogonality: float = 0.0, sparsity: float = 0.003, seed: int = 0) -> OrthoReg:
    """Lasso first, then a network for what it leaves; free, or with its overlap penalised.

    Parameters
    ----------
    orthogonality, sparsity
        lam of the second stage and mu of the first.
    seed
        of random parts.

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
    solver = TwoStage(then=Adam())
    return _with_paper_data(MLP(128, 3), sparsity, orthogonality, 0.0, solver, seed)


def selection_refit(threshold: float = 0.045, seed: int = 0) -> OrthoReg:
    """STLSQ chooses and refits the terms; the residual is exactly orthogonal to them.

    Parameters
    ----------
    threshold
        of STLSQ, in the units of coefficients.
    seed
        of random parts.

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
    model = _with_paper_data(MLP(128, 3), None, math.inf, 0.0, TwoStage(then=Adam()), seed)
    return model.set_params(selection=Thresholding(threshold))


def _paper(augmentation, sparsity, orthogonality, magnitude, seed) -> OrthoReg:
    return _with_paper_data(augmentation, sparsity, orthogonality, magnitude, Adam(), seed)


def _with_paper_data(augmentation, sparsity, orthogonality, magnitude, solver, seed) -> OrthoReg:
    return OrthoReg(
        Polynomial(2) + Fourier(1),
        augmentation,
        sparsity=sparsity,
        orthogonality=orthogonality,
        magnitude=magnitude,
        loss=VectorField(SmoothedFiniteDifference()),
        solver=solver,
        gate=None,
        seed=seed,
    )


PRESETS = {
    preset.__name__: preset
    for preset in (
        recommended, paper_orthoreg, paper_l2, paper_pure, lasso, two_stage, selection_refit,
    )
}  # fmt: skip
"""Every preset by its name."""
