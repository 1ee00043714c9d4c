# Scenes of the frontier orbitals for the ray tracer Tachyon, without a window: vmd -dispdev text -e walk.tcl
color Display Background white
axes location off
orb_load benzene.molden
rotate x by -55
orb_mo benzene homo-1 -quality coarse
render Tachyon homo-1.dat
orb_next
render Tachyon homo.dat
quit
