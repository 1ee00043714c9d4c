"""Plans of clusters, and the fake workers that stand for real ones before Dask's scheduler. Nothing here is timed."""

import math
import time
from dataclasses import replace

import pytest

from cluster_plans import PLANS, grouped, row

RESULT = {"name": "a result", "values": [1.0, 2.0]}


def work(*_):
    raise AssertionError("fake workers do not call it")


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.name)
@pytest.mark.parametrize("gpus", [1, 100, 1000])
def test_grouped_tasks_leave_the_scheduler_half_idle(plan, gpus):
    task = grouped(plan, gpus, 0.001)
    assert task >= plan.task
    assert task % plan.task == 0
    assert task / plan.rate >= 2 * 0.001 * gpus
    smaller = task - plan.task
    assert smaller < plan.task or smaller / plan.rate < 2 * 0.001 * gpus


def test_a_plan_takes_as_long_as_what_is_slowest():
    plan = replace(PLANS[0], name="points", items=1e6, rate=1e3, bytes=0.0, task=1e3, home=0.0)

    def cells(gpus, scheduler):
        return [cell.strip() for cell in row(plan, gpus, scheduler, 8, 1e9, 1e9, plan.task).strip("|").split("|")]

    name, workers, tasks, each, busy, by_scheduler, *_, slowest, used = cells(10, 0.001)
    assert (name, workers, tasks, each, busy, by_scheduler) == ("points", "10", "1,000", "1", "100", "1")
    assert (slowest, used) == ("workers", "100%")
    assert cells(2000, 0.001)[-2:] == ["workers", "50%"]  # half of them have nothing to do
    assert cells(100, 0.5)[-2:] == ["scheduler", "2%"]
    assert math.isclose(float(cells(3, 0.001)[4]), 334)  # the last round is that of one task


@pytest.fixture(scope="module")
def cluster():
    """A farm of three workers, and a client."""
    distributed = pytest.importorskip("distributed")  # not part of a plain installation
    from orbitile_benchmarks.dask_farm import farm

    with farm(3, result=RESULT) as here, distributed.Client(here.address, set_as_default=False) as client:
        yield here, client


def tally(here):
    here.talk.send(None)
    return here.talk.recv()


@pytest.mark.slow
def test_fake_workers_take_every_task_and_hand_out_its_result(cluster):
    here, client = cluster
    tally(here)
    futures = client.map(work, range(50), pure=False)
    assert client.gather(futures) == [RESULT] * 50
    found = tally(here)
    assert found.tasks == 50
    assert found.first > 0
    assert tally(here) == (0.0, 0, 0)


@pytest.mark.slow
def test_fake_workers_wait_for_what_a_task_needs(cluster):
    here, client = cluster
    tally(here)
    shared = client.scatter(b"wavefunction")
    futures = client.map(work, range(30), [shared] * 30, pure=False)
    last = client.submit(work, futures, pure=False)
    assert last.result() == RESULT
    found = tally(here)
    assert found.tasks == 31
    assert found.fetched >= 2  # the two workers that it was not scattered to


@pytest.mark.slow
def test_fake_workers_serve_the_executor(cluster):
    from orbitile.workers.dask import DaskExecutor

    _, client = cluster
    executor = DaskExecutor(client)
    assert executor.width == 3
    kept = executor.keep("wavefunction")
    assert [future.result(60) for future in [executor.submit(work, n, kept) for n in range(20)]] == [RESULT] * 20


@pytest.mark.slow
def test_a_task_takes_the_time_it_is_told_to():
    distributed = pytest.importorskip("distributed")  # not part of a plain installation
    from orbitile_benchmarks.dask_farm import farm

    with farm(2, seconds=0.2) as here, distributed.Client(here.address, set_as_default=False) as client:
        begin = time.monotonic()
        client.gather(client.map(work, range(8), pure=False))
        assert time.monotonic() - begin >= 0.8  # four by each of two
