"""Formulas that are differentiated and written out, and the functions that they are made of."""

import numpy as np
import pytest
from scipy.special import erf as erf_of_scipy

from orbitile.evaluation.devices import device_session
from taichi_kernels._taichi import ti
from taichi_kernels.elementary import elementary, power_of_two
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


@pytest.mark.parametrize(("precision", "error", "least"), [("single", 4e-7, -60), ("double", 5e-16, -900)])
def test_powers_of_two(precision: str, error: float, least: float, device: str) -> None:
    """With a second part of the exponent that its first one has no digits for; small powers are zero."""
    real, dtype = (ti.f32, np.float32) if precision == "single" else (ti.f64, np.float64)
    x = np.linspace(1.2 * least, 0, 30001).astype(dtype)
    d = (np.finfo(dtype).eps * np.random.default_rng(0).uniform(-0.4, 0.4, x.size) * np.abs(x)).astype(dtype)
    values = np.empty_like(x)
    with device_session(device, precision):
        function = power_of_two(Target(device, precision))

        @ti.kernel
        def kernel(
            x: ti.types.ndarray(real, 1), d: ti.types.ndarray(real, 1), out: ti.types.ndarray(real, 1), zero: ti.i32
        ):
            for i in range(x.shape[0]):
                out[i] = function(x[i], d[i], zero)

        launch(kernel, x=x, d=d, out=values, zero=0)
    small = x <= least
    expected = np.exp2(x.astype(np.longdouble) + d)
    if device == "vulkan" and precision == "double":  # by the exponential
        error = 2e-13
    else:
        assert np.all(values[small] == 0)
    np.testing.assert_allclose(values[~small], expected[~small].astype(float), rtol=error)
