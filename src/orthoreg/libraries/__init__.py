"""Libraries of candidate terms: monomials, Fourier terms, formulas, sums and products."""

from ._expression import Expression as Expression
from ._expression import evaluate as evaluate
from ._expression import quote_name as quote_name
from ._expression import rename as rename
from ._expression import to_text as to_text
from ._families import Empty as Empty
from ._families import Fourier as Fourier
from ._families import PerState as PerState
from ._families import Polynomial as Polynomial
from ._families import Terms as Terms
from ._features import FeatureMap as FeatureMap
from ._features import bind as bind
from ._features import feature_names as feature_names
from ._formula import parse as parse
from ._library import AbstractLibrary as AbstractLibrary
from ._library import Joined as Joined
from ._library import Products as Products
from ._spec import parse_library as parse_library
from ._structure import monomial as monomial
from ._structure import sine_argument as sine_argument
from ._structure import variables_of as variables_of
