"""The sections of a report as HTML. All names and sentences are escaped here."""

import math

from ..._common.html import escape
from ..._common.notation import left_side, target_word
from ...export import math as mathml
from ...export import typeset_formula, typeset_sentence
from ...findings import number
from ...findings._words import NOT_A_PROBABILITY, interval, whole_percent
from ...findings.charts import Equation, ReportData
from ._next import next_section
from ._pieces import (
    badge,
    chart,
    choice,
    copy_button,
    fact_list,
    known_percent,
    legend,
    quiet,
    select,
    slider,
    switches,
    table,
)

_PAIRS = 4  # pairs of indistinguishable terms; further pairs are folded
_LINES = 40  # coefficients in one chart; if there are more, there is a chart per equation
_SHOWN = 6  # equations; if there are many more, these are folded
_LONG = 22  # characters of a term; longer terms use smaller letters
_NETWORK_SIZE = "size of the network's part"
_EARLIER = ("", "accepted model", "earlier model")
_PARTS = {"Model": "whole", "Equations": "equations", "Network": "network"}


def sections(data: ReportData) -> list[tuple[str, str, str]]:
    """Return (id, navigation label, HTML) of each section that is not empty."""
    every = [
        ("summary", "", _head(data)),
        ("equations", "Equations", _equations(data)),
        ("verdict", "Verdict", _verdict(data)),
        ("next", "Next", next_section(data)),
        ("earlier", "Before", earlier_section(data)),
        ("forecasts", "Forecasts", _forecasts(data)),
        ("flow", "Flow", _phase(data)),
        ("residual", "Residual", _residual(data)),
        ("terms", "Terms", _paths(data)),
        ("coefficients", "Coefficients", _coefficients(data)),
        ("errors", "Errors", _diagnostics(data)),
        ("proposals", "Proposals", proposals_section(data)),
        ("models", "Models", ranking_section(data)),
        ("data", "Data", quality_section(data)),
        ("repeat", "Repeat", repeat_section(data)),
    ]
    return [section for section in every if section[2]]


def _head(data: ReportData) -> str:
    return (
        f'<p class="eyebrow">System identification report</p><h1>{escape(data.title)}</h1>'
        f'<p class="lead">{escape(data.subtitle)}</p>'
        f"<p>{badge(data.summary.verdict)}</p>"
    )


def _equations(data: ReportData) -> str:
    rows = [_equation(equation) for equation in data.equations]
    shown = "".join(rows[:_SHOWN]) if len(rows) > _SHOWN + 2 else "".join(rows)
    if len(rows) > _SHOWN + 2:
        hidden = "".join(rows[_SHOWN:])
        shown += (
            f"<details><summary>{len(rows) - _SHOWN} more equations</summary>{hidden}</details>"
        )
    shares = [
        term.probability
        for equation in data.equations
        for term in equation.terms
        if term.probability
    ]
    key = (
        "Below each term: the 95% interval of its coefficient, and the probability of the term."
        + f" {NOT_A_PROBABILITY}" * any("(" in share for share in shares)
        if shares
        else "There are no intervals for these terms."
    )
    constants = "".join(
        f"<li>{equation.math} = {escape(equation.value)}"
        + (f" <small>({escape(equation.interval)})</small>" if equation.interval else "")
        + "</li>"
        for equation in data.constants
    )
    if constants:
        constants = f'<p class="quiet">Constants that were estimated:</p><ul>{constants}</ul>'
    return (
        f'<h2>Equations</h2><div class="card equations{_long(data)}">{shown}</div>'
        f'<p class="quiet">{key}</p>{_copy_all(data)}{constants}'
    )


def _copy_all(data: ReportData) -> str:
    """Return a button that copies the LaTeX of several equations."""
    lines = [equation.latex for equation in data.equations]
    return (
        copy_button(" \\\\\n".join(lines), "Copy all as LaTeX")
        if len(lines) > 1 and all(lines)
        else ""
    )


