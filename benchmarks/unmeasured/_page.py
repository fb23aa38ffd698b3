"""The page on hidden states, constants per run, delays, maps and identifiability."""

from collections.abc import Sequence
from statistics import median
from typing import Any

Row = dict[str, Any]

ABOUT = {
    "flu in a boarding school": (
        "The data are the numbers of pupils in bed on 14 days. Susceptible and recovered pupils "
        "are hidden. The equations are `S' = -beta*S*I/N`, `I' = beta*S*I/N - gamma*I` and `R' = "
        'gamma*I`, with `start={"S": "N - I - R", "R": 0}`. The estimates are compared with '
        "published values."
    ),
    "FitzHugh-Nagumo, poly(2)": (
        "The data are 500 rows of v with 2% noise, and w is hidden. The equations are `v' = a*v - "
        "b*v**3 - w + 0.5` and `w' = ...`. The stimulus 0.5 is given, because otherwise the data "
        "do not determine the offset of w."
    ),
    "FitzHugh-Nagumo, poly(3)": (
        "The same data are fitted with a larger library. With it, the system has an equivalent "
        "form with more terms: `v' = 0.5 - W`, where `W = w - a*v + b*v**3` and W' consists of "
        "`1`, `v`, `v**2`, `v**3`, `W` and `v**2*W`. The fit must prefer the form with fewer terms."
    ),
    "Lorenz from x": (
        "The data are 500 rows of x with 1% noise. y and z are hidden. The terms are given."
    ),
    "Lorenz from x, free scale": (
        "The same data are fitted with `y' = rho*x - p*x*z - y` and `z' = q*x*y - b*z`."
    ),
    "Rossler from y": (
        "The data are 600 rows of y with 1% noise. x and z are hidden. The terms are given."
    ),
    "Rossler from y, free scale": ("The same data are fitted with `x' = -y - k*z`."),
    "two tanks": (
        "The data are 1,000 rows of the level of the lower tank with 1% noise and of a stepped "
        "inflow. The level of the upper tank is hidden. The equations are `h' = b*u - "
        "a*sqrt(abs(h))` and `y' = a*sqrt(abs(h)) - d*sqrt(abs(y))`. A second run with another "
        "inflow is forecast from its first 50 rows. The error is relative to the standard "
        "deviation of the level without noise."
    ),
    "two tanks with overflow": (
        "The equation of h' also contains `- c*(h - H + abs(h - H))`: the upper tank overflows "
        "above the level H. The sensor has a limit of 6.5, but the forecast is compared with the "
        "true level."
    ),
    "two tanks, order two": (
        "The same run is fitted with the default library and positions y, so that neither the "
        "terms nor the upper tank are known. The forecast starts from the first 50 rows."
    ),
    "one compartment, 12 subjects": (
        "A dose is absorbed from the gut, which is hidden: `gut' = -ka*gut` and `conc' = ka*gut/V "
        "- ke*conc`. There are 11 samples per subject with 5% noise, and ka, ke and V differ "
        "between subjects. 20 new subjects are forecast from three samples (up to 1 h) and an "
        "initial zero. These samples limit the gain: even with the true distribution and noise, it "
        "is below the target for most seeds."
    ),
    "theophylline": (
        "The same equations are fitted to 12 real subjects. The estimates are compared with those "
        "of nlme."
    ),
    "20 pendulums": (
        "The data are runs of 200 rows with 2% noise. The coefficient of sin(theta) differs "
        "between runs. From the known lengths of ten pendulums, g is estimated, and from g the "
        "other ten lengths."
    ),
    "20 pendulums, detected": (
        "The same runs are fitted without known equations, with `poly(1) + fourier(1)`. The advice "
        "of the summary must name the coefficient that differs between runs."
    ),
    "20 equal pendulums": (
        "The lengths are equal, and the advice must not name a coefficient that differs between "
        "runs. The target is at most one false detection in 20 seeds."
    ),
    "dead time of an oscillator": (
        "The system is `x'' = -4*x - 0.5*x' + 2*u(t - 0.35)`. The data are 401 rows of x and x' "
        "with a step of 0.05 and 2% noise. The library is `poly(1) + u(t - tau)`."
    ),
    "oscillator without dead time": (
        "The system has `u(t)` instead, and the fit must not report a delay."
    ),
    "Mackey-Glass with a free delay": (
        "The system is `x' = beta*x(t - tau)/(1 + x(t - tau)**n) - gamma*x`. The data are 490 rows "
        "with a step of 1.02 and 1% noise, and all constants are estimated. Intervals ignore "
        "errors of the smoothed measurements in x(t - tau), and a note of the summary says so."
    ),
    "dead time before a hidden state": (
        "The system is a motor with `i' = 5 u(t - 0.35) - 3 i - w` and `w' = 2 i - 0.7 w`. The "
        "data are 500 rows of w, with a step of 0.05 and 2% noise, and of a stepped u. i is "
        "hidden. The "
        "equations are `i' = b*u(t - tau) - r*i - w` and `w' = k*i - 0.7*w`."
    ),
    "dead time with a constant per run": (
        "The system is `x'' = -k x - 0.5 x' + 2 u(t - 0.35)`. The data are eight runs of 150 rows "
        "of x and x' with 2% noise, with another k in each run. The terms are given."
    ),
    "logistic map": ("The data are 500 rows with 1% noise. The library is `poly(3)`."),
    "Henon map": ("The data are 500 rows with 1% noise. The library is `poly(3)`."),
    "Ricker map": ("The data are 500 rows with 1% noise. The library is `poly(2) + x*exp(-c*x)`."),
    "Ricker map, discovered": (
        "The same rows are fitted by `og.discover(data).best`, without a library."
    ),
    "Genesio-Tesi jerk flow, order 3": (
        "The system is `x''' = -x - 1.1 x' - 0.44 x'' + x**2`. The data are 1,000 rows of x with "
        "2% noise, with `order=3` and the library `poly(2)`."
    ),
    "motor with slow current, order 3": (
        "The system is `a''' = -1.5 a - 2.5 a' - 3 a'' + 4 u`. The data are 1,200 rows of the "
        "angle with 1% noise and of a stepped voltage, with `order=3` and the library `poly(2)`."
    ),
    "van der Pol from x, nothing given": (
        "The system is `x' = 1.2 (x - x**3/3 - y)`, `y' = x/1.2`. The data are 600 rows of x with "
        '2% noise, with `hidden=["h"]`, no known equations and the library `poly(3)`. Since h is '
        "x', the true equation is `h' = -x + 1.2 h - 1.2 x**2 h`."
    ),
    "Rossler from x and y, nothing given": (
        'The data are 1,000 rows of x and y with 1% noise, with `hidden=["h"]`, no known equations '
        "and the library `poly(2)`. The fit must define h as x' and not as y'."
    ),
    "advice on a missing state": (
        "The jerk flow and van der Pol's x of the cases above are fitted with order one, and so is "
        "a relaxation with unmeasured random steps. The advice must name the order that helps, or "
        "no order if none helps."
    ),
    "cost of a hidden state": (
        "The data are 1,000 rows of prey with 2% noise. Predators are hidden, and there are six "
        "constants."
    ),
    "cost of constants per run": (
        "The data are 100 runs of 100 rows of pendulums with different lengths. The time is "
        "compared with that of a fit with one shared constant to pendulums of equal length."
    ),
    "mistakes": ("Each case is a typical user error. The message must name it in one line."),
}
TEN = "identifiability: "


