from collections.abc import Sequence
from os import PathLike

from .analysis.correlation import draw_correlation as draw_correlation
from .analysis.energies import energies as energies
from .analysis.external_charges import forces_on_charges as forces_on_charges
from .analysis.planes import draw_slice as draw_slice
from .analysis.planes import plane_through as plane_through
from .analysis.planes import slice_field as slice_field
from .analysis.planes import topograph as topograph
from .analysis.presentation import draw_plots as draw_plots
from .analysis.reports import analyse as analyse
from .analysis.residues import residue_report as residue_report
from .analysis.residues import residue_shares as residue_shares
from .analysis.surface_statistics import extrema as extrema
from .base import errors as errors
from .base.errors import OrbitileError as OrbitileError
from .base.watch import Cancel, Progress
from .evaluation.boxes import enclosing_lattice as enclosing_lattice
from .evaluation.default_isovalue import default_isovalue as default_isovalue
from .evaluation.lattices import compute as compute
from .evaluation.lattices import compute_many as compute_many
from .evaluation.lattices import compute_on_device as compute_on_device
from .evaluation.points import evaluate as evaluate
from .evaluation.points import potential_of_charges as potential_of_charges
from .evaluation.streaming import compute_to_file as compute_to_file
from .evaluation.surfaces import coloured as coloured
from .evaluation.surfaces import compute_surface as compute_surface
from .evaluation.surfaces import extract_surface as extract_surface
from .exporters import save as save
from .exporters._series import SeriesWriter as SeriesWriter
from .fields import field_names as field_names
from .gaussians.overlap import overlap_matrix as overlap_matrix
from .hosts.notebook.showing import mimebundle as mimebundle
from .hosts.notebook.showing import view as view
from .jobs.running import run_batch as run_batch
from .model.external_charges import ExternalCharges as ExternalCharges
from .model.geometry import Geometry as Geometry
from .model.lattice import Lattice as Lattice
from .model.normal_modes import with_isotopes as with_isotopes
from .model.report import Report as Report
from .model.spectrum import Spectrum as Spectrum
from .model.structure import Residue as Residue
from .model.structure import Structure as Structure
from .model.surface import Surface as Surface
from .model.trajectory import Trajectory as Trajectory
from .model.vibrations import Vibrations as Vibrations
from .model.volume import StoredVolume as StoredVolume
from .model.volume import Volume as Volume
from .model.volume import charges_of_density as charges_of_density
from .model.wavefunction import Excitation as Excitation
from .model.wavefunction import Orbitals as Orbitals
from .model.wavefunction import Shell as Shell
from .model.wavefunction import Wavefunction as Wavefunction
from .pictures.films import along as along
from .pictures.films import animate as animate
from .pictures.films import over_isovalues as over_isovalues
from .pictures.films import over_orbitals as over_orbitals
from .pictures.vibrations import arrow_mesh as arrow_mesh
from .pictures.vibrations import film_of_mode as film_of_mode
from .readers import load as load
from .readers import load_charges as load_charges
from .readers import load_spectra as load_spectra
from .readers import load_trajectory as load_trajectory
from .readers import load_vibrations as load_vibrations
from .readers import load_volumes as load_volumes
from .readers import open_volume as open_volume
from .readers._volume_series import open_volumes as open_volumes
from .readers.structures import load_structure as load_structure
from .readers.structures import select as select
from .readers.structures import with_charges as with_charges
from .renderer import Camera as Camera
from .renderer import render as render
from .scenes import Scene as Scene
from .scenes import VolumeDrawing as VolumeDrawing
from .scenes import scene_of as scene_of
from .scf.ase_calculator import AseCalculator as AseCalculator
from .scf.calculation import Calculation as Calculation
from .scf.from_file import calculation_for as calculation_for
from .scf.modes import electrons_along as electrons_along
from .scf.optimisation import optimise as optimise
from .scf.path import reaction_path as reaction_path
from .scf.region import Region as Region
from .scf.region import calculation_of as calculation_of
from .scf.region import complete_choice as complete_choice
from .scf.region import quantum_region as quantum_region
from .scf.region import to_structure as to_structure
from .scf.region import with_positions as with_positions
from .scf.region_file import region_of as region_of
from .scf.region_file import save_region as save_region
from .scf.series import compute_series as compute_series
from .scf.vibrations import compute_vibrations as compute_vibrations
from .surfaces.isosurface import isosurface as isosurface
from .surfaces.isovalue import enclosing_isovalue as enclosing_isovalue
from .trajectories.paths import align as align
from .trajectories.paths import follow as follow
from .trajectories.paths import interpolate as interpolate
from .trajectories.paths import interpolated as interpolated
from .trajectories.tracking import Tracking as Tracking
from .trajectories.tracking import track as track
from .trajectories.volumes import compute_volumes as compute_volumes
from .trajectories.volumes import lattice_along as lattice_along
from .workers.worker import local_workers as local_workers

