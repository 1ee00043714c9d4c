"""`orbitile render`: a picture of fields and the molecule."""

from __future__ import annotations

import argparse
import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.arguments import number
from ..base.errors import OrbitileError
from ._arguments import (
    VOLUMES_TOO,
    CommandParser,
    add_colouring,
    add_fields,
    add_file,
    add_option,
    add_sampling,
    read_atoms,
    read_size,
)
from ._console import tell
from ._files import is_page, is_sampled, molecule_in, surface_in, volume_drawing_in, wavefunction_of, write_page

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from ..model.report import Drawing
    from ..model.surface import Surface
    from ..model.wavefunction import Wavefunction
    from ..pictures.request import Request
    from ..renderer import Camera
    from ..scenes import Mesh
    from ..scenes.scene import Drawable

HELP = "draw a molecule with isosurfaces of fields"
PRIORITY = 150


def add_arguments(parser: CommandParser) -> None:
    """State its arguments."""
    from ..pictures.request import ANALYSIS, DRAWN_AS, MODE, OF_DRAWINGS

    add_file(parser, VOLUMES_TOO)
    add_fields(parser)
    add_sampling(parser, "; medium and fine become finer where the picture would show the facets of a surface")
    parser.add_argument(
        "-o",
        "--output",
        metavar="PNG",
        help="picture (.png), page to turn in a browser (.html), scene (.glb, .mvsx, .usdz, .ply, .obj), or bodies "
        "to print in 3D (.stl, .3mf) (default: FILE-FIELD.png in the current folder)",
    )
    group = parser.add_argument_group("picture")
    for option in OF_DRAWINGS:
        add_option(group, option)
    add_option(group, DRAWN_AS)
    add_colouring(group)
    add_option(group, MODE, "; without FIELD, the molecule alone")
    add_option(group, ANALYSIS, "; without FIELD, the molecule alone")
    group.add_argument(
        "--plane",
        metavar="I,J,K",
        help="draw, instead of the surface, a plane through these atoms, coloured by the field",
    )


def run(options: argparse.Namespace) -> None:
    """Draw a picture, and print its name."""
    from ..exporters import holds_scenes

    drawing = _drawing(options)
    if options.mode is not None and not options.fields:
        _draw_mode(options, drawing)
        return
    stem = re.sub(r"[*?\[\]]", "", Path(options.file).name.split(".")[0]).rstrip("-_") or "frame"
    stem += "" if options.frame is None else f"-{options.frame}"
    is_bare = options.analysis is not None and not options.fields and options.plane is None
    usual = "values" if is_sampled(options) else options.analysis.partition(":")[0] if is_bare else "homo"
    names = options.fields or [usual]
    output = options.output or f"{stem}-{re.sub('[:/]', '-', '-'.join(names))}.png"
    as_scene = not output.lower().endswith(".png") and holds_scenes(output)
    if options.style != "surface" and (as_scene or is_page(output) or options.plane is not None):
        raise OrbitileError(
            f"--style {options.style}: expected a picture (.png) without --plane; scenes hold surfaces, and a page "
            "has a menu of how it draws"
        )
    if not (as_scene or is_page(output)):
        from ..renderer.picture import warm

        warm()
    from ..evaluation.requests import FileReferences
    from ..gaussians.kernels.matrix_product import for_one_result
    from ..pictures.surface import surfaces_of_picture, volume_drawing_of
    from ._surfaces import Console, tell_extrema

    drawing["drawings"] = _arrows(options)
    if is_sampled(options):
        if is_page(output):
            raise OrbitileError(f"{output}: pages show fields of orbitals; draw a volume as .png, .glb, .usdz, ...")
        if options.analysis is not None:
            raise OrbitileError("--analysis: expected a file with orbitals, got sampled values")
        levels = _read_isovalues(options, names)
        draw = surface_in if options.style == "surface" else volume_drawing_in
        sampled = [draw(options, *pair) for pair in zip(names, levels, strict=True)]
        _finish(options, output, sampled, molecule_in(options), as_scene, drawing)
        return
    wavefunction = wavefunction_of(options)
    drawing["drawings"] += _found(options, wavefunction)
    requests = [] if is_bare else _requests(options, wavefunction, names)
    if is_page(output) and options.plane is None:
        from ..pictures.pages import bare_slide, document_of, slides_of, with_computing

        if is_bare:
            slides = [bare_slide(wavefunction, drawings=drawing["drawings"])]
        else:
            slides, found = slides_of(requests, wavefunction, FileReferences(), Console(options), **_look(drawing))
            tell_extrema(found)
        looks = {name: drawing[name] for name in ("colours", "opacity") if name in drawing}
        document = with_computing(document_of(slides, wavefunction), [wavefunction], **looks)
        camera = _camera(options, wavefunction.positions)
        if camera is not None:
            document = replace(document, rotation=camera.rotation)
        write_page(document, output, wavefunction.source)
        return
    surfaces: list[Drawable] = []
    if options.plane is not None:
        surfaces = [_plane(options, requests[0].field, wavefunction)]
    elif requests and options.style != "surface":
        with_references = FileReferences()
        surfaces = [
            volume_drawing_of(request, wavefunction, with_references, options.style, Console(options))
            for request in requests
        ]
    elif requests:
        with for_one_result() if len(requests) == 1 else nullcontext():
            found = surfaces_of_picture(
                requests,
                wavefunction,
                FileReferences(),
                Console(options),
                size=drawing["size"],
                camera=_camera(options, wavefunction.positions),
            )
        tell_extrema(found)
        surfaces = [one.surface for one in found]
    _finish(options, output, surfaces, wavefunction, as_scene, drawing)


