"""The vector field of a model: equations and residual, its trust region and its jumps."""

from ._residual import MLP as MLP
from ._residual import AbstractAugmentation as AbstractAugmentation
from ._residual import AbstractBasis as AbstractBasis
from ._residual import RandomFeatures as RandomFeatures
from ._residual import TanhLayers as TanhLayers
from ._residual import Zero as Zero
