"""Films: a field along a trajectory, over the orbitals of a file, or over isovalues, drawn picture by picture.

shots (what each picture shows) -> framing (one lattice and one camera for all) -> pictures -> film or folder
"""

from .animation import animate as animate
from .shots import Shot as Shot
from .shots import Shots as Shots
from .shots import along as along
from .shots import over_isovalues as over_isovalues
from .shots import over_orbitals as over_orbitals
