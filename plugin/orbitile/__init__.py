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
    from .analysis.correlation import draw_correlation as draw_correlation
    from .analysis.extrema import extrema as extrema
    from .analysis.planes import draw_slice as draw_slice
    from .analysis.planes import plane_through as plane_through
    from .analysis.planes import slice_field as slice_field
    from .animation import along as along
    from .animation import animate as animate
    from .animation import over_isovalues as over_isovalues
    from .animation import over_orbitals as over_orbitals
    from .compute.colouring import coloured as coloured
    from .compute.evaluation import compute as compute
    from .compute.evaluation import compute_many as compute_many
    from .compute.evaluation import compute_on_device as compute_on_device
    from .compute.evaluation import compute_surface as compute_surface
    from .compute.evaluation import default_isovalue as default_isovalue
    from .compute.evaluation import enclosing_lattice as enclosing_lattice
    from .compute.evaluation import evaluate as evaluate
    from .compute.evaluation import extract_surface as extract_surface
    from .compute.evaluation import potential_of_charges as potential_of_charges
    from .compute.streaming import compute_to_file as compute_to_file
    from .errors import OrbitileError as OrbitileError
    from .exporters import save as save
    from .exporters._series import SeriesWriter as SeriesWriter
    from .fields import field_names as field_names
    from .gaussians.overlap import overlap_matrix as overlap_matrix
    from .model.charges import charges_of_density as charges_of_density
    from .model.lattice import Lattice as Lattice
    from .model.surface import Surface as Surface
    from .model.trajectory import Trajectory as Trajectory
    from .model.volume import Volume as Volume
    from .model.wavefunction import Orbitals as Orbitals
    from .model.wavefunction import Shell as Shell
    from .model.wavefunction import Wavefunction as Wavefunction
    from .readers import load as load
    from .readers import load_trajectory as load_trajectory
    from .readers import load_volumes as load_volumes
    from .readers._point_charges import load_charges as load_charges
    from .renderer import render as render
    from .scf.engine import compute_series as compute_series
    from .scf.level_of_theory import Calculation as Calculation
    from .surfaces.isosurface import isosurface as isosurface
    from .surfaces.isovalue import enclosing_isovalue as enclosing_isovalue
    from .trajectories.interpolation import interpolate as interpolate
    from .trajectories.interpolation import interpolated as interpolated
    from .trajectories.paths import align as align
    from .trajectories.paths import follow as follow
    from .trajectories.tracking import Tracking as Tracking
    from .trajectories.tracking import track as track

__version__ = "0.1.0"

_HOME = {
    "Calculation": "scf.level_of_theory",
    "Lattice": "model.lattice",
    "Orbitals": "model.wavefunction",
    "OrbitileError": "errors",
    "SeriesWriter": "exporters._series",
    "Shell": "model.wavefunction",
    "Surface": "model.surface",
    "Tracking": "trajectories.tracking",
    "Trajectory": "model.trajectory",
    "Volume": "model.volume",
    "Wavefunction": "model.wavefunction",
    "align": "trajectories.paths",
    "along": "animation",
    "animate": "animation",
    "charges_of_density": "model.charges",
    "coloured": "compute.colouring",
    "compute": "compute.evaluation",
    "compute_many": "compute.evaluation",
    "compute_on_device": "compute.evaluation",
    "compute_series": "scf.engine",
    "compute_surface": "compute.evaluation",
    "compute_to_file": "compute.streaming",
    "default_isovalue": "compute.evaluation",
    "draw_correlation": "analysis.correlation",
    "draw_slice": "analysis.planes",
    "enclosing_isovalue": "surfaces.isovalue",
    "enclosing_lattice": "compute.evaluation",
    "evaluate": "compute.evaluation",
    "extract_surface": "compute.evaluation",
    "extrema": "analysis.extrema",
    "field_names": "fields",
    "follow": "trajectories.paths",
    "interpolate": "trajectories.interpolation",
    "interpolated": "trajectories.interpolation",
    "isosurface": "surfaces.isosurface",
    "load": "readers",
    "load_charges": "readers._point_charges",
    "load_trajectory": "readers",
    "load_volumes": "readers",
    "over_isovalues": "animation",
    "over_orbitals": "animation",
    "overlap_matrix": "gaussians.overlap",
    "plane_through": "analysis.planes",
    "potential_of_charges": "compute.evaluation",
    "render": "renderer",
    "save": "exporters",
    "slice_field": "analysis.planes",
    "track": "trajectories.tracking",
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
