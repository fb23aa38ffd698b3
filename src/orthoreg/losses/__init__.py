"""Data-fit losses: how measured runs become something to fit."""

from ._auto import Auto as Auto
from ._auto import Measured as Measured
from ._auto import is_coarse as is_coarse
from ._loss import AbstractLoss as AbstractLoss
from ._loss import AbstractRowLoss as AbstractRowLoss
from ._loss import AbstractSegmentLoss as AbstractSegmentLoss
from ._loss import Segments as Segments
from ._prediction import MultiStep as MultiStep
from ._prediction import OneStep as OneStep
from ._vector_field import Informed as Informed
from ._vector_field import VectorField as VectorField
from ._weak import Weak as Weak
from ._weak import moving as moving
