"""Solvers: from a problem and its terms to coefficients and a residual."""

from ._adam import Adam as Adam
from ._equation import EquationProblem as EquationProblem
from ._equation import objective as objective
from ._equation import residual_overlaps as residual_overlaps
from ._equation import residual_square as residual_square
from ._equation import squared_error as squared_error
from ._exact import Exact as Exact
from ._exact import exact_path as exact_path
from ._exact import fold_moments as fold_moments
from ._given import hold as hold
from ._reduction import Reduction as Reduction
from ._reduction import Spectrum as Spectrum
from ._result import EquationFit as EquationFit
from ._result import FitResult as FitResult
from ._result import Regularization as Regularization
from ._result import dependences as dependences
from ._result import scales as scales
from ._ridge import RIDGES as RIDGES
from ._ridge import HeldOut as HeldOut
from ._solver import AbstractSolver as AbstractSolver
from ._solver import Solution as Solution
from ._solver import Task as Task
from ._solver import Training as Training
from ._system import System as System
from ._system import systems as systems
from ._two_stage import TwoStage as TwoStage
