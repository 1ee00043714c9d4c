"""Few heavy tasks on a CPU, and kernels that are launched without the compiler's checks."""

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
