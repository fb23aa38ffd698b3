"""min w'Qw - 2 r'w + mu |w|_1 under equalities and bounds: what every exact step solves."""

from ._linear import Dependence as Dependence
from ._linear import independent_terms as independent_terms
from ._problem import Bounds as Bounds
from ._problem import Equalities as Equalities
from ._problem import QuadraticProblem as QuadraticProblem
from ._problem import coupled as coupled
