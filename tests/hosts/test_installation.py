"""Start-up files of other programs: what is in them stays, whatever happens."""

import os
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from textwrap import dedent

import pytest

from orbitile.base.errors import OrbitileError
from orbitile.hosts import installation_of

ROOTS = os.pathsep.join(str(Path(__file__).parents[2] / name) for name in ("plugin", "."))


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.delenv("APPDATA", raising=False)
    return tmp_path


LATIN_1 = "# -*- coding: latin-1 -*-\n# préférences\nx = 1\n".encode("latin-1")


@pytest.mark.linux
def test_a_plugin_list_in_another_encoding_keeps_its_bytes(home):
    preferences = home / ".pymolpluginsrc.py"
    preferences.write_bytes(LATIN_1)
    preferences.chmod(0o600)
    installation_of("pymol").install()
    installation_of("pymol").install()  # which adds nothing more
    text = preferences.read_bytes()
    assert text.startswith(LATIN_1)
    assert text.count(b"get_startup_path():") == 1
    assert preferences.stat().st_mode & 0o777 == 0o600
    compile(text, str(preferences), "exec")


def test_a_home_folder_with_letters_beyond_ascii(home, monkeypatch):
    monkeypatch.setenv("HOME", str(home / "Zoë"))
    (home / "Zoë").mkdir()
    (home / "Zoë" / ".pymolpluginsrc.py").write_bytes(LATIN_1)
    installation_of("pymol").install()
    source = (home / "Zoë" / ".pymolpluginsrc.py").read_bytes()
    assert str(home / "Zoë" / ".pymol" / "startup") in source.decode("latin-1").encode().decode("unicode_escape")
    compile(source, "list", "exec")


@pytest.mark.linux
@pytest.mark.skipif(os.name != "posix", reason="needs a limit on the size of files")
@pytest.mark.parametrize("host", ["pymol", "vmd"])
def test_a_full_disk_leaves_them_as_they_were(home, host):
    file = home / {"pymol": ".pymolpluginsrc.py", "vmd": ".vmdrc"}[host]
    file.write_text("# what the user has written\n" * 70)  # 1,960 bytes
    before = file.read_bytes()
    command = f"ulimit -f 2; exec {sys.executable} -m orbitile install {host}"  # 2 KiB a file
    # else Python keeps the first part of what it compiles
    environment = {**os.environ, "PYTHONPATH": ROOTS, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "cannot be written (File too large)" in done.stderr
    assert done.stderr.count("\n") == 1
    assert file.read_bytes() == before
    assert [one.name for one in home.iterdir() if one.is_file()] == [file.name]


def test_vmds_file_keeps_its_bytes_and_what_else_is_in_it(home):
    file = home / ".vmdrc"
    file.write_bytes(LATIN_1)
    installation_of("vmd").install()
    assert file.read_bytes().startswith(LATIN_1)
    installation_of("vmd").uninstall()
    assert file.read_bytes() == LATIN_1


def test_a_folder_in_place_of_the_file_is_told_of(home):
    (home / ".pymolpluginsrc.py").mkdir()
    with pytest.raises(OrbitileError, match="cannot be read"):
        installation_of("pymol").install()


def test_what_an_earlier_version_wrote_is_replaced(home):
    """Files of PyMOL and VMD that name modules which are no longer there."""
    stub = home / ".pymol" / "startup" / "orbitile_plugin.py"
    stub.parent.mkdir(parents=True)
    stub.write_text("from orbitile.hosts import pymol_plugin as _plugin\n_plugin.register_commands()\n")
    pymol, vmd = installation_of("pymol"), installation_of("vmd")
    assert pymol.status() == str(stub)
    pymol.install()
    assert "pymol_plugin" not in stub.read_text()
    compile(stub.read_text(), str(stub), "exec")

    file = home / ".vmdrc"
    assert vmd.status() == ""
    vmd.install()
    begin, *_, end = file.read_text().splitlines()
    file.write_text(f"{begin}\norbitile::register {{python -m orbitile.cli serve}} {{orb_load}}\n{end}\nmenu main on\n")
    assert vmd.status() == str(file)
    vmd.install()
    assert "orbitile.cli" not in file.read_text()
    assert file.read_text().count("orbitile::register") == 1
    assert file.read_text().count("menu main on") == 1
    vmd.uninstall()
    assert file.read_text() == "menu main on\n"


def test_hosts_are_found_without_the_programs():
    """Nor is anything imported that may be missing in them."""
    program = (
        "import sys\n"
        "from orbitile.hosts import installable_hosts, installation_of\n"
        "assert list(installable_hosts()) == ['blender', 'pymol', 'vmd']\n"
        "assert not {'numpy', 'bpy', 'pymol', 'PyQt5', 'vmd'} & set(sys.modules)\n"
        "assert all(callable(installation_of(name).install) for name in installable_hosts())\n"
        "assert not {'bpy', 'pymol', 'PyQt5', 'vmd'} & set(sys.modules)\n"
    )
    environment = {**os.environ, "PYTHONPATH": ROOTS}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# ---- PyMOL without a window

START_UP_FILES = [(), (".pymolrc",), ("pymolrc", "pymolrc.py"), (".pymolrc.pml", ".pymolrc-more.py", "pymolrc.py")]
"""Files of a user, of which PyMOL reads those of one kind: the names with a dot, where there are any."""


def pymol(home: Path, *arguments: str, timeout: float = 120.0) -> subprocess.CompletedProcess[str]:
    """PyMOL without a window, in a folder of the user's home."""
    pytest.importorskip("pymol", reason="PyMOL (extra pymol) is not installed")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"HOME": str(home), "ORBITILE_DEVICE": "cpu"}
    (home / "work").mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-m", "pymol", "-cq", *arguments],
        cwd=home / "work",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )


