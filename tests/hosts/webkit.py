"""WebKitGTK for tests, by its driver (W3C, WebDriver), on a screen of its own."""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

PROGRAMS = ("WebKitWebDriver", "xvfb-run")


class Page:
    """A page in WebKit, into which one looks by scripts."""

    def __init__(self, driver: str) -> None:
        self._at = driver
        browser = next(Path("/usr/lib").glob("*/webkit2gtk-4.*/MiniBrowser"))
        options = {"webkitgtk:browserOptions": {"binary": str(browser), "args": ["--automation"]}}
        self._at += "/session/" + self._ask("POST", "/session", capabilities={"alwaysMatch": options})["sessionId"]

    def _ask(self, method: str, path: str, **content):
        data = json.dumps(content).encode() if method == "POST" else None
        with urlopen(Request(self._at + path, data, method=method), timeout=60) as answer:
            return json.load(answer)["value"]

    def open(self, address: str) -> None:
        """Go to an address."""
        self._ask("POST", "/url", url=address)

    def run(self, script: str):
        """What the body of an asynchronous function returns in the page."""
        end = f"const done = arguments[0]; (async () => {{ {script} }})().then(done, (error) => done(String(error)));"
        return self._ask("POST", "/execute/async", script=end, args=[])

    def wait_until(self, condition: str, seconds: float = 30) -> None:
        """Wait until something is true in the page."""
        end = time.monotonic() + seconds
        while self.run(f"return Boolean({condition})") is not True:
            assert time.monotonic() < end, condition
            time.sleep(0.1)

    def close(self) -> None:
        """End the browser."""
        self._ask("DELETE", "")


@contextmanager
def webkit() -> Iterator[Page]:
    """A page; what needs it is skipped where there is no WebKit."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        pytest.skip(f"there is no {missing[0]}: apt-get install webkit2gtk-driver xvfb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["xvfb-run", "-a", "WebKitWebDriver", f"--port={port}"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        page = Page(_driver(port))
        try:
            yield page
        finally:
            page.close()
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(20)


def _driver(port: int) -> str:
    """Address of the driver, once it answers."""
    at, end = f"http://127.0.0.1:{port}", time.monotonic() + 30
    while True:
        try:
            urlopen(at + "/status", timeout=10).close()
            return at
        except (URLError, ConnectionError):
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
