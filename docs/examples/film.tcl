# A film of the HOMO along a trajectory path.h5, scene by scene for the ray tracer Tachyon, without a window:
# vmd -dispdev text -e film.tcl
color Display Background white
axes location off
orb_load path.h5
orb_mo path homo -quality coarse
orb_frames
for {set frame 0} {$frame < [molinfo top get numframes]} {incr frame} {
    animate goto $frame
    render Tachyon [format "film%03d.dat" $frame]
}
quit
