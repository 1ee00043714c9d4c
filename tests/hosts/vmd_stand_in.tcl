# Commands of VMD 1.9.4, as far as Orbitile uses them: they take the arguments that VMD takes, refuse what VMD refuses, and
# some of what VMD passes over. What they do is remembered in the array vmd, and told by `report`. VMD itself may not be
# passed on.

array set vmd {
    next 0 top -1 order {} materials {Opaque Transparent} menu {} scale RGB
    style {Lines} color {Name} selection all material Opaque level all
}

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
proc arity {words least {most ""}} {
    if {$most eq ""} { set most $least }
    if {[llength $words] < $least || [llength $words] > $most} { refuse "wrong number of arguments: $words" }
}

# Data that is read turns all molecules to VMD's first view.
proc first_view {} {
    foreach molid $::vmd(order) {
        foreach matrix {center rotate} {
            set ::vmd($molid,${matrix}_matrix) "first $matrix"
        }
        foreach matrix {scale global} {
            set ::vmd($molid,${matrix}_matrix) {{1 0 0 0} {0 1 0 0} {0 0 1 0} {0 0 0 1}}
        }
    }
}

# What is read last, of FILE ?key value? ... ?molecule?
proc read_file {molid words} {
    global vmd
    set file [lindex $words 0]
    array set options {type "" waitfor 1}
    foreach {key value} [lrange $words 1 end] {
        if {[lsearch -exact {type first last step waitfor volsets filebonds autobonds} $key] < 0} { refuse "no option $key" }
        set options($key) $value
    }
    if {$options(waitfor) ne "all"} { whole $options(waitfor) }
    if {![file exists $file]} { error "Unable to load file '$file' using file type '$options(type)'." }
    set channel [open $file rb]
    set data [read $channel]
    close $channel
    switch -- $options(type) {
        xyz {
            set lines [split [string trimright $data] \n]
            set atoms [lindex $lines 0]
            whole $atoms
            set vmd($molid,atoms) $atoms
            set vmd($molid,frames) [expr {[llength $lines] / ($atoms + 2)}]
            set vmd($molid,frame) [expr {$vmd($molid,frames) - 1}]
            set vmd($molid,elements) {}
            set vmd($molid,places) {}
            foreach line [lrange $lines end-[expr {$atoms - 1}] end] { # of the last frame alone
                lappend vmd($molid,elements) [lindex $line 0]
                lappend vmd($molid,places) [single [lrange $line 1 3]]
            }
        }
        plt {
            binary scan $data i5f6 head ends
            lassign $head rank kind z y x
            if {$rank != 3} { refuse "not a plt file" }
            if {[string length $data] != 44 + 4 * $x * $y * $z} { refuse "not as long as it says" }
            binary scan $data @44f* values
            lappend vmd($molid,volumes) [dict create shape [list $x $y $z] ends $ends \
                least [tcl::mathfunc::min {*}$values] most [tcl::mathfunc::max {*}$values] values $values]
        }
        default { error "Could not determine file type" }
    }
    lappend vmd($molid,files) $file
    lappend vmd($molid,types) $options(type)
    first_view
}

