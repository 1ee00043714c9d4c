# Pictures of the frontier orbitals, without a window: pymol -cq walk.pml
bg_color white
orb_load benzene.molden
orient benzene
turn x, -55
orb_mo benzene, homo-1, quality=coarse
ray 320, 240
png homo-1.png
orb_next
ray 320, 240
png homo.png
