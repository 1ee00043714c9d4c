"""Few heavy tasks on a CPU, and kernels that are launched without the compiler's checks."""

import subprocess
import sys
from importlib.resources import files

import numpy as np
import pytest

from taichi_kernels._taichi import COMPILER, quick, ti
from taichi_kernels.launching import idle, loop_over_tasks, turns_of
from taichi_kernels.session import renew, session
from taichi_kernels.target import Target

F1, F2 = ti.types.ndarray(ti.f32, 1), ti.types.ndarray(ti.types.vector(4, ti.f64), 1)


@pytest.mark.parametrize("together", [1, 4, 512])
def test_each_task_has_one_turn_that_is_not_idle(device, together):
    with session(device) as name:
        turns = turns_of(Target(name, "single"), together)

        @ti.kernel
        def count(n: ti.i32, out: F1):
            for turn in range(n * turns):
                if idle(turn, turns):
                    continue
                out[turn // turns] += 1.0

        out = np.zeros(700, np.float32)
        count(len(out) - 1, out)
    assert out.tolist() == [1.0] * 699 + [0.0]
    assert turns == (512 // together if name == "cpu" else 1)


def test_loops_that_are_written_out_are_the_same():
    for turns in (1, 128):
        text = "".join(f"{line}\n" for line in loop_over_tasks("5", turns, "i"))
        done: list[int] = []
        exec(text + "    done.append(i)", {"done": done})
        assert done == [0, 1, 2, 3, 4]


@pytest.mark.skipif(COMPILER != "taichi", reason="the call of this compiler is quick")
def test_quick_kernels_take_what_they_declare():
    @quick
    @ti.kernel
    def scaled(factor: ti.f32, n: ti.i32, given: F1, out: F2):
        for i in range(n):
            for k in ti.static(range(4)):
                out[i][k] = factor * given[i] + k

    given, out = np.arange(5, dtype=np.float32), np.zeros((5, 4))
    with session("cpu"):
        for factor in (2.0, 3.0):
            scaled(factor, np.int64(4), given, out)
            np.testing.assert_array_equal(out[:4], factor * given[:4, None] + np.arange(4))
        assert not out[4].any()
        for wrong in (given.astype(np.float64), np.arange(10, dtype=np.float32)[::2]):
            with pytest.raises(TypeError, match="argument 2: expected a C-ordered array of float32"):
                scaled(1.0, 4, wrong, out)
        if renew():  # a new program compiles it anew
            scaled(5.0, 5, given, out)
            np.testing.assert_array_equal(out, 5 * given[:, None] + np.arange(4))


@pytest.mark.slow
def test_a_compiler_that_was_ended_takes_no_memory_along():
    """In a process of its own, which would die of it."""
    code = (
        "import numpy as np, orbitile as ob\n"
        "from orbitile.evaluation.devices import device_session\n"
        "from orbitile.integrals.grids import grid_of\n"
        "from taichi_kernels.session import renew\n"
        f"w = ob.load({str(files('orbitile') / 'data' / 'benzene.molden')!r})\n"
        "lattice = ob.Lattice.around(w, spacing=0.3, margin=4.0)\n"
        "found = []\n"
        "for _ in range(3):\n"
        "    for begins_anew in (True, False):\n"
        "        with device_session('cpu', 'single') as target:\n"
        "            grid_of(w.atomic_numbers, w.positions, target, 1)\n"
        "            if begins_anew:\n"
        "                renew()\n"
        "        found.append(list(ob.compute_many(w, ['homo', 'lumo'], lattice, device='cpu'))[1].values)\n"
        "assert all(np.array_equal(found[0], one) for one in found)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
