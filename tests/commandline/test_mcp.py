"""The commands as tools, driven by the official client."""

import os
import signal
import sys
from contextlib import asynccontextmanager, suppress
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import pytest

from orbitile.base.errors import OrbitileError
from orbitile.commandline import known_commands, main
from orbitile.commandline.mcp import Tools, _parsers, schema_of
from tests.conftest import SAMPLES

if find_spec("mcp") is None:
    pytest.skip("mcp (extra mcp) is not installed", allow_module_level=True)

BENZENE = files("orbitile") / "data" / "benzene.molden"


@pytest.fixture
def folder(tmp_path):
    inside = tmp_path / "my jobs"
    inside.mkdir()
    (inside / "benzene.molden").write_bytes(BENZENE.read_bytes())
    (tmp_path / "secret.molden").write_bytes(BENZENE.read_bytes())
    return inside.resolve()


@asynccontextmanager
async def connected(folder, *options):
    """A session with a server. The client is imported here: that takes seconds, also where no test of it is run."""
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "orbitile", "mcp", str(folder), *options],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    async with stdio_client(server) as (incoming, outgoing), ClientSession(incoming, outgoing) as session:
        await session.initialize()
        yield session


def driven(folder, calls, *options):
    """What a server answers to calls: of each whether it is an error, its text, and how many pictures there are."""
    import anyio

    async def talk():
        async with connected(folder, *options) as session:
            names = [tool.name for tool in (await session.list_tools()).tools]
            answers = [await session.call_tool(name, arguments) for name, arguments in calls]
        return names, [
            (
                one.is_error,
                "".join(part.text for part in one.content if part.type == "text"),
                sum(part.type == "image" for part in one.content),
            )
            for one in answers
        ]

    return anyio.run(talk)


def test_an_assistant_asks_and_is_refused_what_is_elsewhere(folder):
    benzene = str(folder / "benzene.molden")
    names, answers = driven(
        folder,
        [
            ("files", {}),
            ("info", {"file": benzene}),
            ("info", {"file": str(folder.parent / "secret.molden")}),
            ("info", {"file": benzene, "nonsense": 1}),
            ("volume", {"file": benzene, "output": "homo.cube"}),
            ("nonsense", {}),
        ],
    )
    assert {"files", "info", "render", "charges", "critical-points"} <= set(names)
    assert not {"mcp", "serve", "install", "bench", "demo"} & set(names)
    assert answers[0] == (False, benzene, 0)
    assert not answers[1][0]
    assert "C6H6" in answers[1][1]
    said = ["is not below", "no argument 'nonsense'", "nothing may be written", "there is no 'nonsense'"]
    for (is_error, text, _), expected in zip(answers[2:], said, strict=True):
        assert is_error
        assert expected in text


@pytest.mark.slow
def test_pictures_are_handed_over_files_written_where_they_may_and_calls_end(folder, tmp_path):
    benzene, written = str(folder / "benzene.molden"), tmp_path / "written"
    written.mkdir()
    _, answers = driven(
        folder,
        [
            ("render", {"file": benzene, "fields": ["homo"], "size": "200x150", "quality": "coarse"}),
            ("charges", {"file": benzene, "json": True, "output": "charges.json"}),
            ("volume", {"file": benzene, "output": "../secret.cube"}),
        ],
        "--output",
        str(written),
    )
    assert answers[0] == (False, answers[0][1], 1)
    assert not answers[1][0]
    assert (written / "charges.json").is_file()
    assert answers[2][0]
    assert sorted(path.name for path in folder.parent.iterdir()) == ["my jobs", "secret.molden", "written"]
    _, ((is_error, text, _),) = driven(folder, [("charges", {"file": benzene})], "--seconds", "0.3")
    assert is_error
    assert "ended after 0.3 s" in text


