# Orbitile in VMD: commands and a window, answered by `orbitile serve` at the other end of a pipe.
#
# orbitile::register makes one command of each name that the server has; the server knows their arguments. Arguments
# go by position, or after those by name, as in `orb_mo benzene -quality fine`. Plain Tcl 8.5 is enough, Tk for the window alone.

package provide orbitile 0.1

namespace eval orbitile {
    variable command {orbitile serve} ;# what starts the server
    variable names {}                 ;# of the commands
    variable channel ""               ;# to the server, while it runs
    variable folder ""                ;# of its files
    variable number 0                 ;# of the last request
    variable replies                  ;# by number of the request
    array set replies {}
    variable molecules                ;# VMD's number of each object
    array set molecules {}
    variable looks                    ;# the surface message of each field
    array set looks {}
    variable busy 0
    variable share 0.0
}

# ---- the pipe

proc orbitile::start {} {
    variable command
    variable channel
    variable folder
    if {$channel ne ""} return
    if {[catch {open |$command r+} opened]} {
        error "orbitile cannot be started with \"$command\": $opened"
    }
    set channel $opened
    fconfigure $channel -encoding utf-8 -buffering line -translation lf
    if {[gets $channel line] < 0} {
        error "orbitile has ended: [ended]"
    }
    set folder [dict get [from_json $line] folder]
    fconfigure $channel -blocking 0
    fileevent $channel readable orbitile::receive
}

# Close the pipe; gives what the server wrote to standard error.
proc orbitile::ended {} {
    variable channel
    variable folder
    variable replies
    set opened $channel
    set channel ""
    fconfigure $opened -blocking 1
    catch {close $opened} written
    if {$folder ne ""} {
        file delete -force $folder
        set folder ""
    }
    set last [lindex [split [string trim $written] \n] end]
    set why [expr {$last eq "" ? "it gave no reason" : $last}]
    foreach waiting [array names replies] {
        set replies($waiting) [list error "orbitile has ended: $why"]
    }
    return $why
}

proc orbitile::stop {} {
    variable channel
    if {$channel ne ""} ended
}

proc orbitile::receive {} {
    variable channel
    variable replies
    while {$channel ne "" && [gets $channel line] >= 0} {
        set message [from_json $line]
        if {[dict exists $message event]} {
            set event [dict get $message event]
            if {[catch {on_$event $message} problem]} {
                puts "Orbitile) $event: $problem"
            }
        } elseif {[info exists replies([dict get $message id])]} {
            set replies([dict get $message id]) $message
        }
    }
    if {$channel ne "" && [eof $channel]} ended
}

# Ask for a command and wait for the answer; VMD's window is alive meanwhile.
proc orbitile::call {name words} {
    variable channel
    variable number
    variable replies
    variable busy
    if {$busy && $name ne "orb_cancel"} {
        error "something is being computed: orb_cancel stops it"
    }
    set arguments [arguments_json $words]
    if {$channel eq ""} start
    set mine [incr number]
    set replies($mine) ""
    set request "{\"id\": $mine, \"command\": [text_json $name], $arguments,\
        \"objects\": [list_json [present]]}"
    set before $busy
    set busy 1
    if {[catch {puts $channel $request} problem]} {
        set problem [ended]
    }
    while {$replies($mine) eq ""} {
        vwait orbitile::replies($mine)
    }
    set busy $before
    set reply $replies($mine)
    unset replies($mine)
    if {[dict exists $reply error]} {
        error [dict get $reply error]
    }
    if {[dict get $reply text] ne ""} {
        puts "Orbitile) [dict get $reply text]"
    }
    return [dict get $reply value]
}

# ---- what is shown

# Objects that VMD still has; a user may have deleted others.
proc orbitile::present {} {
    variable molecules
    set there [molinfo list]
    set found {}
    foreach name [lsort [array names molecules]] {
        if {[lsearch -exact $there $molecules($name)] >= 0} {
            lappend found $name
        } else {
            unset molecules($name)
        }
    }
    return $found
}

proc orbitile::discard {name} {
    variable molecules
    if {[lsearch -exact [present] $name] >= 0} {
        mol delete $molecules($name)
        unset molecules($name)
    }
}

proc orbitile::on_molecule {message} {
    variable molecules
    set name [dict get $message name]
    discard $name
    set file [dict get $message file]
    set molid [mol new $file type xyz waitfor all]
    file delete $file
    mol rename $molid $name
    mol modstyle 0 $molid CPK 1.0 0.3 20.0 20.0
    animate goto [dict get $message frame]
    set molecules($name) $molid
}

proc orbitile::on_surface {message} {
    variable looks
    set looks([dict get $message name]) $message
}

