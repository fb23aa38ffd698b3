"""Choosing terms and strengths by data that were not fitted, from moments alone."""

from ._alike import Lookalike as Lookalike
from ._alike import lookalikes as lookalikes
from ._bootstrap import Inclusion as Inclusion
from ._bootstrap import inclusion as inclusion
from ._criteria import CrossValidation as CrossValidation
from ._criteria import InformationCriterion as InformationCriterion
from ._extrapolation import Extrapolation as Extrapolation
from ._selected import EquationPath as EquationPath
from ._selected import Evidence as Evidence
from ._selected import Selected as Selected
from ._selection import AbstractSelection as AbstractSelection
from ._selection import select as select
from ._stability import StabilitySelection as StabilitySelection
from ._strengths import StrengthPath as StrengthPath
from ._strengths import strength_path as strength_path
from ._term_evidence import TermEvidence as TermEvidence
from ._term_evidence import term_evidence as term_evidence