def _draw_mode(options: argparse.Namespace, drawing: dict[str, Any]) -> None:
    """Draw the molecule with arrows along a mode, and print the name of the file."""
    from ..model.geometry import Geometry
    from ..readers import load_vibrations
    from ..renderer import render

    vibrations = load_vibrations(options.file)
    geometry = Geometry(vibrations.atomic_numbers, vibrations.positions)
    output = options.output or f"{Path(options.file).name.split('.')[0]}-mode-{options.mode}.png"
    camera = _camera(options, vibrations.positions)
    render((), geometry, output, camera=camera, **drawing, drawings=_arrows(options))
    print(output)


def _arrows(options: argparse.Namespace) -> list[Mesh]:
    """The arrows that --mode asks for."""
    if options.mode is None:
        return []
    from ..pictures.vibrations import arrow_mesh
    from ..readers import load_vibrations

    return [arrow_mesh(load_vibrations(options.file), options.mode)]


def _found(options: argparse.Namespace, wavefunction: Wavefunction) -> list[Drawing]:
    """What the analysis that --analysis asks for draws at the molecule."""
    if options.analysis is None:
        return []
    from ..analysis.presentation import with_balls
    from ..analysis.reports import SUBJECTS, analyse, analysis_named
    from ..jobs.request import analysis_in
    from ..model.report import Paths, Points

    name, parameters = analysis_in("--analysis", options.analysis)
    if not isinstance(wavefunction, SUBJECTS[analysis_named(name).KIND]):
        raise OrbitileError(
            f"--analysis {name}: expected an analysis of a wavefunction; `orbitile {name}` reads others"
        )
    given: dict[str, Any] = dict(parameters)
    report = analyse(wavefunction, name, device=options.device, **given)
    for remark in report.remarks:
        tell(f"note: {remark}")
    drawings: list[Drawing] = [one for one in with_balls(report.drawings) if isinstance(one, Points | Paths)]
    if not drawings:
        raise OrbitileError(f"--analysis {name}: it has no points, paths or arrows here that a picture can show")
    return drawings


def _finish(
    options: argparse.Namespace,
    output: str,
    surfaces: Sequence[Drawable],
    wavefunction: Wavefunction | None,
    as_scene: bool,
    drawing: dict[str, Any],
) -> None:
    """Draw surfaces and a molecule, or write their scene, and print the name of the file."""
    from ..exporters import save
    from ..renderer import render
    from ..scenes import scene_of

    if as_scene:
        save(scene_of(surfaces, wavefunction, **_look(drawing)), output, wavefunction=wavefunction)
    else:
        camera = _camera(
            options, scene_of(surfaces, wavefunction).extent()[0] if wavefunction is None else wavefunction.positions
        )
        legend = options.legend or any(surface.colouring is not None for surface in surfaces)
        render(surfaces, wavefunction, output, camera=camera, **{**drawing, "legend": legend})
    print(output)


