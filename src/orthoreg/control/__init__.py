"""Analysis of fitted models for control: linearizations, equilibria and state observers."""

from ._equilibria import Equilibria as Equilibria
from ._equilibria import Equilibrium as Equilibrium
from ._equilibria import find_equilibria as find_equilibria
from ._jacobian import jacobian as jacobian
from ._limits import MIN_NOISE as MIN_NOISE
from ._linear import LinearModel as LinearModel
from ._linear import linearize as linearize
from ._observer import Filter as Filter
from ._observer import FilteredRuns as FilteredRuns
from ._observer import Observer as Observer
from ._observer import likely_disturbance as likely_disturbance
from ._observer import prior_of as prior_of
from ._observer import stds_by_name as stds_by_name
from ._refusals import refuse_delays as refuse_delays
from ._refusals import refuse_time as refuse_time
from ._refusals import vector as vector
