"""Solve for the coefficients of a given set of terms: sums over rows, quadratic problems,
solvers.
"""

from ._adam import Adam as Adam
from ._equation import EquationProblem as EquationProblem
from ._equation import Reduction as Reduction
from ._equation import Spectrum as Spectrum
from ._equation import objective as objective
from ._equation import quadratic_form as quadratic_form
from ._equation import residual_overlaps as residual_overlaps
from ._equation import residual_square as residual_square
from ._equation import squared_error as squared_error
from ._exact import Exact as Exact
from ._exact import HeldOut as HeldOut
from ._exact import TwoStage as TwoStage
from ._exact import exact_path as exact_path
from ._exact import fold_moments as fold_moments
from ._holding import apply_constraints as apply_constraints
from ._limits import RIDGES as RIDGES
from ._moments import Moments as Moments
from ._moments import gather as gather
from ._moments import no_basis as no_basis
from ._partitioned import CenteredTerms as CenteredTerms
from ._partitioned import PartitionedMoments as PartitionedMoments
from ._partitioned import gather_partitioned as gather_partitioned
from ._problem import Bounds as Bounds
from ._problem import Dependence as Dependence
from ._problem import Equalities as Equalities
from ._problem import QuadraticProblem as QuadraticProblem
from ._problem import coupled as coupled
from ._problem import independent_terms as independent_terms
from ._solver import AbstractSolver as AbstractSolver
from ._solver import EquationFit as EquationFit
from ._solver import FitResult as FitResult
from ._solver import Regularization as Regularization
from ._solver import Solution as Solution
from ._solver import Task as Task
from ._solver import Training as Training
from ._solver import dependences as dependences
from ._solver import scales as scales
from ._system import System as System
from ._system import systems as systems
