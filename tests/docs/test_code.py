"""What the documentation tells people to type is typed here: examples of docstrings, and blocks of the pages."""

import doctest
import os
import re
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

import orbitile as ob
from tests.docs.pages import DOCS, ROOT, blocks

BENZENE = Path(str(files("orbitile") / "data" / "benzene.molden"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files that pages name: a closed shell, a radical, a path, a guess."""
    folder = tmp_path_factory.mktemp("pages")
    for name in ("benzene.molden", "job.molden"):
        shutil.copy(BENZENE, folder / name)
    path = (DOCS / "examples" / "hcn_to_hnc.xyz").read_text().splitlines(keepends=True)
    (folder / "path.xyz").write_text("".join(path[:15]))
    (folder / "guess.xyz").write_text("".join(path[:5]))
    return folder


@pytest.fixture
def radical(folder):
    """The methyl radical in a Molden file."""
    scf = pytest.importorskip("pyscf.scf", reason="PySCF (extra scf) is not installed")
    from pyscf import gto
    from pyscf.tools import molden

    methyl = gto.M(atom="C 0 0 0; H 1.08 0 0; H -0.54 0.935 0; H -0.54 -0.935 0", spin=1, verbose=0)
    molden.from_scf(scf.UHF(methyl).run(), str(folder / "radical.molden"))


def typed(text: str, folder: Path, program: tuple[str, ...]) -> str:
    """Have a program run what people would type, in a folder, with small pictures; what it prints."""
    text = re.sub(r"(size[ =]\(?)(\d+)(x|, )(\d+)", lambda m: f"{m[1]}{int(m[2]) // 4}{m[3]}{int(m[4]) // 4}", text)
    # where no size is told, pictures are as large as people want them
    text = re.sub(r"(orbitile render (?!.*--size).*\.png)$", r"\1 --size 400x300", text, flags=re.MULTILINE)
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": search, "ORBITILE_DEVICE": "cpu"}
    done = subprocess.run([*program, text], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
    return done.stdout


BASH, PYTHON = ("bash", "-euo", "pipefail", "-c"), (sys.executable, "-c")


@pytest.mark.slow
def test_examples_of_docstrings(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("ORBITILE_DEVICE", "cpu")
    parser, runner, said = doctest.DocTestParser(), doctest.DocTestRunner(), []
    run = set()
    for name in ob.__all__:
        text = dedent(getattr(ob, name).__doc__ or "")
        test = parser.get_doctest(text, {"ob": ob, "np": np}, name, None, 0)
        if test.examples:
            runner.run(test, out=said.append)
            run.add(name)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)
    assert run >= {"load", "compute", "evaluate", "isosurface", "render"}


@pytest.mark.slow
@pytest.mark.parametrize("block", blocks(DOCS / "how-to.md", "bash"))
def test_recipes(block, folder, radical):
    typed(block, folder, BASH)


@pytest.mark.slow
@pytest.mark.parametrize("block", blocks(DOCS / "how-to.md", "python"))
def test_recipes_in_python(block, folder):
    typed(block, folder, PYTHON)


@pytest.mark.slow
def test_stores(folder):
    """What writes a store, reads parts of it, and opens it by another program."""
    pytest.importorskip("xarray", reason="another reader of stores, which is not needed for ours")
    typed(blocks(DOCS / "stores.md", "bash")[0], folder, BASH)
    for block in blocks(DOCS / "stores.md", "python")[:2]:
        typed(block, folder, PYTHON)


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "docs/guide.md"])
def test_blocks_of_python(page, folder):
    """Those that begin with an import, and those that go on with `wfn`."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.findall(r"(?:^    \S.*\n(?:^(?:    .*)?\n)*)", text, flags=re.M)
    chosen = [dedent(block) for block in found if re.match(r"    (import orbitile|homo, lumo = )", block)]
    assert chosen
    start = "import numpy as np\nimport orbitile as ob\nwfn = ob.load('job.molden')\npoints = np.zeros((2, 3))\n"
    for block in chosen:
        typed(start + block, folder, PYTHON)


@pytest.mark.slow
def test_the_tutorial(tmp_path):
    """Blocks of a shell, of Python and of PyMOL, in their order."""
    pytest.importorskip("pymol2", reason="PyMOL (extra pymol) is not installed")
    pytest.importorskip("anywidget", reason="anywidget (extra notebook) is not installed")
    (tmp_path / "plugin").symlink_to(ROOT / "plugin")
    (tmp_path / "docs" / "examples").mkdir(parents=True)
    path = (DOCS / "examples" / "hcn_to_hnc.xyz").read_text().splitlines(keepends=True)
    (tmp_path / "docs" / "examples" / "hcn_to_hnc.xyz").write_text("".join(path[:25]))  # five frames
    text = (DOCS / "tutorial.md").read_text(encoding="utf-8")
    code = ""
    for language, block in re.findall(r"^```(\w+)\n(.*?)^```", text, flags=re.M | re.S):
        folder = tmp_path / "tour" if (tmp_path / "tour").exists() else tmp_path
        if language == "bash":
            typed(block, folder, BASH)
        elif language == "python":
            code += block  # one session, which all of its blocks are typed into
        elif block.startswith("orb_"):
            script = "python\nimport orbitile.hosts.pymol\npython end\n" + block
            (folder / "tour.pml").write_text(script)
            typed(f"{sys.executable} -m pymol -cq tour.pml", folder, BASH)
        else:
            assert "pip install" in block  # what a reader of this has done
    typed(code, tmp_path / "tour", PYTHON)
    made = {path.name for path in (tmp_path / "tour").iterdir()}
    assert made >= {"homo.png", "frontier.png", "potential.png", "potential.ply", "path.h5", "homo.mp4", "levels.png"}
    assert made >= {"benzene.html", "lumo.png", "homo.cube", "seen.html"}