def _long(data: ReportData) -> str:
    """Return the CSS class of equations with long terms."""
    names = [term.name for equation in data.equations for term in equation.terms]
    return " long" * any(len(name) > _LONG for name in names)


def _equation(equation: Equation) -> str:
    unit = f'<small class="unit">{escape(equation.unit)}</small>' if equation.unit else ""
    left = f'<span class="left">{mathml(equation.left + "<mo>=</mo>")}{unit}</span>'
    terms = []
    for term in equation.terms:
        notes = [term.interval, term.probability]
        if term.kind == "given":
            notes = ["given"]
        elif term.kind == "network":
            notes = ["network", term.interval]
        small = "".join(f"<small>{escape(note)}</small>" for note in notes if note)
        terms.append(f'<span class="term {term.kind}">{mathml(term.math)}{small}</span>')
    right = "".join(terms) or f'<span class="term">{mathml("<mn>0</mn>")}</span>'
    return (
        f'<div class="equation" role="group" aria-label="Equation of {escape(equation.label)}">'
        f'{left}<span class="right">{right}</span>{copy_button(equation.latex, "Copy LaTeX")}</div>'
    )


def _verdict(data: ReportData) -> str:
    summary = data.summary
    cards = "".join(
        f'<div class="card"><h3>{escape(head)}</h3><p>{_typeset(text, data)}</p></div>'
        for head, text in data.sentences
    )
    advice = "".join(
        f'<li>{_typeset(item.text, data)} <span class="code">{escape(item.code)}</span></li>'
        for item in summary.advice
    )
    if advice:
        advice = f"<h3>What to try next</h3><ol>{advice}</ol>"
    items = [f"<li>{_typeset(item.text, data)}</li>" for item in summary.confounded]
    pairs = f"<ul>{''.join(items[:_PAIRS])}</ul>"
    if len(items) > _PAIRS:
        more = f"<summary>{len(items) - _PAIRS} more</summary><ul>{''.join(items[_PAIRS:])}</ul>"
        pairs += f"<details>{more}</details>"
    pairs = f"<h3>Terms that the data cannot distinguish</h3>{pairs}" if items else ""
    notes = "".join(f"<li>{_typeset(note, data)}</li>" for note in summary.notes)
    if notes:
        notes = f"<details><summary>Notes</summary><ul>{notes}</ul></details>"
    return (
        f'<h2>Verdict</h2><p class="verdict">{_typeset(summary.verdict.text, data)}</p>'
        f'{advice}{pairs}<div class="grid">{cards}</div>{notes}{_certificate(data)}'
    )


def _typeset(text: str, data: ReportData) -> str:
    return typeset_sentence(text, data.names)


def _certificate(data: ReportData) -> str:
    columns = ("equation", "terms", "fit error", "network", "in library", "overlap", "duality gap")
    certificate = data.summary.certificate
    rows = [
        (
            left_side(row.equation), str(row.n_terms), number(row.fit_error),
            number(row.residual_share), whole_percent(row.library_share), number(row.overlap),
            number(row.duality_gap),
        )
        for row in certificate
    ]  # fmt: skip
    word = target_word(row.equation for row in certificate)
    words = f"Errors and the network's size are relative to the size of each {word}."
    if all(math.isnan(row.duality_gap) for row in certificate):
        columns, rows = columns[:-1], [cells[:-1] for cells in rows]
        words += (
            f"There is no duality gap. It applies only to fits of {word}s, and these equations "
            "were fitted to integrals over windows or matched to trajectories."
        )
    inside = table(columns, rows)
    return f'<details><summary>Certificate</summary><p class="quiet">{words}</p>{inside}</details>'


