# Frames a second while VMD plays a trajectory, pass by pass, and the memory of all that takes part (Linux).
#
#   vmd -e benchmarks/vmd_film.tcl -args SERIES ?FIELD? ?QUALITY? ?PASSES?     in VMD, with or without -dispdev text
#   tclsh benchmarks/vmd_film.tcl SERIES ?FIELD? ?QUALITY? ?PASSES?            with the stand-in for VMD of the tests
#
# The first pass computes, later ones show what is kept. Reading: from the frame's change until VMD holds its volume.

lassign $argv file field quality passes
foreach {name otherwise} {field homo quality medium passes 4} {
    if {[set $name] eq ""} { set $name $otherwise }
}
set here benchmarks ;# VMD does not say which file it reads, so it is to be started above this folder
if {[info script] ne ""} { set here [file dirname [file normalize [info script]]] }
set in_vmd [llength [info commands mol]]
if {!$in_vmd} { source [file join $here .. tests hosts vmd_stand_in.tcl] }
lappend auto_path [file join $here .. plugin orbitile hosts vmd]
package require orbitile
set python [expr {[info exists env(PYTHON)] ? $env(PYTHON) : "python3"}]
orbitile::register [list $python -m orbitile serve] {orb_load orb_field orb_play orb_device}

proc contents {file} {
    set channel [open $file]
    set text [read $channel]
    close $channel
    return $text
}
proc megabytes {process} { expr {[lindex [contents /proc/$process/statm] 1] * 4 / 1024} } ;# pages of 4 KB
proc start_pass {} {
    set ::shown 0
    set ::wrong 0
    set ::reading 0
    set ::began [clock milliseconds]
}
proc end_pass {} {
    set server [pid $orbitile::channel]
    set workers {}
    foreach thread [glob /proc/$server/task/*/children] {
        foreach one [contents $thread] { lappend workers [megabytes $one] }
    }
    set files 0
    foreach one [glob -directory $orbitile::folder *] { incr files [file size $one] }
    puts [format "pass %d: %d frames, %.1f a second, %d without their surface; reading %.1f ms a frame; MB: viewer %d, \
        server %d, worker %s, files %d" [incr ::pass] $::shown \
        [expr {1000.0 * $::shown / ([clock milliseconds] - $::began)}] $::wrong [expr {$::reading / 1000.0 / $::shown}] \
        [megabytes [pid]] [megabytes $server] $workers [expr {$files >> 20}]]
    if {$::pass == $::passes} { after idle finish }
    start_pass
}
proc finish {} {
    orb_play 0
    orbitile::stop
    exit
}

rename orbitile::hold orbitile::hold_untimed
proc orbitile::hold {name frame} {
    set start [clock microseconds]
    hold_untimed $name $frame
    incr ::reading [expr {[clock microseconds] - $start}]
}
rename orbitile::frame_changed orbitile::frame_changed_uncounted
proc orbitile::frame_changed {name args} {
    frame_changed_uncounted $name
    incr ::shown
    set frame [molinfo $orbitile::molecules($name) get frame]
    if {$orbitile::at($::surface) ne $frame || ![molinfo $orbitile::molecules($::surface) get drawn]} { incr ::wrong }
    if {$frame == 0} end_pass
}

set pass 0
set molecule [orb_load $file]
set surface [orb_field $molecule $field "" $quality]
puts "$surface, $quality, [orb_device]"
proc begin {} { ;# when the worker has started
    if {![dict exists $orbitile::kept($::surface) 1]} {
        after 10 begin
        return
    }
    start_pass
    orb_play 1000
}
begin
if {!$in_vmd} { vwait forever }
