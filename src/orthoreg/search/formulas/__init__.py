"""Search for formulas that a library lacks, and the evidence for them."""

from ._atoms import Atom as Atom
from ._candidates import Candidate as Candidate
from ._coupling import couple as couple
from ._coupling import coupled_systems as coupled_systems
from ._evidence import Alternative as Alternative
from ._evidence import EquationProposals as EquationProposals
from ._evidence import ProposalConstant as ProposalConstant
from ._evidence import ProposalEvidence as ProposalEvidence
from ._evidence import ScoredCandidate as ScoredCandidate
from ._evidence import gather_evidence as gather_evidence
from ._evidence import points_around as points_around
from ._evidence import proposals_by_rows as proposals_by_rows
from ._evidence import proposals_by_trajectories as proposals_by_trajectories
from ._evidence import short_terms as short_terms
from ._measurements import Measurements as Measurements
from ._models import ModelSearch as ModelSearch
from ._models import SearchInput as SearchInput
from ._proposals import EquationResult as EquationResult
from ._proposals import RowSearch as RowSearch
from ._ranking import Combination as Combination
from ._ranking import ModelRanking as ModelRanking
from ._ranking import RankedModel as RankedModel
from ._ranking import best_combinations as best_combinations
from ._ranking import combine as combine
from ._rows import measurements as measurements
from ._rows import rows_as_measurements as rows_as_measurements
