"""The command `orbitile`.

Lengths on the command line are in Angstrom, energies in electronvolt, isovalues in atomic units. Results go to standard
output, notes and progress to standard error. Exit status: 0 done, 2 for a request that cannot be met (one line says
why), 1 for a defect of the program, 130 when interrupted, 143 and 129 when ended by SIGTERM and SIGHUP.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import __version__
from .errors import Cancelled, FileError, OrbitileError
from .memory import require_memory
from .workers.processes import Terminated, ended_in_order

if TYPE_CHECKING:
    from .fields import Field
    from .fields.orbital import Orbital
    from .model.lattice import Lattice
    from .model.surface import Surface
    from .model.wavefunction import Wavefunction

_EPILOG = """\
examples:
  orbitile info benzene.molden
  orbitile render benzene.molden homo -o homo.png
  orbitile render benzene.molden homo lumo --legend --scale -o frontier.png
  orbitile render job.fchk lumo+1:beta --isovalue 0.02 --quality fine --background transparent
  orbitile volume job.molden mo:17 -o mo17.cube --spacing 0.1
  orbitile volume job.molden mo:1-10 -o mo%02d.cube
  orbitile mesh job.molden homo -o homo.glb
"""


_MOST_PICTURES = 100_000
"""Of a film: an hour and more at 25 a second."""

_LARGEST_PICTURE = 16384
"""Pixels along an edge: what graphics drivers draw at most, and a metre and more in print."""

_BYTES_A_PIXEL = 16
"""What a picture takes while it is drawn: four bytes, in as many places."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    parser = _parser()
    options = parser.parse_args(_with_negative_values(sys.argv[1:] if arguments is None else list(arguments)))
    try:
        with ended_in_order():
            _refuse_to_overwrite(options)
            options.run(options)
            sys.stdout.flush()
    except OrbitileError as error:
        if options.debug:
            raise
        print(f"orbitile: {error}", file=sys.stderr)
        return 2
    except MemoryError:
        if options.debug:
            raise
        print("orbitile: out of memory; choose a larger --spacing or a smaller --margin", file=sys.stderr)
        return 2
    except KeyboardInterrupt as error:
        status = error.status if isinstance(error, Terminated) else 130
        with suppress(OSError):  # the terminal may have gone, which is what SIGHUP says
            print(f"orbitile: interrupted{f' by {error}' if str(error) else ''}", file=sys.stderr)
        return status
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if options.debug:
            raise
        print(f"orbitile: defect: {type(error).__name__}: {error} (--debug shows where)", file=sys.stderr)
        return 1
    return 0


def _with_negative_values(arguments: list[str]) -> list[str]:
    """The arguments, with values such as -60,15,0 and -1e-3 tied to their options: argparse takes them for options."""
    tied: list[str] = []
    for argument in arguments:
        if re.match(r"-[.\d]", argument) and tied and re.fullmatch(r"--[a-z][a-z-]*", tied[-1]):
            tied[-1] += f"={argument}"
        else:
            tied.append(argument)
    return tied


def _refuse_to_overwrite(options: argparse.Namespace) -> None:
    """No command writes to a file that it reads, be it the molecule, a frame, or what a field refers to."""
    if not getattr(options, "output", None):
        return
    from .files.writing import refuse_inputs

    named = vars(options)
    inputs = [named[name] for name in ("file", "trajectory", "geometries", "topology") if named.get(name)]
    inputs += named.get("files") or []
    fields = [named.get("field"), named.get("color_by"), *(named.get("fields") or [])]
    inputs += [field.partition(":")[2] for field in fields if field]
    refuse_inputs(options.output, filter(None, inputs))


