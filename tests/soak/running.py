"""A soak from the command line: python -m tests.soak [N] [--viewer pymol|server] [--seed S] [--every 100]."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Sequence
from dataclasses import asdict
from multiprocessing import get_context, parent_process
from pathlib import Path

from .measuring import Trend, Usage, prefixes_of, trends, usage_of

_ENOUGH = 20
"""Measurements from which on a trend is looked for."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Soak the viewers one after the other; 1 where something grows or is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__.splitlines()[0])
    parser.add_argument("commands", nargs="?", type=int, default=1000, help="commands for each viewer")
    parser.add_argument("--viewer", choices=("pymol", "server"), action="append", help="both unless told")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=int, default=100, help="commands between two measurements")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="after which it ends, with fewer commands")
    parser.add_argument("--keep", type=Path, help="folder for the measurements")
    chosen = parser.parse_args(arguments)
    chosen.keep = chosen.keep and chosen.keep.absolute()
    failed = False
    for viewer in chosen.viewer or ("pymol", "server"):
        with tempfile.TemporaryDirectory(prefix="soak-") as folder:
            # a process for each, as PyMOL is measured with the memory of the process that it is in
            context = get_context("spawn")
            process = context.Process(target=_soak, args=(viewer, chosen, Path(folder)))
            process.start()
            process.join()
            failed = failed or process.exitcode != 0
    return int(failed)


def _soak(viewer: str, chosen: argparse.Namespace, folder: Path) -> None:
    """Soak one viewer in this process, and end it: 0 where all is well."""
    threading.Thread(target=_end_with_parent, args=(folder,), daemon=True).start()
    temporary, cache = folder / "tmp", folder / "cache"
    temporary.mkdir()
    _copy_kernels(cache)
    os.environ.update(TMPDIR=str(temporary), XDG_CACHE_HOME=str(cache), ORBITILE_DEVICE="cpu")
    tempfile.tempdir = None
    status = 1
    try:
        status = _soaked(viewer, chosen, folder, temporary, cache)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    os._exit(status)  # PyMOL ends in its own way


def _end_with_parent(folder: Path) -> None:
    """End this process when the one that started it was killed, and remove its folder as far as that is possible."""
    parent = parent_process()
    assert parent is not None  # this process was started by multiprocessing
    parent.join()
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)  # the server ends with its pipe, and so do the workers of PyMOL


def _copy_kernels(cache: Path) -> None:
    """Kernels that were compiled before, so that others who compile now are not counted."""
    known = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache.mkdir(mode=0o700)
    for name in ("taichi", "orbitile"):
        if (known / name).is_dir():
            shutil.copytree(known / name, cache / name)


def _soaked(kind: str, chosen: argparse.Namespace, folder: Path, temporary: Path, cache: Path) -> int:
    from .mix import Mix, strangers
    from .viewers import VIEWERS, Defect, fresh_digest, last_digest

    os.chdir(_made(folder / "here"))
    begin = time.monotonic()
    viewer = VIEWERS[kind]()
    mix = Mix(viewer, folder / "files", chosen.seed)
    for name in ("broken.molden", "empty.fchk"):
        shutil.copy(mix.folder / name, ".")
    done: list[int] = []
    usages: list[Usage] = []
    prefixes: set[str] = set()
    _say(f"{kind}: {chosen.commands} commands, seed {chosen.seed}")
    while mix.done < chosen.commands and time.monotonic() - begin < 60 * chosen.minutes:
        try:
            mix.step()
            prefixes |= prefixes_of(viewer.process)
        except BaseException:
            _say("\n".join(mix.journal))
            raise
        if mix.done >= chosen.every * (len(done) + 1):
            mix.viewer.rest()
            shown = viewer.objects()
            if left := strangers(shown):
                raise Defect(f"after {mix.done} commands there are objects of nobody's: {left}")
            done.append(mix.done)
            usages.append(usage_of(viewer.process, prefixes, temporary, cache, len(shown), viewer.python_objects()))
            told = ", ".join(f"{name} {value:.6g}" for name, value in asdict(usages[-1]).items())
            _say(f"{mix.done} in {time.monotonic() - begin:.0f} s: {told}")
    found = last_digest(viewer, str(mix.files["benzene"]))
    _say(f"answered {dict(mix.answered)}\nrefused {dict(mix.refused)}")
    viewer.close()
    with get_context("spawn").Pool(1) as pool:
        expected = pool.apply(fresh_digest, (kind, str(mix.files["benzene"])))
    if chosen.keep:
        rows = [{"commands": n, **asdict(usage)} for n, usage in zip(done, usages, strict=True)]
        (_made(chosen.keep) / f"{kind}-{chosen.seed}.json").write_text(json.dumps(rows, indent=1))
    seen = trends(done, usages) if len(done) >= _ENOUGH else []
    for one in seen:
        _say(_line(one))
    _say(f"the next request: {'right' if found == expected else 'WRONG'}, in {time.monotonic() - begin:.0f} s")
    return int(found != expected or any(one.grows for one in seen))


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _line(trend: Trend) -> str:
    verdict = "GROWS" if trend.grows else "flat"
    return (
        f"{trend.quantity:22} {trend.level:12.6g}   {trend.slope:+.4g} ({trend.low:+.4g} to {trend.high:+.4g}) "
        f"a thousand commands: {verdict}"
    )
