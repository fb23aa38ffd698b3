"""What is known of a system beside its data: equations, constants, signs, relations, symmetries."""

from ._atoms import atom_bounds as atom_bounds
from ._atoms import null_space as null_space
from ._basis import SymmetricBasis as SymmetricBasis
from ._basis import basis_of as basis_of
from ._basis import symmetric_basis as symmetric_basis
from ._bind import Bound as Bound
from ._bind import bind_physics as bind_physics
from ._bind import with_rates as with_rates
from ._constants import Constant as Constant
from ._constants import constant_intervals as constant_intervals
from ._constants import constant_values as constant_values
from ._group import Group as Group
from ._knowledge import Knowledge as Knowledge
from ._physics import Physics as Physics
from ._symmetry import AbstractSymmetry as AbstractSymmetry
from ._symmetry import Even as Even
from ._symmetry import Odd as Odd
from ._symmetry import Periodic as Periodic
from ._symmetry import Reflection as Reflection
from ._symmetry import Symmetries as Symmetries
from ._text import parse_bound as parse_bound
from ._text import parse_equation as parse_equation
from ._text import parse_symmetry as parse_symmetry
from ._text import physics_of as physics_of
from ._text import read_fields as read_fields
from ._text import read_physics as read_physics
