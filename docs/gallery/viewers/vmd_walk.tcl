# VMD, with its commands
# ======================
#
# In VMD the commands have the same names, and options of Tcl's kind. This script writes scenes of the frontier orbitals
# for the ray tracer Tachyon: ``vmd -dispdev text -e vmd_walk.tcl``. VMD is not part of what builds this site, so there
# is no picture below; the test suite runs the script against a stand-in for VMD's own commands.

color Display Background white
axes location off
orb_load benzene.molden
rotate x by -55
orb_mo benzene homo-1 -quality coarse
render Tachyon homo-1.dat
orb_next
render Tachyon homo.dat
quit