__version__: str

# Analyses, one a module of `orbitile.analysis.reports`:

def basins(
    subject: Wavefunction,
    /,
    *,
    of: str = ...,
    accuracy: str = ...,
    device: str | None = ...,
    progress: Progress | None = ...,
    cancelled: Cancel | None = ...,
) -> Report: ...
def bonds(
    subject: Wavefunction,
    /,
    *,
    threshold: float = ...,
    device: str | None = ...,
    progress: Progress | None = ...,
    cancelled: Cancel | None = ...,
) -> Report: ...
def cavity(
    subject: Wavefunction,
    /,
    *,
    solvent: str = ...,
    device: str | None = ...,
    progress: Progress | None = ...,
    cancelled: Cancel | None = ...,
) -> Report: ...
def charges(
    subject: Wavefunction,
    /,
    *,
    scheme: str = ...,
    dipole: bool = ...,
    device: str | None = ...,
    progress: Progress | None = ...,
    cancelled: Cancel | None = ...,
) -> Report: ...
def composition(
    subject: Wavefunction,
    /,
    *,
    orbitals: str = ...,
    fragments: str = ...,
    scheme: str = ...,
    least: float = ...,
    device: str | None = ...,
    progress: Progress | None = ...,
    cancelled: Cancel | None = ...,
) -> Report: ...
def excitations(
    subject: Wavefunction,
    /,
    *,
    fragments: str = ...,
    state: int = ...,
    scheme: str = ...,
    fwhm: float = ...,
    device: str | None = ...,
    progress: Progress | None = ...,
    cancelled: Cancel | None = ...,
) -> Report: ...
def flow(
    subject: Trajectory,
    /,
    *,
    scheme: str = ...,
    least: float = ...,
    device: str | None = ...,
    progress: Progress | None = ...,
    cancelled: Cancel | None = ...,
) -> Report: ...
def interactions(
    subject: Wavefunction | Geometry,
    /,
    *,
    atoms: str | Sequence[int] = ...,
    model: str = ...,
    isovalue: float | None = ...,
    device: str | None = ...,
    progress: Progress | None = ...,
    cancelled: Cancel | None = ...,
) -> Report: ...
def levels(
    subject: Wavefunction,
    /,
    *,
    by: str = ...,
    fragments: str = ...,
    scheme: str = ...,
    fwhm: float = ...,
    line: str = ...,
    lowest: float | None = ...,
    highest: float | None = ...,
    device: str | None = ...,
    progress: Progress | None = ...,
    cancelled: Cancel | None = ...,
) -> Report: ...
def localise(
    subject: Wavefunction,
    /,
    *,
    scheme: str = ...,
    which: str = ...,
    spin: str = ...,
    device: str | None = ...,
    progress: Progress | None = ...,
    cancelled: Cancel | None = ...,
) -> Report: ...
def residues(
    subject: Wavefunction,
    /,
    *,
    atoms: str | Sequence[int] = ...,
    arrows: float | None = ...,
    device: str | None = ...,
    progress: Progress | None = ...,
    cancelled: Cancel | None = ...,
) -> Report: ...
def spectra(
    subject: Sequence[Spectrum],
    /,
    *,
    fwhm: float | None = ...,
    shape: str = ...,
    axis: str = ...,
    reference: float | None = ...,
    device: str | None = ...,
    progress: Progress | None = ...,
    cancelled: Cancel | None = ...,
) -> Report: ...
def surface(
    subject: Wavefunction,
    /,
    *,
    fields: str = ...,
    fragments: str = ...,
    surface: str = ...,
    isovalue: float | None = ...,
    spacing: float | None = ...,
    device: str | None = ...,
    progress: Progress | None = ...,
    cancelled: Cancel | None = ...,
) -> Report: ...
def topology(
    subject: Wavefunction,
    /,
    *,
    labels: str = ...,
    cutoff: float = ...,
    surfaces: int = ...,
    device: str | None = ...,
    progress: Progress | None = ...,
    cancelled: Cancel | None = ...,
) -> Report: ...
def aromaticity(
    subject: Wavefunction | Geometry,
    /,
    *,
    scheme: str = ...,
    atoms: str | Sequence[int] = ...,
    device: str | None = ...,
    progress: Progress | None = ...,
    cancelled: Cancel | None = ...,
) -> Report: ...
def contacts(
    subject: Wavefunction | Geometry,
    /,
    *,
    atoms: str | Sequence[int] = ...,
    device: str | None = ...,
    progress: Progress | None = ...,
    cancelled: Cancel | None = ...,
) -> Report: ...
def critical_points(
    subject: Wavefunction,
    /,
    *,
    field: str = ...,
    cutoff: float | None = ...,
    device: str | None = ...,
    progress: Progress | None = ...,
    cancelled: Cancel | None = ...,
) -> Report: ...
def currents(
    subject: Wavefunction,
    /,
    *,
    axis: str = ...,
    height: float = ...,
    spacing: float = ...,
    lines: int = ...,
    method: str = ...,
    device: str | None = ...,
    progress: Progress | None = ...,
    cancelled: Cancel | None = ...,
) -> Report: ...
def vectors(
    subject: Wavefunction,
    /,
    *,
    field: str = ...,
    atoms: str | Sequence[int] = ...,
    height: float = ...,
    spacing: float = ...,
    surface: str = ...,
    isovalue: float | None = ...,
    device: str | None = ...,
    progress: Progress | None = ...,
    cancelled: Cancel | None = ...,
) -> Report: ...
def voids(
    subject: Wavefunction,
    /,
    *,
    isovalue: float = ...,
    spacing: float = ...,
    device: str | None = ...,
    progress: Progress | None = ...,
    cancelled: Cancel | None = ...,
) -> Report: ...
def profile(
    subject: Wavefunction,
    /,
    *,
    field: str = ...,
    atoms: str | Sequence[int] = ...,
    height: float = ...,
    beyond: float = ...,
    isovalue: float | None = ...,
    points: int = ...,
    device: str | None = ...,
    progress: Progress | None = ...,
    cancelled: Cancel | None = ...,
) -> Report: ...
def natural_bonds(
    subject: Wavefunction,
    /,
    *,
    threshold: float = ...,
    device: str | None = ...,
    progress: Progress | None = ...,
    cancelled: Cancel | None = ...,
) -> Report: ...
def nocv(
    subject: Wavefunction,
    /,
    *,
    files: Sequence[str | PathLike[str]] = ...,
    axis: str | Sequence[int] = ...,
    method: str = ...,
    least: float = ...,
    device: str | None = ...,
    progress: Progress | None = ...,
    cancelled: Cancel | None = ...,
) -> Report: ...
def vibrations(
    subject: Vibrations,
    /,
    *,
    fwhm: float = ...,
    shape: str = ...,
    scale: float = ...,
    infrared: str = ...,
    files: Sequence[str | PathLike[str]] = ...,
    device: str | None = ...,
    progress: Progress | None = ...,
    cancelled: Cancel | None = ...,
) -> Report: ...
def vibronic(
    subject: Vibrations,
    /,
    *,
    mode: int = ...,
    orbitals: int = ...,
    method: str = ...,
    basis: str = ...,
    device: str | None = ...,
    progress: Progress | None = ...,
    cancelled: Cancel | None = ...,
) -> Report: ...
def thermochemistry(
    subject: Vibrations,
    /,
    *,
    temperature: float = ...,
    pressure: float = ...,
    symmetry_number: int = ...,
    multiplicity: int = ...,
    low_modes: str = ...,
    scale: float = ...,
    device: str | None = ...,
    progress: Progress | None = ...,
    cancelled: Cancel | None = ...,
) -> Report: ...
