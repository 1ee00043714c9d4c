"""What foreign code does to its process is an error here, and the next request finds another process."""

import itertools
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from orbitile.base.errors import Cancelled, ConventionError, FileError
from orbitile.base.watch import watched
from orbitile.readers import _isolation as isolation
from orbitile.readers._isolation import isolated
from orbitile.workers.child_process import environment
from tests.workers.test_workers import alive, seconds_until

HERE = {"name": "some.file", "library": "a library", "size": 0}


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Call a function whose body is given, in the process for foreign code."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    isolation.worker.end()
    numbers = itertools.count()

    def run(body, *arguments, **limits):
        name = f"foreign_{next(numbers)}"
        (tmp_path / f"{name}.py").write_text(f"def function(*arguments):\n    {body}\n")
        function = type("Function", (), {"__module__": name, "__qualname__": "function"})
        return isolated(function, *arguments, **{**HERE, **limits})

    yield run
    isolation.worker.end()


def test_answers_are_what_was_returned(call):
    array = np.arange(12.0).reshape(3, 4)
    answer = call("return {'a': arguments[0] * 2, 'b': ('text', None, 1.5)}", array)
    np.testing.assert_array_equal(answer["a"], array * 2)
    assert answer["b"] == ("text", None, 1.5)


def test_one_process_answers_all(call):
    here = os.getpid()
    found = {call("import os; return os.getpid()") for _ in range(3)}
    assert len(found) == 1
    assert here not in found


@pytest.mark.linux
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", r"a library crashed \(Segmentation fault\) on it"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGFPE)", r"crashed \(Floating point exception\)"),
        (
            "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
            r"ended from outside \(Killed\).*says nothing",
        ),
        ("import ctypes; ctypes.string_at(0)", r"crashed \(Segmentation fault\)"),
        ("import os; os._exit(3)", "ended with status 3"),
        ("raise ValueError('of no use')", r"cannot read it \(ValueError: of no use\)"),
        ("bytearray(1 << 40)", "asks for more than 1.1 GB of memory"),
        ("f = lambda n: f(n); f(1)", "nested too deeply|RecursionError"),
    ],
)
def test_what_goes_wrong_is_an_error_of_the_file(call, body, message):
    with pytest.raises(FileError, match=rf"^some\.file: .*{message}"):
        call(body)
    assert call("return 1") == 1


def test_our_own_errors_come_back_as_they_are(call):
    with pytest.raises(ConventionError, match=r"^not normalised$"):
        call("from orbitile.base.errors import ConventionError; raise ConventionError('not normalised')")


@pytest.mark.parametrize("body", ["while True: pass", "import re; re.match('(a*)*b', 'a' * 40)"])
def test_what_does_not_end_is_ended(call, monkeypatch, body):
    """In Python, and in a library that does not come back to it."""
    monkeypatch.setattr(isolation, "_SECONDS", 0.2)  # nobody wants to wait for the real limit
    with pytest.raises(FileError, match="did not come to an end"):
        call(body)
    assert call("return 1") == 1


@pytest.mark.slow
def test_limits_go_after_the_size_of_the_file(call):
    assert call("return len(bytearray(3 << 29))", size=100 << 20) == 3 << 29


def test_what_is_printed_there_is_not_seen_here(call, capfd):
    call("import os; print('a'); os.write(1, b'b'); os.write(2, b'c' * 100000)")
    assert "".join(capfd.readouterr()) == ""


@pytest.mark.linux
def test_a_process_that_ended_while_idle_is_replaced(call):
    first = call("import os; return os.getpid()")
    os.kill(first, signal.SIGTERM)
    seconds_until(lambda: not alive(first))
    assert call("import os; return os.getpid()") != first


@pytest.mark.slow
@pytest.mark.linux
def test_a_process_that_stands_still_is_replaced(call):
    first = call("import os; return os.getpid()")
    os.kill(first, signal.SIGSTOP)
    begin = time.monotonic()
    assert call("import os; return os.getpid()") != first
    assert time.monotonic() - begin < 10
    with pytest.raises(FileError, match="did not go on"):
        call("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)")
    assert call("return 1") == 1


def test_a_request_that_is_withdrawn_is_not_waited_for(call):
    call("return 1")
    begin = time.monotonic()
    with pytest.raises(Cancelled), watched(cancelled=lambda: time.monotonic() - begin > 0.3):
        call("import time; time.sleep(60)")
    assert time.monotonic() - begin < 5
    assert call("return 1") == 1


def test_threads_get_their_own_answers(call):
    found = {}

    def ask(number):
        found[number] = call("import time; time.sleep(0.01); return arguments[0]", number)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: number for number in range(8)}


@pytest.mark.linux
def test_a_fork_has_a_process_of_its_own(call):
    ours = call("import os; return os.getpid()")
    child = os.fork()
    if child == 0:
        try:
            theirs = call("import os; return os.getpid()")
            isolation.worker.end()
            os._exit(0 if theirs != ours else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert call("import os; return os.getpid()") == ours


@pytest.mark.linux
def test_it_ends_with_the_process_that_asked():
    """However that ends."""
    program = (
        "import os, signal\n"
        "from orbitile.readers import _isolation as isolation\n"
        "function = type('F', (), {'__module__': 'os', '__qualname__': 'getpid'})\n"
        "print(isolation.isolated(function, name='', library='', size=0), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment(), check=False
    )
    child = int(done.stdout)
    seconds_until(lambda: not alive(child))
