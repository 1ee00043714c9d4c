"""What a worker answers: it can be ended at any checkpoint, and its share moves through all that it does."""

from importlib.resources import files

import pytest

from orbitile.base.errors import Cancelled
from orbitile.base.watch import patiently, watched
from orbitile.pictures.request import Request
from orbitile.session.sampling import WavefunctionCache, sample

BENZENE = str(files("orbitile") / "data" / "benzene.molden")


def request(field, color_by=""):
    return Request(BENZENE, field, "coarse", device="cpu", color_by=color_by, most_faces=2000)


def answered(field, color_by="", cancelled=lambda: False):
    """Shares that were told while a request was answered, from the file on."""
    told = []
    sample(request(field, color_by), WavefunctionCache(), told.append, cancelled)
    return told


@pytest.mark.parametrize(
    ("field", "color_by"),
    [("homo", ""), *(pytest.param(*names, marks=pytest.mark.slow) for names in (("density", "esp"), ("elf", "")))],
)
def test_it_ends_wherever_it_is_cancelled(field, color_by):
    asked = []
    answered(field, color_by, lambda: bool(asked.append(1)))
    n_asked, n_ended = len(asked), 0
    for last in range(1, n_asked, max(1, n_asked // 25)):
        left = [last]

        def cancelled(left=left):
            left[0] -= 1
            return left[0] <= 0

        try:
            answered(field, color_by, cancelled)
        except Cancelled:
            n_ended += 1
            assert left == [0]
        else:  # how often it asks while a thread works depends on the machine
            assert left[0] > 0
    assert n_ended > 5


def test_the_share_moves_through_all_that_is_done(monkeypatch):
    monkeypatch.setattr("orbitile.base.watch._INTERVAL", -1.0)  # every one is told
    told = answered("density", "esp")
    assert told == sorted(told)
    for begin, end in ((0, 0.1), (0.1, 0.3), (0.3, 0.5), (0.5, 0.6)):
        assert any(begin < share < end for share in told), (begin, end)


def test_a_call_without_checkpoints_is_left_alone_by_who_does_not_wait(tmp_path):
    import threading

    begun, may_end = threading.Event(), threading.Event()

    def call():
        begun.set()
        may_end.wait(30)
        return 7

    with pytest.raises(Cancelled), watched(cancelled=begun.is_set):
        patiently(call)
    may_end.set()
    with watched(cancelled=lambda: False):
        assert patiently(lambda: 7) == 7
        with pytest.raises(ZeroDivisionError):
            patiently(lambda: 1 / 0)
    assert patiently(threading.current_thread) is threading.current_thread()
