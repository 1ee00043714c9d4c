"""Directives that write the reference from what the code declares: fields, file formats, analyses, commands.

```{declared-fields}
```
"""

import io
from collections.abc import Iterable
from contextlib import redirect_stdout, suppress

from sphinx.util.docutils import SphinxDirective


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Lines of a table in Markdown."""
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *([cell.replace("|", r"\|") for cell in row] for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines] + [""]


class Declared(SphinxDirective):
    """A directive whose content is Markdown that `lines` makes."""

    def run(self):
        """Parse it."""
        return self.parse_text_to_nodes("\n".join(self.lines()), allow_section_headings=True)

    def lines(self) -> list[str]:
        """Lines of Markdown."""
        raise NotImplementedError  # each directive below has its own


class Fields(Declared):
    """All fields in their groups, each with its sentence."""

    def lines(self):
        """A table a group."""
        from orbitile.fields import field_groups

        lines = []
        for title, names in field_groups():
            lines += [
                f"## {title}",
                "",
                *table(["field", "what it shows"], ((f"`{name}`", why) for name, why in names)),
            ]
        return lines


class Analyses(Declared):
    """All analyses, each with what it finds and its parameters."""

    def lines(self):
        """A section an analysis."""
        from orbitile.analysis.reports import analyses

        lines = []
        for name, module in analyses().items():
            lines += [f"## {name}", "", f"{module.TITLE}: {module.HELP}.", ""]
            lines += [f"`ob.{name}(...)`, `orbitile {name} FILE`, `orb_{name}`", ""]
            if module.PARAMETERS:
                lines += _arguments(module.PARAMETERS)
        return lines


class ConsoleCommands(Declared):
    """All commands of the consoles, from their declarations."""

    def lines(self):
        """A section a command."""
        from orbitile.session.commands import COMMANDS
        from orbitile.session.declaration import PYMOL

        lines = []
        for command in COMMANDS:
            lines += [f"## {command.name}", "", command.summary, "", "```text", command.usage(PYMOL), "```", ""]
            if command.arguments:
                lines += _arguments(command.arguments)
            if command.examples:
                lines += ["```text", *command.examples, "```", ""]
            if command.related:
                known = {one.name for one in COMMANDS}
                links = [
                    f"[{name}](#{name.replace('_', '-')})" if name in known else f"`{name}`" for name in command.related
                ]
                lines += [f"See also {', '.join(links)}.", ""]
        return lines


class Formats(Declared):
    """What is read and what is written, by the endings of files."""

    def lines(self):
        """Two tables."""
        from orbitile.exporters import exporter_modules
        from orbitile.readers import reader_modules

        lines = []
        for title, modules in (("Read", reader_modules()), ("Written", exporter_modules())):
            rows = (
                (module.DESCRIPTION, ", ".join(f"`{pattern}`" for pattern in module.PATTERNS), module.KIND)
                for module in modules.values()
            )
            lines += [f"## {title}", "", *table(["format", "names", "holds"], rows)]
        return lines


def _arguments(arguments):
    rows = (
        (
            f"`{argument.name}`{' (required)' if argument.required else ''}",
            _escaped(argument.help),
            ", ".join(argument.kind.choices) or argument.kind.name,
            _escaped(argument.otherwise) or "",
        )
        for argument in arguments
    )
    return table(["argument", "what it is", "kind", "otherwise"], rows)


def _escaped(text: str) -> str:
    """Text in which nothing is taken for Markdown."""
    return text.replace("*", r"\*").replace("_", r"\_").replace("<", r"\<")


class CommandLine(Declared):
    """What `orbitile --help` prints, and that of each command."""

    def lines(self):
        """A section a command."""
        from orbitile.commandline import known_commands

        lines = ["## orbitile", "", "```text", _help(), "```", ""]
        for name, command in known_commands().items():
            lines += [f"## orbitile {name}", "", f"{command.HELP[0].upper()}{command.HELP[1:]}.", ""]
            lines += ["```text", _help(name), "```", ""]
        return lines


def _help(*command: str) -> str:
    from orbitile.commandline import main

    printed = io.StringIO()
    with redirect_stdout(printed), suppress(SystemExit):
        main([*command, "--help"])
    return printed.getvalue().rstrip()


class PipeRequests(Declared):
    """What a viewer may ask for at the pipe, beside the commands of its user."""

    def lines(self):
        """A table."""
        from orbitile.hosts.server.requests import REQUESTS

        rows = ((_request(one), one.summary, one.answer) for one in REQUESTS.values())
        return table(["request", "what it is", "answer"], rows)


class WindowRequests(Declared):
    """What a window at the pipe tells of its user."""

    def lines(self):
        """A table."""
        from orbitile.hosts.server.window import VERBS

        return table(["words", "what the user does"], ((_request(one), one.summary) for _, one in VERBS.values()))


def _request(request):
    said = request.description()
    return ", ".join([f"`{said['name']}`", *(_escaped(word) for word in said["words"])])


DIRECTIVES = {
    "command-line": CommandLine,
    "fields": Fields,
    "analyses": Analyses,
    "console-commands": ConsoleCommands,
    "formats": Formats,
    "pipe-requests": PipeRequests,
    "window-requests": WindowRequests,
}


def setup(app):
    """Make the directives known to Sphinx."""
    for name, directive in DIRECTIVES.items():
        app.add_directive(f"declared-{name}", directive)
    return {"parallel_read_safe": True}
