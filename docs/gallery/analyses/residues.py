"""
Residues around a region
========================

Formaldehyde between an ammonium ion, a chloride ion and a water molecule: which of them makes the field
along its C=O bond, and which shifts its orbitals. A ligand in a protein has hundreds of such rows.
"""

from pathlib import Path

import orbitile as ob

ATOMS = """
C   FOR 1   0.000  0.000 -0.530  0.00
O   FOR 1   0.000  0.000  0.680  0.00
H1  FOR 1   0.000  0.940 -1.110  0.00
H2  FOR 1   0.000 -0.940 -1.110  0.00
N   NH4 2   0.500  0.300  3.500 -0.80
H1  NH4 2   0.350  0.200  2.490  0.45
H2  NH4 2   0.500  1.270  3.780  0.45
H3  NH4 2   1.370 -0.100  3.800  0.45
H4  NH4 2  -0.230 -0.170  3.960  0.45
CL  CL  3   3.900  0.000 -1.500 -1.00
O   HOH 4  -3.200  0.500  0.900 -0.80
H1  HOH 4  -2.300  0.400  0.600  0.40
H2  HOH 4  -3.600 -0.350  0.800  0.40
"""
lines = []
for number, atom in enumerate(ATOMS.split("\n")[1:-1], 1):
    name, residue, place, x, y, z, charge = atom.split()
    coordinates = f"{float(x):8.3f}{float(y):8.3f}{float(z):8.3f}"
    lines.append(f"ATOM  {number:5d}  {name:3s} {residue:3s} A{place:>4s}    {coordinates} {charge} 1.5")
Path("site.pqr").write_text("\n".join([*lines, "END\n"]))

structure = ob.load_structure("site.pqr")
region = ob.quantum_region(structure, ob.select(structure, "resn FOR"))
places = region.geometry.positions / 1.8897261  # in Angstrom
rows = [f"{s} {x:.8f} {y:.8f} {z:.8f}" for s, (x, y, z) in zip("COHH", places, strict=True)]
Path("site.xyz").write_text("\n".join(["4", "", *rows, ""]))
(formaldehyde,) = ob.compute_series("site.xyz", "site.h5", ob.calculation_of(region, "pbe", "6-31g*"))
ob.save_region(region, "site.region")

table = ob.residues(formaldehyde, atoms="1-2").table("residues")
for name in ("residue", "energy", "field", "homo_shift", "lumo_shift"):
    column = table.column(name)
    print(f"{column.title:>18s}", *(f"{column.text(row):>16s}" for row in range(len(table))))

# %%
# The orbital that they shift:

homo = ob.compute_surface(formaldehyde, "homo", 0.05)
ob.render(homo, formaldehyde, "homo.png", size=(1200, 900), legend=True)
