# The list of what is shown, and the menu of a surface.

proc ::orbitile::panel::build_list {f} {
    set here ::orbitile::panel
    ttk::frame $f
    ttk::treeview $f.surfaces -columns {seen kept name isovalue delete} -height 3 -selectmode browse \
        -yscrollcommand [list $f.bar set]
    $f.surfaces column #0 -width 52 -minwidth 52 -stretch 0
    foreach {column title width} {seen "\u25c9" 30 kept "\u2605" 30 name "Shown" 170 isovalue Isovalue 130 delete "" 26} {
        $f.surfaces heading $column -text $title -anchor [expr {$column in {name isovalue} ? "w" : "center"}]
        $f.surfaces column $column -width $width -minwidth $width -stretch [expr {$column eq "name"}] \
            -anchor [expr {$column in {name isovalue} ? "w" : "center"}]
    }
    $f.surfaces tag configure unseen -foreground gray50
    ttk::scrollbar $f.bar -command [list $f.surfaces yview]
    bind $f.surfaces <ButtonRelease-1> [list ${here}::list_clicked %x %y]
    bind $f.surfaces <<TreeviewSelect>> ${here}::surface_selected
    bind $f.surfaces <Delete> [list ${here}::act_on_selected delete]
    bind $f.surfaces <space> [list ${here}::act_on_selected visible]
    bind $f.surfaces <Button-3> [list ${here}::list_menu %x %y %X %Y]
    pack $f.bar -side right -fill y
    pack $f.surfaces -fill x -expand 1
    tip $f.surfaces "What is shown: \u25c9 seen or hidden, \u2605 stays when the next field is shown, \u00d7 delete;\n\
        the one that is selected is what isovalue, colours and style act on"
    menu $f.menu -tearoff 0
}

# Rows stay where they are, so that nothing flickers.
proc ::orbitile::panel::on_shown {message} {
    variable top
    variable surfaces [dict create]
    variable current [dict get $message current]
    set list $top.inside.list.surfaces
    set molecules {}
    foreach surface [dict get $message surfaces] {
        dict set surfaces [dict get $surface name] $surface
        dict set molecules [dict get $surface molecule] 1
    }
    foreach name [$list children {}] {
        if {![dict exists $surfaces $name]} {
            $list delete [list $name]
            catch {image delete [swatch_name $name]}
        }
    }
    set place 0
    dict for {name surface} $surfaces {
        if {![$list exists $name]} {
            $list insert {} $place -id $name
        }
        show_surface $list $surface [expr {[dict size $molecules] > 1}]
        incr place
    }
    $list selection set [expr {$current eq "" ? {} : [list $current]}]
    if {![is_ahead]} {
        select_row [dict get $message row]
    }
}

# A row; where there are several molecules, with the name of its own.
proc ::orbitile::panel::show_surface {list surface of_several} {
    set name [dict get $surface name]
    set seen [dict get $surface visible]
    set isovalue [format "%.4g %s" [dict get $surface isovalue] [dict get $surface unit]]
    set text [dict get $surface text]
    if {$of_several} {
        set text "[dict get $surface molecule]: $text"
    }
    set values [list [expr {$seen ? "\u25c9" : "\u25cb"}] [expr {[dict get $surface kept] ? "\u2605" : "\u2606"}] \
        $text $isovalue "\u00d7"]
    if {[dict get $surface scale] ne ""} {
        set colours [scale_colours [dict get $surface scale colour_map]]
    } else {
        set colours [lmap_hex [dict get $surface look colours]]
    }
    $list item $name -values $values -tags [expr {$seen ? {} : "unseen"}] -image [swatch $name $colours]
}

# ---- small pictures of colours

proc ::orbitile::panel::hex {rgb} {
    lassign $rgb red green blue
    return [format "#%02x%02x%02x" [expr {round(255 * $red)}] [expr {round(255 * $green)}] [expr {round(255 * $blue)}]]
}

proc ::orbitile::panel::lmap_hex {colours} {
    set found {}
    foreach rgb $colours {
        lappend found [hex $rgb]
    }
    return $found
}

