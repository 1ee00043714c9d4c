# Fields that are shown: molecules of VMD of their own, with the volume of one frame and an isosurface of each phase.

proc orbitile::on_surface {message} {
    variable coming $message
}

# The volume completes what `surface` told; none means that it is the one that is there. A molecule of VMD holds the
# volume of one frame: those of the others are kept in their files until they are dropped.
proc orbitile::on_volume {message} {
    variable coming
    variable molecules
    variable looks
    variable kept
    variable at
    variable frames
    variable restoring
    set name [dict get $message name]
    set parent [dict get $message molecule]
    set moving [dict exists $message frame]
    set redrawn [dict exists $coming redrawn] ;# in place, as frames are
    set frame [expr {$moving ? [dict get $message frame] : $frames($parent)}]
    set files {}
    if {[dict get $message file] ne ""} {
        lappend files [dict get $message file]
        if {[dict exists $coming shades]} {
            lappend files [dict get $coming shades]
        }
    }
    set later [dict exists $restoring $name]
    set unseen [expr {[lsearch -exact [unseen_by_choice] $name] >= 0}]
    if {!$later && ![dict get $coming new] && [lsearch -exact [present] $name] < 0} { ;# the user has deleted it
        file delete {*}$files
        frame_changed $parent
        return
    }
    set look [dict remove $coming event new frame shades redrawn]
    if {($moving || $redrawn) && [info exists looks($name)]} {
        set phases [concat [dict get $look phases] [dict get $looks($name) phases]]
        dict set look phases [lsort -integer -decreasing -unique $phases]
    }
    if {[llength $files]} {
        if {!$moving && !$redrawn && !$later} {
            set place [place_of $name]
            discard $name
        }
        if {[info exists kept($name)] && [dict exists $kept($name) $frame]} {
            file delete {*}[dict get $kept($name) $frame]
        }
        dict set kept($name) $frame $files
        if {![info exists at($name)] || $at($name) eq $frame} {
            set at($name) ""
        }
    }
    set looks($name) $look
    if {$later && [dict get $coming new]} {
        place $name $files
        set at($name) $frame
    } elseif {!$later} {
        if {[lsearch -exact [present] $name] < 0} {
            hold $name $frame
            if {[info exists place]} {
                take_place $name $place
            }
        }
        show_frame $name
        if {$unseen} {
            mol off $molecules($name)
        }
    }
    if {!$moving && !$redrawn && [llength $files] && [info exists kept($name)]} { ;# there is no other
        file delete {*}[dict get $kept($name) $frame]
        unset kept($name)
    }
}

# A field shows the volume of the frame that its molecule is at; where there is none yet, it is hidden.
proc orbitile::show_frame {name} {
    variable molecules
    variable looks
    variable drawn
    variable kept
    variable at
    variable hidden
    variable saving
    set parent [dict get $looks($name) molecule]
    set frame $at($name)
    if {[lsearch -exact [present] $parent] >= 0} {
        set frame [molinfo $molecules($parent) get frame]
    }
    set failed 0
    if {$frame ne $at($name) && ![llength $saving] && [info exists kept($name)] && [dict exists $kept($name) $frame]} {
        set failed [catch {hold $name $frame} problem]
    }
    set molid $molecules($name)
    if {![info exists drawn($name)] || $drawn($name) ne $looks($name)} {
        represent $name
        set drawn($name) $looks($name)
    }
    if {$frame ne $at($name) && [molinfo $molid get drawn]} {
        mol off $molid
        set hidden($name) 1
    } elseif {$frame eq $at($name) && [info exists hidden($name)]} {
        mol on $molid
        unset hidden($name)
    }
    if {$failed} {
        error $problem
    }
}

# Have a field hold the volume of a frame. Its representations stay as they are, but are computed anew.
proc orbitile::hold {name frame} {
    variable molecules
    variable looks
    variable sources
    variable kept
    variable at
    set files [dict get $kept($name) $frame]
    set at($name) ""
    load_volumes $name $files [dict get $looks($name) molecule]
    set sources($name) $files
    set at($name) $frame
    set molid $molecules($name)
    for {set rep 0} {$rep < [molinfo $molid get numreps]} {incr rep} {
        lassign [molinfo $molid get "{rep $rep} {color $rep}"] style colour
        mol modstyle $rep $molid {*}$style
        if {[lindex $colour 0] eq "Volume"} {
            mol scaleminmax $molid $rep {*}[mol scaleminmax $molid $rep]
        }
    }
}

# Read the volumes of a field, in place of those that its molecule of VMD holds. VMD turns everything to its first view
# then, and makes a new molecule the top one; neither is wanted here. It is seen from where the atoms are seen.
proc orbitile::load_volumes {name files parent} {
    variable molecules
    set views [views]
    set top [molinfo top]
    set level ""
    catch {set level [vmdcon -loglevel]} ;# VMD has something to say of each volume
    catch {vmdcon -loglevel warn}
    set failed [catch {
        if {[lsearch -exact [present] $name] >= 0} {
            set molid $molecules($name)
            set old [molinfo $molid get numvolumedata]
        } else {
            set molid [mol new [lindex $files 0] type plt waitfor all]
            mol rename $molid $name
            set molecules($name) $molid
            set files [lrange $files 1 end]
            set old 0
        }
        foreach file $files {
            mol addfile $file type plt waitfor all $molid
        }
        for {} {$old > 0} {incr old -1} {
            mol voldelete $molid 0
        }
    } problem]
    catch {vmdcon -loglevel $level}
    if {$failed} {
        error $problem
    }
    if {![dict exists $views $molid] && [lsearch -exact [present] $parent] >= 0} {
        dict set views $molid [dict get $views $molecules($parent)]
    }
    give_views $views
    if {$top >= 0 && [molinfo top] != $top} {
        mol top $top
    }
}