class _Command(argparse.ArgumentParser):
    """Parser of a command whose options may stand before, among and behind the others: `FILE -o OUT FIELD`."""

    _intermixed = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As of an `ArgumentParser`, which by itself gives up optional arguments at the first option."""
        if self._intermixed:  # called by what is called below
            return super().parse_known_args(args, namespace)
        self._intermixed = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._intermixed = False


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--debug", action="store_true", help="show the traceback of an error")
    common.add_argument("-q", "--quiet", action="store_true", help="no notes and no progress bar")

    parser = argparse.ArgumentParser(
        prog="orbitile",
        description="Molecular orbitals from the output of quantum-chemistry programs",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"orbitile {__version__}")
    commands: Any = parser.add_subparsers(title="commands", required=True, metavar="COMMAND", parser_class=_Command)

    def command(
        name: str, run: Callable[[argparse.Namespace], None], text: str, *parents: Any
    ) -> argparse.ArgumentParser:
        one: argparse.ArgumentParser = commands.add_parser(
            name, help=text, description=text[0].upper() + text[1:] + ".", parents=[common, *parents]
        )
        one.set_defaults(run=run)
        return one

    file = argparse.ArgumentParser(add_help=False)
    file.add_argument(
        "file", metavar="FILE", help="output of a quantum-chemistry program: Molden, fchk, mkl, wfn, wfx, mwfn, log"
    )
    file.add_argument("--frame", type=int, metavar="N", help="of a trajectory, counted from 1")

    info = command("info", _info, "show what is in a file: atoms, basis, method, orbitals", file)
    info.add_argument("--json", action="store_true", help="everything, for programs")
    info.add_argument("--all", action="store_true", help="all orbitals, not only those near the HOMO")

    which = "homo, lumo+1, mo:17:beta, density, spin, elf, esp, ... (default: homo; `orbitile fields` lists them); "
    several = "lists and ranges of orbitals: homo,lumo, homo-2..lumo, mo:1-10"
    one_field, many_fields = argparse.ArgumentParser(add_help=False), argparse.ArgumentParser(add_help=False)
    one_field.add_argument(
        "field", metavar="FIELD", nargs="?", default="homo", help=f"{which}volume also takes {several}"
    )
    one_field.add_argument(
        "--isovalue",
        type=float,
        metavar="V",
        help="in atomic units (default: a customary one, for an orbital such that the surface encloses 90 %% of it)",
    )
    many_fields.add_argument(
        "fields", metavar="FIELD", nargs="*", default=(), help=f"{which}one or more, among them {several}"
    )
    many_fields.add_argument(
        "--isovalue",
        metavar="V[,V...]",
        help="in atomic units, one for all fields or one for each (default: a customary one, for an orbital such that "
        "the surface encloses 90 %% of it)",
    )

    sampling = argparse.ArgumentParser(add_help=False)
    group = sampling.add_argument_group("sampling")
    group.add_argument(
        "--quality",
        choices=("coarse", "medium", "fine"),
        default="medium",
        help="spacing 0.25, 0.15 or 0.075 Angstrom (default: medium); for a picture, medium and fine are finer where "
        "its pixels would show the facets of a surface",
    )
    step = group.add_mutually_exclusive_group()
    step.add_argument("--spacing", type=float, metavar="H", help="spacing in Angstrom, in place of --quality")
    step.add_argument("--points", type=int, metavar="N", help="points along the longest edge, in place of --quality")
    group.add_argument(
        "--margin",
        type=float,
        metavar="D",
        help="box of this margin around the atoms in Angstrom (default: a box proven to hold the whole surface)",
    )
    group.add_argument(
        "--device",
        help="auto, cuda, vulkan or cpu (default: $ORBITILE_DEVICE, else auto); volume also takes GPUs by number: "
        "cuda:1, cuda:0,1, cuda:all",
    )
    group.add_argument("--precision", choices=("single", "double"), default="single", help="(default: single)")
    group.add_argument(
        "--kernel",
        default="auto",
        metavar="NAME",
        help="of an orbital: auto, separable, direct, ... (default: auto; `orbitile fields` lists them)",
    )

    render = command("render", _render, "draw fields and the molecule", file, many_fields, sampling)
    render.add_argument(
        "-o", "--output", metavar="PNG", help="picture to write (default: FILE-FIELD.png in the current folder)"
    )
    _add_picture_options(render)

    volume = command("volume", _volume, "write a field on a lattice", file, one_field, sampling)
    volume.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        required=True,
        help="file to write: .cube, .dx, .mrc, .npz; for several orbitals (homo-2..lumo, mo:1-10) a name with %%d",
    )

    mesh = command("mesh", _mesh, "write the isosurface of a field", file, one_field, sampling)
    mesh.add_argument("-o", "--output", metavar="OUT", required=True, help="file to write: .ply, .obj, .glb")
    _add_colouring_options(mesh)

    plane = command("slice", _slice, "draw a field on a plane through atoms, with contours (needs matplotlib)", file)
    plane.add_argument("field", metavar="FIELD", nargs="?", default="density", help="(default: density)")
    plane.add_argument(
        "--atoms",
        metavar="I,J,K",
        help="three atoms or more that define the plane, counted from 1; the first points to the second from left to "
        "right (default: the plane closest to all atoms)",
    )
    plane.add_argument("-o", "--output", metavar="OUT", required=True, help="picture to write: .png, .svg, .pdf")
    plane.add_argument("--color-range", type=float, metavar="V", help="colours span -V to V (default: from the data)")
    plane.add_argument("--spacing", type=float, default=0.05, metavar="H", help="in Angstrom (default: 0.05)")
    plane.add_argument("--margin", type=float, default=2.5, metavar="D", help="in Angstrom (default: 2.5)")
    plane.add_argument("--size", default="1600x1200", metavar="WxH", help="in pixels (default: 1600x1200)")
    plane.add_argument("--device", help="auto, cuda, vulkan or cpu (default: $ORBITILE_DEVICE, else auto)")
    plane.add_argument("--precision", choices=("single", "double"), default="single", help="(default: single)")

    integrate = command("integrate", _integrate, "electrons, dipole, quadrupole and charges of atoms, by density", file)
    integrate.add_argument(
        "--quality", choices=("coarse", "medium", "fine"), default="medium", help="of the lattice (default: medium)"
    )
    integrate.add_argument("--hirshfeld", action="store_true", help="Hirshfeld charges beside Becke's; needs PySCF")
    integrate.add_argument("--device", help="auto, cuda, vulkan or cpu (default: $ORBITILE_DEVICE, else auto)")
    _add_trajectory_commands(command)
    command("fields", _fields, "list the fields that can be shown, and the kernels for orbitals")
    command("devices", _devices, "show what can compute and draw here, and why the rest cannot")
    install = command("install", _install, "add Orbitile to a program that shows molecules")
    install.add_argument("host", choices=("pymol", "vmd"), metavar="HOST", help="pymol or vmd")
    install.add_argument("--uninstall", action="store_true", help="remove it again")
    install.add_argument("--python", metavar="PATH", help="Python to compute with, where that of the host lacks Taichi")
    command("serve", _serve, "serve a viewer over standard input and output, see docs/server.md")
    demo = command("demo", _demo, "draw the HOMO of a bundled molecule (benzene)")
    demo.add_argument("-o", "--output", metavar="PNG", default="orbitile-demo.png", help="(default: orbitile-demo.png)")
    demo.add_argument("--device", help="auto, cuda, vulkan or cpu")
    bench = command("bench", _bench, "measure Orbitile, and other programs beside it; prints tables in Markdown")
    bench.add_argument("--systems", metavar="NAMES", help="with commas between (default: all), such as C60-b,Kr-a")
    bench.add_argument("--device", metavar="NAMES", help="with commas between, such as cuda,cpu (default: auto)")
    bench.add_argument("--peers", action="store_true", help="PySCF, qc-gbasis, Avogadro and others too (extra: peers)")
    bench.add_argument("--quick", action="store_true", help="few runs of small systems: does it work here?")
    bench.add_argument("--data", type=Path, metavar="DIR", help="Molden files to use in place of making them")
    bench.add_argument("--json", type=Path, metavar="FILE", help="write all figures to this file")
    bench.add_argument("--plots", type=Path, metavar="DIR", help="draw cost against size (needs matplotlib)")
    return parser


def _add_trajectory_commands(command: Callable[..., argparse.ArgumentParser]) -> None:
    trajectory = argparse.ArgumentParser(add_help=False)
    trajectory.add_argument(
        "trajectory",
        metavar="TRAJ",
        help="a series file, a Molden file of several frames, a log, or a pattern in quotes such as 'scan/*.molden'",
    )
    series = command("series", _series, "put the frames of a trajectory into one series file (needs h5py)")
    series.add_argument(
        "files", metavar="FILE", nargs="+", help="files of one frame each, in natural order; or one of many frames"
    )
    series.add_argument("-o", "--output", metavar="H5", required=True, help="series file to write or replace")

    scf = command("scf", _scf, "compute orbitals along a trajectory of geometries (needs pyscf, h5py)")
    scf.add_argument("geometries", metavar="TRAJ", help="xyz, extxyz; with --topology dcd, xtc, trr, nc")
    scf.add_argument("--topology", metavar="FILE", help="pdb, gro, psf, prmtop: names the elements of TRAJ")
    scf.add_argument(
        "--method",
        default="hf",
        metavar="NAME",
        help="hf, or a functional such as pbe or b3lyp; unrestricted for unpaired electrons, or restricted open-shell "
        "with ro in front: rohf, rob3lyp (default: hf)",
    )
    scf.add_argument(
        "--basis", default="def2-svp", metavar="NAME", help="as PySCF calls it: '6-31g*', cc-pvtz (default: def2-svp)"
    )
    scf.add_argument("--cartesian", action="store_true", help="Cartesian d and f functions, as for 6-31G* in Gaussian")
    scf.add_argument("--charge", type=int, default=0, metavar="Q", help="of the molecule (default: 0)")
    scf.add_argument(
        "--unpaired", type=int, default=0, metavar="N", help="unpaired electrons, multiplicity less one (default: 0)"
    )
    scf.add_argument("-o", "--output", metavar="H5", required=True, help="series file; what it has is not done again")

    correlate = command(
        "correlate", _correlate, "draw orbital energies along a trajectory (needs matplotlib)", trajectory
    )
    correlate.add_argument("-o", "--output", metavar="OUT", required=True, help="picture to write: .png, .svg, .pdf")
    correlate.add_argument("--spin", choices=("alpha", "beta"), default="alpha", help="(default: alpha)")
    correlate.add_argument(
        "--around", type=int, default=5, metavar="N", help="orbitals each side of the gap (default: 5)"
    )
    correlate.add_argument("--size", default="1600x1200", metavar="WxH", help="in pixels (default: 1600x1200)")

    animate = command("animate", _animate, "draw a film of a field along a trajectory", trajectory)
    animate.add_argument(
        "field",
        metavar="FIELD",
        nargs="?",
        default="homo",
        help="as for render, named as in the first frame; of one frame also several orbitals: homo-3..lumo+3, mo:1-10",
    )
    animate.add_argument(
        "-o", "--output", metavar="OUT", required=True, help=".mp4 or .gif (extra films), or a new folder for PNG"
    )
    animate.add_argument("--no-tracking", action="store_true", help="show orbitals as they are numbered in the files")
    animate.add_argument(
        "--isovalue", metavar="V", help="in atomic units, one for the film; of one frame also a range: 0.1..0.01"
    )
    animate.add_argument(
        "--pictures", type=int, default=60, metavar="N", help="of a film of one field in one frame (default: 60)"
    )
    animate.add_argument("--rate", type=float, default=10.0, metavar="N", help="pictures a second (default: 10)")
    animate.add_argument("--align", action="store_true", help="turn and move each frame onto the first one")
    animate.add_argument(
        "--interpolate", type=int, default=0, metavar="N", help="frames put between two neighbours (default: 0)"
    )
    animate.add_argument("--follow", action="store_true", help="lattice and camera move with the molecule")
    animate.add_argument("--turn", type=float, default=0.0, metavar="DEG", help="turn the molecule by this in all")
    animate.add_argument("--rock", type=float, default=0.0, metavar="DEG", help="rock it by this to each side")
    animate.add_argument("--spacing", type=float, default=0.15, metavar="H", help="in Angstrom (default: 0.15)")
    animate.add_argument("--size", default="960x720", metavar="WxH", help="in pixels (default: 960x720)")
    animate.add_argument("--background", default="white", metavar="COLOUR", help="(default: white)")
    animate.add_argument("--device", help="auto, cuda, vulkan or cpu (default: $ORBITILE_DEVICE, else auto)")


def _add_picture_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("picture")
    group.add_argument("--size", default="1600x1200", metavar="WxH", help="in pixels (default: 1600x1200)")
    group.add_argument(
        "--background", default="white", metavar="COLOUR", help="a colour, or transparent (default: white)"
    )
    group.add_argument(
        "--colors",
        metavar="POS,NEG[,...]",
        help="colours of the two phases, such as '#2166ac,#b2182b'; two more for each further field",
    )
    _add_colouring_options(group)
    group.add_argument(
        "--plane", metavar="I,J,K", help="in place of the surface, a plane through these atoms, coloured by the field"
    )
    group.add_argument(
        "--opacity", type=float, help="of the surfaces, 0 to 1 (default: 0.65; 1 with --color-by and --plane)"
    )
    group.add_argument(
        "--turn",
        metavar="X,Y,Z",
        help="degrees to turn the molecule about the horizontal axis, the vertical one and the line of sight, from the "
        "view along its shortest extent",
    )
    group.add_argument("--legend", action="store_true", help="names of the fields and isovalues in the picture")
    group.add_argument("--scale", action="store_true", help="a scale bar; the picture is orthographic then")
    group.add_argument("--orthographic", action="store_true", help="without perspective")


def _add_colouring_options(group: Any) -> None:
    group.add_argument(
        "--color-by", metavar="FIELD", help="colour the surface by another field, such as esp, and list its extrema"
    )
    group.add_argument("--color-range", type=float, metavar="V", help="colours span -V to V (default: from the data)")


def _wavefunction(options: argparse.Namespace) -> Wavefunction:
    """What the file holds, or a frame of it; what is odd about it is told."""
    wavefunction = _loaded(options)
    _tell_notes(options, wavefunction)
    return wavefunction


def _tell_notes(options: argparse.Namespace, wavefunction: Wavefunction) -> None:
    from .analysis.notes import notes

    for note in () if options.quiet else notes(wavefunction):
        _tell(f"{wavefunction.source.rpartition('/')[2]}: note: {note}")


def _loaded(options: argparse.Namespace) -> Wavefunction:
    from .readers import load, load_trajectory

    if options.frame is None:
        return load(options.file)
    trajectory = load_trajectory(options.file)
    n = len(trajectory)
    if not 1 <= options.frame <= n:
        raise FileError(f"{trajectory.name}: --frame: expected a number from 1 to {n}, got {options.frame}")
    return trajectory[options.frame - 1]


def _info(options: argparse.Namespace) -> None:
    from .analysis.information import as_dictionary, as_text

    wavefunction = _loaded(options)
    if options.json:
        print(json.dumps(as_dictionary(wavefunction), indent=1))
    else:
        print(as_text(wavefunction, everything=options.all))


def _integrate(options: argparse.Namespace) -> None:
    from .analysis.integration import analytic_moments, atomic_charges, lattice_moments
    from .evaluation.boxes import enclosing_lattice
    from .evaluation.lattices import compute
    from .fields.density import density_of
    from .model.elements import SYMBOLS

    wavefunction = _wavefunction(options)
    exact = analytic_moments(wavefunction, density_of(wavefunction))
    lattice = enclosing_lattice(wavefunction, "density", 1e-4, quality=options.quality)
    volume = compute(wavefunction, "density", lattice, device=options.device)
    summed = lattice_moments(wavefunction, volume.values, lattice)
    print(f"{'':24s} {'analytic':>12s} {'lattice':>12s}")
    print(f"{'electrons':24s} {exact.electrons:12.5f} {summed.electrons:12.5f}")
    for axis, name in enumerate("xyz"):
        print(f"{'dipole ' + name + ' / debye':24s} {2.541746 * exact.dipole[axis]:12.5f} "
              f"{2.541746 * summed.dipole[axis]:12.5f}")  # fmt: skip
    for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)):
        name = f"quadrupole {'xyz'[i]}{'xyz'[j]} / e bohr^2"
        print(f"{name:24s} {exact.quadrupole[i, j]:12.5f} {summed.quadrupole[i, j]:12.5f}")
    lost = abs(summed.electrons - exact.electrons)
    if lost > 1e-3 * exact.electrons:
        print(
            f"The lattice of {' x '.join(map(str, lattice.shape))} points is off by {lost:.3f} electrons "
            f"({100 * lost / exact.electrons:.1f} %): cusps and shells close to the nuclei ask for a finer one."
        )
    schemes = ["becke", *(["hirshfeld"] if options.hirshfeld else [])]
    charges = [atomic_charges(wavefunction, scheme, options.device) for scheme in schemes]
    print(f"\n{'charge / e':10s}" + "".join(f"{scheme:>12s}" for scheme in schemes))
    for atom, number in enumerate(wavefunction.atomic_numbers):
        print(f"{SYMBOLS[int(number)] + str(atom + 1):10s}" + "".join(f"{one[atom]:12.4f}" for one in charges))
    print(f"{'sum':10s}" + "".join(f"{one.sum():12.4f}" for one in charges))


def _fields(options: argparse.Namespace) -> None:
    from .fields import field_names
    from .kernels import kernel_names

    for name, what in field_names():
        print(f"{name:24s} {what}")
    print("\nkernels for orbitals (--kernel):")
    for name, what in kernel_names():
        print(f"{name:24s} {what}")


def _render(options: argparse.Namespace) -> None:
    from .renderer import render

    size = _size(options.size)
    stem = re.sub(r"[*?\[\]]", "", Path(options.file).name.split(".")[0]).rstrip("-_") or "frame"
    stem += "" if options.frame is None else f"-{options.frame}"
    names = options.fields or ["homo"]
    output = options.output or f"{stem}-{re.sub('[:/]', '-', '-'.join(names))}.png"
    wavefunction = _wavefunction(options)
    choices: dict[str, Any] = {} if options.colors is None else {"colors": _colors(options.colors)}
    camera = None
    if options.turn is not None:
        from .renderer.scene import Camera

        camera = Camera.facing(wavefunction.positions).turned(*_turn(options.turn))
    requests = _requests(options, wavefunction, names)
    if options.plane is None:
        surfaces = _drawn_surfaces(requests, wavefunction, size, camera)
    else:
        surfaces = [_flat(requests[0], wavefunction)]
    render(
        surfaces,
        wavefunction,
        output,
        size=size,
        background=options.background,
        opacity=options.opacity,
        legend=options.legend or any(surface.colouring is not None for surface in surfaces),
        scale=options.scale,
        orthographic=options.orthographic,
        camera=camera,
        **choices,
    )
    print(output)


def _requests(options: argparse.Namespace, wavefunction: Wavefunction, names: list[str]) -> list[argparse.Namespace]:
    """The options for each field of a picture alone: lists of orbitals taken apart, each with its isovalue."""
    from .fields.orbital import orbital_list, orbital_range

    fields: list[str] = []
    for name in names:
        several = orbital_list(wavefunction, name) is not None
        for one in name.split(",") if several else [name]:
            orbitals = (several and orbital_range(wavefunction, one.strip().lower())) or []
            fields += [orbital.name for orbital in orbitals] if len(orbitals) > 1 else [one.strip()]
    if len(fields) > 1 and (options.color_by is not None or options.plane is not None):
        given = "--color-by" if options.plane is None else "--plane"
        raise OrbitileError(f"{given}: expected one FIELD to colour, got {len(fields)}: {', '.join(fields)}")
    try:
        isovalues = [None] if options.isovalue is None else [float(part) for part in options.isovalue.split(",")]
    except ValueError:
        isovalues = []
    if len(isovalues) not in (1, len(fields)):
        raise OrbitileError(
            f"--isovalue: expected a number, or one for each of {len(fields)} fields with commas between, got "
            f"{options.isovalue!r}"
        )
    isovalues *= len(fields) if len(isovalues) == 1 else 1
    requests = [
        argparse.Namespace(**{**vars(options), "field": field, "isovalue": isovalue})
        for field, isovalue in zip(fields, isovalues, strict=True)
    ]
    return requests if options.plane is not None else [_as_drawn(request) for request in requests]


def _drawn_surfaces(
    requests: list[argparse.Namespace], wavefunction: Wavefunction, size: tuple[int, int], camera: Any
) -> list[Surface]:
    """Surfaces of a picture, on lattices on which they look round in it unless a spacing is asked for."""
    from .renderer import round_lattice, round_spacing

    sampled = [(one, _sampling(one, wavefunction)) for one in requests]
    surfaces = [_isosurface(one, wavefunction, *sampling) for one, sampling in sampled]
    options = requests[0]
    if options.spacing is None and options.points is None and options.quality != "coarse":
        spacing = round_spacing(surfaces, wavefunction, size=size, camera=camera)
        for n, (one, (field, lattice, isovalue)) in enumerate(sampled):
            finer = round_lattice(lattice, spacing)
            if finer is not lattice and not field.is_smooth:
                surfaces[n] = _isosurface(one, wavefunction, field, finer, isovalue)
    for surface, (one, (field, lattice, _)) in zip(surfaces, sampled, strict=True):
        _tell_if_cut(one, wavefunction, surface, field, lattice)
    return [_coloured(one, wavefunction, surface) for one, surface in zip(requests, surfaces, strict=True)]


def _volume(options: argparse.Namespace) -> None:
    from .evaluation.streaming import compute_to_file
    from .exporters import exporter_for
    from .fields.orbital import orbital_list

    exporter_for(options.output, "volume")  # refuse before the work, not after it
    wavefunction = _wavefunction(options)
    orbitals = orbital_list(wavefunction, options.field)
    if orbitals is not None:
        _volumes(options, wavefunction, orbitals)
        return
    field, lattice, _ = _sampling(options, wavefunction)
    with _progress(options, field.quantity) as progress:
        compute_to_file(
            wavefunction,
            field,
            lattice,
            options.output,
            device=options.device,
            precision=options.precision,
            progress=progress,
        )
    print(options.output)


def _volumes(options: argparse.Namespace, wavefunction: Wavefunction, orbitals: list[Orbital]) -> None:
    """Write several orbitals on one lattice, each to a file of its own."""
    import numpy as np

    from .evaluation.isovalues import default_isovalue
    from .evaluation.lattices import compute_many
    from .exporters import save
    from .model.lattice import Lattice

    orbitals = [orbital.with_kernel(options.kernel) for orbital in orbitals]
    names = [_numbered(options.output, orbital.index + 1) for orbital in orbitals]
    if len(set(names)) < len(names) and _numbered(options.output, 1) != options.output:
        raise OrbitileError(
            f"--output: orbitals of both spins have the same numbers, and {options.output!r} gives their files one "
            "name; ask for one spin at a time"
        )
    if len(set(names)) < len(names):
        raise OrbitileError(
            f"--output: {len(orbitals)} orbitals need as many files; put %d where the number of the orbital is to "
            f"stand, as in mo-%d.cube, got {options.output!r}"
        )
    lattices = []
    for orbital in orbitals:
        isovalue = options.isovalue
        if isovalue is None:
            isovalue = default_isovalue(wavefunction, orbital, device=options.device)
        lattices.append(_lattice(options, wavefunction, isovalue, orbital))
    ends = [np.array([one.origin, one.origin + (np.array(one.shape) - 1) @ one.axes]) for one in lattices]
    spacing = max(float(one.spacings[0]) for one in lattices)
    lattice = Lattice.box(np.min(ends, axis=(0, 1)), np.max(ends, axis=(0, 1)), spacing)
    _note(options, "{} x {} x {} points".format(*lattice.shape))
    with _progress(options, f"{len(orbitals)} orbitals") as progress:
        volumes = compute_many(
            wavefunction, orbitals, lattice, device=options.device, precision=options.precision, progress=progress
        )
        for volume, name in zip(volumes, names, strict=True):
            save(volume, name, wavefunction=wavefunction)
            print(name)


def _numbered(pattern: str, number: int) -> str:
    """A file name with a number in place of %d, or %03d for one with leading zeros."""
    return re.sub(r"%(0?\d?)d", lambda match: format(number, f"{match[1]}d"), pattern)


def _mesh(options: argparse.Namespace) -> None:
    from .exporters import exporter_for, save

    exporter_for(options.output, "mesh")
    wavefunction = _wavefunction(options)
    save(_surface(options, wavefunction), options.output, wavefunction=wavefunction)
    print(options.output)


def _slice(options: argparse.Namespace) -> None:
    from .analysis.planes import check_picture, draw_slice, plane_through, slice_field
    from .model.units import angstrom

    size = _size(options.size)
    check_picture(options.output)
    wavefunction = _wavefunction(options)
    plane = plane_through(
        wavefunction,
        _atoms("--atoms", options.atoms) if options.atoms else (),
        spacing=options.spacing * angstrom,
        margin=options.margin * angstrom,
    )
    one = slice_field(wavefunction, options.field, plane, device=options.device, precision=options.precision)
    draw_slice(one, wavefunction, options.output, limit=options.color_range, size=size)
    print(options.output)


def _surface(options: argparse.Namespace, wavefunction: Wavefunction) -> Surface:
    """The isosurface that the options ask for, coloured if they say so."""
    options = _as_drawn(options)
    field, lattice, isovalue = _sampling(options, wavefunction)
    surface = _isosurface(options, wavefunction, field, lattice, isovalue)
    _tell_if_cut(options, wavefunction, surface, field, lattice)
    return _coloured(options, wavefunction, surface)


def _as_drawn(options: argparse.Namespace) -> argparse.Namespace:
    """The options for the surface that is drawn where FIELD has none of its own."""
    from .fields import as_drawn

    field, color_by = as_drawn(options.field, options.color_by or "")
    return argparse.Namespace(**{**vars(options), "field": field, "color_by": color_by or None})


def _tell_if_cut(
    options: argparse.Namespace, wavefunction: Wavefunction, surface: Surface, field: Field, lattice: Lattice
) -> None:
    from .evaluation.surfaces import is_cut
    from .surfaces.isovalue import CUT

    if is_cut(surface, wavefunction, field, lattice, device=options.device):
        _tell(f"{CUT}; a larger --margin shows more")


def _isosurface(
    options: argparse.Namespace, wavefunction: Wavefunction, field: Field, lattice: Lattice, isovalue: float
) -> Surface:
    from .evaluation.surfaces import compute_surface

    with _progress(options, field.quantity) as progress:
        return compute_surface(
            wavefunction,
            field,
            isovalue,
            lattice,
            device=options.device,
            precision=options.precision,
            progress=progress,
        )


def _coloured(options: argparse.Namespace, wavefunction: Wavefunction, surface: Surface) -> Surface:
    """The surface in the colours of a second field, if the options say so; its extrema are printed."""
    if options.color_by is None:
        return surface
    from .analysis.extrema import as_text, extrema
    from .evaluation.colouring import coloured

    surface = coloured(
        surface,
        wavefunction,
        options.color_by,
        options.color_range,
        device=options.device,
        precision=options.precision,
    )
    unit = "" if surface.colouring is None else surface.colouring.unit
    found = extrema(surface, wavefunction, options.field, options.color_by, device=options.device)
    print(as_text(found, wavefunction, unit))
    return surface


def _flat(options: argparse.Namespace, wavefunction: Wavefunction) -> Surface:
    """The plane that the options ask for, coloured by the field."""
    from .analysis.planes import as_surface, plane_through, slice_field
    from .model.lattice import spacing_of
    from .model.units import angstrom

    if options.color_by is not None:
        raise OrbitileError("--plane is coloured by FIELD itself; leave out --color-by")
    if options.kernel != "auto":
        raise OrbitileError("--plane is sampled at points, by the kernel that auto stands for; leave out --kernel")
    spacing = spacing_of(options.quality) / 2 if options.spacing is None else options.spacing * angstrom
    margin = {} if options.margin is None else {"margin": options.margin * angstrom}
    plane = plane_through(wavefunction, _atoms("--plane", options.plane), spacing=spacing, **margin)
    one = slice_field(wavefunction, options.field, plane, device=options.device, precision=options.precision)
    return as_surface(one, options.color_range)


def _sampling(options: argparse.Namespace, wavefunction: Wavefunction) -> tuple[Field, Lattice, float]:
    """The field that the options ask for, the lattice and the isovalue."""
    from .evaluation.isovalues import default_isovalue
    from .evaluation.requests import field_of

    field = field_of(wavefunction, options.field).with_kernel(options.kernel)
    isovalue = options.isovalue
    if isovalue is None:
        isovalue = default_isovalue(wavefunction, field, device=options.device)
        share = ", which encloses 90 % of it" if field.isovalue is None else ""
        _note(options, f"{field.quantity}: isovalue {isovalue:.4g} {field.unit}{share}")
    lattice = _lattice(options, wavefunction, isovalue, field)
    _note(options, "{} x {} x {} points".format(*lattice.shape))
    return field, lattice, isovalue


def _lattice(options: argparse.Namespace, wavefunction: Wavefunction, isovalue: float, field: str | Field) -> Lattice:
    from .evaluation.boxes import enclosing_lattice
    from .model.lattice import Lattice, spacing_of
    from .model.units import angstrom

    spacing = None if options.spacing is None else options.spacing * angstrom
    if options.margin is None:
        return enclosing_lattice(
            wavefunction, field, isovalue, spacing=spacing, points=options.points, quality=options.quality
        )
    if spacing is None and options.points is None:
        spacing = spacing_of(options.quality)
    return Lattice.around(wavefunction, spacing, options.margin * angstrom, points=options.points)


def _tell(line: str) -> None:
    print(f"orbitile: {line}", file=sys.stderr)


def _series(options: argparse.Namespace) -> None:
    from .exporters._series import SeriesWriter, require_series
    from .files.writing import written_atomically
    from .readers import load_trajectory, natural_order

    files = sorted(options.files, key=natural_order)
    require_series(options.output)
    trajectory = load_trajectory(files[0] if len(files) == 1 else files)
    with written_atomically(options.output) as part:
        part.unlink()  # a writer continues what is there, and an empty file is no series
        with SeriesWriter(part) as writer, _progress(options, "frames") as progress:
            for index, wavefunction in trajectory.frames(_tell):
                _tell_notes(options, wavefunction)
                writer.append(wavefunction, index)
                if progress is not None:
                    progress((index + 1) / len(trajectory))
        if not writer.numbers:
            raise OrbitileError(f"{trajectory.name}: no frame can be read; nothing was written")
    print(f"{options.output}: {len(writer.numbers)} frames")


def _scf(options: argparse.Namespace) -> None:
    from .scf.engine import Calculation, compute_series

    calculation = Calculation(options.method, options.basis, options.charge, options.unpaired, options.cartesian)
    try:
        with _stoppable() as cancelled, _progress(options, str(calculation)) as progress:
            trajectory = compute_series(
                options.geometries,
                options.output,
                calculation,
                topology=options.topology,
                progress=progress,
                cancelled=cancelled,
                report=_tell,
            )
    except KeyboardInterrupt:
        if Path(options.output).expanduser().exists():
            _tell(f"{options.output} keeps the frames that are done; the same command goes on from there")
        raise
    print(f"{options.output}: {len(trajectory)} frames")


def _correlate(options: argparse.Namespace) -> None:
    from .analysis.correlation import draw_correlation
    from .analysis.planes import check_picture
    from .readers import load_trajectory
    from .trajectories.tracking import track

    size = _size(options.size)
    check_picture(options.output)
    trajectory = load_trajectory(options.trajectory)
    with _progress(options, "orbitals") as progress:
        tracking = track(trajectory, progress=progress, report=_tell)
    draw_correlation(tracking, options.output, spin=options.spin, around=options.around, size=size)
    for crossing in tracking.crossings:
        if crossing.spin == options.spin:
            print(crossing)
    print(options.output)


def _animate(options: argparse.Namespace) -> None:
    from .animation import animate
    from .model.units import angstrom

    with _stoppable() as cancelled:
        shots = _shots(options, cancelled)
        with _progress(options, "pictures") as progress:
            n_pictures = animate(
                shots,
                options.output,
                rate=options.rate,
                follow=options.follow,
                turn=options.turn,
                rock=options.rock,
                spacing=options.spacing * angstrom,
                size=_size(options.size),
                background=options.background,
                device=options.device,
                progress=progress,
                cancelled=cancelled,
            )
    print(f"{options.output}: {n_pictures} pictures")


@contextmanager
def _stoppable() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed, for work that asks; pressed again it ends at once.

    An exception that comes while an object is finalised is lost, and drawing finalises many.
    """
    import signal

    pressed: list[int] = []

    def note(number: int, frame: Any) -> None:
        if pressed:
            raise KeyboardInterrupt
        pressed.append(number)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(pressed)
    except Cancelled as error:
        raise KeyboardInterrupt from error
    finally:
        signal.signal(signal.SIGINT, before)


