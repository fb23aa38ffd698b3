"""Linear algebra of small problems takes one thread."""

from threadpoolctl import threadpool_info

from orthoreg._common.parallel import MANY_ROWS, one_thread


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_threads_are_limited_for_few_rows_only_and_restored():
    before = blas_threads()
    with one_thread(100):
        assert set(blas_threads()) == {1}
    with one_thread(MANY_ROWS):
        assert blas_threads() == before
    assert blas_threads() == before
