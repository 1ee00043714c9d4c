"""Formulas that are differentiated and written out, and the functions that they are made of."""

import numpy as np
import pytest
from scipy.special import erf as erf_of_scipy

from orbitile.evaluation.devices import device_session
from taichi_kernels._taichi import ti
from taichi_kernels.elementary import elementary
from taichi_kernels.expressions import Steps, at_least, atan, cbrt, derivatives, erf, exp, saturated, sqrt, written_out
from taichi_kernels.launching import launch
from taichi_kernels.target import Target


def test_equal_steps_are_made_once() -> None:
    steps = Steps()
    x = steps.variable("x")
    assert (x * x + 1).step == (x**2 + 1.0).step
    assert (x * 0 + x * 1).step == x.step
    assert (0 / x).step == steps.constant(0.0).step


def test_derivatives_are_those_of_differences() -> None:
    def formula(x, y):
        return (
            (x**5 - 3.0 * y) / (1 + sqrt(x))
            + cbrt(x / y) * saturated(y)
            + exp(-x) * atan(y) * erf(x)
            - at_least(y, 2.0) * x
        )

    steps = Steps()
    x, y = steps.variable("x"), steps.variable("y")
    result = formula(x, y)
    slopes = derivatives(result, [x, y])
    lines = written_out({"value": result, "by_x": slopes[0], "by_y": slopes[1]})
    names = {"cbrt": np.cbrt, "exp": np.exp, "erf": erf_of_scipy, "atan": np.arctan, "real": float}
    numpy_for = type(
        "Functions", (), {"sqrt": np.sqrt, "max": max, "min": min, "select": lambda a, b, c: b if a else c}
    )

    def values(x: float, y: float) -> dict:
        found = {"x": x, "y": y, "ti": numpy_for, **names}
        exec("\n".join(lines), found)
        return found

    for where in ((0.7, 0.4), (1.9, 3.1)):
        step = 1e-5
        here = values(*where)
        by_x = (values(where[0] + step, where[1])["value"] - values(where[0] - step, where[1])["value"]) / (2 * step)
        by_y = (values(where[0], where[1] + step)["value"] - values(where[0], where[1] - step)["value"]) / (2 * step)
        assert here["by_x"] == pytest.approx(by_x, rel=1e-7)
        assert here["by_y"] == pytest.approx(by_y, rel=1e-7)


@pytest.mark.parametrize(
    ("name", "reference", "low", "high"),
    [
        ("cbrt", np.cbrt, 1e-25, 1e25),
        ("log1p", np.log1p, 1e-20, 1e12),
        ("expm1", np.expm1, 1e-20, 500),
        ("atan", np.arctan, 1e-20, 1e12),
        ("erf", erf_of_scipy, 1e-20, 1e12),
        ("exp", lambda x: np.exp(-x), 1e-20, 500),
    ],
)
def test_elementary_functions(name: str, reference, low: float, high: float, device: str) -> None:
    x = np.geomspace(low, high, 20000)
    values = np.empty_like(x)
    sign = -1.0 if name == "exp" else 1.0
    with device_session(device, "double"):
        function = vars(elementary(Target(device, "double")))[name]

        @ti.kernel
        def kernel(x: ti.types.ndarray(ti.f64, 1), out: ti.types.ndarray(ti.f64, 1)):
            for i in range(x.shape[0]):
                out[i] = function(x[i])

        launch(kernel, x=sign * x, out=values)
    np.testing.assert_allclose(values, reference(x), rtol=5e-14)