def _shots(options: argparse.Namespace, cancelled: Callable[[], bool]) -> Any:
    """What a film shows: a trajectory, or else of one frame several orbitals, isovalues, or one field."""
    from .animation import along, over_isovalues, over_orbitals
    from .evaluation.isovalues import default_isovalue
    from .fields.orbital import orbital_list
    from .readers import load_trajectory
    from .trajectories.tracking import track

    if not 1 <= options.pictures <= _MOST_PICTURES:
        raise OrbitileError(f"--pictures: expected 1 to {_MOST_PICTURES}, got {options.pictures}")
    isovalues = [] if options.isovalue is None else _isovalues(options.isovalue, options.pictures)
    trajectory = load_trajectory(options.trajectory)
    for _, first in trajectory.frames():
        _tell_notes(options, first)
        break
    if len(trajectory) > 1:
        if len(isovalues) > 1:
            raise OrbitileError("--isovalue: expected one for a trajectory, got a range")
        with _progress(options, "orbitals") as progress:
            tracking = (
                None if options.no_tracking else track(trajectory, progress=progress, cancelled=cancelled, report=_tell)
            )
        return along(
            trajectory,
            options.field,
            tracking,
            *isovalues,
            aligned=options.align,
            between=options.interpolate,
            device=options.device,
            report=_tell,
        )
    wavefunction = trajectory[0]
    orbitals = orbital_list(wavefunction, options.field)
    if orbitals is not None:
        if len(isovalues) > 1:
            raise OrbitileError("--isovalue: expected one for several orbitals, got a range")
        return over_orbitals(wavefunction, [orbital.name for orbital in orbitals], *isovalues, device=options.device)
    if len(isovalues) < 2:
        isovalues = isovalues or [default_isovalue(wavefunction, options.field, device=options.device)]
        isovalues *= options.pictures
    return over_isovalues(wavefunction, options.field, isovalues)


