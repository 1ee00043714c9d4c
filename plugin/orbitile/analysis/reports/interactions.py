"""Weak interactions, of any structure: of its wavefunction, or by free atoms where it has none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.arguments import ATOMS, POSITIVE_NUMBER, Argument, atom_list, one_of
from ...base.errors import OrbitileError
from ...base.watch import stage
from ...gaussians.promolecule import promolecule
from ...model.elements import SYMBOLS
from ...model.geometry import Geometry, molecules_of
from ...model.report import AtomValues, Closure, Curve, Drawing, Isosurface, Plot, Report, Table, column
from ...model.units import angstrom
from ...model.wavefunction import Wavefunction
from . import takes_long

if TYPE_CHECKING:
    from ..interactions import InteractionIndices, Region, SampledInteractions

TITLE = "Weak interactions"
HELP = "hydrogen bonds, van der Waals contacts and clashes, also of structures without a wavefunction"
KIND = "atoms"
GROUP = "Density"
PLOTS = True
PRIORITY = 70
PARAMETERS = (
    Argument("atoms", ATOMS, "atoms of one fragment; the rest is the other", (), "all, or between two molecules"),
    Argument("model", one_of("nci", "igm", "igmh"), "model whose isosurfaces are shown", "nci", "nci"),
    Argument("isovalue", POSITIVE_NUMBER, "isovalue of these surfaces in atomic units", None, "the model's default"),
)
EXAMPLES = ("orb_interactions", "orb_interactions atoms=1-12", "orb_interactions complex, resn LIG, igm")

_USUAL = {"nci": 0.5, "igm": 0.01, "igmh": 0.005}
"""Isovalue of the surfaces of a molecule, by the model."""
_OF_PROMOLECULE = 0.3
"""That of the reduced density gradient of free atoms (J. Contreras-Garcia et al., J. Chem. Theory Comput. 2011, 7,
625)."""

_COLOURS = 0.04
"""Colours span minus this to plus this, in e bohr^-3."""

_RANGE = 0.06
"""Signed densities that the diagram shows, in e bohr^-3."""
_SHOWN = 50_000
"""Points of the diagram at most, chosen at random from those sampled."""

_PAIRS = 100
"""Pairs of atoms that are listed, those with the largest index."""

_MANY = 120
"""Atoms near the other fragment from which on a coarser quadrature does: it is exact to a thousandth."""

_SECONDS_AN_ATOM = 0.15
"""On two cores, for large structures."""
_MOST_ATOMS = 2_000
"""Of a structure whose every interaction is analysed: five minutes."""


def unavailable(subject: Wavefunction | Geometry) -> str:
    """Of an atom alone."""
    alone = sum(number > 0 for number in subject.atomic_numbers.tolist()) < 2
    return "there is only one atom, so nothing interacts" if alone else ""


def warning(subject: Wavefunction | Geometry, **parameters: Any) -> str:
    """That a large structure takes long."""
    n = len(subject.atomic_numbers)
    return takes_long(f"interactions of {n} atoms take", _SECONDS_AN_ATOM * n)


def report(subject: Wavefunction | Geometry, *, device: str | None = None, **parameters: Any) -> Report:
    """Weak interactions; parameters as stated, see `orbitile.analysis.interactions`."""
    from ..interactions import regions_of, sampled_interactions

    wavefunction = promolecule(subject) if isinstance(subject, Geometry) else subject
    model, remarks = parameters["model"], []
    if wavefunction.promolecule:
        remarks.append("the density is that of a promolecule (superposed free atoms), as there is no wavefunction")
        model = "igm" if model == "igmh" else model
    atoms = _fragment(wavefunction, parameters["atoms"], model)
    listed = atom_list(atoms)
    usual = _OF_PROMOLECULE if wavefunction.promolecule and model == "nci" else _USUAL[model]
    isovalue = parameters["isovalue"] or usual
    with stage(0.0, 0.4):
        sampled = sampled_interactions(wavefunction, listed, device)
    small = isovalue if model == "nci" else (_OF_PROMOLECULE if wavefunction.promolecule else _USUAL["nci"])
    tables = [_regions(regions_of(sampled, small), small)]
    drawings: tuple[Drawing, ...] = ()
    if atoms:
        with stage(0.4, 1.0):
            indices = _indices(wavefunction, atoms, model, device)
        tables += _of_atoms(wavefunction, indices)
        drawings = (AtomValues("interaction", _at_atoms(wavefunction, indices), "e bohr^-1", 3),)
        between = f"between atoms {listed} and the rest"
    else:
        between = "in the whole system"
        remarks.append("name the atoms of a fragment to analyse its interactions with the rest")
    if sampled.spacing > _COARSE:
        remarks.append(
            f"the spacing of {sampled.spacing:.2f} bohr is coarse: name the atoms of a fragment for a finer one"
        )
    behind = f":{listed}" if listed else ""
    surface = Isosurface(f"{'rdg' if model == 'nci' else model}{behind}", isovalue, f"nci{behind}", _COLOURS)
    return Report(
        "interactions",
        f"Weak interactions {between}",
        tuple(tables),
        (_scatter(sampled),),
        drawings,
        (surface,),
        tuple(remarks),
    )


_COARSE = 0.3
"""Spacing in bohr beyond which small regions are missed."""


def _fragment(wavefunction: Wavefunction, named: tuple[int, ...], model: str) -> tuple[int, ...]:
    """Atoms of one side: those named, else one of two molecules; none for all interactions."""
    if named:
        return tuple(sorted(named))
    molecules = molecules_of(wavefunction.atomic_numbers, wavefunction.positions)
    if len(molecules) == 2:
        return tuple(min(molecules, key=len).tolist())
    if model != "nci":
        found = f"{len(molecules)} molecules" if len(molecules) > 1 else "one molecule"
        raise OrbitileError(
            f"interactions by {model}: expected the atoms of one fragment, such as atoms=1-12; got {found}"
        )
    if (n := wavefunction.n_atoms) > _MOST_ATOMS:
        raise OrbitileError(
            f"interactions: expected the atoms of one fragment, such as atoms=1-12 or the name of a ligand, since all "
            f"of {n:,} atoms would take about {_SECONDS_AN_ATOM * n / 60:.0f} minutes; without one it takes "
            f"{_MOST_ATOMS:,} at most"
        )
    return ()


def _indices(wavefunction: Wavefunction, atoms: tuple[int, ...], model: str, device: str | None) -> InteractionIndices:
    from ..interactions import interaction_indices

    level = 3 if wavefunction.n_atoms < _MANY else 1
    return interaction_indices(wavefunction, np.array(atoms), shared=model != "igm", level=level, device=device)


def _regions(regions: tuple[Region, ...], isovalue: float) -> Table:
    """Kinds of interaction, each with its region."""
    columns = (
        column("kind", (region.name for region in regions)),
        column("volume", (region.volume for region in regions), "bohr^3", 3),
        column("electrons", (region.electrons for region in regions), "e", 5, "integral of the density"),
        column("lowest", (region.lowest for region in regions), "e bohr^-3", 4, "lowest sign(λ₂)ρ"),
        column("highest", (region.highest for region in regions), "e bohr^-3", 4, "highest sign(λ₂)ρ"),
    )
    title = f"Where the reduced density gradient is below {isovalue:g}; strong means a density above 0.01 e bohr^-3"
    return Table("regions", title, columns)


def _of_atoms(wavefunction: Wavefunction, indices: InteractionIndices) -> list[Table]:
    """Indices of pairs, the largest first, and of atoms."""
    numbers, positions = wavefunction.atomic_numbers, wavefunction.positions
    total = float(indices.pairs.sum())
    largest = np.argsort(-indices.pairs, axis=None)[:_PAIRS]
    rows, columns = np.unravel_index(largest, indices.pairs.shape)
    first, second = indices.one[rows], indices.other[columns]
    values = indices.pairs[rows, columns]
    apart = np.linalg.norm(positions[first] - positions[second], axis=1) / angstrom
    closures = []
    if np.isfinite(indices.electrons):
        electrons = float(wavefunction.n_electrons)
        closures.append(Closure("electrons at the points", indices.electrons, electrons, "e", 0.01))
    pairs = Table(
        "pairs",
        f"Pairs of atoms, {len(largest)} of {indices.pairs.size}",
        (
            column("atom", first + 1),
            column("element", (SYMBOLS[number] for number in numbers[first])),
            column("other_atom", second + 1),
            column("other_element", (SYMBOLS[number] for number in numbers[second])),
            column("distance", apart, "Angstrom", 2),
            column("index", values, "e bohr^-1", 4, "integral of δg of the pair"),
            column("share", 100 * values / max(total, 1e-300), "%", 1, "of all pairs"),
        ),
        tuple(closures),
        tuple(zip(first.tolist(), second.tolist(), strict=True)),
    )
    here = np.concatenate([indices.one, indices.other])
    of_atoms = np.concatenate([indices.pairs.sum(axis=1), indices.pairs.sum(axis=0)])
    order = np.argsort(-of_atoms)
    sides = np.repeat([1, 2], [len(indices.one), len(indices.other)])
    atoms = Table(
        "atoms",
        "Atoms, each with all atoms of the other fragment",
        (
            column("atom", here[order] + 1),
            column("element", (SYMBOLS[number] for number in numbers[here[order]])),
            column("fragment", sides[order]),
            column("index", of_atoms[order], "e bohr^-1"),
            column("share", 100 * of_atoms[order] / max(total, 1e-300), "%", 1, "of its fragment"),
        ),
        atoms=tuple((atom,) for atom in here[order].tolist()),
    )
    return [pairs, atoms]


def _at_atoms(wavefunction: Wavefunction, indices: InteractionIndices) -> tuple[float, ...]:
    """Index of each atom; NaN for those that are not near the other fragment."""
    values = np.full(wavefunction.n_atoms, np.nan)
    values[indices.one] = indices.pairs.sum(axis=1)
    values[indices.other] = indices.pairs.sum(axis=0)
    return tuple(values.tolist())


def _scatter(sampled: SampledInteractions) -> Plot:
    """The diagram in which interactions are spikes."""
    shown = np.flatnonzero((sampled.gradient < 2) & (np.abs(sampled.signed_density) < _RANGE))
    if len(shown) > _SHOWN:
        shown = np.sort(np.random.default_rng(0).choice(shown, _SHOWN, replace=False))
    x, y = (values[shown].astype(np.float64) for values in (sampled.signed_density, sampled.gradient))
    return Plot(
        "interactions",
        "Reduced density gradient",
        "sign(λ₂)ρ / e bohr^-3",
        "reduced density gradient",
        (Curve("", x, y, "points", x),),
        x_range=(-_RANGE, _RANGE),
        y_range=(0.0, 2.0),
    )
