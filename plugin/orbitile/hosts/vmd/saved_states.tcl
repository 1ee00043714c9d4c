# Saved states.
#
# VMD's save_state writes which files each molecule was read from. Those of Orbitile are gone by then, so lines are put
# into the state that have them computed and written again, before VMD's own lines read them and after.

proc orbitile::follow_save_state {} {
    catch {auto_load save_state}
    if {[llength [info commands ::save_state]]} {
        trace add execution ::save_state enter orbitile::before_state
        trace add execution ::save_state leave orbitile::after_state
        trace add execution ::save_materials enter orbitile::before_molecules ;# the first thing that is written
        trace add execution ::save_labels enter orbitile::after_molecules     ;# the last
    }
}

# Films stand still from here on, and nothing stands side by side: copies of atoms have no file.
proc orbitile::before_state {args} {
    variable sources
    variable kept
    variable saving
    if {![llength [present]]} return
    end_grid
    set state [dict get [ask state "\"arguments\": \[\]"] value]
    set files {}
    foreach name [present] {
        if {[info exists kept($name)]} {
            renew $name
        }
        lappend files $name $sources($name)
    }
    set saving [list $state $files]
}

proc orbitile::before_molecules {words args} {
    variable saving
    if {[llength $saving]} {
        puts [lindex $words 1] "catch {orbitile::restore $saving} ;# without Orbitile the files are missing"
    }
}

proc orbitile::after_state {args} {
    variable saving {}
    variable looks
    foreach name [present] {
        if {[info exists looks($name)]} {
            show_frame $name
        }
    }
}

# VMD remembers all files that a molecule was read from: one that shows frames is made anew, of the last one.
proc orbitile::renew {name} {
    variable molecules
    variable looks
    variable kept
    variable at
    if {![dict exists $kept($name) $at($name)]} return
    set old $molecules($name)
    set representations [representations_of $old]
    set drawn [molinfo $old get drawn]
    mol delete $old
    unset molecules($name)
    hold $name $at($name)
    set molid $molecules($name)
    represent $name
    give_representations $molid $representations
    mol [expr {$drawn ? "on" : "off"}] $molid
}

proc orbitile::after_molecules {words args} {
    variable saving
    if {[llength $saving]} {
        puts [lindex $words 1] "catch orbitile::restored"
    }
}

proc orbitile::restore {state files} {
    variable restoring $files
    foreach name [dict keys $files] {
        forget $name
    }
    if {[catch {ask restore "\"arguments\": \[[text_json $state]\]"} problem]} {
        puts "Orbitile) $problem"
    }
}

# Put files where the state that is read looks for them.
proc orbitile::place {name files} {
    variable restoring
    variable made
    foreach file $files place [dict get $restoring $name] {
        set folder [file dirname $place]
        if {![file isdirectory $folder]} { ;# otherwise it is the folder of a server that runs
            file mkdir $folder
            lappend made $folder
        }
        file copy -force $file $place
    }
}

proc orbitile::restored {} {
    variable restoring
    variable made
    variable unseen
    variable molecules
    variable sources
    variable frames
    variable looks
    variable drawn
    dict for {name files} $restoring {
        foreach molid [molinfo list] {
            if {[lindex [molinfo $molid get filename] 0 0] eq [lindex $files 0]} {
                set molecules($name) $molid
                set sources($name) $files
            }
        }
        if {[info exists looks($name)]} {
            set drawn($name) $looks($name)
        }
        foreach file $files {
            file delete $file
        }
    }
    foreach folder $made {
        catch {file delete $folder}
    }
    set made {}
    set names [dict keys $restoring]
    set restoring {}
    foreach name $names {
        if {[info exists frames($name)] && [info exists molecules($name)]} {
            follow_frames $name
            molinfo $molecules($name) set frame $frames($name)
            frame_changed $name
        }
    }
    foreach name $unseen {
        if {[info exists molecules($name)]} {
            mol off $molecules($name)
        }
    }
    set unseen {}
}
