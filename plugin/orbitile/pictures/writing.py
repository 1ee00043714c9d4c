"""Pictures into files: a film by ffmpeg, or a folder of PNG files."""

from __future__ import annotations

import importlib
import secrets
import shutil
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..base.errors import FileError, OrbitileError, RenderError
from ..base.packages import install_command
from ..files.reading import user_path
from ..files.writing import checked_target, written_atomically
from ..renderer import checked_size, write_png
from ..workers.child_process import ChildProcess

Pixels = NDArray[np.uint8]
"""A picture, shape (height, width, 4): red, green, blue and straight alpha."""

_ENCODING = {
    ".mp4": ("-c:v", "libx264", "-crf", "10", "-pix_fmt", "yuv420p"),
    # a palette of its own for each picture, so that none has to wait for the others; dithering would flicker
    ".gif": ("-filter_complex", "split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1:dither=none"),
}
"""What ffmpeg is told of each format, by the ending of the file."""


def checked_film(path: str | PathLike[str], size: tuple[int, int], *, transparent: bool) -> Path:
    """The file or folder of a film, refused before the work and not after it.

    Parameters
    ----------
    path
        Ends in .mp4 or .gif; without a suffix, a folder for pictures.
    size
        Width and height of the pictures in pixels.
    transparent
        Whether pictures have a transparent background.

    Raises
    ------
    FileError
        When the film cannot be written there, or the folder is there already.
    RenderError
        When such films have no such pictures.
    OrbitileError
        When ffmpeg is missing.
    """
    width, height = checked_size(size)
    suffix = Path(path).suffix.lower()
    if suffix == "":
        folder = user_path(path)
        if folder.exists():
            raise FileError(f"{path}: is there already; give a new folder for the pictures")
        if not folder.resolve().parent.is_dir():
            raise FileError(f"{path}: there is no folder {folder.resolve().parent}; create it first")
        return folder
    if suffix not in _ENCODING:
        raise FileError(f"{path}: expected a film to end in {' or '.join(_ENCODING)}, or the name of a new folder")
    if transparent:
        raise RenderError(f"{path}: films are opaque; write pictures into a folder, or choose a background")
    if suffix == ".mp4" and (width % 2 or height % 2):
        raise RenderError(f"size of an MP4 film: expected even numbers, got {width} x {height}")
    _ffmpeg()
    return checked_target(path)


def write_pictures(pictures: Iterator[Pixels], target: Path, size: tuple[int, int], rate: float) -> None:
    """Write the pictures of a film to where `checked_film` says: see `write_film`, or `write_folder`."""
    if target.suffix:
        write_film(pictures, target, size, rate)
    else:
        write_folder(pictures, target)


def write_folder(pictures: Iterator[Pixels], folder: Path) -> None:
    """Write pictures into a folder, which gets its name when all are there.

    Raises
    ------
    FileError
        When they cannot be written; nothing is left then.
    """
    temporary = folder.with_name(f".orbitile-{secrets.token_hex(6)}")
    try:
        temporary.mkdir()
        for n, pixels in enumerate(pictures, 1):
            write_png(temporary / f"{n:05d}.png", pixels)
        temporary.rename(folder)
    except OSError as error:
        raise FileError(f"{folder}: cannot be written ({error.strerror or error})") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_film(pictures: Iterator[Pixels], target: Path, size: tuple[int, int], rate: float) -> None:
    """Send pictures one by one through a pipe to ffmpeg, whose file is put in place when it ended well.

    Parameters
    ----------
    pictures
        In order, all of (width, height) = `size` pixels.
    target
        Ends in .mp4 or .gif.
    rate
        Pictures a second, up to 50 in a GIF: viewers slow down what is faster.

    Raises
    ------
    FileError
        When the film cannot be written; nothing is left then.
    """
    suffix = target.suffix.lower()
    rate = min(rate, 50.0) if suffix == ".gif" else rate
    given = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{size[0]}x{size[1]}", "-r", f"{rate:.6f}", "-i", "-")
    with written_atomically(target) as temporary:
        child = ChildProcess(
            "ffmpeg", [_ffmpeg(), "-loglevel", "error", "-y", *given, *_ENCODING[suffix], str(temporary)]
        )
        try:
            for pixels in pictures:  # whatever is raised here ends the film: half of it is none
                try:
                    child.feed(np.ascontiguousarray(pixels[..., :3]).data)
                except BrokenPipeError:  # it says why it ended
                    break
            child.finish()
        finally:
            child.kill()
        if child.status != 0:  # None where it was given up
            reason = child.said or [f"ffmpeg ended: {child.ending()}"]
            raise FileError(f"{target}: cannot be written ({reason[-1].strip()})")


def _ffmpeg() -> str:
    """Path of the program ffmpeg."""
    try:
        program: str = importlib.import_module("imageio_ffmpeg").get_ffmpeg_exe()
    except ImportError as error:
        raise OrbitileError(
            f"films need the package imageio-ffmpeg: {install_command('imageio-ffmpeg')}; a folder of pictures does not"
        ) from error
    except RuntimeError as error:
        raise OrbitileError(f"films need the program ffmpeg, which imageio-ffmpeg does not find: {error}") from error
    return program
