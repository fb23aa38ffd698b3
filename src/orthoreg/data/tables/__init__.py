"""Read and write tables: convert files and data frames in many formats to runs.

`_text` and `_formats` read a source into a `Table` of raw columns, which `_table` converts to
numbers. `_runs` groups rows into runs, and `_repair` repairs runs on request.
"""

from ._choice import COUNTED as COUNTED
from ._choice import time_unit_in as time_unit_in
from ._read import read_table as read_table
from ._read import write_table as write_table
