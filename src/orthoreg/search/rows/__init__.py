"""Select terms, and the weights of the objective, from rows by held-out errors."""

from ._confounded import ConfoundedPair as ConfoundedPair
from ._confounded import confounded_pairs as confounded_pairs
from ._criteria import CrossValidation as CrossValidation
from ._criteria import Extrapolation as Extrapolation
from ._criteria import InformationCriterion as InformationCriterion
from ._evidence import TermEvidence as TermEvidence
from ._evidence import term_evidence as term_evidence
from ._regularization_path import RegularizationPath as RegularizationPath
from ._regularization_path import regularization_path as regularization_path
from ._selection import AbstractSelection as AbstractSelection
from ._selection import Chosen as Chosen
from ._selection import EquationPath as EquationPath
from ._selection import SelectionEvidence as SelectionEvidence
from ._selection import SelectionResult as SelectionResult
from ._selection import unresolved_trig_terms as unresolved_trig_terms
from ._shrinkage import Shrinkage as Shrinkage
from ._shrinkage import Thresholding as Thresholding
from ._stability import StabilitySelection as StabilitySelection
