"""An OpenGL 3.3 core context without a window that is seen, by the first of `BACKENDS` that works here.

On Linux that is EGL without a surface, else OSMesa, else a hidden window. PyOpenGL is imported here and nowhere else.

Backends are libraries that make such contexts, each behind the same two methods. EGL and OSMesa are called through
ctypes, because PyOpenGL binds itself to one of them when it is first imported: which one works has to be known before
that. Contexts of a window system are made by glcontext (docs/decisions/0026).
"""

from __future__ import annotations

import atexit
import ctypes
import ctypes.util
import importlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

from taichi_kernels.cache_folder import cache_with_room

from ..base.errors import DeviceError

_EGL_PLATFORM_SURFACELESS_MESA = 0x31DD
_EGL_PLATFORM_DEVICE_EXT = 0x313F
_EGL_OPENGL_API = 0x30A2
_EGL_NONE = 0x3038
_EGL_CONFIG = (0x3033, 0, 0x3040, 0x0008, _EGL_NONE)  # SURFACE_TYPE: none needed, RENDERABLE_TYPE: OpenGL
_EGL_CONTEXT = (0x3098, 3, 0x30FB, 3, 0x30FD, 1, _EGL_NONE)  # version 3.3, core profile
_EGL_DRAW, _EGL_READ = 0x3059, 0x305A

# FORMAT: RGBA, PROFILE: core, version 3.3; depth bits 0 because everything is drawn to framebuffer objects
_OSMESA_CONTEXT = (0x22, 0x1908, 0x33, 0x34, 0x36, 3, 0x37, 3, 0x30, 0, 0)
_GL_UNSIGNED_BYTE = 0x1401


class Backend(Protocol):
    """What `offscreen` needs of a library that makes contexts."""

    name: str
    """As PyOpenGL names its platforms."""

    def bind(self) -> Callable[[], None]:
        """Make the context current in this thread; the result undoes that."""

    def destroy(self) -> None:
        """Free the context."""


def _function(library: ctypes.CDLL, name: str, result: Any, *arguments: Any) -> Any:
    function = getattr(library, name)
    function.restype, function.argtypes = result, arguments
    return function


