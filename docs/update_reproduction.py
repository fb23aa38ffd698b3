"""Writes docs/reproduction.md and its figures from the records in docs/reproduction/.

With a folder that `orthoreg reproduce` has filled, its records are taken over first.
"""

import shutil
import sys
from pathlib import Path

from orthoreg.experiments import read
from orthoreg.experiments.figures import draw

DOCS = Path(__file__).parent
RECORDS = DOCS / "reproduction"


def main(folder: str | None = None) -> None:
    RECORDS.mkdir(exist_ok=True)
    if folder is not None:
        for name in ("records.csv", "portraits.json"):
            shutil.copyfile(Path(folder) / name, RECORDS / name)
    result = read(RECORDS)
    for path in draw(result.records, result.portraits, RECORDS):
        if path.suffix == ".svg":  # the page shows the pictures; `orthoreg reproduce` writes both
            path.unlink()
    (DOCS / "reproduction.md").write_text(result.page("reproduction"))


if __name__ == "__main__":
    main(*sys.argv[1:2])
