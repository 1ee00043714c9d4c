"""How work is divided: short work is one launch, and nobody waits for it."""

import numpy as np
import pytest

import orbitile as ob
from taichi_kernels import launching
from taichi_kernels.launching import Pace
from tests.conftest import random_wavefunction


@pytest.fixture
def clock(monkeypatch):
    """Time that passes when work is done, at a rate that a test sets; and how often the device was waited for."""

    class Clock:
        now, rate, waited, pieces = 0.0, 1e-6, 0, 0

        def launch(self, work):
            def launch(first, last):
                self.now += self.rate * float(np.sum(work[first:last]))
                self.pieces += 1

            return launch

        def wait(self):
            self.waited += 1

    clock = Clock()
    monkeypatch.setattr(launching.time, "perf_counter", lambda: clock.now)
    return clock


def run(clock, one, total, wait=None):
    clock.pieces = clock.waited = 0
    asked = []
    work = np.full(1000, total / 1000)
    one.run(work, clock.launch(work), asked.append, wait)
    assert len(asked) == clock.pieces - 1
    assert np.all(np.diff(asked) > 0)


def test_pieces_come_to_take_the_time_that_they_should(clock):
    one = Pace(100)
    for rate in (1e-6, 1e-4, 1e-8):
        clock.rate = rate
        for _ in range(5):
            run(clock, one, 20 * launching.PIECE / rate)
        assert 18 <= clock.pieces <= 24


def test_short_work_is_one_piece_that_is_not_waited_for(clock):
    one = Pace(100)
    for _ in range(3):
        run(clock, one, launching.PIECE / clock.rate / 3, clock.wait)
    assert (clock.pieces, clock.waited) == (1, 0)


def test_without_a_checkpoint_all_is_one_piece(clock):
    work = np.full(1000, 1e6)
    Pace(1).run(work, clock.launch(work), None, clock.wait)
    assert (clock.pieces, clock.waited) == (1, 0)


@pytest.mark.slow_on("vulkan")
@pytest.mark.parametrize("field", ["esp", "density"])
def test_short_calls_at_points_launch_as_often_whether_somebody_watches_or_not(field, device, monkeypatch):
    wavefunction = random_wavefunction(3, momenta=(0, 1))  # kernels of few terms, which are launched as others are
    points = np.random.default_rng(1).uniform(-6, 6, (3000, 3))
    monkeypatch.setattr(Pace, "__init__", lambda self, work: setattr(self, "work", 1e12))
    monkeypatch.setattr(Pace, "learn", lambda *_: None)
    from taichi_kernels import electrostatics, gaussians_at_points
    from taichi_kernels.launching import launch

    for module in (electrostatics, gaussians_at_points):
        monkeypatch.setattr(module, "pace_of", lambda *_: Pace(1))
    launched = []

    def counting(kernel, **arguments):
        launched.append([array.nbytes for array in arguments.values() if isinstance(array, np.ndarray)])
        launch(kernel, **arguments)

    def counting_here(self, kernel, **arguments):
        launched.append((arguments.get("begin"), arguments["n"]))
        run_here(self, kernel, **arguments)

    run_here = electrostatics._Device.launch
    monkeypatch.setattr(electrostatics._Device, "launch", counting_here)
    monkeypatch.setattr(gaussians_at_points, "launch", counting)
    ob.evaluate(wavefunction, field, points, device=device)
    alone = launched.copy()
    launched.clear()
    ob.evaluate(wavefunction, field, points, device=device, cancelled=lambda: False)
    assert launched
    assert launched == alone
