"""Orbitals on a lattice by the direct sum, with a kernel generated for one molecule.

Stone et al. (GPGPU 2009, section 4, doi 10.1145/1513895.1513897) generate source in which the loops over shells,
primitives and powers are written out. Here each distinct basis of the molecule becomes such a piece of source, with its
exponents and contraction coefficients as constants, in a loop over the atoms that have it; positions and orbital
coefficients stay arguments, so one kernel serves all orbitals and all frames of a trajectory. Exponents that shells
share, as in SP shells and general contractions, are evaluated once, and those that are nothing at a distance not at
all.

To compile takes seconds, in which Taichi lets nothing else happen in its process. Another process does it therefore:
`compile_source` fills Taichi's cache of compiled kernels and leaves a mark beside the source. A Taichi program reads
that cache once, when it starts, so a kernel that came later is taken up by starting Taichi anew, which happens only
where no result is left on the device. Until then the caller has to do without.

Sources and marks are in `orbitile/molecules` of the cache folder of the user, by a digest of the source, Taichi's
version and the place of its cache: what another version has compiled, or for another cache, is not found in this one.
"""

import hashlib
import os
import warnings
from collections.abc import Callable
from concurrent import futures
from concurrent.futures import Future
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from .._taichi import identity, number, ti
from ..arrays import DeviceArray
from ..cache_folder import folder_for, made
from ..kept_arrays import KeptArrays
from ..launching import launch
from ..session import finish, generation, renew, session
from ..target import Target
from .radial.exact import power_of_two
from .shells import LANES, Place, Shells

LARGEST = 400
"""Exponents, primitives and coefficients that are written out, at most: compilation takes minutes beyond."""

_NOTHING = {"single": 40.0, "double": 90.0}
"""Value of zeta R^2 from which on a primitive is not evaluated: e^-40 = 4e-18."""

_HEAD = """\
@ti.kernel
def kernel(
    ny: ti.i32, nz: ti.i32, n_tasks: ti.i32, along_x: V3, along_y: V3, along_z: V3, basis_first_atom: I1,
    atom_step: Steps, atom_rest: Rests, atom_first_coefficient: I1, atom_first_shell: I1, shell_reach: R1,
    atom_reach: R1, coefficient: R1, out: Result,
):
    ti.loop_config(block_dim=BLOCK)
    for task in range(n_tasks):
        groups = (nz + LANES - 1) // LANES
        k = task % groups * LANES
        j = task // groups % ny
        i = task // groups // ny
        total = L(0.0)
"""

_ATOMS = """\
        for a in range(basis_first_atom[{basis}], basis_first_atom[{basis} + 1]):
            n = ti.cast(ti.Vector([i, j, k]) - atom_step[a], real)
            d = n[0] * along_x + n[1] * along_y + n[2] * along_z - atom_rest[a]
            x = d[0] + L(RAMP) * along_z[0]
            y = d[1] + L(RAMP) * along_z[1]
            z = d[2] + L(RAMP) * along_z[2]
            square = x * x + y * y + z * z
            nearest = square.min()
            if nearest < atom_reach[a]:
                c = atom_first_coefficient[a]
                s = atom_first_shell[a]
"""

_TAIL = """\
        for lane in ti.static(range(LANES)):
            if k + lane < nz:
                out[i, j, k + lane] = ti.cast(total[lane], kept)
"""


