"""Vibrations of a file, whatever its format.

Programs print displacements of modes in one of two ways, and say nothing of it: Cartesian ones, or the same multiplied
by the square roots of the masses; normalised in any way. Modes are orthogonal where each displacement is multiplied by
the square root of its mass, so the way in which they are more nearly so is that of the file. Translations and rotations
that a program lists are told by what they are, and not by their number or their wavenumber.
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Callable
from contextlib import closing, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..base.arrays import Reals
from ..base.errors import FileError, OrbitileError
from ..files.encodings import is_binary, text_of
from ..files.hdf5 import MAGIC
from ..files.plain import PlainFile, beginning
from ..files.reading import read_bytes
from ..model.elements import NUMBERS
from ..model.normal_modes import is_linear, modes_of, standard_masses, whole_motions
from ..model.units import angstrom
from ..model.vibrations import Vibrations
from ._formats import checked_path
from ._isolation import isolated
from ._logs import ELECTRONVOLT
from .series import SeriesFrames
from .turbomole import modes_in

_WHOLE = 0.7
"""Share of translations and rotations in a mode from which on it is none of the molecule's vibrations."""
_STILL = 20.0
"""Wavenumber in cm^-1 up to which a mode may be a translation or a rotation."""
_OBLIQUE, _WRONG = 0.05, 0.35
"""Overlaps of modes, root mean square over each mode's worst: from which on a file is doubted, and refused."""
IS_OF_ORCA = r"^\s*\* O   R   C   A \*"
"""What a log of ORCA begins with."""
_PRINTED = "displacements are printed with few digits"

_ATTRIBUTES = (
    *("atomnos", "atomcoords", "atommasses", "vibfreqs", "vibdisps", "vibirs", "vibramans", "vibsyms"),
    *("scfenergies", "mpenergies", "ccenergies", "mult"),
    *("etenergies", "etoscs", "etrotats", "etsyms", "metadata"),
)
"""What is taken of cclib's data."""


@dataclass(eq=False)
class _Printed:
    """Modes as a file prints them; masses in u where it does, positions in bohr, the rest as `Vibrations` has it."""

    numbers: Any
    positions: Any
    wavenumbers: Any
    displacements: Any
    masses: Any = None
    strengths: dict[str, Any] = field(default_factory=dict)
    symmetries: tuple[str, ...] = ()
    title: str = ""
    method: str = ""
    more: dict[str, Any] = field(default_factory=dict)
    """Energy, multiplicity and derivatives, where known."""


def load_vibrations(path: str | PathLike[str]) -> Vibrations:
    """Read the vibrations in a file: a log, .hess of ORCA, Molden, .fchk, g98.out of xtb, or a series of Orbitile.

    Raises
    ------
    FileError
        When it cannot be read, holds none, or holds modes that are not orthogonal.
    """
    file = checked_path(path, folders=True)
    if file.is_dir() or beginning(file).startswith(MAGIC):
        with closing(SeriesFrames(file)) as series:
            return series.vibrations()
    with PlainFile(file) as plain:
        try:
            printed = _printed(plain.path, file)
        except OrbitileError:
            raise
        except Exception as error:  # whatever a damaged number or a missing one leads to
            raise FileError(f"{file.name}: its vibrations cannot be read ({error})") from error
    if printed is None:
        if "xtb" in beginning(file).decode("latin-1"):
            raise FileError(f"{file.name}: xtb prints no displacements there; open the file g98.out beside it")
        raise FileError(
            f"{file.name}: holds no vibrations; orbitile vibrations {file.name} --method gfn2 computes them"
        )
    return _vibrations(printed, file)