@pytest.mark.slow
@pytest.mark.linux
@pytest.mark.parametrize("how", ["cancelled", "killed"])
def test_a_call_ends_when_nobody_waits_for_it(folder, how):
    import anyio
    from mcp import MCPError

    benzene = str(folder / "benzene.molden")

    def running(what):
        lines = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):  # it has ended meanwhile
                lines.append((int(path.parent.name), path.read_bytes().decode(errors="replace")))
        return [number for number, line in lines if what in line and str(folder) in line]

    async def until(condition, seconds=30):
        with anyio.fail_after(seconds):
            while not condition():
                await anyio.sleep(0.1)

    async def talk():
        async with connected(folder) as session:
            async with anyio.create_task_group() as group:

                async def call():
                    with suppress(MCPError):  # that the server has gone
                        await session.call_tool("basins", {"file": benzene})

                group.start_soon(call)
                await until(lambda: running("basins"), 120)
                if how == "killed":
                    (number,) = running("mcp\0")
                    os.kill(number, signal.SIGKILL)
                else:
                    group.cancel_scope.cancel()
            await until(lambda: not running("basins"))
            if how == "cancelled":
                answer = await session.call_tool("info", {"file": benzene})
                assert not answer.is_error

    anyio.run(talk)


@pytest.mark.slow
def test_every_tool_answers(folder, tmp_path, monkeypatch, capsys):
    """With a result or in a sentence that says what it needs: never with an internal error.

    Of each the command of the call, in this process: that a server starts it in another one is tested above.
    """
    water = folder / "water.fchk"
    water.write_bytes((SAMPLES / "h2o_sto3g.fchk").read_bytes())
    monkeypatch.chdir(tmp_path)
    tools = Tools((folder,), None, 60.0, 8.0)
    for name, parser in _parsers().items():
        schema = schema_of(parser)
        given = {key: str(water) for key in schema["required"] if key in ("file", "geometries", "trajectory")}
        try:
            status = main(tools.arguments(name, given))
        except SystemExit as ended:  # an argument is missing
            status = ended.code
        said = capsys.readouterr()
        assert status in (0, 2), (name, said)  # 1 is an internal error
        assert said.out or said.err or status == 0, name
        assert "Traceback" not in said.out + said.err, name
        if name in ("info", "charges", "bonds", "levels", "integrate", "fields", "devices", "topology"):
            assert status == 0, (name, said)


@pytest.mark.parametrize(
    "value",
    [
        "/etc/passwd",
        "{folder}/../secret.molden",
        "difference:{folder}/../secret.molden",
        "difference:{folder}/benzene.molden,{folder}/../secret.molden",
        "esp:/etc/passwd",
        "~/secret.molden",
        "../secret.molden",
        "{folder}/link.molden",
        "{folder}/*.molden",
        "-o",
        "dask:tcp://host:8786",
        "https://host/a.molden",
    ],
)
def test_no_value_leads_out_of_the_folders(folder, value):
    (folder / "link.molden").symlink_to(folder.parent / "secret.molden")
    tools = Tools((folder,), None, 60.0, 8.0)
    for key in ("file", "fields"):
        given = {"file": str(folder / "benzene.molden"), key: value.format(folder=folder)}
        with pytest.raises(OrbitileError):
            tools.arguments("render", given)


def test_what_is_allowed_becomes_the_command_line(folder):
    tools = Tools((folder,), folder, 60.0, 8.0)
    benzene = str(folder / "benzene.molden")
    given = {
        "file": benzene,
        "fields": [f"difference:{benzene}", "homo"],
        "turn": "-60,15,0",
        "output": "a.png",
        "legend": True,
    }
    assert tools.arguments("render", given) == [
        *("render", benzene, f"difference:{benzene}", "homo"),
        *(f"--output={folder / 'a.png'}", "--turn=-60,15,0", "--legend"),
    ]
    with pytest.raises(OrbitileError, match="expected a file below"):
        tools.arguments("render", {**given, "output": "../a.png"})


def test_folders_have_to_exist(tmp_path, capsys):
    assert main(["mcp", str(tmp_path / "nowhere")]) == 2
    assert "expected a folder that exists" in capsys.readouterr().err
    assert "mcp" in known_commands()
    assert Path(str(BENZENE)).is_file()
