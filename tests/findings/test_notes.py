"""Notes on what the residual represents and which terms depend on each other."""

import numpy as np
import pytest

import orthoreg as og
from orthoreg.findings import CertificateRow
from orthoreg.findings._notes import certificate_notes


def row(*, library_share=0.0, residual_share=0.2, overlap=0.0):
    return CertificateRow(
        equation="x", n_terms=2, fit_error=0.1, residual_share=residual_share,
        library_share=library_share, overlap=overlap, penalty=0.0, bound=0.0, bound_holds=True,
        duality_gap=0.0,
    )  # fmt: skip


@pytest.mark.parametrize(("library_share", "share", "said"), [(0.8, 0.2, True), (0.4, 0.2, False),
                                                           (0.8, 0.001, False)])  # fmt: skip
@pytest.mark.parametrize(("is_selected", "reason"), [
    (False, "; decrease sparsity to include them."),
    (True, " because they did not hold on other rows."),
])  # fmt: skip
def test_a_residual_that_the_library_holds_is_pointed_out(
    library_share, share, said, is_selected, reason
):
    one = row(library_share=library_share, residual_share=share)
    line = "80% of the residual of x' could be represented by library terms that were left out"
    assert (line + reason in certificate_notes([one], (), is_selected=is_selected)) is said


def test_an_overlapping_residual_calls_for_orthogonality():
    notes = certificate_notes([row(library_share=0.8, overlap=0.1)], (), is_selected=True)
    assert len(notes) == 1 and "increase orthogonality to prevent this" in notes[0]


def test_a_notable_orthogonal_residual_is_explained_once():
    notes = certificate_notes([row(), row()], (), is_selected=True)
    assert len(notes) == 1 and "the term's coefficient absorbs part of it" in notes[0]
    assert certificate_notes([row(residual_share=0.001)], (), is_selected=True) == []


def test_terms_that_depend_on_each_other_are_named():
    (note,) = certificate_notes([row(residual_share=0.0)], ("x = 2 y",), is_selected=False)
    assert note == "On these data, x = 2 y, so the data cannot distinguish these terms."


def test_sines_that_were_no_candidates_are_named():
    t = np.linspace(0, 6, 200)
    small = 0.1 * np.column_stack([np.cos(t), -np.sin(t)])
    summary = og.OrthoReg(augmentation=og.Zero()).fit(small, t=t).summary()
    (note,) = [note for note in summary.notes if "not considered" in note]
    assert note.startswith("sin(x0), cos(x0), sin(x1), cos(x1) were not considered")
    chosen = og.OrthoReg("poly(2) + fourier(1)", og.Zero()).fit(small, t=t).summary()
    assert not any("not considered" in note for note in chosen.notes)
