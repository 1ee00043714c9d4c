"""The compiler: the one place where it is imported, and where its private parts are used.

Kernels take `ti` from here. It is Taichi; or Quadrants, which has grown from it, where Taichi is not installed (it has
no wheels for Python 3.14) or where `ORBITILE_COMPILER=quadrants` asks for it.
"""

import contextlib
import ctypes
import functools
import gc
import hashlib
import importlib
import importlib.util
import inspect
import io
import linecache
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import FrameType, FunctionType
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import numpy as np

from .cache_folder import cache_with_room, ensure_cache_folder
from .devices import DeviceUnavailable

COMPILERS = ("taichi", "quadrants")

_SETTINGS = {
    "ENABLE_TAICHI_HEADER_PRINT": "0",
    "TI_ENABLE_PYBUF": "0",  # no kernel prints, and notebooks need not hear that one could
    "QD_ENABLE_PYBUF": "0",
    "TI_SKIP_VERSION_CHECK": "ON",  # it would ask a server
    # In 100 MB, as they would have it, kernels of two devices and two versions drive one another out.
    "TI_OFFLINE_CACHE_MAX_SIZE_OF_FILES": str(512 << 20),
    "QD_OFFLINE_CACHE_MAX_SIZE_OF_FILES": str(512 << 20),
}
"""Environment variables that the compilers read when they are imported or started, unless the user has set them."""


@contextmanager
def _quietly() -> Iterator[None]:
    """With these variables, and without what compilers announce on standard output, where our results go."""
    added = [name for name in _SETTINGS if name not in os.environ]
    os.environ.update({name: _SETTINGS[name] for name in added})
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def _chosen() -> str:
    name = os.environ.get("ORBITILE_COMPILER", "").lower()
    if name and name not in COMPILERS:
        raise DeviceUnavailable(f"ORBITILE_COMPILER: expected {' or '.join(COMPILERS)}, got {name!r}")
    found = [compiler for compiler in ([name] if name else COMPILERS) if importlib.util.find_spec(compiler)]
    if not found:
        raise DeviceUnavailable(f"there is no compiler for kernels: install {name or ' or '.join(COMPILERS)}")
    return found[0]


def _line_of(frame: FrameType, context: int = 1) -> inspect.Traceback:
    """What `inspect.getframeinfo` tells, without a search among all modules for the one that a frame belongs to."""
    file, number = frame.f_code.co_filename, frame.f_lineno
    return inspect.Traceback(file, number, frame.f_code.co_name, [linecache.getline(file, number, frame.f_globals)], 0)


class _Replaced(AbstractContextManager[None]):
    """Other values of attributes of some owners, those that have them, within a block.

    Blocks may lie within one another, of one thread at a time. It is made once for many blocks.
    """

    def __init__(self, *places: tuple[Any, str, Any]) -> None:
        self._places = [(*place, getattr(*place[:2])) for place in places if hasattr(*place[:2])]
        self._depth = 0

    def __enter__(self) -> None:
        if not self._depth:
            for owner, name, value, _ in self._places:
                setattr(owner, name, value)
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            for owner, name, _, before in self._places:
                setattr(owner, name, before)


def _imported() -> Any:
    ensure_cache_folder()
    # for each of a hundred functions a compiler asks for the line that it is in: most of the time of the import
    with _quietly(), warnings.catch_warnings(), _Replaced((inspect, "getframeinfo", _line_of)):
        # Python 3.12 and later complain about strings in Taichi's sources when they are compiled for the first time
        warnings.filterwarnings("ignore", category=SyntaxWarning)
        return importlib.import_module(COMPILER)


COMPILER = _chosen()
"""The name of the compiler."""

ti = _imported()

_impl = importlib.import_module(f"{COMPILER}.lang.impl")
_kernel_impl = importlib.import_module(f"{COMPILER}.lang.kernel_impl")
_transformer = importlib.import_module(f"{COMPILER}.lang.ast.ast_transformer_utils")
_sources = importlib.import_module(f"{COMPILER}.lang._wrap_inspect")

ScalarArray: type = importlib.import_module(f"{COMPILER}.lang._ndarray").ScalarNdarray
"""The class of the compiler's arrays of numbers on the device."""

FINALISERS = ("__del__", "_reset")
"""Methods that are called of an array when it dies, and when the program ends that it belongs to."""

_NUMBERS = {np.dtype(np.int32): ti.i32, np.dtype(np.float32): ti.f32, np.dtype(np.float64): ti.f64}


