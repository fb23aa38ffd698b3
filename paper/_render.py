"""Tables as text: for a terminal, as Markdown, CSV and LaTeX, and as JSON."""

import csv
import io
import re
from typing import Any

from rich.console import Group
from rich.table import Table as RichTable
from rich.text import Text

from ._tables import Cell, Table

FOOTNOTE = (
    "Mean ± standard deviation over seeds, with the paper's value below. "
    "†k/n: k of n rollouts of all seeds diverged; the error is that of the other rollouts."
)


def to_terminal(table: Table) -> Group:
    """Return the table for a terminal, with the paper's values dim below ours."""
    result = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    result.add_column(no_wrap=True)
    for heading in table.headings[1:]:
        result.add_column(Text(heading), justify="right", header_style="dim")
    for block in table.blocks:
        if len(table.blocks) > 1:
            result.add_row(Text(block.title, "bold"))
        for row in block.rows:
            result.add_row(Text(row.label), *(Text(cell.ours_text) for cell in row.cells))
            if row.has_paper:
                papers = (Text(cell.paper_text, "dim") for cell in row.cells)
                result.add_row(Text("  paper", "dim"), *papers)
    return Group(Text(table.title, "bold"), result, Text(FOOTNOTE, "dim"))


def to_markdown(table: Table) -> str:
    """Return a pipe table. Each cell has our value and, on a second line, the paper's value."""
    lines = [table.headings, ["---", *("---:" for _ in table.methods)]]
    for block in table.blocks:
        if len(table.blocks) > 1:
            lines.append([f"**{escape_markdown(block.title)}**", *("" for _ in table.methods)])
        for row in block.rows:
            lines.append([escape_markdown(row.label), *(_markdown(cell) for cell in row.cells)])
    lines[0] = [escape_markdown(heading) for heading in lines[0]]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _markdown(cell: Cell) -> str:
    paper = cell.paper_text
    return cell.ours_text + (f"<br>*paper {paper}*" if paper else "")


def escape_markdown(text: str) -> str:
    """Escape text for Markdown, including cells of tables."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", text).replace("\n", " ")


def to_csv(table: Table) -> str:
    """Return CSV with a line for each cell. Values have all digits; missing values are empty."""
    stream = io.StringIO()
    columns = (
        "experiment", "setting", "metric", "method", "mean", "std", "seeds", "undefined",
        "diverged", "rollouts", "paper_mean", "paper_std", "paper_diverged",
    )  # fmt: skip
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    for row in table.rows:
        for cell in row.cells:
            paper = (cell.paper.mean, cell.paper.std) if cell.paper else (None, None)
            numbers = (
                cell.mean, cell.std, cell.seeds, cell.undefined, cell.diverged, cell.rollouts
            )  # fmt: skip
            key = (table.name, row.setting, row.metric, cell.method)
            writer.writerow([*key, *numbers, *paper, int(cell.paper_diverged)])
    return stream.getvalue()


def to_json(table: Table) -> dict[str, Any]:
    """Return metric -> method -> {mean, std, paper, ...}, for each setting if there are several."""
    settings: dict[str, dict[str, Any]] = {}
    for row in table.rows:
        settings.setdefault(row.setting, {})[row.metric] = {
            cell.method: {
                "mean": cell.mean,
                "std": cell.std,
                "paper": cell.paper.mean if cell.paper else None,
                "paper_std": cell.paper.std if cell.paper else None,
                "seeds": cell.seeds,
                "diverged": cell.diverged,
                "rollouts": cell.rollouts,
            }
            for cell in row.cells
        }
    return next(iter(settings.values())) if len(settings) == 1 else dict(settings)


def to_latex(table: Table) -> str:
    """Return a floating booktabs table, with the paper's values in rows below ours."""
    width = len(table.methods) + 1
    lines = [
        r"\begin{table}[h]",
        r"\centering",
        r"\small",
        rf"\caption{{{escape_latex(f'{table.title}. {table.caption} {FOOTNOTE}')}}}",
        rf"\label{{tab:{table.name}}}",
        rf"\begin{{tabular}}{{l{'c' * len(table.methods)}}}",
        r"\toprule",
        _latex_row([escape_latex(heading) for heading in table.headings]),
    ]
    for block in table.blocks:
        lines.append(r"\midrule")
        if len(table.blocks) > 1:
            title = escape_latex(block.title)
            lines.append(rf"\multicolumn{{{width}}}{{c}}{{\textbf{{{title}}}}} \\")
            lines.append(r"\midrule")
        for row in block.rows:
            ours = (_latex_math(cell.ours_text) for cell in row.cells)
            lines.append(_latex_row([escape_latex(row.label), *ours]))
            if row.has_paper:
                papers = (_latex_math(cell.paper_text) for cell in row.cells)
                lines.append(_latex_row([r"\quad paper", *papers]))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def _latex_row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", "†": r"$\dagger$", "–": "--", "<": r"$<$", ">": r"$>$", "|": r"$|$",
    "μ": r"$\mu$", "λ": r"$\lambda$", "∞": r"$\infty$",
} | {sign: f"\\{sign}" for sign in "&%$#_{}"}  # fmt: skip


def escape_latex(text: str) -> str:
    """Escape text for LaTeX."""
    return "".join(_LATEX.get(sign, sign) for sign in text)


def _latex_math(text: str) -> str:
    """Return '$1.2 \\times 10^{-5} \\pm 0.1$' for the text of a cell."""
    text = escape_latex(text)
    text = re.sub(r"([\d.]+)e(-?\d+)", r"$\1 \\times 10^{\2}$", text)
    return re.sub(r"\binf\b", r"$\\infty$", text)
