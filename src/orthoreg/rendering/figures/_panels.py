"""The panels of a figure: Axes given by the caller, or a new figure laid out in inches."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ..._common.errors import InputError
from ._style import INK, LABEL, NOTE, SMALL, TITLE, as_written

_DPI = 130
_EDGE = 0.12  # inches between the outermost text and the edge of the figure
_NAME = 0.24  # inches for the name of an axis
_CHARACTER = 0.59 / 72  # width of a character in inches, per point of its size
_LEGEND: Any = {
    "frameon": False, "fontsize": SMALL, "borderpad": 0, "handlelength": 1.8, "columnspacing": 1.6,
}  # fmt: skip
_MIN_WIDTH = 4.4  # inches, for the title

GivenAxes = Axes | Sequence[Axes] | np.ndarray | None


@final
@dataclass(frozen=True, eq=False)
class Panels:
    """Axes in reading order. In a figure of the caller, nothing is drawn around them."""

    axes: tuple[Axes, ...]
    columns: int
    is_own: bool

    @property
    def figure(self) -> Figure:
        figure = self.axes[0].get_figure(root=True)
        assert isinstance(figure, Figure)
        return figure

    def __getitem__(self, position: tuple[int, int]) -> Axes:
        return self.axes[position[0] * self.columns + position[1]]

    def finish(
        self,
        title: str,
        notes: Sequence[str],
        handles: Sequence[Artist],
        *,
        sizes: Sequence[tuple[float, float]],
        right: float = 0.16,
    ) -> Figure:
        """Return the figure, with title, notes and legend above the panels.

        `sizes` contains the (width, height) in inches of the panels of each row, and `right` is the
        free space beside each panel. In a figure of the caller, only the legend is drawn, above the
        first panel.
        """
        if not self.is_own:
            first = self.axes[0]
            room = first.bbox.width / self.figure.dpi
            if handles:
                first.legend(
                    handles=list(handles), ncols=_legend_columns(list(handles), room),
                    loc="lower left", bbox_to_anchor=(0.0, 1.0),
                    borderaxespad=2.2 if first.get_title() else 0.5, **_LEGEND,
                )  # fmt: skip
            return self.figure
        _lay_out(self, title, [note for note in notes if note], list(handles), sizes, right)
        return self.figure


def open_panels(
    ax: GivenAxes, count: int, columns: int, *, who: str, what: str, shares: bool = False
) -> Panels:
    """Return `count` panels: the Axes in `ax`, row by row, or new Axes.

    `who` is the name of the public function, and `what` describes the panels. With `shares`, new
    panels share the vertical axis of their row and the horizontal axis of their column.
    """
    if ax is None:
        figure = Figure(dpi=_DPI)  # not registered with pyplot
        FigureCanvasAgg(figure)
        axes: list[Axes] = []
        for i in range(count):
            row, column = divmod(i, columns)
            shared: dict[str, Any] = {}
            if shares:
                shared["sharey"] = axes[row * columns] if column else None
                shared["sharex"] = axes[column] if row else None
            # positions must differ; `finish` sets the final ones
            axes.append(figure.add_axes((0.0, 0.0, 1.0, 1.0 / (i + 1)), **shared))
        return Panels(tuple(axes), columns, True)
    given = [ax] if isinstance(ax, Axes) else list(np.ravel(np.asarray(ax, dtype=object)))
    strange = [axes_given for axes_given in given if not isinstance(axes_given, Axes)]
    if strange:
        raise InputError(
            f"{who}(ax=...) must be Matplotlib Axes, one or several; got {strange[0]!r}."
        )
    if len(given) != count or len({id(axes_given) for axes_given in given}) != count:
        raise InputError(
            f"{who}(ax=...) needs {count} Axes here, {what}, row by row; got {len(given)}"
            f"{'' if len(given) != count else ', some of them twice'}. Make them with "
            f"pyplot.subplots({-(-count // columns)}, {columns}), or choose what is shown."
        )
    if len({id(axes_given.get_figure(root=True)) for axes_given in given}) > 1:
        raise InputError(f"{who}(ax=...) must be Axes of one figure; they belong to several.")
    return Panels(tuple(given), columns, False)


def _lay_out(
    panels: Panels,
    title: str,
    notes: list[str],
    handles: list[Artist],
    sizes: Sequence[tuple[float, float]],
    right: float,
) -> None:
    """Set the position of every panel.

    The widths of numbers are estimated. Matplotlib's constrained layout measures every text twice,
    which doubles the drawing time.
    """
    columns = min(panels.columns, len(panels.axes))
    rows = [panels.axes[i : i + columns] for i in range(0, len(panels.axes), columns)]
    lefts = [max(_left(row[c]) for row in rows if c < len(row)) for c in range(columns)]
    width = 2 * _EDGE + sum(lefts) + columns * (sizes[0][0] + right)
    shift = max(_MIN_WIDTH - width, 0.0) / 2
    width += 2 * shift
    lines = _header(title, notes, width - lefts[0] - 2 * _EDGE)
    per_line = _legend_columns(handles, width - lefts[0] - 2 * _EDGE)
    legend = 0.2 * -(-len(handles) // per_line)
    header = _EDGE + sum(height for _, _, height in lines) + legend
    above = [max(_above(axes) for axes in row) for row in rows]
    below = [max(_below(axes) for axes in row) for row in rows]
    below[:-1] = [0.06 if height_below < 0.1 else height_below for height_below in below[:-1]]
    height = header + sum(above) + sum(below) + sum(size[1] for size in sizes) + _EDGE
    figure = panels.figure
    figure.set_size_inches(width, height)
    top = height - header
    for row, size, over, under in zip(rows, sizes, above, below, strict=True):
        x = _EDGE + shift
        for axes, left in zip(row, lefts, strict=False):
            x += left
            axes.set_position((x / width, (top - over - size[1]) / height,
                               size[0] / width, size[1] / height))  # fmt: skip
            axes.yaxis.set_label_coords(-(left - 0.1) / size[0], 0.5)
            x += size[0] + right
        top -= over + size[1] + under
    x, y = (_EDGE + shift + lefts[0]) / width, height - _EDGE
    for text, options, size in lines:
        as_written(figure.text(x, y / height, text, va="top", **options))
        y -= size
    if handles:
        figure.legend(
            handles=handles, loc="upper left", bbox_to_anchor=(x, (y + 0.02) / height),
            ncols=per_line, borderaxespad=0, **_LEGEND,
        )  # fmt: skip


def _header(title: str, notes: list[str], room: float) -> list[tuple[str, dict[str, Any], float]]:
    """Return lines of text with their style and their height in inches."""
    lines = [
        (line, {"fontsize": TITLE, "color": INK}, 0.24)
        for line in textwrap.wrap(title, max(int(room / (TITLE * _CHARACTER)), 20))
    ]
    for note in notes:
        for line in textwrap.wrap(note, max(int(room / (SMALL * _CHARACTER)), 30)):
            lines.append((line, {"fontsize": SMALL, "color": NOTE}, 0.175))
    lines[-1:] = [(*lines[-1][:2], lines[-1][2] + 0.05)] if lines else []
    return lines


def _legend_columns(handles: list[Artist], room: float) -> int:
    """Return the number of legend entries per row."""
    widths = [0.45 + len(str(handle.get_label())) * SMALL * _CHARACTER for handle in handles]
    fits = [n for n in range(1, len(widths) + 1) if n * max(widths) <= room]
    return max(len(widths), 1) if sum(widths) <= room else max(fits, default=1)


def _left(axes: Axes) -> float:
    """Return the inches that the numbers and the name of the vertical axis need."""
    if not axes.yaxis.get_tick_params().get("labelleft", True):
        return 0.06
    axis = axes.yaxis
    low, high = sorted(axes.get_ylim())
    places = [tick for tick in axis.get_majorticklocs() if low <= tick <= high]
    texts = axis.get_major_formatter().format_ticks(places)
    widest = max((len(text.replace(".", "")) + 0.5 * text.count(".") for text in texts), default=1)
    return widest * SMALL * 0.6 / 72 + 0.1 + (_NAME if axes.get_ylabel() else 0.0)


def _above(axes: Axes) -> float:
    title = axes.get_title() or axes.get_title(loc="left")
    return 0.1 + (0.02 + 0.17 * (title.count("\n") + 1) if title else 0.0)


def _below(axes: Axes) -> float:
    numbers = 0.24 if axes.xaxis.get_tick_params().get("labelbottom", True) else 0.05
    return numbers + (_NAME * LABEL / 10 if axes.get_xlabel() else 0.0)