def number(dtype: object) -> Any:
    """The compiler's type for numbers of a NumPy type: int32, float32 or single, float64 or double."""
    return _NUMBERS[np.dtype(dtype)]


def dtype_of(array: Any) -> "np.dtype[Any]":
    """NumPy's type of the numbers in one of the compiler's arrays of numbers."""
    return next(dtype for dtype, kind in _NUMBERS.items() if kind == array.element_type)


def start(device: str, threads: int | None = None) -> str:
    """Start the compiler on a device, or on the CPU where that fails; whatever it raises is a reason why not.

    Returns
    -------
    str
        The device that it runs on.
    """
    settings = {} if threads is None else {"cpu_max_num_threads": threads}
    _forget_launches()
    with _quietly(), cache_with_room():
        ti.init(
            arch={"cuda": ti.cuda, "vulkan": ti.vulkan, "cpu": ti.cpu}[device],
            log_level=ti.ERROR,
            offline_cache=True,
            fast_math=True,
            unrolling_limit=0,  # no warnings about loops that are unrolled on purpose
            **settings,
        )
    return running()


def synchronise() -> None:
    """Wait until the device has finished what was launched."""
    _impl.get_runtime().prog.synchronize()


def running() -> str:
    """The device that the compiler runs on."""
    return _device_of(_impl.current_cfg().arch)


@functools.lru_cache(maxsize=16)
def _device_of(architecture: Any) -> str:
    name = str(architecture).rpartition(".")[2]
    return "cpu" if name in ("x64", "arm64") else name


def host_threads() -> int:
    """Threads of the CPU among which a loop is shared out there."""
    return int(_impl.current_cfg().cpu_max_num_threads)


def end() -> None:
    """End the compiler, whereupon it writes what it has compiled to its cache, and arrays on the device are gone."""
    _forget_launches()
    ti.reset()


def leave_alone() -> None:
    """Never end what runs, not even with the interpreter: its threads (in a fork) or its device are not there."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_impl.get_runtime().prog))


def goes_on() -> bool:
    """Whether the device takes commands: one that was lost refuses all that the program asks for from then on."""
    try:
        ti.sync()
    except Exception:  # a compiler raises whatever its driver does
        return False
    return True


def identity() -> str:
    """The compiler, its version and the folder of its cache: together they say whose compiled kernels are found."""
    return f"{COMPILER} {ti.__version__} {kept_in()}"


def kept_in() -> Path:
    """The folder of its cache: in it, a file for each kernel that it has compiled."""
    return Path(_impl.current_cfg().offline_cache_file_path)


def without_locations() -> AbstractContextManager[None]:
    """Do without what is prepared for messages about errors in kernels, at two thirds of the time of the front end.

    For every node of a kernel it lays out the line of source that the node stands in, for every kernel it looks up
    whether a class surrounds it, and for every function it searches all modules for the one that it is from. The
    compiled kernels do not depend on any of it. A version that lacks one of these functions is left alone.
    """
    return _without_locations


def _line_for(self: Any, node: Any) -> str:
    return f"{self.file}, line {node.lineno + self.lineno_offset}:\n"


def _file_of(function: FunctionType) -> str:
    return function.__code__.co_filename


@functools.lru_cache(maxsize=256)  # the compiler asks at every call of a function
def _lines_of(function: FunctionType) -> tuple[list[str], int]:
    """Lines of source of a function, and the number of the first."""
    file, first = _file_of(function), function.__code__.co_firstlineno
    lines = linecache.getlines(file, function.__globals__)[first - 1 :]
    return lines if file.startswith("<") else inspect.getblock(lines), first  # one that is written out is its file


_context = _transformer.ASTTransformerFuncContext if COMPILER == "quadrants" else _transformer.ASTTransformerContext

_without_locations = _Replaced(
    (_context, "get_pos_info", _line_for),
    (_context, "memoized_get_pos_info", _line_for),
    (_kernel_impl, "_inside_class", lambda level_of_class_stackframe: False),
    *((owner, "getsourcelines", _lines_of) for owner in (_kernel_impl, _sources)),
    *((owner, "getsourcefile", _file_of) for owner in (_kernel_impl, _sources)),
)
"""What `without_locations` replaces, and by what."""


@contextmanager
def _without(option: str, devices: tuple[str, ...]) -> Iterator[None]:
    """Compile for some devices without an option of the compiler. A version that lacks the option is left alone."""
    config = _impl.current_cfg()
    before = getattr(config, option, None)
    if before is None or running() not in devices:
        yield
        return
    setattr(config, option, False)
    try:
        yield
    finally:
        setattr(config, option, before)


def _compiled_without(kernel: Callable[..., Any], option: str, *devices: str) -> Callable[..., Any]:
    setting = functools.partial(_without, option, devices)

    @functools.wraps(kernel)
    def launched(**arguments: Any) -> Any:
        with setting():
            return call(kernel, arguments)

    launched.compiled_in, launched.takes_names = setting, True  # type: ignore[attr-defined]  # for `Launch` and `call`
    return launched


def lightly_optimised(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that is compiled for a CPU without the compiler's own optimisation, where LLVM makes the same of it.

    That is most of the time for a kernel of many steps: 4 s of 5. The machine code computes the same digits, as fast.
    """
    return _compiled_without(kernel, "advanced_optimization", "cpu")