proc orbitile::on_volume {message} {
    variable molecules
    variable looks
    set name [dict get $message name]
    set look $looks($name)
    discard $name
    set top [molinfo top]
    set file [dict get $message file]
    set molid [mol new $file type ccp4 waitfor all]
    file delete $file
    mol rename $molid $name
    set molecules($name) $molid
    set parent [dict get $message molecule]
    if {[lsearch -exact [present] $parent] >= 0} { ;# seen from where the atoms are seen
        set views {center_matrix rotate_matrix scale_matrix global_matrix}
        molinfo $molid set $views [molinfo $molecules($parent) get $views]
    }
    if {$top >= 0} {
        mol top $top
    }
    mol delrep 0 $molid
    set material [material_of [dict get $look transparency]]
    if {[dict exists $look mesh]} {
        draw_mesh $molid [dict get $look mesh] $material
    } else {
        foreach sign {1 -1} rgb [dict get $look colours] {
            mol representation Isosurface [expr {$sign * [dict get $look isovalue]}] 0 0 0 1 1
            mol color ColorID [nearest_colour $rgb]
            mol selection all
            mol material $material
            mol addrep $molid
        }
    }
}

proc orbitile::on_transparency {message} {
    variable molecules
    set name [dict get $message name]
    if {[lsearch -exact [present] $name] < 0} return
    set molid $molecules($name)
    set material [material_of [dict get $message transparency]]
    for {set rep 0} {$rep < [molinfo $molid get numreps]} {incr rep} {
        mol modmaterial $rep $molid $material
    }
    graphics $molid material $material
}

proc orbitile::on_remove {message} {
    variable looks
    discard [dict get $message name]
    array unset looks [dict get $message name]
}

proc orbitile::on_progress {message} {
    variable share
    set share [dict get $message share]
}

proc orbitile::on_message {message} {
    puts "Orbitile) [dict get $message text]"
}

# VMD's colours 33 to 1056 are those of its colour scale.
proc orbitile::draw_mesh {molid file material} {
    set channel [open $file r]
    set lines [split [read $channel] \n]
    close $channel
    file delete $file
    lassign [lindex $lines 0] n_vertices n_faces
    color scale method RWB
    set points {}
    set normals {}
    set shades {}
    foreach line [lrange $lines 1 $n_vertices] {
        lassign $line x y z nx ny nz shade
        lappend points [list $x $y $z]
        lappend normals [list $nx $ny $nz]
        lappend shades [expr {33 + round(1023 * $shade)}]
    }
    graphics $molid materials on
    graphics $molid material $material
    foreach face [lrange $lines [expr {$n_vertices + 1}] [expr {$n_vertices + $n_faces}]] {
        lassign $face a b c
        graphics $molid tricolor [lindex $points $a] [lindex $points $b] [lindex $points $c] \
            [lindex $normals $a] [lindex $normals $b] [lindex $normals $c] \
            [lindex $shades $a] [lindex $shades $b] [lindex $shades $c]
    }
}

# A material of this transparency, made at the first use; opacity in VMD is the other way round.
proc orbitile::material_of {transparency} {
    set name [format "Orbitile%03d" [expr {round(100 * $transparency)}]]
    if {[lsearch -exact [material list] $name] < 0} {
        material add $name copy Opaque
        material change opacity $name [expr {1.0 - $transparency}]
    }
    return $name
}

# The one of VMD's 33 colours that is closest: none of them is changed.
proc orbitile::nearest_colour {rgb} {
    set least 10.0
    for {set id 0} {$id < 33} {incr id} {
        set distance 0.0
        foreach one $rgb other [colorinfo rgb $id] {
            set distance [expr {$distance + ($one - $other) ** 2}]
        }
        if {$distance < $least} {
            set least $distance
            set nearest $id
        }
    }
    return $nearest
}

# ---- JSON

proc orbitile::text_json {text} {
    set out ""
    foreach letter [split $text ""] {
        set code [scan $letter %c]
        if {$letter eq "\"" || $letter eq "\\"} {
            append out "\\$letter"
        } elseif {$code < 32 || $code > 126} {
            append out [format "\\u%04x" $code]
        } else {
            append out $letter
        }
    }
    return "\"$out\""
}

proc orbitile::list_json {items} {
    set parts {}
    foreach item $items {
        lappend parts [text_json $item]
    }
    return "\[[join $parts ", "]\]"
}

# Arguments by position, then as -name value.
proc orbitile::arguments_json {words} {
    set at [lsearch -regexp $words {^-[a-z_]+$}]
    if {$at < 0} {
        set at [llength $words]
    }
    set named [lrange $words $at end]
    if {[llength $named] % 2} {
        error "expected arguments by position, then -name value, got $words"
    }
    set parts {}
    foreach {name value} $named {
        lappend parts "[text_json [string range $name 1 end]]: [text_json $value]"
    }
    return "\"arguments\": [list_json [lrange $words 0 [expr {$at - 1}]]], \"named\": {[join $parts ", "]}"
}

# Value of a text in JSON: objects become dictionaries, lists lists; null is empty.
proc orbitile::from_json {text} {
    set at 0
    return [json_value $text at]
}

proc orbitile::json_blank {text place} {
    upvar 1 $place at
    regexp -indices -start $at {\A[ \t\r\n]*} $text found
    set at [expr {[lindex $found 1] + 1}]
    return [string index $text $at]
}

