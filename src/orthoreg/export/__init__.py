"""Fitted fields as text and mathematics, and as source of other languages."""

from ._c import to_c as to_c
from ._fmu import to_fmu as to_fmu
from ._jax import JaxField as JaxField
from ._jax import to_jax as to_jax
from ._julia import to_julia as to_julia
from ._latex import to_latex as to_latex
from ._mathml import MathEquation as MathEquation
from ._mathml import equation_mathml as equation_mathml
from ._mathml import math as math
from ._mathml import math_equations as math_equations
from ._mathml import mathml_formula as mathml_formula
from ._mathml import mathml_name as mathml_name
from ._mathml import to_mathml as to_mathml
from ._matlab import to_matlab as to_matlab
from ._modelica import to_modelica as to_modelica
from ._orders import equation_names as equation_names
from ._orders import learned_equations as learned_equations
from ._orders import printed_equations as printed_equations
from ._pysindy import import_pysindy as import_pysindy
from ._pysindy import to_pysindy as to_pysindy
from ._python import to_python as to_python
from ._sympy import sympy_source as sympy_source
from ._sympy import to_sympy as to_sympy
from ._text import check_precision as check_precision
from ._text import equations as equations
from ._text import significant as significant