# The isosurfaces of a field at an isovalue: triangles, their edges, or points.
proc orbitile::draw_at {name isovalue} {
    variable molecules
    variable looks
    set way [dict get {surface 0 two-sided 0 mesh 1 dots 2} [dict get $looks($name) style]]
    set rep 0
    foreach phase [dict get $looks($name) phases] {
        mol modstyle $rep $molecules($name) Isosurface [expr {$phase * $isovalue}] 0 0 $way 1 1
        incr rep
    }
}

# The one of VMD's colour scales that is closest to a colour map.
proc orbitile::scale_method {colour_map} {
    set of {signed RWB sequential WBlk negative BlkW interaction BGR}
    return [expr {[dict exists $of $colour_map] ? [dict get $of $colour_map] : "RWB"}]
}

# One representation of each phase: in a colour of its own, or in the colours of the second volume.
proc orbitile::represent {name} {
    variable molecules
    variable looks
    set molid $molecules($name)
    set look $looks($name)
    set phases [dict get $look phases]
    while {[molinfo $molid get numreps] > [llength $phases]} {
        mol delrep [expr {[molinfo $molid get numreps] - 1}] $molid
    }
    while {[molinfo $molid get numreps] < [llength $phases]} {
        mol addrep $molid
    }
    set material [material_of $look]
    draw_at $name [dict get $look isovalue]
    set rep 0
    foreach phase $phases {
        mol modmaterial $rep $molid $material
        if {[dict exists $look scale]} {
            set scale [dict get $look scale]
            color scale method [scale_method [dict get $scale colour_map]]
            mol modcolor $rep $molid Volume 1
            mol scaleminmax $molid $rep [dict get $scale low] [dict get $scale high]
        } else {
            mol modcolor $rep $molid ColorID [nearest_colour [lindex [dict get $look colours] [expr {$phase < 0}]]]
        }
        incr rep
    }
}

# What is shown of a trajectory stays away where there is no surface of the frame that is seen.
proc orbitile::on_visible {message} {
    variable molecules
    variable looks
    variable hidden
    variable restoring
    variable unseen
    set name [dict get $message name]
    if {[dict exists $restoring $name]} {
        lappend unseen $name
    } elseif {[lsearch -exact [present] $name] >= 0} {
        unset -nocomplain hidden($name)
        mol [expr {[dict get $message visible] ? "on" : "off"}] $molecules($name)
        if {[info exists looks($name)]} {
            show_frame $name
        }
    }
}

proc orbitile::on_transparency {message} {
    variable molecules
    variable looks
    variable drawn
    set name [dict get $message name]
    if {[lsearch -exact [present] $name] < 0} return
    set molid $molecules($name)
    dict set looks($name) transparency [dict get $message transparency]
    set drawn($name) $looks($name)
    set material [material_of $looks($name)]
    for {set rep 0} {$rep < [molinfo $molid get numreps]} {incr rep} {
        mol modmaterial $rep $molid $material
    }
}

proc orbitile::on_remove {message} {
    discard [dict get $message name]
}

proc orbitile::on_progress {message} {
    variable share
    set share [dict get $message share]
}

proc orbitile::on_message {message} {
    puts "Orbitile) [dict get $message text]"
}

# A material of the transparency of a look, made at the first use; opacity in VMD is the other way round. Colours that
# stand for values do not gleam: highlights would be read as zero.
proc orbitile::material_of {look} {
    set transparency [dict get $look transparency]
    set matte [dict exists $look scale]
    set name [format "Orbitile%s%03d" [expr {$matte ? "Matte" : ""}] [expr {round(100 * $transparency)}]]
    if {[lsearch -exact [material list] $name] < 0} {
        material add $name copy Opaque
        material change opacity $name [expr {1.0 - $transparency}]
        if {$matte} {
            material change specular $name 0.0
        }
    }
    return $name
}

# The one of VMD's 33 colours that looks closest: none of them is changed. Differences count as eyes see them, about:
# those of green most, those of red the more the redder both are, so that no blue becomes violet.
proc orbitile::nearest_colour {rgb} {
    lassign $rgb red green blue
    set least 10.0
    for {set id 0} {$id < 33} {incr id} {
        lassign [colorinfo rgb $id] r g b
        set redness [expr {($red + $r) / 2.0}]
        set distance [expr {(2 + $redness) * ($red - $r) ** 2 + 4 * ($green - $g) ** 2 + (3 - $redness) * ($blue - $b) ** 2}]
        if {$distance < $least} {
            set least $distance
            set nearest $id
        }
    }
    return $nearest
}