def _isovalues(text: str, n: int) -> list[float]:
    """One isovalue, or n from one to another in equal ratios."""
    import numpy as np

    try:
        ends = [float(part) for part in text.split("..")]
    except ValueError:
        ends = []
    if len(ends) not in (1, 2) or not all(0 < end < float("inf") for end in ends):
        raise OrbitileError(f"--isovalue: expected a positive number or two such as 0.1..0.01, got {text!r}")
    return ends if len(ends) == 1 else np.geomspace(ends[0], ends[1], n).tolist()


def _devices(options: argparse.Namespace) -> None:
    from .evaluation.diagnosis import device_report

    for line in device_report():
        print(line)


def _install(options: argparse.Namespace) -> None:
    from importlib import import_module

    installation = import_module(f"orbitile.hosts.{options.host}_installation")
    for line in installation.uninstall() if options.uninstall else installation.install(options.python):
        print(line)


def _serve(options: argparse.Namespace) -> None:
    from .hosts.server import main as serve

    serve()


def _demo(options: argparse.Namespace) -> None:
    from importlib.resources import as_file, files

    with as_file(files("orbitile") / "data" / "benzene.molden") as path:
        arguments = ["render", str(path), "homo", "--quality", "fine", "--legend", "--scale", "-o", options.output]
        arguments += ["--device", options.device] if options.device else []
        _render(_parser().parse_args([*arguments, "-q"]))


