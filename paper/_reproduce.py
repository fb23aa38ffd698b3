"""`reproduce`: run experiments, and write their records, tables, figures and pages."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, final

from rich.console import Console

from orthoreg import InputError
from orthoreg._common.files import atomic_write

from . import discovery, extrapolation, figures, timing
from ._discovery_page import discovery_page
from ._evidence import Part, Verdict
from ._extrapolation_page import extrapolation_page
from ._html_page import html_page
from ._page import reproduction_page
from ._registry import EXPERIMENTS, NAMES, PAPERS, tables_of, wanted
from ._render import to_csv, to_latex, to_markdown
from ._settings import Scale
from ._store import from_table, rounded, to_table
from ._tables import Table, build_table
from ._targets import targets
from ._verdicts import verdicts
from ._work import jobs, portrait_jobs
from .sweeps import Record, run

RECORDS, PORTRAITS, PAGE = "records.csv", "portraits.json", "reproduction.md"
BEYOND_PAGE, DISCOVERY_PAGE, REPORT = "extrapolation.md", "discovery.md", "report.html"


@final
@dataclass(frozen=True, eq=False)
class Reproduction:
    """The records of experiments at one scale, with their tables, verdicts and targets."""

    names: tuple[str, ...]
    scale: Scale
    records: tuple[Record, ...]
    portraits: tuple[Mapping[str, Any], ...]

    @property
    def is_complete(self) -> bool:
        """Whether all experiments of the paper are included, so that its claims can be judged."""
        return set(PAPERS) <= set(self.names)

    @cached_property
    def tables(self) -> dict[str, Table]:
        return {
            name: build_table(EXPERIMENTS[name], self.records) for name in tables_of(self.names)
        }

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Verdicts on all claims, empty unless all experiments are included."""
        return verdicts(self.records) if self.is_complete else ()

    @cached_property
    def targets(self) -> tuple[Part, ...]:
        """Targets of the recommended default, empty without the extrapolation experiment."""
        return targets(self.records) if extrapolation.NAME in self.names else ()

    def page(self, pictures: str = "figures") -> str:
        """Return the reproduction page as Markdown, with figures in the folder `pictures`."""
        captions = {f"{pictures}/{name}.png": text for name, text in figures.CAPTIONS.items()}
        return reproduction_page(
            self.records, verdicts=self.verdicts, figures=captions, scale=self.scale
        )

    def discovery_page(self) -> str:
        """Return the discovery page as Markdown."""
        return discovery_page(self.records, discovery.n_cases(self.scale))

    def beyond_page(self, picture: str = "figures/extrapolation.png") -> str:
        """Return the extrapolation page as Markdown, with the figure `picture`."""
        return extrapolation_page(self.records, self.targets, picture, self.scale)


def reproduce(
    names: Sequence[str] = (),
    folder: str | Path = "reproduction",
    *,
    seeds: int = 5,
    scale: Scale | None = None,
    workers: int = 1,
) -> Reproduction:
    """Run the missing jobs of these experiments, or of all experiments of the paper by default.

    Results of jobs are stored in the folder, so that an interrupted run can be resumed.
    """
    names = _checked(names)
    if seeds < 1:
        raise InputError(f"seeds must be at least 1; got {seeds}.")
    scale = scale or Scale()
    job_folder = Path(folder) / "jobs"
    scored = jobs(wanted(names), scale, seeds)
    portrayed = portrait_jobs(scale) if "figures" in names else []
    results = run([*scored, *portrayed], job_folder, workers=workers)
    records = [record for rows in results[: len(scored)] for record in rows]
    if discovery.NAME in names:
        discovered = run(discovery.jobs(scale, seeds), job_folder, workers=workers)
        records += [record for rows in discovered for record in rows]
    if timing.NAME in names:  # no other jobs run at the same time
        timed = run(timing.jobs(scale, seeds), job_folder, workers=1)
        records += [record for rows in timed for record in rows]
    portraits = [
        json.loads(str(row["portrait"])) for rows in results[len(scored) :] for row in rows
    ]
    return Reproduction(names, scale, tuple(rounded(records)), tuple(portraits))


def write(result: Reproduction, folder: str | Path) -> list[Path]:
    """Write records, tables, figures, report and complete pages, and return the files."""
    folder = Path(folder)
    files = _write_records(result, folder)
    for name, table in result.tables.items():
        forms = {"md": to_markdown, "csv": to_csv, "tex": to_latex}
        files += [
            _write_text(folder / "tables" / f"{name}.{ending}", form(table))
            for ending, form in forms.items()
        ]
    if "figures" in result.names:
        (folder / "figures").mkdir(parents=True, exist_ok=True)
        with Console(stderr=True).status("Drawing ..."):
            files += figures.draw(result.records, result.portraits, folder / "figures")
    if result.is_complete:
        with Console(stderr=True).status("Judging the claims ..."):
            files.append(_write_text(folder / PAGE, result.page()))
    if discovery.NAME in result.names:
        files.append(_write_text(folder / DISCOVERY_PAGE, result.discovery_page()))
    if result.targets:
        (folder / "figures").mkdir(parents=True, exist_ok=True)
        figure = figures.beyond(result.records)
        files += figures.save(figure, folder / "figures", extrapolation.NAME)
        files.append(_write_text(folder / BEYOND_PAGE, result.beyond_page()))
    pictures = [path for path in files if path.suffix == ".png"]
    return [*files, _write_text(folder / REPORT, html_page(result, pictures))]


def read(folder: str | Path, names: Sequence[str] = ()) -> Reproduction:
    """Return the results that `write` stored in a folder, from a full run of these experiments, or
    of all experiments of the paper by default."""
    folder, names = Path(folder), _checked(names)
    records = from_table((folder / RECORDS).read_text())
    portraits = json.loads((folder / PORTRAITS).read_text()) if "figures" in names else ()
    return Reproduction(names, Scale(), tuple(records), tuple(portraits))


def _write_records(result: Reproduction, folder: Path) -> list[Path]:
    files = [_write_text(folder / RECORDS, to_table(result.records))]
    if result.portraits:
        text = json.dumps(result.portraits, separators=(",", ":")) + "\n"
        files.append(_write_text(folder / PORTRAITS, text))
    return files


def _write_text(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as stream:
        stream.write(text.encode())
    return path


def _checked(names: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        if name not in NAMES:
            raise InputError(f"There is no experiment '{name}'. Choose from: {', '.join(NAMES)}.")
    return tuple(name for name in NAMES if name in (names or PAPERS))
