"""Workers of this machine that share its cores, and how futures of any executor are waited for."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from orbitile.base.errors import Cancelled, OrbitileError
from orbitile.base.watch import watched
from orbitile.workers import WorkerEnded, first_done, in_order, local_workers, n_cores
from tests.workers import jobs

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ORBITILE_THREADS", "LP_NUM_THREADS")


def test_share_the_cores(monkeypatch):
    for name in THREADS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ORBITILE_THREADS", "3")
    with local_workers(2) as workers:
        found = [workers.submit(os.getenv, name).result() for name in THREADS]
    share = str(max(1, n_cores() // 2))
    assert found == ["1", "1", "1", "3", share]  # what the environment says remains


@pytest.mark.parametrize("n", [0, -1, 10**6])
def test_a_number_that_is_none(n):
    with pytest.raises(OrbitileError, match="workers: expected 1 to"):
        local_workers(n)


@pytest.mark.linux
@pytest.mark.slow
def test_one_that_dies_has_its_work_done_by_another(tmp_path):
    with local_workers(1) as workers:
        assert workers.submit(jobs.died_before, str(tmp_path), 2).result() == 2
        with pytest.raises(WorkerEnded):
            workers.submit(jobs.died_before, str(tmp_path), 9).result()
        assert len(list(tmp_path.iterdir())) == 5
        assert workers.submit(abs, -1).result() == 1


def slower_first(n):
    time.sleep(0.05 if n % 3 == 0 else 0)
    return n


def test_results_come_in_order_and_few_calls_are_under_way():
    most, taken = 0, 0

    def calls():
        nonlocal most
        for n in range(20):
            most = max(most, n - taken)
            yield (n,)

    with ThreadPoolExecutor(3) as executor:
        executor.width = 3
        for n, result in enumerate(in_order(executor, slower_first, calls())):
            assert result == n
            taken = n
    assert taken == 19
    assert most == 6


def test_an_executor_may_lose_workers_meanwhile():
    with ThreadPoolExecutor(3) as executor:
        executor.width = 3
        results = in_order(executor, abs, ((n,) for n in range(20)))
        assert next(results) == 0
        executor.width = 1
        assert list(results) == list(range(1, 20))


def test_what_is_left_is_cancelled():
    begun, goes_on = [], threading.Event()

    def wait(n):
        begun.append(n)
        goes_on.wait(10)
        return n

    with ThreadPoolExecutor(1) as executor:
        results = in_order(executor, wait, ((n,) for n in range(9)))
        with pytest.raises(Cancelled), watched(cancelled=lambda: bool(begun)):
            next(results)
        goes_on.set()
    assert begun == [0]


def test_the_first_that_is_done():
    goes_on = threading.Event()
    with ThreadPoolExecutor(2) as executor:
        late, early = executor.submit(goes_on.wait, 10), executor.submit(abs, -1)
        assert first_done({late, early}) == {early}
        with pytest.raises(Cancelled), watched(cancelled=lambda: True):
            first_done({late})
        goes_on.set()
