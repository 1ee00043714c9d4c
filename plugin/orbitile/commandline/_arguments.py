"""Arguments that several commands share, and what is read from their text."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ..base.arguments import FLAG, TEXT, Argument, number
from ..base.errors import OrbitileError
from ..base.memory import require_memory

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from ..model.external_charges import ExternalCharges
    from ..scf.calculation import Calculation

_FIELD = "homo, lumo+1, mo:17:beta, density, spin, elf, esp, ... (default: homo; `orbitile fields` lists them)"
SEVERAL = "lists and ranges of orbitals: homo,lumo, homo-2..lumo, mo:1-10"
"""How several orbitals are named."""

MANY_DEVICES = "; GPUs by number: cuda:1, cuda:0,1, cuda:all; or a Dask cluster: dask:tcp://host:8786"
"""Devices that only volumes are computed on, for help."""

_LARGEST_PICTURE = 16384
"""Pixels along an edge: what graphics drivers draw at most, and a metre and more in print."""

_BYTES_A_PIXEL = 16
"""What a picture takes while it is drawn: four bytes, in as many places."""


class Parser(argparse.ArgumentParser):
    """Parser whose errors are of one line, whatever was typed."""

    def error(self, message: str) -> NoReturn:
        """Print the usage and an error, and end with status 2."""
        super().error(str(OrbitileError(message)))


class CommandParser(Parser):
    """Parser of a command whose options may stand before, among and behind the others: `FILE -o OUT FIELD`."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._intermixed = False
        self._late: list[tuple[argparse.Action, Callable[[], str]]] = []

    def add_argument_of_formats(self, *names: str, help: Callable[[], str], **named: Any) -> None:
        """Add an argument whose help tells the formats there are: they are looked for when the help is printed."""
        self._late.append((self.add_argument(*names, **named, help="..."), help))

    def format_help(self) -> str:
        """Text of the help."""
        for action, text in self._late:
            action.help = text()
        return super().format_help()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As of an `ArgumentParser`, which by itself gives up optional arguments at the first option."""
        if self._intermixed:  # called by what is called below
            return super().parse_known_args(args, namespace)
        self._intermixed = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._intermixed = False


# What a command reads ---------------------------------------------------------------------------------------------


def add_common(parser: CommandParser) -> None:
    """Add the options that all commands have."""
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    parser.add_argument("-q", "--quiet", action="store_true", help="no notes and no progress bar")


def add_file(parser: CommandParser, more: str = "") -> None:
    """Add the file of a wavefunction, and which frame of it; `more` names what else it may be."""
    parser.add_argument("file", metavar="FILE", help=f"{_FILE}{more} (`orbitile info --help` lists all formats)")
    add_frame(parser)


_FILE = (
    "output of a quantum-chemistry program: a Molden, .fchk, .wfn, .wfx or .gbw file, a log of Gaussian, ORCA, Q-Chem, "
    "..., a PySCF checkpoint, a folder of Turbomole, ..."
)

VOLUMES_TOO = "; or a volume, such as a cube file"
"""What else FILE may be where no wavefunction is needed."""


def add_any_file(parser: CommandParser) -> None:
    """Add the file of a wavefunction or of volumes, with all formats that are known, and which frame of it."""

    def known_formats() -> str:
        from ..readers import descriptions

        return (
            f"output of a quantum-chemistry program: {'; '.join(descriptions('wavefunction'))}. Volumes: "
            f"{'; '.join(descriptions('volume'))}"
        )

    parser.add_argument_of_formats("file", metavar="FILE", help=known_formats)
    add_frame(parser)


def add_frame(parser: CommandParser) -> None:
    """Add which frame of a file to use, and the option to read damaged files."""
    parser.add_argument("--frame", type=int, metavar="N", help="frame of a trajectory to use, counted from 1")
    add_accept_damaged(parser)


def add_accept_damaged(parser: CommandParser) -> None:
    """Add the option to read files whose orbitals are not orthonormal."""
    parser.add_argument(
        "--accept-damaged",
        action="store_true",
        help="read a file although its orbitals are not orthonormal; whatever is shown of it says so",
    )


def add_trajectory(parser: CommandParser) -> None:
    """Add the file or files of a trajectory."""

    def known_formats() -> str:
        from ..readers import descriptions

        return f"{'; '.join(descriptions('trajectory'))}; or a pattern in quotes such as 'scan/*.molden'"

    parser.add_argument_of_formats("trajectory", metavar="TRAJ", help=known_formats)
    add_accept_damaged(parser)


def add_geometries(parser: CommandParser) -> None:
    """Add a trajectory without orbitals, and what names its elements."""

    def known_formats() -> str:
        from ..readers import descriptions

        return "; ".join([*descriptions("geometries"), "any file with a wavefunction"])

    parser.add_argument_of_formats("geometries", metavar="TRAJ", help=known_formats)
    parser.add_argument("--topology", metavar="FILE", help="pdb, gro, psf, prmtop: names the elements of TRAJ")


def add_field(parser: CommandParser, more: str = "") -> None:
    """Add one field, and its isovalue; `more` says what else it may be."""
    parser.add_argument("field", metavar="FIELD", nargs="?", default="homo", help=f"{_FIELD}{more}")
    add_option(parser, "isovalue")


def add_fields(parser: CommandParser) -> None:
    """Add one field or more, and their isovalues."""
    parser.add_argument("fields", metavar="FIELD", nargs="*", default=(), help=f"{_FIELD}; one or more, also {SEVERAL}")
    one_or_more = "in atomic units, one for all fields or one for each"
    add_option(parser, "isovalue", kind=TEXT, metavar="V[,V...]", help=one_or_more)


# How it computes --------------------------------------------------------------------------------------------------


def add_option(group: Any, option: str | Argument, more: str = "", *, as_text: bool = False, **instead: Any) -> None:
    """Add an option as it is declared.

    Parameters
    ----------
    group
        Of arguments.
    option : str or Argument
        One of `pictures.request.OPTIONS` by name, or the declaration of another one.
    more : str
        Of its help, behind the default.
    as_text : bool
        Whether its text is handed on as it is, to be read by its kind.
    instead
        Parts of the declaration that are others here.
    """
    if isinstance(option, str):
        from ..pictures.request import OPTIONS

        option = OPTIONS[option]
    if "default" in instead:
        instead = {"otherwise": str(instead["default"]), **instead}
    option = replace(option, **instead)
    name, kind = f"--{option.name.replace('_', '-')}", option.kind
    default = f"(default: {option.otherwise})" if option.otherwise else ""
    text = f"{' '.join(filter(None, (option.help, default)))}{more}".replace("%", "%%")
    if kind is FLAG:
        group.add_argument(name, action="store_true", help=text)
    elif as_text:
        metavar = "|".join(kind.choices) or _METAVARS.get(kind.name, kind.name.upper())
        group.add_argument(name, default="", metavar=metavar, required=option.required, help=text)
    elif kind.choices:
        group.add_argument(name, choices=kind.choices, default=option.default, help=text)
    else:
        read = {"float": number, "int": int}.get(kind.name)
        stands = getattr(option, "metavar", "") or None
        group.add_argument(name, default=option.default or None, type=read, metavar=stands, help=text)


_METAVARS = {"float": "NUMBER", "int": "N", "string": "TEXT"}
"""What people read in the place of names that consoles have for kinds."""


def add_sampling(parser: CommandParser, more_quality: str = "", more_devices: str = "") -> None:
    """Add what decides on lattice, device, precision and kernel, with more to say of two of them."""
    group = parser.add_argument_group("sampling")
    add_option(group, "quality", more_quality)
    step = group.add_mutually_exclusive_group()
    add_option(step, "spacing")
    add_option(step, "points")
    add_option(group, "margin")
    add_option(group, "device", more_devices)
    add_option(group, "precision")
    add_option(group, "kernel")


def add_level(group: Any) -> None:
    """Add the level of the quadrature."""
    group.add_argument(
        "--level",
        type=int,
        default=3,
        metavar="N",
        help="level of the quadrature grid, 0 (coarse) to 9 (fine) (default: 3)",
    )


def add_solvent(parser: Any, default: str) -> None:
    """Add what surrounds the molecule; by default what that text says."""
    parser.add_argument(
        "--solvent",
        metavar="NAME|EPS",
        help="solvent around the molecule by its name, such as water or thf, or its dielectric constant, as a "
        f"conductor-like polarisable continuum; vacuum for none (default: {default})",
    )


def add_external_charges(parser: Any) -> None:
    """Add the charges in whose field the molecule is."""
    parser.add_argument(
        "--external-charges",
        metavar="FILE",
        help="point charges around the molecule, in whose field it is: a .pqr file, or lines of x y z q (Angstrom, e); "
        "without the atoms of the molecule (default: none)",
    )


def read_external_charges(options: argparse.Namespace) -> ExternalCharges | None:
    """The charges that were asked for."""
    if options.external_charges is None:
        return None
    from ..model.external_charges import ExternalCharges
    from ..readers import load_charges

    found = load_charges(options.external_charges)
    return ExternalCharges(found.positions, found.charges)


def add_calculation(parser: Any, method: str, *, of_region: bool = False) -> None:
    """Add a level of theory, with a method that is the default, and what computes it.

    What a file of geometries tells of it is the default of the rest; a region of a structure tells its charge and the
    charges around it.
    """
    its = "" if of_region else "that of the file, else "
    parser.add_argument(
        "--method",
        metavar="NAME",
        help="gfn2 or gfn1 (GFN-xTB: semi-empirical, valence electrons only, fast), hf, or a functional such as pbe or "
        "b3lyp, with a dispersion correction at its end if any: b3lyp-d3bj, "
        "pbe0-d4; unrestricted if there are unpaired electrons, restricted open-shell with the prefix ro: rohf, "
        f"rob3lyp (default: {its}{method})",
    )
    parser.add_argument(
        "--basis",
        metavar="NAME",
        help=f"basis set, such as '6-31g*' or cc-pvtz (default: {its}def2-svp; none with gfn1, gfn2)",
    )
    parser.add_argument(
        "--cartesian",
        action="store_true",
        default=None,
        help="Cartesian (6D, 10F) instead of spherical functions (5D, 7F); 6-31G* in Gaussian has 6D",
    )
    guess = "what bonds and hydrogens say, which is told" if of_region else f"{its}0"
    parser.add_argument("--charge", type=int, metavar="Q", help=f"charge of what is computed (default: {guess})")
    parser.add_argument(
        "--unpaired",
        type=int,
        metavar="N",
        help=f"number of unpaired electrons: the multiplicity minus 1 (default: {its}0)",
    )
    if not of_region:
        add_solvent(parser, f"{its}vacuum")
        add_external_charges(parser)
    parser.add_argument(
        "--smearing",
        type=number,
        metavar="K",
        help=f"electronic temperature in kelvin for fractional occupations (default: {its}none)",
    )
    parser.add_argument(
        "--engine",
        default="auto",
        metavar="NAME",
        help="xtb (gfn1, gfn2), orbitile (all but nonlocal correlation), gpu4pyscf or "
        "pyscf (default: auto: the one that began the file, else the first of these that can compute it)",
    )
    add_option(parser, "device", ", for the engine orbitile")
    add_option(parser, "precision")


# What it draws and writes -----------------------------------------------------------------------------------------


def add_exported(parser: CommandParser, kind: str, more: str = "") -> None:
    """Add a file to write, in one of the formats of a kind."""

    def known_formats() -> str:
        from ..exporters import suffixes

        return f"file to write: {suffixes(kind)}{more}"

    parser.add_argument_of_formats("-o", "--output", metavar="OUT", required=True, help=known_formats)


def add_plot(parser: CommandParser) -> None:
    """Add a picture that matplotlib writes."""
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="picture to write: .png, .svg, .pdf")


def add_colouring(group: Any) -> None:
    """Add a second field that colours a surface, and the range of the colours."""
    add_option(group, "color_by", "; its extrema on the surface are printed")
    add_option(group, "color_range")


# What stands in the text of an argument ---------------------------------------------------------------------------


def read_size(text: str) -> tuple[int, int]:
    """Width and height of a picture in pixels."""
    width, _, height = text.lower().partition("x")
    if not all(re.fullmatch(r"[0-9]{1,9}", part) and int(part) for part in (width, height)):
        raise OrbitileError(f"--size: expected WxH in pixels such as 1600x1200, got {text!r}")
    if max(int(width), int(height)) > _LARGEST_PICTURE:
        raise OrbitileError(f"--size: expected at most {_LARGEST_PICTURE} pixels along each edge, got {text}")
    require_memory(_BYTES_A_PIXEL * int(width) * int(height), f"--size {text}: the picture", "choose a smaller one")
    return int(width), int(height)


def read_atoms(option: str, text: str) -> list[int]:
    """Atoms, counted from 0, as a user counts them from 1."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) < 3 or not all(re.fullmatch(r"[0-9]{1,9}", part) for part in parts):
        raise OrbitileError(f"{option}: expected three atoms or more separated by commas, such as 1,2,3, got {text!r}")
    return [int(part) - 1 for part in parts]


