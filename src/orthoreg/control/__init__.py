"""What a fitted model says to control engineers: linearizations, equilibria, state observers."""

from ._equilibria import Equilibria as Equilibria
from ._equilibria import Equilibrium as Equilibrium
from ._equilibria import find_equilibria as find_equilibria
from ._jacobian import jacobian as jacobian
from ._linear import LinearModel as LinearModel
from ._linear import linearize as linearize
from ._refusals import refuse_delays as refuse_delays
from ._refusals import refuse_time as refuse_time
from ._refusals import vector as vector
