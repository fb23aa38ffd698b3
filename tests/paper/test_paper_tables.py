"""Tables of synthetic records: numbers, marks and texts, and the printed values of the paper."""

import csv
import io
import json
import math
import re
from dataclasses import replace

import pytest
from rich.console import Console

from orthoreg._common.errors import InputError
from paper import _paper, table_pendulum
from paper._evidence import Reading, Verdict
from paper._labels import method_label, metric_label
from paper._page import reproduction_page
from paper._paper import PAPER, PaperValue, is_dagger, paper_value
from paper._registry import BEYOND, EXPERIMENTS, NAMES, wanted
from paper._render import (
    escape_latex,
    escape_markdown,
    to_csv,
    to_json,
    to_latex,
    to_markdown,
    to_terminal,
)
from paper._settings import Setting
from paper._tables import build_table, number

SETTING = "pendulum/medium"
METHOD = re.compile(
    r"pure@0\.00[13]|stlsq|l2|orthoreg(@lam=(0\.0005|0\.005|0\.05|0\.5|5|50))?|validated|projection"
    r"|pinn|universal-ode|recommended|base|discovery|truth|pysindy|operon"
)
METRIC = re.compile(
    r"(derivative|rollout)\.(id|ext|t2|t3)|derivative\.t3-adapted"
    r"|(f1|precision|recall|terms)@(0\.001|0\.045)|overlap|cosine|symbolic_share|lambda|mu"
    r"|epoch_ms|overhead_percent|(named|top|list)_percent|spurious|seconds"
)


def rows(metric, *values, method="orthoreg", setting=SETTING):
    return [
        {"setting": setting, "method": method, "seed": seed, "metric": metric, "value": value}
        for seed, value in enumerate(values)
    ]


def pendulum(*groups):
    return build_table(table_pendulum, [row for group in groups for row in group])


def cell(table, metric, method="orthoreg", setting=SETTING):
    (row,) = [row for row in table.rows if (row.metric, row.setting) == (metric, setting)]
    (found,) = [one for one in row.cells if one.method == method]
    return found


# From records to cells


def test_mean_and_sample_standard_deviation_over_seeds():
    one = cell(pendulum(rows("derivative.id", 1.0, 2.0, 6.0)), "derivative.id")
    assert one.mean == 3.0
    assert one.std == pytest.approx(math.sqrt((4 + 1 + 9) / 2), rel=1e-15)
    assert (one.seeds, one.undefined) == (3, 0)


def test_one_seed_has_no_deviation():
    one = cell(pendulum(rows("derivative.id", 0.25)), "derivative.id")
    assert (one.mean, one.std, one.ours_text) == (0.25, None, "0.250")


def test_a_cell_without_records_is_empty_and_keeps_the_paper():
    one = cell(pendulum(rows("derivative.id", 0.25)), "f1@0.001")
    assert (one.mean, one.std, one.seeds, one.ours_text) == (None, None, 0, "–")
    assert one.paper == PaperValue(0.93, 0.15)


def test_undefined_values_are_left_out_and_counted():
    one = cell(pendulum(rows("cosine", 0.5, None, 0.7, math.nan)), "cosine")
    assert one.mean == pytest.approx(0.6)
    assert (one.seeds, one.undefined) == (2, 2)
    assert one.ours_text.endswith("(2 of 4 seeds)")


def test_an_infinite_value_is_shown_without_deviation():
    one = cell(pendulum(rows("lambda", math.inf, math.inf, method="projection")), "lambda",
               "projection")  # fmt: skip
    assert (one.mean, one.std, one.ours_text) == (math.inf, None, "inf")


def test_diverged_rollouts_are_counted_over_seeds_and_never_averaged_in():
    table = pendulum(
        rows("rollout.t2", 0.5, 1.5), rows("diverged.t2", 3, 4), rows("rollouts.t2", 200, 200)
    )
    one = cell(table, "rollout.t2")
    assert (one.mean, one.diverged, one.rollouts) == (1.0, 7, 400)
    assert one.ours_text == "1.00 ± 0.71 †7/400"
    assert cell(table, "derivative.t2").diverged is None


