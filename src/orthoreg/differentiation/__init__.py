"""Derivatives of measured states: finite differences, sliding polynomials, splines."""

from ._differentiators import AbstractDifferentiator as AbstractDifferentiator
from ._differentiators import Automatic as Automatic
from ._differentiators import FiniteDifference as FiniteDifference
from ._differentiators import LocalPolynomial as LocalPolynomial
from ._differentiators import ResolvedDifferentiator as ResolvedDifferentiator
from ._differentiators import SavitzkyGolay as SavitzkyGolay
from ._differentiators import SmoothedFiniteDifference as SmoothedFiniteDifference
from ._differentiators import SmoothingSpline as SmoothingSpline
from ._differentiators import check_lengths as check_lengths
