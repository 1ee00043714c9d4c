"""Mesa's cache of compiled shaders, where the disk is full."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

_ROOM = 8 << 20
"""Bytes that Mesa may map or write at once."""

_SWITCH = "MESA_SHADER_CACHE_DISABLE"


@contextmanager
def cache_with_room() -> Iterator[None]:
    """Where the disk of its cache is full, a driver of Mesa's that is loaded in this block keeps no compiled shaders.

    Mesa maps a file of the cache into memory before the disk has room for it, and the first write to it then ends the
    process (SIGBUS). https://docs.mesa3d.org/envvars.html names the folders and the switch.
    """
    before = os.environ.get(_SWITCH)
    folders = (os.environ.get(name) for name in ("MESA_SHADER_CACHE_DIR", "MESA_GLSL_CACHE_DIR", "XDG_CACHE_HOME"))
    folder = next(filter(None, folders), None) or os.path.expanduser("~/.cache")
    while folder != os.path.dirname(folder) and not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    try:
        if hasattr(os, "posix_fallocate"):
            with tempfile.TemporaryFile(dir=folder) as probe:
                os.posix_fallocate(probe.fileno(), 0, _ROOM)
    except OSError:  # full, or not to be written to
        os.environ[_SWITCH] = "true"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_SWITCH, None)
        else:
            os.environ[_SWITCH] = before
