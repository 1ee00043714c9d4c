"""BLAS computes by one thread where matrices are small, and by as many as before afterwards."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

from orbitile.base.arrays import SMALL, one_thread_of_blas

threadpoolctl = pytest.importorskip("threadpoolctl")


def numbers():
    return {info["num_threads"] for info in threadpoolctl.threadpool_info() if info["user_api"] == "blas"}


def test_small_matrices_have_one_thread():
    np.eye(2) @ np.eye(2)  # BLAS is loaded
    before = numbers()
    with one_thread_of_blas(300):
        assert numbers() == {1}
        with one_thread_of_blas(20):
            assert numbers() == {1}
        assert numbers() == {1}
    assert numbers() == before
    with one_thread_of_blas(SMALL + 1):
        assert numbers() == before
    with pytest.raises(ValueError, match="inside"), one_thread_of_blas(300):
        raise ValueError("inside")
    assert numbers() == before


def test_several_threads_leave_the_number_as_it_was():
    np.eye(2) @ np.eye(2)
    before, both, first_ended = numbers(), Barrier(2), Barrier(2)

    def first():
        with one_thread_of_blas(10):
            both.wait(10)
        first_ended.wait(10)

    def second():
        with one_thread_of_blas(10):
            both.wait(10)
            first_ended.wait(10)

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(first), pool.submit(second)]:
            done.result(20)
    assert numbers() == before
