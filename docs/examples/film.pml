# A film of an orbital along a trajectory, without a window: pymol -cq film.pml
bg_color white
viewport 320, 240
orb_load path.h5
orb_mo path, homo, 0.08, coarse
orb_frames
orient path
turn y, 60
zoom path, 3
set ray_trace_frames, 1
mset 1 -6
mpng film
