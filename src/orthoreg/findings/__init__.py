"""What is said about a model, as plain data with renderers. Making one is `model.summary(data)`.

Printing one needs neither a solver nor a metric: `_summarize`, which does, is imported by whom it
concerns.
"""

from ._render import as_text as as_text
from ._render import certificate_table as certificate_table
from ._render import equation_lines as equation_lines
from ._render import renderables as renderables
from ._render import score_table as score_table
from ._scores import derivative_scores as derivative_scores
from ._scores import forecast_sample as forecast_sample
from ._scores import forecast_scores as forecast_scores
from ._summary import Advice as Advice
from ._summary import CertificateRow as CertificateRow
from ._summary import ConfoundedTerms as ConfoundedTerms
from ._summary import EquationScore as EquationScore
from ._summary import PathRow as PathRow
from ._summary import Scores as Scores
from ._summary import Summary as Summary
from ._summary import TermRow as TermRow
from ._summary import Verdict as Verdict
from ._summary import plain as plain
from ._tables import table as table
from ._words import counted as counted
from ._words import number as number
