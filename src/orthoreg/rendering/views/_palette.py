"""One palette for pictures and pages, by what a colour stands for."""

# Okabe and Ito's palette, which colour-blind readers can tell apart, with greys. In print without
# colour, kinds of marks (dots, solid, dashed, shaded) tell the same things apart.
MEASURED, FORECAST, FITTED, RESIDUAL, INPUT = (
    "#979797", "#0072B2", "#0072B2", "#D55E00", "#009E73",
)  # fmt: skip
INK, NOTE, GRID, FLOW, SHADE = "#1A1A1A", "#555555", "#E3E3E3", "#A9C3D6", "#EFEFEF"

# from pale to dark in print as well; its palest is still seen on white
HEAT = (
    "#F6E7CF", "#F3C07B", "#E98B3A", "#C4520C", "#7F2A04", "#3D1402",
)  # fmt: skip
