"""Fitted fields as text, SymPy, LaTeX and Python."""

from ._export import equations as equations
from ._export import significant as significant
from ._export import to_latex as to_latex
from ._export import to_python as to_python
from ._export import to_sympy as to_sympy
