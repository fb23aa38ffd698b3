"""The experiments of the paper: settings, methods, jobs, tables, verdicts and figures."""

from ._registry import NAMES as NAMES
from ._registry import PAPERS as PAPERS
from ._render import to_json as to_json
from ._render import to_terminal as to_terminal
from ._reproduce import Reproduction as Reproduction
from ._reproduce import read as read
from ._reproduce import reproduce as reproduce
from ._reproduce import write as write
from ._settings import QUICK as QUICK
from ._settings import Scale as Scale
