"""Solvers: from samples, or their moments, to coefficients and a residual."""

from ._adam import Adam as Adam
from ._equation import objective as objective
from ._equation import residual_overlaps as residual_overlaps
from ._equation import residual_square as residual_square
from ._equation import squared_error as squared_error
from ._exact import Exact as Exact
from ._exact import exact_path as exact_path
from ._exact import scales as scales
from ._lasso import duality_gap as duality_gap
from ._lasso import lasso as lasso
from ._rank import Dependence as Dependence
from ._rank import independent_terms as independent_terms
from ._reduction import Reduction as Reduction
from ._reduction import Spectrum as Spectrum
from ._result import EquationFit as EquationFit
from ._result import FitResult as FitResult
from ._result import Strengths as Strengths
from ._solver import AbstractSolver as AbstractSolver
from ._solver import Solution as Solution
from ._solver import Task as Task
from ._solver import Training as Training
from ._stages import AbstractSelector as AbstractSelector
from ._stages import Shrinkage as Shrinkage
from ._stages import Thresholding as Thresholding
from ._stages import TwoStage as TwoStage
