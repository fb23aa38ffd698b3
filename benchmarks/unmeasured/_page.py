"""The page on hidden states, constants per run, delays, maps and identifiability."""

from collections.abc import Sequence
from statistics import median
from typing import Any

Row = dict[str, Any]

ABOUT = {
    "flu in a boarding school": "Counts of pupils in bed on 14 days; susceptible and recovered "
    "pupils are hidden. `S' = -beta*S*I/N`, `I' = beta*S*I/N - gamma*I`, `R' = gamma*I`, "
    '`start={"S": "N - I - R", "R": 0}`. Real data, compared with published values.',
    "FitzHugh-Nagumo, poly(2)": "500 rows of v with 2% noise, w hidden. "
    "`v' = a*v - b*v**3 - w + 0.5`, `w' = ...`. The stimulus 0.5 is given: with a free one, the "
    "zero of w would not be determined.",
    "FitzHugh-Nagumo, poly(3)": "The same with a larger library, in which the system also has "
    "another form: with `W = w - a*v + b*v**3`, `v' = 0.5 - W`, and the terms of W' are `1`, `v`, "
    "`v**2`, `v**3`, `W` and `v**2*W`. Only the number of terms can exclude this form.",
    "Lorenz from x": "500 rows of x with 1% noise; y and z are hidden. Structure given.",
    "Lorenz from x, free scale": "The same with `y' = rho*x - p*x*z - y` and `z' = q*x*y - b*z`.",
    "Rossler from y": "600 rows of y with 1% noise; x and z are hidden. Structure given.",
    "Rossler from y, free scale": "The same with `x' = -y - k*z`.",
    "two tanks": "1,000 rows of the lower level with 1% noise, the level of the upper tank hidden, "
    "a stepped inflow. `h' = b*u - a*sqrt(abs(h))`, `y' = a*sqrt(abs(h)) - d*sqrt(abs(y))`. The "
    "forecast is that of a second run with another inflow, from the first 50 rows. Its error is "
    "relative to the standard deviation of the level without noise.",
    "two tanks with overflow": "The same with `- c*(h - H + abs(h - H))` in h': above the rim, H, "
    "the upper tank overflows. The sensor's range ends at 6.5; the forecast is compared with the "
    "true level.",
    "two tanks, order two": "The same run with the default library and positions y: neither the "
    "structure nor the upper tank is known. The forecast starts from the first 50 rows.",
    "one compartment, 12 subjects": "A dose is absorbed from the gut, which is hidden: "
    "`gut' = -ka*gut`, `conc' = ka*gut/V - ke*conc`; 11 samples per subject with 5% noise, ka, ke "
    "and V per subject. 20 new subjects are forecast after three samples (up to 1 h) and a zero. "
    "These samples limit the gain: even with the true distribution and noise known, it is below "
    "the target for most seeds.",
    "theophylline": "The same equations for 12 real subjects, compared with the fit of nlme.",
    "20 pendulums": "Runs of 200 rows with 2% noise, a coefficient of sin(theta) per run. The "
    "known lengths of ten pendulums give g, and g the other ten lengths.",
    "20 pendulums, detected": "The same runs without known equations: `poly(1) + fourier(1)`, and "
    "the advice of the summary.",
    "20 equal pendulums": "The same with equal lengths: the advice must not say that a coefficient "
    "differs between runs. Target: at most one false detection in 20 seeds.",
    "dead time of an oscillator": "`x'' = -4*x - 0.5*x' + 2*u(t - 0.35)`, 401 rows of x and x' "
    "with a step of 0.05 and 2% noise, library `poly(1) + u(t - tau)`.",
    "oscillator without dead time": "The same with `u(t)`: no delay must be reported.",
    "Mackey-Glass with a free delay": "`x' = beta*x(t - tau)/(1 + x(t - tau)**n) - gamma*x`, 490 "
    "rows of 1.02 with 1% noise, everything free. Its intervals ignore errors of the smoothed "
    "measurements in x(t - tau), as a note of the summary says.",
    "logistic map": "500 rows with 1% noise, library `poly(3)`.",
    "Henon map": "500 rows with 1% noise, library `poly(3)`.",
    "Ricker map": "500 rows with 1% noise, library `poly(2) + x*exp(-c*x)`.",
    "Ricker map, discovered": "The same rows without a library: `og.discover(data).best`.",
    "Genesio-Tesi jerk flow, order 3": "1,000 rows of x with 2% noise, "
    "`x''' = -x - 1.1 x' - 0.44 x'' + x**2`; `order=3`, library `poly(2)`.",
    "motor with slow current, order 3": "1,200 rows of the angle with 1% noise, and of a stepped "
    "voltage, `a''' = -1.5 a - 2.5 a' - 3 a'' + 4 u`; `order=3`, library `poly(2)`.",
    "van der Pol from x, nothing given": "600 rows of x with 2% noise, "
    "`x' = 1.2 (x - x**3/3 - y)`, `y' = x/1.2`; `hidden=[\"h\"]` without equations, library "
    "`poly(3)`. h is x', so `h' = -x + 1.2 h - 1.2 x**2 h`.",
    "Rossler from x and y, nothing given": '1,000 rows of x and y with 1% noise; `hidden=["h"]` '
    "without equations, library `poly(2)`. The fit must find that h is x' and not y'.",
    "advice on a missing state": "The jerk flow and van der Pol's x of the cases above, and a "
    "relaxation driven by random steps that are not measured, fitted as they are. The advice must "
    "name the order that helps, and none if none does.",
    "cost of a hidden state": "1,000 rows of prey with 2% noise, predators hidden, six constants.",
    "cost of constants per run": "100 runs of 100 rows of pendulums of different length. The "
    "shared fit has pendulums of equal length.",
    "mistakes": "One mistake each: the error must name it in one line.",
}
TEN = "identifiability: "