def _forecasts(data: ReportData) -> str:
    forecasts = data.forecasts
    if forecasts is None:
        return ""
    names = [
        f"{run.label} · error {known_percent(run.error)}" if math.isfinite(run.error)
        else f"{run.label} · ends early"
        for run in forecasts.runs
    ]  # fmt: skip
    pick = select("forecast-run", "Run", names)
    keys = [("measured", "dot", "measured"), ("forecast", "line", "forecast")]
    if forecasts.band:
        keys.append(("band", "area", forecasts.band))
    if any(run.left is not None for run in forecasts.runs):
        keys.append(("edge", "dash", "leaves the training data"))
    if any(run.lost is not None for run in forecasts.runs):
        keys.append(("limit", "dots", "predictable until here"))
    return (
        "<h2>Forecasts and data</h2><p>Each run, simulated from its first row.</p>"
        f'<div class="controls">{pick}</div>{legend(keys)}'
        f"{chart('chart-forecast', 'Forecast and measured values of each state over time')}"
        f"{quiet(forecasts.note)}"
    )


def _phase(data: ReportData) -> str:
    phase = data.phase
    if phase is None:
        return ""
    pairs = [f"{portrait.x_label}, {portrait.y_label}" for portrait in phase.portraits]
    pick = select("phase-pair", "States", pairs)
    network = phase.rate.network if phase.rate is not None else phase.portraits[0].network
    parts = dict(_PARTS) if network is not None else {}
    switch = choice("phase-part", "Flow of", parts) if parts else ""
    if phase.rate is not None:
        head = "Rate of change"
        keys = [("measured", "dot", "measured"), ("forecast", "line", "model")]
        keys += [("terms", "dash", "equations alone")] if parts else []
        words = "The rate of change of the state against its value."
        if phase.discrete:
            head, words = "Next value", "The value at the next row against the value."
        switch = ""
    else:
        head = "Phase portrait"
        keys = [("run", "line", "measured runs"), ("flow", "line", "learned flow")]
        words = "The flow of the model, with the measured runs."
        if phase.discrete:
            words = "The moves of the model to the next row, with the measured rows."
            keys = [("run", "dot", "measured rows"), ("flow", "line", "move to the next row")]
        if any(portrait.kinds for portrait in phase.portraits):
            words += " Large circles are equilibria, filled if stable."
    return (
        f'<h2>{head}</h2><p>{words}</p><div class="controls">{pick}{switch}</div>{legend(keys)}'
        f"{chart('chart-phase', head)}{quiet(phase.note)}"
    )


def _residual(data: ReportData) -> str:
    if not data.residual:
        return ""
    first = data.residual[0]
    pick = select(
        "residual-equation", "Equation", [residual.equation for residual in data.residual]
    )
    shows = {"Data": "points"}
    if first.density.size:
        shows["Density"] = "density"
    if first.distance is not None:
        shows["Trust region"] = "region"
    switch = switches("residual-show", "Show", shows) if first.y.size else ""
    keys = [("point", "dot", "measured states")]
    if first.density.size:
        keys.append(("density", "line", "50% and 90% of them lie inside"))
    if first.distance is not None:
        keys.append(("edge", "dash", "edge of the training data"))
    return (
        f"<h2>Residual map</h2><p>Colour: {_NETWORK_SIZE}, over the two variables with the largest "
        f'effect.</p><div class="controls">{pick}{switch}'
        f"</div>{legend(keys) if first.y.size else ''}"
        f"{chart('chart-residual', 'Residual over state space')}{quiet(data.residual_note)}"
    )


def _paths(data: ReportData) -> str:
    paths = data.paths
    if paths is None:
        return ""
    pick = select("path-equation", "Equation", [path.equation for path in paths.equations])
    keys = [
        ("terms", "line", "rows that were fitted"), ("network", "line", paths.outer),
        ("ring", "dot", "in use"),
    ]  # fmt: skip
    run = f"Forecast of run {paths.run} with this equation; the other equations are unchanged"
    alone = f", {paths.note}" if paths.note else ""
    return (
        "<h2>Number of terms</h2><p>Move the slider to see error and forecast of the equation "
        'with fewer or more terms.</p><div class="controls">'
        f"{pick}{slider('path-step', 'Terms')}</div>"
        f'<div class="card equations{_long(data)}"><div class="equation" id="path-formula" '
        f'aria-live="polite"></div></div>{legend(keys)}'
        f"{chart('chart-path', 'Error of the equation by its number of terms')}"
        f'<p class="quiet">{escape(run + alone)}.</p>'
        f"{chart('chart-path-forecast', 'Forecast by the equation with this number of terms')}"
    )


