"""`orbitile mcp`: the commands as tools of the Model Context Protocol, over standard input and output.

Each command that exists is a tool; what it takes follows from its declaration. A call runs the command in a process and
an empty folder of its own, so that it can be ended at any time. Files are read below the folders that were named, and
written below one of them or not at all; nothing listens on the network, and no call reaches for it.
"""

from __future__ import annotations

import argparse
import base64
import glob
import os
import re
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..base.arguments import number
from ..base.errors import OrbitileError
from ..base.packages import required
from ._arguments import CommandParser

HELP = "offer the commands as tools to assistants (Model Context Protocol), over standard input and output"
PRIORITY = 25

_NOT_OFFERED = ("bench", "demo", "install", "jmol", "mcp", "serve")
"""Commands that are no answer to a question, or would not end."""

_LEFT_OUT = ("help", "debug", "quiet", "dask")
"""Options that tools do not have: a cluster is on the network."""

_WRITTEN = ("OUT", "PNG", "FOLDER")
"""What stands for files that a command writes."""

_TEXT, _IMAGE = 200_000, 8 << 20
"""Characters of a result, and bytes of a picture, at most."""

_FILES, _ABOUT_FILES = "files", "the files that may be read, by their whole paths"
_LISTED = 1_000
"""Files that are listed, at most."""

_SCHEMES = re.compile(r"\b(?:dask|tcp|tls|ucx|https?|s3|gs|ftp)\s*:", re.IGNORECASE)
"""How names begin that lead to the network."""

_PIECES = re.compile(r"[,;=\s\"']+|(?<![A-Za-z])(?<!^):|:(?![\\/])")
"""What stands between names of files in a text, as in `difference:/a.molden,/b.molden`."""


def add_arguments(parser: CommandParser) -> None:
    """State its arguments."""
    parser.add_argument("folders", metavar="FOLDER", nargs="+", help="folder whose files may be read, with all in it")
    parser.add_argument("-o", "--output", metavar="FOLDER", help="folder that may be written to (default: none)")
    parser.add_argument(
        "--seconds", type=number, default=600.0, metavar="S", help="time after which a call is ended (default: 600)"
    )
    parser.add_argument(
        "--memory", type=number, default=8.0, metavar="GIB", help="memory of a call, on Linux (default: 8)"
    )


def run(options: argparse.Namespace) -> None:
    """Serve until standard input ends."""
    required("mcp", OrbitileError, "tools for assistants need the package mcp")
    import anyio

    folders = tuple(_folder(name) for name in options.folders)
    written = None if options.output is None else _folder(options.output)
    if not (options.seconds > 0 and options.memory > 0):
        raise OrbitileError("--seconds, --memory: expected numbers above zero")
    anyio.run(_serve, Tools(folders, written, options.seconds, options.memory))


def _folder(name: str) -> Path:
    path = Path(name).expanduser()
    if not path.is_dir():
        raise OrbitileError(f"{name}: expected a folder that exists")
    return path.resolve()


