"""`orbitile mesh`: the isosurface of a field, in a file."""

from __future__ import annotations

import argparse

from ._arguments import (
    VOLUMES_TOO,
    CommandParser,
    add_colouring,
    add_exported,
    add_field,
    add_file,
    add_sampling,
)
from ._files import is_sampled, surface_in, wavefunction_of

HELP = "write the isosurface of a field"
PRIORITY = 130


def add_arguments(parser: CommandParser) -> None:
    """State its arguments."""
    add_file(parser, VOLUMES_TOO)
    add_field(parser)
    add_sampling(parser)
    add_exported(parser, "mesh")
    add_colouring(parser)


def run(options: argparse.Namespace) -> None:
    """Write a surface, and print the name of its file."""
    from ..evaluation.requests import FileReferences
    from ..exporters import exporter_for, save
    from ..gaussians.kernels.matrix_product import for_one_result
    from ..pictures.surface import surface_of
    from ._surfaces import Console, request_of, tell_extrema

    exporter_for(options.output, "mesh")  # refuse before the work, not after it
    if is_sampled(options):
        field = None if options.field == "homo" else options.field  # which is the default
        save(surface_in(options, field, options.isovalue), options.output)
        print(options.output)
        return
    wavefunction = wavefunction_of(options)
    request = request_of(options, options.field, options.isovalue)
    with for_one_result():
        found = surface_of(request, wavefunction, FileReferences(), Console(options))
    tell_extrema([found])
    save(found.surface, options.output, wavefunction=wavefunction)
    print(options.output)
