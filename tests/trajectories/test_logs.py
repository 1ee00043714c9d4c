"""Logs that print orbitals at several geometries: two of real optimisations, and single calculations written on."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import FileError, OrbitileError
from orbitile.session.sampling import ShownTrajectory
from orbitile.session.source import Source
from tests.molecules import gto, lib, scf
from tests.trajectories.test_series import assert_same

WATER = Path(__file__).parent / "logs"
N_FRAMES = {"psi4_water.out": 5, "nwchem_water.out": 4}

LOGS = Path(__file__).parents[3] / "shared" / "data" / "logs"
needs_logs = pytest.mark.skipif(not LOGS.is_dir(), reason="logs of whole calculations are not kept with the package")


@pytest.mark.parametrize("name", N_FRAMES)
def test_each_frame_is_the_calculation_at_its_geometry(name):
    """Overlap and orbital energies are those of PySCF at the same geometry, which is another one in each frame."""
    trajectory = ob.load_trajectory(WATER / name)
    assert len(trajectory) == N_FRAMES[name]
    lengths = []
    for w in trajectory:
        molecule = gto.M(atom=list(zip("OHH", w.positions, strict=True)), unit="Bohr", basis="sto-3g", verbose=0)
        coefficients = w.alpha.coefficients  # s, s, p, s, s in both programs, p functions x, y, z
        np.testing.assert_allclose(coefficients.T @ molecule.intor("int1e_ovlp") @ coefficients, np.eye(7), atol=1e-4)
        with lib.with_omp_threads(1):
            field = scf.RHF(molecule).run(conv_tol=1e-10)
        np.testing.assert_allclose(w.alpha.energies, field.mo_energy, atol=2e-5)
        assert w.n_electrons == 10
        assert len(w.geometries) == 1
        lengths.append(np.linalg.norm(w.positions[1] - w.positions[0]))
    assert trajectory.problems == {}
    assert min(abs(a - b) for n, a in enumerate(lengths) for b in lengths[:n]) > 1e-4
    assert lengths[-1] == pytest.approx(1.870, abs=0.002)  # bohr, the minimum of RHF/STO-3G


@pytest.mark.parametrize("name", N_FRAMES)
def test_the_last_frame_is_what_load_reads(name):
    assert_same(ob.load_trajectory(WATER / name)[-1], ob.load(WATER / name))


@pytest.mark.parametrize("name", N_FRAMES)
def test_orbitals_are_followed_through_a_log(name):
    tracking = ob.track(ob.load_trajectory(WATER / name))
    assert tracking.confidence().min() > 0.98
    assert not tracking.crossings
    assert np.all(np.diff(tracking.energies(), axis=1) > 0)


def places(trajectory):
    """Where the steps of a log begin and end."""
    assert len(trajectory)
    # nothing but the reader knows where a step of each program begins
    return [(step.start, step.end) for step in trajectory.source._steps]


@pytest.mark.slow
@pytest.mark.parametrize("name", N_FRAMES)
def test_logs_of_interrupted_calculations(name, tmp_path):
    """Wherever a log ends, its last frame is whole, or left out with a reason in one line."""
    content, whole = (WATER / name).read_bytes(), ob.load_trajectory(WATER / name)
    expected, steps = list(whole), places(whole)
    rng = np.random.default_rng(7)
    n_read = 0
    for cut in range(60):
        index = cut % len(steps)
        start, end = steps[index]
        path = tmp_path / f"{cut}.out"
        path.write_bytes(content[: rng.integers(start, end)])
        trajectory = ob.load_trajectory(path)
        frames = dict(trajectory.frames())
        assert set(range(index)) <= set(frames)
        for frame, w in frames.items():
            assert_same(w, expected[frame])
        for problem in trajectory.problems.values():
            assert path.stem in problem
            assert "\n" not in problem
        n_read += index in frames
    assert 5 < n_read < 55


@pytest.mark.parametrize("name", N_FRAMES)
def test_a_growing_log(name, tmp_path):
    content = (WATER / name).read_bytes()
    path = tmp_path / "growing.out"
    path.write_bytes(content[:3000])
    trajectory = ob.load_trajectory(path)
    assert len(trajectory) == 1
    with pytest.raises(OrbitileError, match="growing"):
        trajectory[0]
    seen = []
    for place in range(3000, len(content) + 4999, 4999):
        path.write_bytes(content[:place])
        seen.append(len(trajectory))
    assert sorted(set(seen)) == list(range(1, N_FRAMES[name] + 1))
    assert seen == sorted(seen)
    for w, expected in zip(trajectory, ob.load_trajectory(WATER / name), strict=True):
        assert_same(w, expected)
    assert trajectory.problems == {}


@pytest.mark.parametrize("name", N_FRAMES)
def test_a_frame_is_read_without_the_others(name, tmp_path):
    """Spoiled steps do no harm to the one that is asked for: nothing between its place and the header is read."""
    content = (WATER / name).read_bytes()
    path = tmp_path / "some.out"
    path.write_bytes(content)
    trajectory = ob.load_trajectory(path)
    (_, first), (start, end) = places(trajectory)[0], places(trajectory)[2]
    spoiled = content[:first] + b"\xff" * (start - first) + content[start:end] + b"\xff" * (len(content) - end)
    path.write_bytes(spoiled)
    assert_same(trajectory[2], ob.load_trajectory(WATER / name)[2])
    with pytest.raises(FileError, match="frame 2"):
        trajectory[1]


def test_orbitals_that_are_cut_off_are_refused(tmp_path):
    """A log that ends after the first columns of its orbitals is not one of fewer orbitals."""
    content = (WATER / "psi4_water.out").read_text()
    block = content.index("==> Molecular Orbitals <==")
    path = tmp_path / "some.out"
    path.write_text(content[: content.index("                           6            7", block)])
    with pytest.raises(FileError, match="within the orbitals"):
        ob.load(path)


# Programs that print each geometry as the others do: a log goes on with the same step, moved along z ------------------

HEADINGS = {  # of the geometry that cclib takes, and which number from the end of a line is z
    "gamess_us2018_dvb_sp.out": ("ATOM      ATOMIC ", 1),
    "gaussian16_dvb_sp.out": ("Standard orientation:", 1),
    "molpro2012_dvb_sphf.out": ("ATOMIC COORDINATES", 1),
    "orca5_dvb_sp.out": ("CARTESIAN COORDINATES (ANGSTROEM)", 1),
    "psi4_1.7_dvb_sp_rhf.out": ("==> Geometry <==", 2),
    "qchem54_dvb_sp.out": ("Standard Nuclear Orientation", 1),
}
ANGSTROM = 1 / 0.529177210903


def moved(step: str, distance: float, from_end: int) -> str:
    """A step of a log with its first table of coordinates moved along z."""
    lines, n_atoms = step.split("\n"), 0
    for n, line in enumerate(lines):
        numbers = list(re.finditer(r"-?\d+\.\d+", line))
        if len(numbers) >= 3 and not line[numbers[-1].end() :].strip():
            z = numbers[-from_end]
            width, decimals = z.end() - z.start() + 1, len(z[0].split(".")[1])
            text = f"{float(z[0]) + distance:{width}.{decimals}f}"
            lines[n] = line[: z.start() - 1] + text + line[z.end() :]
            n_atoms += 1
        elif n_atoms:
            break
    assert n_atoms == 20
    return "\n".join(lines)


@needs_logs
@pytest.mark.parametrize("name", HEADINGS)
def test_a_step_that_is_printed_again_elsewhere(name, tmp_path):
    """The geometry of each frame is its own, in six programs."""
    heading, from_end = HEADINGS[name]
    content = (LOGS / name).read_text(errors="replace")
    place = content.rindex("\n", 0, content.index(heading)) + 1
    path = tmp_path / name
    path.write_text(content + "".join(moved(content[place:], d, from_end) for d in (1.0, -2.0)))
    trajectory = ob.load_trajectory(path)
    alone = ob.load(LOGS / name)
    assert len(trajectory) == 3
    unit = 1 if name.startswith(("gamess", "molpro")) else ANGSTROM  # these print bohr there
    for w, distance in zip(trajectory, (0, 1, -2), strict=True):
        np.testing.assert_allclose(w.positions, alone.positions + np.array([0, 0, distance * unit]), atol=2e-6)
        np.testing.assert_array_equal(w.alpha.coefficients, alone.alpha.coefficients)
        np.testing.assert_array_equal(w.alpha.energies, alone.alpha.energies)
        np.testing.assert_array_equal(w.alpha.occupations, alone.alpha.occupations)
    assert trajectory.problems == {}


# Optimisations by other programs ------------------------------------------------------------------------------------

OPTIMISATIONS = {
    "gamess_us2018_dvb_gopt_a.out": 2,
    "gamess_us2012_dvb_gopt_a_unconverged.out": 2,  # the geometry above the last orbitals is not theirs
    "firefly8_h2o.log": 2,
    "orca41_water_opt.out": 2,
    "psi4_1.2_methane_opt_freq.out": 5,
}


@needs_logs
@pytest.mark.parametrize("name", OPTIMISATIONS)
def test_optimisations(name):
    file = LOGS / name
    if not file.is_file():
        pytest.skip("this log is not among those that are here")
    trajectory = ob.load_trajectory(file)
    frames = list(trajectory)
    assert len(frames) == len(trajectory) == OPTIMISATIONS[name]
    assert_same(frames[-1], ob.load(file))
    assert 0.01 < np.linalg.norm(frames[0].positions - frames[1].positions) < 2
    homo = [w.alpha.energies[w.alpha.occupations > 0].max() for w in frames]
    assert homo[0] != homo[1]


def test_viewers_show_all_geometries_of_a_log_with_orbitals_at_few(tmp_path):
    """As programs print them unless told otherwise: at the first and at the last geometry of an optimisation."""
    whole = WATER / "psi4_water.out"
    assert not ShownTrajectory(Source((str(whole),))).is_one_file
    blocks = re.split(r"(?s)(  ==> Molecular Orbitals <==.*?\*\*\* tstop)", whole.read_text())
    for middle in range(3, 9, 2):
        blocks[middle] = "*** tstop"
    few = tmp_path / "few.out"
    few.write_text("".join(blocks))
    assert len(ob.load_trajectory(few)) == 2
    assert ShownTrajectory(Source((str(few),))).is_one_file
    assert len(ob.load(few).geometries) == 5