proc mol {verb args} {
    global vmd
    switch -- $verb {
        new {
            arity $args 1 99
            if {[llength $args] % 2 == 0} { refuse "options come in pairs: $args" }
            set molid $vmd(next)
            array set vmd [list $molid,name [file tail [lindex $args 0]] $molid,volumes {} $molid,files {} $molid,types {} \
                $molid,frames 0 $molid,frame -1 $molid,drawn 1 $molid,reps {{style Lines color Name selection all material Opaque scale {0.0 0.0}}}]
            lappend vmd(order) $molid
            if {[catch {read_file $molid $args} problem]} {
                set vmd(order) [lrange $vmd(order) 0 end-1]
                error $problem
            }
            incr vmd(next)
            set vmd(top) $molid
            return $molid
        }
        addfile {
            arity $args 2 99
            set molid $vmd(top)
            if {[llength $args] % 2 == 0} {
                set molid [lindex $args end]
                set args [lrange $args 0 end-1]
            }
            if {$molid eq "top"} { set molid $vmd(top) }
            there $molid
            read_file $molid $args
            return $molid
        }
        voldelete {
            arity $args 2
            lassign $args molid volume
            there $molid
            whole $volume
            if {$volume < 0 || $volume >= [llength $vmd($molid,volumes)]} { refuse "no volume set $volume" }
            set vmd($molid,volumes) [lreplace $vmd($molid,volumes) $volume $volume]
        }
        delete {
            arity $args 1
            there [lindex $args 0]
            set at [lsearch -exact $vmd(order) [lindex $args 0]]
            set vmd(order) [lreplace $vmd(order) $at $at]
            array unset vmd [lindex $args 0],*
            set ::vmd_initialize_structure([lindex $args 0]) 0
            set vmd(top) [expr {[llength $vmd(order)] ? [lindex $vmd(order) end] : -1}]
        }
        on - off { arity $args 1; there [lindex $args 0]; set vmd([lindex $args 0],drawn) [expr {$verb eq "on"}] }
        rename { arity $args 2; set molid [named [lindex $args 0]]; set vmd($molid,name) [lindex $args 1] }
        top { arity $args 1; there [lindex $args 0]; set vmd(top) [lindex $args 0] }
        delrep {
            arity $args 2
            lassign $args rep molid
            set molid [named $molid]
            rep_there $rep $molid
            set vmd($molid,reps) [lreplace $vmd($molid,reps) $rep $rep]
        }
        representation { style_is $args; set vmd(style) $args }
        color { colour_is $args; set vmd(color) $args }
        selection { set vmd(selection) $args }
        material { arity $args 1; material_there [lindex $args 0]; set vmd(material) [lindex $args 0] }
        addrep {
            arity $args 1
            set molid [named [lindex $args 0]]
            lappend vmd($molid,reps) [list style $vmd(style) color $vmd(color) selection $vmd(selection) material $vmd(material) scale {0.0 0.0}]
        }
        modstyle { style_is [lrange $args 2 end]; modify $args style [lrange $args 2 end] }
        modcolor { colour_is [lrange $args 2 end]; modify $args color [lrange $args 2 end] }
        modselect { modify $args selection [lrange $args 2 end] }
        modmaterial { arity $args 3; material_there [lindex $args 2]; modify $args material [lindex $args 2] }
        scaleminmax {
            arity $args 2 4
            lassign $args molid rep low high
            if {[llength $args] == 2} {
                rep_there $rep $molid
                return [dict get [lindex $vmd($molid,reps) $rep] scale]
            }
            number $low
            number $high
            modify [list $rep [named $molid]] scale [list $low $high]
        }
        default { refuse "mol $verb" }
    }
    return
}

proc named {molid} {
    if {$molid eq "top"} { set molid $::vmd(top) }
    there $molid
    return $molid
}
proc modify {where what value} {
    global vmd
    lassign $where rep molid
    rep_there $rep $molid
    lset vmd($molid,reps) $rep [dict replace [lindex $vmd($molid,reps) $rep] $what $value]
    if {$what in {color scale}} { # colours by a volume are made anew then, and not when the volume is another
        set vmd($molid,texture) [lindex $vmd($molid,volumes) 1]
    }
}
proc material_there {name} { if {[lsearch -exact $::vmd(materials) $name] < 0} { refuse "no material $name" } }
# Isosurface ISOVALUE VOLUME SHOW DRAW STEP SIZE; CPK SPHERES BONDS RESOLUTION RESOLUTION
proc style_is {words} {
    set n [dict get {Isosurface 7 CPK 5 Lines 1} [lindex $words 0]]
    arity $words $n
    foreach one [lrange $words 1 end] { number $one }
}
# ColorID NUMBER, Volume NUMBER, Name
proc colour_is {words} {
    arity $words [dict get {ColorID 2 Volume 2 Name 1} [lindex $words 0]]
    foreach one [lrange $words 1 end] { whole $one }
}

proc molinfo {which args} {
    global vmd
    if {$which eq "list"} { arity $args 0; return $vmd(order) }
    if {$which eq "top" && ![llength $args]} { return $vmd(top) }
    if {$which eq "top"} { set which $vmd(top) }
    there $which
    lassign $args verb keys values
    if {$verb eq "get"} {
        arity $args 2
        set found {}
        foreach key $keys {
            switch -- $key {
                name - frame - drawn { lappend found $vmd($which,$key) }
                numframes { lappend found $vmd($which,frames) }
                numreps { lappend found [llength $vmd($which,reps)] }
                numvolumedata { lappend found [llength $vmd($which,volumes)] }
                filename { lappend found $vmd($which,files) }
                center_matrix - rotate_matrix - scale_matrix - global_matrix { lappend found $vmd($which,$key) }
                default {
                    lassign $key what rep
                    rep_there $rep $which
                    lappend found [dict get [lindex $vmd($which,reps) $rep] \
                        [dict get {rep style color color selection selection material material} $what]]
                }
            }
        }
        return $found
    }
    if {$verb ne "set"} { refuse "molinfo $verb" }
    arity $args 3
    if {[llength $keys] != [llength $values]} { refuse "as many values as keys" }
    foreach key $keys value $values {
        switch -- $key {
            frame { # beyond the last one it stays there
                whole $value
                set vmd($which,frame) [expr {min($value, $vmd($which,frames) - 1)}]
                set ::vmd_frame($which) $vmd($which,frame)
            }
            center_matrix - rotate_matrix - scale_matrix - global_matrix { set vmd($which,$key) $value }
            default { refuse "molinfo set $key" }
        }
    }
    return
}

