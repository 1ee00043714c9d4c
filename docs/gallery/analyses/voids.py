"""
Voids of a crystal
==================

What the molecules of a crystal leave free is where the density of all free atoms is low. Here urea at 12 K (S.
Swaminathan, B. M. Craven and R. K. McMullan, Acta Cryst. B 1984, 40, 300).
"""

from pathlib import Path

import orbitile as ob

Path("urea-voids.cif").write_text("""data_urea
_cell_length_a 5.565
_cell_length_b 5.565
_cell_length_c 4.684
_cell_angle_alpha 90
_cell_angle_beta 90
_cell_angle_gamma 90
_symmetry_space_group_name_H-M 'P -4 21 m'
loop_
_atom_site_label
_atom_site_type_symbol
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
C  C 0      0.5    0.3260
O  O 0      0.5    0.5953
N  N 0.1459 0.6459 0.1766
H1 H 0.2575 0.7575 0.2827
H2 H 0.1441 0.6441 -0.0380
""")
urea = ob.load("urea-voids.cif")

report = ob.voids(urea)
table = report.table("cell")
for row in range(len(table)):
    print("  ".join(f"{column.text(row):>20s}" for column in table.columns))

# %%
# The same as a surface, in one cell about the molecule:

surface = ob.compute_surface(urea, "void", 0.5)
ob.render(surface, urea, "voids.png", size=(1200, 900))