def read_by_pymol(home: Path) -> tuple[list[str], bool]:
    """Names of the start-up files that PyMOL reads, in order, and whether there are commands of ours."""
    done = pymol(home, "-d", "/print('commands:', 'orb_load' in cmd.keyword)")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    return [line[6:] for line in lines if line.startswith("read: ")], "commands: True" in lines


@pytest.mark.linux
@pytest.mark.parametrize(
    "names", [pytest.param(names, marks=pytest.mark.slow if n != 2 else ()) for n, names in enumerate(START_UP_FILES)]
)
def test_scripts_have_commands_and_start_up_files_of_the_user_are_read_as_before(home, names):
    for name in names:
        text = f"print('read: {name}')\n" if name.endswith(".py") else f"print 'read: {name}'\n"
        (home / name).write_text(text)
    before = read_by_pymol(home)
    assert not before[1]
    for line in installation_of("pymol").install_for_scripts():
        assert str(home) in line
    assert read_by_pymol(home) == (before[0], True)
    assert installation_of("pymol").uninstall() == [f"removed {home / '.pymolrc_orbitile.py'}"]
    assert sorted(path.name for path in home.iterdir()) == sorted([*names, "work"])


@pytest.mark.linux
def test_start_up_files_that_come_later_are_read_and_without_orbitile_too(home):
    installation_of("pymol").install_for_scripts()
    ours = home / ".pymolrc_orbitile.py"
    ours.write_text(ours.read_text().replace("from orbitile.hosts", "from orbitile_that_was.hosts"))
    (home / "pymolrc").write_text("print 'read: pymolrc'\n")
    assert read_by_pymol(home) == (["pymolrc"], False)


SCRIPTS = {
    "a_file_that_is_not_there.pml": "orb_load none.molden\nprint 'went on'\n",
    "another_spelling.pml": "orb_laod benzene.molden\nprint 'went on'\n",
    "an_unknown_argument.pml": "orb_iso 0.1, isovale=2\nprint 'went on'\n",
    "loaded_by_pymol.pml": "load none.molden\nprint 'went on'\n",
    "a_block.pml": "python\ncmd.orb_mo('none')\npython end\nprint 'went on'\n",
    "in_python.py": "from pymol import cmd\ncmd.orb_load('none.molden')\nprint('went on')\n",
    "by_do.py": "from pymol import cmd\ncmd.do('orb_load none.molden')\nprint('went on')\n",
}


@pytest.mark.linux
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if n not in (0, 5) else ()) for n, name in enumerate(SCRIPTS)]
)
def test_a_script_ends_at_an_error_with_a_status(home, name):
    installation_of("pymol").install_for_scripts()
    (home / name).write_text(SCRIPTS[name])
    done = pymol(home, str(home / name))
    assert done.returncode == 1, done.stdout
    assert "the script ends here" in done.stdout
    assert "went on" not in [line.strip() for line in done.stdout.splitlines()]


@pytest.mark.linux
@pytest.mark.slow
def test_the_first_examples_of_the_manual(home):
    """`orbitile install pymol` in a pipe, then scripts as they stand there, of PyMOL and of Python, and a program."""
    section = (Path(__file__).parents[2] / "docs" / "pymol.md").read_text().partition("\n## Without a window\n")[2]
    blocks = [dedent(block) for block in re.findall(r"\n\n((?:    .*\n|\n(?=    ))+)", section)[:3]]
    command = [sys.executable, "-m", "orbitile", "install", "pymol", "--no-kernels"]
    subprocess.run(command, env={**os.environ, "HOME": str(home)}, stdin=subprocess.DEVNULL, check=True)
    (home / "work").mkdir()
    (home / "work" / "benzene.molden").write_bytes((files("orbitile") / "data" / "benzene.molden").read_bytes())
    for name, block in zip(("homo.pml", "homo.py"), blocks, strict=False):
        (home / "work" / name).write_text(block)
        done = pymol(home, name)
        assert done.returncode == 0, done.stdout
        (home / "work" / "homo.png").unlink()
    program = f"{blocks[2]}    pymol.cmd.do('orb_mo benzene, lumo, quality=coarse')\n    print(pymol.cmd.get_names())\n"
    done = subprocess.run([sys.executable, "-c", program], cwd=home / "work", capture_output=True, text=True)
    assert "benzene_lumo" in done.stdout, done.stderr


@pytest.mark.linux
def test_errors_that_a_script_catches_or_pymol_makes_do_not_end_it(home):
    installation_of("pymol").install_for_scripts()
    (home / "caught.py").write_text(
        "from pymol import cmd, CmdException\ntry:\n    cmd.orb_mo('none')\nexcept CmdException:\n    print('caught')\n"
    )
    (home / "other.pml").write_text("zoom none\nprint 'went on'\n")
    done = pymol(home, str(home / "caught.py"), str(home / "other.pml"))
    assert done.returncode == 0
    assert {"caught", "went on"} <= {line.strip() for line in done.stdout.splitlines()}


@pytest.mark.slow
@pytest.mark.linux
@pytest.mark.parametrize("begin", ["", "pymol.finish_launching(['pymol', '-cq'])"])
def test_a_program_that_has_launched_pymol_ends_with_a_status(home, begin):
    pytest.importorskip("pymol", reason="PyMOL (extra pymol) is not installed")
    program = f"import pymol\n{begin}\nimport orbitile.hosts.pymol\npymol.cmd.orb_load('none.molden')\n"
    environment = {**os.environ, "PYTHONPATH": ROOTS, "HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 1
    assert "none.molden: no such file" in done.stderr
