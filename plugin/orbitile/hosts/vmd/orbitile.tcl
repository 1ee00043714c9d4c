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
    variable failure ""               ;# to show what a reply was preceded by
    variable molecules                ;# VMD's number of each object
    array set molecules {}
    variable sources                  ;# file that each object was read from, and that of its shades
    array set sources {}
    variable coming {}                ;# the surface message whose volume comes next
    variable looks                    ;# how each field is to look
    array set looks {}
    variable drawn                    ;# how each field looks
    array set drawn {}
    variable kept                     ;# of each field files of its volume, by frame
    array set kept {}
    variable at                       ;# frame whose volume each field holds
    array set at {}
    variable hidden                   ;# fields that have no volume of the frame that is seen
    array set hidden {}
    variable frames                   ;# to which the orbitals of each molecule belong
    array set frames {}
    variable saving {}                ;# while a state is saved: what the server shows, and sources
    variable restoring {}             ;# as sources, while a saved state is read
    variable busy 0
    variable moved {}                 ;# molecules of whose frame the server does not know
    variable playing 0                ;# frames a second at most
    variable share 0.0                ;# of the work that is done
    variable told ""                  ;# by the last command
    variable home [file dirname [file normalize [info script]]]
}

# ---- the pipe

proc orbitile::start {} {
    variable command
    variable channel
    variable folder
    if {$channel ne ""} return
    set of_vmd [array get ::env PYTHONHOME] ;# where VMD's own Python is, not ours
    array unset ::env PYTHONHOME
    set failed [catch {open |$command r+} opened]
    array set ::env $of_vmd
    if {$failed} {
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
    variable failure
    while {$channel ne "" && [gets $channel line] >= 0} {
        set message [from_json $line]
        if {[dict exists $message event]} {
            set event [dict get $message event]
            if {[catch {on_$event $message} problem]} {
                if {[array size replies]} {
                    set failure "VMD: $problem"
                } else {
                    puts "Orbitile) VMD: $problem"
                }
            }
        } elseif {[info exists replies([dict get $message id])]} {
            set replies([dict get $message id]) $message
        }
    }
    if {$channel ne "" && [eof $channel]} ended
}

# Ask for a command and wait for the answer, which is told and returned; windows of Tk are alive meanwhile.
proc orbitile::call {name words} {
    variable busy
    variable share
    variable told
    variable playing
    if {$busy && $name ne "orb_cancel"} {
        error "something is being computed: orb_cancel stops it"
    }
    set before $busy
    set busy 1
    set failed [catch {ask $name [arguments_json $words]} reply]
    set busy $before
    set share 0.0
    if {$failed} {
        error $reply
    }
    if {$name eq "orb_play"} {
        set playing [dict get $reply value]
    }
    set told [dict get $reply text]
    if {$told ne "" && $told ne [dict get $reply value]} { ;# VMD prints the value
        puts "Orbitile) $told"
    }
    return [dict get $reply value]
}

# Send a request and wait for its reply.
proc orbitile::ask {name arguments} {
    variable channel
    variable number
    variable replies
    variable failure ""
    if {$channel eq ""} start
    tell_frames
    set mine [incr number]
    set replies($mine) ""
    set request "{\"id\": $mine, \"command\": [text_json $name], $arguments,\
        \"objects\": [list_json [present]]}"
    if {[catch {puts $channel $request}]} ended
    while {$replies($mine) eq ""} {
        vwait orbitile::replies($mine)
    }
    set reply $replies($mine)
    unset replies($mine)
    if {[dict exists $reply error]} {
        error [dict get $reply error]
    }
    if {$failure ne ""} {
        error $failure
    }
    return $reply
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
    foreach known {molecules sources looks drawn kept at hidden frames} {
        variable $known
        unset -nocomplain ${known}($name)
    }
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
    if {![llength $moved]} {
        after 1 orbitile::tell_frames
    }
    if {[lsearch -exact $moved $name] < 0} {
        lappend moved $name
    }
}

# Which objects there are can be told while no request is under way, whose messages may be about to change it.
proc orbitile::tell_frames {} {
    variable channel
    variable molecules
    variable moved
    variable replies
    set there [present]
    foreach name $moved {
        if {$channel eq "" || [lsearch -exact $there $name] < 0} continue
        set frame [molinfo $molecules($name) get frame]
        set request "\"command\": \"frame\", \"arguments\": [list_json [list $name $frame]]"
        if {![array size replies]} {
            append request ", \"objects\": [list_json $there]"
        }
        catch {puts $channel "{\"id\": 0, $request}"}
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

proc orbitile::on_surface {message} {
    variable coming $message
}

# The volume completes what `surface` told; none means that it is the one that is there. A molecule of VMD holds the
# volume of one frame: those of the others are kept in their files until they are dropped.
proc orbitile::on_volume {message} {
    variable coming
    variable looks
    variable kept
    variable at
    variable frames
    variable restoring
    set name [dict get $message name]
    set parent [dict get $message molecule]
    set moving [dict exists $message frame]
    set frame [expr {$moving ? [dict get $message frame] : $frames($parent)}]
    set files {}
    if {[dict get $message file] ne ""} {
        lappend files [dict get $message file]
        if {[dict exists $coming shades]} {
            lappend files [dict get $coming shades]
        }
    }
    set later [dict exists $restoring $name]
    if {!$later && ![dict get $coming new] && [lsearch -exact [present] $name] < 0} { ;# the user has deleted it
        file delete {*}$files
        frame_changed $parent
        return
    }
    set look [dict remove $coming event new frame shades]
    if {$moving && [info exists looks($name)]} {
        set phases [concat [dict get $look phases] [dict get $looks($name) phases]]
        dict set look phases [lsort -integer -decreasing -unique $phases]
    }
    if {[llength $files]} {
        if {!$moving && !$later} {
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
        }
        show_frame $name
    }
    if {!$moving && [info exists kept($name)]} { ;# there is no other
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
        represent $molid $looks($name)
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
    set matrices {center_matrix rotate_matrix scale_matrix global_matrix}
    set views {}
    foreach other [molinfo list] {
        lappend views $other [molinfo $other get $matrices]
    }
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
        foreach one $files {
            mol addfile $one type plt waitfor all $molid
        }
        for {} {$old > 0} {incr old -1} {
            mol voldelete $molid 0
        }
    } problem]
    catch {vmdcon -loglevel $level}
    if {$failed} {
        error $problem
    }
    foreach {other view} $views {
        molinfo $other set $matrices $view
    }
    if {![dict exists $views $molid] && [lsearch -exact [present] $parent] >= 0} {
        molinfo $molid set $matrices [dict get $views $molecules($parent)]
    }
    if {$top >= 0 && [molinfo top] != $top} {
        mol top $top
    }
}

# One representation of each phase: in a colour of its own, or in the colours of the second volume.
proc orbitile::represent {molid look} {
    set phases [dict get $look phases]
    while {[molinfo $molid get numreps] > [llength $phases]} {
        mol delrep [expr {[molinfo $molid get numreps] - 1}] $molid
    }
    while {[molinfo $molid get numreps] < [llength $phases]} {
        mol addrep $molid
    }
    set material [material_of [dict get $look transparency]]
    set rep 0
    foreach phase $phases {
        mol modstyle $rep $molid Isosurface [expr {$phase * [dict get $look isovalue]}] 0 0 0 1 1
        mol modmaterial $rep $molid $material
        if {[dict exists $look scale]} {
            set scale [dict get $look scale]
            color scale method [dict get {signed RWB sequential WBlk interaction BGR} [dict get $scale colour_map]]
            mol modcolor $rep $molid Volume 1
            mol scaleminmax $molid $rep [dict get $scale low] [dict get $scale high]
        } else {
            mol modcolor $rep $molid ColorID [nearest_colour [lindex [dict get $look colours] [expr {$phase < 0}]]]
        }
        incr rep
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
    set material [material_of [dict get $message transparency]]
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

# ---- saved states
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

# Films stand still from here on.
proc orbitile::before_state {args} {
    variable sources
    variable kept
    variable saving
    if {![llength [present]]} return
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
    set reps {}
    for {set rep 0} {$rep < [molinfo $old get numreps]} {incr rep} {
        lappend reps [molinfo $old get "{rep $rep} {color $rep} {material $rep}"]
    }
    set drawn [molinfo $old get drawn]
    mol delete $old
    unset molecules($name)
    hold $name $at($name)
    set molid $molecules($name)
    represent $molid $looks($name)
    set rep 0
    foreach one $reps {
        if {$rep == [molinfo $molid get numreps]} {
            mol addrep $molid
        }
        lassign $one style colour material
        mol modstyle $rep $molid {*}$style
        mol modcolor $rep $molid {*}$colour
        mol modmaterial $rep $molid $material
        incr rep
    }
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
    foreach file $files place [dict get $restoring $name] {
        file mkdir [file dirname $place]
        file copy -force $file $place
    }
}

proc orbitile::restored {} {
    variable restoring
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
            catch {file delete [file dirname $file]} ;# unless it is the folder of a server that runs
        }
    }
    set names [dict keys $restoring]
    set restoring {}
    foreach name $names {
        if {[info exists frames($name)] && [info exists molecules($name)]} {
            follow_frames $name
            molinfo $molecules($name) set frame $frames($name)
            frame_changed $name
        }
    }
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

# ---- commands and menu

# Make the commands, and the entry in VMD's menu where there is one.
proc orbitile::register {server commands} {
    variable command $server
    variable names $commands
    foreach name $names {
        proc ::$name args "orbitile::call $name \$args"
    }
    proc ::orb_panel {} orbitile::window
    follow_save_state
    if {[info exists ::tk_version] && [llength [info commands ::vmd_install_extension]]} {
        vmd_install_extension orbitile orbitile::window "Visualization/Orbitile"
    }
}

# The window; gives its name, as VMD's menu expects.
proc orbitile::window {} {
    variable home
    package require Tk
    if {![llength [info commands panel::show]]} {
        uplevel #0 [list source [file join $home panel.tcl]]
    }
    return [panel::show]
}
