"""Constants and initial states from trajectories: matches, scores, intervals, judgement."""

from ._constants import Constants as Constants
from ._forecasts import forecast_error as forecast_error
from ._forecasts import forecast_variants as forecast_variants
from ._forecasts import starting_states as starting_states
from ._hidden import HiddenEstimate as HiddenEstimate
from ._hidden import estimate_hidden as estimate_hidden
from ._hidden import hidden_std as hidden_std
from ._identifiability import Undetermined as Undetermined
from ._identifiability import undetermined_constants as undetermined_constants
from ._intervals import Correlation as Correlation
from ._intervals import Uncertainty as Uncertainty
from ._judgement import Judgement as Judgement
from ._judgement import Misfit as Misfit
from ._judgement import judge as judge
from ._limits import FULL as FULL
from ._limits import QUICK as QUICK
from ._matcher import Match as Match
from ._matcher import Matcher as Matcher
from ._noise import min_misfit as min_misfit
from ._problem import Problem as Problem
from ._refine import Refinement as Refinement
from ._refine import refine as refine
from ._score import Inclusion as Inclusion
from ._score import StructureChoice as StructureChoice
from ._score import max_noise_ratio as max_noise_ratio
from ._score import trajectory_score as trajectory_score
