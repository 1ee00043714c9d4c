"""Pictures of molecules and isosurfaces, without a window: `render`.

    scene (balls, sticks, meshes) -> camera -> draw (OpenGL) -> legend -> PNG file

What is drawn stands in `orbitile.scenes`, from where in `camera`. `draw` and the modules that it imports know
OpenGL; what a graphics card is given to do is in `scenes/shaders/`. `legend` writes on pixels.
"""

from .camera import Camera as Camera
from .camera import Margins as Margins
from .camera import cell_spacing as cell_spacing
from .camera import default_camera as default_camera
from .camera import pixel_at as pixel_at
from .camera import round_lattice as round_lattice
from .camera import round_surface as round_surface
from .legend import LegendPart as LegendPart
from .legend import Patches as Patches
from .legend import annotate as annotate
from .legend import legend_of as legend_of
from .legend import margins as margins
from .picture import check_path as check_path
from .picture import checked_size as checked_size
from .picture import paper_of as paper_of
from .picture import render as render
from .picture import render_scene as render_scene
from .picture import round_spacing as round_spacing
from .picture import write_png as write_png