def with_vectors(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that is compiled for a CPU or CUDA with the vectors of its source, for which there are instructions.

    By default the compiler takes vectors apart, and LLVM finds again some of what belongs together. Vectors have to
    be of 2, 4, 8 or 16 numbers: LLVM has others end where the next one begins at a multiple of their alignment.
    """
    return _compiled_without(kernel, "real_matrix_scalarize", "cpu", "cuda")


def quick(kernel: Callable[..., Any]) -> Callable[..., None]:
    """A kernel without return value, which is launched without the checks of Taichi's own call: they take 0.1 ms.

    Arrays have to be of the types that the kernel declares, and those of NumPy C-ordered. These go to a GPU by the own
    call, which copies them there and back.
    """

    @functools.wraps(kernel)
    def launched(**arguments: Any) -> None:
        copied = running() != "cpu" and any(isinstance(value, np.ndarray) for value in arguments.values())
        if COMPILER != "taichi" or copied:  # the own call of the other one is quick
            call(kernel, arguments)
            return
        launch = _launches.get(launched)
        if launch is None:
            launch = _launches[launched] = Launch(kernel, arguments)
        launch.launch_with(arguments)

    launched.takes_names = True  # type: ignore[attr-defined]  # for `call`
    return launched


_launches: "WeakKeyDictionary[Callable[..., None], Launch]" = WeakKeyDictionary()
"""Quick kernels of what runs now."""


def _forget_launches() -> None:
    """Let go of what runs before it ends: a program that went later would free memory of the one that runs then."""
    _launches.clear()
    for launch in list(_held):
        launch.forget()
    _held.clear()


_held: "WeakSet[Launch]" = WeakSet()
"""All launches of what runs now, whoever keeps them."""


def delete(attributes: dict[str, Any]) -> None:
    """Free the memory of an array that died and left its attributes."""
    _impl.get_runtime().prog.delete_ndarray(attributes["arr"])


def fill(array: Any, value: float) -> None:
    """Set all numbers of an array."""
    array._fill_by_kernel(value)


def address(array: Any) -> int:
    """Where the values of an array lie in the memory of the device."""
    return int(_impl.get_runtime().prog.get_ndarray_data_ptr_as_int(array.arr))


def copy_to(values: "np.ndarray", array: Any) -> None:
    """Copy an array of numbers on the device to an array of its shape and type on the host."""
    importlib.import_module(f"{COMPILER}._kernels").ndarray_to_ext_arr(array, values)
    ti.sync()


class Launch:
    """A compiled kernel, launched without the checks of the compiler's own call, which take longer than a fast kernel.

    Parameters
    ----------
    kernel
        A kernel without return value.
    arguments
        Those of the first call by name, from which its types are read: integers, reals, arrays on the device, and with
        Taichi those of NumPy. There may be values that are none of its arguments. It is compiled, and not yet launched.

    Raises
    ------
    TypeError
        When an argument is missing; here, and in each call.
    """

    def __init__(self, kernel: Any, arguments: Mapping[str, Any]) -> None:
        self._names = names = _names_of(kernel)
        _require_all(names, arguments)
        primal = kernel._primal
        if COMPILER == "quadrants":  # as its own call does
            primal.raise_on_templated_floats = _impl.current_cfg().raise_on_templated_floats
        self._program = program = _impl.get_runtime().prog
        _held.add(self)
        with getattr(kernel, "compiled_in", contextlib.nullcontext)(), _uncollected():
            key = primal.ensure_compiled(*(arguments[name] for name in names))
            if COMPILER == "quadrants":
                self._kernel = primal.materialized_kernels[key]
                result = program.compile_kernel(program.config(), program.get_device_caps(), self._kernel)
                self._compiled = result.compiled_kernel_data
            else:
                self._kernel = primal.compiled_kernels[key]
                self._compiled = program.compile_kernel(program.config(), program.get_device_caps(), self._kernel)
        places: dict[str, list[tuple[int, str]]] = {"ndarray": [], "numpy": [], "float": [], "int": []}
        for place, name in enumerate(names):
            places[_sort_of(arguments[name])].append((place, name))
        self._arrays, self._reals, self._integers = places["ndarray"], places["float"], places["int"]
        self._of_numpy = [
            (place, name, arguments[name].dtype, _lanes(primal, place)) for place, name in places["numpy"]
        ]

    def forget(self) -> None:
        """Let go of the compiled kernel and of what runs it; it cannot be launched any more."""
        self._program = self._kernel = self._compiled = None

    def __call__(self, arguments: Mapping[str, Any]) -> None:
        """Launch it with arguments of the same types; it may still run when this returns."""
        context = self._kernel.make_launch_context()
        try:
            self._set_arguments(context, arguments)
        except KeyError:
            _require_all(self._names, arguments)
            raise
        self._program.launch_kernel(self._compiled, context)

    def _set_arguments(self, context: Any, arguments: Mapping[str, Any]) -> None:
        arrays, reals, integers = self._arrays, self._reals, self._integers
        if COMPILER == "quadrants":
            context.set_args_ndarray([place for place, _ in arrays], [arguments[name].arr for _, name in arrays])
            context.set_args_float([place for place, _ in reals], [arguments[name] for _, name in reals])
            context.set_args_int([place for place, _ in integers], [arguments[name] for _, name in integers])
            return
        for place, name in arrays:
            context.set_arg_ndarray((place,), arguments[name].arr)
        for place, name, dtype, lanes in self._of_numpy:
            array = arguments[name]
            if array.dtype != dtype or not array.flags.c_contiguous:
                raise TypeError(f"argument {name}: expected a C-ordered array of {dtype}, got {array.dtype}")
            shape = array.shape[: array.ndim - lanes]
            context.set_arg_external_array_with_shape((place,), array.ctypes.data, array.nbytes, shape, 0)
        for place, name in reals:
            context.set_arg_float((place,), arguments[name])
        for place, name in integers:
            context.set_arg_int((place,), int(arguments[name]))

    def launch_with(self, arguments: Mapping[str, Any]) -> None:
        """The same; a value that is none of the arguments is an error."""
        _require_no_others(self._names, arguments)
        self(arguments)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without the collector of cycles, which would go through all of the process for what a front end makes."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@functools.lru_cache(maxsize=256)
def _names_of(kernel: Callable[..., Any]) -> tuple[str, ...]:
    """Names of the arguments of a kernel, in order."""
    return tuple(inspect.signature(kernel).parameters)


def _require_all(names: tuple[str, ...], arguments: Mapping[str, Any]) -> None:
    if missing := set(names) - set(arguments):
        raise TypeError(f"arguments of the kernel are missing: {sorted(missing)}")


def _require_no_others(names: tuple[str, ...], arguments: Mapping[str, Any]) -> None:
    if len(arguments) != len(names):
        _require_all(names, arguments)
        raise TypeError(f"the kernel has no arguments {sorted(set(arguments) - set(names))}")


def call(kernel: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Call a kernel with arguments by name, which the compiler's own call takes much longer to look up than a dict."""
    if hasattr(kernel, "takes_names"):
        return kernel(**arguments)
    names = _names_of(kernel)
    _require_no_others(names, arguments)
    _require_all(names, arguments)
    return kernel(*(arguments[name] for name in names))


def _sort_of(argument: Any) -> str:
    if hasattr(argument, "arr"):
        return "ndarray"
    if isinstance(argument, np.ndarray):
        return "numpy"
    return "float" if isinstance(argument, float) else "int"


def _lanes(primal: Any, place: int) -> int:
    """How many of the last axes of an array are those of the vectors that are its elements."""
    return getattr(primal.arguments[place].annotation.dtype, "ndim", 0)


def kernel_from(source: str, title: str, names: dict[str, Any]) -> Any:
    """The kernel of a source that defines it as `kernel`, with the names that it uses beside `ti`."""
    file, names = f"<{title}, {hashlib.sha256(source.encode()).hexdigest()}>", {"ti": ti, **names}
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)  # where the compiler looks
    exec(compile(source, file, "exec"), names)
    return names["kernel"]
