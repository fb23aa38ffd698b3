"""Writes the pages of results in `docs/` and their figures from the records beside them.

`python -m paper.update_pages FOLDER` first takes over the records in a folder that
`python -m paper` has filled: those of the recommended default if it was
`python -m paper extrapolation`, of the search if it was `python -m paper discovery`, otherwise the
paper's.
"""

import shutil
import sys
from pathlib import Path

from ._reproduce import read
from .figures import beyond, draw, save

DOCS = Path(__file__).parents[1] / "docs"
PAPER, BEYOND, FOUND = DOCS / "reproduction", DOCS / "extrapolation", DOCS / "discovery"


def main(folder: str | None = None) -> None:
    if folder is not None:
        take_over(Path(folder))
    paper, recommended = read(PAPER), read(BEYOND, ["extrapolation"])
    (DOCS / "discovery.md").write_text(read(FOUND, ["discovery"]).discovery_page())
    pictures = [
        *draw(paper.records, paper.portraits, PAPER),
        *save(beyond(recommended.records), BEYOND, "errors"),
    ]
    for path in pictures:
        if path.suffix == ".svg":  # the pages show the pictures; `python -m paper` writes both
            path.unlink()
    (DOCS / "reproduction.md").write_text(paper.page("reproduction"))
    (DOCS / "extrapolation.md").write_text(recommended.beyond_page("extrapolation/errors.png"))


def take_over(folder: Path) -> None:
    text = (folder / "records.csv").read_text()
    if ",recommended," in text:
        names, place = ("records.csv",), BEYOND
    elif ",discovery," in text:
        names, place = ("records.csv",), FOUND
    else:
        names, place = ("records.csv", "portraits.json"), PAPER
    place.mkdir(exist_ok=True)
    for name in names:
        shutil.copyfile(folder / name, place / name)


if __name__ == "__main__":
    main(*sys.argv[1:2])
