"""Every test of a statement fails if its formula is wrong by 1%."""

import inspect
from collections.abc import Callable
from dataclasses import is_dataclass, replace
from typing import Any

import pytest
import test_guarantees
import test_projection
import test_sampling
import test_setting
import test_two_stage

MODULES = (test_setting, test_projection, test_guarantees, test_sampling, test_two_stage)

COUNTS = {"test_eq_lindict_has_a_coefficient_for_every_feature_and_equation"}
"""Integers, which a change of 1% does not affect."""

# test, its arguments, and the formulas: a name in the module of the test and a field of the result
CASES: list[tuple[Callable[..., None], dict[str, Any], str]] = [
    (test_setting.test_sec_background_inner_product_and_norm,
     {"seed": 1, "outputs": 2}, "squared_norm"),
    (test_setting.test_eq_lindict_is_the_symbolic_part_of_a_model,
     {"seed": 1}, "library_functions"),
    (test_setting.test_eq_fit_loss_vf_is_a_mean_over_samples_of_squared_euclidean_norms,
     {"seed": 1}, "squared_error"),
    (test_setting.test_eq_orthoreg_penalty_sums_squared_inner_products_with_every_library_function,
     {"seed": 1, "outputs": 2}, "overlaps"),
    (test_setting.test_eq_orthoreg_penalty_is_zero_only_if_the_residual_is_orthogonal_to_the_span,
     {"seed": 1}, "projection"),
    (test_setting.test_app_hyperparam_selection_rescaled_features_rescale_their_penalty_by_the_square,
     {"seed": 1}, "rescaled_penalty"),
    (test_setting.test_app_hyperparam_selection_unit_norm_features_have_a_penalty_without_scale,
     {"seed": 1}, "squared_norm"),
    (test_setting.test_eq_orthoreg_objective_and_eq_ortho_loss_are_minimised,
     {"seed": 1, "mu": 0.1, "lam": 0.5}, "overlaps"),
    (test_setting.test_eq_l2_loss_is_minimised,
     {"seed": 1, "mu": 0.1, "lam2": 0.5}, "overlaps"),
    (test_setting.test_sec_background_without_regularisation_the_residual_says_everything,
     {"seed": 1, "mu": 0.1}, "solve.f_aug"),
    (test_setting.test_eq_pend_forcing_terms_lie_outside_the_library,
     {"seed": 1}, "projection"),

    (test_projection.test_eq_aphynity_minimiser_over_the_residual_and_value_there,
     {"seed": 1, "lam2": 0.5}, "best_residual reduced_value"),
    (test_projection.test_prop_fixed_symbolic,
     {"seed": 1, "lam2": 0.5}, "best_residual projection"),
    (test_projection.test_prop_fixed_symbolic_is_unique_up_to_equivalence_on_the_data,
     {"seed": 1, "lam2": 0.5}, "best_residual projection"),
    (test_projection.test_ex_intro_sparsity_overlap,
     {"seed": 1, "lam2": 0.5, "share": 0.4}, "l2_hybrid.w l2_hybrid.overlap"),
    (test_projection.test_ex_intro_sparsity_overlap_ends_where_stated,
     {"seed": 1, "lam2": 0.5, "share": 1.0}, "l2_hybrid.w"),
    (test_projection.test_ex_intro_sparsity_overlap_is_the_same_for_the_orthogonality_penalty_at_equal_weight,
     {"seed": 1, "lam": 0.5, "share": 0.4}, "l2_hybrid.w l2_hybrid.overlap"),
    (test_projection.test_thm_l2_failure_in_any_library,
     {"seed": 1, "lam2": 0.5, "mu": 0.3}, "l2_hybrid.overlap"),
    (test_projection.test_thm_l2_failure_proof_reduces_to_the_lasso,
     {"seed": 1, "lam2": 0.5, "mu": 0.1}, "effective_threshold"),
    (test_projection.test_effective_threshold_decides_which_terms_survive,
     {"seed": 1, "mu": 0.1, "lam": 0.5}, "effective_threshold"),
    (test_projection.test_l2_norm_decomposition,
     {"seed": 1}, "projection"),
    (test_projection.test_l2_shrinks_what_lies_outside_the_library_and_orthogonality_does_not,
     {"seed": 1, "lam": 0.5, "mu": 0.3}, "best_residual"),

    (test_guarantees.test_thm_penalty_bound_main,
     {"seed": 1, "mu": 0.1, "lam": 0.5}, "penalty_bound.bound penalty_bound.observed"),
    (test_guarantees.test_thm_penalty_bound_main_assumption_is_met_by_the_symbolic_model_and_none_worse,
     {"seed": 1, "mu": 0.1, "lam": 0.5}, "penalty_bound.bound"),
    (test_guarantees.test_thm_penalty_bound_main_cannot_be_lowered,
     {"seed": 1, "mu": 0.1}, "penalty_bound.bound penalty_bound.observed"),
    (test_guarantees.test_thm_penalty_bound_main_is_what_the_certificate_states,
     {"seed": 1, "mu": 0.1, "lam": 0.5},
     "stated.penalty_bound.bound stated.penalty_bound.observed stated.objective"),
    (test_guarantees.test_thm_ortho_stationary_leaves_an_error_that_is_the_penalised_overlap,
     {"seed": 1, "mu": 0.1, "lam": 0.5}, "overlaps"),
    (test_guarantees.test_thm_ortho_stationary_overlap_vanishes_as_the_weight_grows,
     {"seed": 1, "mu": 0.1}, "penalty_bound.bound"),
    (test_guarantees.test_thm_error_decomp,
     {"seed": 1}, "error_split.total error_split.symbolic error_split.neural"),
    (test_guarantees.test_thm_error_decomp_needs_orthogonality,
     {"seed": 1}, "error_split.total error_split.symbolic error_split.neural error_split.cross"),
    (test_guarantees.test_thm_error_decomp_is_what_the_certificate_states,
     {"seed": 1, "mu": 0.1, "lam": 10.0},
     "stated.error_split.total stated.error_split.symbolic stated.error_split.neural "
     "stated.error_split.cross"),

    (test_sampling.test_thm_finite_sample_solves_hoeffding,
     {"largest": 2.0, "confidence": 0.9, "samples": 50}, "orthogonality_gap_bound"),
    (test_sampling.test_thm_finite_sample_interval_covers_the_population,
     {"largest": 2.0, "confidence": 0.9, "samples": 50, "share": 0.3},
     "overlap_interval.empirical overlap_interval.lower overlap_interval.upper"),
    (test_sampling.test_def_orthogonality_gap_is_between_the_empirical_and_the_population_inner_product,
     {"seed": 1}, "overlap_interval.empirical"),
    (test_sampling.test_cor_population_orthogonality,
     {"seed": 1, "largest": 2.0, "confidence": 0.9},
     "overlap_interval.lower overlap_interval.upper"),
    (test_sampling.test_cor_population_orthogonality_is_rarely_wrong,
     {"largest": 2.0, "confidence": 0.9, "half": 25, "share": 0.1}, "orthogonality_gap_bound"),
    (test_sampling.test_cor_population_orthogonality_fails_for_a_residual_learned_from_the_samples,
     {"seed": 1, "largest": 2.0, "samples": 50},
     "overlap_interval.lower overlap_interval.upper"),
    (test_sampling.test_lem_minibatch_deviation,
     {"seed": 1, "batch": 10}, "minibatch_tail"),
    (test_sampling.test_lem_minibatch_deviation_exponent_cannot_be_raised_by_one_per_cent,
     {}, "minibatch_tail**"),
    (test_sampling.test_lem_minibatch_deviation_forms_are_equivalent,
     {"largest": 2.0, "batch": 50, "confidence": 0.9}, "minibatch_tail orthogonality_gap_bound"),
    (test_sampling.test_lem_minibatch_deviation_without_replacement,
     {"seed": 1, "batch": 10}, "minibatch_bias"),
    (test_sampling.test_app_complexity_squared_batch_estimate_is_biased_by_its_variance,
     {"seed": 1, "batch": 3}, "minibatch_bias"),
    (test_sampling.test_app_complexity_bias_vanishes_for_the_full_batch_without_replacement,
     {"seed": 1, "batch": 3}, "minibatch_bias"),
    (test_sampling.test_app_complexity_two_batches_have_no_bias,
     {"seed": 1, "batch": 3}, "minibatch_bias"),
    (test_sampling.test_fig_n_samples_ablation_cosine,
     {"seed": 1}, "residual_cosine"),
    (test_sampling.test_app_exp_design_cosine_is_the_reweighted_penalty_for_a_single_term,
     {"seed": 1}, "residual_cosine"),
    (test_sampling.test_app_exp_design_cosine_range_holds_every_change_and_is_attained,
     {"seed": 1, "change": 0.1, "one": 1.0, "other": 2.0}, "residual_cosine_range"),

    (test_two_stage.test_app_sequential_extension_the_lasso_leaves_its_shrinkage_in_the_span,
     {"seed": 1, "mu": 0.5}, "two_stage.w two_stage.overlap"),
    (test_two_stage.test_prop_seq_two_stage_failure_unconstrained,
     {"seed": 1, "mu": 0.5}, "two_stage.overlap"),
    (test_two_stage.test_prop_seq_two_stage_failure_unconstrained_in_any_library,
     {"seed": 1, "mu": 0.1}, "two_stage.overlap"),
    (test_two_stage.test_prop_seq_two_stage_failure_compositional,
     {"seed": 1, "mu": 0.5}, "two_stage.overlap"),
    (test_two_stage.test_regularised_residual_stage,
     {"seed": 1, "mu": 0.5, "lam": 10.0}, "two_stage.w two_stage.overlap"),
    (test_two_stage.test_regularised_residual_stage_keeps_less_overlap_than_the_joint_problem,
     {"seed": 1, "lam": 2.0, "share": 0.3},
     "two_stage.w two_stage.overlap l2_hybrid.w l2_hybrid.overlap"),
    (test_two_stage.test_app_sequential_extension_needs_mu_between_zero_and_two,
     {"mu": 2.0}, "two_stage.w"),
]  # fmt: skip  # noqa: E501


