"""A worker that cannot go on ends when it has answered, and another one does what follows."""

import os

import pytest

from orbitile.workers import Worker, Workers, retire
from tests.workers import jobs


def test_the_next_request_is_another_process():
    worker = Worker("the worker")
    try:
        numbers = [worker.call(jobs.last_words) for _ in range(3)]
    finally:
        worker.end()
    assert len(set(numbers)) == 3


@pytest.mark.slow
def test_those_that_wait_are_none_the_worse():
    with Workers([Worker("the worker")]) as workers:
        asked = [workers.submit(jobs.last_words if n % 2 else jobs.process_id) for n in range(8)]
        numbers = [job.result(60) for job in asked]
    assert numbers[0::2] == numbers[1::2]
    assert len(set(numbers)) == 4


def test_elsewhere_it_means_nothing():
    retire()
    assert os.getpid() == jobs.process_id()
