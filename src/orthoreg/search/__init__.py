"""Select terms: by trajectories here, by rows in `rows`. `formulas` searches for new terms."""

from ._delays import DelayEstimate as DelayEstimate
from ._delays import DelayProfile as DelayProfile
from ._delays import DelayTrial as DelayTrial
from ._delays import delays_with as delays_with
from ._held_inputs import held_inputs as held_inputs
from ._proposals import antiderivative as antiderivative
from ._proposals import stretch_of_row as stretch_of_row
from ._trajectories import choose_structure as choose_structure
