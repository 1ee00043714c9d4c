"""Builds the site: python docs/build.py [--links] [--only WORD] [FOLDER]; ./install/docs installs what it needs first.

Sphinx works on a copy of this folder in FOLDER (docs/_build), since the gallery writes pages beside the others. Pages
of examples that did not change are kept from one build to the next.
"""

import argparse
import os
import shutil
import sys
from pathlib import Path

from sphinx.cmd.build import build_main

DOCS = Path(__file__).resolve().parent
PICTURES = "pictures"
"""Where the pages of the gallery are."""


def main() -> int:
    """Build it; returns the exit status."""
    parser = argparse.ArgumentParser(description="Build the site, warnings being errors.")
    parser.add_argument("folder", nargs="?", type=Path, default=DOCS / "_build")
    parser.add_argument("--links", action="store_true", help="ask whether the pages that it links to are there")
    parser.add_argument("--only", metavar="WORD", default="", help="run examples with this in their file names only")
    options = parser.parse_args()
    folder = options.folder.resolve()
    source = (folder / "links" if options.links else folder) / "source"  # where links are asked, no example is run
    make_copy(source)
    os.environ.setdefault("LIBGL_ALWAYS_SOFTWARE", "1")  # the same pictures everywhere
    settings = []
    if options.only:
        settings += ["-D", f"sphinx_gallery_conf.filename_pattern={options.only}"]
    if options.links:
        settings += ["-D", "plot_gallery=0"]
    builder = "linkcheck" if options.links else "html"
    target = source.parent / builder
    arguments = ["-b", builder, "-d", str(source.parent / "doctrees"), "-W", "--keep-going", "-q", *settings]
    status = build_main([*arguments, str(source), str(target)])
    if status == 0 and not options.links:
        sys.stdout.write(f"The site is {target / 'index.html'}\n")
    return status


def make_copy(source: Path) -> None:
    """Copy this folder, and keep what earlier builds have made of the gallery."""
    (source / PICTURES / "static").mkdir(parents=True, exist_ok=True)
    for path in source.iterdir():
        if path.name != PICTURES:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path in (source / PICTURES).glob("*/*.py"):
        if not (DOCS / "gallery" / path.relative_to(source / PICTURES)).exists():  # the example is gone
            for page in path.parent.glob(f"{path.stem}.*"):
                page.unlink()
    for path in DOCS.iterdir():
        if path.is_dir() and path.name != "_build":
            shutil.copytree(path, source / path.name)
        elif path.is_file():
            shutil.copy2(path, source)


if __name__ == "__main__":
    raise SystemExit(main())