def page(record: Row) -> str:
    """Return the page with all cases."""
    rows = record["rows"]
    text = (
        "# What is not in the table\n\n"
        f"Written by `python -m benchmarks unmeasured`; revision {record['revision']} of the "
        "source. Fits with hidden states (`hidden=[...]`), constants per run "
        "(`Physics(per_run=[...])`), delays, and of maps (`discrete=True`). Noise is relative to "
        "the standard deviation of each measured column. Fits use default settings. Every case is "
        "repeated with five or 20 seeds of the noise, except for real data, identifiability and "
        "cost. Targets were fixed before the first run.\n\n"
        "Not all results are independent of this benchmark. The ten systems of identifiability, "
        "two tanks, the cost cases and 12 subjects showed defects of the code that were then "
        "corrected, with these systems in view. After the first run, equations with two constants "
        "before the same term, which the package refused, were replaced in three of the ten "
        "systems; since the package reads them, four systems have them again. The rule for "
        "products of constants was added, and so were abs in the equations "
        "of the tanks, the tanks without overflow and the discovered map. Later, the inflow of the "
        "tanks was changed so that they are never empty, because the given equations, with abs, do "
        "not describe empty tanks; and the clipped sensor and the case of order two were added. "
        "Starting points for equations with kinks were made with the tanks in view.\n\n"
    )
    text += _overview(rows)
    for name in _names(rows):
        if not name.startswith(TEN):
            these = [row for row in rows if row["case"] == name]
            revisions = {row["revision"] for row in these if "revision" in row}
            text += f"\n## {name[0].upper()}{name[1:]}\n\n{ABOUT[name]}"
            text += f" Revision {', '.join(sorted(revisions))}." * bool(revisions) + "\n\n"
            text += _checks(these)
    text += (
        "\n## Identifiability\n\nTen systems with a hidden state and 1% noise; in half of them, "
        "the data do not determine all constants. An answer is correct if `undetermined_` names "
        "all constants, and all hidden states, that are not determined, and no others, or if "
        "`parameters_` has only products or sums of such constants.\n\n"
    )
    return text + _ten([row for row in rows if row["case"].startswith(TEN)]) + _failures(rows)


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