class EGL:
    """A context of EGL that is current without a surface."""

    name = "egl"

    def __init__(self) -> None:
        pointer, integer, array = ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(ctypes.c_int)
        library = _load("EGL", "libEGL.so.1")
        self._get_address = _function(library, "eglGetProcAddress", pointer, ctypes.c_char_p)
        self._initialize = _function(library, "eglInitialize", ctypes.c_uint, pointer, pointer, pointer)
        self._bind_api = _function(library, "eglBindAPI", ctypes.c_uint, ctypes.c_uint)
        self._query_api = _function(library, "eglQueryAPI", ctypes.c_uint)
        self._make_current = _function(library, "eglMakeCurrent", ctypes.c_uint, pointer, pointer, pointer, pointer)
        self._current_context = _function(library, "eglGetCurrentContext", pointer)
        self._current_display = _function(library, "eglGetCurrentDisplay", pointer)
        self._current_surface = _function(library, "eglGetCurrentSurface", pointer, integer)
        self._destroy = _function(library, "eglDestroyContext", ctypes.c_uint, pointer, pointer)
        self._error = _function(library, "eglGetError", integer)
        self._choose = _function(library, "eglChooseConfig", ctypes.c_uint, pointer, array, pointer, integer, array)
        self._create = _function(library, "eglCreateContext", pointer, pointer, pointer, pointer, array)
        api = self._query_api()
        try:
            reasons = []
            for display in self._displays():
                try:
                    self._open(display)
                except OSError as error:
                    reasons.append(str(error))
                else:
                    return
            raise OSError("; ".join(dict.fromkeys(reasons)) or "no display without a window system")
        finally:
            self._bind_api(api)

    def _displays(self) -> Iterator[int]:
        """Displays that need no window system, best first."""
        address = self._get_address(b"eglGetPlatformDisplayEXT")
        if not address:
            return
        prototype = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p)
        get_display = prototype(address)
        display = get_display(_EGL_PLATFORM_SURFACELESS_MESA, None, None)
        if display:
            yield display
        address = self._get_address(b"eglQueryDevicesEXT")
        if not address:
            return
        devices, found = (ctypes.c_void_p * 16)(), ctypes.c_int(0)
        query = ctypes.CFUNCTYPE(ctypes.c_uint, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(address)
        if query(16, ctypes.byref(devices), ctypes.byref(found)):
            for device in devices[: found.value]:
                display = get_display(_EGL_PLATFORM_DEVICE_EXT, device, None)
                if display:
                    yield display

    def _open(self, display: int) -> None:
        """Make a context on a display and try it."""
        if not self._initialize(display, None, None):
            raise OSError(f"eglInitialize failed ({self._error():#x})")
        self._bind_api(_EGL_OPENGL_API)
        config, found = ctypes.c_void_p(), ctypes.c_int(0)
        attributes = (ctypes.c_int * len(_EGL_CONFIG))(*_EGL_CONFIG)
        self._choose(display, attributes, ctypes.byref(config), 1, ctypes.byref(found))
        if not found.value:
            raise OSError("EGL has no OpenGL (only OpenGL ES)")
        attributes = (ctypes.c_int * len(_EGL_CONTEXT))(*_EGL_CONTEXT)
        context = self._create(display, config, None, attributes)
        if not context:
            raise OSError(f"no OpenGL 3.3 core context ({self._error():#x})")
        self._display, self._context = display, context
        self.bind()()

    def bind(self) -> Callable[[], None]:
        api, display, context = self._query_api(), self._current_display(), self._current_context()
        surfaces = self._current_surface(_EGL_DRAW), self._current_surface(_EGL_READ)
        self._bind_api(_EGL_OPENGL_API)
        if not self._make_current(self._display, None, None, self._context):
            error = self._error()
            self._bind_api(api)
            raise OSError(f"eglMakeCurrent failed ({error:#x}); another context may be current in this thread")

        def restore() -> None:
            self._make_current(self._display, None, None, None)
            self._bind_api(api)
            if context:
                self._make_current(display, *surfaces, context)

        return restore

    def destroy(self) -> None:
        self._destroy(self._display, self._context)  # the display may serve others in this process: it stays


class OSMesa:
    """A context of Mesa's off-screen library."""

    name = "osmesa"

    def __init__(self) -> None:
        pointer, integer = ctypes.c_void_p, ctypes.c_int
        library = _load("OSMesa", "libOSMesa.so.8")
        create = _function(library, "OSMesaCreateContextAttribs", pointer, ctypes.POINTER(integer), pointer)
        self._make_current = _function(
            library, "OSMesaMakeCurrent", ctypes.c_ubyte, pointer, pointer, ctypes.c_uint, integer, integer
        )
        self._destroy = _function(library, "OSMesaDestroyContext", None, pointer)
        self._context = create((integer * len(_OSMESA_CONTEXT))(*_OSMESA_CONTEXT), None)
        if not self._context:
            raise OSError("no OpenGL 3.3 core context")
        self._pixels = (ctypes.c_ubyte * 64)()  # OSMesa insists on a buffer of its own, which is never drawn to
        self.bind()()

    def bind(self) -> Callable[[], None]:
        if not self._make_current(self._context, ctypes.byref(self._pixels), _GL_UNSIGNED_BYTE, 4, 4):
            raise OSError("OSMesaMakeCurrent failed")

        return partial(self._make_current, None, None, _GL_UNSIGNED_BYTE, 0, 0)

    def destroy(self) -> None:
        self._destroy(self._context)


class WindowSystem:
    """A context of the system's window system: of a hidden window on Windows and under X11, of none on macOS."""

    name = {"win32": "nt", "darwin": "darwin"}.get(sys.platform, "glx")

    def __init__(self) -> None:
        try:
            from glcontext import default_backend

            make = default_backend()
        except ImportError as error:
            raise OSError(f"glcontext is not installed ({error})") from error
        before = _current(make)
        try:
            self._context = make(mode="standalone", glversion=330)
        except Exception as error:  # it raises nothing narrower
            raise OSError(str(error)) from error
        if before is None:
            _leave()
        else:
            before.__enter__()

    def bind(self) -> Callable[[], None]:
        self._context.__enter__()
        return partial(self._context.__exit__, None, None, None)

    def destroy(self) -> None:
        self._context.release()


def _current(make: Callable[..., Any]) -> Any:
    """The context of the window system that is current in this thread, or None."""
    try:
        return make(mode="detect")
    except Exception:  # glcontext has no narrower word for "there is none"
        return None


def _leave() -> None:
    """Have no context of the window system current in this thread, for which glcontext has no function."""
    if sys.platform == "win32":
        ctypes.WinDLL("opengl32").wglMakeCurrent(None, None)
    elif sys.platform == "darwin":
        _function(_load("OpenGL", "OpenGL"), "CGLSetCurrentContext", ctypes.c_int, ctypes.c_void_p)(None)
    else:
        library, pointer = _load("GL", "libGL.so.1"), ctypes.c_void_p
        display = _function(library, "glXGetCurrentDisplay", pointer)()
        _function(library, "glXMakeCurrent", ctypes.c_int, pointer, ctypes.c_ulong, pointer)(display, 0, None)


BACKENDS: dict[str, type[Backend]] = {
    backend.name: backend
    for backend in ((WindowSystem,) if sys.platform in ("win32", "darwin") else (EGL, OSMesa, WindowSystem))
}
"""What makes contexts on this system, best first, by its name."""


def _load(name: str, soname: str) -> ctypes.CDLL:
    """A shared library, by its soname, else by the name that PyOpenGL would find it by, for which programs run."""
    try:
        return ctypes.CDLL(soname, mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        if (found := ctypes.util.find_library(name)) is None:
            raise OSError(f"{soname} is not installed") from error
        return ctypes.CDLL(found, mode=ctypes.RTLD_GLOBAL)


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
            forked = "OpenGL does not survive a fork, and this process was forked from one that had drawn a picture"
            raise DeviceError(f'{forked}; start workers with multiprocessing.get_context("spawn")')
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
    platform, names = sys.modules.get("OpenGL.platform"), " or ".join(BACKENDS)
    if platform is not None:
        class_name = type(getattr(platform, "PLATFORM", None)).__name__
        bound = next((name for name in BACKENDS if class_name.lower() == f"{_PLATFORMS.get(name, name)}platform"), None)
        if bound is None:
            raise DeviceError(
                f"PyOpenGL is already imported in this process and bound to a window system ({class_name}): set "
                f"{_VARIABLE} to {names} before that import, or draw in another process"
            )
        wanted = [bound]
    else:
        asked = os.environ.get(_VARIABLE, "").lower()
        if asked and asked not in BACKENDS:
            raise DeviceError(f"{_VARIABLE}={asked} asks PyOpenGL for a window system: unset it, or set it to {names}")
        wanted = [asked] if asked else list(BACKENDS)
    reasons = []
    for name in wanted:
        try:
            with cache_with_room():
                return BACKENDS[name]()
        except (OSError, AttributeError) as error:  # AttributeError: the library is too old to have a function
            reasons.append(f"{name}: {error}")
    raise DeviceError(f"no OpenGL without a window: {', '.join(reasons)}; {_ADVICE}")


def _import_gl(platform: str) -> Any:
    """Import `OpenGL.GL` bound to the platform, leaving the environment as it was."""
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = platform
    try:
        return importlib.import_module("OpenGL.GL")
    except (ImportError, AttributeError, TypeError) as error:  # what PyOpenGL raises for libraries that it cannot load
        raise DeviceError(
            f"PyOpenGL >= 3.1.7 does not load for {platform} ({error}); install it, or {_ADVICE}"
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
