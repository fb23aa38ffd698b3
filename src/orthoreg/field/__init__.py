"""The vector field of a model: equations plus residual, its trust region and its jumps."""

from ._augmentation import MLP as MLP
from ._augmentation import AbstractAugmentation as AbstractAugmentation
from ._augmentation import RandomFeatures as RandomFeatures
from ._augmentation import Zero as Zero
from ._basis import AbstractBasis as AbstractBasis
from ._basis import TanhLayers as TanhLayers
