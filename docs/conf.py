"""How Sphinx builds the site: ./install/docs."""

import os
import sys
from datetime import date
from importlib.util import find_spec
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "extensions"))

os.environ.setdefault("ORBITILE_DEVICE", "cpu")  # the same pictures everywhere
os.environ.setdefault("OMP_NUM_THREADS", "2")
os.environ.setdefault("COLUMNS", "92")

import orbitile  # noqa: E402 - after the folder of the extensions

project = "Orbitile"
author = "The Orbitile developers"
copyright = f"{date.today().year}, {author}, GPL-3.0-or-later"
release = version = orbitile.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.video",
    "declared",
    "mathml",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "examples", "gallery", "paper", "extensions"]
nitpicky = True
nitpick_ignore_regex = [(r"py:.*", r".*")]  # names in backticks link where there is something to link to
default_role = "py:obj"
suppress_warnings = ["config.cache"]  # functions of the gallery's configuration cannot be pickled

myst_enable_extensions = ["colon_fence", "dollarmath", "html_image"]
myst_heading_anchors = 4


autosummary_generate = True
autodoc_typehints = "none"  # the signature has them, the docstring says what they are
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False
python_maximum_signature_line_length = 88

html_math_renderer = "mathml"
html_theme = "furo"
html_title = "Orbitile"
html_static_path = ["styles", "pictures/static"]
html_css_files = ["site.css"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5cad", "color-brand-content": "#0b5cad"},
    "dark_css_variables": {"color-brand-primary": "#7ab8f5", "color-brand-content": "#7ab8f5"},
}
html_copy_source = False
html_show_sphinx = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# install/docs gives Sphinx a copy of this folder, so that what examples write stays out of the source.
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "pictures",
    "filename_pattern": r"\.py$" if find_spec("bpy") else r"^(?!.*blender).*\.py$",
    "subsection_order": [f"gallery/{section}" for section in ("fields", "analyses", "films", "viewers")],
    "capture_repr": (),
    "example_extensions": {".py", ".sh", ".tcl"},
    "image_scrapers": ("written_files.scraper",),
    "reset_modules": (),
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,  # a page with scripts from elsewhere
    "show_signature": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "min_reported_time": 1,
}


def shallow_menu(app, page, template, context, doctree):
    """Have the menu beside a page name the chapters alone: with all pages it takes half of the time of a draft."""
    whole = context["toctree"]
    context["toctree"] = lambda **options: whole(**{**options, "maxdepth": 1, "collapse": True})


def setup(app):
    if app.tags.has("draft"):
        app.connect("html-page-context", shallow_menu, priority=400)  # before the theme asks for it