@dataclass(frozen=True)
class Tools:
    """What tools may do.

    Attributes
    ----------
    folders : tuple of Path
        Whose files they may read.
    written : Path, optional
        The folder that they may write to.
    seconds, memory : float
        Limits of a call; memory in GiB.
    """

    folders: tuple[Path, ...]
    written: Path | None
    seconds: float
    memory: float

    def arguments(self, name: str, given: Mapping[str, Any]) -> list[str]:
        """The command line of a call.

        Raises
        ------
        OrbitileError
            When there is no such command or argument, one is missing, or a file is outside the folders.
        """
        parsers = _parsers()
        if name not in parsers:
            raise OrbitileError(f"tools: there is no {name!r}")
        actions = {action.dest: action for action in _actions(parsers[name])}
        if unknown := sorted(set(given) - set(actions)):
            raise OrbitileError(f"{name}: there is no argument {unknown[0]!r}; it has {', '.join(actions)}")
        places: list[str] = []
        named: list[str] = []
        for key, action in actions.items():
            value = given.get(key)
            if value is None or value is False or value == []:
                continue
            if action.nargs == 0:
                named.append(action.option_strings[-1])
                continue
            texts = [self._allowed(key, action, text) for text in (value if isinstance(value, list) else [value])]
            if not action.option_strings:
                places += texts
            elif len(texts) == 1 and action.nargs is None:
                named.append(f"{action.option_strings[-1]}={texts[0]}")
            else:
                named += [action.option_strings[-1], *texts]
        return [name, *places, *named]

    def _allowed(self, key: str, action: argparse.Action, value: Any) -> str:
        """The text of a value that names no file outside the folders."""
        text = str(value)
        if "\0" in text or (text.startswith("-") and not re.match(r"-[.\d]", text)):
            raise OrbitileError(f"{key}: expected a value that does not begin with a hyphen, got {text[:40]!r}")
        if _SCHEMES.search(text):
            raise OrbitileError(f"{key}: expected nothing on the network, got {text[:80]!r}")
        if action.metavar in _WRITTEN:
            return self._written(key, text)
        for path in _paths_in(text):
            for found in glob.glob(str(path)) or [str(path)]:
                if not any(Path(found).resolve().is_relative_to(folder) for folder in self._readable):
                    raise OrbitileError(
                        f"{key}: {found} is not below {' or '.join(map(str, self.folders))}, the folders that may be "
                        "read; files are named by their whole paths"
                    )
        return text

    def listed(self) -> str:
        """The files that may be read, by their whole paths."""
        found = (str(path) for folder in self.folders for path in sorted(folder.rglob("*")) if path.is_file())
        names = list(islice(found, _LISTED + 1))
        return "\n".join([*names[:_LISTED], *(["... and more"] if len(names) > _LISTED else [])]) or "no files"

    @property
    def _readable(self) -> tuple[Path, ...]:
        return self.folders if self.written is None else (*self.folders, self.written)

    def _written(self, key: str, text: str) -> str:
        if self.written is None:
            raise OrbitileError(f"{key}: nothing may be written; start `orbitile mcp` with --output FOLDER")
        path = (self.written / Path(text).expanduser()).resolve()
        if not path.is_relative_to(self.written) or path == self.written:
            raise OrbitileError(f"{key}: expected a file below {self.written}, the folder that may be written to")
        return str(path)


def _paths_in(text: str) -> Iterator[Path]:
    """Paths that a text names: it itself where it is one, else the parts of it that lead out of the current folder."""
    if os.path.lexists(os.path.expanduser(text.strip())):
        yield Path(text.strip()).expanduser()
        return
    for piece in (text.partition(":")[2], *_PIECES.split(text)):
        path = Path(piece.strip()).expanduser()
        if path.is_absolute() or ".." in path.parts or (piece.startswith("~") and len(piece) > 1):
            yield path
            if os.path.lexists(path):
                return


@cache
def _parsers() -> Mapping[str, CommandParser]:
    """Parsers of the commands that are offered, by name; a tenth of a second for all, so not at each call."""
    from . import known_commands
    from ._arguments import add_common

    result = {}
    for name, module in known_commands().items():
        if name not in _NOT_OFFERED:
            result[name] = CommandParser(prog=f"orbitile {name}", description=f"{module.HELP}")
            add_common(result[name])
            module.add_arguments(result[name])
    return result


def _actions(parser: CommandParser) -> list[argparse.Action]:
    parser.format_help()  # which finds the formats that there are
    return [
        action for action in parser._actions if action.dest not in _LEFT_OUT and action.help is not argparse.SUPPRESS
    ]


def schema_of(parser: CommandParser) -> dict[str, Any]:
    """What a command takes, as JSON Schema."""
    actions = _actions(parser)
    needed = [
        action.dest
        for action in actions
        if action.required or (not action.option_strings and action.nargs not in ("?", "*"))
    ]
    properties = {action.dest: _schema_of_value(action) for action in actions}
    return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}


def _schema_of_value(action: argparse.Action) -> dict[str, Any]:
    kinds: dict[Any, str] = {int: "integer", float: "number", number: "number"}
    one: dict[str, Any] = {"type": kinds.get(action.type, "string")}
    if action.choices is not None:
        one["enum"] = list(action.choices)
    if action.nargs == 0:
        one = {"type": "boolean"}
    elif action.nargs in ("*", "+"):
        one = {"type": "array", "items": one}
    about = (action.help or "").replace("%%", "%")
    stands = "" if action.metavar is None or not about else f"{action.metavar}: "
    return {**one, "description": f"{stands}{about}"}


