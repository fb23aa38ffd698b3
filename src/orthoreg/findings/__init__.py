"""Findings about a fitted model as plain data; `model.summary(data)` returns them.

Printing findings needs neither solvers nor metrics. Computing them needs both, so `_summarize` is
imported only where findings are computed.
"""

from ._findings import Advice as Advice
from ._findings import CertificateRow as CertificateRow
from ._findings import ConfoundedTerms as ConfoundedTerms
from ._findings import EquationScore as EquationScore
from ._findings import Findings as Findings
from ._findings import PathRow as PathRow
from ._findings import Scores as Scores
from ._findings import Summary as Summary
from ._findings import TermRow as TermRow
from ._findings import Verdict as Verdict
from ._findings import plain as plain
from ._scores import derivative_scores as derivative_scores
from ._scores import forecast_sample as forecast_sample
from ._scores import forecast_scores as forecast_scores
from ._scores import true_states as true_states
from ._text import as_text as as_text
from ._text import certificate_table as certificate_table
from ._text import equation_lines as equation_lines
from ._text import renderables as renderables
from ._text import score_table as score_table
from ._text import table as table
from ._words import counted as counted
from ._words import number as number
