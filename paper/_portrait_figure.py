"""The figure of phase portraits, with the sizes of both parts of one method."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ._evidence import LABELS
from ._look import STYLES, look, new_figure

_AXES = {
    "pendulum": (r"$\theta$ [rad]", r"$\omega$ [rad/s]", "Pendulum"),
    "duffing": (r"$x$ [dimensionless]", r"$\dot x$ [dimensionless]", "Duffing"),
}


def portraits(found: Sequence[Mapping[str, Any]], decomposed: str = "orthoreg") -> Figure:
    """Plot rollouts beside true trajectories, and the sizes of the parts of one method.
    [fig:duffing]

    `found` are records of `portrait_record`, one for each system and method.
    """
    systems = [name for name in _AXES if any(one["system"] == name for one in found)]
    methods = [name for name in STYLES if any(one["method"] == name for one in found)]
    with look():
        columns = len(methods) + 2
        figure = new_figure(1.6 * columns + 0.6, 2.15 * max(len(systems), 1) + 0.5)
        grid = figure.subplots(max(len(systems), 1), columns, squeeze=False)
        for row, system in enumerate(systems):
            own = {one["method"]: one for one in found if one["system"] == system}
            for column, method in enumerate(methods):
                axes = grid[row, column]
                _portrait(axes, own.get(method), STYLES[method].colour)
                lost = own[method]["diverged"] if method in own else []
                axes.set_title(f"{LABELS[method]}\n{sum(lost)} of {len(lost)} diverged")
                axes.tick_params(labelleft=column == 0)
            _decomposition(figure, grid[row, -2:], own.get(decomposed), LABELS[decomposed])
            for axes in grid[row]:
                axes.set_xlabel(_AXES[system][0])
            grid[row, 0].set_ylabel(f"{_AXES[system][2]}\n{_AXES[system][1]}")
        handles: list[Any] = [
            Line2D([], [], color="black", linestyle=(0, (2, 1.2)), label="true"),
            Line2D([], [], color="black", label="model (colour of the method)"),
            Line2D([], [], color="black", marker="o", linestyle="", markersize=3, label="start"),
            Line2D([], [], color="black", marker="x", linestyle="", label="diverged"),
        ]
        if any(one["ends"] for one in found):
            handles.append(Patch(facecolor="0.9", label=r"basin of $x < 0$"))
        figure.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False)
    return figure


def _portrait(axes: Any, record: Mapping[str, Any] | None, colour: str) -> None:
    if record is None:
        axes.text(0.5, 0.5, "no record", ha="center", va="center", transform=axes.transAxes)
        return
    x, y = record["x"], record["y"]
    if record["ends"]:
        axes.contourf(x, y, np.array(record["ends"], float), levels=[-2, 0], colors=["0.9"])
    for true, run, diverged in zip(
        record["true"], record["rollouts"], record["diverged"], strict=True
    ):
        run, true = np.array(run).reshape(-1, 2), np.array(true)
        axes.plot(run[:, 0], run[:, 1], color=colour, linewidth=1.3)
        axes.plot(true[:, 0], true[:, 1], color="black", linewidth=0.8, linestyle=(0, (2, 1.2)))
        axes.plot(true[0, 0], true[0, 1], "o", color="black", markersize=2.5)
        inside = run[(run >= (x[0], y[0])).all(axis=1) & (run <= (x[-1], y[-1])).all(axis=1)]
        if diverged and len(inside):
            axes.plot(*inside[-1], "x", color="black", markersize=5)
    axes.set_xlim(x[0], x[-1])
    axes.set_ylim(y[0], y[-1])


def _decomposition(figure: Figure, pair: Any, record: Mapping[str, Any] | None, name: str) -> None:
    """Plot the sizes of the symbolic and the neural part, on a common colour scale over three
    decades."""
    for axes, part in zip(pair, ("symbolic", "neural"), strict=True):
        axes.set_title(f"{name}:\n{part} part")
        axes.tick_params(labelleft=False)
        if record is None:
            axes.text(0.5, 0.5, "no record", ha="center", va="center", transform=axes.transAxes)
            continue
        top = float(max(np.max(record["symbolic"]), np.max(record["neural"]), 1e-12))
        picture = axes.pcolormesh(
            record["x"], record["y"], np.maximum(record[part], top / 1e3), cmap="cividis",
            norm=LogNorm(top / 1e3, top), shading="gouraud", rasterized=True,
        )  # fmt: skip
        for run in record["true"]:
            axes.plot(*np.array(run).T, color="white", linewidth=0.7)
        axes.set_xlim(record["x"][0], record["x"][-1])
        axes.set_ylim(record["y"][0], record["y"][-1])
        if part == "neural":
            figure.colorbar(picture, ax=axes, label="length of the vector", aspect=12, extend="min")