def read_calculation(options: argparse.Namespace, method: str) -> Calculation:
    """The level of theory that was asked for; what was not is that of the file, and what differs is told."""
    from dataclasses import fields

    from ..scf.calculation import Calculation
    from ..scf.from_file import calculation_of_file
    from ._console import tell

    named = {part.name: getattr(options, part.name, None) for part in fields(Calculation)}
    named["external_charges"] = read_external_charges(options)
    given = {name: value for name, value in named.items() if value is not None}
    calculation, remarks = calculation_of_file(
        options.geometries, given, Calculation(method), options.topology, options.engine
    )
    for remark in remarks:
        tell(f"{Path(options.geometries).name}: {remark}")
    return calculation


# Workers ----------------------------------------------------------------------------------------------------------


def add_executor(parser: Any) -> None:
    """Add the options that say which processes do the work."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--workers", type=int, metavar="N", help="number of processes on this machine, which share its cores"
    )
    group.add_argument(
        "--dask", metavar="ADDRESS", help="scheduler of a Dask cluster, such as tcp://host:8786 (extra cluster)"
    )


@contextmanager
def executor_of(options: argparse.Namespace, default: int | None = None) -> Iterator[Executor | None]:
    """Workers that the options ask for, ended at the end of the block: in order, or at once after an error.

    Parameters
    ----------
    options
        Of a command with `add_executor`.
    default
        Number of workers on this machine if none are asked for; without it, None stands for this process alone.

    Raises
    ------
    OrbitileError
        When the number of workers is none, or there is no cluster.
    """
    from ..workers import local_workers

    n = default if options.workers is None and options.dask is None else options.workers
    if n is not None and n < 1:
        raise OrbitileError(f"--workers: expected 1 or more, got {n}")
    executor: Executor | None = None
    if options.dask is not None:
        from ..workers.dask import dask_executor

        executor = dask_executor(options.dask)
    elif n is not None:
        executor = local_workers(n)
    if executor is None:
        yield None
        return
    try:
        yield executor
    except BaseException:
        executor.shutdown(cancel_futures=True)
        raise
    executor.shutdown()
