"""Damage that once ended the process, took for ever, or left a traceback: each is an error of one line."""

import numpy as np
import pytest

import orbitile as ob
from orbitile.readers import load_geometries
from tests.fuzz.samples import SAMPLES, seeds

GAMESS = """
          *         GAMESS VERSION = 30 SEP 2018 (R3)         *

     ATOMIC BASIS SET
     ----------------
 THE CONTRACTED PRIMITIVE FUNCTIONS HAVE BEEN UNNORMALIZED
 THE CONTRACTED BASIS FUNCTIONS ARE NOW NORMALIZED TO UNITY

  SHELL TYPE  PRIMITIVE        EXPONENT          CONTRACTION COEFFICIENT(S)

 H

      1   S       1             3.4252509    0.154328967295
      1   S       2             0.6239137    0.535328142282

 H

 {shell:>6d}   S       3             3.4252509    0.154328967295
 {shell:>6d}   S       4             0.6239137    0.535328142282

 TOTAL NUMBER OF BASIS SET SHELLS             =    2
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return seeds(tmp_path_factory.mktemp("whole") / "files")


def _topology(whole):
    return whole["geometry.trr"].with_name("topology.pdb")


def test_a_log_with_a_shell_of_absurd_number(tmp_path):
    """cclib gives its basis set to all the atoms that must have been left out."""
    path = tmp_path / "some.log"
    path.write_text(GAMESS.format(shell=2))
    with pytest.raises(ob.OrbitileError, match="log without atoms"):
        ob.load(path)
    path.write_text(GAMESS.format(shell=2147483647))
    with pytest.raises(ob.OrbitileError, match=r"some\.log: .*asks for more"):
        ob.load(path)


def test_headings_of_a_checkpoint_file_of_a_type_that_is_not_known(tmp_path):
    """They end the array before them, and are no values of it."""
    text = (SAMPLES / "h2o_sto3g.fchk").read_text()
    path = tmp_path / "h2o.fchk"
    path.write_text(
        text.replace("Alpha MO coef", f"{'Flags of another program':40}   H   N=           2\n  T  F\nAlpha MO coef")
    )
    same = ob.load(path).alpha.coefficients, ob.load(SAMPLES / "h2o_sto3g.fchk").alpha.coefficients
    np.testing.assert_array_equal(*same)


def test_line_ends_that_crash_the_library_of_trexio(whole):
    if "atom.trexio" not in whole:
        pytest.skip("the package trexio is not installed")
    text = whole["atom.trexio"] / "mo.txt"
    content = text.read_bytes()
    try:
        for damaged in (content.replace(b"\n", b"\r"), content[:20]):
            text.write_bytes(damaged)
            with pytest.raises(ob.OrbitileError, match=r"atom\.trexio"):
                ob.load(whole["atom.trexio"])
    finally:
        text.write_bytes(content)
    assert ob.load(whole["atom.trexio"]).n_atoms == 1


def test_lengths_that_crash_mdtraj(tmp_path, whole):
    """Of the header of a TRR file, each four bytes in turn."""
    if "geometry.trr" not in whole:
        pytest.skip("the package mdtraj is not installed")
    content = whole["geometry.trr"].read_bytes()
    outcomes = set()
    for place in range(24, 84, 4):
        for number in (b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff"):
            path = tmp_path / "a.trr"
            path.write_bytes(content[:place] + number + content[place + 4 :])
            try:
                geometries = load_geometries(path, _topology(whole))
                outcomes.update(type(geometries.read(n)).__name__ for n in range(min(len(geometries), 3)))
            except ob.OrbitileError as error:
                outcomes.add("crashed" if "crashed" in str(error) else "refused")
    assert {"Geometry", "refused"} <= outcomes


@pytest.mark.parametrize(("suffix", "whole_frames"), [("dcd", True), ("xtc", False), ("trr", True), ("nc", False)])
def test_trajectories_that_are_cut_off(tmp_path, whole, suffix, whole_frames):
    """Refused, or read as far as frames are whole, where the format lets MDTraj tell."""
    if f"geometry.{suffix}" not in whole:
        pytest.skip("the package mdtraj is not installed")
    source, topology = whole[f"geometry.{suffix}"], _topology(whole)
    content, expected = source.read_bytes(), load_geometries(source, topology)
    n_read = n_refused = 0
    for length in np.linspace(1, len(content) - 1, 15).astype(int):
        path = tmp_path / f"a.{suffix}"
        path.write_bytes(content[:length])
        try:
            geometries = load_geometries(path, topology)
            assert len(geometries) > 0
            for n in range(len(geometries)):
                assert np.array_equal(geometries.read(n).positions, expected.read(n).positions)
                n_read += 1
        except ob.OrbitileError:
            n_refused += 1
    assert n_refused > 0
    assert (n_read > 0) == whole_frames


def test_frames_of_gromacs(whole):
    if "geometry.gro" not in whole:
        pytest.skip("the package mdtraj is not installed")
    gro, dcd = (load_geometries(whole[f"geometry.{s}"], _topology(whole)) for s in ("gro", "dcd"))
    assert len(gro) == len(dcd) == 3
    for n in range(3):  # three decimals of nanometres
        np.testing.assert_allclose(gro.read(n).positions, dcd.read(n).positions, atol=0.012)


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("he_s_orbital.wfn", "0.39372947D+00", "0.1000000D+200", "norm"),
        ("he_s_orbital.wfn", "0.39372947D+00", "nan", "."),
        ("he_s_orbital.wfn", "0.2979640D+00", "1.000000D-300", "exponents"),
        ("water_sto3g_hf.wfx", "-1.43244242000000E+000", "-1.43244242000000E+308", "positions"),
        ("lih_cation_uhf.wfx", "<Atomic Numbers>\n3", "<Atomic Numbers>\n" + "9" * 100, "."),
        ("lih_cation_uhf.wfx", "<Atomic Numbers>\n3", "<Atomic Numbers>\n300", "."),
    ],
)
def test_numbers_that_no_molecule_has(tmp_path, name, old, new, message):
    text = (SAMPLES / name).read_text()
    assert ob.load(SAMPLES / name)
    changed = text.replace(old, new, 1) if old in text else text.replace(old.replace("\n", "\n "), new, 1)
    assert changed != text
    (tmp_path / name).write_text(changed)
    with pytest.raises(ob.OrbitileError, match=message):
        ob.load(tmp_path / name)


def test_a_molden_file_that_is_still_being_written_lacks_sections(tmp_path):
    file = tmp_path / "half.molden"
    file.write_text("[Molden Format]\n[Atoms] AU\nH 1 1 0 0 0\n")
    with pytest.raises(
        ob.OrbitileError, match=r"no section \[GTO\] and no \[MO\]; it is cut off, or still being written"
    ):
        ob.load(file)
