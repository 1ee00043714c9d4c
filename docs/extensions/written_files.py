"""What examples of the gallery write becomes part of their pages: pictures, films with a poster, pages that turn."""

import shutil
import subprocess
import time
from pathlib import Path

import imageio_ffmpeg
from sphinx_gallery.scrapers import figure_rst

STARTED = time.time_ns()
"""What is older was written by an earlier build."""

STATIC = "static"
"""Folder of the gallery for HTML files and posters; see `html_static_path`."""

taken: set[tuple[Path, int]] = set()
"""Files that are on a page already, each as it was then."""


def scraper(block, block_vars, gallery_conf):
    """The pictures and films that a block of an example has written, as reStructuredText (see sphinx-gallery)."""
    folder = Path(block_vars["src_file"]).parent
    written = [
        (path, path.stat().st_mtime_ns) for suffix in ("png", "mp4", "html") for path in folder.glob(f"*.{suffix}")
    ]
    new = sorted((when, path) for path, when in written if when >= STARTED and (path, when) not in taken)
    taken.update((path, when) for when, path in new)
    return "\n\n".join(_shown(path, block_vars, gallery_conf) for _, path in new)


def _shown(path, block_vars, gallery_conf):
    if path.suffix == ".html":
        return _framed(path, Path(gallery_conf["src_dir"]))
    picture = Path(next(block_vars["image_path_iterator"]))
    if path.suffix == ".png":
        shutil.copyfile(path, picture)
        return figure_rst([picture], gallery_conf["src_dir"])
    film = picture.with_suffix(".mp4")
    shutil.copyfile(path, film)
    _write_poster(film, picture)
    place = f"/{film.relative_to(gallery_conf['src_dir']).as_posix()}"
    shutil.copyfile(picture, Path(gallery_conf["src_dir"]) / "pictures" / STATIC / picture.name)
    options = {
        "poster": f"../../_static/{picture.name}",
        "loop": "",
        "muted": "",
        "width": "100%",
        "preload": "none",
        "align": "center",
    }
    return "\n".join([f".. video:: {place}", *(f"   :{name}: {value}".rstrip() for name, value in options.items()), ""])


def _framed(path, source):
    """A page within the page, which is copied with the static files."""
    shutil.copyfile(path, source / "pictures" / STATIC / path.name)
    frame = f'<iframe class="turning" src="../../_static/{path.name}" title="{path.stem}" loading="lazy"></iframe>'
    return f".. raw:: html\n\n   {frame}\n"


def _write_poster(film, picture):
    """The picture in the middle of a film."""
    ffmpeg = imageio_ffmpeg.get_ffmpeg_exe()
    n_frames, seconds = imageio_ffmpeg.count_frames_and_secs(str(film))
    middle = f"{seconds / 2:.2f}" if n_frames > 1 else "0"
    arguments = ["-loglevel", "error", "-y", "-ss", middle, "-i", film, "-frames:v", "1", picture]
    subprocess.run([ffmpeg, *arguments], check=True)