def _printed(path: Path, original: Path) -> _Printed | None:
    require_text(path)
    text = text_of(read_bytes(path))
    if re.match(r"\s*\$", text) and (left := modes_in(original)) is not None:
        if not len(left.wavenumbers):
            return _of_hessian(left.atomic_numbers, left.positions, None, left.hessian)
        listed = (left.atomic_numbers, left.positions, left.wavenumbers, left.displacements, None)
        return _Printed(*listed, {"infrared": left.infrared}, left.symmetries, more={"hessian": left.hessian})
    for mark, read in _TEXTS.items():
        if re.search(mark, text, re.MULTILINE | re.IGNORECASE):
            return read(text)
    data = log_of(path)
    if hasattr(data, "vibfreqs") and hasattr(data, "vibdisps") and len(data.vibdisps) == len(data.vibfreqs):
        n = len(data.vibfreqs)
        named = {"infrared": "vibirs", "raman": "vibramans"}
        found = {name: getattr(data, its) for name, its in named.items() if len(getattr(data, its, ())) == n}
        rotatory = _floats(" ".join(re.findall(r"^\s*Rot\. str\.\s+--\s(.*)$", text, re.M)))  # of Gaussian
        if len(rotatory) >= n > 0:  # of several calculations the last
            found["rotatory"] = rotatory[-n:]
        symmetries = getattr(data, "vibsyms", ())
        metadata = getattr(data, "metadata", {})
        method = "/".join(filter(None, (str(metadata.get(name) or "") for name in ("functional", "basis_set"))))
        return _Printed(
            data.atomnos,
            np.asarray(data.atomcoords[-1]) * angstrom,
            data.vibfreqs,
            data.vibdisps,
            getattr(data, "atommasses", None),
            found,
            tuple(symmetries) if len(symmetries) == n else (),
            method=method,
            more={"energy": _energy(data), "multiplicity": int(getattr(data, "mult", 0) or 0)},
        )
    return _gaussian_98(text) if "Frequencies --" in text else None


def _energy(data: Any) -> float:
    """Of the highest level that cclib found, in hartree; unknown where there are energies of displaced geometries."""
    for name in ("ccenergies", "mpenergies", "scfenergies"):
        values: Any = getattr(data, name, ())
        if len(values):
            whole = len(values) in (1, len(data.atomcoords))
            return float(np.ravel(values[-1])[-1]) / ELECTRONVOLT if whole else np.nan
    return np.nan


def _of_hessian(numbers: Any, positions: Any, masses: Any, hessian: Reals, dipoles: Any = ()) -> _Printed:
    """Modes that follow from force constants, of files that have no others."""
    masses = masses if np.size(masses) and masses is not None else standard_masses(numbers)
    none = np.zeros((0, len(numbers), 3))
    derivatives = {"hessian": hessian, "dipole_derivatives": dipoles}
    found = modes_of(Vibrations(numbers, positions, masses, none[:, 0, 0], none, **derivatives))
    strengths = {"infrared": found.infrared} if len(found.infrared) else {}
    return _Printed(
        numbers, positions, found.wavenumbers, found.displacements, masses, strengths, more=dict(derivatives)
    )


def _vibrations(printed: _Printed, file: Path) -> Vibrations:
    """Modes in our convention, without translations and rotations, checked."""
    numbers = np.asarray(printed.numbers, np.int64)
    positions, values = np.asarray(printed.positions, np.float64), np.asarray(printed.wavenumbers, np.float64)
    given = np.asarray(printed.displacements, np.float64).reshape(len(values), -1, 3)
    if positions.shape != (len(numbers), 3) or given.shape[1] != len(numbers):
        raise FileError(f"{file.name}: displacements of {given.shape[1]} atoms, expected those of {len(numbers)}")
    masses = standard_masses(numbers)
    if printed.masses is not None and len(printed.masses) == len(numbers) and np.all(np.asarray(printed.masses) > 0):
        masses = np.asarray(printed.masses, np.float64)
    is_mode = (np.abs(given).max(axis=(1, 2)) > 0) & np.isfinite(values)
    weights = np.sqrt(masses)[:, None]
    telling = given[is_mode & (np.abs(values) > _STILL)]  # translations and rotations may be printed in any way
    ways = [_orthogonal(telling * weights), _orthogonal(telling)]
    worst = min(ways)
    displacements = given if ways[0] <= ways[1] else given / weights
    if worst > _WRONG:
        raise FileError(
            f"{file.name}: its modes are not orthogonal, neither as Cartesian displacements nor as mass-weighted ones "
            f"(overlaps of {worst:.2f}); the file is damaged, or its masses are others"
        )
    units = displacements * weights
    units = units.reshape(len(values), -1) / np.maximum(np.linalg.norm(units, axis=(1, 2)), 1e-300)[:, None]
    whole = np.linalg.norm(units @ whole_motions(masses, positions), axis=1) ** 2
    kept = np.flatnonzero(is_mode & (whole < _WHOLE))
    kept = kept[np.argsort(values[kept], kind="stable")]
    remarks = [f"modes overlap by up to {worst:.2f}: {_PRINTED}"] if worst > _OBLIQUE else []
    expected = max(3 * int((numbers > 0).sum()) - (5 if is_linear(positions) else 6), 0)
    if len(kept) != expected:
        remarks.append(f"the file has {len(kept)} of {expected} modes")
    shown = displacements[kept]
    strengths: dict[str, Any] = {name: np.asarray(its, np.float64)[kept] for name, its in printed.strengths.items()}
    return Vibrations(
        numbers,
        positions,
        masses,
        values[kept],
        shown / np.linalg.norm(shown, axis=(1, 2))[:, None, None],
        **{name: its for name, its in strengths.items() if its.any()},
        **printed.more,
        symmetries=tuple(str(printed.symmetries[n]) for n in kept) if printed.symmetries else (),
        source=str(file),
        title=printed.title,
        method=printed.method,
        remarks=tuple(remarks),
    )


