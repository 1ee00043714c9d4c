"""What is said where a package is missing: a command that works without an index that has Orbitile."""

import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

from orbitile.base.packages import install_command


def test_packages_are_named_in_the_versions_that_are_asked_for(monkeypatch):
    assert install_command("h5py", python="py") == "py -m pip install 'h5py>=3.9'"
    assert install_command("PyQt5", "no-such", python="a b/py") == "'a b/py' -m pip install 'PyQt5>=5.15' no-such"

    def not_installed(_):
        raise PackageNotFoundError

    monkeypatch.setattr("importlib.metadata.requires", not_installed)  # a plugin's folder
    assert install_command("h5py", python="py") == "py -m pip install h5py"


def test_the_python_is_the_one_that_runs(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert install_command("h5py").startswith(f"{sys.executable} -m pip")
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    assert install_command("h5py").startswith("python -m pip")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").touch()
    monkeypatch.setattr(sys, "executable", str(tmp_path / "pymol"))  # a viewer with a Python of its own
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert install_command("h5py").startswith(f"{tmp_path / 'bin' / 'python3'} -m pip")
