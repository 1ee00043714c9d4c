"""Commands of the command line that are made of analyses: `orbitile charges FILE`."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from ..analysis.reports import Analysis, analyse, analyses, values_of
from ..base.arguments import FLAG
from ..base.errors import OrbitileError
from ._arguments import CommandParser, add_file, add_option, add_trajectory
from ._console import progress_bar, tell
from ._files import chosen_frame, is_page, load_frame, tell_notes, write_page

_ROWS = 200
"""Rows of a table that are printed for people."""


class AnalysisCommand:
    """An analysis as a command; see `orbitile.commandline.Command`."""

    def __init__(self, name: str, module: Analysis) -> None:
        self.name, self.module = name, module
        self.HELP = module.HELP

    def add_arguments(self, parser: CommandParser) -> None:
        """State its arguments: the file, and the parameters of the analysis as options."""
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = _epilog(self.name, self.module)
        add_trajectory(parser) if self.module.KIND == "trajectory" else add_file(parser)
        self.add_parameters(parser)
        add_option(parser, "device")

    def add_parameters(self, parser: CommandParser, more_output: str = "") -> None:
        """State the parameters of the analysis, and what is written; `more_output` says what else."""
        for argument in self.module.PARAMETERS:
            add_option(parser, argument, as_text=True)
        parser.add_argument("--json", action="store_true", help="for programs: one object, with all digits")
        parser.add_argument(
            "-o",
            "--output",
            metavar="OUT",
            help=f"write the tables: .json, or .csv (one a table, and one a plot){more_output}",
        )
        plots = "write the plots: .svg, .png, .pdf (needs matplotlib)" if self.module.PLOTS else argparse.SUPPRESS
        parser.add_argument("--plot", metavar="OUT", help=plots)

    def run(self, options: argparse.Namespace) -> None:
        """Print the report, or write it."""
        self.check(options)
        self.present(_READERS[self.module.KIND](options), options)

    def check(self, options: argparse.Namespace) -> None:
        """Refuse what cannot be written, before anything is read."""
        from ..analysis.presentation import check_picture, check_tables
        from ..files.writing import checked_target

        if options.plot and not self.module.PLOTS:
            drawing = [name for name, module in analyses().items() if module.PLOTS]
            raise OrbitileError(
                f"--plot: {self.name.replace('_', '-')} has only tables, which -o writes; analyses with plots are "
                f"{', '.join(drawing)}"
            )
        if options.plot:
            checked_target(check_picture(options.plot))
        if options.output and not self._writes_page(options):
            check_tables(options.output)

    def _writes_page(self, options: argparse.Namespace) -> bool:
        return bool(options.output) and self.module.KIND == "vibrations" and is_page(options.output)

    def present(self, subject: Any, options: argparse.Namespace, more: Mapping[str, Any] | None = None) -> None:
        """Print the report of what was read, or write it; in JSON `more` stands beside the tables."""
        from ..analysis.presentation import as_json, as_text, draw_plots, write_tables

        as_page = self._writes_page(options)
        values = values_of(self.name, {one.name: getattr(options, one.name) for one in self.module.PARAMETERS})
        if warning := self.module.warning(subject, **values):
            tell(warning)
        with progress_bar(options, self.module.TITLE.lower()) as progress:
            report = analyse(subject, self.name, device=options.device, progress=progress, **values)
        written = [*(write_tables(report, options.output) if options.output and not as_page else ())]
        written += draw_plots(report, options.plot) if options.plot else ()
        if as_page:
            from ..pictures.vibrations import document_of_modes

            write_page(document_of_modes(subject, report), options.output, subject.source)
        elif options.json:
            print(as_json(report, more))
        elif options.output:
            for remark in report.remarks:
                tell(f"note: {remark}")
        else:
            print(as_text(report, _ROWS))
        if written and not options.json:
            print("\n".join(map(str, written)))


def analysis_commands() -> Mapping[str, AnalysisCommand]:
    """All analyses as commands, by name."""
    return {name: AnalysisCommand(name, module) for name, module in analyses().items()}


def _epilog(name: str, module: Analysis) -> str:
    """Examples: those of the consoles, as one types them here."""
    subject = "TRAJ" if module.KIND == "trajectory" else "FILE"
    flags = [argument.name for argument in module.PARAMETERS if argument.kind is FLAG]
    lines = [f"  orbitile {name.replace('_', '-')} {subject}"]
    for example in module.EXAMPLES:
        _, _, arguments = example.partition(" ")
        named = [piece.partition("=") for piece in re.split(r",\s*(?=\w+=)", arguments) if "=" in piece]
        options = " ".join(_option(key, value.strip(), key in flags) for key, _, value in named)
        lines.append(f"{lines[0]} {options}")
    return "\n".join(["examples:", *dict.fromkeys(line.rstrip() for line in lines)])


def _option(key: str, value: str, is_flag: bool) -> str:
    return f"--{key.replace('_', '-')}{'' if is_flag else f' {shlex.quote(value)}'}"


def _wavefunction(options: argparse.Namespace) -> Any:
    wavefunction = load_frame(options)
    tell_notes(options, wavefunction)
    return wavefunction


def _atoms(options: argparse.Namespace) -> Any:
    """A wavefunction, or the atoms of a file that holds none."""
    from ..readers import load_geometries

    try:
        return _wavefunction(options)
    except OrbitileError as error:
        try:
            geometries = load_geometries(options.file)
        except OrbitileError:
            raise error from None
        return geometries.read(len(geometries) - 1 if options.frame is None else chosen_frame(options, geometries))


def _trajectory(options: argparse.Namespace) -> Any:
    from ..readers import load_trajectory

    return load_trajectory(options.trajectory)


def _vibrations(options: argparse.Namespace) -> Any:
    from ..readers import load_vibrations

    return load_vibrations(options.file)


def _spectra(options: argparse.Namespace) -> Any:
    from ..readers import load_spectra

    return load_spectra(options.file)


_READERS: Mapping[str, Callable[[argparse.Namespace], Any]] = {
    "wavefunction": _wavefunction,
    "atoms": _atoms,
    "trajectory": _trajectory,
    "vibrations": _vibrations,
    "spectra": _spectra,
}
