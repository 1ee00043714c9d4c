package ifneeded orbitile 0.1 [list source [file join $dir orbitile.tcl]]