# Numbers in single precision.
proc single {numbers} {
    binary scan [binary format f* $numbers] f* rounded
    return $rounded
}

# A selection is a command: get and set of an attribute each, or of coordinates together. Of all atoms alone here.
proc atomselect {molid selection} {
    set molid [named $molid]
    if {$selection ne "all"} { refuse "atomselect $selection" }
    if {![info exists ::vmd($molid,places)]} { refuse "no atoms" }
    set name atomselect[incr ::vmd(selections)]
    proc ::$name {verb args} [list selection_does $name $molid]\ \$verb\ \$args
    return $name
}
proc selection_does {name molid verb words} {
    global vmd
    there $molid
    switch -- $verb {
        get {
            arity $words 1
            return $vmd($molid,[dict get {{x y z} places element elements} [lindex $words 0]])
        }
        set {
            arity $words 2
            lassign $words what places
            if {$what ne {x y z}} { refuse "set $what" }
            if {[llength $places] != $vmd($molid,atoms)} { refuse "as many places as atoms" }
            set rounded {}
            foreach place $places {
                arity $place 3
                foreach one $place { number $one }
                lappend rounded [single $place]
            }
            set vmd($molid,places) $rounded
        }
        delete { arity $words 0; rename ::$name "" }
        default { refuse "selection $verb" }
    }
    return
}

proc vmdcon {option {level ""}} {
    if {$option ne "-loglevel"} { refuse "vmdcon $option" }
    if {$level eq ""} { return $::vmd(level) }
    if {$level ni {all info warn err}} { refuse "no level $level" }
    set ::vmd(level) $level
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
            set vmd([lindex $args 1],[lindex $args 0]) [lindex $args 2]
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
    switch -- [concat $what [lindex $args 0]] {
        "scale method" {
            arity $args 2
            if {[lindex $args 1] ni {RWB BGR WBlk BlkW}} { refuse "color scale method $args" }
            set ::vmd(scale) [lindex $args 1]
        }
        "Display Background" { arity $args 2; return }
        default { refuse "color $what $args" }
    }
}

# Numbers of what is drawn at a molecule; a colour has one too.
proc graphics {molid verb args} {
    global vmd
    there $molid
    switch -- $verb {
        color { arity $args 1; whole [lindex $args 0] }
        sphere { arity $args 1 5; place_of [lindex $args 0]; pairs [lrange $args 1 end] {radius resolution} }
        cylinder - cone {
            arity $args 2 8
            place_of [lindex $args 0]
            place_of [lindex $args 1]
            pairs [lrange $args 2 end] {radius resolution filled}
        }
        text { arity $args 2 6; place_of [lindex $args 0]; pairs [lrange $args 2 end] {size thickness} }
        delete {
            arity $args 1
            lassign $args number
            if {![info exists vmd($molid,graphics,$number)]} { refuse "no graphics $number" }
            unset vmd($molid,graphics,$number)
            return
        }
        default { refuse "graphics $verb" }
    }
    set number [incr vmd(drawn)]
    set vmd($molid,graphics,$number) [linsert $args 0 $verb]
    return $number
}
proc place_of {place} {
    if {[llength $place] != 3} { refuse "expected a place, got $place" }
    foreach part $place { number $part }
}
proc pairs {words known} {
    foreach {key value} $words {
        if {$key ni $known} { refuse "no option $key" }
        number $value
    }
}
# What is drawn at a molecule, how many of each.
proc drawn {molid} {
    set counts {}
    foreach key [array names ::vmd $molid,graphics,*] { dict incr counts [lindex $::vmd($key) 0] }
    return [lmap kind {sphere cylinder cone text} { expr {[dict exists $counts $kind] ? [dict get $counts $kind] : 0} }]
}

