"""Formulas for what a library lacks: atoms, a search over them, and its evidence."""

from ._atoms import Atom as Atom
from ._candidates import Candidate as Candidate
from ._coupling import couple as couple
from ._coupling import coupled_systems as coupled_systems
from ._evidence import Alternative as Alternative
from ._evidence import Constant as Constant
from ._evidence import Evidence as Evidence
from ._evidence import Judged as Judged
from ._evidence import Judgement as Judgement
from ._evidence import gather_evidence as gather_evidence
from ._evidence import judged_by_rows as judged_by_rows
from ._evidence import judged_by_trajectories as judged_by_trajectories
from ._evidence import points_around as points_around
from ._evidence import short_terms as short_terms
from ._measurements import Measurements as Measurements
from ._models import ModelSearch as ModelSearch
from ._models import SearchInput as SearchInput
from ._proposals import Gap as Gap
from ._proposals import explain_rows as explain_rows
from ._ranking import Combination as Combination
from ._ranking import Ranked as Ranked
from ._ranking import Ranking as Ranking
from ._ranking import best_combinations as best_combinations
from ._ranking import combine as combine
from ._rows import measurements as measurements
from ._rows import rows_as_measurements as rows_as_measurements
