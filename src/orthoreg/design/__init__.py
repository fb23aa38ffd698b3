"""Design of experiments: candidate runs, and the selection of the best."""

from ._choice import Rivalry as Rivalry
from ._choice import choose as choose
from ._choice import information as information
from ._choice import interval_widths as interval_widths
from ._choice import rivalry as rivalry
from ._choice import separation as separation
from ._choice import spread_of as spread_of
from ._experiment import Experiment as Experiment
from ._limits import CANDIDATES as CANDIDATES
from ._limits import CYCLES as CYCLES
from ._limits import MAX_ROWS as MAX_ROWS
from ._limits import MIN_VARIANCE as MIN_VARIANCE
from ._limits import ROUNDS as ROUNDS
from ._signals import KINDS as KINDS
from ._signals import Band as Band
from ._signals import PlannedRuns as PlannedRuns
from ._signals import RunLimits as RunLimits
from ._signals import signals as signals
from ._signals import spread_points as spread_points
