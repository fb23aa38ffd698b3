"""Tables in and out: files and frames of many kinds become runs, and what was found is told.

A reader (`_csv`, `_columnar`, `_excel`) turns a source into a `Table` of raw columns; `_table` and
`_clock` turn columns into numbers; `_runs` sorts rows into runs and `_repair` mends
them where that was asked for.
"""

from ._choice import time_unit_in as time_unit_in
from ._csv import write_table as write_table
from ._read import read_table as read_table