# Colours of VMD's scale for a colour map, from the lower end to the upper one.
proc ::orbitile::panel::scale_colours {colour_map} {
    set of {RWB {red white blue} WBlk {white black} BlkW {black white} BGR {blue green red}}
    return [dict get $of [::orbitile::scale_method $colour_map]]
}

proc ::orbitile::panel::swatch_name {name} {
    return ::orbitile::panel::swatch_of_$name
}

# A picture of colours side by side, made once and painted anew when they change.
proc ::orbitile::panel::swatch {name colours} {
    set image [swatch_name $name]
    if {[lsearch -exact [image names] $image] < 0} {
        image create photo $image -width 24 -height 12
    }
    set n [llength $colours]
    for {set part 0} {$part < $n} {incr part} {
        $image put [lindex $colours $part] -to [expr {24 * $part / $n}] 0 [expr {24 * ($part + 1) / $n}] 12
    }
    return $image
}

# ---- what the user does in the list

proc ::orbitile::panel::surface_selected {} {
    variable top
    variable current
    set chosen [lindex [$top.inside.list.surfaces selection] 0]
    if {$chosen ne "" && $chosen ne $current} {
        set current $chosen
        tell surface $chosen
    }
}

proc ::orbitile::panel::list_clicked {x y} {
    variable top
    set list $top.inside.list.surfaces
    set name [$list identify row $x $y]
    if {$name eq "" || [$list identify region $x $y] eq "heading"} return
    set verbs {#1 visible #2 keep #5 delete}
    set column [$list identify column $x $y]
    if {[dict exists $verbs $column]} {
        act [dict get $verbs $column] $name
        focus $top.inside.table.orbitals ;# the arrow keys go on walking
    }
}

proc ::orbitile::panel::act_on_selected {verb} {
    variable top
    set name [lindex [$top.inside.list.surfaces selection] 0]
    if {$name ne ""} {
        act $verb $name
    }
}

# Hide a surface that is seen and the other way round; the same of keeping; or delete it.
proc ::orbitile::panel::act {verb name} {
    variable surfaces
    set was [dict create visible visible keep kept]
    if {$verb eq "delete"} {
        tell delete $name
    } else {
        tell $verb $name [expr {[dict get $surfaces $name [dict get $was $verb]] ? 0 : 1}]
    }
}

proc ::orbitile::panel::list_menu {x y at_x at_y} {
    variable top
    set name [$top.inside.list.surfaces identify row $x $y]
    if {$name ne ""} {
        $top.inside.list.surfaces selection set [list $name]
        surface_menu $name $at_x $at_y
    }
}

# The menu of a surface; of no name that of the one that the controls act on.
proc ::orbitile::panel::surface_menu {name x y} {
    variable top
    variable surfaces
    variable current
    set here ::orbitile::panel
    set name [expr {$name eq "" ? $current : $name}]
    if {$name eq "" || ![dict exists $surfaces $name]} return
    set surface [dict get $surfaces $name]
    set menu $top.inside.list.menu
    $menu delete 0 end
    $menu add command -label [expr {[dict get $surface visible] ? "Hide" : "Show"}] -command [list ${here}::act visible $name]
    $menu add command -label [expr {[dict get $surface kept] ? "Let the next take its place" : "Keep shown"}] \
        -command [list ${here}::act keep $name]
    $menu add separator
    foreach style [::orbitile::choices orb_style style] {
        $menu add command -label "Draw as $style" -command [list ${here}::act_on $name style $style]
    }
    $menu add separator
    $menu add command -label "Save volume or surface..." -command [list ${here}::act_on $name ${here}::export]
    $menu add command -label "Copy commands" -command ${here}::copy_commands
    $menu add separator
    $menu add command -label Delete -command [list ${here}::act delete $name]
    tk_popup $menu $x $y
}

# Have the controls act on a surface, and then tell what, or call a procedure.
proc ::orbitile::panel::act_on {name what args} {
    variable current
    if {$name ne $current} {
        set current $name
        tell surface $name
    }
    if {[string match ::* $what]} {
        $what {*}$args
    } else {
        tell $what {*}$args
    }
}
