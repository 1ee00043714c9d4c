r"""Coulomb integrals between Hermite Gaussians, derivatives of Gaussians with respect to their centres.

By McMurchie and Davidson (J. Comput. Phys. 1978, 26, 218), with :math:`\alpha = zy/(z + y)`,

.. math::  \iint \frac{L_n^{z,P}(r_1)\, L_m^{y,Q}(r_2)}{|r_1 - r_2|}
    = (-1)^{|m|} \frac{2\pi^{5/2}}{zy\sqrt{z + y}}\, R_{n+m}(\alpha, P - Q)

with R from the Boys functions by :math:`R^k_{000} = (-2\alpha)^k F_k(\alpha R^2)` and

.. math::  R^k_{t+1,u,v} = t R^{k+1}_{t-1,u,v} + (P_x - Q_x) R^{k+1}_{t,u,v}

It is computed in place from the highest k down to 0, so that the Boys functions are wanted in the order in which their
downward recurrence makes them.
"""

from functools import lru_cache

import numpy as np

from .._taichi import number, ti
from ..arrays import to_numpy
from ..cells import CELL, split_position
from ..hermite_tables import STEP, TABLE_END, TAYLOR, boys_table, powers_of, recurrence
from ..kept_arrays import KeptArrays
from ..launching import launch
from ..target import Target

LANES = 16
"""Kets that a CPU takes at once."""

_held = KeptArrays()


