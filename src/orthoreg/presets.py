"""Ready estimators: the recommended one, the paper's three, and its other pipelines.

The paper's follow its text: library, network, derivative targets, optimiser and strengths.
"""

import math

from ._estimator import OrthoReg
from .augmentations import MLP, Zero
from .differentiation import SmoothedFiniteDifference
from .libraries import Fourier, Polynomial
from .losses import VectorField
from .selection import Thresholding
from .solvers import Adam, Exact, TwoStage


def recommended(seed: int = 0) -> OrthoReg:
    """What `OrthoReg()` is."""
    return OrthoReg(seed=seed)


def paper_orthoreg(
    orthogonality: float = 0.005, sparsity: float = 0.003, seed: int = 0
) -> OrthoReg:
    """The paper's OrthoReg: Adam on the full batch, 2000 epochs, lam = 0.005, mu = 0.003."""
    return _paper(MLP(128, 3), sparsity, orthogonality, 0.0, seed)


def paper_l2(magnitude: float = 0.005, sparsity: float = 0.001, seed: int = 0) -> OrthoReg:
    """The paper's L2 hybrid: lam2 = 0.005 on the size of the residual, mu = 0.001."""
    return _paper(MLP(128, 3), sparsity, 0.0, magnitude, seed)


def paper_pure(sparsity: float = 0.001, seed: int = 0) -> OrthoReg:
    """The paper's purely symbolic model by Adam. It does not state mu; 0.001 is its L2 hybrid's."""
    return _paper(Zero(), sparsity, 0.0, 0.0, seed)


def lasso(sparsity: float = 0.001, seed: int = 0) -> OrthoReg:
    """The purely symbolic model of `paper_pure` at its exact minimum."""
    return _with_paper_data(Zero(), sparsity, 0.0, 0.0, Exact(), seed)


def two_stage(orthogonality: float = 0.0, sparsity: float = 0.003, seed: int = 0) -> OrthoReg:
    """Lasso first, then a network for what it leaves; free, or with its overlap penalised."""
    solver = TwoStage(then=Adam())
    return _with_paper_data(MLP(128, 3), sparsity, orthogonality, 0.0, solver, seed)


def selection_refit(threshold: float = 0.045, seed: int = 0) -> OrthoReg:
    """STLSQ chooses and refits the terms; the residual is exactly orthogonal to them."""
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
