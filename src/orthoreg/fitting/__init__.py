"""Fitting: from rows to a fitted model, as pure functions on plain data."""

from ._adapt import adapt as adapt
from ._adapt import describe as describe
from ._delays import away_from_zero as away_from_zero
from ._delays import delays_in_use as delays_in_use
from ._delays import estimated as estimated
from ._delays import first_delays as first_delays
from ._delays import matched_delays as matched_delays
from ._delays import simpler_delays as simpler_delays
from ._fit import Columns as Columns
from ._fit import Fit as Fit
from ._fit import Recipe as Recipe
from ._fit import TrainingRuns as TrainingRuns
from ._fit import needs_rows as needs_rows
from ._hidden import estimate_hidden_states as estimate_hidden_states
from ._hidden import with_hidden_states as with_hidden_states
from ._limits import DELAY_MOVE as DELAY_MOVE
from ._limits import DELAY_ROUNDS as DELAY_ROUNDS
from ._route import choose_terms as choose_terms
from ._route import finish as finish
from ._route import fit as fit
from ._route import fit_all as fit_all
from ._route import knowledge_of as knowledge_of
from ._route import prepare as prepare
from ._route import warn_of_contradictions as warn_of_contradictions
from ._row_uncertainty import with_row_uncertainty as with_row_uncertainty
from ._trajectories import fit_runs as fit_runs
