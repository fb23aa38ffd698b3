"""Write the result pages in `docs/` and their figures from the records in `docs/`.

`python -m paper.update_pages FOLDER` first copies the records in the output folder of
`python -m paper`, `python -m paper extrapolation` or `python -m paper discovery`.
"""

import shutil
import sys
from pathlib import Path

from ._reproduce import read
from .figures import beyond, draw, save

DOCS = Path(__file__).parents[1] / "docs"
PAPER, BEYOND, DISCOVERY = DOCS / "reproduction", DOCS / "extrapolation", DOCS / "discovery"


def main(folder: str | None = None) -> None:
    if folder is not None:
        copy_records(Path(folder))
    paper, recommended = read(PAPER), read(BEYOND, ["extrapolation"])
    (DOCS / "discovery.md").write_text(read(DISCOVERY, ["discovery"]).discovery_page())
    pictures = [
        *draw(paper.records, paper.portraits, PAPER),
        *save(beyond(recommended.records), BEYOND, "errors"),
    ]
    for path in pictures:
        if path.suffix == ".svg":  # the pages use PNG; `python -m paper` writes both formats
            path.unlink()
    (DOCS / "reproduction.md").write_text(paper.page("reproduction"))
    (DOCS / "extrapolation.md").write_text(recommended.beyond_page("extrapolation/errors.png"))


def copy_records(folder: Path) -> None:
    """Copy records to `docs/`, into the folder of their experiment."""
    text = (folder / "records.csv").read_text()
    if ",recommended," in text:
        names, target = ("records.csv",), BEYOND
    elif ",discovery," in text:
        names, target = ("records.csv",), DISCOVERY
    else:
        names, target = ("records.csv", "portraits.json"), PAPER
    target.mkdir(exist_ok=True)
    for name in names:
        shutil.copyfile(folder / name, target / name)


if __name__ == "__main__":
    main(*sys.argv[1:2])
