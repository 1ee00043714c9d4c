"""Molecular orbitals and other fields of the electrons, computed live and shown in the viewer you already use.

    import orbitile as ob

    wfn = ob.load("benzene.molden")
    volume = ob.compute(wfn, "homo", ob.Lattice.around(wfn, spacing=0.2, margin=5.0))
    ob.render(ob.isosurface(volume, 0.03), wfn, "homo.png")

Lengths are in bohr and energies in hartree. Every error that is raised on purpose is an `OrbitileError`. Nothing heavy
is imported before it is used.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "AseCalculator": "scf.ase_calculator",
    "Calculation": "scf.calculation",
    "calculation_for": "scf.from_file",
    "Camera": "renderer",
    "Excitation": "model.wavefunction",
    "ExternalCharges": "model.external_charges",
    "Geometry": "model.geometry",
    "Lattice": "model.lattice",
    "Orbitals": "model.wavefunction",
    "OrbitileError": "base.errors",
    "Region": "scf.region",
    "Report": "model.report",
    "Residue": "model.structure",
    "Scene": "scenes",
    "SeriesWriter": "exporters._series",
    "Shell": "model.wavefunction",
    "Spectrum": "model.spectrum",
    "StoredVolume": "model.volume",
    "Structure": "model.structure",
    "Surface": "model.surface",
    "Tracking": "trajectories.tracking",
    "Trajectory": "model.trajectory",
    "Vibrations": "model.vibrations",
    "Volume": "model.volume",
    "VolumeDrawing": "scenes",
    "Wavefunction": "model.wavefunction",
    "align": "trajectories.paths",
    "analyse": "analysis.reports",
    "along": "pictures.films",
    "animate": "pictures.films",
    "arrow_mesh": "pictures.vibrations",
    "calculation_of": "scf.region",
    "charges_of_density": "model.volume",
    "complete_choice": "scf.region",
    "coloured": "evaluation.surfaces",
    "compute": "evaluation.lattices",
    "compute_many": "evaluation.lattices",
    "compute_on_device": "evaluation.lattices",
    "compute_series": "scf.series",
    "compute_surface": "evaluation.surfaces",
    "compute_to_file": "evaluation.streaming",
    "compute_vibrations": "scf.vibrations",
    "compute_volumes": "trajectories.volumes",
    "default_isovalue": "evaluation.default_isovalue",
    "draw_correlation": "analysis.correlation",
    "draw_plots": "analysis.presentation",
    "draw_slice": "analysis.planes",
    "enclosing_isovalue": "surfaces.isovalue",
    "enclosing_lattice": "evaluation.boxes",
    "energies": "analysis.energies",
    "electrons_along": "scf.modes",
    "evaluate": "evaluation.points",
    "extract_surface": "evaluation.surfaces",
    "extrema": "analysis.surface_statistics",
    "field_names": "fields",
    "film_of_mode": "pictures.vibrations",
    "follow": "trajectories.paths",
    "forces_on_charges": "analysis.external_charges",
    "interpolate": "trajectories.paths",
    "interpolated": "trajectories.paths",
    "isosurface": "surfaces.isosurface",
    "lattice_along": "trajectories.volumes",
    "load": "readers",
    "load_charges": "readers",
    "load_structure": "readers.structures",
    "load_spectra": "readers",
    "load_trajectory": "readers",
    "load_vibrations": "readers",
    "load_volumes": "readers",
    "local_workers": "workers.worker",
    "open_volume": "readers",
    "open_volumes": "readers._volume_series",
    "optimise": "scf.optimisation",
    "mimebundle": "hosts.notebook.showing",
    "over_isovalues": "pictures.films",
    "over_orbitals": "pictures.films",
    "overlap_matrix": "gaussians.overlap",
    "plane_through": "analysis.planes",
    "potential_of_charges": "evaluation.points",
    "quantum_region": "scf.region",
    "reaction_path": "scf.path",
    "render": "renderer",
    "region_of": "scf.region_file",
    "residue_report": "analysis.residues",
    "residue_shares": "analysis.residues",
    "run_batch": "jobs.running",
    "save": "exporters",
    "scene_of": "scenes",
    "save_region": "scf.region_file",
    "select": "readers.structures",
    "slice_field": "analysis.planes",
    "topograph": "analysis.planes",
    "to_structure": "scf.region",
    "track": "trajectories.tracking",
    "view": "hosts.notebook.showing",
    "with_charges": "readers.structures",
    "with_isotopes": "model.normal_modes",
    "with_positions": "scf.region",
}

__all__ = [*_HOME, "__version__"]  # noqa: PLE0604 - the names are strings


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    elif name == "errors":  # as in `except ob.errors.FileError`
        value = import_module(".base.errors", __name__)
    elif not name.startswith("_") and name in (reports := import_module(".analysis.reports", __name__)).analyses():
        value = reports.function_of(name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
