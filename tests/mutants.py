"""Defects by chance, one at a time, and whether tests see them: python -m tests.mutants 60 readers tests/readers

Each defect changes one operator, number, condition or statement of a copy of the project, by operators like those of
A. J. Offutt et al. (ACM Trans. Softw. Eng. Methodol. 1996, 5, 99). A defect that no test sees either changes nothing
that anybody would notice, or lacks a test.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parent.parent
_PAIRS = (
    (ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.In, ast.NotIn), (ast.Is, ast.IsNot),
    (ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.And, ast.Or), (ast.BitAnd, ast.BitOr),
)  # fmt: skip
_OTHER = dict(_PAIRS) | {b: a for a, b in _PAIRS} | dict.fromkeys((ast.FloorDiv, ast.Pow, ast.Mod), ast.Mult)
_NO_CODE = (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom)
"""What is words or names more than what is computed."""


def sites(node: ast.AST, inside: bool = False) -> Iterator[tuple[ast.AST, str]]:
    """Nodes within functions, each with what may stand in its place."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            is_text = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            if not isinstance(child, ast.AST) or is_text or isinstance(child, _NO_CODE):
                continue
            if inside and (found := changed(child)):
                yield found
            yield from sites(child, inside or isinstance(child, ast.FunctionDef))


def changed(node: ast.AST) -> tuple[ast.AST, str] | None:
    """A part of a node and what stands in its place, or None where nothing is changed."""
    new = copy.deepcopy(node)
    match new:
        case ast.Compare(ops=[first, *_]) if type(first) in _OTHER:
            new.ops[0] = _OTHER[type(first)]()
        case ast.BinOp(left=ast.Constant(value=str())):
            return None
        case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in _OTHER:
            new.op = _OTHER[type(op)]()
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            new = new.operand
        case ast.Constant(value=bool()):
            new.value = not new.value
        case ast.Constant(value=int()):
            new.value += 1
        case ast.Constant(value=float()):
            new.value = 1.1 * new.value or 1.0
        case ast.AugAssign() | ast.Expr(value=ast.Call()):
            return node, "pass"
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            return node.test, f"not ({ast.unparse(test)})"
        case _:
            return None
    return node, f"({ast.unparse(new)})"


def with_change(source: str, node: ast.AST, text: str) -> str:
    """The source with a text in the place of a node."""
    lines = source.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
    return (source.encode()[:begin] + text.encode() + source.encode()[end:]).decode()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("number", type=int, help="of defects")
    parser.add_argument("room", help="readers, fields, ..., or taichi_kernels")
    parser.add_argument("tests", nargs="+", help="files and folders of tests, and options of pytest")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="side by side")
    parser.add_argument("--seconds", type=float, default=1200, metavar="S", help="of all tests of one defect, at most")
    options, more = parser.parse_known_args()
    room = Path(options.room) if options.room == "taichi_kernels" else Path("plugin/orbitile", options.room)
    found = [
        (path.relative_to(ROOT), node, text)
        for path in sorted((ROOT / room).glob("*.py"))
        for node, text in sites(ast.parse(path.read_text(encoding="utf-8")))
    ]
    _say(f"{len(found)} places for a defect in {options.room}")
    chosen = random.Random(options.seed).sample(found, options.number)
    with (
        tempfile.TemporaryDirectory(prefix="orbitile-mutants-") as place,
        ThreadPoolExecutor(options.processes) as pool,
    ):
        free = SimpleQueue[Path]()
        for number in range(options.processes):
            free.put(Path(place) / str(number) / "orbitile")
            ignored = shutil.ignore_patterns(".git", ".venv", "__pycache__", "_build")
            shutil.copytree(ROOT, Path(place) / str(number) / "orbitile", ignore=ignored)

        def judged(defect: tuple[Path, ast.AST, str]) -> str:
            folder = free.get()
            try:
                return tried(folder, *defect, [*_nearest_first(defect[0].stem, options.tests), *more], options.seconds)
            finally:
                free.put(folder)

        counts = Counter(pool.map(judged, chosen))
    _say(", ".join(f"{number} {kind}" for kind, number in counts.items()))
    return 0


def _nearest_first(module: str, tests: list[str]) -> list[str]:
    """Files of tests, those before the others that speak of a module."""
    paths = [path for test in tests for path in (sorted((ROOT / test).rglob("test_*.py")) or [ROOT / test])]
    paths.sort(key=lambda path: module not in path.read_text(encoding="utf-8"))
    return [str(path.relative_to(ROOT)) for path in paths]


def tried(folder: Path, name: Path, node: ast.AST, text: str, tests: list[str], seconds: float) -> str:
    """Run tests with a defect: whether they see it."""
    path = folder / name
    sound = path.read_text(encoding="utf-8")
    path.write_text(with_change(sound, node, text), encoding="utf-8")
    paths = os.pathsep.join((str(folder / "plugin"), str(folder), os.environ.get("PYTHONPATH", "")))
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        printed, _ = process.communicate(timeout=seconds)
        told = "not seen" if process.returncode == 0 else "seen"
    except subprocess.TimeoutExpired:
        process.kill()
        printed, _ = process.communicate()
        told = "not ended"
    path.write_text(sound, encoding="utf-8")
    by = [line for line in printed.splitlines() if line.startswith(("FAILED", "ERROR"))][:1]
    _say(f"{told}: {name}:{node.lineno}: {ast.get_source_segment(sound, node)} -> {text} {' '.join(by)[:150]}")
    return told


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
