# JSON: what is sent to the server, and what it says.

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
