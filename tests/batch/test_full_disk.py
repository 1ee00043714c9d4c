"""A full disk under a batch: it ends with one line, and where there is room again the next run completes it."""

import pytest

from tests.renderer.test_full_disk import full_disk, on_a_full_disk

__all__ = ["full_disk"]

PROGRAM = """
import os
from pathlib import Path
from orbitile.jobs.running import run_batch
from orbitile.base.errors import FileError
from tests.batch.helpers import digests, write_files

disk, elsewhere = Path({disk!r}), Path({elsewhere!r})
write_files(elsewhere / "runs", 2)
whole = elsewhere / "whole"

def run(folder):
    run_batch(str(elsewhere / "runs" / "*"), ["charges:scheme=mulliken"], folder, to=["json"])

run(whole)
refused = []
for pages in (0, 2, 4, 8, 12):
    os.truncate(disk / "filler", (1 << 20) - 4096 * pages)
    try:
        run(disk / "out")
    except FileError as error:
        refused.append(str(error))
    left = [path for path in (disk / "out").rglob("*") if path.name.startswith(".orbitile-")]
    assert not left, left
os.unlink(disk / "filler")
run(disk / "out")
assert digests(disk / "out") == digests(whole)
assert len(refused) > 2
assert all("No space left" in text and chr(10) not in text for text in refused), refused
print("completed")
"""


@pytest.mark.linux
def test_it_is_taken_up_where_there_is_room_again(full_disk, tmp_path_factory):
    program = PROGRAM.format(disk=str(full_disk), elsewhere=str(tmp_path_factory.mktemp("elsewhere")))
    done = on_a_full_disk(full_disk, program)
    assert (done.returncode, done.stdout) == (0, "completed\n"), done.stderr
