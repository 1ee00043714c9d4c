"""Commands as each console reads them, whatever files are called."""

import random
import shutil
import subprocess

import pytest

from orbitile.base.arguments import unquoted
from orbitile.session.declaration import PYMOL, PYTHON, TCL, Call, shell_line

LETTERS = "ab /.-_'\"`$;,()[]{}#\\!=@*?\n\r\t\x1b\x07\x0b\x85\u2028\u2029é😀%&|<>~^:+"
NAMES = [
    "x\nsystem touch pwned\n.molden",
    "/a folder, (odd)/job (1).molden",
    "C:\\Users\\me\\a b\\",
    "a;system touch pwned",
    '"a', "$(touch pwned)", "`touch pwned`", "[exec touch pwned]", "'''", "@x", "/x", "a=b", "\\",
    *("".join(random.Random(n).choices(LETTERS, k=1 + n % 11)) for n in range(300)),
]  # fmt: skip


def calls():
    return [Call("orb_try", (name, "two"), {"c": name}) for name in NAMES]


def test_python_reads_what_was_meant():
    got = []
    for call in calls():
        line = PYTHON.line(call)
        assert len(line.splitlines()) == 1
        exec(line, {"orb_try": lambda *arguments, **named: got.append(Call("orb_try", arguments, named))})
    assert got == calls()


def test_tcl_reads_what_was_meant():
    tcl = pytest.importorskip("tkinter").Tcl()
    tcl.eval("proc orb_try {args} {global got; set got $args}")
    for call in calls():
        line = TCL.line(call)
        assert len(line.splitlines()) == 1
        tcl.eval(line)
        assert tcl.splitlist(tcl.getvar("got")) == (*call.arguments, "-c", call.named["c"])


def test_pymol_reads_what_was_meant(capfd):
    pymol2 = pytest.importorskip("pymol2", reason="PyMOL (extra pymol) is not installed")
    got = []
    with pymol2.PyMOL() as pymol:

        def orb_try(a, b, c, *, _self=pymol.cmd):
            got.append((unquoted(a), b, unquoted(c)))

        pymol.cmd.extend("orb_try", orb_try)
        for call in calls():
            line = PYMOL.line(call)
            assert len(line.splitlines()) == 1
            pymol.cmd.do(line, 0, 0)
    assert got == [(unquoted(name), "two", unquoted(name)) for name in NAMES]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_a_shell_reads_what_was_meant(tmp_path):
    lines = [shell_line(["printf", "%s\\0", name]) for name in NAMES]
    assert all(len(line.splitlines()) == 1 for line in lines)
    done = subprocess.run(["bash", "-c", "\n".join(lines)], cwd=tmp_path, capture_output=True, check=True)
    assert done.stdout.decode() == "".join(name + "\0" for name in NAMES)
    assert not any(tmp_path.iterdir())
