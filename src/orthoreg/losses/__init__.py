"""Convert runs to rows or segments: derivatives, integrals over windows, forecasts."""

from ._differentiators import AbstractDifferentiator as AbstractDifferentiator
from ._differentiators import Automatic as Automatic
from ._differentiators import FiniteDifference as FiniteDifference
from ._differentiators import LocalPolynomial as LocalPolynomial
from ._differentiators import ResolvedDifferentiator as ResolvedDifferentiator
from ._differentiators import SavitzkyGolay as SavitzkyGolay
from ._differentiators import SmoothedFiniteDifference as SmoothedFiniteDifference
from ._differentiators import SmoothingSpline as SmoothingSpline
from ._differentiators import check_lengths as check_lengths
from ._loss import AbstractLoss as AbstractLoss
from ._loss import AbstractRowLoss as AbstractRowLoss
from ._loss import AbstractSegmentLoss as AbstractSegmentLoss
from ._loss import Informed as Informed
from ._loss import NextState as NextState
from ._loss import Segments as Segments
from ._loss import VectorField as VectorField
from ._prediction import MultiStep as MultiStep
from ._prediction import OneStep as OneStep
from ._weak import Auto as Auto
from ._weak import Measured as Measured
from ._weak import Weak as Weak
from ._weak import is_coarse as is_coarse
from ._weak import measured_windows as measured_windows
from ._weak import moving as moving
