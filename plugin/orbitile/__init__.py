"""Molecular orbitals and other fields of the electrons, computed live and shown in the viewer you already use.

    import orbitile as ob

    wfn = ob.load("benzene.molden")
    volume = ob.compute(wfn, "homo", ob.Lattice.around(wfn, spacing=0.2, margin=5.0))
    ob.render(ob.isosurface(volume, 0.03), wfn, "homo.png")

Lengths are in bohr and energies in hartree. Every error that is raised on purpose is an `OrbitileError`. Nothing heavy
is imported before it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .charges import charges_of_density as charges_of_density
    from .charges import load_charges as load_charges
    from .colouring import coloured as coloured
    from .colouring import extrema as extrema
    from .correlation import draw_correlation as draw_correlation
    from .errors import OrbitileError as OrbitileError
    from .evaluation import compute as compute
    from .evaluation import compute_many as compute_many
    from .evaluation import compute_on_device as compute_on_device
    from .evaluation import compute_surface as compute_surface
    from .evaluation import default_isovalue as default_isovalue
    from .evaluation import enclosing_lattice as enclosing_lattice
    from .evaluation import evaluate as evaluate
    from .evaluation import extract_surface as extract_surface
    from .evaluation import potential_of_charges as potential_of_charges
    from .exporters import save as save
    from .fields import field_names as field_names
    from .films import along as along
    from .films import animate as animate
    from .films import over_isovalues as over_isovalues
    from .films import over_orbitals as over_orbitals
    from .lattice import Lattice as Lattice
    from .level_of_theory import Calculation as Calculation
    from .overlap import overlap_matrix as overlap_matrix
    from .paths import align as align
    from .paths import follow as follow
    from .paths import interpolate as interpolate
    from .paths import interpolated as interpolated
    from .planes import draw_slice as draw_slice
    from .planes import plane_through as plane_through
    from .planes import slice_field as slice_field
    from .readers import load as load
    from .readers import load_trajectory as load_trajectory
    from .readers import load_volumes as load_volumes
    from .renderer import render as render
    from .scf import compute_series as compute_series
    from .series import SeriesWriter as SeriesWriter
    from .streaming import compute_to_file as compute_to_file
    from .surface import Surface as Surface
    from .surface import enclosing_isovalue as enclosing_isovalue
    from .surface import isosurface as isosurface
    from .tracking import Tracking as Tracking
    from .tracking import track as track
    from .trajectory import Trajectory as Trajectory
    from .volume import Volume as Volume
    from .wavefunction import Orbitals as Orbitals
    from .wavefunction import Shell as Shell
    from .wavefunction import Wavefunction as Wavefunction

__version__ = "0.1.0"

_HOME = {
    "Calculation": "level_of_theory",
    "Lattice": "lattice",
    "Orbitals": "wavefunction",
    "OrbitileError": "errors",
    "SeriesWriter": "series",
    "Shell": "wavefunction",
    "Surface": "surface",
    "Tracking": "tracking",
    "Trajectory": "trajectory",
    "Volume": "volume",
    "Wavefunction": "wavefunction",
    "align": "paths",
    "along": "films",
    "animate": "films",
    "charges_of_density": "charges",
    "coloured": "colouring",
    "compute": "evaluation",
    "compute_many": "evaluation",
    "compute_on_device": "evaluation",
    "compute_series": "scf",
    "compute_surface": "evaluation",
    "compute_to_file": "streaming",
    "default_isovalue": "evaluation",
    "draw_correlation": "correlation",
    "draw_slice": "planes",
    "enclosing_isovalue": "surface",
    "enclosing_lattice": "evaluation",
    "evaluate": "evaluation",
    "extract_surface": "evaluation",
    "extrema": "colouring",
    "field_names": "fields",
    "follow": "paths",
    "interpolate": "paths",
    "interpolated": "paths",
    "isosurface": "surface",
    "load": "readers",
    "load_charges": "charges",
    "load_trajectory": "readers",
    "load_volumes": "readers",
    "over_isovalues": "films",
    "over_orbitals": "films",
    "overlap_matrix": "overlap",
    "plane_through": "planes",
    "potential_of_charges": "evaluation",
    "render": "renderer",
    "save": "exporters",
    "slice_field": "planes",
    "track": "tracking",
}

__all__ = [*_HOME, "__version__"]  # noqa: PLE0604 - the names are strings


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
