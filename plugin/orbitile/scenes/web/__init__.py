"""Molecules and surfaces that turn in a browser, the same in a page and in a notebook.

    scenes -> Slide, Document -> packed (bytes) -> page (one HTML file) | the view of a notebook

The viewer is JavaScript in `scripts/`: modules without dependencies that draw by WebGL 2, with the shaders of
`orbitile.scenes`. Nothing is fetched from anywhere.
"""

from .document import Choice as Choice
from .document import Document as Document
from .document import Legend as Legend
from .document import Slide as Slide
from .document import legend_of as legend_of
from .document import packed as packed
from .page import iframe as iframe
from .page import page as page
from .page import style as style
from .page import viewer_script as viewer_script
