"""One style for all plots: colours, names as they were written, and the picture as a file."""

import io
import warnings
from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

from ..data import Dataset
from ..export import equation_names

# Okabe and Ito's palette, which colour-blind readers can tell apart, with greys. In print without
# colour, kinds of marks (dots, solid, dashed, shaded) tell the same things apart.
MEASURED, FORECAST, FITTED, RESIDUAL, INPUT = (
    "#979797", "#0072B2", "#0072B2", "#D55E00", "#009E73",
)  # fmt: skip
INK, NOTE, GRID, FLOW, SHADE = "#1A1A1A", "#555555", "#E3E3E3", "#A9C3D6", "#EFEFEF"

# from pale to dark in print as well; its palest is still seen on white
MAP = LinearSegmentedColormap.from_list(
    "orthoreg", ["#F6E7CF", "#F3C07B", "#E98B3A", "#C4520C", "#7F2A04", "#3D1402"]
)

TITLE, LABEL, SMALL = 11.0, 9.5, 8.5  # sizes of text in points
_LONGEST_NAME = 26
_TAIL = 9  # characters kept at the end of a name that is cut


def tidy(axes: Axes, across: int = 6, up: int = 5) -> None:
    """Fewer lines, a few readable numbers, and names that are not set as mathematics."""
    axes.spines[["top", "right"]].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_linewidth(0.7)
        axes.spines[side].set_color(NOTE)
    axes.tick_params(labelsize=SMALL, width=0.7, color=NOTE)
    for axis, ticks in ((axes.xaxis, across), (axes.yaxis, up)):
        axis.label.set_fontsize(LABEL)
        as_written(axis.label)
        if axis.get_scale() == "linear":
            axis.set_major_locator(MaxNLocator(ticks, steps=[1, 2, 2.5, 5, 10]))


def as_written(text: Text) -> Text:
    """The text without mathematics: a column may be called '$x_1$'."""
    text.set_parse_math(False)
    text.set_usetex(False)
    return text


def shortened(name: str, longest: int = _LONGEST_NAME) -> str:
    """A name on one line, cut in its middle where it is long: ends such as '_dot' matter.

    >>> shortened("temperature of the upper bearing_dot")
    'temperature of th…ring_dot'
    """
    name = " ".join(name.split())
    if len(name) <= longest:
        return name
    tail = min(_TAIL, longest // 3)
    return f"{name[: longest - tail - 1]}…{name[-tail:]}"


def labelled(
    name: str, units: Mapping[str, str], longest: int = _LONGEST_NAME, shown: str | None = None
) -> str:
    """'theta [rad]', of about `longest` characters at most; `shown` stands in the name's place.

    >>> labelled("theta", {"theta": "rad"}), labelled("n", {}), labelled("x_dot", {}, shown="x'")
    ('theta [rad]', 'n', "x'")
    """
    unit = f" [{shortened(units[name], 12)}]" if units.get(name) else ""
    return f"{shortened(shown or name, max(longest - len(unit), 8))}{unit}"


def variable_label(data: Dataset, place: int, longest: int = _LONGEST_NAME) -> str:
    """The label of a variable: theta' where it is the velocity theta_dot of theta."""
    shown = equation_names(data.variable_names, data.velocity_of)[place]
    return labelled(data.variable_names[place], data.units, longest, shown)


def number(value: float) -> str:
    """Two significant digits, for people.

    >>> number(0.2512), number(0.0000312), number(1.0), number(0.0)
    ('0.25', '3.1e-5', '1.0', '0')
    """
    return f"{value:#.2g}".rstrip(".").replace("e-0", "e-") if value else "0"


def tick(value: float, _: Any = None) -> str:
    """A short number on an axis.

    >>> tick(0.25), tick(0.0004), tick(1.5e-7), tick(0.0)
    ('0.25', '4e-4', '1.5e-7', '0')
    """
    text = f"{value:.2g}" if value == 0 or abs(value) >= 1e-3 else f"{value:.1e}"
    return text.replace(".0e", "e").replace("e-0", "e-").replace("e+0", "e")


def rendered(figure: Figure, format: str = "png") -> bytes:
    """The picture as the content of a file."""
    stream = io.BytesIO()
    options: dict[str, Any] = {"facecolor": "white"}
    if format == "png":  # the usual level takes as long as drawing, for a tenth of the size
        options["pil_kwargs"] = {"compress_level": 3}
    with warnings.catch_warnings():
        # a name in letters that the font lacks is drawn as boxes; the picture is still good
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font")
        figure.savefig(stream, format=format, **options)
    return stream.getvalue()