def _orthogonal(modes: Reals) -> float:
    """How far modes are from orthogonal: the largest overlap of each with another, root mean square."""
    flat = modes.reshape(len(modes), -1)
    if len(flat) < 2:
        return 0.0
    flat = flat / np.linalg.norm(flat, axis=1, keepdims=True)
    overlaps = np.abs(flat @ flat.T - np.eye(len(flat)))
    return float(np.sqrt((overlaps.max(axis=1) ** 2).mean()))


# ---- formats


def _floats(text: str) -> Reals:
    return np.array([float(word.replace("D", "E").replace("d", "e")) for word in text.split()])


def _orca_hess(text: str) -> _Printed:
    """ORCA's .hess: blocks of columns with a head of their numbers; modes are Cartesian and normalised."""

    def block(name: str) -> list[str]:
        found = re.search(rf"^\${name}\s*\n(.*?)(?=^\$|\Z)", text, re.DOTALL | re.MULTILINE)
        return [] if found is None else [line for line in found[1].splitlines() if line.strip()]

    atoms = [line.split() for line in block("atoms")[1:]]
    frequencies = np.array([float(line.split()[1]) for line in block("vibrational_frequencies")[1:]])
    n = len(frequencies)

    def matrix(name: str) -> Reals:
        values, columns = np.zeros((n, n)), np.zeros(0, int)
        for line in block(name)[1:]:
            words = line.split()
            if all(word.isdigit() for word in words):
                columns = np.array(words, int)
            else:
                values[int(words[0]), columns] = [float(word) for word in words[1:]]
        return values

    more: dict[str, Any] = {"hessian": matrix("hessian")} if block("hessian") else {}
    dipoles = [_floats(line) for line in block("dipole_derivatives")[1:]]
    if len(dipoles) == n:
        more["dipole_derivatives"] = np.array(dipoles)
    energy = _floats(" ".join(block("act_energy")[:1]))
    if len(energy) == 1 and energy[0]:
        more["energy"] = energy[0]
    strengths: dict[str, Any] = {}
    for name, its in (("infrared", "ir_spectrum"), ("raman", "raman_spectrum")):
        rows = [_floats(line) for line in block(its)[1:]]
        if len(rows) == n:  # since ORCA 5 an infrared row has the absorption coefficient before the intensity
            at = 2 if name == "infrared" and len(rows[0]) == 6 else 1
            strengths[name] = [row[at] for row in rows]
    return _Printed(
        [NUMBERS[symbol.capitalize()] for symbol, *_ in atoms],
        [[float(place) for place in places] for _, _, *places in atoms],
        frequencies,
        matrix("normal_modes").T,
        [float(mass) for _, mass, *_ in atoms],
        strengths,
        more=more,
    )


def _orca(text: str) -> _Printed | None:
    """Logs of ORCA 4 to 6."""
    before, mark, after = text.rpartition("\nNORMAL MODES\n")
    if not mark:
        return None
    atoms = atoms_of_orca(before)
    listed = before.rpartition("VIBRATIONAL FREQUENCIES")[2]
    frequencies = [float(value) for value in re.findall(r"^\s*\d+:\s+(-?\d+\.\d+) cm", listed, re.M)]
    n = len(frequencies)
    modes, columns = np.zeros((n, n)), np.zeros(0, int)
    for line in after.splitlines():
        words = line.split()
        if words and all(word.isdigit() for word in words):
            columns = np.array(words, int)
        elif len(columns) and len(words) == len(columns) + 1 and words[0].isdigit():
            modes[int(words[0]), columns] = [float(word) for word in words[1:]]
        elif "SPECTRUM" in line:
            break
    strengths: dict[str, Any] = {}
    for name, heading in (("infrared", "IR SPECTRUM"), ("raman", "RAMAN SPECTRUM")):
        part = re.split(r"\n[A-Z ]*SPECTRUM", after.partition(f"\n{heading}")[2])[0]
        rows = re.findall(r"^\s*(\d+):((?:\s+-?\d+\.\d+)+)", part, re.M)
        at = 2 if name == "infrared" and "Int" in part else 1  # since ORCA 5 behind the absorption coefficient
        if rows:
            strengths[name] = np.zeros(n)
            for mode, numbers in rows:
                strengths[name][int(mode)] = _floats(numbers)[at]
    more: dict[str, Any] = {}
    if energies := re.findall(r"^FINAL SINGLE POINT ENERGY.*?(-?\d+\.\d+)\s*$", before, re.M):
        more["energy"] = float(energies[-1])
    if spins := re.findall(r"^\s*Multiplicity\s+Mult\s+\.+\s+(\d+)", before, re.M):
        more["multiplicity"] = int(spins[-1])
    return _Printed(
        [NUMBERS[symbol] for symbol, *_ in atoms],
        [_floats(places) for *_, places in atoms],
        frequencies,
        modes.T,
        [float(mass) for _, mass, _ in atoms],
        strengths,
        more=more,
    )


