"""The figures: ablations, phase portraits with the decomposition, noise, and sample size."""

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

from orthoreg._common.files import atomic_write

from . import extrapolation
from ._evidence import LABELS, Evidence, Row
from ._labels import COMPARED, SPLITS
from ._look import STYLES as STYLES
from ._look import look, new_figure
from ._portrait_figure import portraits as portraits

NAME = "figures"
TITLE = "Figures"


CAPTIONS = {
    "ablations": "F1, T3 errors, and the fractions of the symbolic and neural parts against "
    "difficulty, sampling and the strength of the penalty: means and standard deviations over "
    "seeds.",
    "portraits": "Simulated and true trajectories, and the sizes of the symbolic and neural parts "
    "of OrthoReg, with the penalty strengths of the paper.",
    "noise": "Errors against the noise of the training states, with derivatives from smoothed "
    "differences and with true derivatives.",
    "sample_size": "Errors against the number of training samples.",
}
"""Captions, in the order of the page."""

BEYOND_CAPTION = (
    "Derivative errors for regular times: means and standard deviations over seeds. The star marks "
    "the default of orthoreg."
)

SHOWN = COMPARED
LAMBDAS = ("0.0005", "0.005", "0.05", "0.5", "5", "50")
NOISES = ("0", "0.01", "0.05", "0.1", "0.2", "0.5")
SAMPLES = ("100", "200", "500", "1000", "2000", "5000")

_WIDTH = 7.2
_SHORT = 40.0
_STAR = 8.0  # in points, because stars look smaller than other markers


@final
@dataclass(frozen=True)
class _Point:
    """A mean with its deviation at a position on the x axis. `lost` is true if rollouts
    diverged."""

    x: float
    mean: float
    std: float
    lost: bool


def ablations(records: Iterable[Row]) -> Figure:
    """Plot F1, T3 errors and cosine against difficulty, sampling and lam. [fig:ablations]"""
    evidence = Evidence.from_records(records)
    metrics = ("f1@0.001", "derivative.t3", "rollout.t3")
    difficulty = ("pendulum/low", "pendulum/medium", "pendulum/high")
    sampling = ("pendulum/medium", "pendulum/medium/irregular/stamps",
                "pendulum/medium/irregular/equal-steps")  # fmt: skip
    with look():
        figure = new_figure(_WIDTH, 6.4)
        grid = figure.subplots(3, 4, gridspec_kw={"width_ratios": [1, 1.2, 1, 1]})
        for row, metric in enumerate(metrics):
            for other in grid[row, 1:3]:
                other.sharey(grid[row, 0])
                other.tick_params(labelleft=False)
            for axes, settings in ((grid[row, 0], difficulty), (grid[row, 1], sampling)):
                _categories(axes, evidence, settings, metric)
            _over_lambda(grid[row, 2], evidence, metric, references=("l2", "projection"))
            grid[row, 0].set_ylabel(_label(metric))
        for row, metric in enumerate(("cosine", "overlap", "symbolic_share")):
            _over_lambda(grid[row, 3], evidence, metric, references=("projection",))
            grid[row, 3].set_ylabel(_label(metric))
            grid[row, 3].yaxis.set_label_position("right")
            grid[row, 3].yaxis.tick_right()
            grid[row, 3].spines["right"].set_visible(True)
            grid[row, 3].spines["left"].set_visible(False)
        for row in range(3):
            _ticks(grid[row, 0], ("low", "medium", "high"), last=row == 2)
            _ticks(
                grid[row, 1],
                ("regular", "irreg.,\ntime\nstamps", "irreg.,\nequal\nsteps"),
                row == 2,
            )
            for column in (2, 3):
                _lambda_axis(grid[row, column], last=row == 2)
        titles = ("(a) difficulty", "(b) sampling", r"(c) strength $\lambda$", "(d) diagnostics")
        for axes, title in zip(grid[0], titles, strict=True):
            axes.set_title(title)
        grid[2, 0].set_xlabel("missing dynamics")
        grid[2, 1].set_xlabel("times and targets")
        for axes in grid[:, [0, 3]].flat:
            _label_short_range(axes)
        _legend(figure, _present(evidence, SHOWN), lost=True, chosen=True)
    return figure


