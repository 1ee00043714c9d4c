"""Builds the site: python docs/build.py [--links] [--draft] [--only WORD] [FOLDER]; ./install/docs sets up.

Sphinx works on a copy of this folder in FOLDER (docs/_build), since the gallery writes pages beside the others. Pages
of examples that did not change are kept from one build to the next.
"""

import argparse
import os
import re
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
    parser.add_argument(
        "--draft", action="store_true", help="examples make small pictures, in a minimal basis, of few frames"
    )
    options = parser.parse_args()
    folder = options.folder.resolve()
    source = (folder / "links" if options.links else folder) / "source"  # where links are asked, no example is run
    make_copy(source)
    if options.draft:
        make_quick(source)
    os.environ.setdefault("LIBGL_ALWAYS_SOFTWARE", "1")  # the same pictures everywhere
    settings = []
    if options.only:
        settings += ["-D", f"sphinx_gallery_conf.filename_pattern={options.only}"]
    if options.links:
        settings += ["-D", "plot_gallery=0"]
    builder = "linkcheck" if options.links else "html"
    target = source.parent / builder
    if options.draft:
        settings += ["-t", "draft"]
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


QUICKER = {
    '"6-31g*"': '"sto-3g"',
    '"6-31+g*"': '"sto-3g"',
    '"b3lyp"': '"pbe"',  # whose kernels other examples have loaded
    'quality="fine"': 'quality="coarse"',
    "between=2": "between=1",
    "] * 36": "] * 5",  # pictures of a turn
}
"""What examples compute, and what they compute in a draft."""


def make_quick(source: Path) -> None:
    """Have the copied examples compute less: smaller pictures, a minimal basis, coarse lattices, few frames."""
    path = source / "examples" / "hcn_to_hnc.xyz"
    path.write_text("".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[:25]), encoding="utf-8")
    for path in (source / "gallery").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for whole, quick in QUICKER.items():
            text = text.replace(whole, quick)
        text = re.sub(
            r"(?<=\()(\d{3,4}), (\d{3,4})(?=\))", lambda size: f"{int(size[1]) // 4}, {int(size[2]) // 4}", text
        )
        text = re.sub(r"(space\([^()]*), (\d+)(?=\))", lambda all_: f"{all_[1]}, {max(int(all_[2]) // 4, 5)}", text)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