def atoms_of_orca(text: str) -> list[tuple[str, str, str]]:
    """Symbols, masses in u, and positions in bohr of the last geometry in a log of ORCA, as text."""
    listed = text.rpartition("CARTESIAN COORDINATES (A.U.)")[2].partition("INTERNAL")[0]
    return re.findall(r"^\s*\d+ +([A-Z][a-z]?) +[\d.]+ +\d+ +([\d.]+)((?: +-?\d+\.\d+){3})\s*$", listed, re.M)


def _molden(text: str) -> _Printed:
    """Molden's sections of vibrations; positions in bohr, displacements Cartesian."""

    def section(name: str) -> list[str]:
        found = re.search(rf"^\s*\[{name}\][^\n]*\n(.*?)(?=^\s*\[|\Z)", text, re.DOTALL | re.MULTILINE | re.I)
        return [] if found is None else [line for line in found[1].splitlines() if line.strip()]

    atoms = [line.split() for line in section("FR-COORD")]
    frequencies = np.array([float(line.split()[0]) for line in section("FREQ")])
    rows = [line for line in section("FR-NORM-COORD") if not line.strip().lower().startswith("vibration")]
    modes = np.array([_floats(line)[:3] for line in rows]).reshape(len(frequencies), len(atoms), 3)
    strengths: dict[str, Any] = {}
    lines = [_floats(line) for line in section("INT")]
    if len(lines) == len(frequencies):
        strengths["infrared"] = [line[0] for line in lines]
        if all(len(line) > 1 for line in lines):
            strengths["raman"] = [line[1] for line in lines]
    numbers = [NUMBERS[re.sub(r"[^A-Za-z].*", "", symbol).capitalize()] for symbol, *_ in atoms]
    return _Printed(
        numbers, [[float(word) for word in rest[:3]] for _, *rest in atoms], frequencies, modes, None, strengths
    )


def _checkpoint(text: str) -> _Printed:
    """Gaussian's formatted checkpoint after Freq=SaveNormalModes; Vib-E2 has values of all modes one after another."""

    def array(name: str) -> Reals:
        found = re.search(
            rf"^{re.escape(name)}\s+[IR]\s+N=\s*(\d+)\s*\n([^A-Za-z]*(?:[ED][-+]\d\d[^A-Za-z]*)*)", text, re.M
        )
        if found is None:  # a single value stands behind its name
            found = re.search(rf"^{re.escape(name)}\s+[IR]\s+([-+.\dED]+)\s*$", text, re.M)
            return np.zeros(0) if found is None else _floats(found[1])
        return _floats(found[2])[: int(found[1])]

    modes = array("Vib-Modes")
    numbers = array("Atomic numbers").astype(np.int64)
    positions = array("Current cartesian coordinates").reshape(-1, 3)
    title, method = (text.splitlines()[line].strip() for line in (0, 1))
    method = "/".join(method.split()[1:3])
    size = 3 * len(numbers)
    lower, dipoles, energy, spin = (
        array(name) for name in ("Cartesian Force Constants", "Dipole Derivatives", "Total Energy", "Multiplicity")
    )
    more: dict[str, Any] = {"dipole_derivatives": dipoles.reshape(size, 3) if len(dipoles) == 3 * size else ()}
    if len(lower):
        hessian = np.zeros((size, size))
        hessian[np.tril_indices(size)] = lower
        more["hessian"] = hessian + np.tril(hessian, -1).T
    if not len(modes):
        masses = array("Real atomic weights")
        printed = _of_hessian(numbers, positions, masses, more["hessian"], more["dipole_derivatives"])
    else:
        n = len(modes) // size
        values = array("Vib-E2").reshape(-1, n)
        # wavenumbers, reduced masses, force constants, infrared, Raman, two depolarisations, dipole, rotatory strengths
        strengths = {
            name: values[row] for name, row in (("infrared", 3), ("raman", 4), ("rotatory", 8)) if row < len(values)
        }
        masses = array("Vib-AtMass")
        printed = _Printed(numbers, positions, values[0], modes.reshape(n, -1, 3), masses, strengths)
    energies = {"energy": float(energy[0])} if len(energy) else {}
    multiplicities = {"multiplicity": int(spin[0])} if len(spin) else {}
    return replace(printed, title=title, method=method, more={**more, **energies, **multiplicities})


