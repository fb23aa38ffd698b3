"""docs/paper.md names every label of the paper, and only code and tests that exist."""

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAPER = (ROOT / "docs" / "paper.md").read_text()

LABELS = """
app:additional_experiments app:baseline_implementation app:complexity
app:cross_system_validation app:dataset_diff app:exp_design app:finite_sample
app:hyperparam_selection app:l2_failure app:limitations app:mc_analysis app:mc_sampling_abl
app:noise_robustness app:non_autonomy_caveat app:ood_protocol app:ortho_theory app:repro_values
app:sampling_ablation app:sequential_extension app:stlsq_baseline app:subsec_duffing
app:subsec_lv app:subsec_sir eq:aphynity eq:fit_loss_step eq:fit_loss_vf eq:l2_loss eq:lindict
eq:ortho_loss eq:orthoreg_objective eq:orthoreg_penalty eq:pend ex:intro_sparsity_overlap
fig:ablations fig:concept fig:duffing fig:n_samples_ablation fig:noise_robustness
lem:minibatch_deviation prop:fixed_symbolic prop:seq_two_stage_failure sec:background
sec:data_generation sec:experiments sec:methods subsec:ablations subsec:meth_impl tab:baseline
tab:difficulty_ablation_streamlined tab:duffing_results_streamlined tab:lv_results_streamlined
tab:sampling_ablation_streamlined tab:sir_results_streamlined tab:stlsq_comparison
tab:sweet_spot_results thm:error_decomp thm:finite_sample thm:l2_failure thm:ortho_stationary
thm:penalty_bound_main
""".split()

STATEMENTS = [label for label in LABELS if label.split(":")[0] in ("ex", "lem", "prop", "thm")]


def functions_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def rows() -> list[list[str]]:
    """Return the cells of every table row except headers."""
    lines = [line for line in PAPER.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return [row for row in cells if row[0] not in ("paper", "step")]


CODE = sorted(set(re.findall(r"`(orthoreg\.[\w.]+)`", PAPER)))
TESTS = sorted(set(re.findall(r"`(tests/[\w/.]+::\w+)`", PAPER)))


def test_every_row_has_four_cells():
    assert [row for row in rows() if len(row) != 4] == []


def test_every_label_of_the_paper_has_a_row():
    named = {label for row in rows() for label in re.findall(r"\w+:\w+", row[0])}
    assert named == set(LABELS)


@pytest.mark.parametrize("path", CODE)
def test_code_exists(path):
    module, names = path, []
    while True:
        try:
            found = importlib.import_module(module)
            break
        except ModuleNotFoundError:
            module, _, name = module.rpartition(".")
            names.insert(0, name)
    for name in names:
        found = getattr(found, name)


def test_tests_exist():
    missing = [
        name
        for path, name in (one.split("::") for one in TESTS)
        if not (ROOT / path).exists() or name not in functions_of(ROOT / path)
    ]
    assert missing == []


def test_every_test_of_a_statement_is_named():
    for path in sorted((ROOT / "tests" / "theorems").glob("test_*.py")):
        if path.name != "test_perturbations.py":
            present = {name for name in functions_of(path) if name.startswith("test_")}
            named = {
                one.split("::")[1] for one in TESTS if one.startswith(f"tests/theorems/{path.name}")
            }
            assert present == named


@pytest.mark.parametrize("label", STATEMENTS)
def test_every_labelled_statement_has_a_test_of_its_name(label):
    name = "test_" + label.replace(":", "_")
    assert any(one.split("::")[1].startswith(name) for one in TESTS)
