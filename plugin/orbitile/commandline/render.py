"""`orbitile render`: a picture of fields and the molecule."""

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import OrbitileError
from ._arguments import (
    CommandParser,
    add_colouring,
    add_fields,
    add_file,
    add_sampling,
    add_size,
    read_atoms,
    read_size,
)
from ._input import wavefunction_of
from ._page import is_page, slides_of, write_page
from ._surfaces import as_drawn, coloured_as_asked, isosurface_of, sampling_of, tell_if_cut

if TYPE_CHECKING:
    from ..model.surface import Surface
    from ..model.wavefunction import Wavefunction

HELP = "draw fields and the molecule"
PRIORITY = 150


def add_arguments(parser: CommandParser) -> None:
    """State its arguments."""
    add_file(parser)
    add_fields(parser)
    add_sampling(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="PNG",
        help="picture, page that turns in a browser (.html), or scene: .glb, .usdz, .ply, .obj, to print .stl, .3mf "
        "(default: FILE-FIELD.png in the current folder)",
    )
    group = parser.add_argument_group("picture")
    add_size(group)
    group.add_argument(
        "--background", default="white", metavar="COLOUR", help="a colour, or transparent (default: white)"
    )
    group.add_argument(
        "--colors",
        metavar="POS,NEG[,...]",
        help="colours of the two phases, such as '#3d57fb,#ec6e19'; two more for each further field",
    )
    add_colouring(group)
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


def run(options: argparse.Namespace) -> None:
    """Draw a picture, and print its name."""
    from ..exporters import holds_scenes, save
    from ..renderer import render
    from ..scenes import PALETTES, scene_of
    from ..session.pages import document_of

    size = read_size(options.size)
    stem = re.sub(r"[*?\[\]]", "", Path(options.file).name.split(".")[0]).rstrip("-_") or "frame"
    stem += "" if options.frame is None else f"-{options.frame}"
    names = options.fields or ["homo"]
    output = options.output or f"{stem}-{re.sub('[:/]', '-', '-'.join(names))}.png"
    wavefunction = wavefunction_of(options)
    choices: dict[str, Any] = {} if options.colors is None else {"colours": _read_colours(options.colors)}
    camera = None
    if options.turn is not None:
        from ..renderer import Camera

        camera = Camera.facing(wavefunction.positions).turned(*_read_angles(options.turn))
    requests = _requests(options, wavefunction, names)
    if is_page(output) and options.plane is None:
        slides = slides_of(requests, wavefunction, choices.get("colours", PALETTES), options.opacity)
        document = document_of(slides, wavefunction)
        if camera is not None:
            document = replace(document, rotation=camera.rotation)
        write_page(document, output, wavefunction)
        return
    if options.plane is None:
        surfaces = _drawn_surfaces(requests, wavefunction, size, camera)
    else:
        surfaces = [_plane(requests[0], wavefunction)]
    if holds_scenes(output):
        save(scene_of(surfaces, wavefunction, opacity=options.opacity, **choices), output, wavefunction=wavefunction)
        print(output)
        return
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
    from ..fields._orbital_ranges import orbital_list, orbital_range

    fields: list[str] = []
    for name in names:
        several = orbital_list(wavefunction, name) is not None
        for part in name.split(",") if several else [name]:
            orbitals = (several and orbital_range(wavefunction, part.strip().lower())) or []
            fields += [orbital.name for orbital in orbitals] if len(orbitals) > 1 else [part.strip()]
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
    return requests if options.plane is not None else [as_drawn(request, wavefunction) for request in requests]


def _drawn_surfaces(
    requests: list[argparse.Namespace], wavefunction: Wavefunction, size: tuple[int, int], camera: Any
) -> list[Surface]:
    """Surfaces of a picture, on lattices on which they look round in it unless a spacing is asked for."""
    from ..readers._references import FileReferences
    from ..renderer import round_lattice, round_spacing

    references = FileReferences()
    sampled = [(request, sampling_of(request, wavefunction, references)) for request in requests]
    surfaces = [isosurface_of(request, wavefunction, *sampling) for request, sampling in sampled]
    options = requests[0]
    if options.spacing is None and options.points is None and options.quality != "coarse":
        spacing = round_spacing(surfaces, wavefunction, size=size, camera=camera)
        for n, (request, (field, lattice, isovalue)) in enumerate(sampled):
            finer = round_lattice(lattice, spacing)
            if finer is not lattice and not field.is_smooth:
                surfaces[n] = isosurface_of(request, wavefunction, field, finer, isovalue)
    for surface, (request, (field, lattice, _)) in zip(surfaces, sampled, strict=True):
        tell_if_cut(request, wavefunction, surface, field, lattice)
    return [
        coloured_as_asked(request, wavefunction, surface, field, references)
        for surface, (request, (field, _, _)) in zip(surfaces, sampled, strict=True)
    ]


def _plane(options: argparse.Namespace, wavefunction: Wavefunction) -> Surface:
    """The plane that the options ask for, coloured by the field."""
    from ..analysis.planes import as_surface, plane_through, slice_field
    from ..model.lattice import spacing_of
    from ..model.units import angstrom

    if options.color_by is not None:
        raise OrbitileError("--plane is coloured by FIELD itself; leave out --color-by")
    if options.kernel != "auto":
        raise OrbitileError("--plane is sampled at points, by the kernel that auto stands for; leave out --kernel")
    spacing = spacing_of(options.quality) / 2 if options.spacing is None else options.spacing * angstrom
    margin = {} if options.margin is None else {"margin": options.margin * angstrom}
    plane = plane_through(wavefunction, read_atoms("--plane", options.plane), spacing=spacing, **margin)
    values = slice_field(wavefunction, options.field, plane, device=options.device, precision=options.precision)
    return as_surface(values, options.color_range)


def _read_colours(text: str) -> list[tuple[str, str]]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) % 2:
        raise OrbitileError(
            f"--colors: expected two colours with a comma between, such as '#3d57fb,#ec6e19', for each field, got "
            f"{text!r}"
        )
    return list(zip(parts[::2], parts[1::2], strict=True))


def _read_angles(text: str) -> list[float]:
    try:
        angles = [float(part) for part in text.split(",")]
    except ValueError:
        angles = []
    if len(angles) != 3 or not all(abs(angle) < 1e6 for angle in angles):
        raise OrbitileError(
            f"--turn: expected three angles in degrees with commas between, such as -60,15,0, got {text!r}"
        )
    return angles