proc axes {what where} { if {"$what $where" ne "location off"} { refuse "axes $what $where" } }
proc rotate {axis by angle} {
    if {$axis ni {x y z} || $by ne "by"} { refuse "rotate $axis $by $angle" }
    number $angle
    foreach molid $::vmd(order) { append ::vmd($molid,rotate_matrix) " $axis $angle" }
}
proc animate {verb args} {
    if {$verb eq "write"} { # xyz FILE waitfor all MOLECULE: atoms without their places
        lassign $args type file waitfor all molid
        if {"$type $waitfor $all" ne "xyz waitfor all"} { refuse "animate write $args" }
        there $molid
        set channel [open $file w]
        for {set n 0} {$n < $::vmd($molid,frames)} {incr n} {
            puts $channel "$::vmd($molid,atoms)\n frame $n[string repeat "\nC 0 0 0" $::vmd($molid,atoms)]"
        }
        close $channel
        return
    }
    if {$verb ne "goto"} { refuse "animate $verb" }
    arity $args 1
    lassign $args frame
    whole $frame
    foreach molid $::vmd(order) {
        if {$frame < $::vmd($molid,frames)} {
            set ::vmd($molid,frame) $frame
            set ::vmd_frame($molid) $frame
        }
    }
}
# What is seen, in place of a scene; of the pictures that VMD makes itself, all black, in the format tga.
proc render {method file} {
    if {$method in {snapshot TachyonInternal}} {
        set channel [open $file wb]
        puts -nonewline $channel [binary format c3x9s2c2 {0 0 2} {640 480} {24 0}][string repeat \0 [expr {3 * 640 * 480}]]
        close $channel
        return
    }
    if {$method ne "Tachyon"} { refuse "render $method" }
    set channel [open $file w]
    puts $channel [report]
    puts $channel [join [lmap molid $::vmd(order) { list $::vmd($molid,frame) $::vmd($molid,drawn) }]]
    foreach molid $::vmd(order) { puts $channel $::vmd($molid,rotate_matrix) }
    close $channel
}
proc quit {} exit

if {[llength [info commands ::menu]]} { rename ::menu ::menu_of_tk }
proc menu {first args} { if {$first ne "main"} { return [uplevel 1 [list menu_of_tk $first {*}$args]] } }

# VMD takes a name of a package, which it requires, a command that gives the path of a window, and a place in the menu.
proc vmd_install_extension {package command path {name ""}} {
    package require $package
    lappend ::vmd(menu) $path $command
}

# As save_state writes: materials first, then the molecules with the files they were read from, labels last.
proc save_materials {channel} {
    foreach name $::vmd(materials) {
        puts $channel "if {\[lsearch -exact \[material list\] $name\] < 0} {material add $name copy Opaque}"
        if {[info exists ::vmd($name,opacity)]} { puts $channel "material change opacity $name $::vmd($name,opacity)" }
    }
}
proc save_labels {channel} { puts $channel "# labels" }
proc save_state {file} {
    global vmd
    set known $vmd(order)
    set channel [open $file w]
    save_materials $channel
    if {$vmd(order) ne $known} { error "can't read \"viewpoints(...)\": no such element in array" }
    foreach molid $vmd(order) {
        set verb new
        foreach one $vmd($molid,files) type $vmd($molid,types) {
            puts $channel [list mol $verb $one type $type first 0 last -1 step 1 filebonds 1 autobonds 1 waitfor all]
            set verb addfile
        }
        puts $channel "mol delrep 0 top"
        foreach rep $vmd($molid,reps) {
            puts $channel "mol representation [dict get $rep style]\nmol color [dict get $rep color]"
            puts $channel "mol selection {all}\nmol material [dict get $rep material]\nmol addrep top"
        }
        set rep 0
        foreach one $vmd($molid,reps) {
            puts $channel "mol scaleminmax top $rep [dict get $one scale]"
            incr rep
        }
        puts $channel [list mol rename top $vmd($molid,name)]
    }
    save_labels $channel
    close $channel
}

# Of each molecule: name, numbers of frames, of volumes and of representations.
proc report {} {
    global vmd
    set told {}
    foreach molid $vmd(order) {
        lappend told $vmd($molid,name) $vmd($molid,frames) [llength $vmd($molid,volumes)] [llength $vmd($molid,reps)]
    }
    return $told
}
