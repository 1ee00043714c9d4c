"""Kernels of formulas: functions of values that lie on the device, and density functionals with their derivatives.

A formula is a function of expressions, see `expressions`; the source of its kernel is written out. A thread takes one
point, and results stay on the device.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ._taichi import kernel_from, lightly_optimised, number, quick, ti
from .arrays import DeviceArray
from .elementary import elementary
from .expressions import Expression, Steps, derivatives, written_out
from .launching import Checkpoint, indented, launch, pace_of
from .target import Target

Formula = Callable[..., Expression]
"""Takes expressions to the result."""

EMPTY = 1e-15
"""Density in bohr^-3 below which there is no energy, and what that of a spin counts as at least, as in libxc."""

_RUN = 1 << 12
"""Points that stay together when the work is done in pieces."""


def combine_values(
    formula: Formula,
    values: Sequence[tuple[DeviceArray, int]],
    planes: int,
    target: Target,
    out: DeviceArray,
    first_plane: int = 0,
) -> None:
    """Apply a formula at each point of some planes of a lattice.

    Parameters
    ----------
    formula
        Of expressions that have the type of the result.
    values
        For each value that the formula takes: an array of three dimensions on the device, of the type of the result,
        and where the planes begin in it. It may be the same array for several.
    planes
        How many.
    target
        The device of the current session, and the precision of values and result.
    out
        Takes the results, on the device too.
    first_plane
        Where the planes begin in the result.
    """
    arrays = list({id(array): array for array, _ in values}.values())
    places = tuple(next(n for n, one in enumerate(arrays) if one is array) for array, _ in values)
    steps = Steps(target.dtype)
    result = formula(*(steps.variable(f"v{n}") for n in range(len(values))))
    kernel = _pointwise_kernel(tuple(written_out({"value": result})), places, target)
    begins = {f"first{n}": first for n, (_, first) in enumerate(values)}
    held = {f"a{n}": array for n, array in enumerate(arrays)}
    kernel(nx=planes, ny=out.shape[1], nz=out.shape[2], first=first_plane, **begins, **held, out=out)


@lru_cache(maxsize=64)
def _pointwise_kernel(lines: tuple[str, ...], places: tuple[int, ...], target: Target) -> Callable[..., None]:
    """The kernel for a formula: `places` says which of its arrays holds each value."""
    real = number(target.dtype)
    functions = vars(elementary(target)) if target.precision == "double" else _in_single(target)
    names = {"real": real, "R3": ti.types.ndarray(real, 3), **functions}
    title = f"formula, {target.device}, {target.precision}"
    return lightly_optimised(kernel_from(_pointwise_source(lines, places), title, names))


def _pointwise_source(lines: tuple[str, ...], places: tuple[int, ...]) -> str:
    starts = ", ".join(f"first{n}: ti.i32" for n in range(len(places)))
    arrays = ", ".join(f"a{n}: R3" for n in range(max(places) + 1))
    loads = [f"v{n} = a{place}[first{n} + i, j, k]" for n, place in enumerate(places)]
    return (
        "@ti.kernel\n"
        f"def kernel(nx: ti.i32, ny: ti.i32, nz: ti.i32, first: ti.i32, {starts}, {arrays}, out: R3):\n"
        "    ti.loop_config(block_dim=128)\n"
        "    for n in range(nx * ny * nz):\n"
        "        k = n % nz\n"
        "        j = n // nz % ny\n"
        "        i = n // (nz * ny)\n" + indented([*loads, *lines, "out[first + i, j, k] = value"], 2)
    )


@lru_cache
def _in_single(target: Target) -> dict[str, Callable[..., object]]:
    """Functions that formulas are made of, for numbers in single precision."""

    @ti.func
    def log1p(x):
        return ti.log(1.0 + x)

    @ti.func
    def cbrt(x):
        root = ti.pow(x, ti.f32(1 / 3))
        return root - (root - x / (root * root)) * ti.f32(1 / 3)  # shaders' own powers lose a digit

    return {"log1p": log1p, "cbrt": cbrt}


def uses(formula: Formula, quantity: str) -> bool:
    """Whether a formula depends on a quantity of each spin: `sigma` or `tau`."""
    return any(quantity in line.partition(" = ")[2] for line in _sources(formula, 2))


def functional_at_points(
    formula: Formula,
    density: Any,
    weights: Any,
    energy: Any,
    potential: Any,
    target: Target,
    checkpoint: Checkpoint | None = None,
    noise: float = 0.0,
    tau: tuple[Any, Any] | None = None,
) -> None:
    """Evaluate a functional at points.

    Parameters
    ----------
    formula
        Takes densities, products of gradients, taus and a limit to the energy per volume: lists of the density, the
        square of its gradient and tau, or those of both spins, products being alpha alpha, alpha beta, beta beta; and
        the density up to which a spin has no exchange. Its kernel is kept as long as there are not too many: give the
        same one again.
    density : array of float64, shape (n_spins, 1 or 4, n_points)
        Density in bohr^-3, and its gradient in bohr^-4; on the host or on the device. For one spin, of all electrons.
    weights : array of float64, shape (n_points,)
        Factors of all results.
    energy : array of float64, shape (n_points,)
        Takes the energy per volume, in hartree bohr^-3.
    potential : array of float64, shape of `density`
        Takes its derivatives with respect to density and gradient.
    target
        The device of the current session; it has double precision, whatever the precision of the target.
    checkpoint
        Called some thirty times a second with the share that is done, between pieces of the work; what it raises ends
        it. Without one all is done at once.
    noise
        What densities and gradients of a spin may be off by, as a share of the whole density. Up to that they are not
        known, nor is their quotient, so the spin has no exchange there.
    tau : pair of arrays of float64, shape (n_spins, 1, n_points)
        Kinetic energy density in hartree bohr^-3, for a formula that takes it; and what takes the derivatives.
    """
    n_spins, n_columns, n = density.shape
    kernel = _functional_kernel(formula, n_spins, n_columns == 4, tau is not None, Target(target.device, "double"))
    kinetic = {} if tau is None else dict(zip(("kinetic", "kinetic_potential"), tau, strict=True))

    def piece(first: int, last: int) -> None:
        some = {"first": min(first * _RUN, n), "last": min(last * _RUN, n)}
        arrays = {"density": density, "weights": weights, "energies": energy, "potential": potential, **kinetic}
        launch(kernel, **some, noise=noise, **arrays)

    pace_of(1 << 18, "functionals", target).run(np.full(-(-n // _RUN), float(_RUN)), piece, checkpoint)


_SPINS = {1: ("",), 2: ("_a", "_b")}
_PRODUCTS = {1: ("",), 2: ("_aa", "_ab", "_bb")}


@lru_cache(maxsize=64)
def _sources(formula: Formula, n_spins: int) -> tuple[str, ...]:
    """Assignments of energy and derivatives, from densities `rho`, products of gradients `sigma`, and `tau`."""
    steps = Steps()
    densities = [steps.variable("rho" + spin) for spin in _SPINS[n_spins]]
    products = [steps.variable("sigma" + pair) for pair in _PRODUCTS[n_spins]]
    taus = [steps.variable("tau" + spin) for spin in _SPINS[n_spins]]
    energy = formula(densities, products, taus, steps.variable("limit"))
    slopes = derivatives(energy, [*densities, *products, *taus])
    names = _slopes(n_spins)
    return tuple(written_out({"energy": energy, **dict(zip(names, slopes, strict=True))}))


def _slopes(n_spins: int) -> list[str]:
    """Names of the derivatives by density, products of gradients and tau."""
    spins, products = _SPINS[n_spins], _PRODUCTS[n_spins]
    return [
        *("v_rho" + spin for spin in spins),
        *("v_sigma" + pair for pair in products),
        *("v_tau" + s for s in spins),
    ]


@lru_cache(maxsize=64)
def _functional_kernel(
    formula: Formula, n_spins: int, has_gradient: bool, has_tau: bool, target: Target
) -> Callable[..., None]:
    source = _functional_source(formula, n_spins, has_gradient, has_tau)
    real, ndarray = ti.f64, ti.types.ndarray
    names = {"real": real, "F1": ndarray(real, 1), "F3": ndarray(real, 3), **vars(elementary(target))}
    names["BLOCK"] = 64 if target.on_host else 128
    return quick(lightly_optimised(kernel_from(source, f"functional, {target.device}", names)))


def _functional_source(formula: Formula, n_spins: int, has_gradient: bool, has_tau: bool) -> str:
    spins = _SPINS[n_spins]
    loads = [f"rho{spin} = ti.max(density[{s}, 0, i], real({EMPTY}))" for s, spin in enumerate(spins)]
    zeros = [f"{slope} = real(0.0)" for slope in _slopes(n_spins)]
    stores = [f"potential[{s}, 0, i] = weight * v_rho{spin}" for s, spin in enumerate(spins)]
    if has_gradient:
        loads += [f"{axis}{spin} = density[{s}, {c}, i]" for s, spin in enumerate(spins) for c, axis in _AXES]
        for pair in _PRODUCTS[n_spins]:
            one, other = (f"_{pair[1]}", f"_{pair[2]}") if pair else ("", "")
            loads.append(f"sigma{pair} = " + " + ".join(f"{axis}{one} * {axis}{other}" for _, axis in _AXES))
        for s, spin in enumerate(spins):
            for c, axis in _AXES:
                slope = f"2.0 * v_sigma{spin}{spin[1:]} * {axis}{spin}"
                if spin:
                    slope += f" + v_sigma_ab * {axis}{'_b' if spin == '_a' else '_a'}"
                stores.append(f"potential[{s}, {c}, i] = weight * ({slope})")
    else:
        loads += [f"sigma{pair} = real(0.0)" for pair in _PRODUCTS[n_spins]]
    kinetic = ""
    if has_tau:
        kinetic = ", kinetic: F3, kinetic_potential: F3"
        loads += [f"tau{spin} = kinetic[{s}, 0, i]" for s, spin in enumerate(spins)]
        stores += [f"kinetic_potential[{s}, 0, i] = weight * v_tau{spin}" for s, spin in enumerate(spins)]
    total = " + ".join(f"density[{s}, 0, i]" for s in range(n_spins))
    loads += [f"total = {total}", f"limit = ti.max(noise * total, real({EMPTY}))"]
    return (
        "@ti.kernel\n"
        "def kernel(\n"
        "    first: ti.i32, last: ti.i32, noise: real, density: F3, weights: F1, energies: F1, potential: F3"
        f"{kinetic}\n"
        "):\n"
        "    ti.loop_config(block_dim=BLOCK)\n"
        "    for i in range(first, last):\n"
        + indented(["weight = weights[i]", "energy = real(0.0)", *zeros, *loads, f"if total > real({EMPTY}):"], 2)
        + indented(list(_sources(formula, n_spins)), 3)
        + indented(["energies[i] = weight * energy", *stores], 2)
    )


_AXES = ((1, "x"), (2, "y"), (3, "z"))
