"""What the examples of the gallery write becomes the pictures of their pages: PNG files, and films with a poster."""

import shutil
import subprocess
import time
from pathlib import Path

import imageio_ffmpeg
from sphinx_gallery.scrapers import figure_rst

STARTED = time.time_ns()
"""What is older was written by an earlier build."""

taken: set[tuple[Path, int]] = set()
"""Files that are on a page already, each as it was then."""


def scraper(block, block_vars, gallery_conf):
    """The pictures and films that a block of an example has written, as reStructuredText (see sphinx-gallery)."""
    folder = Path(block_vars["src_file"]).parent
    written = [(path, path.stat().st_mtime_ns) for suffix in ("png", "mp4") for path in folder.glob(f"*.{suffix}")]
    new = sorted((when, path) for path, when in written if when >= STARTED and (path, when) not in taken)
    taken.update((path, when) for when, path in new)
    return "\n\n".join(_shown(path, Path(next(block_vars["image_path_iterator"])), gallery_conf) for _, path in new)


def _shown(path, picture, gallery_conf):
    if path.suffix == ".png":
        shutil.copyfile(path, picture)
        return figure_rst([picture], gallery_conf["src_dir"])
    film = picture.with_suffix(".mp4")
    shutil.copyfile(path, film)
    _write_poster(film, picture)
    place = f"/{film.relative_to(gallery_conf['src_dir']).as_posix()}"
    options = {"poster": f"{place[:-4]}.png", "loop": "", "muted": "", "width": "100%", "preload": "none"}
    return "\n".join([f".. video:: {place}", *(f"   :{name}: {value}".rstrip() for name, value in options.items()), ""])


def _write_poster(film, picture):
    """The picture in the middle of a film."""
    ffmpeg = imageio_ffmpeg.get_ffmpeg_exe()
    n_frames, seconds = imageio_ffmpeg.count_frames_and_secs(str(film))
    middle = f"{seconds / 2:.2f}" if n_frames > 1 else "0"
    arguments = ["-loglevel", "error", "-y", "-ss", middle, "-i", film, "-frames:v", "1", picture]
    subprocess.run([ffmpeg, *arguments], check=True)
