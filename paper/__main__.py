"""`python -m paper` runs the experiments; see `python -m paper --help`."""

import sys

from ._command import run

if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
