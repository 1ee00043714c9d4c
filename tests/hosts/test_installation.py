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
