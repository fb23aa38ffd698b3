"""Metrics of a model and certificates of a fit."""

from ._certificate import Certificate as Certificate
from ._certificate import EquationCertificate as EquationCertificate
from ._certificate import ErrorSplit as ErrorSplit
from ._certificate import PenaltyBound as PenaltyBound
from ._certificate import certify as certify
from ._metrics import relative_error as relative_error
from ._metrics import support_scores as support_scores
