"""An OpenGL 3.3 core context without a window that is seen, by the first of `backends` that works here.

On Linux that is EGL without a surface, else OSMesa, else a hidden window. PyOpenGL is imported here and nowhere else.
"""

from __future__ import annotations

import atexit
import importlib
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from taichi_kernels.shader_cache import cache_with_room

from ..errors import DeviceError
from .backends import BACKENDS, Backend

PACKAGES = "libegl1 libgl1-mesa-dri libosmesa6"
"""Debian and Ubuntu packages that provide a software renderer for machines without a graphics driver."""

_ADVICE = (
    f"install a graphics driver with EGL, or Mesa's software renderer (Debian, Ubuntu: apt install {PACKAGES})"
    if sys.platform == "linux"
    else "install the driver of the graphics card; a machine without one needs Mesa's software renderer, on Windows "
    "opengl32.dll beside python.exe"
)

_VARIABLE = "PYOPENGL_PLATFORM"

_PLATFORMS = {"nt": "win32"}
"""Where the class of a platform of PyOpenGL has another name than the platform."""


class Context:
    """The OpenGL context of this process, with what has been compiled and is kept for the next picture.

    Attributes
    ----------
    gl : module
        `OpenGL.GL`.
    kept : dict
        Programs and vertex arrays of `draw`, by name.
    renderer : str
        What draws: "llvmpipe (LLVM 15.0.6, 256 bits)".
    has_storage : bool
        Whether shaders can write to buffers (OpenGL 4.3).
    """

    def __init__(self, backend: Backend, gl: Any) -> None:
        self.backend, self.gl = backend, gl
        self.kept: dict[str, Any] = {}
        self.process = os.getpid()
        self.renderer = gl.glGetString(gl.GL_RENDERER).decode(errors="replace")
        version = tuple(int(gl.glGetIntegerv(name)) for name in (gl.GL_MAJOR_VERSION, gl.GL_MINOR_VERSION))
        self.has_storage = version >= (4, 3)


_lock = threading.RLock()
_context: Context | None = None


@contextmanager
def offscreen() -> Iterator[Context]:
    """The off-screen context of this process, current in this thread while the `with` block runs.

    It is made on first use and kept until the interpreter exits. One thread draws at a time; a context of the
    same kind that was current before is current again afterwards.

    Raises
    ------
    DeviceError
        When nothing gives an OpenGL 3.3 core context, when PyOpenGL is already bound to another window system in
        this process, or in a process forked from one that has drawn.
    """
    global _context
    with _lock:
        if _context is not None and _context.process != os.getpid():
            raise DeviceError(
                "OpenGL does not survive a fork: this process was forked from one that had drawn a picture; start "
                'workers with multiprocessing.get_context("spawn"), or draw in one process only'
            )
        if _context is None:
            backend = _make_backend()
            try:
                restore = backend.bind()
                _context = Context(backend, _import_gl(backend.name))
            except OSError as error:
                raise DeviceError(f"OpenGL ({backend.name}): {error}") from error
            atexit.register(_close, _context)
        else:
            try:
                restore = _context.backend.bind()
            except OSError as error:
                raise DeviceError(f"OpenGL ({_context.backend.name}): {error}") from error
        try:
            yield _context
        finally:
            restore()


def _make_backend() -> Backend:
    """A context by the library that PyOpenGL is bound to, or asked to be, or else by the first one that makes one."""
    platform = sys.modules.get("OpenGL.platform")
    if platform is not None:
        class_name = type(getattr(platform, "PLATFORM", None)).__name__
        bound = next((name for name in BACKENDS if class_name.lower() == f"{_PLATFORMS.get(name, name)}platform"), None)
        if bound is None:
            raise DeviceError(
                f"PyOpenGL is already imported in this process and bound to a window system ({class_name}): pictures "
                f"without a window need {_VARIABLE} {_names()} in the environment before that import, or a process "
                "of their own"
            )
        wanted = [bound]
    else:
        asked = os.environ.get(_VARIABLE, "").lower()
        if asked and asked not in BACKENDS:
            raise DeviceError(
                f"{_VARIABLE}={asked} asks PyOpenGL for a window system: unset it, or set it to {_names()}, to draw "
                "pictures without a window"
            )
        wanted = [asked] if asked else list(BACKENDS)
    reasons = []
    for name in wanted:
        try:
            with cache_with_room():
                return BACKENDS[name]()
        except (OSError, AttributeError) as error:  # AttributeError: the library is too old to have a function
            reasons.append(f"{name}: {error}")
    raise DeviceError(f"no OpenGL without a window: {', '.join(reasons)}; {_ADVICE}")


def _names() -> str:
    return " or ".join(BACKENDS)


def _import_gl(platform: str) -> Any:
    """Import `OpenGL.GL` bound to the platform, leaving the environment as it was."""
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = platform
    try:
        return importlib.import_module("OpenGL.GL")
    except (ImportError, AttributeError, TypeError) as error:  # what PyOpenGL raises for libraries that it cannot load
        raise DeviceError(
            f"PyOpenGL does not load for {platform} ({error}); check that pyopengl >= 3.1.7 is installed. {_ADVICE}"
        ) from error
    finally:
        if before is None:
            del os.environ[_VARIABLE]
        else:
            os.environ[_VARIABLE] = before


def _close(context: Context) -> None:
    """Free the context when the interpreter exits; a forked child leaves its parent's alone."""
    global _context
    if context.process == os.getpid():
        context.kept.clear()
        context.backend.destroy()
        _context = None