def _coefficients(data: ReportData) -> str:
    rows, pairs = data.summary.shown_terms, _correlations(data)
    if not rows:
        return f"<h2>Coefficients</h2>{pairs}" if pairs else ""
    if not data.has_network:  # the equations show the intervals, so there is no chart
        return f"<h2>Coefficients</h2>{_term_table(data)}{pairs}"
    known = any(row.coefficient and row.low is not None for row in rows)
    words = "with their 95% intervals" if known else "without intervals, which are unknown"
    if not all(row.coefficient for row in rows):
        words += "; a hollow dot is a less probable term that the model does not use"
    names = [left_side(name) for name in dict.fromkeys(row.equation for row in rows)]
    pick = select("coefficients-equation", "Equation", names) if len(rows) > _LINES else ""
    return (
        f"<h2>Coefficients</h2><p>Coefficients {words}.</p>"
        f'<div class="controls">{pick}</div>'
        f"{chart('chart-coefficients', 'Coefficients with intervals')}"
        f"<details><summary>As a table</summary>{_term_table(data)}</details>{pairs}"
    )


def _correlations(data: ReportData) -> str:
    """Return a table of correlated estimates."""
    pairs = data.summary.correlations
    if not pairs:
        return ""
    rows = [(pair.first, pair.second, f"{pair.correlation:.4f}") for pair in pairs]
    return (
        "<h3>Correlated estimates</h3><p>The data determine a combination of these constants "
        "better than each constant alone. Intervals are joint, with all constants free.</p>"
        f"{table(('estimate', 'estimate', 'correlation'), rows, words=2)}"
    )


def _term_table(data: ReportData) -> str:
    shown = data.summary.shown_terms
    has_units = any(row.unit for row in shown)
    rows = [
        (
            left_side(row.equation),
            typeset_formula(row.term, data.names),
            f"{row.coefficient:#.4g}" if row.coefficient else "left out",
            *((row.unit or "",) if has_units else ()),
            "" if not row.coefficient or row.low is None or row.high is None
            else interval(row.low, row.high),
            row.share,
        )
        for row in shown
    ]  # fmt: skip
    unit = ("unit",) if has_units else ()
    columns = ("equation", "term", "coefficient", *unit, "95% interval", "probability")
    return table(columns, rows, words=2)


def _diagnostics(data: ReportData) -> str:
    if not data.diagnostics:
        note = data.diagnostics_note
        return f"<h2>Residual diagnostics</h2>{quiet(note)}" if note else ""
    names = [equation.equation for equation in data.diagnostics]
    word = target_word(names)
    pick = select("errors-equation", "Equation", names)
    bars = [
        ("forecast", "line", "autocorrelation"),
        ("point", "dash", "95% range of white noise"),
    ]
    keys = [("point", "dot", "error at a row"), ("network", "line", "mean of rows nearby, 95%")]
    return (
        f"<h2>Residual diagnostics</h2><p>Errors of the {word}s. For a good model, they look "
        f'like noise, over time and against every variable.</p><div class="controls">{pick}</div>'
        f"{legend(bars)}{chart('chart-correlation', 'Autocorrelation of the errors')}{legend(keys)}"
        f"{chart('chart-errors', 'Errors against each state and input')}"
        f"{quiet(data.diagnostics_note)}"
    )