def off(value: Any, fields: list[str], factor: float) -> Any:
    """Return the value, or one of its fields, multiplied by `factor`; '**' multiplies the
    logarithm."""
    if fields == ["**"]:
        return value**factor
    if fields:
        assert is_dataclass(value) and not isinstance(value, type)
        part = off(getattr(value, fields[0]), fields[1:], factor)
        return replace(value, **{fields[0]: part})
    if isinstance(value, list | tuple):
        return [off(part, [], factor) for part in value]
    return factor * value


def body(test: Any) -> Callable[..., None]:
    """Return the test without the decorator of hypothesis."""
    return test.hypothesis.inner_test if hasattr(test, "hypothesis") else test


@pytest.mark.parametrize("factor", [0.99, 1.01])
@pytest.mark.parametrize(
    "test, arguments, formula",
    [(test, given, formula) for test, given, all_ in CASES for formula in all_.split()],
    ids=lambda value: value if isinstance(value, str) else getattr(value, "__name__", ""),
)
def test_one_per_cent_is_noticed(test, arguments, formula, factor, monkeypatch):
    module = inspect.getmodule(body(test))
    name, *fields = formula.replace("**", ".**").split(".")
    right = getattr(module, name)
    body(test)(**arguments)
    monkeypatch.setattr(module, name, lambda *a, **k: off(right(*a, **k), fields, factor))
    with pytest.raises(AssertionError):
        body(test)(**arguments)


def test_no_statement_is_left_out():
    covered = {test.__name__ for test, _, _ in CASES} | COUNTS
    present = {name for module in MODULES for name in vars(module) if name.startswith("test_")}
    assert covered == present
