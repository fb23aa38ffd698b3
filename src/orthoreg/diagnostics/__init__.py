"""Metrics of a model and certificates of a fit."""

from ._certificate import Certificate as Certificate
from ._certificate import EquationCertificate as EquationCertificate
from ._certificate import ErrorSplit as ErrorSplit
from ._certificate import PenaltyBound as PenaltyBound
from ._certificate import certify as certify
from ._metrics import relative_error as relative_error
from ._theory import effective_threshold as effective_threshold
from ._theory import l2_hybrid as l2_hybrid
from ._theory import minibatch_bias as minibatch_bias
from ._theory import minibatch_tail as minibatch_tail
from ._theory import orthogonality_gap_bound as orthogonality_gap_bound
from ._theory import residual_cosine as residual_cosine
from ._theory import two_stage as two_stage
