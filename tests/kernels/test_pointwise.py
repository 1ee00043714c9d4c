"""Formulas of values on the device: the digits of NumPy, and places in longer arrays."""

from functools import partial

import numpy as np
import pytest

from orbitile.evaluation.devices import device_session
from orbitile.fields.igm import lost_shared_gradient
from orbitile.fields.ionisation import ionisation_energy
from orbitile.fields.localisation import electron_localisation, localised_orbital_locator
from orbitile.fields.weak_interactions import interfragment_gradient, signed_density
from taichi_kernels.arrays import allocate
from taichi_kernels.formulas import combine_values

FORMULAS = {
    "elf": (partial(electron_localisation, paired=True), "rgggr"),
    "elf of two spins": (partial(electron_localisation, paired=False), "rgggrgggr"),
    "lol": (partial(localised_orbital_locator, paired=False), "rrr"),
    "gradient between sides": (interfragment_gradient, "rgggrr"),
    "signed density": (signed_density, "rgggggg"),
    "ionisation energy": (ionisation_energy, "rr"),
    "lost gradient": (lost_shared_gradient, "rgggrrgggggg"),
}
"""Each with what it takes: densities from nothing to those at nuclei, and derivatives of either sign."""


def some_values(kinds: str, shape: tuple[int, ...], dtype: "np.dtype") -> list[np.ndarray]:
    random = np.random.default_rng(len(kinds))
    density = np.exp(random.uniform(-16, 3, shape))
    density[0, 0] = 0.0
    return [
        (density * random.uniform(0.5, 2, shape) if kind == "r" else density * random.normal(size=shape)).astype(dtype)
        for kind in kinds
    ]


@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula_on_the_device_is_that_of_numpy(name: str, device: str, precision: str) -> None:
    formula, kinds = FORMULAS[name]
    shape = (3, 5, 7)
    with device_session(device, precision) as target:
        values = some_values(kinds, shape, target.dtype)
        held, last = allocate((len(kinds) * 3 - 3, 5, 7), target.dtype), allocate(shape, target.dtype)
        held.from_numpy(np.concatenate(values[:-1]))
        last.from_numpy(values[-1])
        out = allocate((5, 5, 7), target.dtype)
        out.from_numpy(np.full((5, 5, 7), -7, target.dtype))
        places = [(held, 3 * n) for n in range(len(kinds) - 1)] + [(last, 0)]
        combine_values(formula, places, 3, target, out, first_plane=1)
        found = out.to_numpy()
    with np.errstate(under="ignore"):
        expected = formula(*values)
    assert expected.dtype == target.dtype
    assert (found[[0, 4]] == -7).all()
    closest = 2e-6 if precision == "single" else 1e-13
    np.testing.assert_allclose(found[1:4], expected, rtol=closest, atol=closest * np.abs(expected).max())
