# Time from a command in VMD's Tcl until the orbital is there, and the part of it that goes into handing it over.
#
#   tclsh benchmarks/vmd_latency.tcl FILE ?QUALITY?                         with the stand-in for VMD of the tests
#   vmd -dispdev text -e benchmarks/vmd_latency.tcl -args FILE ?QUALITY?    in VMD
#
# Orbitals are shown one after the other, each for the first time, at the isovalue that encloses 90 % of it. Handing over:
# from the server's word that the surface is known, after which it writes the volume, until VMD has read it.

lassign $argv file quality
if {$quality eq ""} { set quality medium }
set here [file dirname [file normalize [info script]]]
if {![llength [info commands mol]]} {
    source [file join $here .. tests hosts vmd_stand_in.tcl]
    set viewer stand-in
} else {
    set viewer "VMD [vmdinfo version]"
}
lappend auto_path [file join $here .. plugin orbitile hosts vmd]
package require orbitile
set python [expr {[info exists env(PYTHON)] ? $env(PYTHON) : "python3"}]
orbitile::register [list $python -m orbitile serve] {orb_load orb_mo orb_device}

rename orbitile::on_surface orbitile::surface_untimed
rename orbitile::on_volume orbitile::volume_untimed
proc orbitile::on_surface {message} {
    set ::began [clock microseconds]
    surface_untimed $message
}
proc orbitile::on_volume {message} {
    volume_untimed $message
    set ::handed [expr {([clock microseconds] - $::began) / 1000.0}]
}

proc median {numbers} { lindex [lsort -real $numbers] [expr {[llength $numbers] / 2}] }
proc most {numbers} { lindex [lsort -real $numbers] end }
proc least {numbers} { lindex [lsort -real $numbers] 0 }

set molecule [orb_load $file]
set totals {}
set parts {}
for {set orbital 10} {$orbital <= 40} {incr orbital} {
    set start [clock microseconds]
    orb_mo $molecule $orbital "" $quality
    if {$orbital > 12} { ;# the first ones are cold
        lappend totals [expr {([clock microseconds] - $start) / 1000.0}]
        lappend parts $handed
    }
    orbitile::discard ${molecule}_mo$orbital
}
puts [format "%s, %s, %s: %d orbitals, least %.0f, median %.0f, most %.0f ms; handing over median %.0f, most %.0f ms" \
    $viewer [orb_device] $quality [llength $totals] [least $totals] [median $totals] [most $totals] [median $parts] \
    [most $parts]]
orbitile::stop
exit
