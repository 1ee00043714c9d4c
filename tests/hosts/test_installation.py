"""Start-up files of other programs: what is in them stays, whatever happens."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from orbitile.errors import OrbitileError
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
    environment = {**os.environ, "PYTHONPATH": ROOTS}
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
