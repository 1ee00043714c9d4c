"""Kernels made ready between what is asked for: in order, one at a time, and told of only where it takes long."""

from concurrent.futures import Future

import pytest

from orbitile.base.errors import DeviceError, OrbitileError
from orbitile.evaluation.preparation import FIRST, STEPS, is_prepared, keep, take_step
from orbitile.pictures.request import Request
from orbitile.session.computing import Computing, Preparing
from orbitile.session.sampling import rehearse


class StandIn:
    """A worker that has no kernels, and answers when it is told to."""

    def __init__(self):
        self.calls = []
        self.futures = []

    def run(self, function, *arguments):
        self.calls.append((function, *arguments))
        self.futures.append(Future())
        return self.futures[-1]

    def answer(self, result=None):
        self.futures[-1].set_result(result)


@pytest.fixture
def worker():
    return StandIn()


def drive(preparing, worker, n_calls=1000):
    """Answer so many calls as soon as they are made; texts and shares that were told."""
    told = []
    while not preparing.is_over and len(worker.calls) < n_calls:
        preparing.look(True)
        told.append((preparing.text, preparing.share))
        worker.answer(False)
        preparing.look(False)
    return told


def test_all_is_compiled_and_kept_and_what_is_needed_first_loaded_again(worker):
    preparing = Preparing(worker.run, "cpu")
    told = drive(preparing, worker)
    steps = [(take_step, number, "cpu") for number in range(len(STEPS))]
    assert worker.calls == [(is_prepared, "cpu"), *steps, (keep, "cpu"), *steps[:FIRST], (rehearse, "cpu")]
    assert told[1][0] == f"preparing kernels for this machine, once: 1 of {len(STEPS)}"
    shares = [share for _, share in told]
    assert shares == sorted(shares)
    assert max(shares) <= 1
    assert {text for text, _ in told[len(STEPS) + 2 :]} == {""}
    assert preparing.error is None


def test_nothing_is_told_where_all_was_compiled_before(worker):
    preparing = Preparing(worker.run, "cpu")
    preparing.look(True)
    worker.answer(True)
    told = drive(preparing, worker)
    assert {text for text, _ in told} == {""}
    loaded = [(take_step, number, "cpu") for number in range(FIRST)]
    assert worker.calls == [(is_prepared, "cpu"), *loaded, (rehearse, "cpu")]


def test_a_step_is_begun_only_while_nothing_else_is_asked_for(worker):
    preparing = Preparing(worker.run, "cpu")
    preparing.look(False)
    assert worker.calls == []
    preparing.look(True)
    preparing.look(True)
    assert len(worker.calls) == 1
    worker.answer(False)
    preparing.look(False)
    assert len(worker.calls) == 1
    assert preparing.text
    preparing.look(True)
    assert len(worker.calls) == 2


def test_the_share_grows_while_nothing_is_heard_of_a_step(worker, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("orbitile.session.computing.time.monotonic", lambda: now[0])
    preparing = Preparing(worker.run, "cpu")
    drive(preparing, worker, 3)
    preparing.look(True)
    shares = []
    for _ in range(50):
        now[0] += 0.4
        shares.append(preparing.share)
    assert shares == sorted(set(shares))
    number = len(worker.calls) - 2
    assert number / len(STEPS) <= shares[0] < shares[-1] <= (number + 1) / len(STEPS)


def test_it_ends_where_the_device_cannot_be_used(worker):
    preparing = Preparing(worker.run, "cuda")
    preparing.look(True)
    worker.futures[-1].set_exception(DeviceError("no driver"))
    preparing.look(True)
    assert preparing.is_over
    assert str(preparing.error) == "no driver"
    preparing.look(True)
    assert len(worker.calls) == 1


def test_it_can_be_left_for_another_time(worker):
    preparing = Preparing(worker.run, "cpu")
    drive(preparing, worker, 4)
    preparing.stop()
    preparing.look(True)
    assert len(worker.calls) == 4
    assert not preparing.text


class Script:
    """A viewer without a window, which writes down what it is told to say."""

    def __init__(self):
        self.said = []

    def say(self, text):
        self.said.append(text)

    def has_window(self):
        return False

    def progress(self, share):
        pass


@pytest.mark.parametrize("answers", [(True, False), (False, True)])
def test_a_script_is_told_once_for_each_device(answers, monkeypatch):
    monkeypatch.delenv("ORBITILE_PYTHON", raising=False)
    asked = []
    monkeypatch.setattr(
        "orbitile.session.computing.is_first_use", lambda device: answers[asked.append(device) or len(asked) - 1]
    )
    script = Script()
    computing = Computing(script)
    for computing.device in ("cpu", "cpu", "vulkan"):
        with pytest.raises(OrbitileError):
            computing.sample(Request("nowhere.molden", "homo"))
    assert asked == ["cpu", "vulkan"]
    assert script.said == ["preparing kernels for this machine, once ..."]
