"""Metrics of models and certificates of fits."""

from ._certificate import Certificate as Certificate
from ._certificate import EquationCertificate as EquationCertificate
from ._certificate import ErrorSplit as ErrorSplit
from ._certificate import PenaltyBound as PenaltyBound
from ._certificate import certify as certify
from ._certificate import condition_number as condition_number
from ._metrics import RolloutScores as RolloutScores
from ._metrics import SupportScores as SupportScores
from ._metrics import normalized_mse as normalized_mse
from ._metrics import relative_error as relative_error
from ._metrics import rollout_scores as rollout_scores
from ._metrics import support_scores as support_scores
from ._metrics import symbolic_share as symbolic_share
from ._theory import OverlapInterval as OverlapInterval
from ._theory import ToySolution as ToySolution
from ._theory import effective_threshold as effective_threshold
from ._theory import error_split as error_split
from ._theory import l2_hybrid as l2_hybrid
from ._theory import minibatch_bias as minibatch_bias
from ._theory import minibatch_tail as minibatch_tail
from ._theory import orthogonality_gap_bound as orthogonality_gap_bound
from ._theory import overlap_interval as overlap_interval
from ._theory import penalty_bound as penalty_bound
from ._theory import residual_cosine as residual_cosine
from ._theory import residual_cosine_range as residual_cosine_range
from ._theory import two_stage as two_stage
