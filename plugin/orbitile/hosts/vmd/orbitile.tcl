# Orbitile in VMD: commands and a window, answered by `orbitile serve` at the other end of a pipe.
#
# orbitile::register makes one command of each name that the server has; the server knows their arguments. Arguments
# go by position, or after those by name, as in `orb_mo benzene -quality fine`. Plain Tcl 8.5 is enough, Tk for the window alone.

package provide orbitile 0.1

namespace eval orbitile {
    variable protocol 1               ;# its number, as in orbitile/hosts/server/protocol.py
    variable command {orbitile serve} ;# what starts the server
    variable names {}                 ;# of the commands
    variable channel ""               ;# to the server, while it runs
    variable folder ""                ;# of its files
    variable offered {}               ;# what the server told first: commands, fields and presets
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
    variable copies                   ;# of the atoms of each molecule, for fields side by side
    array set copies {}
    variable moved_by                 ;# how far molecules of VMD were moved and shrunk for that
    array set moved_by {}
    variable frames                   ;# to which the orbitals of each molecule belong
    array set frames {}
    variable saving {}                ;# while a state is saved: what the server shows, and sources
    variable restoring {}             ;# as sources, while a saved state is read
    variable made {}                  ;# folders that a saved state needed and that were not there
    variable unseen {}                ;# fields of a saved state that are to be hidden
    variable busy 0
    variable heard 0                  ;# events that the server has told
    variable moved {}                 ;# molecules of whose frame the server does not know
    variable seen_from ""             ;# directions that the server knows
    variable share 0.0                ;# of the work that is done
    variable told ""                  ;# by the last command
    variable home [file dirname [file normalize [info script]]]
}

apply {parts {
    foreach part $parts {
        uplevel #0 [list source [file join $::orbitile::home $part.tcl]]
    }
}} {json molecules surfaces drawings views grid saved_states live}

# ---- the pipe

proc orbitile::start {} {
    variable command
    variable channel
    if {$channel ne ""} return
    set of_vmd [array get ::env PYTHONHOME] ;# where VMD's own Python is, not ours
    array unset ::env PYTHONHOME
    set failed [catch {open |$command r+} opened]
    array set ::env $of_vmd
    if {$failed} {
        error "orbitile cannot be started with \"$command\": $opened"
    }
    set channel $opened
    variable seen_from ""
    fconfigure $channel -encoding utf-8 -buffering line -translation lf -blocking 0
    fileevent $channel readable orbitile::receive
}

# A server that speaks another protocol is ended; commands that it has beside those that were installed are made.
proc orbitile::on_ready {message} {
    variable protocol
    variable heard 0
    variable folder [dict get $message folder]
    variable offered $message
    set theirs [expr {[dict exists $message protocol] ? [dict get $message protocol] : "none"}]
    if {$theirs ne $protocol} {
        error [ended "protocol: VMD speaks version $protocol, the server version $theirs; install both from the same\
            Orbitile (orbitile install vmd), and start VMD again"]
    }
    foreach offer [dict get $message commands] {
        make_command [dict get $offer name]
    }
}

# Words that an argument of a command may be, or is often.
proc orbitile::choices {command argument} {
    variable offered
    foreach known [dict get $offered commands] {
        if {[dict get $known name] ne $command} continue
        foreach part [dict get $known arguments] {
            if {[dict get $part name] eq $argument} {
                return [dict get $part choices]
            }
        }
    }
    return {}
}

# Close the pipe; gives the reason, or what the server wrote to standard error.
proc orbitile::ended {{why ""}} {
    variable channel
    variable folder
    variable replies
    set opened $channel
    set channel ""
    fconfigure $opened -blocking [expr {$why eq ""}]
    catch {close $opened} written
    if {$folder ne ""} {
        file delete -force $folder
        set folder ""
    }
    if {$why eq ""} {
        set last [lindex [split [string trim $written] \n] end]
        set why [expr {$last eq "" ? "it gave no reason" : $last}]
    }
    foreach waiting [array names replies] {
        set replies($waiting) [list error "orbitile has ended: $why"]
    }
    return $why
}

proc orbitile::stop {} {
    variable channel
    if {$channel ne ""} ended
}

# One message at a time, so that windows are drawn in between.
proc orbitile::receive {} {
    variable channel
    variable replies
    variable failure
    variable heard
    if {[gets $channel line] >= 0} {
        set message [from_json $line]
        if {[dict exists $message event]} {
            set event [dict get $message event]
            set failed [catch {[expr {[llength [info commands on_$event]] ? "on_$event" : "panel::on_$event"}] $message} problem]
            if {$event ne "ready"} {
                incr heard
            }
            if {$failed} {
                if {[array size replies]} {
                    set failure "VMD: $problem"
                } else {
                    puts "Orbitile) VMD: $problem"
                }
            }
        } elseif {[info exists replies([dict get $message id])]} {
            set replies([dict get $message id]) $message
        } elseif {[dict get $message id] eq "window"} {
            panel::answered $message
        }
    }
    if {$channel ne "" && [eof $channel]} ended
}

# Ask for a command and wait for the answer, which is told and returned; windows of Tk are alive meanwhile.
proc orbitile::call {name words} {
    variable busy
    variable share
    variable told
    if {$busy && $name ne "orb_cancel"} {
        error "something is being computed: orb_cancel stops it"
    }
    set before $busy
    set busy 1
    set failed [catch {
        if {$name eq "orb_live"} {
            set words [live_words $words]
        }
        ask $name [arguments_json $words]
    } reply]
    set busy $before
    set share 0.0
    if {$failed} {
        error $reply
    }
    set told [dict get $reply text]
    if {$told ne "" && $told ne [dict get $reply value]} { ;# VMD prints the value
        puts "Orbitile) [string map {\n "\nOrbitile) "} $told]"
    }
    return [dict get $reply value]
}

# What the server is to know with each request: what there is, what the user has hidden, and after which event that was.
proc orbitile::standing {} {
    variable heard
    variable protocol
    return "\"protocol\": $protocol, \"objects\": [list_json [present]], \"hidden\": [list_json [unseen_by_choice]], \"seen\": $heard"
}

# Tell the server what the user does in the window, and wait for nothing.
proc orbitile::tell_window {verb args} {
    variable channel
    start
    set words [list_json [linsert $args 0 $verb]]
    if {[catch {puts $channel "{\"id\": \"window\", \"command\": \"window\", \"arguments\": $words, [standing]}"}]} ended
}

# Send a request and wait for its reply.
proc orbitile::ask {name arguments} {
    variable channel
    variable number
    variable replies
    variable failure ""
    if {$channel eq ""} start
    tell_frames
    tell_directions
    tell_atoms ""
    set mine [incr number]
    set replies($mine) ""
    if {[catch {puts $channel "{\"id\": $mine, \"command\": [text_json $name], $arguments, [standing]}"}]} ended
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

# ---- commands and menu

proc orbitile::make_command {name} {
    variable names
    if {$name ni $names} {
        lappend names $name
        proc ::$name args "orbitile::call $name \$args"
    }
}

# Make the commands, and the entry in VMD's menu where there is one.
proc orbitile::register {server commands} {
    variable command $server
    foreach name $commands {
        make_command $name
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
        foreach part {window orbitals fields analyses shown look live saving manual} {
            uplevel #0 [list source [file join $home panel $part.tcl]]
        }
    }
    return [panel::show]
}
