"""Derivatives of sums of Gaussians on a lattice: which tables each of them is made of.

A row of `orbital_lattice` is a product of three functions of one coordinate each, so a derivative of it is the product
of their derivatives. A sum and derivatives of it share Gaussians, rows and lists: what differs is which of two or three
tables along an axis is taken.
"""

from dataclasses import dataclass

import numpy as np

Orders = tuple[tuple[int, int, int], ...]
"""Of derivatives along x, y and z, each 0, 1 or 2."""

PLAIN: Orders = ((0, 0, 0),)
"""A sum alone."""

GRADIENT: Orders = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
"""A sum and its gradient, as most fields want them."""

HESSIAN: Orders = ((0, 0, 0), (2, 0, 0), (0, 2, 0), (0, 0, 2), (1, 1, 0), (1, 0, 1), (0, 1, 1))
"""A sum and its second derivatives, as the sign of weak interactions wants them."""


@dataclass(frozen=True)
class Pair:
    """Tables along x and y that are multiplied by each other, and those along z by which the product is."""

    x: int
    y: int
    z: tuple[int, ...]


class Families:
    """Families of tables that some derivatives take: one for each order that there is along an axis.

    Attributes
    ----------
    x, y, z : tuple of int
        Orders of the families along each axis.
    places : tuple of (int, int, int)
        For each derivative, its families.
    pairs : tuple of Pair
        Those products that bound all of them.
    """

    def __init__(self, orders: Orders) -> None:
        self.x, self.y, self.z = (tuple(sorted({order[axis] for order in orders})) for axis in range(3))
        self.places = tuple((self.x.index(i), self.y.index(j), self.z.index(k)) for i, j, k in orders)
        self.pairs = tuple(
            Pair(i, j, tuple(sorted({place[2] for place in self.places if place[:2] == (i, j)})))
            for i, j in sorted({place[:2] for place in self.places})
        )

    def of_results(self, n_sums: int) -> np.ndarray:
        """For each derivative of each sum, the families of tables that it is made of, shape (n_results, 4).

        Sums have tables along x of their own, those of one after those of the one before. The last number is not used.
        """
        places = np.zeros((n_sums, len(self.places), 4), np.int32)
        places[:, :, :3] = self.places
        places[:, :, 0] += len(self.x) * np.arange(n_sums)[:, None]
        return places.reshape(-1, 4)
