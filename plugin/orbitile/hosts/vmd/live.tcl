# The molecule whose electrons follow its atoms: VMD tells nobody when atoms are moved, so they are looked at.

namespace eval orbitile {
    variable live ""                  ;# its name; empty while there is none
    variable live_told {}             ;# what the server told last of it
    variable places {}                ;# where the server knows its atoms
    variable looks_left 0             ;# for how many more looks they count as dragged
    variable own                      ;# by number of VMD the copy of a molecule that VMD has itself
    array set own {}
}

proc orbitile::on_live {message} {
    variable live_told $message
    variable live [dict get $message molecule]
    after cancel orbitile::look_at_atoms
    if {$live ne ""} {
        after 100 orbitile::look_at_atoms
    }
    if {[llength [info commands panel::show_live]]} {
        panel::show_live $message
    }
}

# Look again and again for atoms that were moved, by the mouse or by a script. They count as dragged a little longer, since
# VMD does not say whether a button is held. A molecule that is gone is told of by the way.
proc orbitile::look_at_atoms {} {
    variable live
    variable looks_left
    after cancel orbitile::look_at_atoms
    if {$live eq ""} return
    after 100 orbitile::look_at_atoms
    if {[lsearch -exact [present] $live] < 0} {
        set live ""
        tell_server ""
    } elseif {[tell_atoms ", \"dragging\": true"]} {
        set looks_left 4
    } elseif {$looks_left > 0 && [incr looks_left -1] == 0} {
        tell_server "\"dragging\": false, "
    }
}

# Tell the server where the atoms of the live molecule are, and more; whether any were moved since it was told last.
proc orbitile::tell_atoms {more} {
    variable live
    variable places
    variable molecules
    if {$live eq "" || [lsearch -exact [present] $live] < 0} {
        return 0
    }
    set now [places_of $molecules($live)]
    if {$now eq $places} {
        return 0
    }
    move_copies $live $now
    tell_places $live $now $more
    return 1
}

proc orbitile::tell_places {name now more} {
    variable places $now
    tell_server "\"positions\": {[text_json $name]: [places_json $now]}$more, "
}

# Tell the server something, and what there is, and wait for nothing.
proc orbitile::tell_server {parts} {
    variable channel
    if {$channel ne "" && [catch {puts $channel "{\"id\": 0, $parts[standing]}"}]} ended
}

# The server moves some atoms. Their places are not told back as the single precision of VMD has them; those of others,
# which the user may drag meanwhile, are.
proc orbitile::on_move {message} {
    variable molecules
    variable places
    variable live
    set name [dict get $message molecule]
    if {[lsearch -exact [present] $name] < 0} return
    set molid $molecules($name)
    set wanted [places_of $molid]
    foreach n [dict get $message atoms] place [dict get $message positions] {
        lset wanted $n $place
    }
    place_atoms $molid $wanted
    move_copies $name $wanted
    if {$name eq $live} {
        set now [places_of $molid]
        foreach n [dict get $message atoms] {
            lset places $n [lindex $now $n]
        }
    }
}

proc orbitile::places_of {molid} {
    set atoms [atomselect $molid all]
    set found [$atoms get {x y z}]
    $atoms delete
    return $found
}

proc orbitile::place_atoms {molid places} {
    set atoms [atomselect $molid all]
    $atoms set {x y z} $places
    $atoms delete
}

# Those of fields that stand side by side.
proc orbitile::move_copies {name places} {
    variable copies
    if {[info exists copies($name)]} {
        foreach molid $copies($name) {
            place_atoms $molid $places
        }
    }
}

proc orbitile::places_json {places} {
    return "\[\[[string map {" " ","} [join $places "\],\["]]\]\]"
}

# ---- molecules that VMD has itself

# The words of orb_live, after the server was told where the atoms are now. Of a molecule of VMD's own a copy is made
# live, which Orbitile knows, and which is seen in its place.
proc orbitile::live_words {words} {
    variable molecules
    set name [lindex $words 0]
    if {$name eq "" || [string match -* $name]} {
        return $words
    }
    if {[lsearch -exact [present] $name] < 0} {
        set name [own_copy $name]
    }
    if {[lsearch -exact [present] $name] >= 0} {
        tell_places $name [places_of $molecules($name)] ""
    }
    return [lreplace $words 0 0 $name]
}

# Name of the copy of a molecule that VMD has itself, by its number or name; the same name where there is none.
proc orbitile::own_copy {name} {
    variable own
    foreach molid [molinfo list] {
        if {$name eq $molid || $name eq [molinfo $molid get name] || ($name eq "top" && $molid == [molinfo top])} {
            if {![info exists own($molid)] || [lsearch -exact [present] $own($molid)] < 0} {
                set own($molid) [copied $molid]
            }
            return $own($molid)
        }
    }
    return $name
}

# A copy of a molecule of VMD, as it is shown, that has come from Orbitile; gives its name.
proc orbitile::copied {molid} {
    variable molecules
    if {[molinfo $molid get numframes] != 1} {
        error "[molinfo $molid get name] has [molinfo $molid get numframes] frames: save one as a file, and make that live"
    }
    set views [views]
    set atoms [atomselect $molid all]
    set elements [$atoms get element]
    $atoms delete
    set arguments [list [molinfo $molid get name] $elements [join [places_of $molid]]]
    set name [dict get [ask atoms "\"arguments\": [list_json $arguments]"] value]
    dict set views $molecules($name) [dict get $views $molid]
    give_views $views
    mol off $molid
    return $name
}