def _bench(options: argparse.Namespace) -> None:
    try:
        from orbitile_benchmarks.suite import run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "orbitile_benchmarks":
            raise
        raise OrbitileError("the benchmarks are not installed: pip install orbitile brings them") from error
    tables = run(
        systems=options.systems,
        devices=options.device,
        peers=options.peers,
        quick=options.quick,
        data=options.data,
        json_file=options.json,
        plots=options.plots,
        tell=(lambda text: None) if options.quiet else lambda text: print(text, file=sys.stderr, flush=True),
    )
    print(tables)


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.lower().partition("x")
    if not all(re.fullmatch(r"[0-9]{1,9}", part) and int(part) for part in (width, height)):
        raise OrbitileError(f"--size: expected WxH in pixels such as 1600x1200, got {text!r}")
    if max(int(width), int(height)) > _LARGEST_PICTURE:
        raise OrbitileError(f"--size: expected {_LARGEST_PICTURE} pixels along each edge at most, got {text}")
    require_memory(_BYTES_A_PIXEL * int(width) * int(height), f"--size {text}: the picture", "choose a smaller one")
    return int(width), int(height)


def _colors(text: str) -> list[tuple[str, str]]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) % 2:
        raise OrbitileError(
            f"--colors: expected two colours with a comma between, such as '#2166ac,#b2182b', for each field, got "
            f"{text!r}"
        )
    return list(zip(parts[::2], parts[1::2], strict=True))


