"""What a quantum-chemistry program computed, in one frozen object: atoms, basis set, orbitals.

Conventions of order, sign and normalisation are those of `orbitile.model.conventions`. Lengths in bohr, energies in
hartree.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.errors import OrbitileError
from .conventions import n_components
from .geometry import Displayed, check_atoms

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


Spin = Literal["alpha", "beta"]
Kind = Literal[
    "restricted",
    "unrestricted",
    "restricted open-shell",
    "natural",
    "unrestricted natural",
    "complex",
    "two-component",
]


EXPONENTS = (1e-10, 1e20)
"""Range of the exponents of Gaussian functions in bohr^-2; published basis sets keep well within it."""

SMALLEST_CELL = 1e-3
"""Least volume of a cell, in bohr^3."""


DAMAGED = "(damaged file)"
"""Stands in titles and legends of whatever is shown of a damaged file."""


@dataclass(frozen=True, eq=False)
class Shell:
    """A contracted Gaussian shell: all basis functions of one angular momentum with one radial part on one atom.

    Attributes
    ----------
    atom
        Index of the atom, from 0.
    angular_momentum
        l: 0 for s, 1 for p, 2 for d, ...
    pure
        True for 2l + 1 real solid harmonics, False for (l + 1)(l + 2)/2 Cartesian functions. Always False for s and p.
    exponents : ndarray, shape (n_primitives,)
        Exponents in bohr^-2, positive.
    coefficients : ndarray, shape (n_primitives,)
        Contraction coefficients of normalised primitives.
    """

    atom: int
    angular_momentum: int
    pure: bool
    exponents: NDArray[np.float64]
    coefficients: NDArray[np.float64]

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "atom", int(self.atom))
        set_(self, "angular_momentum", int(self.angular_momentum))
        set_(self, "pure", bool(self.pure) and self.angular_momentum > 1)
        set_(self, "exponents", frozen(self.exponents, np.float64, (None,), "shell exponents"))
        n = len(self.exponents)
        set_(self, "coefficients", frozen(self.coefficients, np.float64, (n,), "contraction coefficients"))
        if self.angular_momentum < 0:
            raise OrbitileError(f"angular momentum of a shell: expected 0 or more, got {self.angular_momentum}")
        least, most = EXPONENTS
        if n == 0 or not (least <= self.exponents.min() and self.exponents.max() <= most):
            got = ", ".join(f"{exponent:g}" for exponent in self.exponents[:8]) or "none"
            raise OrbitileError(f"shell exponents: expected positive numbers from {least:g} to {most:g}, got {got}")

    @property
    def n_functions(self) -> int:
        """Number of basis functions in the shell."""
        return n_components(self.angular_momentum, self.pure)


@dataclass(frozen=True, eq=False)
class Excitation:
    """An excited state as single excitations of the orbitals.

    Normalised as solutions of the response equations are: squares of excitations less those of de-excitations add up
    to 1, in time-dependent Hartree-Fock and density functional theory (X^2 - Y^2). Without de-excitations, as in
    configuration interaction of singles, that is the sum of all squares.

    Attributes
    ----------
    source, target : ndarray of int, shape (n,)
        Orbitals that an electron leaves and enters, from 0.
    spins : ndarray of int, shape (n,)
        Of both orbitals: 0 for alpha, or where both spins share the orbitals; 1 for beta.
    amplitudes : ndarray, shape (n,)
        As far as the program prints them. De-excitations, whose source is unoccupied, count with their sign.
    energy : float
        Above the ground state, in hartree.
    strength : float
        Oscillator strength; NaN where unknown.
    label : str
        Spin and symmetry, as in the file.
    printed : float
        Sum of the squares in the file, before they were normalised: 1 where it has all of them. NaN where unknown.
    """

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    spins: NDArray[np.int64]
    amplitudes: NDArray[np.float64]
    energy: float
    strength: float = float("nan")
    label: str = ""
    printed: float = float("nan")

    def __post_init__(self) -> None:
        n = len(self.amplitudes)
        for name, dtype in (
            ("source", np.int64),
            ("target", np.int64),
            ("spins", np.int64),
            ("amplitudes", np.float64),
        ):
            object.__setattr__(self, name, frozen(getattr(self, name), dtype, (n,), f"{name} of an excitation"))
        if not np.isfinite(self.energy):
            raise OrbitileError(f"energy of an excitation: expected a finite number, got {self.energy}")


def are_natural(occupations: NDArray[np.float64]) -> bool:
    """Whether occupations are those of natural orbitals, or smeared: fractions that add up to whole electrons.

    Two of them at least: one alone is a damaged number, and tells nothing of the method.
    """
    fractional = np.abs(occupations - np.round(occupations)) > 1e-5
    return int(fractional.sum()) > 1


@dataclass(frozen=True)
class Stated:
    """What a file says of the whole molecule beside its orbitals; None where it is silent.

    Attributes
    ----------
    charge : float or None
        Total charge in e.
    multiplicity : int or None
        Spin multiplicity 2S + 1.
    alpha, beta : float or None
        Electrons of each spin, those in effective core potentials left out.
    n_orbitals : int or None
        Orbitals of each spin: basis functions less those that depend on others.
    energy : float or None
        Total energy in hartree, of the calculation that the orbitals are of.
    kinetic : float or None
        Kinetic energy of the electrons in hartree, as an energy and a virial ratio have it.
    """

    charge: float | None = None
    multiplicity: int | None = None
    alpha: float | None = None
    beta: float | None = None
    n_orbitals: int | None = None
    energy: float | None = None
    kinetic: float | None = None


_NOTHING_STATED = Stated()


@dataclass(frozen=True, eq=False)
class Wavefunction(Displayed):
    """Atoms, basis set and molecular orbitals.

    Attributes
    ----------
    atomic_numbers : ndarray of int, shape (n_atoms,)
        Element of each atom; 0 for a ghost (basis functions without a nucleus), as is every atom without a charge.
    positions : ndarray, shape (n_atoms, 3)
        Nuclear positions in bohr.
    core_charges : ndarray, shape (n_atoms,)
        Charge that the electrons see: the atomic number less the electrons of an effective core potential.
    shells : tuple of Shell
        The basis set. Rows of the orbital coefficients follow it.
    alpha : Orbitals
        The alpha orbitals, or the spatial orbitals that both spins share; `Spinors` where orbitals are complex.
    beta : Orbitals or None
        The beta orbitals, or None where both spins share `alpha`.
    promolecule : bool
        True where the atoms are free ones, whose densities add up: without basis set and orbitals, see
        `orbitile.gaussians.promolecule`.
    partial_charges : ndarray, shape (n_atoms,)
        Of free atoms, in e, such as those of a force field: `esp` is their potential. Empty where there are none.
    natural : bool
        True where the orbitals are natural orbitals (occupations need not be integers, energies mean little).
    geometries : ndarray, shape (n_geometries, n_atoms, 3)
        All geometries that the calculation went through, in bohr; `positions` is one of them.
    density_matrix, spin_density_matrix : ndarray, shape (n_basis, n_basis)
        Density matrices beyond those of the orbitals (post-SCF), over the basis functions; empty where there are none.
    excitations : tuple of Excitation
        Excited states, in the order of the file.
    localised : str
        Scheme by which the orbitals were localised, if they were.
    overlapping : bool
        True where orbitals overlap by design, as pre-orthogonal natural bond orbitals do.
    unordered : bool
        True where the orbitals stand in no order of energies, as bonds and lone pairs, localised ones, and those whose
        energies a file does not give: which of them is the HOMO only energies or occupations could say.
    damaged : str
        What is wrong with a file that was opened all the same, since somebody asked for it: a sentence without its end.
        Names of its fields have `DAMAGED` in them, so that pictures and pages say so.
    density_missing : str
        Why there is no density: a sentence, where the occupations of the orbitals do not make it and no matrix is
        there.
    cell : ndarray, shape (3, 3)
        Vectors of the cell by which everything repeats, one a row, in bohr; empty for a molecule.
    crystal : Wavefunction or None
        The crystal that the atoms are cut out of: free atoms that repeat with its cell.
    title, source, program : str
        Title in the file; path of the file; program and dialect as far as known, with repairs that were made.
    stated : Stated
        Charge, multiplicity and electrons as the file states them.
    remarks : tuple of str
        What the reader had to assume or found odd, a sentence each; `orbitile.analysis.information` has these and its
        own.
    """

    atomic_numbers: NDArray[np.int64]
    positions: NDArray[np.float64]
    shells: tuple[Shell, ...]
    alpha: Orbitals
    beta: Orbitals | None = None
    core_charges: NDArray[np.float64] = field(default_factory=nothing)
    natural: bool = False
    title: str = ""
    source: str = ""
    program: str = ""
    method: str = ""
    geometries: NDArray[np.float64] = field(default_factory=nothing)
    density_matrix: NDArray[np.float64] = field(default_factory=nothing)
    spin_density_matrix: NDArray[np.float64] = field(default_factory=nothing)
    excitations: tuple[Excitation, ...] = ()
    localised: str = ""
    stated: Stated = _NOTHING_STATED
    remarks: tuple[str, ...] = ()
    promolecule: bool = False
    overlapping: bool = False
    unordered: bool = False
    damaged: str = ""
    density_missing: str = ""
    cell: NDArray[np.float64] = field(default_factory=nothing)
    partial_charges: NDArray[np.float64] = field(default_factory=nothing)
    crystal: Wavefunction | None = None

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "atomic_numbers", frozen(self.atomic_numbers, np.int64, (None,), "atomic numbers"))
        n = len(self.atomic_numbers)
        set_(self, "positions", frozen(self.positions, np.float64, (n, 3), "atom positions"))
        path = self.geometries if len(self.geometries) else self.positions[None]
        path = frozen(path, np.float64, (None, n, 3), "geometries")
        if not np.any(np.abs(path - self.positions).max(axis=(1, 2)) < 1e-4):
            path = np.concatenate([path, self.positions[None]])
        set_(self, "geometries", frozen(path, np.float64, (None, n, 3), "geometries"))
        charges = self.core_charges if len(self.core_charges) else self.atomic_numbers
        set_(self, "core_charges", frozen(charges, np.float64, (n,), "core charges"))
        if len(self.partial_charges):
            set_(self, "partial_charges", frozen(self.partial_charges, np.float64, (n,), "partial charges"))
        elements = np.where(self.core_charges == 0, 0, self.atomic_numbers)
        set_(self, "atomic_numbers", frozen(elements, np.int64, (n,), "atomic numbers"))
        set_(self, "shells", tuple(self.shells))
        if n == 0 or not (self.shells or self.promolecule):
            raise OrbitileError(f"a wavefunction needs atoms and a basis set, got {n} atoms, {len(self.shells)} shells")
        check_atoms(self.atomic_numbers, self.geometries)
        if not len(self.alpha) and not self.promolecule:
            raise OrbitileError("a wavefunction needs orbitals, got none")
        for shell in self.shells:
            if not 0 <= shell.atom < n:
                raise OrbitileError(f"shell on atom {shell.atom + 1}: expected an atom from 1 to {n}")
        for name in ("density_matrix", "spin_density_matrix"):
            if (matrix := getattr(self, name)).size:
                set_(self, name, frozen(matrix, np.float64, (self.n_basis, self.n_basis), name.replace("_", " ")))
        for name, orbitals in (("alpha", self.alpha), ("beta", self.beta)):
            if orbitals is not None and orbitals.n_basis != self.n_basis:
                raise OrbitileError(
                    f"{name} orbitals: expected {self.n_basis} coefficients each, one per basis function, "
                    f"got {orbitals.n_basis}"
                )
        if len(self.cell):
            set_(self, "cell", frozen(self.cell, np.float64, (3, 3), "vectors of the cell"))
            if not abs(np.linalg.det(self.cell)) > SMALLEST_CELL:
                raise OrbitileError(f"vectors of the cell: expected three that span a volume, got {self.cell.tolist()}")
        set_(self, "excitations", tuple(self.excitations))
        for excitation in self.excitations:
            for spin, n_orbitals in ((0, len(self.alpha)), (1, 0 if self.beta is None else len(self.beta))):
                used = np.concatenate([excitation.source, excitation.target])[np.tile(excitation.spins == spin, 2)]
                if used.size and not (used.min() >= 0 and used.max() < n_orbitals):
                    raise OrbitileError(f"excitation: expected orbitals below {n_orbitals}, got {used.max() + 1}")

    @property
    def geometry(self) -> int:
        """Index of `positions` among the geometries, the last one where a geometry was visited twice."""
        deviations = np.abs(self.geometries - self.positions).max(axis=(1, 2))
        return int(np.flatnonzero(deviations <= deviations.min() + 1e-12)[-1])

    @cached_property
    def n_basis(self) -> int:
        """Number of basis functions."""
        return sum(shell.n_functions for shell in self.shells)

    @property
    def n_atoms(self) -> int:
        """Number of atoms, ghosts included."""
        return len(self.atomic_numbers)

    @property
    def n_electrons(self) -> float:
        """Number of electrons in the orbitals (valence electrons where effective core potentials are used)."""
        if self.promolecule:
            return float(self.core_charges.sum())
        beta = 0.0 if self.beta is None else float(self.beta.occupations.sum())
        return float(self.alpha.occupations.sum()) + beta

    @property
    def charge(self) -> float:
        """Total charge: core charges less electrons."""
        return float(self.core_charges.sum()) - self.n_electrons

    @property
    def is_ghost(self) -> NDArray[np.bool_]:
        """Which atoms are ghosts: basis functions without a nucleus."""
        return self.atomic_numbers == 0

    @property
    def spinors(self) -> Spinors | None:
        """The orbitals where they are complex; None for real ones."""
        return self.alpha if isinstance(self.alpha, Spinors) else None

    def require_real(self) -> None:
        """Refuse complex orbitals where what follows holds for real ones only.

        Raises
        ------
        OrbitileError
            When the orbitals are complex.
        """
        if self.spinors is not None:
            raise OrbitileError(COMPLEX)

    @property
    def capacity(self) -> int:
        """Electrons that an orbital can hold."""
        if self.spinors is not None:
            return 3 - len(self.spinors.components)
        return 2 if self.beta is None else 1

    @property
    def n_unpaired(self) -> float:
        """Alpha less beta electrons; of restricted orbitals the singly occupied ones.

        0 for natural and two-component orbitals, which do not tell.
        """
        if self.spinors is not None and self.capacity == 1:
            return 0.0
        if self.beta is not None:
            return abs(float(self.alpha.occupations.sum() - self.beta.occupations.sum()))
        if self.natural:
            return 0.0
        return float(np.sum(np.abs(self.alpha.occupations - 1) < 1e-6))

    @property
    def multiplicity(self) -> int | None:
        """Spin multiplicity 2S + 1, from the occupations.

        Those of natural orbitals shared by both spins do not tell a triplet from a singlet, nor do two-component ones:
        theirs is what the file states, None where it states nothing.
        """
        if (self.natural and self.beta is None) or (self.spinors is not None and self.capacity == 1):
            return self.stated.multiplicity
        return round(self.n_unpaired) + 1

    @property
    def kind(self) -> Kind:
        """What sort of orbitals these are."""
        if self.spinors is not None:
            return "complex" if len(self.spinors.components) == 1 else "two-component"
        if self.natural:
            return "natural" if self.beta is None else "unrestricted natural"
        if self.beta is not None:
            return "unrestricted"
        return "restricted open-shell" if self.n_unpaired else "restricted"

    @property
    def spins(self) -> tuple[Spin, ...]:
        """The spins that have orbitals of their own; alpha alone where both share them."""
        return ("alpha",) if self.beta is None else ("alpha", "beta")

    @property
    def sets(self) -> tuple[Orbitals, ...]:
        """The orbitals of these spins."""
        return (self.alpha,) if self.beta is None else (self.alpha, self.beta)

    def orbitals(self, spin: Spin) -> Orbitals:
        """Orbitals of one spin; where both spins share orbitals, the shared ones."""
        return self.beta if spin == "beta" and self.beta is not None else self.alpha


@dataclass(frozen=True, eq=False)
class Basis:
    """Shells and where their atoms are.

    Attributes
    ----------
    shells : tuple of Shell
        As of a `Wavefunction`.
    positions : ndarray, shape (n_atoms, 3)
        In bohr.
    """

    shells: tuple[Shell, ...]
    positions: NDArray[np.float64]

    @property
    def n_basis(self) -> int:
        """Number of basis functions."""
        return sum(shell.n_functions for shell in self.shells)


def same_basis(one: tuple[Shell, ...], other: tuple[Shell, ...]) -> bool:
    """Whether two lists of shells stand for the same basis functions, to the digits that files print."""
    return one is other or (
        len(one) == len(other)
        and all(
            (a.atom, a.angular_momentum, a.pure, len(a.exponents))
            == (b.atom, b.angular_momentum, b.pure, len(b.exponents))
            and np.allclose(a.exponents, b.exponents, rtol=1e-6)
            and np.allclose(a.coefficients, b.coefficients, rtol=1e-5, atol=1e-7)
            for a, b in zip(one, other, strict=True)
        )
    )