def proposals_section(data: ReportData) -> str:
    if data.proposals is None:
        return ""
    head = "Missing terms" if data.earlier is None else "Terms missing in the earlier library"
    if not data.proposals:
        return (
            f"<h2>{head}</h2><p>None of the tested formulas explains the error of the library.</p>"
        )
    verb = "lacks" if data.earlier is None else "lacked"
    cards = []
    for proposal in data.proposals:
        facts = [
            ("gain", f"{proposal.gain:.0f} nats"),
            ("misfit beyond noise explained", known_percent(proposal.inside)),
            ("on the outer shell", known_percent(proposal.outside)),
            ("of resamples prefer it", known_percent(proposal.probability)),
        ]
        evidence = "".join(f"<div><dt>{k}</dt><dd>{escape(v)}</dd></div>" for k, v in facts)
        accepted = ' <span class="code">accepted</span>' if proposal.is_accepted else ""
        # constants inside a formula are named like "p in exp(-x*p)"
        inner = [text.partition(" in ")[0] for text in proposal.constants]
        names = (*data.names, *inner)
        lists = "".join(
            f"<p class='quiet'><b>{word}</b> {typeset_sentence('; '.join(items), names)}</p>"
            for word, items in (
                ("Constants:", proposal.constants),
                ("What it would change:", proposal.changes),
                ("Rivals:", proposal.alternatives),
            )
            if items
        )
        cards.append(
            f'<div class="card proposal"><h3>{escape(proposal.equation)} {verb} '
            f"{typeset_formula(proposal.formula, data.names)}{accepted}</h3>"
            f"<div class='scroll'>{proposal.math}</div>"
            f'<dl class="facts">{evidence}</dl>{lists}</div>'
        )
    return f"<h2>{head}</h2>{''.join(cards)}"


def earlier_section(data: ReportData) -> str:
    earlier = data.earlier
    if earlier is None:
        return ""
    lines = "".join(f"<div class='scroll'>{line}</div>" for line in earlier.equations)
    return (
        "<h2>Before and after</h2><p>The proposals below were made for an earlier model; this "
        f"report is about the model that accepted them.</p>{table(_EARLIER, earlier.rows)}"
        f'<div class="card"><h3>The earlier model</h3>{lines}'
        f"<p class='quiet'>{typeset_sentence(earlier.verdict.text, data.names)}</p></div>"
    )


def ranking_section(data: ReportData) -> str:
    if not data.ranking:
        return ""
    cards = "".join(
        f'<div class="card"><h3>{"Best" if not rank else f"{model.gap:.1f} nats behind"}'
        f"{' · base library' if model.is_base else ''}</h3>"
        + "".join(f"<div class='scroll'>{line}</div>" for line in model.equations)
        + quiet(typeset_sentence(model.difference, data.names))
        + "</div>"
        for rank, model in enumerate(data.ranking)
    )
    words = "Complete models, ranked by how well their trajectories follow the runs."
    return f"<h2>Other models of these data</h2><p>{words}</p>{cards}"


def quality_section(data: ReportData) -> str:
    quality = data.quality
    if quality is None:
        return ""
    lists = "".join(
        f"<h3>{head}</h3><ul>{''.join(f'<li>{escape(note)}</li>' for note in notes)}</ul>"
        for head, notes in (("Repairs", quality.repairs), ("Notes on reading", quality.notes))
        if notes
    )
    none = "" if quality.repairs else '<p class="quiet">No measurement was changed or omitted.</p>'
    values = table(quality.columns, quality.rows, words=1 + ("unit" in quality.columns))
    return f"<h2>Data</h2>{fact_list(quality.facts)}{values}{none}{lists}"


def repeat_section(data: ReportData) -> str:
    repeat = data.repeat
    command = f"<h3>Command</h3><pre>{escape(repeat.command)}</pre>" if repeat.command else ""
    return (
        f"<h2>How to reproduce it</h2>{fact_list(repeat.facts)}{command}"
        f"<h3>In Python</h3><pre>{escape(repeat.code)}</pre>"
    )