def size_of(shells: Shells) -> int:
    """Exponents, primitives and coefficients that the source for a molecule has."""
    total = 0
    for basis in range(len(shells.basis_first_shell) - 1):
        first, end = shells.basis_first_shell[basis : basis + 2]
        p = slice(shells.shell_first_primitive[first], shells.shell_first_primitive[end])
        l = shells.shell_angular_momentum[first:end]
        total += len(np.unique(shells.exponent[p])) + len(shells.exponent[p]) + int(((l + 1) * (l + 2) // 2).sum())
    return total


def source_of(shells: Shells) -> str:
    """Source of the kernel for a molecule."""
    text = _HEAD
    for basis in range(len(shells.basis_first_shell) - 1):
        text += _ATOMS.format(basis=basis) + "".join(" " * 16 + line + "\n" for line in _of_basis(shells, basis))
    return text + _TAIL


def _of_basis(shells, basis):
    """Statements for one atom: its Gaussians, each exponent once, then its shells."""
    first, end = shells.basis_first_shell[basis : basis + 2].tolist()
    exponents = shells.exponent[shells.shell_first_primitive[first] : shells.shell_first_primitive[end]]
    names = {zeta: f"g{n}" for n, zeta in enumerate(np.unique(exponents).tolist())}
    owner = np.repeat(np.arange(end - first), np.diff(shells.shell_first_primitive[first : end + 1]))
    for zeta, name in names.items():
        farthest = f"real({1.0 / zeta!r} * NOTHING)"
        reaches = [f"shell_reach[s + {n}]" for n in np.unique(owner[exponents == zeta])]
        needed = reaches[0] if len(reaches) == 1 else f"ti.max({', '.join(reaches)})"
        yield f"{name} = L(0.0)"
        yield f"if nearest < ti.min({farthest}, {needed}):"
        yield f"    {name} = power(square * real({-1.4426950408889634 * zeta!r}))"
    at = 0
    for shell in range(first, end):
        l = int(shells.shell_angular_momentum[shell])
        primitives = range(*shells.shell_first_primitive[shell : shell + 2].tolist())
        radial = " + ".join(
            f"real({float(shells.contraction[p])!r}) * {names[float(shells.exponent[p])]}" for p in primitives
        )
        yield f"if nearest < shell_reach[s + {shell - first}]:"
        yield f"    total += ({radial}) * ({_polynomial(l, at)})"
        at += (l + 1) * (l + 2) // 2


def _polynomial(l, at):
    """Homogeneous polynomial, coefficients in alphabetical order, by Horner's rule in x."""
    text = ""
    for step in range(l + 1):
        terms = []
        for k in range(step + 1):
            factors = [f"coefficient[c + {at}]", *["y"] * (step - k), *["z"] * k]
            terms.append(" * ".join(factors))
            at += 1
        inner = " + ".join(terms)
        text = f"({text}) * x + {inner}" if text else inner
    return text


def cache_folder() -> Path:
    """Where sources and marks are kept."""
    return folder_for("molecules")


def kernel_when_ready(
    shells: Shells, target: Target, result: str, elsewhere: "Callable[..., Future[None]]"
) -> object | None:
    """The kernel for a molecule, or None while another process compiles it, which the first call starts.

    `elsewhere` calls a function with arguments in another process, as `submit` of an executor does. To be called in a
    session, with no array on the device that is still needed and was not handed out by `allocate`.

    Raises
    ------
    OSError
        When the cache folder of the user cannot be written to.
    """
    if "source" not in shells.cache:
        shells.cache["source"] = source_of(shells)
    text = shells.cache["source"]
    file = _written(text)
    mark = _mark(file, target, result)
    was_there = mark in _marks_at_start()
    if not mark.exists():
        if mark not in _compiled:
            _compiled[mark] = elsewhere(compile_source, str(file), target, result)
        elif _compiled[mark].done():
            _tell_of_failure(_compiled[mark])
        return None
    if not was_there and not renew():
        return None
    return _kernel(text, str(file), target, result)


def molecule_on_lattice(
    kernel: object,
    shells: Shells,
    coefficient: np.ndarray,
    shell_reach: np.ndarray,
    place: Place,
    target: Target,
    out: "np.ndarray | DeviceArray",
) -> None:
    """Evaluate an orbital on a slab with the kernel of its molecule; otherwise as `direct.direct_on_lattice`."""
    lanes = LANES[target.device, target.precision]
    nx, ny, nz = place.shape
    step, rest = place.of_atoms(shells.atom_position)
    bases = np.arange(len(shells.basis_first_shell))
    keep, squares = _held.operand, shell_reach**2
    launch(
        kernel,
        ny=ny,
        nz=nz,
        n_tasks=nx * ny * -(-nz // lanes),
        **place.steps(target),
        basis_first_atom=keep(target, "basis_first_atom", np.searchsorted(shells.atom_basis, bases), np.int32),
        atom_step=keep(target, "step", step, np.int32, 3),
        atom_rest=keep(target, "rest", rest, target.dtype, 3),
        atom_first_coefficient=keep(target, "first coefficient", shells.atom_first_coefficient, np.int32),
        atom_first_shell=keep(target, "first shell", shells.atom_first_shell, np.int32),
        shell_reach=keep(target, "shell reach", squares, target.dtype),
        atom_reach=keep(target, "reach", np.maximum.reduceat(squares, shells.atom_first_shell), target.dtype),
        coefficient=keep(target, "coefficient", coefficient, target.dtype),
        out=out,
    )


def wait() -> None:
    """Wait for what is compiled elsewhere."""
    futures.wait(_compiled.values())


_held = KeptArrays()
_compiled: "dict[Path, Future[None]]" = {}
_marks: "tuple[int, frozenset[Path]]" = (0, frozenset())
"""Generation of the program that runs, and the marks that were there when it was first asked for a kernel."""


def _marks_at_start() -> "frozenset[Path]":
    """Marks of kernels that the program that runs has found in the cache: times of files do not tell, clocks jump."""
    global _marks
    if _marks[0] != generation():
        _marks = generation(), frozenset(cache_folder().iterdir())
    return _marks[1]


def _written(text: str) -> Path:
    known = f"{identity()}\n{text}"
    file = made(cache_folder()) / f"{hashlib.sha256(known.encode()).hexdigest()[:32]}.py"
    if not file.exists() or file.read_bytes() != text.encode():  # Taichi compiles what stands in the file
        part = file.with_suffix(f".{os.getpid()}")
        try:
            part.write_bytes(text.encode())
            part.replace(file)
        finally:
            part.unlink(missing_ok=True)  # where the disk is full
    return file


def _mark(file: Path, target: Target, result: str) -> Path:
    return file.with_suffix(f".{target.device}-{target.precision}-{result}")


def _tell_of_failure(compiled: "Future[None]") -> None:
    if error := compiled.exception():
        warnings.warn(
            f"the kernel for this molecule could not be compiled in the background ({error}); the direct kernel serves",
            RuntimeWarning,
            stacklevel=3,
        )


@lru_cache(maxsize=32)
def _kernel(text: str, file: str, target: Target, result: str) -> object:
    real, lanes = number(target.dtype), LANES[target.device, target.precision]
    names = {
        "ti": ti,
        "real": real,
        "kept": number(result),
        "LANES": lanes,
        "RAMP": [float(n) for n in range(lanes)],
        "BLOCK": 4 if target.on_host else 128,
        "NOTHING": _NOTHING[target.precision],
        "L": ti.types.vector(lanes, real),
        "V3": ti.types.vector(3, real),
        "I1": ti.types.ndarray(ti.i32, 1),
        "R1": ti.types.ndarray(real, 1),
        "Steps": ti.types.ndarray(ti.types.vector(3, ti.i32), 1),
        "Rests": ti.types.ndarray(ti.types.vector(3, real), 1),
        "Result": ti.types.ndarray(number(result), 3),
        "power": power_of_two(target.precision),
    }
    exec(compile(text, file, "exec"), names)
    return names["kernel"]


def compile_source(path: str, target: Target, result: str) -> None:
    """Compile a source for a lattice of one point and a molecule without atoms, and leave a mark."""
    file = Path(path)
    text = file.read_text(encoding="utf-8")
    bases = text.count("for a in range(basis_first_atom")
    nobody = SimpleNamespace(
        atom_position=np.zeros((1, 3)),
        atom_basis=np.full(1, bases, np.int32),
        atom_first_coefficient=np.zeros(1, np.int32),
        atom_first_shell=np.zeros(1, np.int32),
        basis_first_shell=np.zeros(bases + 1, np.int32),
    )
    with session(target.device, "double" if "double" in (target.precision, result) else "single"):
        out = Target(target.device, result).empty((1, 1, 1))
        kernel = _kernel(text, str(file), target, result)
        place = Place(np.zeros(3), np.eye(3), (1, 1, 1), 0)
        molecule_on_lattice(kernel, nobody, np.zeros(1), np.zeros(1), place, target, out)
        finish()
    _mark(file, target, result).touch()
