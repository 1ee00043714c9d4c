"""Contacts of a molecule by its Hirshfeld surface, of any structure with something around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.arguments import ATOMS, Argument, atom_list
from ...fields.hirshfeld_surface import the_molecule, without_surroundings
from ...gaussians.promolecule import promolecule
from ...model.elements import SYMBOLS
from ...model.geometry import Geometry
from ...model.report import Closure, Curve, Isosurface, Plot, Report, Table, column
from ...model.units import angstrom
from ...model.wavefunction import Wavefunction
from . import takes_long

if TYPE_CHECKING:
    from ..contacts import Contacts

TITLE = "Contacts by the Hirshfeld surface"
HELP = "contacts of a molecule with its surroundings by its Hirshfeld surface: fingerprint, shares of elements"
KIND = "atoms"
GROUP = "Surfaces"
PLOTS = True
PRIORITY = 75
PARAMETERS = (
    Argument("atoms", ATOMS, "atoms of the molecule; the rest is around it", (), "the first of several molecules"),
)
EXAMPLES = ("orb_contacts", "orb_contacts atoms=1-12", "orb_contacts complex, resn LIG")

_LISTED = 50
"""Pairs of atoms that are listed, the closest ones."""

_SECONDS_AN_ATOM = 0.1
"""On two cores."""

_COLOURS = 1.0
"""Values of d_norm that colours span, of either sign."""

_CLOSES = 2e-3
"""Share of the volume by which its two values may differ."""

_NEAR, _FAR = 0.4, 2.6
"""Distances in Angstrom that fingerprints show, and farther ones where there are some."""


def unavailable(subject: Wavefunction | Geometry) -> str:
    """Of a molecule alone."""
    return without_surroundings(subject)


def warning(subject: Wavefunction | Geometry, **parameters: Any) -> str:
    """That a large molecule takes long."""
    n = len(parameters["atoms"])
    return takes_long(f"the surface of {n} atoms takes", _SECONDS_AN_ATOM * n)


def report(subject: Wavefunction | Geometry, *, device: str | None = None, **parameters: Any) -> Report:
    """Contacts by the Hirshfeld surface; parameters as stated, see `orbitile.analysis.contacts`."""
    from ..contacts import contacts_of

    wavefunction = promolecule(subject) if isinstance(subject, Geometry) else subject
    atoms = tuple(sorted(parameters["atoms"])) or the_molecule(wavefunction)
    contacts = contacts_of(wavefunction, atoms, device)
    listed = atom_list(atoms)
    remarks = []
    bare = float(contacts.surface.weights[contacts.is_open].sum()) / contacts.surface.area
    if bare > _BARE:
        remarks.append(
            f"{100 * bare:.0f} % of the surface is where the surroundings have less than 0.0005 e bohr^-3: open space, "
            "or hydrogen atoms that the structure lacks. It is the isosurface of the molecule's own free atoms there"
        )
    if not contacts.surface.is_whole:
        remarks.append("the surface does not close within the lattice: its area and volume are those of a part")
    return Report(
        "contacts",
        f"Contacts of atom{'s' if len(atoms) > 1 else ''} {listed} by the Hirshfeld surface",
        (_whole(contacts), _elements(contacts, listed), _pairs(contacts)),
        (_fingerprint(contacts, listed),),
        surfaces=(Isosurface(f"hirshfeld:{listed}", None, f"dnorm:{listed}", _COLOURS),),
        remarks=tuple(remarks),
    )


_BARE = 0.005
"""Share of the surface without neighbours from which on it is told."""


def _whole(contacts: Contacts) -> Table:
    surface = contacts.surface
    area, volume = surface.area / angstrom**2, surface.volume / angstrom**3
    rows = (
        ("area", area, "Angstrom^2"),
        ("volume", volume, "Angstrom^3"),
        ("globularity", _SPHERE * volume ** (2 / 3) / area, ""),
        ("mean di", contacts.mean(contacts.inside) / angstrom, "Angstrom"),
        ("mean de", contacts.mean(contacts.outside) / angstrom, "Angstrom"),
        ("least dnorm", float(contacts.closeness.min()), ""),
        ("mean dnorm", contacts.mean(contacts.closeness), ""),
        ("largest dnorm", float(contacts.closeness.max()), ""),
        ("mean shape index", contacts.mean(contacts.shape), ""),
        ("mean curvedness", contacts.mean(contacts.curvedness), ""),
    )
    names, values, units = zip(*rows, strict=True)
    by_flux = Closure("volume by flux", surface.volume_by_flux / angstrom**3, volume, "Angstrom^3", _CLOSES * volume)
    columns = column("quantity", names), column("value", values), column("unit", units)
    return Table("surface", "The surface", columns, (by_flux,))


_SPHERE = 4.835975862049409
"""Area of a sphere of volume 1: (36 pi)^(1/3)."""


def _elements(contacts: Contacts, listed: str) -> Table:
    from ..contacts import by_elements

    found = by_elements(contacts)
    columns = (
        column("inside", (SYMBOLS[contact.inside] for contact in found)),
        column("outside", (SYMBOLS[contact.outside] for contact in found)),
        column("area", (contact.area / angstrom**2 for contact in found), "Angstrom^2", 2),
        column("share", (100 * contact.share for contact in found), "%", 1, "of the surface"),
        column(
            "enrichment",
            (contact.enrichment for contact in found),
            "",
            2,
            "of the share that chance would give",
        ),
    )
    total = Closure("sum of the shares", 100 * sum(contact.share for contact in found), 100.0, "%", 1e-6)
    fields = tuple(f"contact:{listed}:{SYMBOLS[contact.inside]}-{SYMBOLS[contact.outside]}" for contact in found)
    return Table("elements", "Contacts by elements", columns, (total,), fields=fields)


def _pairs(contacts: Contacts) -> Table:
    from ..contacts import by_atoms

    numbers = contacts.sides.numbers
    found = by_atoms(contacts)
    shown = found[:_LISTED]
    columns = (
        column("atom", (contact.inside + 1 for contact in shown)),
        column("element", (SYMBOLS[numbers[contact.inside]] for contact in shown)),
        column("other_atom", (contact.outside + 1 for contact in shown)),
        column("other_element", (SYMBOLS[numbers[contact.outside]] for contact in shown)),
        column("distance", (contact.distance / angstrom for contact in shown), "Angstrom", 2),
        column("dnorm", (contact.closest for contact in shown), "", 3, "the least where these two are nearest"),
        column("area", (contact.area / angstrom**2 for contact in shown), "Angstrom^2", 2),
    )
    title = f"Pairs of atoms that meet, the closest in units of their radii first, {len(shown)} of {len(found)}"
    return Table("pairs", title, columns, atoms=tuple((contact.inside, contact.outside) for contact in shown))


def _fingerprint(contacts: Contacts, listed: str) -> Plot:
    """Which distances there are on the surface, coloured by how much of it."""
    from ..contacts import fingerprint

    x, y, shares = fingerprint(contacts)
    fields = tuple(f"fingerprint:{listed}:{a:.2f},{b:.2f}" for a, b in zip(x, y, strict=True))
    shown = _NEAR, max(_FAR, float(x.max()), float(y.max()))
    return Plot(
        "fingerprint",
        "Fingerprint of the Hirshfeld surface",
        "di / Angstrom",
        "de / Angstrom",
        (Curve("", x, y, "points", 100 * shares, fields),),
        x_range=shown,
        y_range=shown,
    )