def noise(records: Iterable[Row]) -> Figure:
    """Plot F1, T2 and T3 errors against noise, for both kinds of targets. [fig:noise_robustness]"""
    evidence = Evidence.from_records(records)
    metrics = ("f1@0.001", "derivative.t2", "derivative.t3")
    with look():
        figure = new_figure(_WIDTH, 4.6)
        grid = figure.subplots(2, 3, sharex=True, sharey="col")
        for row, targets in enumerate(("smoothed", "analytic")):
            settings = {float(level): _noise_setting(level, targets) for level in NOISES}
            for axes, metric in zip(grid[row], metrics, strict=True):
                _curves(axes, evidence, settings, metric)
                axes.set_xscale("symlog", linthresh=0.01, linscale=0.7)
                axes.set_xlim(-0.004, 0.7)
                axes.set_xticks([0, 0.01, 0.1, 0.5], ["0", "0.01", "0.1", "0.5"])
                axes.set_xticks([0.05, 0.2], minor=True, labels=["", ""])
                axes.set_ylabel(_label(metric))
                axes.set_title(f"{targets} targets")
                if row:
                    axes.set_xlabel(r"noise $\varepsilon$ [rad; rad/s]")
        _legend(figure, _present(evidence, SHOWN), lost=False)
    return figure


def sample_size(records: Iterable[Row]) -> Figure:
    """Plot F1, T2 error and cosine against the number of samples. [fig:n_samples_ablation]"""
    evidence = Evidence.from_records(records)
    settings = {float(count): f"pendulum/medium/samples={count}" for count in SAMPLES}
    with look():
        figure = new_figure(_WIDTH, 4.6)
        grid = figure.subplots(2, 2, sharex=True)
        metrics = ("f1@0.001", "derivative.t2", "cosine", "rollout.t2")
        for axes, metric in zip(grid.flat, metrics, strict=True):
            _curves(axes, evidence, settings, metric, spread=1.03)
            axes.set_xscale("log")
            axes.set_xticks([float(count) for count in SAMPLES], SAMPLES)
            axes.minorticks_off()
            axes.set_ylabel(_label(metric))
        for axes in grid[1]:
            axes.set_xlabel("training samples")
        _legend(figure, _present(evidence, SHOWN), lost=True)
    return figure