def page(record: Row) -> str:
    """Return the page with all cases."""
    rows = record["rows"]
    text = (
        "# What is not in the table\n\n"
        f"{_conclusion(rows)} They have hidden states (`hidden=[...]`), constants per run "
        "(`Physics(per_run=[...])`), delays or maps (`discrete=True`). `python -m benchmarks "
        f"unmeasured` wrote this page at revision {record['revision']}.\n\n"
        f"{_overview(rows)}\n"
        "Noise is relative to the standard deviation of each measured column, and fits use default "
        "settings. Most cases are repeated with five or 20 seeds of the noise. Targets were fixed "
        "before the first run.\n\n"
        "Results are optimistic for the systems of identifiability, the tanks, the cost cases, "
        "the 12 subjects and FitzHugh-Nagumo with poly(3), because the package was improved with "
        "these systems in view. Some cases "
        "were changed after the first run: the inflow of the tanks, so that they are never empty, "
        "and the equations of some systems of identifiability.\n"
    )
    for name in _names(rows):
        if not name.startswith(TEN):
            these = [row for row in rows if row["case"] == name]
            revisions = {row["revision"] for row in these if "revision" in row}
            text += f"\n## {name[0].upper()}{name[1:]}\n\n{ABOUT[name]}"
            text += f" Revision {', '.join(sorted(revisions))}." * bool(revisions) + "\n\n"
            text += _checks(these)
    text += (
        "\n## Identifiability\n\nTen systems have a hidden state and 1% noise. In half of them, "
        "the data do not determine all constants. An answer is correct if `undetermined_` names "
        "exactly the constants and hidden states that are not determined, or if `parameters_` "
        "contains only their products or sums.\n\n"
    )
    return text + _ten([row for row in rows if row["case"].startswith(TEN)]) + _failures(rows)


