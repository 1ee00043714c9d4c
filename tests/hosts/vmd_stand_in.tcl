# Commands of VMD, as far as Orbitile uses them, with the arguments that VMD's sources take; what they do is remembered
# in the array vmd, and told by `report`. VMD itself may not be passed on.

array set vmd {next 0 top -1 order {} materials {Opaque Transparent} menu {} scale ""}

proc refuse {what} { error "stand-in for VMD: $what" }
proc whole {text} { if {![string is integer -strict $text]} { refuse "expected a whole number, got $text" } }
proc number {text} { if {![string is double -strict $text]} { refuse "expected a number, got $text" } }
proc there {molid} {
    whole $molid
    if {[lsearch -exact $::vmd(order) $molid] < 0} { refuse "no molecule $molid" }
}
proc rep_there {rep molid} {
    there $molid
    whole $rep
    if {$rep < 0 || $rep >= [llength $::vmd($molid,reps)]} { refuse "no representation $rep" }
}
proc vector {text} {
    if {[llength $text] != 3} { refuse "expected three numbers, got $text" }
    foreach one $text { number $one }
}
proc arity {words least {most ""}} {
    if {$most eq ""} { set most $least }
    if {[llength $words] < $least || [llength $words] > $most} { refuse "wrong number of arguments: $words" }
}

proc mol {verb args} {
    global vmd
    switch -- $verb {
        new {
            # mol new FILE ?type T? ?waitfor all? ...
            arity $args 1 99
            if {[llength $args] % 2 == 0} { refuse "options come in pairs: $args" }
            set options [dict create {*}[lrange $args 1 end]]
            foreach key [dict keys $options] {
                if {[lsearch -exact {type first last step waitfor volsets filebonds autobonds} $key] < 0} {
                    refuse "no option $key"
                }
            }
            set file [lindex $args 0]
            if {[lsearch -exact {xyz ccp4} [dict get $options type]] < 0} { refuse "no file type" }
            set channel [open $file rb]
            set data [read $channel]
            close $channel
            set molid $vmd(next)
            incr vmd(next)
            lappend vmd(order) $molid
            set vmd(top) $molid
            set vmd($molid,name) [file tail $file]
            set vmd($molid,reps) {{style Lines color Name material Opaque}}
            set vmd($molid,type) [dict get $options type]
            set vmd($molid,graphics) 0
            set vmd($molid,center_matrix) "centre$molid"
            set vmd($molid,frames) 0
            if {[dict get $options type] eq "ccp4"} {
                if {[string range $data 208 210] ne "MAP"} { refuse "not an MRC file" }
                binary scan $data i3 vmd($molid,shape)
                set vmd($molid,values) [expr {([string length $data] - 1024) / 4}]
            } else {
                set vmd($molid,atoms) [lindex $data 0]
                set vmd($molid,frames) [expr {[llength [split [string trim $data] \n]] / ($vmd($molid,atoms) + 2)}]
            }
            return $molid
        }
        delete {
            arity $args 1
            there [lindex $args 0]
            set at [lsearch -exact $vmd(order) [lindex $args 0]]
            set vmd(order) [lreplace $vmd(order) $at $at]
            array unset vmd [lindex $args 0],*
            set vmd(top) [expr {[llength $vmd(order)] ? [lindex $vmd(order) end] : -1}]
        }
        rename { arity $args 2; there [lindex $args 0]; set vmd([lindex $args 0],name) [lindex $args 1] }
        top { arity $args 1; there [lindex $args 0]; set vmd(top) [lindex $args 0] }
        delrep {
            arity $args 2
            rep_there {*}$args
            lassign $args rep molid
            set vmd($molid,reps) [lreplace $vmd($molid,reps) $rep $rep]
        }
        representation {
            # Isosurface ISOVALUE VOLUME SHOW DRAW STEP SIZE
            if {[lindex $args 0] eq "Isosurface"} { arity $args 7; foreach one [lrange $args 1 end] { number $one } }
            set vmd(style) $args
        }
        color {
            if {[lindex $args 0] eq "ColorID"} { arity $args 2; whole [lindex $args 1] } else { arity $args 1 }
            set vmd(color) $args
        }
        selection { set vmd(selection) $args }
        material {
            arity $args 1
            if {[lsearch -exact $vmd(materials) [lindex $args 0]] < 0} { refuse "no material" }
            set vmd(material) [lindex $args 0]
        }
        addrep {
            arity $args 1
            there [lindex $args 0]
            lappend vmd([lindex $args 0],reps) [list style $vmd(style) color $vmd(color) material $vmd(material)]
        }
        modstyle {
            arity $args 3 99
            rep_there {*}[lrange $args 0 1]
            lassign $args rep molid
            set one [dict replace [lindex $vmd($molid,reps) $rep] style [lrange $args 2 end]]
            set vmd($molid,reps) [lreplace $vmd($molid,reps) $rep $rep $one]
        }
        modmaterial {
            arity $args 3
            rep_there {*}[lrange $args 0 1]
        }
        default { refuse "mol $verb" }
    }
    return
}

