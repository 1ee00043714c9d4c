# Jmol, with a function
# =====================
#
# ``orbitile jmol`` starts Jmol, whose console then has a function ``orb``, as each ``--script`` has: it takes a field, or
# a command as in PyMOL. Here Jmol runs without a screen and writes the picture; with no ``--command`` its window opens.
#
# .. image:: /images/jmol.png
#    :width: 400
#
# Jmol is not part of what builds this site: the picture was made by this script once.

orbitile jmol benzene.molden \
    --command "java -Djava.awt.headless=true -jar /usr/share/java/JmolData.jar -n -o -I" \
    --script 'orb("orb_field benzene, density, color_by=esp")' \
    --script 'zoom 85; write PNG 400 400 "jmol.png"' --script exitJmol