def hermite_integrals(
    bra_centre: np.ndarray,
    bra_exponent: np.ndarray,
    ket_centre: np.ndarray,
    ket_exponent: np.ndarray,
    degree: int,
    target: Target,
) -> np.ndarray:
    r"""The integrals of all bras with all kets, as far as they depend on n + m.

    Parameters
    ----------
    bra_centre, ket_centre : ndarray of float64, shape (n, 3), (m, 3)
        In bohr.
    bra_exponent, ket_exponent : ndarray of float64, shape (n,), (m,)
        In bohr^-2.
    degree
        Highest n + m.
    target
        The device of the current session, and the precision. In single precision the largest order limits exponents,
        whose powers must not exceed 1e38.

    Returns
    -------
    ndarray, shape (n, number of orders, m)
        :math:`2\pi^{5/2}/(zy\sqrt{z+y})\, R` in the order of `powers_of`; that is the memory it takes.
    """
    real = target.dtype
    lanes = LANES if target.on_host else 1
    n, m, n_orders = len(bra_exponent), len(ket_exponent), len(powers_of(degree))
    groups = -(-m // lanes)
    kets = np.minimum(np.arange(groups * lanes), m - 1)
    bra_whole, bra_rest = split_position(bra_centre)
    ket_whole, ket_rest = split_position(ket_centre[kets])
    bra = np.column_stack([bra_rest, bra_exponent]).astype(real)
    ket = np.column_stack([ket_rest, ket_exponent[kets]]).astype(real)
    if target.on_host:
        ket_whole, ket = (
            np.ascontiguousarray(side.reshape(groups, lanes, -1).transpose(0, 2, 1)) for side in (ket_whole, ket)
        )
        out = np.empty((n * n_orders * groups, lanes), real)
    else:
        out = _held.array(f"integrals, {real}", number(real), (n * n_orders * groups,))
    launch(
        _kernel(target),
        n=n,
        groups=groups,
        degree=degree,
        bra_whole=bra_whole,
        bra=bra,
        ket_whole=ket_whole,
        ket=ket,
        table=_held.operand(target, f"Boys functions {degree}", boys_table(target.precision, degree), real),
        rule=_held.operand(target, f"recurrence {degree}", recurrence(degree), np.int32),
        out=out,
    )
    values = out if target.on_host else to_numpy(out, np.empty(n * n_orders * groups, real))
    return values.reshape(n, n_orders, groups * lanes)[:, :, :m]


@lru_cache
def _kernel(target: Target) -> object:
    real, vectors = number(target.dtype), target.on_host
    vector, ndarray = ti.types.vector, ti.types.ndarray
    L = vector(LANES, real) if vectors else real
    I2, R2 = ndarray(ti.i32, 2), ndarray(real, 2)
    KetWhole, KetRest = (ndarray(vector(LANES, ti.i32), 2), ndarray(L, 2)) if vectors else (I2, R2)
    Values = ndarray(L, 1)
    n_taylor, end = TAYLOR[target.precision], TABLE_END[target.precision]
    block = 4 if vectors else 128

    @ti.func
    def looked_up(table: ti.template(), place, column: ti.template()):
        value = L(0.0)
        if ti.static(vectors):
            for s in range(LANES):
                value[s] = table[place[s], column]
        else:
            value = table[place, column]
        return value

    @ti.kernel
    def kernel(
        n: ti.i32,
        groups: ti.i32,
        degree: ti.i32,
        bra_whole: I2,  # (n, 3) cells
        bra: R2,  # (n, 4) remainder and exponent
        ket_whole: KetWhole,  # (groups, 3)
        ket: KetRest,  # (groups, 4)
        table: R2,
        rule: I2,  # (orders, 4)
        out: Values,  # (n, orders, groups)
    ):
        ti.loop_config(block_dim=block)
        for task in range(n * groups):
            p, g = task // groups, task % groups
            x = ti.cast(bra_whole[p, 0] - ket_whole[g, 0], real) * real(CELL) + (bra[p, 0] - ket[g, 0])
            y = ti.cast(bra_whole[p, 1] - ket_whole[g, 1], real) * real(CELL) + (bra[p, 1] - ket[g, 1])
            z = ti.cast(bra_whole[p, 2] - ket_whole[g, 2], real) * real(CELL) + (bra[p, 2] - ket[g, 2])
            product, both = bra[p, 3] * ket[g, 3], bra[p, 3] + ket[g, 3]
            alpha = product / both
            t = alpha * (x * x + y * y + z * z)
            beyond = ti.max(t, real(end))
            asymptotic = real(0.886226925452758) / ti.sqrt(beyond)
            for k in range(degree):
                asymptotic *= (ti.cast(k, real) + real(0.5)) / beyond
            within = ti.min(t, real(end))
            place = ti.cast(within * real(1 / STEP) + real(0.5), ti.i32)
            step = real(STEP) * ti.cast(place, real) - within
            boys = looked_up(table, place, n_taylor)
            decay = L(1.0)
            for k in ti.static(range(n_taylor - 1, -1, -1)):
                boys = boys * (step * real(1.0 / (k + 1))) + looked_up(table, place, k)
                decay = 1.0 + decay * (step * real(1.0 / (k + 1)))
            decay *= looked_up(table, place, n_taylor + 1)
            far = t >= real(end)
            boys = ti.select(far, asymptotic, boys)
            decay = ti.select(far, L(0.0), decay)
            scale = real(34.986836655249725) / (product * ti.sqrt(both))  # 2 pi^(5/2)
            factor = -2.0 * alpha
            for _ in range(degree):
                scale *= factor
            first = p * ((degree + 1) * (degree + 2) * (degree + 3) // 6) * groups + g
            for done in range(degree + 1):
                here = (done + 1) * (done + 2) * (done + 3) // 6
                for back in range(here - 1):
                    s = here - 1 - back
                    along = x
                    if rule[s, 2] == 1:
                        along = y
                    if rule[s, 2] == 2:
                        along = z
                    out[first + s * groups] = (
                        along * out[first + rule[s, 0] * groups]
                        + ti.cast(rule[s, 3], real) * out[first + rule[s, 1] * groups]
                    )
                out[first] = boys * scale
                boys = (2.0 * t * boys + decay) / ti.cast(2 * (degree - done) - 1, real)
                scale /= factor

    return kernel
