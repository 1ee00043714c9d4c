"""Few heavy tasks on a CPU, and kernels that are launched without the compiler's checks."""

import subprocess
import sys
from importlib.resources import files

import numpy as np
import pytest

from taichi_kernels._taichi import COMPILER, Launch, _impl, quick, ti, with_vectors
from taichi_kernels.arrays import array_of
from taichi_kernels.launching import first_task, idle, loop_over_tasks, next_task, turns_for, turns_of, worker_of
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


@pytest.mark.parametrize(("n", "workers"), [(700, 2), (3, 5), (0, 2)])
def test_workers_take_each_task_once(n, workers):
    @ti.kernel
    def take(n: ti.i32, workers: ti.i32, taken: ti.types.ndarray(ti.i32, 1), out: F1, whose: F1):
        for turn in range(turns_for(n, workers)):
            task = first_task(turn, n, taken, 1)
            while task < n:
                out[task] += 1.0
                whose[task] = worker_of(turn)
                task = next_task(taken, 1)

    taken, out, whose = np.zeros(2, np.int32), np.zeros(n + 1, np.float32), np.full(n + 1, -1, np.float32)
    with session("cpu"):
        take(n, workers, taken, out, whose)
    assert out.tolist() == [1.0] * n + [0.0]
    assert set(whose[:n]) <= set(range(min(n, workers)))
    assert taken.tolist() == [0, n + min(n, workers)]  # each worker asked once more than there was


@pytest.mark.skipif(COMPILER != "taichi", reason="its vectors are taken apart by another rule")
def test_vectors_that_stay_vectors_give_the_same_values():
    V = ti.types.vector(16, ti.f32)

    def compiled(wrap):
        @wrap
        @ti.kernel
        def screened(n: ti.i32, given: ti.types.ndarray(V, 1), limit: ti.f32, out: ti.types.ndarray(V, 1)):
            for i in range(n):
                keep = ti.cast((given[i] > limit) | (given[i] * 3 > 2 * limit), ti.i32)
                out[i] = keep * given[i] + given[i][3]

        return screened

    values, found = np.random.default_rng(0).random((40, 16)).astype(np.float32), []
    with session("cpu"):
        before = _impl.current_cfg().real_matrix_scalarize
        for wrap in (lambda kernel: kernel, with_vectors):
            given, out = (array_of(V, (40,)) for _ in range(2))
            given.from_numpy(values)
            compiled(wrap)(n=40, given=given, limit=0.6, out=out)
            found.append(out.to_numpy())
        assert _impl.current_cfg().real_matrix_scalarize == before
    np.testing.assert_array_equal(found[0], np.where(values > np.float32(0.4), values, 0) + values[:, 3:4])
    np.testing.assert_array_equal(found[1], found[0])


def test_a_launch_that_somebody_keeps_lets_go_of_a_program_that_ends():
    """Otherwise it would keep the program, which would free memory of the next one when it goes."""

    @ti.kernel
    def fill(n: ti.i32, out: F1):
        for i in range(n):
            out[i] = 1.0

    with session("cpu"):
        out = np.zeros(3, np.float32)
        kept = Launch(fill, {"n": 3, "out": out})
        kept({"n": 3, "out": out})
        assert out.tolist() == [1.0] * 3
        if not renew():
            pytest.skip("a result is left on the device, so the compiler cannot be ended")
        assert kept._program is None
        assert kept._compiled is None


def test_loops_that_are_written_out_are_the_same():
    for turns in (1, 128):
        text = "".join(f"{line}\n" for line in loop_over_tasks("5", turns, "i"))
        done: list[int] = []
        exec(text + "    done.append(i)", {"done": done})
        assert done == [0, 1, 2, 3, 4]


def test_kernels_are_launched_with_the_names_of_their_arguments():
    @ti.kernel
    def put(n: ti.i32, value: ti.f32, out: F1):
        for i in range(n):
            out[i] = value

    with session("cpu"):
        out = np.zeros(3, np.float32)
        kept = Launch(put, {"n": 3, "value": 2.0, "out": out})
        kept({"out": out, "value": 2.0, "n": 3})  # in whatever order
        assert out.tolist() == [2.0] * 3
        right = {"n": 3, "value": 2.0, "out": out}
        with pytest.raises(TypeError, match="arguments of the kernel are missing: \\['value'\\]"):
            kept({"n": 3, "values": 2.0, "out": out})
        with pytest.raises(TypeError, match="arguments of the kernel are missing: \\['out', 'value'\\]"):
            Launch(put, {"n": 3})
        with pytest.raises(TypeError, match="the kernel has no arguments \\['values'\\]"):
            kept.launch_with(right | {"values": 2.0})


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
            scaled(factor=factor, n=np.int64(4), given=given, out=out)
            np.testing.assert_array_equal(out[:4], factor * given[:4, None] + np.arange(4))
        assert not out[4].any()
        for wrong in (given.astype(np.float64), np.arange(10, dtype=np.float32)[::2]):
            with pytest.raises(TypeError, match="argument given: expected a C-ordered array of float32"):
                scaled(factor=1.0, n=4, given=wrong, out=out)
        if renew():  # a new program compiles it anew
            scaled(factor=5.0, n=5, given=given, out=out)
            np.testing.assert_array_equal(out, 5 * given[:, None] + np.arange(4))


@pytest.mark.slow
def test_a_compiler_that_was_ended_takes_no_memory_along():
    """In a process of its own, which would die of it."""
    code = (
        "import numpy as np, orbitile as ob\n"
        "from orbitile.evaluation.devices import device_session\n"
        "from orbitile.evaluation.requests import field_of\n"
        "from orbitile.integrals.grids import grid_of\n"
        "from taichi_kernels.session import renew\n"
        f"w = ob.load({str(files('orbitile') / 'data' / 'benzene.molden')!r})\n"
        "lattice = ob.Lattice.around(w, spacing=0.3, margin=4.0)\n"
        "fields = [field_of(w, name).with_kernel('separable') for name in ('homo', 'lumo')]\n"
        "found = []\n"
        "for _ in range(3):\n"
        "    for begins_anew in (True, False):\n"
        "        with device_session('cpu', 'single') as target:\n"
        "            grid_of(w.atomic_numbers, w.positions, target, 1)\n"
        "            if begins_anew:\n"
        "                renew()\n"
        "        found.append(list(ob.compute_many(w, fields, lattice, device='cpu'))[1].values)\n"
        "assert all(np.array_equal(found[0], one) for one in found)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
