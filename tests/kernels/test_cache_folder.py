"""Where compiled kernels and generated source are kept: in a folder in which nobody else can put files."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="folders of other systems belong to their user by default")

ROOTS = [str(root) for root in (Path(__file__).parents[2] / "plugin", Path(__file__).parents[2])]


def chosen_folder(temporary: Path, **variables: str) -> Path:
    """The folder that a new process takes for its cache; where it made one, nobody else can enter it."""
    known = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CACHE_HOME")}
    environment = {**known, "TMPDIR": str(temporary), "PYTHONPATH": os.pathsep.join(ROOTS), **variables}
    script = (
        "import os; from taichi_kernels.cache_folder import ensure_cache_folder; ensure_cache_folder()\n"
        "f = os.environ['XDG_CACHE_HOME']; print(f, oct(os.stat(f).st_mode & 0o777))"
    )
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    folder, mode = done.stdout.split()
    if Path(folder).name.startswith("orbitile-"):
        assert mode == "0o700"
    return Path(folder)


@pytest.mark.linux
def test_without_a_home_a_private_folder_is_made(tmp_path):
    assert chosen_folder(tmp_path) == tmp_path / f"orbitile-{os.getuid()}"
    assert chosen_folder(tmp_path) == tmp_path / f"orbitile-{os.getuid()}"  # the same the next time


@pytest.mark.linux
def test_a_folder_to_which_others_can_write_is_not_taken(tmp_path):
    prepared = tmp_path / f"orbitile-{os.getuid()}"
    prepared.mkdir()
    prepared.chmod(0o777)
    folder = chosen_folder(tmp_path)
    assert folder != prepared
    assert not folder.exists()  # made for that process alone
    assert prepared.is_dir()


@pytest.mark.linux
def test_a_link_is_not_taken(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (tmp_path / f"orbitile-{os.getuid()}").symlink_to(elsewhere)
    assert chosen_folder(tmp_path) not in (elsewhere, tmp_path / f"orbitile-{os.getuid()}")


@pytest.mark.linux
@pytest.mark.skipif(os.name == "posix" and os.getuid() != 0, reason="giving a folder away takes root")
def test_a_folder_of_another_user_is_not_taken(tmp_path):
    prepared = tmp_path / f"orbitile-{os.getuid()}"
    prepared.mkdir(mode=0o700)
    os.chown(prepared, 12345, 12345)
    assert chosen_folder(tmp_path) != prepared
    home = tmp_path / "home"
    (home / ".cache" / "orbitile").mkdir(parents=True)
    os.chown(home / ".cache" / "orbitile", 12345, 12345)
    assert chosen_folder(tmp_path, HOME=str(home)) != home / ".cache"


@pytest.mark.linux
def test_a_shared_folder_that_the_user_names_is_not_taken(tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    assert chosen_folder(tmp_path, XDG_CACHE_HOME=str(shared)) == tmp_path / f"orbitile-{os.getuid()}"


@pytest.mark.linux
def test_a_cache_of_ones_own_is_taken_through_a_link_too(tmp_path):
    large, home = tmp_path / "large", tmp_path / "home"
    large.mkdir()
    home.mkdir()
    (home / ".cache").symlink_to(large)
    assert chosen_folder(tmp_path, XDG_CACHE_HOME=str(home / ".cache")) == home / ".cache"


@pytest.mark.linux
@pytest.mark.parametrize("where", ["", "taichi", "orbitile", "orbitile/gaussians/kernels", "taichi/ticache/llvm"])
def test_a_folder_to_which_a_group_can_write_is_not_taken(where, tmp_path):
    cache = tmp_path / "home" / ".cache"
    (cache / where).mkdir(parents=True)
    (cache / where).chmod(0o755)
    assert chosen_folder(tmp_path, XDG_CACHE_HOME=str(cache)) == cache
    (cache / where).chmod(0o775)
    assert chosen_folder(tmp_path, XDG_CACHE_HOME=str(cache)) == tmp_path / f"orbitile-{os.getuid()}"


@pytest.mark.linux
def test_a_folder_that_others_can_put_another_in_place_of_is_not_taken(tmp_path):
    cache = tmp_path / "shared" / "cache"
    cache.mkdir(parents=True, mode=0o700)
    for mode, taken in ((0o755, True), (0o777, False), (0o775, False), (0o1777, True)):
        cache.parent.chmod(mode)
        assert (chosen_folder(tmp_path, XDG_CACHE_HOME=str(cache)) == cache) == taken


@pytest.mark.linux
def test_what_is_made_is_for_this_user_alone_whatever_the_mask(tmp_path):
    home = tmp_path / "home"
    home.mkdir(0o755)
    before = os.umask(0o002)
    try:
        folder = chosen_folder(tmp_path, HOME=str(home), XDG_CACHE_HOME=str(home / ".cache"))
    finally:
        os.umask(before)
    assert folder == home / ".cache"
    assert {oct((folder / name).stat().st_mode & 0o777) for name in ("", "orbitile", "taichi")} == {"0o700"}
