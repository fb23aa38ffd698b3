"""Jobs whose results are files. Finished jobs are read; the others run on all cores."""

from ._encoding import Record as Record
from ._encoding import decode as decode
from ._encoding import encode as encode
from ._job import Failure as Failure
from ._job import Job as Job
from ._run import SweepError as SweepError
from ._run import load_records as load_records
from ._run import run as run
