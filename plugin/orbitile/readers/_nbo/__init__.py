"""Files of the NBO program (natural bond orbitals): the basis set, matrices of coefficients, and archives.

The layout is that of the NBO manual (E. D. Glendening, J. K. Badenhoop, A. E. Reed, J. E. Carpenter, J. A. Bohmann,
C. M. Morales, P. Karafiloglou, C. R. Landis and F. Weinhold, NBO 7.0, University of Wisconsin, Madison, 2018): sections
"The FILE47 archive" and "PLOT".
"""