def _atoms(option: str, text: str) -> list[int]:
    """Atoms, counted from 0, as a user counts them from 1."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) < 3 or not all(re.fullmatch(r"[0-9]{1,9}", part) for part in parts):
        raise OrbitileError(f"{option}: expected three atoms or more with commas between, such as 1,2,3, got {text!r}")
    return [int(part) - 1 for part in parts]


def _turn(text: str) -> list[float]:
    try:
        angles = [float(part) for part in text.split(",")]
    except ValueError:
        angles = []
    if len(angles) != 3 or not all(abs(angle) < 1e6 for angle in angles):
        raise OrbitileError(
            f"--turn: expected three angles in degrees with commas between, such as -60,15,0, got {text!r}"
        )
    return angles


def _note(options: argparse.Namespace, text: str) -> None:
    if not options.quiet and sys.stderr.isatty():
        print(text, file=sys.stderr)


@contextmanager
def _progress(options: argparse.Namespace, what: str) -> Iterator[Callable[[float], None] | None]:
    """A progress bar on a terminal, for work that takes over a second."""
    if options.quiet or not sys.stderr.isatty():
        yield None
        return
    from threading import Timer

    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True, disable=False) as bar:
        task = bar.add_task(what, total=1.0, visible=False)
        appearance = Timer(1.0, bar.update, (task,), {"visible": True})
        appearance.daemon = True
        appearance.start()
        try:
            yield lambda share: bar.update(task, completed=share)
        finally:
            appearance.cancel()


if __name__ == "__main__":
    sys.exit(main())
