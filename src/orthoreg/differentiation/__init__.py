"""Derivatives of measured states: finite differences, sliding polynomials, splines."""

from ._differentiator import AbstractDifferentiator as AbstractDifferentiator
from ._differentiator import check_lengths as check_lengths
from ._polynomial import Automatic as Automatic
from ._polynomial import FiniteDifference as FiniteDifference
from ._polynomial import LocalPolynomial as LocalPolynomial
from ._polynomial import SavitzkyGolay as SavitzkyGolay
from ._polynomial import Settled as Settled
from ._polynomial import SmoothedFiniteDifference as SmoothedFiniteDifference
from ._smoothing_spline import SmoothingSpline as SmoothingSpline
