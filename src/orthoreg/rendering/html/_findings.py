"""What searches found, the data in numbers and how to repeat it, as sections of a report."""

from ..._common.html import escape
from ...export import typeset_formula, typeset_sentence
from ._data import ReportData
from ._pieces import fact_list, known_percent, quiet, table


def proposals_section(data: ReportData) -> str:
    if data.proposals is None:
        return ""
    head = "What the library lacks" if data.earlier is None else "What the earlier library lacked"
    if not data.proposals:
        return (
            f"<h2>{head}</h2><p>Nothing to add: no formula that was tried explains what the "
            "library leaves.</p>"
        )
    verb = "lacks" if data.earlier is None else "lacked"
    cards = []
    for one in data.proposals:
        facts = [
            ("gain", f"{one.gain:.0f} nats"),
            ("misfit beyond noise explained", known_percent(one.inside)),
            ("on the outer shell", known_percent(one.outside)),
            ("of resamples prefer it", known_percent(one.probability)),
        ]
        evidence = "".join(f"<div><dt>{k}</dt><dd>{escape(v)}</dd></div>" for k, v in facts)
        accepted = ' <span class="code">accepted</span>' if one.is_accepted else ""
        # constants inside a formula are called "p in exp(-x*p)"
        inner = [text.partition(" in ")[0] for text in one.constants]
        names = (*data.names, *inner)
        lists = "".join(
            f"<p class='quiet'><b>{word}</b> {typeset_sentence('; '.join(items), names)}</p>"
            for word, items in (
                ("Constants:", one.constants),
                ("What it would change:", one.changes),
                ("Rivals:", one.alternatives),
            )
            if items
        )
        cards.append(
            f'<div class="card proposal"><h3>{escape(one.equation)} {verb} '
            f"{typeset_formula(one.formula, data.names)}{accepted}</h3>"
            f"<div class='scroll'>{one.math}</div>"
            f'<dl class="facts">{evidence}</dl>{lists}</div>'
        )
    return f"<h2>{head}</h2>{''.join(cards)}"


def earlier_section(data: ReportData) -> str:
    found = data.earlier
    if found is None:
        return ""
    lines = "".join(f"<div class='scroll'>{line}</div>" for line in found.equations)
    return (
        "<h2>Before and after</h2><p>The proposals below were made for an earlier model; this "
        f"report is about the model that accepted them.</p>{table(found.columns, found.rows)}"
        f'<div class="card"><h3>The earlier model</h3>{lines}'
        f"<p class='quiet'>{typeset_sentence(found.verdict.text, data.names)}</p></div>"
    )


def ranking_section(data: ReportData) -> str:
    if not data.ranking:
        return ""
    cards = "".join(
        f'<div class="card"><h3>{"Best" if not place else f"{one.gap:.1f} nats behind"}'
        f"{' · base library' if one.is_base else ''}</h3>"
        + "".join(f"<div class='scroll'>{line}</div>" for line in one.equations)
        + f"{quiet(typeset_sentence(one.difference, data.names)) if one.difference else ''}</div>"
        for place, one in enumerate(data.ranking)
    )
    words = "Whole models, ranked by how their trajectories follow the runs."
    return f"<h2>Other models of these data</h2><p>{words}</p>{cards}"


def quality_section(data: ReportData) -> str:
    found = data.quality
    if found is None:
        return ""
    lists = "".join(
        f"<h3>{head}</h3><ul>{''.join(f'<li>{escape(note)}</li>' for note in notes)}</ul>"
        for head, notes in (("Repairs", found.repairs), ("Notes on reading", found.notes))
        if notes
    )
    none = "" if found.repairs else '<p class="quiet">No measurement was changed or left out.</p>'
    values = table(found.columns, found.rows, words=1 + ("unit" in found.columns))
    return f"<h2>Data</h2>{fact_list(found.facts)}{values}{none}{lists}"


def repeat_section(data: ReportData) -> str:
    found = data.repeat
    command = f"<h3>Command</h3><pre>{escape(found.command)}</pre>" if found.command else ""
    return (
        f"<h2>How to repeat it</h2>{fact_list(found.facts)}{command}"
        f"<h3>In Python</h3><pre>{escape(found.code)}</pre>"
    )
