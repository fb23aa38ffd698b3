"""Formulas for what a library lacks: atoms, a search over them, and its evidence."""

from ._atoms import Atom as Atom
from ._candidates import Candidate as Candidate
from ._combinations import Combination as Combination
from ._combinations import best_combinations as best_combinations
from ._combinations import combine as combine
from ._coupling import couple as couple
from ._coupling import coupled_systems as coupled_systems
from ._evidence import Alternative as Alternative
from ._evidence import Constant as Constant
from ._evidence import Evidence as Evidence
from ._evidence import gather_evidence as gather_evidence
from ._evidence import short_terms as short_terms
from ._judged import Judged as Judged
from ._judged import Judgement as Judgement
from ._judged import judged_by_rows as judged_by_rows
from ._judged import judged_by_trajectories as judged_by_trajectories
from ._measurements import Measurements as Measurements
from ._models import ModelSearch as ModelSearch
from ._models import SearchInput as SearchInput
from ._observing import measurements as measurements
from ._points import points_around as points_around
from ._proposals import Gap as Gap
from ._proposals import explain_rows as explain_rows
from ._ranking import Ranked as Ranked
from ._ranking import Ranking as Ranking
from ._window_rows import rows_as_measurements as rows_as_measurements