async def _serve(tools: Tools) -> None:
    import mcp_types as types
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server

    from .. import __version__

    async def listed(context: Any, parameters: Any) -> types.ListToolsResult:
        found = [
            types.Tool(
                name=name,
                description=f"{parser.description}",
                input_schema=schema_of(parser),
                annotations=types.ToolAnnotations(
                    read_only_hint=tools.written is None, destructive_hint=False, open_world_hint=False
                ),
            )
            for name, parser in _parsers().items()
        ]
        files = types.Tool(name=_FILES, description=_ABOUT_FILES, input_schema={"type": "object"})
        return types.ListToolsResult(tools=[files, *found])

    async def called(context: Any, parameters: types.CallToolRequestParams) -> types.CallToolResult:
        if parameters.name == _FILES:
            return types.CallToolResult(content=[types.TextContent(text=tools.listed())])
        try:
            command = tools.arguments(parameters.name, parameters.arguments or {})
        except OrbitileError as error:
            return types.CallToolResult(content=[types.TextContent(text=str(error))], is_error=True)
        return await _ran(tools, command)

    server = Server("orbitile", version=__version__, on_list_tools=listed, on_call_tool=called)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


_START = """
import os, signal, sys, threading
def end_with_the_server():
    os.read(0, 1)  # nothing is ever written: this returns when nobody holds the other end
    if os.name == "posix":
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
threading.Thread(target=end_with_the_server, daemon=True).start()
if sys.platform == "linux":
    import resource
    limit = int(sys.argv.pop(1))
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
else:
    del sys.argv[1]
from orbitile.commandline import main
sys.exit(main(sys.argv[1:]))
"""


async def _ran(tools: Tools, command: Sequence[str]) -> Any:
    """Run a command and hand over what it prints, and the pictures that it makes."""
    import anyio
    import mcp_types as types

    from ..workers import environment

    with TemporaryDirectory(prefix="orbitile-") as folder:
        start = [sys.executable, "-c", _START, str(int(tools.memory * (1 << 30))), *command]
        process = await anyio.open_process(
            start, cwd=folder, env=environment(), start_new_session=sys.platform != "win32"
        )
        texts = {"out": "", "err": ""}

        async def read(name: str, stream: Any) -> None:
            async for piece in stream:
                texts[name] = (texts[name] + piece.decode(errors="replace"))[: _TEXT + 1]

        late = True
        try:
            with anyio.move_on_after(tools.seconds):
                async with anyio.create_task_group() as group:
                    group.start_soon(read, "out", process.stdout)
                    group.start_soon(read, "err", process.stderr)
                await process.wait()
                late = False
        finally:
            _end(process)
            with anyio.CancelScope(shield=True):
                await process.aclose()
        said = texts["out"][:_TEXT]
        said += "\n(the rest is left out)" if len(texts["out"]) > _TEXT else ""
        said = "\n".join(filter(None, (said.replace(f"{folder}{os.sep}", ""), texts["err"][:_TEXT].strip())))
        if late:
            said += f"\nended after {tools.seconds:g} s"
        pictures = [] if late or process.returncode else list(_pictures(Path(folder), command))
        content: list[Any] = [types.TextContent(text=said or "done"), *pictures]
        return types.CallToolResult(content=content, is_error=bool(late or process.returncode))


def _end(process: Any) -> None:
    """Kill a process and all that it started."""
    if process.returncode is None:
        try:
            if sys.platform != "win32":
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        except ProcessLookupError:
            pass


def _pictures(folder: Path, command: Sequence[str]) -> Iterator[Any]:
    """The pictures that a command has made, in its folder or where it was told."""
    import mcp_types as types

    told = [Path(argument.partition("=")[2]) for argument in command if argument.startswith(("--output=", "--plot="))]
    for path in (*sorted(folder.glob("*.png")), *(path for path in told if path.suffix.lower() == ".png")):
        if path.is_file() and path.stat().st_size <= _IMAGE:
            yield types.ImageContent(data=base64.b64encode(path.read_bytes()).decode("ascii"), mime_type="image/png")
