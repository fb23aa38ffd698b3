"""Solvers: from moments to coefficients."""

from ._equation import objective as objective
from ._equation import squared_error as squared_error
from ._exact import Exact as Exact
from ._exact import exact_path as exact_path
from ._lasso import duality_gap as duality_gap
from ._lasso import lasso as lasso
from ._rank import Dependence as Dependence
from ._rank import independent_terms as independent_terms
from ._result import EquationFit as EquationFit
from ._result import FitResult as FitResult
from ._result import Strengths as Strengths