proc orbitile::json_value {text place} {
    upvar 1 $place at
    switch -- [json_blank $text at] {
        "\{" { return [json_items $text at "\}" 1] }
        "\[" { return [json_items $text at "\]" 0] }
        "\"" { return [json_text $text at] }
    }
    if {![regexp -indices -start $at {\A[-+.0-9a-zA-Z]+} $text found]} {
        error "no JSON at place $at"
    }
    set at [expr {[lindex $found 1] + 1}]
    set word [string range $text {*}$found]
    if {$word eq "null"} {
        return ""
    }
    return $word
}

proc orbitile::json_items {text place end named} {
    upvar 1 $place at
    set items {}
    incr at
    if {[json_blank $text at] eq $end} {
        incr at
        return $items
    }
    while 1 {
        if {$named} {
            json_blank $text at
            lappend items [json_text $text at]
            if {[json_blank $text at] ne ":"} {
                error "no JSON at place $at"
            }
            incr at
        }
        lappend items [json_value $text at]
        set next [json_blank $text at]
        incr at
        if {$next eq $end} {
            return $items
        }
        if {$next ne ","} {
            error "no JSON at place $at"
        }
    }
}

proc orbitile::json_text {text place} {
    upvar 1 $place at
    if {![regexp -indices -start $at {\A"(([^"\\]|\\.)*)"} $text all inner]} {
        error "no JSON at place $at"
    }
    set at [expr {[lindex $all 1] + 1}]
    set raw [string range $text {*}$inner]
    if {[string first \\ $raw] < 0} {
        return $raw
    }
    set out ""
    foreach {part plain escaped} [regexp -all -inline {([^\\]+)|\\(u[0-9a-fA-F]{4}|.)} $raw] {
        if {$escaped eq ""} {
            append out $plain
        } elseif {[string length $escaped] > 1} {
            append out [format %c [scan [string range $escaped 1 end] %x]]
        } else {
            append out [string map {n \n t \t r \r b \b f \f} $escaped]
        }
    }
    return $out
}

# ---- the window

proc orbitile::window {} {
    package require Tk
    set top .orbitile
    if {[winfo exists $top]} {
        wm deiconify $top
        raise $top
        return $top
    }
    toplevel $top
    wm title $top Orbitile
    set inside [frame $top.inside -padx 8 -pady 8]
    pack $inside -fill both -expand 1
    button $inside.open -text "Open..." -command orbitile::window_open
    label $inside.field_label -text Field
    entry $inside.field -textvariable orbitile::window_field
    bind $inside.field <Return> orbitile::window_show
    label $inside.iso_label -text Isovalue
    entry $inside.iso -textvariable orbitile::window_isovalue
    bind $inside.iso <Return> {orbitile::window_do orb_iso $orbitile::window_isovalue}
    label $inside.quality_label -text Quality
    tk_optionMenu $inside.quality orbitile::window_quality coarse medium fine
    frame $inside.buttons
    button $inside.buttons.show -text Show -command orbitile::window_show
    button $inside.buttons.previous -text Previous -command {orbitile::window_do orb_prev}
    button $inside.buttons.next -text Next -command {orbitile::window_do orb_next}
    button $inside.buttons.cancel -text Cancel -command {orbitile::window_do orb_cancel}
    label $inside.status -textvariable orbitile::window_status -anchor w -wraplength 300 -justify left
    grid $inside.open -columnspan 2 -sticky w
    grid $inside.field_label $inside.field -sticky we
    grid $inside.iso_label $inside.iso -sticky we
    grid $inside.quality_label $inside.quality -sticky we
    pack $inside.buttons.show $inside.buttons.previous $inside.buttons.next $inside.buttons.cancel -side left
    grid $inside.buttons -columnspan 2 -sticky we -pady 6
    grid $inside.status -columnspan 2 -sticky we
    grid columnconfigure $inside 1 -weight 1
    return $top
}

namespace eval orbitile {
    variable window_field homo
    variable window_isovalue ""
    variable window_quality medium
    variable window_status "Open the output of a quantum-chemistry program."
    variable window_molecule ""
}

# Do a command, and say in the window what became of it.
proc orbitile::window_do {name args} {
    variable window_status
    set failed [catch {call $name $args} result]
    set window_status [expr {$failed || $result ne "" ? $result : "Done."}]
    return [expr {$failed ? "" : $result}]
}

proc orbitile::window_open {} {
    variable window_molecule
    set file [tk_getOpenFile -title "Open the output of a quantum-chemistry program"]
    if {$file ne ""} {
        set window_molecule [window_do orb_load $file]
    }
}

proc orbitile::window_show {} {
    variable window_molecule
    variable window_field
    variable window_isovalue
    variable window_quality
    window_do orb_field $window_molecule $window_field $window_isovalue $window_quality
}

# ---- commands and menu

# Make the commands, and the entry in VMD's menu where there is one.
proc orbitile::register {server commands} {
    variable command $server
    variable names $commands
    foreach name $names {
        proc ::$name args "orbitile::call $name \$args"
    }
    proc ::orb_panel {} orbitile::window
    if {[llength [info commands ::vmd_install_extension]]} {
        catch {vmd_install_extension orbitile orbitile::window "Visualization/Orbitile"}
    }
}
