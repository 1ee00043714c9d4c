"""Excited states."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.arguments import COUNT, FRAGMENTS, POSITIVE_NUMBER, Argument, one_of
from ...base.arrays import Reals
from ...base.errors import OrbitileError
from ...model.report import AtomValues, Closure, Curve, Isosurface, Paths, Plot, Report, Table, atom_names, column
from ...model.units import electronvolt, wavenumber
from ...model.wavefunction import Excitation, Wavefunction
from . import takes_long

if TYPE_CHECKING:
    from ..excitations import Densities


TITLE = "Excited states"
HELP = "excited states: spectrum, orbitals involved, hole and electron, charge transfer"
GROUP = "Excited states"
PLOTS = True
PRIORITY = 60
_USUAL = "loewdin; mulliken for large molecules"
PARAMETERS = (
    Argument("fragments", FRAGMENTS, "fragments between which charge is transferred, such as 1-6; 7-12", (), "atoms"),
    Argument("state", COUNT, "number of the state that is analysed by fragments and drawn", 0, "the strongest"),
    Argument("scheme", one_of("loewdin", "mulliken"), "population scheme", "", _USUAL),
    Argument("fwhm", POSITIVE_NUMBER, "full width at half maximum of a band in eV", 0.4, "0.4"),
)
EXAMPLES = ("orb_excitations", "orb_excitations fragments=donor=1-12; acceptor=13-20", "orb_excitations state=3")

_LEADING, _NAMED = 0.1, 3
"""Share from which on an excitation is named beside the leading one, and how many are."""

_PAIR = 0.05
"""Share from which on a pair of natural transition orbitals is listed."""

_TOLERANCE = 0.01
"""What hole and electron, the amplitudes, and charge transfer numbers may be off 1."""

_DIGITS = 10
"""Decimals beyond which charge transfer numbers are rounding."""

_LITTLE = 0.02
"""Share of a transfer between fragments from which on it is listed, where there are many."""

_MANY = 16
"""Transfers between this many fragments are all listed."""

_ARROW = 0.1
"""Distance in bohr from which on an arrow is drawn from hole to electron."""

_POINTS = 600
"""Of a spectrum."""

_SECONDS = 3e-7
"""Time that a state takes on two cores, an atom and a squared number of basis functions: measured with 62 atoms."""


def unavailable(wavefunction: Wavefunction) -> str:
    """Why there are none."""
    if wavefunction.excitations:
        return ""
    return (
        "the file holds no excited states with amplitudes; they are read from logs of Gaussian, ORCA, Q-Chem, GAMESS "
        "and others where these print them"
    )


def warning(wavefunction: Wavefunction, **parameters: Any) -> str:
    """That many states of a large molecule take long."""
    from ..composition import warning_of_root

    n = len(wavefunction.excitations)
    seconds = _SECONDS * n * wavefunction.n_atoms * wavefunction.n_basis**2
    slow = takes_long(f"hole and electron of {n} states take", seconds)
    return "; ".join(filter(None, (warning_of_root(wavefunction, parameters["scheme"]), slow)))


def report(wavefunction: Wavefunction, *, device: str | None = None, **parameters: Any) -> Report:
    """Excited states; parameters as stated, see `orbitile.analysis.excitations`."""
    from ..composition import groups_of_atoms, usual_scheme
    from ..excitations import charge_transfer_numbers, densities_of

    states = wavefunction.excitations
    chosen = parameters["state"] or _strongest(states)
    if chosen > len(states):
        raise OrbitileError(f"state: expected a number from 1 to {len(states)}, got {chosen}")
    fragments, scheme = parameters["fragments"], parameters["scheme"] or usual_scheme(wavefunction)
    names, group_of_atom = groups_of_atoms(wavefunction.n_atoms, fragments)
    if not fragments:
        names, group_of_atom = atom_names(wavefunction.atomic_numbers), np.arange(wavefunction.n_atoms)
    transfers, chosen_transfer = [], np.zeros((0, 0))
    for n, one in enumerate(states, 1):
        omega = np.round(charge_transfer_numbers(wavefunction, one, group_of_atom, scheme), _DIGITS)
        transfers.append((float(omega.sum()), float(np.trace(omega))))
        chosen_transfer = omega if n == chosen else chosen_transfer
    densities = densities_of(wavefunction, range(1, len(states) + 1), device)
    atoms = [tuple(np.flatnonzero(group_of_atom == n).tolist()) for n in range(len(names))]
    chosen_densities = densities[chosen - 1]
    return Report(
        "excitations",
        f"{len(states)} excited state{'s' * (len(states) > 1)}",
        (
            _states(wavefunction, densities, transfers),
            _pairs(wavefunction),
            _shares(chosen, chosen_transfer, names, atoms),
            _transfers(chosen, chosen_transfer, names),
        ),
        (_spectrum(states, parameters["fwhm"]),),
        _drawings(wavefunction, chosen_transfer, chosen_densities, bool(fragments)),
        (Isosurface(f"change:{chosen}"),),
        _remarks(wavefunction),
    )


def _strongest(states: tuple[Excitation, ...]) -> int:
    """Number of the state of the largest oscillator strength; of the lowest where none is known."""
    return 1 + max(range(len(states)), key=lambda n: (np.nan_to_num(states[n].strength, nan=-1.0), -n))


def _states(wavefunction: Wavefunction, densities: list[Densities], transfers: list[tuple[float, float]]) -> Table:
    from ...fields.transition import natural_transition_orbitals
    from ..excitations import contributions, deexcitations, participation

    states = wavefunction.excitations
    numbers = range(1, len(states) + 1)
    shares = [[share for share, *_ in natural_transition_orbitals(wavefunction, one)] for one in states]
    leading = []
    for one in states:
        first, *others = contributions(wavefunction, one)
        named = [first, *(other for other in others if abs(other.share) >= _LEADING)][:_NAMED]
        leading.append(", ".join(f"{part.source} -> {part.target} {100 * part.share:.0f} %" for part in named))
    columns = (
        column("state", numbers),
        column("label", (state.label for state in states), about="spin and symmetry, as in the file"),
        column("energy", (state.energy / electronvolt for state in states), "eV", 3),
        column("wavelength", (_NANOMETRES / (state.energy / wavenumber) for state in states), "nm", 1),
        column("strength", (state.strength for state in states), about="oscillator strength, as in the file"),
        column("orbitals", leading, about="leading excitations, with the squares of their amplitudes"),
        column(
            "pairs",
            map(participation, shares),
            "",
            2,
            "participation number: effective number of natural transition orbital pairs",
        ),
        column("leading_pair", (pair[0] for pair in shares), "", 3, "share of the leading pair"),
        column("distance", (round(one.distance, 6) for one in densities), "bohr", 3, "from hole to electron (D)"),
        column("overlap", (one.overlap for one in densities), "", 3, "of hole and electron (S)"),
        column("transfer", (total - staying for total, staying in transfers), "", 3, _TRANSFER),
        column(
            "back",
            (deexcitations(wavefunction, state) for state in states),
            about="sum of the squares of the de-excitation amplitudes",
        ),
        column(
            "printed", (state.printed for state in states), about="sum of the squares of the amplitudes in the file"
        ),
    )
    worst = [
        ("sum of the squares of the amplitudes in the file", [one.printed for one in states]),
        ("integral of the hole", [one.hole for one in densities]),
        ("integral of the electron", [one.electron for one in densities]),
        ("sum of the charge transfer numbers", [total for total, _ in transfers]),
    ]
    closures = tuple(
        Closure(f"{what}, in the worst state", max(known, key=lambda value: abs(value - 1)), 1.0, "", _TOLERANCE)
        for what, values in worst
        if (known := [value for value in values if math.isfinite(value)])
    )
    fields = tuple(f"change:{n}" for n in numbers)
    return Table("states", "Excited states", columns, closures, fields=fields)


_NANOMETRES = 1e7
"""One nm^-1 in cm^-1."""

_TRANSFER = "share of the excitation that takes an electron from one atom, or fragment, to another"


def _pairs(wavefunction: Wavefunction) -> Table:
    """Natural transition orbitals, two rows a pair."""
    from ...fields.transition import natural_transition_orbitals

    rows: list[tuple[int, int, str, float, str]] = []
    fields = []
    for state, one in enumerate(wavefunction.excitations, 1):
        for n, (share, spin, *_) in enumerate(natural_transition_orbitals(wavefunction, one), 1):
            if share < _PAIR and n > 1:
                break
            for part in ("hole", "electron"):
                rows.append((state, n, part, share, "both" if wavefunction.beta is None else spin))
                fields.append(f"nto:{state}:{part}:{n}")
    names = ("state", "pair", "part", "share", "spin")
    columns = tuple(column(name, values, decimals=3) for name, *values in zip(names, *rows, strict=True))
    title = f"Natural transition orbitals from {100 * _PAIR:.0f} % upwards"
    return Table("pairs", title, columns, fields=tuple(fields))


def _shares(state: int, omega: Reals, names: tuple[str, ...], atoms: list[tuple[int, ...]]) -> Table:
    hole, electron = omega.sum(axis=1), omega.sum(axis=0)
    gain = np.round(electron - hole, _DIGITS)
    columns = (
        column("fragment", names),
        column("hole", hole, "e", about="share of the electron that leaves"),
        column("electron", electron, "e", about="share of the electron that arrives"),
        column("gain", gain, "e", about="electrons gained"),
        column("stays", np.diag(omega), about="share of the excitation within the fragment"),
    )
    closure = Closure("electrons gained by all", float(gain.sum()), 0.0, "e", _TOLERANCE)
    return Table("fragments", f"Hole and electron of state {state}", columns, (closure,), tuple(atoms))


def _transfers(state: int, omega: Reals, names: tuple[str, ...]) -> Table:
    """Charge transfer numbers as a list, the largest first; small ones are left out where there are many."""
    n = len(names)
    order = np.argsort(-omega, axis=None, kind="stable")
    n_listed = n * n if n * n <= _MANY else max(1, int((omega >= _LITTLE).sum()))
    listed = [divmod(place, n) for place in order[:n_listed].tolist()]
    columns = (
        column("from", (names[a] for a, _ in listed)),
        column("to", (names[b] for _, b in listed)),
        column("share", (omega[pair] for pair in listed), about="charge transfer number"),
    )
    closure = Closure("sum of all charge transfer numbers", float(omega.sum()), 1.0, "", _TOLERANCE)
    few = "" if len(listed) == n * n else f", from {100 * _LITTLE:.0f} % upwards"
    return Table("transfer", f"Where state {state} takes electrons{few}", columns, (closure,))


def _drawings(wavefunction: Wavefunction, omega: Reals, densities: Densities, by_fragments: bool) -> tuple[Any, ...]:
    """Electrons gained by the atoms, and an arrow from the hole to the electron."""
    found: list[Any] = []
    if not by_fragments:
        found.append(AtomValues("gain", tuple((omega.sum(axis=0) - omega.sum(axis=1)).tolist()), "e"))
    if densities.distance > _ARROW:
        line = np.stack([densities.hole_centre, densities.electron_centre])
        found.append(Paths("hole_to_electron", (line,), heads=True))
    return tuple(found)


def _spectrum(states: tuple[Excitation, ...], fwhm: float) -> Plot:
    from ..excitations import absorption

    energies = np.array([one.energy for one in states])
    strengths = np.nan_to_num([one.strength for one in states])
    low, high = max(energies.min() / electronvolt - 2 * fwhm, 0.01), energies.max() / electronvolt + 2 * fwhm
    at = np.linspace(low, high, _POINTS)
    width = fwhm * electronvolt
    alone = [float(absorption(e[None], f[None], e[None], width)[0]) for e, f in zip(energies, strengths, strict=True)]
    fields = tuple(f"change:{n}" for n in range(1, len(states) + 1))
    return Plot(
        "spectrum",
        f"Absorption, bands {fwhm:g} eV wide",
        "energy / eV",
        "molar absorption coefficient / L mol^-1 cm^-1",
        (
            Curve("all states", at, absorption(energies, strengths, at * electronvolt, width)),
            Curve("each state", energies / electronvolt, np.array(alone), "sticks", fields=fields),
        ),
    )


def _remarks(wavefunction: Wavefunction) -> tuple[str, ...]:
    """What the reader should know of the amplitudes."""
    printed = [one.printed for one in wavefunction.excitations if math.isfinite(one.printed)]
    remarks = [
        "densities are computed from the amplitudes alone, without relaxation of the other electrons (unrelaxed)"
    ]
    if printed and min(printed) < 1 - _TOLERANCE:
        remarks.append(
            f"the program printed amplitudes whose squares add up to {min(printed):.2f} to {max(printed):.2f} instead "
            "of 1; they were scaled up to 1"
        )
    if not any(math.isfinite(one.strength) for one in wavefunction.excitations):
        remarks.append("the file has no oscillator strengths, so the spectrum is empty")
    return tuple(remarks)
