"""Derivatives of measured states: finite differences, sliding polynomials, splines."""

from ._automatic import Automatic as Automatic
from ._automatic import Settled as Settled
from ._differentiator import AbstractDifferentiator as AbstractDifferentiator
from ._differentiator import check_lengths as check_lengths
from ._finite_difference import FiniteDifference as FiniteDifference
from ._finite_difference import SmoothedFiniteDifference as SmoothedFiniteDifference
from ._local_polynomial import LocalPolynomial as LocalPolynomial
from ._local_polynomial import SavitzkyGolay as SavitzkyGolay
from ._smoothing_spline import SmoothingSpline as SmoothingSpline
