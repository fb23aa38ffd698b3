"""Constants of a field from whole trajectories, and how well these determine them."""

from ._constants import Constants as Constants
from ._forecasts import forecast_error as forecast_error
from ._integral import antiderivative as antiderivative
from ._integral import stretches_of as stretches_of
from ._judgement import Judgement as Judgement
from ._judgement import Misfit as Misfit
from ._judgement import judge as judge
from ._likelihood import Match as Match
from ._likelihood import excess as excess
from ._likelihood import least_misfit as least_misfit
from ._likelihood import trajectory_score as trajectory_score
from ._match import QUICK as QUICK
from ._match import Matched as Matched
from ._match import Matcher as Matcher
from ._refine import refine as refine
from ._result import Refinement as Refinement
from ._stages import FULL as FULL
from ._starts import starting_states as starting_states
from ._structure import choose_structure as choose_structure
from ._structure import held_inputs as held_inputs
from ._uncertainty import Correlation as Correlation
from ._uncertainty import Uncertainty as Uncertainty
from ._variants import forecast_variants as forecast_variants