def _gaussian_98(text: str) -> _Printed | None:
    """Blocks of frequencies in Gaussian's layout, as xtb writes them (g98.out)."""
    rows = re.findall(r"^\s*\d+\s+(\d+)\s+\d+((?:\s+-?\d+\.\d+){3})\s*$", text.partition("Frequencies --")[0], re.M)
    blocks = re.split(r"^\s*Frequencies --", text, flags=re.M)[1:]
    values: list[float] = []
    modes: list[Reals] = []
    strengths: list[float] = []
    atoms: list[tuple[int, Reals]] = []
    for number, places in rows:
        atoms.append((int(number), _floats(places)))
    for block in blocks:
        some = _floats(block.partition("\n")[0])
        values += some.tolist()
        inten = re.search(r"^\s*IR Inten\s+--(.*)$", block, re.M)
        strengths += _floats(inten[1]).tolist() if inten else []
        lines = re.findall(rf"^\s*\d+\s+\d+((?:\s+-?\d+\.\d+){{{3 * len(some)}}})\s*$", block, re.M)
        moves = np.array([_floats(line) for line in lines]).reshape(len(lines), len(some), 3)
        modes += list(moves.transpose(1, 0, 2))
    n = len(modes[0]) if modes else 0
    if not n or len(atoms) < n:
        return None
    atoms = atoms[-n:]
    found = {"infrared": strengths} if len(strengths) == len(values) else {}
    positions = np.array([place for _, place in atoms]) * angstrom
    return _Printed([number for number, _ in atoms], positions, values, modes, None, found)


_TEXTS: dict[str, Callable[[str], _Printed | None]] = {
    r"^\$orca_hessian_file": _orca_hess,
    r"^\s*\[FR-NORM-COORD\]": _molden,
    r"^(Vib-Modes|Cartesian Force Constants)\s+R\s": _checkpoint,
    IS_OF_ORCA: _orca,
    r"^\s*Gaussian 98.*\n.*\n.*xtb|frequency output generated by the xtb": _gaussian_98,
}
"""Readers of texts that are no logs, by what is in them."""


_WORDS = re.compile(
    rb"frequenc|\[freq\]|wavenumber|normal.modes|normal.coord|vib-modes|orca_hessian|force constants|\$vibrational",
    re.I,
)
"""What stands in every text that has vibrations, and in few others."""


def vibrations_in(path: str | PathLike[str]) -> Vibrations | None:
    """Vibrations of a file that may have some; None where it has none or they cannot be read.

    Only texts with one of their words in them are read as a whole, so that other files cost nothing.
    """
    try:
        file = checked_path(path, folders=True)
        if not file.is_dir() and not beginning(file).startswith(MAGIC):
            with PlainFile(file) as plain:
                if is_binary(beginning(plain.path)) or _WORDS.search(read_bytes(plain.path)) is None:
                    return None
        return load_vibrations(file)
    except OrbitileError:
        return None


def log_of(file: Path) -> Any:
    """What cclib finds in a log, in a process of its own; nothing where it is none."""
    require_text(file)
    found = isolated(
        attributes_of, str(file.absolute()), name=file.name, library="cclib", imports="cclib", size=file.stat().st_size
    )
    return SimpleNamespace(**found)


def require_text(file: Path) -> None:
    """Refuse what is no text, which cclib would search line by line, for seconds."""
    if is_binary(beginning(file)):
        raise FileError(f"{file.name}: holds no vibrations and spectra: it is no text, as logs are")


def attributes_of(name: str) -> dict[str, Any]:
    """Attributes of cclib's data of a log; none of a file that is no log."""
    from cclib.io.ccio import ccopen

    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        parser = ccopen(name, loglevel=logging.CRITICAL + 1, quiet=True)
        data = None if parser is None else parser.parse()
    return {name: getattr(data, name) for name in _ATTRIBUTES if hasattr(data, name)}