def _drawing(options: argparse.Namespace) -> dict[str, Any]:
    """Arguments of `orbitile.render` that the options give, but for the camera."""
    from ..pictures.request import OF_DRAWINGS

    given = {option.name: getattr(options, option.name) for option in OF_DRAWINGS}
    colours, _ = given.pop("colors"), given.pop("turn")
    given["size"] = read_size(given["size"])
    return given if colours is None else {**given, "colours": _read_colours(colours)}


def _look(drawing: dict[str, Any]) -> dict[str, Any]:
    """Those of them that pages and scenes have too."""
    return {name: drawing[name] for name in ("colours", "opacity", "drawings") if name in drawing}


def _camera(options: argparse.Namespace, positions: NDArray[np.floating]) -> Camera | None:
    """The view that --turn asks for."""
    if options.turn is None:
        return None
    from ..renderer import Camera

    return Camera.facing(positions).turned(*_read_angles(options.turn))


def _read_isovalues(options: argparse.Namespace, fields: Sequence[str]) -> list[float | None]:
    """The isovalue of each field; None for one that suits it."""
    isovalues: list[float | None] = [None]
    if options.isovalue is not None:
        parts = options.isovalue.split(",")
        try:
            if len(fields) == 1 and len(parts) == 2:  # with a decimal comma
                parts = [options.isovalue]
            isovalues = [number(part) for part in parts]
        except ValueError:
            isovalues = []
        if len(parts) > 1 and 0 in isovalues:
            raise OrbitileError(
                f"--isovalue: expected positive numbers, got {options.isovalue!r}; commas separate the isovalues of "
                "several fields: write decimal points, as in 0.03"
            )
    if len(isovalues) not in (1, len(fields)):
        raise OrbitileError(
            f"--isovalue: expected a number, or one for each of {len(fields)} fields, separated by commas, got "
            f"{options.isovalue!r}"
        )
    return isovalues * (len(fields) if len(isovalues) == 1 else 1)


def _requests(options: argparse.Namespace, wavefunction: Wavefunction, names: list[str]) -> list[Request]:
    """The request of each field of a picture: lists of orbitals taken apart, each with its isovalue."""
    from ..pictures.surface import drawn, fields_in
    from ._surfaces import request_of

    fields = fields_in(wavefunction, names)
    if len(fields) > 1 and (options.color_by is not None or options.plane is not None):
        given = "--color-by" if options.plane is None else "--plane"
        raise OrbitileError(f"{given}: expected one FIELD to colour, got {len(fields)}: {', '.join(fields)}")
    isovalues = _read_isovalues(options, fields)
    requests = [request_of(options, *pair) for pair in zip(fields, isovalues, strict=True)]
    if options.plane is not None or options.style != "surface":
        return requests
    return [drawn(request, wavefunction) for request in requests]


def _plane(options: argparse.Namespace, field: str, wavefunction: Wavefunction) -> Surface:
    """The plane that the options ask for, coloured by the field."""
    from ..analysis.planes import as_surface, plane_through, slice_field
    from ..model.lattice import spacing_of
    from ..model.units import angstrom

    if options.color_by is not None:
        raise OrbitileError("--plane is coloured by FIELD itself; leave out --color-by")
    if options.kernel != "auto":
        raise OrbitileError("--plane is sampled at points, which auto chooses the kernel for; leave out --kernel")
    spacing = spacing_of(options.quality) / 2 if options.spacing is None else options.spacing * angstrom
    margin = {} if options.margin is None else {"margin": options.margin * angstrom}
    plane = plane_through(wavefunction, read_atoms("--plane", options.plane), spacing=spacing, **margin)
    values = slice_field(wavefunction, field, plane, device=options.device, precision=options.precision)
    return as_surface(values, options.color_range)


def _read_colours(text: str) -> list[tuple[str, str]]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) % 2:
        raise OrbitileError(
            f"--colors: expected two colours separated by a comma, such as '#3d57fb,#ec6e19', for each field, got "
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
            f"--turn: expected three angles in degrees separated by commas, such as -60,15,0, got {text!r}"
        )
    return angles