def _conclusion(rows: Sequence[Row]) -> str:
    met = sum(_is_met(row) for row in rows)
    return f"{met} of {len(rows)} fits meet all targets of this page."


def _names(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row["case"] for row in rows))


def _overview(rows: Sequence[Row]) -> str:
    lines = [["case", "fits", "fits that meet all targets", "CPU seconds of a fit"], ["---"] * 4]
    groups = {name: [row for row in rows if row["case"] == name] for name in _names(rows)}
    ten = [row for row in rows if row["case"].startswith(TEN)]
    groups = {name: group for name, group in groups.items() if group[0] not in ten}
    if ten:
        groups["identifiability, ten systems"] = ten
    for name, group in groups.items():
        seconds = [row["fit_seconds"] for row in group if "fit_seconds" in row]
        met = sum(_is_met(row) for row in group)
        shown = f"{median(seconds):.1f}" if seconds else "-"
        lines.append([name, str(len(group)), f"{met} of {len(group)}", shown])
    return _table(lines)


def _is_met(row: Row) -> bool:
    return row["status"] == "done" and all(one["met"] for one in row["checks"])


def _checks(rows: Sequence[Row]) -> str:
    done = [row for row in rows if row["status"] == "done"]
    lines = [["quantity", "target", "result", "met"], ["---"] * 4]
    for what in dict.fromkeys(one["what"] for row in done for one in row["checks"]):
        these = [one for row in done for one in row["checks"] if one["what"] == what]
        met = sum(one["met"] for one in these)
        lines.append([_code(what), _code(these[0]["aim"]), _result(these), f"{met} of {len(rows)}"])
    text = _table(lines) if done else ""
    for key, label in (
        ("possible_gain", "Gain with the true distribution and noise known"),
        ("overflowing", "Share of rows in which the upper tank overflows"),
        ("clipped", "Share of rows at the limit of the sensor"),
    ):
        values = [row[key] for row in done if key in row]
        if values:
            text += f"\n{label}: {_values(values)}.\n"
    errors = [row["constant_errors"] for row in done if "constant_errors" in row]
    if errors:
        worst = {name: [row[name] for row in errors] for name in errors[0]}
        shown = ", ".join(
            f"{name} {100 * max(values):.2g}%" if all(value == value for value in values)
            else f"{name} not determined in {sum(value != value for value in values)}"
            for name, values in worst.items()
        )  # fmt: skip
        text += f"\nLargest errors of constants: {shown}.\n"
    return text


def _result(checks: Sequence[Row]) -> str:
    values = [one["value"] for one in checks]
    if all(isinstance(value, float) for value in values):
        return _values(values)
    shown = list(dict.fromkeys("-" if value is None else _shown(value) for value in values))
    return "; ".join(shown)


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else _code(str(value))


def _values(values: Sequence[float]) -> str:
    if len(values) == 1:
        return f"{values[0]:.4g}"
    return f"{median(values):.4g} ({min(values):.4g} to {max(values):.4g})"


def _code(text: str) -> str:
    """Return text in which Markdown finds no emphasis and no columns."""
    return text.replace("|", "\\|").replace("*", "\\*")


def _ten(rows: Sequence[Row]) -> str:
    from ._ten import SYSTEMS

    lines = [["system", "equations", "not determined", "answer", "correct"], ["---"] * 5]
    for row in rows:
        name = row["system"]
        answer = row["checks"][0]["value"] if row["status"] == "done" else row["status"]
        about = _code(SYSTEMS[name].about)
        correct = "yes" if _is_met(row) else "no"
        lines.append([name, about, SYSTEMS[name].answer, answer, correct])
    return _table(lines)


def _failures(rows: Sequence[Row]) -> str:
    failed = [row for row in rows if row["status"] != "done"]
    if not failed:
        return ""
    lines = [f"- **{row['id']}**: {row['status']}. {_code(row['error'])}" for row in failed]
    return "\n## Failed\n\n" + "\n".join(lines) + "\n"


def _table(lines: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
