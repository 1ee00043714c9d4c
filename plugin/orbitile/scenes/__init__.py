"""What is to be seen, before anybody draws it: balls, sticks and meshes in colours.

    surfaces, wavefunction -> scene_of -> Scene -> renderer (pictures), exporters (scenes in files), hosts

Lengths in bohr. Colours are display (sRGB) values between 0 and 1.
"""

from .molecule import Molecule as Molecule
from .palette import PALETTES as PALETTES
from .palette import Colour as Colour
from .palette import ColourPair as ColourPair
from .palette import colours_of_fields as colours_of_fields
from .palette import parse_colour as parse_colour
from .scene import Mesh as Mesh
from .scene import Scene as Scene
from .scene import facts_of as facts_of
from .scene import make_scene as make_scene
from .scene import scene_of as scene_of
from .styles import dots as dots
from .styles import wires as wires