def test_no_dagger_where_every_rollout_was_completed():
    table = pendulum(rows("rollout.t2", 0.5), rows("diverged.t2", 0), rows("rollouts.t2", 200))
    assert cell(table, "rollout.t2").ours_text == "0.500"


def test_only_a_dagger_where_no_rollout_was_completed():
    table = pendulum(rows("rollout.t2", None), rows("diverged.t2", 9), rows("rollouts.t2", 9))
    assert cell(table, "rollout.t2").ours_text == "†9/9"


def test_other_settings_and_methods_do_not_leak_in():
    table = pendulum(
        rows("derivative.id", 1.0),
        rows("derivative.id", 9.0, setting="pendulum/low"),
        rows("derivative.id", 5.0, 5.0, method="pinn"),
    )
    assert cell(table, "derivative.id").mean == 1.0
    assert table.seeds == 1


def test_a_record_twice_counts_once_and_a_contradiction_raises():
    assert cell(pendulum(*[rows("mu", 0.5)] * 2), "mu").seeds == 1
    with pytest.raises(InputError, match="mu for orthoreg on pendulum/medium, seed 0, disagree"):
        pendulum(rows("mu", 0.5), rows("mu", 0.6))


@pytest.mark.parametrize(
    "value, text",
    [(0.0, "0"), (0.01234, "0.0123"), (1.0, "1.00"), (99.96, "100"), (12345.6, "12346"),
     (123456.0, "1.23e5"), (-4.56789e-7, "-4.57e-7"), (9.9999, "10.0"), (0.001, "0.00100")],
)  # fmt: skip
def test_numbers_have_three_digits(value, text):
    assert number(value) == text


# From cells to text


@pytest.fixture
def table():
    return pendulum(
        rows("derivative.id", 1.2e-5, 1.4e-5),
        rows("rollout.t2", 0.5, 1.5),
        rows("diverged.t2", 3, 4),
        rows("rollouts.t2", 200, 200),
    )


def renamed(table, text):
    """The same table with a text that every format must escape."""
    row = replace(table.blocks[0].rows[0], label=text)
    block = replace(table.blocks[0], rows=(row,), title=text)
    return replace(table, blocks=(block, block), name="x", title=text)


def test_json_is_metric_method_and_numbers(table):
    found = json.loads(json.dumps(to_json(table), allow_nan=False))
    assert set(found) == set(table_pendulum.METRICS)
    assert set(found["f1@0.001"]) == set(table_pendulum.METHODS)
    one = found["rollout.t2"]["orthoreg"]
    assert {"mean", "std", "paper"} <= set(one)
    assert (one["mean"], one["paper"], one["paper_std"]) == (1.0, 1.01, 0.01)
    assert (one["diverged"], one["rollouts"]) == (7, 400)
    assert found["overlap"]["l2"] == dict.fromkeys(one) | {"seeds": 0}


def test_json_of_several_settings_is_nested_by_setting():
    experiment = EXPERIMENTS["ablation_difficulty"]
    found = to_json(build_table(experiment, rows("f1@0.001", 0.8, setting="pendulum/high")))
    assert tuple(found) == experiment.SETTINGS
    assert found["pendulum/high"]["f1@0.001"]["orthoreg"]["mean"] == 0.8
    assert found["pendulum/low"]["f1@0.001"]["orthoreg"]["mean"] is None
    assert found["pendulum/low"]["f1@0.001"]["orthoreg"]["paper"] == 0.86


def test_csv_gives_every_digit_back(table):
    lines = list(csv.DictReader(io.StringIO(to_csv(table))))
    assert len(lines) == len(table_pendulum.METRICS) * len(table_pendulum.METHODS)
    found = {(line["metric"], line["method"]): line for line in lines}
    one, expected = found["derivative.id", "orthoreg"], cell(table, "derivative.id")
    assert (float(one["mean"]), float(one["std"])) == (expected.mean, expected.std)
    assert (float(one["paper_mean"]), float(one["paper_std"])) == (0.0189, 0.0001)
    assert one["diverged"] == ""
    assert found["rollout.t2", "orthoreg"]["diverged"] == "7"
    assert found["overlap", "stlsq"]["mean"] == ""


