"""Orbitals: real ones, and complex ones of one or two components, over the basis functions of a wavefunction."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.errors import OrbitileError

ENERGIES = (-1e6, 1e12)
"""Range of the energies of orbitals in hartree: the 1s orbital of the heaviest element has some thousands, an empty one
of an uncontracted basis set one and a half times the largest exponent."""


def frozen(
    array: ArrayLike,
    dtype: type,
    shape: tuple[int | None, ...],
    what: str,
    unknown: bool = False,
) -> NDArray[Any]:
    """The one gate through which arrays enter: dtype, shape, contiguity, finite; the result cannot be written to.

    Where values may be `unknown`, NaN stands for them.
    """
    try:
        with np.errstate(invalid="raise"):
            result: NDArray[Any] = np.array(array, dtype=dtype, order="C")
    except (TypeError, ValueError, ArithmeticError) as error:
        raise OrbitileError(f"{what}: expected numbers, got {type(array).__name__} ({error})") from error
    wanted = tuple("any" if n is None else n for n in shape)
    if result.ndim != len(shape) or any(n is not None and n != m for n, m in zip(shape, result.shape, strict=True)):
        raise OrbitileError(f"{what}: expected shape {wanted}, got {result.shape}")
    if not np.all(np.isfinite(result) | (np.isnan(result) if unknown else False)):
        raise OrbitileError(f"{what}: expected finite numbers, got NaN or infinity")
    result.setflags(write=False)
    return result


def nothing() -> NDArray[np.float64]:
    """Stands for values that the file does not give."""
    return np.empty(0)


@dataclass(frozen=True, eq=False)
class Orbitals:
    """Molecular orbitals of one spin, or spatial orbitals shared by both spins.

    Attributes
    ----------
    coefficients : ndarray, shape (n_basis, n_orbitals)
        Expansion in the basis functions.
    occupations : ndarray, shape (n_orbitals,)
        Electrons in each orbital: up to 2 where spins share orbitals, up to 1 otherwise.
    energies : ndarray, shape (n_orbitals,)
        Orbital energies in hartree; NaN where the file gives none.
    irreps : tuple of str, length n_orbitals
        Symmetry labels; empty strings where the file gives none.
    labels : tuple of str, length n_orbitals
        What the file calls each orbital, such as "BD (1) C 1 - H 2"; empty strings where it gives no names.
    """

    coefficients: NDArray[np.float64]
    occupations: NDArray[np.float64]
    energies: NDArray[np.float64] = field(default_factory=nothing)
    irreps: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "coefficients", frozen(self.coefficients, np.float64, (None, None), "orbital coefficients")
        )
        self._settle(self.coefficients.shape[1])

    def _settle(self, n: int) -> None:
        """Check all that is known of each of n orbitals beside their coefficients."""
        set_ = object.__setattr__
        set_(self, "occupations", frozen(self.occupations, np.float64, (n,), "orbital occupations"))
        energies = self.energies if len(self.energies) else np.full(n, np.nan)
        set_(self, "energies", frozen(energies, np.float64, (n,), "orbital energies", unknown=True))
        lowest, highest = ENERGIES
        if len(outside := self.energies[(self.energies < lowest) | (self.energies > highest)]):
            raise OrbitileError(
                f"orbital energies: expected numbers from {lowest:g} to {highest:g} hartree, got {outside[0]:g}"
            )
        for name, what in (("irreps", "orbital symmetry labels"), ("labels", "names of orbitals")):
            texts = tuple(str(text) for text in getattr(self, name)) or ("",) * n
            set_(self, name, texts)
            if len(texts) != n:
                raise OrbitileError(f"{what}: expected {n}, got {len(texts)}")

    def __len__(self) -> int:
        return len(self.occupations)

    @property
    def n_basis(self) -> int:
        """Number of basis functions."""
        return int(self.coefficients.shape[0])

    def parts(self) -> NDArray[np.float64]:
        """Real functions whose squares add up to that of each orbital, shape (n_parts, n_basis, n_orbitals)."""
        return self.coefficients[None]


class Spinors(Orbitals):
    r"""Complex orbitals: of one component, or of one for each spin.

    The orbital is :math:`\psi_{i\sigma}(r) = \sum_\mu C_{\sigma\mu i}\, \chi_\mu(r)` with real basis functions
    :math:`\chi`. Occupations, energies, symmetries and names are those of real orbitals.

    Attributes
    ----------
    components : ndarray of complex, shape (n_components, n_basis, n_orbitals)
        Expansion in the basis functions: one component, which both spins share, or that of spin up and that of spin
        down.
    """

    components: NDArray[np.complex128]

    def __init__(
        self,
        components: ArrayLike,
        occupations: ArrayLike,
        energies: ArrayLike = (),
        irreps: tuple[str, ...] = (),
        labels: tuple[str, ...] = (),
    ) -> None:
        given = frozen(components, np.complex128, (None, None, None), "components of orbitals")
        if len(given) not in (1, 2):
            raise OrbitileError(f"complex orbitals: expected one component or two, got {len(given)}")
        for name, value in (("components", given), ("occupations", occupations), ("energies", energies)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "irreps", irreps)
        object.__setattr__(self, "labels", labels)
        self._settle(given.shape[2])

    @property
    def coefficients(self) -> NDArray[np.float64]:
        """There are none: whoever asks takes the orbitals for real ones.

        Raises
        ------
        OrbitileError
            Always.
        """
        raise OrbitileError(COMPLEX)

    @property
    def n_basis(self) -> int:
        """Number of basis functions."""
        return int(self.components.shape[1])

    def parts(self) -> NDArray[np.float64]:
        """Real and imaginary parts of the components, shape (2 n_components, n_basis, n_orbitals)."""
        split = np.stack([self.components.real, self.components.imag], axis=1)
        return split.reshape(-1, *self.components.shape[1:])


COMPLEX = (
    "this needs real orbitals, and these are complex ones; there are the orbitals themselves, density, spin and what "
    "follows from these"
)