proc molinfo {which args} {
    global vmd
    if {$which eq "list"} { arity $args 0; return $vmd(order) }
    if {$which eq "top"} { arity $args 0; return $vmd(top) }
    there $which
    lassign $args verb keys values
    if {$verb eq "get"} {
        arity $args 2
        set found {}
        foreach key $keys {
            switch -- $key {
                numreps { lappend found [llength $vmd($which,reps)] }
                center_matrix { lappend found $vmd($which,center_matrix) }
                rotate_matrix - scale_matrix - global_matrix { lappend found matrix }
                default { refuse "molinfo get $key" }
            }
        }
        return [expr {[llength $keys] == 1 ? [lindex $found 0] : $found}]
    }
    if {$verb ne "set"} { refuse "molinfo $verb" }
    arity $args 3
    if {[llength $keys] != [llength $values]} { refuse "as many values as keys" }
    foreach key $keys value $values { if {$key eq "center_matrix"} { set vmd($which,center_matrix) $value } }
}

proc graphics {molid verb args} {
    global vmd
    there $molid
    switch -- $verb {
        tricolor {
            arity $args 9
            foreach one [lrange $args 0 5] { vector $one }
            foreach one [lrange $args 6 8] {
                whole $one
                if {$one < 33 || $one > 1056} { refuse "$one is not in the colour scale" }
            }
            incr vmd($molid,graphics)
            lappend vmd($molid,shades) [lindex $args 6]
        }
        materials { arity $args 1 }
        material { arity $args 1; if {[lsearch -exact $vmd(materials) [lindex $args 0]] < 0} { refuse "no material" } }
        default { refuse "graphics $verb" }
    }
    return 0
}

proc material {verb args} {
    global vmd
    switch -- $verb {
        list { arity $args 0; return $vmd(materials) }
        add {
            arity $args 3
            if {[lindex $args 1] ne "copy"} { refuse "material add NAME copy OTHER" }
            lappend vmd(materials) [lindex $args 0]
        }
        change {
            arity $args 3
            if {[lsearch -exact {ambient specular diffuse shininess opacity} [lindex $args 0]] < 0} { refuse "property" }
            if {[lsearch -exact $vmd(materials) [lindex $args 1]] < 0} { refuse "no material" }
            number [lindex $args 2]
            set vmd([lindex $args 1],opacity) [lindex $args 2]
        }
        default { refuse "material $verb" }
    }
    return
}

proc colorinfo {what id} {
    if {$what ne "rgb"} { refuse "colorinfo $what" }
    whole $id
    # the colours that VMD begins with
    return [lindex {
        {0 0 1} {1 0 0} {.35 .35 .35} {1 .5 0} {1 1 0} {.5 .5 .2} {.6 .6 .6} {0 1 0} {1 1 1} {1 .6 .6} {.25 .75 .75}
        {.65 0 .65} {.5 .9 .4} {.9 .4 .7} {.5 .3 0} {.5 .5 .75} {0 0 0} {.88 .97 .02} {.55 .9 .02} {0 .9 .04} {0 .9 .5}
        {0 .88 1} {0 .76 1} {.02 .38 .67} {.01 .04 .93} {.27 0 .98} {.45 0 .9} {.9 0 .9} {1 0 .66} {.98 0 .23}
        {.81 0 0} {.89 .35 0} {.96 .72 0}
    } $id]
}

proc color {what args} {
    if {[concat $what $args] ne "scale method RWB"} { refuse "color $what $args" }
    set ::vmd(scale) RWB
}

proc animate {verb frame} { if {$verb ne "goto"} { refuse "animate $verb" }; whole $frame }
if {[llength [info commands ::menu]]} { rename ::menu ::menu_of_tk }
proc menu {first args} { if {$first ne "main"} { return [uplevel 1 [list menu_of_tk $first {*}$args]] } }
proc vmd_install_extension {name command path} { lappend ::vmd(menu) $path $command }

# Names of the molecules, with the number of representations and of triangles.
proc report {} {
    global vmd
    set told {}
    foreach molid $vmd(order) {
        lappend told $vmd($molid,name) $vmd($molid,type) [llength $vmd($molid,reps)] $vmd($molid,graphics)
    }
    return $told
}