def test_csv_quotes_what_it_must(table):
    method = 'a,"b"\nc'
    row = replace(table.rows[0], cells=(replace(table.rows[0].cells[0], method=method),))
    text = to_csv(replace(table, blocks=(replace(table.blocks[0], rows=(row,)),)))
    assert next(csv.DictReader(io.StringIO(text)))["method"] == method


def cells_of_markdown(line):
    return [part.strip() for part in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_markdown_has_the_paper_beside_ours_in_each_cell(table):
    lines = to_markdown(table).splitlines()
    assert {len(cells_of_markdown(line)) for line in lines} == {len(table.methods) + 1}
    column = 1 + table.methods.index("orthoreg")
    (line,) = [line for line in lines if line.startswith("| Rollout error, T2 |")]
    shown = cells_of_markdown(line)[column]
    assert shown == "1.00 ± 0.71 †7/400<br>*paper 1.01 ± 0.01*"
    (line,) = [line for line in lines if line.startswith("| Derivative error, ID |")]
    assert cells_of_markdown(line)[column].startswith("1.30e-5 ± 1.4e-6<br>")


def test_markdown_escapes_and_gives_back(table):
    text = r"a|b *c* _d_ <e> [f] `g` \h # i"
    escaped = escape_markdown(text)
    assert re.sub(r"\\([\\`*_\[\]<>|#])", r"\1", escaped) == text
    lines = to_markdown(renamed(table, text)).splitlines()
    assert {len(cells_of_markdown(line)) for line in lines} == {len(table.methods) + 1}
    assert cells_of_markdown(lines[2])[0] == f"**{escaped}**"


def test_latex_escapes_every_special_sign():
    assert escape_latex("50% & $x_1$ #2 {a} ~ ^ \\") == (
        r"50\% \& \$x\_1\$ \#2 \{a\} \textasciitilde{} \textasciicircum{} \textbackslash{}"
    )


def test_latex_is_a_complete_booktabs_table(table):
    text = to_latex(renamed(table, "50% & x_1 ± μ"))
    for rule in ("toprule", "midrule", "bottomrule", "end{tabular}", "end{table}"):
        assert rf"\{rule}" in text
    assert text.isascii()
    body = [
        line for line in text.splitlines() if line.endswith(r"\\") and "multicolumn" not in line
    ]
    assert {len(re.findall(r"(?<!\\)&", line)) for line in body} == {len(table.methods)}
    assert r"\textbf{50\% \& x\_1 $\pm$ $\mu$}" in text
    assert len(re.findall(r"(?<!\\)\$", text)) % 2 == 0
    assert r"$1.30 \times 10^{-5}$ $\pm$ $1.4 \times 10^{-6}$" in text


def test_every_table_renders_in_ascii_latex():
    for experiment in EXPERIMENTS.values():
        assert to_latex(build_table(experiment, [])).isascii()


def test_terminal_shows_brackets_numbers_and_the_paper(table):
    stream = io.StringIO()
    Console(file=stream, width=250).print(to_terminal(renamed(table, "[bold]x[/bold]")))
    shown = stream.getvalue()
    assert "[bold]x[/bold]" in shown
    assert "1.30e-5 ± 1.4e-6" in shown
    assert "0.0189 ± 0.0001" in shown


# The paper's numbers


@pytest.mark.parametrize(
    "label, setting, metric, method, mean, std",
    [
        ("tab:sweet_spot_results", SETTING, "derivative.id", "pure@0.001", 1.27e-2, 0.07e-2),
        ("tab:sweet_spot_results", SETTING, "rollout.id", "l2", 0.31e-2, 0.02e-2),
        ("tab:sweet_spot_results", SETTING, "derivative.ext", "pure@0.003", 19.45e2, 12.89e2),
        ("tab:sweet_spot_results", SETTING, "rollout.t2", "l2", 1.07, 0.02),
        ("tab:sweet_spot_results", SETTING, "derivative.t3", "orthoreg@lam=0.005", 2.0, 0.0),
        ("tab:sweet_spot_results", SETTING, "terms@0.001", "orthoreg", 3.6, 1.3),
        ("tab:baseline", SETTING, "derivative.id", "pinn", 1.58e-2, 0.0),
        ("tab:baseline", SETTING, "derivative.t3", "universal-ode", 1.02e2, 0.18e2),
        ("tab:duffing_results_streamlined", "duffing", "rollout.id", "orthoreg", 0.559, 0.009),
        ("tab:duffing_results_streamlined", "duffing", "rollout.t2", "l2", 7.46, 6.20),
        ("tab:duffing_results_streamlined", "duffing", "terms@0.001", "pure@0.001", 11.0, 1.4),
        ("tab:difficulty_ablation_streamlined", "pendulum/low", "derivative.id", "orthoreg",
         26.82e-4, 5.00e-4),
        ("tab:difficulty_ablation_streamlined", "pendulum/low", "rollout.t3", "pure@0.001",
         161.60, 166.18),
        ("tab:difficulty_ablation_streamlined", SETTING, "derivative.t3", "l2", 218.49, 111.32),
        ("tab:difficulty_ablation_streamlined", "pendulum/high", "rollout.t3", "orthoreg",
         2.64e-1, 0.48e-1),
        ("tab:sampling_ablation_streamlined", "pendulum/medium/irregular/equal-steps",
         "derivative.t3", "l2", 39.0, 1.0),
        ("tab:sampling_ablation_streamlined", "pendulum/medium/irregular/equal-steps",
         "derivative.id", "orthoreg", 3.52, 0.0),
        ("tab:lv_results_streamlined", "lotka-volterra", "derivative.t3", "orthoreg", 0.171, 0.0),
        ("tab:lv_results_streamlined", "lotka-volterra", "terms@0.001", "pure@0.001", 16.6, 0.9),
        ("tab:sir_results_streamlined", "sir", "derivative.id", "orthoreg", 90.64e-5, 7.56e-5),
        ("tab:sir_results_streamlined", "sir", "derivative.t3", "pure@0.003", 72.68e-4, 19.04e-4),
        ("tab:stlsq_comparison", SETTING, "terms@0.001", "stlsq", 9.0, 0.0),
        ("tab:stlsq_comparison", "lotka-volterra", "derivative.t2", "stlsq", 0.418, 0.0),
        ("tab:stlsq_comparison", "sir", "derivative.t2", "stlsq", 233e-4, 0.0),
        ("tab:stlsq_comparison", "duffing", "terms@0.001", "pure@0.001", 11.0, 1.6),
    ],
)  # fmt: skip
def test_the_papers_numbers_in_plain_units(label, setting, metric, method, mean, std):
    found = paper_value(label, setting, metric, method)
    assert found is not None
    assert (found.mean, found.std) == pytest.approx((mean, std), rel=1e-12)


def test_where_the_paper_has_a_dagger_or_nothing():
    place = ("tab:stlsq_comparison", "duffing", "rollout.id")
    assert paper_value(*place, "stlsq") is None and is_dagger(*place, "stlsq")
    assert paper_value(*place, "orthoreg") is not None and not is_dagger(*place, "orthoreg")
    assert paper_value(*place, "projection") is None and not is_dagger(*place, "projection")
    assert paper_value("tab:baseline", SETTING, "f1@0.001", "pinn") is None
    assert not is_dagger("tab:baseline", SETTING, "f1@0.001", "pinn")
    table = build_table(EXPERIMENTS["table_stlsq"], [])
    assert cell(table, "rollout.id", "stlsq", "duffing").paper_text == "†"


def test_a_value_from_the_papers_text_is_marked_as_approximate():
    table = build_table(EXPERIMENTS["ablation_noise"], [])
    setting = "pendulum/medium/noise=0.5/smoothed"
    assert cell(table, "derivative.t2", "l2", setting).paper_text == "about 0.6"


def test_all_of_the_papers_numbers_appear_in_some_table():
    shown = 0
    for label in PAPER:
        experiments = [one for one in EXPERIMENTS.values() if label == one.PAPER]
        assert experiments, label
        seen = {
            (row.setting, row.metric, _paper._column(one.method))
            for experiment in experiments
            for row in build_table(experiment, []).rows
            for one in row.cells
            if one.paper_text
        }
        printed = {
            (setting, metric, column)
            for setting, metrics in PAPER[label].items()
            for metric, columns in metrics.items()
            for column in columns
        }
        assert printed <= seen
        shown += len(printed)
    assert shown > 100


# The experiments


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_names_what_exists(name):
    experiment = EXPERIMENTS[name]
    assert experiment.NAME == name and experiment.TITLE and experiment.CAPTION.endswith(".")
    assert tuple(experiment.LABELS) == experiment.SETTINGS
    for setting in experiment.SETTINGS:
        own = setting == "timing" or setting.startswith("discovery/")
        assert own or Setting.named(setting).name == setting
    for method in experiment.METHODS:
        assert METHOD.fullmatch(method) and method_label(method) != method
    for metric in experiment.METRICS:
        assert METRIC.fullmatch(metric) and metric_label(metric) != metric
    for names in (experiment.SETTINGS, experiment.METHODS, experiment.METRICS):
        assert len(set(names)) == len(names)
    assert len(build_table(experiment, []).rows) == len(experiment.SETTINGS) * len(
        experiment.METRICS
    )


def test_the_names_are_those_of_the_command_line():
    assert set(NAMES) == {
        "table_pendulum", "table_baselines", "table_duffing", "table_lotka_volterra", "table_sir",
        "table_stlsq", "ablation_difficulty", "ablation_sampling", "ablation_lambda",
        "ablation_samples", "ablation_noise", "timing", "figures", "extrapolation", "discovery",
    }  # fmt: skip


def test_methods_that_several_experiments_need_are_wanted_once():
    both = wanted(("table_pendulum", "table_baselines"))
    assert both == [(SETTING, table_pendulum.METHODS), (SETTING, ("pinn", "universal-ode"))]
    assert wanted(("table_baselines", "table_pendulum")) == both
    assert set(wanted(("table_stlsq",))) & set(both) == {both[0]}
    assert {setting for setting, _ in wanted(NAMES)} == {
        s
        for one in EXPERIMENTS.values()
        for s in one.SETTINGS
        if s != "timing" and not s.startswith("discovery/")
    }


def test_figures_bring_the_experiments_that_they_show():
    assert wanted(("figures",)) == wanted(("figures", *(n for n in NAMES if "ablation" in n)))
    assert wanted(("timing",)) == []


# The page


def test_the_page_has_tables_verdicts_figures_and_notes():
    readings = (Reading("paper", "holds", "F1 0.9"), Reading("validated", "does not hold", "0.1|2"))
    verdict = Verdict(7, "It wins.", ("tab:a",), "Who wins.", "F1 0.93", readings, "Why so.")
    page = reproduction_page(
        rows("derivative.id", 0.5, 1.5),
        verdicts=[verdict],
        figures={"figures/noise.png": "Noise"},
    )
    for name, experiment in EXPERIMENTS.items():
        assert (f"### {experiment.TITLE}\n" in page) == (name not in (*BEYOND, "discovery"))
    assert "1.00 ± 0.71" in page
    assert "| 7 | It wins. | paper: holds<br>validated: does not hold |" in page
    assert r"**validated: does not hold.** 0.1\|2" in page
    assert "![Noise](figures/noise.png)" in page
    assert "commit 6769a79" in page
    assert "a full run with 2 seeds" in page
    assert "Of 1 claims, 1 hold for some settings." in page
    assert not re.search(r"\{\w+\}", page)