def beyond(records: Iterable[Row]) -> Figure:
    """Plot derivative errors of all methods on all splits, with a panel for each system."""
    evidence = Evidence.from_records(records)
    methods = (*(name for name in extrapolation.METHODS if name != "recommended"), "recommended")
    offsets = np.linspace(-0.36, 0.36, len(methods))
    settings = [name for name in extrapolation.SETTINGS if "irregular" not in name]
    with look():
        figure = new_figure(_WIDTH, 5.4)
        grid = figure.subplots(2, len(settings) // 2, sharex=True)
        for axes, setting in zip(grid.flat, settings, strict=True):
            for method, offset in zip(methods, offsets, strict=True):
                points = [
                    _point(evidence, setting, method, f"derivative.{split}", place + offset)
                    for place, split in enumerate(SPLITS)
                ]
                _draw(axes, [point for point in points if point], method, joined=False)
            _scale(axes, "derivative.t2")
            for edge in range(1, len(SPLITS)):
                axes.axvline(edge - 0.5, color="0.85", linewidth=0.6, zorder=0)
            axes.set_xlim(-0.5, len(SPLITS) - 0.5)
            axes.set_title(extrapolation.LABELS[setting])
            _ticks(axes, [name.replace(" ", "\n") for name in SPLITS.values()], last=True)
        for axes in grid[:, 0]:
            axes.set_ylabel("derivative error\n(normalized MSE)")
        _legend(figure, _present(evidence, methods[::-1]), lost=False)
    return figure


def save(figure: Figure, folder: str | Path, name: str) -> tuple[Path, Path]:
    """Write `name`.png (200 dpi) and `name`.svg, with the same bytes for the same figure."""
    paths = (Path(folder) / f"{name}.png", Path(folder) / f"{name}.svg")
    metadata = ({"Software": None}, {"Date": None})
    _settle(figure)
    for path, about in zip(paths, metadata, strict=True):
        stream = io.BytesIO()
        with look():
            figure.savefig(stream, format=path.suffix[1:], dpi=200, metadata=about)
        with atomic_write(path) as file:
            file.write(stream.getvalue())
    return paths


def draw(
    records: Iterable[Row], found: Sequence[Mapping[str, Any]], folder: str | Path
) -> tuple[Path, ...]:
    """Write all figures. The portraits need separate records."""
    rows = list(records)
    made = {
        "ablations": ablations(rows),
        "noise": noise(rows),
        "sample_size": sample_size(rows),
    }
    if found:
        made["portraits"] = portraits(found)
    return tuple(path for name, figure in made.items() for path in save(figure, folder, name))


def _settle(figure: Figure) -> None:
    """Lay out the axes once and round their positions, whose last digits differ between runs."""
    if figure.get_layout_engine() is None:
        return
    with look():
        figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        place = axes.get_position().bounds
        axes.set_position((round(place[0], 4), round(place[1], 4),
                           round(place[2], 4), round(place[3], 4)))  # fmt: skip


def _noise_setting(level: str, targets: str) -> str:
    if level == "0" and targets == "smoothed":
        return "pendulum/medium"
    return f"pendulum/medium/noise={level}/{targets}"


def _point(evidence: Evidence, setting: str, method: str, metric: str, x: float) -> _Point | None:
    found = evidence.get(setting, method, metric)
    if found is None:
        return None
    kind, _, split = metric.partition(".")
    if not found.count and kind != "rollout":
        return None  # a model without a residual has no cosine
    lost = evidence.get(setting, method, f"diverged.{split}") if kind == "rollout" else None
    return _Point(x, found.mean, found.std, lost is not None and lost.mean > 0)


def _draw(axes: Any, points: Sequence[_Point], method: str, *, joined: bool) -> None:
    """Draw means with error bars: open markers if some rollouts diverged, at the top if all did."""
    style = STYLES[method]
    seen = [point for point in points if np.isfinite(point.mean)]
    if joined and len(seen) > 1:
        axes.plot([p.x for p in seen], [p.mean for p in seen], style.line, color=style.colour,
                  linewidth=1.0, zorder=2)  # fmt: skip
    for lost in (False, True):
        group = [(p.x, p.mean, p.std) for p in seen if p.lost is lost]
        if group:
            axes.errorbar(
                *zip(*group, strict=True), fmt=style.marker, color=style.colour,
                markersize=_STAR if style.marker == "*" else None,
                markerfacecolor="white" if lost else style.colour, markeredgewidth=0.9,
                elinewidth=0.9, zorder=3,
            )  # fmt: skip
    for point in points:
        if not np.isfinite(point.mean):
            axes.plot([point.x], [0.98], "x", color=style.colour, markersize=5, clip_on=False,
                      transform=axes.get_xaxis_transform(), zorder=4)  # fmt: skip


def _categories(axes: Any, evidence: Evidence, settings: Sequence[str], metric: str) -> None:
    offsets = np.linspace(-0.33, 0.33, len(SHOWN))
    for method, offset in zip(SHOWN, offsets, strict=True):
        points = [
            _point(evidence, setting, method, metric, place + offset)
            for place, setting in enumerate(settings)
        ]
        _draw(axes, [point for point in points if point], method, joined=False)
    _scale(axes, metric)
    for edge in (0.5, 1.5):
        axes.axvline(edge, color="0.85", linewidth=0.6, zorder=0)
    axes.set_xlim(-0.5, 2.5)


def _over_lambda(axes: Any, evidence: Evidence, metric: str, references: Sequence[str]) -> None:
    """Draw the curve of the paper's method over lam, and references at the side, where lam is
    infinite or not used."""
    setting = "pendulum/medium"
    points = [
        _point(evidence, setting, f"orthoreg@lam={lam}", metric, float(lam)) for lam in LAMBDAS
    ]
    _draw(axes, [point for point in points if point], "orthoreg", joined=True)
    for method in references:
        point = _point(evidence, setting, method, metric, 1e3)
        if point is None or not np.isfinite(point.mean):
            continue
        if method == "projection":
            _draw(axes, [point], method, joined=False)
        else:
            axes.axhline(point.mean, color=STYLES[method].colour, linewidth=0.9, zorder=1)
    _scale(axes, metric)
    axes.axvline(0.005, color="0.6", linewidth=0.7, linestyle=":", zorder=0)
    axes.set_xscale("log")


def _curves(
    axes: Any, evidence: Evidence, settings: Mapping[float, str], metric: str, spread: float = 1.0
) -> None:
    """Draw one line per method. `spread` separates them by a factor on a logarithmic axis."""
    for i, method in enumerate(SHOWN):
        shift = spread ** (i - len(SHOWN) // 2)
        points = [
            _point(evidence, setting, method, metric, x * shift) for x, setting in settings.items()
        ]
        _draw(axes, [point for point in points if point], method, joined=True)
    _scale(axes, metric)


def _scale(axes: Any, metric: str) -> None:
    """Set the limits: fractions from 0 to 1, errors on a logarithmic axis. Label empty axes."""
    if metric.startswith("f1") or metric in ("cosine", "symbolic_share"):
        axes.set_ylim(-0.03, 1.05)
    else:
        axes.set_yscale("log", nonpositive="clip")
    axes.grid(axis="y", color="0.92", linewidth=0.6)
    axes.set_axisbelow(True)
    if not axes.lines and not axes.containers:
        axes.text(0.5, 0.5, "no records", ha="center", va="center", transform=axes.transAxes)


def _label_short_range(axes: Any) -> None:
    """Label ticks between powers of ten on a logarithmic axis over little more than a decade."""
    low, high = axes.get_ylim()
    if axes.get_yscale() == "log" and low > 0 and high / low < _SHORT:
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))
        axes.yaxis.set_minor_formatter(NullFormatter())


