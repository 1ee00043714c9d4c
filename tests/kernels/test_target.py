"""Where kernels compute, and the arrays that they fill."""

import numpy as np
import pytest

from taichi_kernels.arrays import allocate
from taichi_kernels.devices import DEVICES
from taichi_kernels.session import session
from taichi_kernels.target import Target


@pytest.mark.parametrize(
    ("arguments", "words"), [(("abacus", "single"), "abacus"), (("cpu", "half"), "half"), (("cpu", None), "precision")]
)
def test_other_devices_and_precisions_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        Target(*arguments)


def test_a_target_knows_its_type_and_where_its_values_are(precision):
    for name in DEVICES:
        target = Target(name, precision)
        assert target.dtype == {"single": np.float32, "double": np.float64}[precision]
        assert target.on_host == (name == "cpu")


def test_arrays_for_kernels_have_a_type_of_numpy(device, precision):
    target = Target(device, precision)
    with session(device, precision):
        array = target.empty((2, 3, 4))
        assert (array.shape, array.dtype) == ((2, 3, 4), target.dtype)
        assert isinstance(array, np.ndarray) == (device == "cpu")


def test_arrays_on_the_device_keep_their_type_when_their_memory_is_used_again(device, precision):
    dtype, values = Target(device, precision).dtype, np.arange(24.0).reshape(2, 3, 4)
    with session(device, precision):
        for factor in (1, 2):
            array = allocate(values.shape, dtype)
            array.from_numpy((factor * values).astype(dtype))
            assert array.dtype == dtype
            assert np.array_equal(array.to_numpy(), factor * values)
            del array
