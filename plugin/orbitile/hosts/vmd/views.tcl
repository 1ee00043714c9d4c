# From where VMD shows its molecules, and as what: taken, and given back.

# By number of the molecule. VMD turns everything to its first view whenever it reads a volume.
proc orbitile::views {} {
    set found {}
    foreach molid [molinfo list] {
        lappend found $molid [molinfo $molid get {center_matrix rotate_matrix scale_matrix global_matrix}]
    }
    return $found
}

proc orbitile::give_views {views} {
    dict for {molid view} $views {
        molinfo $molid set {center_matrix rotate_matrix scale_matrix global_matrix} $view
    }
}

proc orbitile::representations_of {molid} {
    set found {}
    for {set rep 0} {$rep < [molinfo $molid get numreps]} {incr rep} {
        lappend found [molinfo $molid get "{rep $rep} {color $rep} {selection $rep} {material $rep}"]
    }
    return $found
}

proc orbitile::give_representations {molid representations} {
    set rep 0
    foreach representation $representations {
        if {$rep == [molinfo $molid get numreps]} {
            mol addrep $molid
        }
        lassign $representation style colour selection material
        mol modstyle $rep $molid {*}$style
        mol modcolor $rep $molid {*}$colour
        mol modselect $rep $molid {*}$selection
        mol modmaterial $rep $molid $material
        incr rep
    }
}

# What points to the right, up and towards the user, nine numbers, in the axes of the atoms.
proc orbitile::directions {} {
    set found {}
    foreach row [lrange [lindex [molinfo top get rotate_matrix] 0] 0 2] {
        lappend found {*}[lrange $row 0 2]
    }
    return $found
}

# Tell the server from where the molecules are seen, where that has changed: pictures are drawn from there.
proc orbitile::tell_directions {} {
    variable channel
    variable seen_from
    if {[molinfo top] < 0} return
    set now [directions]
    if {$now ne $seen_from} {
        set seen_from $now
        set request "\"command\": \"directions\", \"arguments\": [list_json $now]"
        catch {puts $channel "{\"id\": 0, $request, [standing]}"}
    }
}
