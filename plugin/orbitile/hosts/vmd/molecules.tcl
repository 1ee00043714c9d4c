# What VMD shows of what it was told to: molecules, their frames, and which objects are still there.

# Objects that VMD still has; a user may have deleted others.
proc orbitile::present {} {
    variable molecules
    set there [molinfo list]
    set found {}
    foreach name [lsort [array names molecules]] {
        if {[lsearch -exact $there $molecules($name)] >= 0} {
            lappend found $name
        } else {
            forget $name
        }
    }
    return $found
}

proc orbitile::forget {name} {
    variable molecules
    variable kept
    variable frames
    if {[info exists frames($name)] && [info exists molecules($name)]} {
        trace remove variable ::vmd_frame($molecules($name)) write [list orbitile::frame_changed $name]
    }
    if {[info exists kept($name)]} {
        file delete {*}[concat {*}[dict values $kept($name)]]
    }
    delete_copies $name
    forget_drawings $name
    foreach known {molecules sources looks drawn kept at hidden frames} {
        variable $known
        unset -nocomplain ${known}($name)
    }
}

# Objects that the user has hidden, here or in VMD's main window; not those that have no volume of the frame that is seen.
proc orbitile::unseen_by_choice {} {
    variable molecules
    variable hidden
    set found {}
    foreach name [present] {
        if {![info exists hidden($name)] && ![molinfo $molecules($name) get drawn]} {
            lappend found $name
        }
    }
    return $found
}

# VMD writes 0 into vmd_initialize_structure when a molecule is deleted: its fields go with it.
proc orbitile::structure_changed {args} {
    after cancel orbitile::follow_molecules
    after idle orbitile::follow_molecules
}

proc orbitile::follow_molecules {} {
    variable looks
    set there [present]
    foreach field $there {
        if {[info exists looks($field)] && [lsearch -exact $there [dict get $looks($field) molecule]] < 0} {
            discard $field
        }
    }
}

proc orbitile::discard {name} {
    variable molecules
    if {[lsearch -exact [present] $name] >= 0} {
        mol delete $molecules($name)
        forget $name
    }
}

proc orbitile::on_molecule {message} {
    variable molecules
    variable sources
    variable frames
    variable restoring
    set name [dict get $message name]
    set file [dict get $message file]
    if {[dict exists $restoring $name]} {
        place $name [list $file]
        file delete $file
        set frames($name) [dict get $message frame]
        return
    }
    discard $name
    set frames($name) [dict get $message frame]
    set molid [mol new $file type xyz waitfor all]
    file delete $file
    mol rename $molid $name
    mol modstyle 0 $molid CPK 1.0 0.3 20.0 20.0
    if {[dict exists $message ghosts]} {
        pale_ghosts $molid
    }
    molinfo $molid set frame [dict get $message frame]
    set molecules($name) $molid
    set sources($name) [list $file]
    follow_frames $name
    trace add variable ::vmd_initialize_structure($molid) write orbitile::structure_changed
}

# Ghost atoms, which have the name X, as small clear balls without bonds.
proc orbitile::pale_ghosts {molid} {
    mol modselect 0 $molid not name X
    mol addrep $molid
    mol modstyle 1 $molid CPK 0.5 0.0 20.0 20.0
    mol modcolor 1 $molid ColorID 6
    mol modselect 1 $molid name X
    mol modmaterial 1 $molid Transparent
}

# VMD writes the frame of each molecule into vmd_frame whenever it changes.
proc orbitile::follow_frames {name} {
    variable molecules
    if {[molinfo $molecules($name) get numframes] > 1} {
        trace add variable ::vmd_frame($molecules($name)) write [list orbitile::frame_changed $name]
    }
}

# Surfaces are seen at the frame that they belong to; the server is told which it is, and computes those ahead. It is
# told a little later: VMD would take the next frame first otherwise, and draw fewer than it is given.
proc orbitile::frame_changed {name args} {
    variable looks
    variable moved
    foreach field [present] {
        if {[info exists looks($field)] && [dict get $looks($field) molecule] eq $name} {
            if {[catch {show_frame $field} problem]} {
                puts "Orbitile) VMD: $problem"
            }
        }
    }
    variable copies
    variable molecules
    if {[info exists copies($name)]} {
        foreach molid $copies($name) {
            molinfo $molid set frame [molinfo $molecules($name) get frame]
        }
    }
    if {![llength $moved]} {
        after 1 orbitile::tell_frames
    }
    if {[lsearch -exact $moved $name] < 0} {
        lappend moved $name
    }
}

proc orbitile::tell_frames {} {
    variable channel
    variable molecules
    variable moved
    set there [present]
    foreach name $moved {
        if {$channel eq "" || [lsearch -exact $there $name] < 0} continue
        set frame [molinfo $molecules($name) get frame]
        set request "\"command\": \"frame\", \"arguments\": [list_json [list $name $frame]]"
        catch {puts $channel "{\"id\": 0, $request, [standing]}"}
    }
    set moved {}
}

proc orbitile::on_frame {message} {
    variable molecules
    variable frames
    variable restoring
    set name [dict get $message molecule]
    set frame [dict get $message frame]
    if {[dict exists $restoring $name]} {
        set frames($name) $frame
    } elseif {[lsearch -exact [present] $name] >= 0} {
        molinfo $molecules($name) set frame $frame
    }
}

proc orbitile::on_drop {message} {
    variable kept
    set name [dict get $message name]
    set frame [dict get $message frame]
    if {[info exists kept($name)] && [dict exists $kept($name) $frame]} {
        file delete {*}[dict get $kept($name) $frame]
        dict unset kept($name) $frame
    }
}
