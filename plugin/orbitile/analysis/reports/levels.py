"""Levels and densities of states."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...base.arguments import FRAGMENTS, NUMBER, POSITIVE_NUMBER, Argument, one_of
from ...base.arrays import Reals
from ...base.errors import OrbitileError
from ...fields.orbital import orbital_name
from ...model.conventions import ANGULAR_MOMENTUM_LETTERS
from ...model.elements import SYMBOLS
from ...model.report import Closure, Column, Curve, Plot, Report, Table, column
from ...model.wavefunction import Wavefunction

if TYPE_CHECKING:
    from ..levels import DensityOfStates, Pair

    Labels = NDArray[np.intp]

TITLE = "Levels and density of states"
HELP = "orbital energies, total and partial densities of states, and overlap populations (COOP)"
GROUP = "Orbitals"
PLOTS = True
PRIORITY = 75
_USUAL = "loewdin; mulliken for large molecules"

PARAMETERS = (
    Argument(
        "by",
        one_of("elements", "angular_momenta", "fragments"),
        "groups of the partial densities of states",
        "",
        "fragments where they are given, else elements",
    ),
    Argument("fragments", FRAGMENTS, "atoms that go together, such as metal=1; ligand=2-13", (), "none"),
    Argument("scheme", one_of("mulliken", "loewdin"), "population scheme", "", _USUAL),
    Argument("fwhm", POSITIVE_NUMBER, "full width at half maximum of a level in eV", 0.5, "0.5"),
    Argument("line", one_of("gaussian", "lorentzian"), "shape of a level", "gaussian", "gaussian"),
    Argument("lowest", NUMBER, "lowest energy shown, in eV", None, "20 below the HOMO"),
    Argument("highest", NUMBER, "highest energy shown, in eV", None, "10 above the LUMO"),
)
EXAMPLES = ("orb_levels", "orb_levels by=angular_momenta, fwhm=0.3", "orb_levels fragments=metal=1; ligand=2-13")

_MOST_PAIRS = 6
"""Pairs of fragments, or of elements, whose overlap populations are shown."""

_ROOM = 1.6
"""Height of the diagram of overlap populations, in that of the occupied levels."""

_DEGENERATE = 0.01
"""Levels in eV that stand on top of each other in the diagram."""

_ABSURD = 3.0
"""Overlap population of an orbital that no bond has."""

_UNOCCUPIED = (
    "some unoccupied orbitals have larger overlap populations than any bond: the basis functions are nearly linearly "
    "dependent, and these overlap populations mean nothing"
)

_TOLERANCE = 1e-3
"""What the integral of a density of states, and a sum of shares, may be off."""


def unavailable(wavefunction: Wavefunction) -> str:
    """Why there are no levels."""
    from ..levels import without_levels

    return without_levels(wavefunction)


def warning(wavefunction: Wavefunction, **parameters: Any) -> str:
    """That the root of a large overlap takes long."""
    from ..composition import warning_of_root

    return warning_of_root(wavefunction, parameters["scheme"])


def report(wavefunction: Wavefunction, *, device: str | None = None, **parameters: Any) -> Report:
    """Levels, densities of states and overlap populations; parameters as stated, see `orbitile.analysis.levels`."""
    from ..composition import usual_scheme
    from ..levels import default_range, density_of_states, energies_of_curve, levels_of

    width, shape, scheme = parameters["fwhm"], parameters["line"], parameters["scheme"] or usual_scheme(wavefunction)
    spins = wavefunction.spins
    low, high = default_range([levels_of(wavefunction, spin) for spin in spins], width)
    low = low if parameters["lowest"] is None else parameters["lowest"]
    high = high if parameters["highest"] is None else parameters["highest"]
    at = energies_of_curve(low, high, width)
    groups, labels = _groups(wavefunction, parameters["by"], parameters["fragments"])
    bonds = _bonds(wavefunction, parameters["fragments"])
    states = [
        density_of_states(
            wavefunction,
            spin,
            at,
            (labels, len(groups)),
            tuple(bonds.values()),
            width=width,
            shape=shape,
            scheme=scheme,
        )
        for spin in spins
    ]
    tables = [_levels(wavefunction, states, groups, tuple(bonds)), _gaps(wavefunction, states)]
    plots = [_plot_of_states(wavefunction, states, groups, width, shape)]
    if bonds:
        tables.append(_overlaps(wavefunction, states, bonds))
        plots.append(_plot_of_overlaps(wavefunction, states, tuple(bonds), width, shape))
    return Report(
        "levels", f"Levels from {low:.2f} to {high:.2f} eV", tuple(tables), tuple(plots), remarks=_remarks(states)
    )


def _groups(wavefunction: Wavefunction, by: str, fragments: Any) -> tuple[tuple[str, ...], Labels]:
    """Names of groups of basis functions, and the group of each basis function."""
    from ..composition import functions_by, groups_of_atoms

    atoms, momenta = functions_by(wavefunction)
    by = by or ("fragments" if fragments else "elements")
    if by == "fragments":
        if not fragments:
            raise OrbitileError("levels by fragments: expected fragments such as 1-6; 7-12, got none")
        names, of_atoms = groups_of_atoms(wavefunction.n_atoms, fragments)
        return names, of_atoms[atoms]
    of_functions = momenta if by == "angular_momenta" else wavefunction.atomic_numbers[atoms]
    kinds, labels = np.unique(of_functions, return_inverse=True)
    letters = ANGULAR_MOMENTUM_LETTERS if by == "angular_momenta" else SYMBOLS
    return tuple(letters[int(kind)] for kind in kinds), labels


def _bonds(wavefunction: Wavefunction, fragments: Any) -> dict[str, Sequence[Pair]]:
    """Names of pairs whose overlap populations are wanted: of fragments, or all bonds of two elements."""
    from ..levels import bonds_by_elements

    named: dict[str, Sequence[Pair]] = {}
    if len(fragments) > 1:
        for one, other in combinations(fragments, 2):
            named[f"{one.name}-{other.name}"] = [(one.atoms, other.atoms)]
    else:
        for (one, other), pairs in bonds_by_elements(wavefunction).items():
            named[f"{SYMBOLS[one]}-{SYMBOLS[other]}"] = pairs
    return dict(list(named.items())[:_MOST_PAIRS])


def _shown(states: DensityOfStates) -> NDArray[np.intp]:
    """Which levels are within the range."""
    energies = states.levels.energies
    return ((energies >= states.at[0]) & (energies <= states.at[-1])).nonzero()[0]


def _names(wavefunction: Wavefunction, states: DensityOfStates) -> tuple[str, ...]:
    levels = states.levels
    return tuple(orbital_name(wavefunction, int(levels.index[n]), levels.spin) for n in _shown(states))


def _levels(
    wavefunction: Wavefunction, states: Sequence[DensityOfStates], groups: tuple[str, ...], bonds: tuple[str, ...]
) -> Table:
    """A level a row."""

    def numbers(name: str, values: Iterable[Reals], unit: str = "", about: str = "") -> Column:
        every = np.concatenate([of[_shown(one)] for one, of in zip(states, values, strict=True)])
        return column(name, every, unit, 3, about, exponents=False)

    names = tuple(name for one in states for name in _names(wavefunction, one))
    columns = (
        column("orbital", names),
        numbers("energy", (one.levels.energies for one in states), "eV"),
        numbers("occupation", (one.levels.occupations for one in states)),
        *(numbers(group, (one.shares[n] for one in states), "", f"share of {group}") for n, group in enumerate(groups)),
        *(
            numbers(f"overlap_{bond}", (one.overlaps[n] for one in states), "", "overlap population for one electron")
            for n, bond in enumerate(bonds)
        ),
    )
    return Table("levels", "Levels", columns, _closures(states), fields=names)


def _closures(states: Sequence[DensityOfStates]) -> tuple[Closure, ...]:
    """What the curves integrate to, and whether the parts make up the whole."""
    closures = []
    for one in states:
        of_spin = f" of {one.levels.spin} electrons" if len(states) > 1 else ""
        what = f"integral of the density of states{of_spin} against the orbitals within the range"
        closures.append(Closure(what, one.integral, one.expected, "", _TOLERANCE * max(1.0, one.expected)))
        worst = int(abs(one.parts.sum(axis=0) - one.whole).argmax())
        what = f"sum of the partial densities of states{of_spin}, where its error is largest"
        found, expected = float(one.parts[:, worst].sum()), float(one.whole[worst])
        closures.append(Closure(what, found, expected, "eV^-1", _TOLERANCE * float(one.whole.max())))
    return tuple(closures)


def _gaps(wavefunction: Wavefunction, states: Sequence[DensityOfStates]) -> Table:
    """HOMO, LUMO and the gap of each spin."""
    levels = [one.levels for one in states]
    of_both = wavefunction.beta is None
    return Table(
        "frontier",
        "HOMO, LUMO and gap",
        (
            column("spin", ("both" if of_both else one.spin for one in levels)),
            column("homo", (one.homo for one in levels), "eV", 3),
            column("lumo", (one.lumo for one in levels), "eV", 3),
            column("gap", (one.lumo - one.homo for one in levels), "eV", 3),
        ),
    )


def _overlaps(wavefunction: Wavefunction, states: Sequence[DensityOfStates], bonds: dict[str, Sequence[Pair]]) -> Table:
    """Overlap populations of all electrons, and what bonding and antibonding orbitals have of them."""
    from ..levels import overlap_populations_of_density

    by_orbitals = [one.overlaps * one.levels.occupations for one in states]
    total, bonding, antibonding = (
        sum(part.sum(axis=1) for part in parts)
        for parts in (by_orbitals, [of.clip(min=0) for of in by_orbitals], [of.clip(max=0) for of in by_orbitals])
    )
    known = overlap_populations_of_density(wavefunction, tuple(bonds.values()))
    closures = tuple(
        Closure(
            f"{bond}, sum over orbitals against the value from the density matrix",
            float(found),
            float(expected),
            "e",
            1e-6,
        )
        for bond, found, expected in zip(bonds, total, known, strict=True)
    )
    return Table(
        "overlap_populations",
        "Overlap populations of all electrons",
        (
            column("between", bonds),
            column("pairs", map(len, bonds.values())),
            column("population", total, "e"),
            column("bonding", bonding, "e", about="sum over the orbitals where it is positive"),
            column("antibonding", antibonding, "e", about="sum over the orbitals where it is negative"),
        ),
        closures,
    )


def _plot_of_states(
    wavefunction: Wavefunction, states: Sequence[DensityOfStates], groups: tuple[str, ...], width: float, shape: str
) -> Plot:
    """The density of states, whole and in parts, and the levels as sticks; beta electrons downwards."""
    curves = [Curve("all", one.at, _sign(one) * one.whole, "filled") for one in states]
    if len(groups) > 1:
        curves += [Curve(group, one.at, _sign(one) * one.parts[n]) for n, group in enumerate(groups) for one in states]
    height = _height(width, shape)
    for one in states:
        energies = one.levels.energies[_shown(one)]
        curves.append(_sticks(energies, _sign(one) * height * _places(energies), _names(wavefunction, one)))
    downwards = ", beta downwards" if len(states) > 1 else ""
    label = f"density of states / eV^-1{downwards}"
    return _diagram("states", f"Density of states{_gap_text(states)}", label, curves, states)


def _plot_of_overlaps(
    wavefunction: Wavefunction, states: Sequence[DensityOfStates], bonds: tuple[str, ...], width: float, shape: str
) -> Plot:
    """Overlap populations: bonding upwards, of both spins."""
    curves = []
    dashed = len(states) > 1
    for n, bond in enumerate(bonds):
        for one in states:
            name = f"{bond} {one.levels.spin}" if dashed else bond
            curves.append(Curve(name, one.at, one.bonding[n]))
    height = _height(width, shape)
    for one in states:
        shown = _shown(one)
        largest = one.overlaps[abs(one.overlaps).argmax(axis=0), range(len(one.levels))]
        curves.append(_sticks(one.levels.energies[shown], height * largest[shown], _names(wavefunction, one)))
    label = "overlap population / eV^-1, bonding > 0"
    diagram = _diagram("overlap", f"Overlap populations{_gap_text(states)}", label, curves, states)
    occupied = [one.bonding[:, one.at <= one.levels.homo + width] for one in states]
    most = max((float(abs(of).max()) for of in occupied if of.size), default=0.0)
    # large basis sets give unoccupied orbitals overlap populations that would hide all others
    return replace(diagram, y_range=(-_ROOM * most, _ROOM * most)) if most > 0 else diagram


def _diagram(name: str, title: str, label: str, curves: list[Curve], states: Sequence[DensityOfStates]) -> Plot:
    lines = []
    for one in states:
        of_spin = f" {one.levels.spin}" if len(states) > 1 else ""
        for what, energy in (("HOMO", one.levels.homo), ("LUMO", one.levels.lumo)):
            if one.at[0] <= energy <= one.at[-1]:
                lines.append((energy, f"{what}{of_spin}"))
    at = states[0].at
    return Plot(name, title, "energy / eV", label, tuple(curves), tuple(lines), (float(at[0]), float(at[-1])))


def _sign(states: DensityOfStates) -> float:
    return -1.0 if states.levels.spin == "beta" else 1.0


def _height(width: float, shape: Any) -> float:
    """How high one level alone makes a curve: its stick is as high."""
    from ..levels import line

    return float(line(np.zeros(1), width, shape)[0])


def _places(energies: Reals) -> Reals:
    """1 for a level by itself; 1, 2, ... for levels of one energy, whose sticks stand on top of each other."""
    places = np.ones(len(energies))
    for n in range(1, len(energies)):
        if energies[n] - energies[n - 1] < _DEGENERATE:
            places[n] = places[n - 1] + 1
    return places


def _sticks(energies: Reals, heights: Reals, names: tuple[str, ...]) -> Curve:
    """Levels to be clicked on, the highest sticks first, which are drawn behind the others."""
    order = (-abs(heights)).argsort(kind="stable")
    return Curve("levels", energies[order], heights[order], "sticks", fields=tuple(names[n] for n in order))


def _gap_text(states: Sequence[DensityOfStates]) -> str:
    gaps = [
        f"{one.levels.lumo - one.levels.homo:.2f} eV{f' ({one.levels.spin})' if len(states) > 1 else ''}"
        for one in states
        if one.levels.lumo > one.levels.homo
    ]
    return f", gap {' and '.join(gaps)}" if gaps else ""


def _remarks(states: Sequence[DensityOfStates]) -> tuple[str, ...]:
    remarks = [_UNOCCUPIED] if any(abs(one.overlaps[:, _shown(one)]).max(initial=0) > _ABSURD for one in states) else []
    shares = [one.shares[:, _shown(one)] for one in states]
    least = min((float(of.min()) for of in shares if of.size), default=0.0)
    if least < -0.05:
        remarks.append(
            f"Mulliken's scheme gives negative shares, down to {least:.2f}, mostly in orbitals of diffuse functions; "
            "the scheme loewdin gives none"
        )
    for one in states:
        of_spin = f" of {one.levels.spin} electrons" if len(states) > 1 else ""
        missing = [what for what, energy in (("HOMO", one.levels.homo), ("LUMO", one.levels.lumo)) if np.isnan(energy)]
        remarks += [f"there is no {what}{of_spin} in this file" for what in missing]
    return tuple(remarks)
