"""The command, as a newcomer types it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
import trimesh
from PIL import Image

import orbitile as ob
from orbitile.commandline import main
from orbitile.gaussians.kernels import kernel_names
from tests.conftest import SAMPLES

BENZENE = str(files("orbitile") / "data" / "benzene.molden")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Every test works in an empty folder, on the CPU."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ORBITILE_DEVICE", "cpu")


def refused(capsys, *arguments: str) -> str:
    """Run a command that must fail: exit status 2, one line, nothing written; returns the line."""
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert os.listdir(".") == []
    return captured.err


def test_info_for_people(capsys):
    assert main(["info", BENZENE]) == 0
    text = capsys.readouterr().out
    assert "C6H6, 12 atoms" in text
    assert re.search(r"^ +21 +-8\.95\d +2\.0000 .*HOMO$", text, re.MULTILINE)
    assert re.search(r"^ +22 +3\.99\d +0\.0000 .*LUMO$", text, re.MULTILINE)
    assert "(10 below; --all shows them)" in text
    main(["info", BENZENE, "--all"])
    assert "(10 below" not in capsys.readouterr().out


@pytest.mark.slow
def test_what_a_terminal_would_obey_is_escaped(capsys):
    hostile = "\x1b]0;owned\x07\x9b2J\x1b[31m\u2028"
    text = (SAMPLES / "h2o_sto3g.fchk").read_text()
    title = f"t{hostile}"
    Path(f"a{hostile}.fchk").write_text(text.replace(text.splitlines()[0], title, 1), encoding="utf-8")
    Path(f"broken{hostile}.fchk").write_text("nothing")
    molden = Path(BENZENE).read_text()
    Path("b.molden").write_text(molden.replace("[Title]", f"[Title]\n{hostile}").replace("Sym=", f"Sym={hostile}"))
    for command in (
        ["info", f"a{hostile}.fchk"], ["info", "b.molden", "--all"], ["info", f"broken{hostile}.fchk"],
        ["charges", f"a{hostile}.fchk"], ["info", f"{hostile}.none"],
        ["volume", "b.molden", "homo", "-o", f"{hostile}.cube"],
        ["levels", "b.molden"], ["batch", f"broken{hostile}.fchk", "--to", "json", "-o", f"out{hostile}"],
    ):  # fmt: skip
        main(command)
        said = "".join(capsys.readouterr())
        assert said
        assert not {one for one in said if not one.isprintable()} - {"\n"}, (command, said)


def test_info_for_programs(capsys):
    assert main(["info", str(SAMPLES / "ch3_hf_sto3g.fchk"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["formula"], found["charge"], found["multiplicity"]) == ("CH3", 0, 2)
    homos = {o["spin"]: o["number"] for o in found["orbitals"] if o["frontier"] == "HOMO"}
    assert homos == {"alpha": 5, "beta": 4}
    assert len(found["atoms"]) == 4


def test_info_notes_effective_core_potentials(capsys):
    assert main(["info", str(SAMPLES / "monosilicic_acid_hf_lan.fchk")]) == 0
    assert "effective core potentials on Si (10 electrons)" in capsys.readouterr().out


def test_render(capsys):
    assert main(["render", BENZENE, "lumo", "--quality", "coarse", "--size", "200x150", "-o", "lumo.png"]) == 0
    assert capsys.readouterr().out == "lumo.png\n"
    assert Image.open("lumo.png").size == (200, 150)


def test_render_names_the_picture_after_file_and_field(capsys):
    assert main(["render", BENZENE, "mo:7", "--quality", "coarse", "--size", "60x60", "--turn", "10,20,30"]) == 0
    assert capsys.readouterr().out == "benzene-mo-7.png\n"
    assert Path("benzene-mo-7.png").exists()


def test_options_may_stand_anywhere(capsys):
    given = ["--quality", "coarse", "--size", "60x60"]
    assert main(["render", "-o", "a.png", BENZENE, *given, "lumo", "homo"]) == 0
    assert main(["render", BENZENE, "lumo", "homo", *given, "-o", "b.png"]) == 0
    assert Path("a.png").read_bytes() == Path("b.png").read_bytes()
    assert main(["volume", BENZENE, "-o", "lumo.npz", "lumo", "--points", "8"]) == 0
    assert "LUMO" in ob.load_volumes("lumo.npz")[0].quantity
    for wrong, words in ((["render"], "required: FILE\n"), (["render", BENZENE, "--nope"], "arguments: --nope\n")):
        with pytest.raises(SystemExit) as error:
            main(wrong)
        assert error.value.code == 2
        assert capsys.readouterr().err.endswith(words)


def test_lengths_are_in_angstrom():
    assert main(["volume", BENZENE, "homo", "--spacing", "0.3", "--margin", "2", "-o", "homo.npz"]) == 0
    (volume,) = ob.load_volumes("homo.npz")
    assert volume.lattice.spacings == pytest.approx(0.3 / 0.529177210903)
    assert volume.lattice.origin[2] <= -2 / 0.529177210903
    expected = ob.evaluate(ob.load(BENZENE), "homo", volume.lattice.points(), device="cpu")
    assert np.abs(volume.values.ravel() - expected).max() < 1e-6


def test_kernels_give_the_same_volume():
    for kernel in ("separable", "direct"):
        command = ["volume", BENZENE, "homo", "--spacing", "0.3", "--margin", "1", "-o", f"{kernel}.npz"]
        assert main([*command, "--kernel", kernel]) == 0
    (one,), (other,) = ob.load_volumes("separable.npz"), ob.load_volumes("direct.npz")
    assert not np.array_equal(one.values, other.values)  # or both would come from one kernel
    assert np.abs(one.values - other.values).max() < 2e-6 * np.abs(one.values).max()


@pytest.mark.parametrize("suffix", ["cube", "dx", "mrc", "npz", "zarr"])
def test_files_of_volumes_are_shown(capsys, suffix):
    """Their lattice and values, and a surface at an isovalue that suits these."""
    volume = ["volume", BENZENE, "homo", "--spacing", "0.4", "--margin", "2.5", "-q"]
    assert main([*volume, "-o", f"v.{suffix}"]) == 0
    capsys.readouterr()
    assert main(["info", f"v.{suffix}", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (facts,) = found["volumes"]
    assert facts["maximum"] == pytest.approx(-facts["minimum"], rel=0.01)
    assert facts["integral_of_square"] == pytest.approx(1, abs=0.05)  # a coarse lattice
    assert 0.02 < facts["isovalue"] < 0.04
    np.testing.assert_allclose(np.linalg.norm(facts["axes"], axis=1), 0.4, rtol=1e-4)
    assert len(found["elements"]) == (12 if suffix in ("cube", "zarr") else 0)
    assert main(["info", f"v.{suffix}"]) == 0
    assert f"isovalue  {facts['isovalue']:.4g} by default" in capsys.readouterr().out
    assert main(["mesh", f"v.{suffix}", "-o", "v.glb"]) == 0
    assert len(trimesh.load("v.glb", force="mesh").split()) == 4  # its lobes, two of each sign
    if suffix == "cube":
        assert main(["render", "v.cube", "--size", "60x60", "--turn", "10,0,0", "-o", "v.png"]) == 0
        assert main(["render", "v.cube", "values", "--isovalue", "0.03", "-o", "scene.glb"]) == 0
        capsys.readouterr()
        for arguments, words in (
            (["render", "v.cube", "homo", "-o", "w.png"], "expected values, got 'homo'"),
            (["render", "v.cube", "--color-by", "esp", "-o", "w.png"], "leave out --color-by"),
            (["render", "v.cube", "-o", "w.html"], "pages show fields of orbitals"),
            (["charges", "v.cube"], "no orbitals; shown by `orbitile info`"),
        ):
            assert main(arguments) == 2
            assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("spectrum.dx", "##TITLE= ethanol\n##JCAMP-DX= 5.00\n##DATA TYPE= INFRARED SPECTRUM\n##NPOINTS= 2\n"),
        ("index.js.map", '{"version":3,"sources":["index.ts"],"mappings":"AAAA"}\n'),
        ("film.cube", 'TITLE "warm"\nLUT_3D_SIZE 2\nDOMAIN_MIN 0.0 0.0 0.0\n0 0 0\n'),
    ],
)
def test_other_files_with_the_suffix_of_a_volume(tmp_path, capsys, name, text):
    path = tmp_path / "others" / name
    path.parent.mkdir()
    path.write_text(text)
    for command in (["info", str(path)], ["render", str(path), "-o", "a.png"]):
        assert main(command) == 2
        assert f"{name}: no output of a quantum-chemistry program, nor one of" in capsys.readouterr().err


def test_decimal_commas(capsys):
    assert main(["mesh", BENZENE, "homo", "--isovalue", "0,05", "--quality", "coarse", "-o", "a.ply"]) == 0
    assert main(["mesh", BENZENE, "homo", "--isovalue", "0.05", "--quality", "coarse", "-o", "b.ply"]) == 0
    assert Path("a.ply").read_bytes() == Path("b.ply").read_bytes()
    given = [BENZENE, "--quality", "coarse", "--size", "60x60"]
    assert main(["render", *given, "homo", "--isovalue", "0,05", "-o", "a.png"]) == 0
    assert main(["render", *given, "homo", "lumo", "--isovalue", "0.05,0.04", "-o", "b.png"]) == 0
    capsys.readouterr()
    assert main(["render", *given, "homo", "lumo", "--isovalue", "0,05", "-o", "c.png"]) == 2
    assert (
        "commas separate the isovalues of several fields: write decimal points, as in 0.03" in capsys.readouterr().err
    )
    with pytest.raises(SystemExit):
        main(["mesh", BENZENE, "homo", "--spacing", "1,000", "-o", "c.ply"])
    assert "--spacing: invalid number value: '1,000'" in capsys.readouterr().err


def test_mesh():
    assert main(["mesh", BENZENE, "homo", "--isovalue", "0.05", "--quality", "coarse", "-o", "homo.ply"]) == 0
    mesh = trimesh.load("homo.ply")
    assert mesh.is_watertight
    assert len(mesh.split()) == 4  # two nodal planes
    assert mesh.bounds[0] == pytest.approx(-mesh.bounds[1], abs=1e-3)
    assert mesh.bounds[1] == pytest.approx([2.24, 1.62, 1.43], abs=0.02)  # in Angstrom


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["info", "benzne.molden"], "no such file"),
        (["render", BENZENE, "hommo"], "Nearest match: homo"),
        (["render", BENZENE, "mo:99"], "orbitals 1 to 31"),
        (["render", BENZENE, "lumo+50"], "lumo+9"),
        (["render", BENZENE, "--isovalue", "9"], "isovalue"),
        (["render", BENZENE, "--isovalue", "-1"], "isovalue"),
        (["render", BENZENE, "--isovalue", "nan"], "isovalue"),
        (["render", BENZENE, "--size", "big"], "--size"),
        (["render", BENZENE, "--colors", "red"], "--colors"),
        (["render", BENZENE, "--colors", "red,blurple"], "blurple"),
        (["render", BENZENE, "--turn", "1,2"], "--turn"),
        (["render", BENZENE, "--opacity", "2"], "opacity"),
        (["render", BENZENE, "--spacing", "0"], "spacing"),
        (["render", BENZENE, "--spacing", "1e-5"], "would fit"),
        (["render", BENZENE, "--device", "abacus"], "abacus"),
        (["render", BENZENE, "-o", "no/such/folder.png"], "folder"),
        (["volume", BENZENE, "-o", "homo.xyz"], ".cube"),
        (["volume", BENZENE, "homo", "--kernel", "quick", "-o", "homo.npz"], "expected one of auto, direct"),
        (["volume", BENZENE, "density", "--kernel", "direct", "-o", "d.npz"], "only orbitals have a choice"),
        (["render", BENZENE, "homo", "--plane", "1,2,3", "--kernel", "direct"], "leave out --kernel"),
        (["volume", BENZENE, "-o", "homo.ply"], "ply"),
        (["mesh", BENZENE, "-o", "homo.cube"], "cube"),
        (["animate", BENZENE, "--pictures", "0", "-o", "a.gif"], "--pictures: expected 1 to 100000, got 0"),
        (["animate", BENZENE, "--isovalue", "0.1..0.01", "--pictures", "-3", "-o", "a.gif"], "1 to 100000, got -3"),
        (["animate", BENZENE, "--size", "0x0", "-o", "a.gif"], "--size: expected WxH"),
        (["animate", BENZENE, "--workers", "0", "-o", "a"], "--workers: expected 1 or more, got 0"),
        (["animate", BENZENE, "--workers", "2", "-o", "a.html"], "--workers and --dask are for films"),
        (["levels", str(SAMPLES / "cubegen_ch4_6points.cube")], "holds values on a lattice and no orbitals"),
        (["info", str(SAMPLES / "water.xyz")], "not recognised"),
        (["info", __file__], "not recognised"),
        (["info", str(Path(__file__).parent)], "folder"),
    ],
)
def test_requests_that_cannot_be_met(capsys, arguments, words):
    assert words in refused(capsys, *arguments)


def test_debug_shows_the_traceback():
    with pytest.raises(ob.OrbitileError):
        main(["info", "missing.molden", "--debug"])


@pytest.mark.parametrize(
    "arguments", [[], ["frobnicate"], ["volume", BENZENE], ["render", BENZENE, "--quality", "best"]]
)
def test_usage_errors(capsys, arguments):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: orbitile" in capsys.readouterr().err


def test_fields_and_kernels_are_listed(capsys):
    assert main(["fields"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line]
    assert {"homo", "density"} < set(names[: names.index("Kernels")])
    assert set(names[names.index("Kernels") + 1 :]) == {name for name, _ in kernel_names()}


def test_help_tells_what_volume_takes(capsys):
    with pytest.raises(SystemExit):
        main(["volume", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "lists and ranges of orbitals: homo,lumo, homo-2..lumo, mo:1-10" in text
    assert "GPUs by number: cuda:1, cuda:0,1, cuda:all; or" in text
    assert "`orbitile fields` lists them" in text[text.index("--kernel NAME") :]


@pytest.mark.parametrize("command", ["info", "render", "volume", "mesh", "devices", "demo"])
def test_help(capsys, command):
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    assert "usage: orbitile " + command in capsys.readouterr().out


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


@pytest.mark.slow
def test_devices_tells_what_works_and_why_not():
    done = run("-m", "orbitile", "devices")
    assert done.returncode == 0
    assert re.search(r"^  cpu +yes ", done.stdout, re.MULTILINE)
    assert re.search(r"^  cuda +(yes|no) ", done.stdout, re.MULTILINE)
    assert re.search(r"^  egl +(yes|no) ", done.stdout, re.MULTILINE)


def test_standard_output_holds_the_result_alone():
    done = run("-m", "orbitile", "demo", "-o", "demo.png")
    assert (done.returncode, done.stdout, done.stderr) == (0, "demo.png\n", "")


def test_importing_orbitile_loads_nothing_heavy():
    done = run("-c", "import sys, orbitile; print(sorted({m.split('.')[0] for m in sys.modules}))")
    assert not {"numpy", "scipy", "taichi", "OpenGL", "skimage", "iodata", "cclib", "PIL"} & set(eval(done.stdout))


def test_small_molecules_and_their_orbitals_need_nothing_of_scipy(tmp_path):
    """Nor the whole of qc-iodata: their imports take longer than everything else."""
    program = "import sys; from orbitile.commandline import main\n"
    for name in ("nh3_molden_pure.molden", "h2o_sto3g.fchk", "h2o_sto3g.wfn", "h2_ub3lyp_ccpvtz.wfx"):
        for command, *rest in (["info"], ["render", "homo", "--size", "90x60", "-o", str(tmp_path / "a.png")]):
            program += f"assert main({[command, str(SAMPLES / name), *rest]}) == 0\n"
            program += f"assert not {{'scipy', 'iodata'}} & set(sys.modules), {f'{command} {name}'!r}\n"
    done = run("-c", program)
    assert (done.returncode, done.stderr) == (0, "")


def test_public_names_are_what_they_say_whatever_is_imported_first():
    program = "import orbitile.scenes.scene, orbitile.evaluation.surfaces, orbitile as ob\n"
    program += "assert all(callable(getattr(ob, n)) for n in ob.__all__ if n != '__version__')"
    assert run("-c", program).returncode == 0


def contents(folder: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in folder.iterdir() if one.is_file()}


@pytest.mark.linux
@pytest.mark.parametrize(
    "command",
    [
        ["series", "in.molden", "-o", "in.molden"],
        ["series", "in.molden", "-o", "./link.h5"],
        ["series", "in.molden", "-o", "other.molden"],
        ["series", "*.molden", "-o", "other.molden"],
        ["scf", "in.xyz", "-o", "in.xyz"],
        ["scf", "in.xyz", "--topology", "top.h5", "-o", "top.h5"],
        ["render", "in.png", "homo", "-o", "in.png"],
        ["render", "in.molden", "density", "--color-by", "difference:in.png", "-o", "in.png"],
        ["volume", "in.cube", "homo", "-o", "in.cube"],
        ["volume", "in.molden", "difference:in.cube", "-o", "in.cube"],
        ["mesh", "in.glb", "homo", "-o", "in.glb"],
        ["slice", "in.png", "-o", "in.png"],
        ["correlate", "in.png", "-o", "in.png"],
        ["animate", "in.gif", "-o", "in.gif"],
    ],
)
def test_no_command_replaces_what_it_reads(capsys, tmp_path, command):
    """Readers go by contents, so that a wavefunction may have any name."""
    data = Path(BENZENE).read_bytes()
    for name in ("in.molden", "other.molden", "in.png", "in.cube", "in.glb", "in.gif"):
        Path(name).write_bytes(data)
    Path("in.xyz").write_text("1\n\nHe 0 0 0\n")
    Path("top.h5").write_text("not a topology")
    Path("link.h5").symlink_to("in.molden")
    before = contents(tmp_path)
    assert main(command) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert re.search("is read here|is no series file", error)
    assert contents(tmp_path) == before


def test_a_series_file_is_replaced_by_another(capsys):
    for _ in range(2):
        assert main(["series", BENZENE, "-o", "path.h5"]) == 0
    assert capsys.readouterr().out == "path.h5: 1 frames\n" * 2
    assert "is read here" in refused_beside(capsys, "series", "path.h5", "-o", "path.h5")


@pytest.mark.parametrize("command", [["series", BENZENE], ["scf", "he.xyz"], ["optimise", "he.xyz"]])
@pytest.mark.parametrize("name", ["path.cube", "path.molden", "path"])
def test_a_series_is_not_written_under_the_name_of_another_format(capsys, command, name):
    Path("he.xyz").write_text("1\n\nHe 0 0 0\n")
    assert "ends with .h5 or .zarr" in refused_beside(capsys, *command, "-o", name)


def refused_beside(capsys, *arguments: str) -> str:
    """As `refused`, in a folder with files, which stay as they are."""
    before = contents(Path())
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert contents(Path()) == before
    return captured.err


def test_the_library_does_not_replace_what_it_has_read_either():
    Path("job.cube").write_bytes(Path(BENZENE).read_bytes())
    wavefunction = ob.load("job.cube")
    lattice = ob.Lattice.around(wavefunction, 1.0, 1.0)
    volume = ob.compute(wavefunction, "homo", lattice)
    with pytest.raises(ob.OrbitileError, match="is read here"):
        ob.save(volume, Path("../") / Path.cwd().name / "job.cube", wavefunction=wavefunction)
    with pytest.raises(ob.OrbitileError, match="is read here"):
        ob.compute_to_file(wavefunction, "homo", lattice, "job.cube")
    assert Path("job.cube").read_bytes() == Path(BENZENE).read_bytes()


@pytest.mark.parametrize("turn", ["-1,0,0", "-90,15.5,-3", "-.5,0,0", "10,-20,30"])
def test_angles_may_begin_with_a_minus_sign(turn):
    arguments = ["render", BENZENE, "homo", "--quality", "coarse", "--size", "60x60", "--turn", turn, "-o", "x.png"]
    assert main(arguments) == 0


def test_numbers_with_exponents_may_be_negative(capsys):
    assert "expected a positive number" in refused(capsys, "render", BENZENE, "homo", "--isovalue", "-1e-3")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["slice", BENZENE, "--size", "65536x65536", "-o", "s.png"], "--size: expected at most 16384 pixels"),
        (["render", BENZENE, "--size", "99999999999x1", "-o", "s.png"], "--size: expected WxH"),
        (["render", BENZENE, "--size", "10²x10", "-o", "s.png"], "--size: expected WxH"),
        (["animate", BENZENE, "homo", "--pictures", "1000000000", "-o", "film"], "--pictures: expected 1 to 100000"),
        (
            ["mesh", BENZENE, "homo", "--isovalue", "1e-300", "-o", "m.ply"],
            "a positive number of 1e-12",
        ),
        (["mesh", BENZENE, "homo", "--isovalue", "1e-9", "-o", "m.ply"], "errors of single precision"),
        (
            ["volume", BENZENE, "homo", "--isovalue", "1e-300", "-o", "m.mrc"],
            "a positive number of 1e-12",
        ),
        (["mesh", BENZENE, "homo", "--points", "-5", "-o", "m.ply"], "expected 4 or more, got -5"),
        (["volume", BENZENE, "homo,lumo", "-o", "mo%9999999999d.cube"], "put %d where the number"),
        (["render", BENZENE, "--turn", "1e308,0,nan", "-o", "s.png"], "--turn: expected three angles"),
        (["slice", BENZENE, "--atoms", "1,2,³", "-o", "s.png"], "--atoms: expected three atoms"),
        (["slice", BENZENE, "--atoms", f"1,2,{'9' * 5000}", "-o", "s.png"], "--atoms: expected three atoms"),
    ],
)
def test_what_would_take_all_memory_or_is_no_number_is_refused(capsys, arguments, said):
    assert said in refused(capsys, *arguments)


@pytest.mark.slow
@pytest.mark.linux
@pytest.mark.skipif(os.name != "posix", reason="these signals exist on POSIX systems")
@pytest.mark.parametrize(
    "number",
    [
        signal.SIGTERM,
        *(pytest.param(number, marks=pytest.mark.slow) for number in (signal.SIGHUP, signal.SIGINT)),
    ],
)
@pytest.mark.parametrize(
    "command",
    [
        ["volume", BENZENE, "homo", "--spacing", "0.05", "-o", "d.cube"],
        ["animate", BENZENE, "homo", "--pictures", "300", "--size", "60x60", "--isovalue", "0.1..0.01", "-o", "film"],
    ],
)
def test_a_command_that_is_ended_leaves_nothing_behind(tmp_path, command, number):
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("tests that run in the background ignore this signal, and so does what they start")
    with subprocess.Popen([sys.executable, "-m", "orbitile", *command], stderr=subprocess.PIPE, text=True) as one:
        while not os.listdir("."):
            assert one.poll() is None, one.stderr.read() if one.stderr else ""
            time.sleep(0.01)
        one.send_signal(number)
        said = one.stderr.read() if one.stderr else ""
    assert one.returncode == 128 + number
    assert said.startswith("orbitile: interrupted")
    assert said.count("\n") == 1
    assert os.listdir(".") == []