def _ticks(axes: Any, names: Sequence[str], last: bool) -> None:
    axes.set_xticks(range(len(names)), names if last else [""] * len(names))
    axes.tick_params(axis="x", length=0)


def _lambda_axis(axes: Any, last: bool) -> None:
    axes.set_xlim(2e-4, 3e3)
    names = [r"$10^{-3}$", r"$10^{-1}$", r"$10^{1}$", r"$\infty$"]
    axes.set_xticks([1e-3, 1e-1, 1e1, 1e3], names if last else [""] * 4)
    axes.minorticks_off()
    if last:
        axes.set_xlabel(r"$\lambda$")


def _label(metric: str) -> str:
    kind, _, split = metric.partition(".")
    words = {"derivative": "derivative error", "rollout": "rollout error"}
    if kind in words:
        return f"{SPLITS[split]} {words[kind]}\n(normalized MSE)"
    return {
        "f1@0.001": "F1",
        "cosine": "cosine of the parts",
        "overlap": "overlap",
        "symbolic_share": "symbolic share",
    }[metric]


def _present(evidence: Evidence, methods: Sequence[str]) -> list[str]:
    seen = {method for _, method, _ in evidence.values}
    return [method for method in methods if method in seen] or list(methods)


def _handles(methods: Sequence[str], *, lost: bool) -> list[Any]:
    handles = [
        Line2D([], [], color=STYLES[m].colour, marker=STYLES[m].marker, linestyle=STYLES[m].line,
               label=LABELS[m])
        for m in methods
    ]  # fmt: skip
    if lost:
        handles += [
            Line2D([], [], color="black", marker="o", markerfacecolor="white", linestyle="",
                   label="open: some diverged"),
            Line2D([], [], color="black", marker="x", linestyle="", label="all diverged"),
        ]  # fmt: skip
    return handles


def _legend(figure: Figure, methods: Sequence[str], *, lost: bool, chosen: bool = False) -> None:
    handles = _handles(methods, lost=lost)
    if chosen:
        handles.append(Line2D([], [], color="0.6", linestyle=":", label="the paper's λ"))
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
