"""The commands of Orbitile in PyMOL, which importing this module adds to it.

No Qt here: they work in `pymol -c` and `pymol2` as at the prompt.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any, cast

from pymol import CmdException
from pymol import cmd as global_cmd

from ...base.errors import OrbitileError
from ...base.packages import install_command
from ...session.commands import COMMANDS
from ...session.declaration import PYMOL, Answer, Command
from ...session.session import Session
from .drawings import SAVED as DRAWINGS
from .loading import add_formats
from .viewer import PyMOLViewer, main_window

_failures: list[str] = []
"""The last command, if it has raised an error."""
_REST = "orbitile_rest"
"""Key in saved sessions of where a molecule rests that moved when it was saved."""
_SOON = 100
"""Delay in milliseconds before a loaded molecule is shown in the window, in case a script goes on."""


def state_of(cmd: Any) -> Session:
    """The session of the PyMOL that a `cmd` belongs to; it lives and dies with that instance."""
    owner = cmd._pymol
    session: Session | None = getattr(owner, "_orbitile", None)
    # an instance starts with a copy of the first one's session
    if session is None or _host_of(session).cmd._pymol is not owner:
        session = owner._orbitile = Session(PyMOLViewer(cmd))
        if "orb_load" not in cmd.keyword:  # an instance of pymol2, whose first command comes from Python
            register(cmd)
    return session


def _host_of(session: Session) -> PyMOLViewer:
    assert isinstance(session.host, PyMOLViewer)  # `state_of` made it
    return session.host


def open_panel(cmd: Any = None) -> Any:
    """Open the window of Orbitile, or bring it to the front.

    Raises
    ------
    OrbitileError
        Where PyMOL has no window of Qt.
    """
    cmd = cmd or global_cmd
    try:
        from .panel import Panel
    except ImportError as error:
        raise OrbitileError(f"the window needs Qt in PyMOL's Python ({error}): {install_command('PyQt5')}") from error
    window = main_window()
    if window is None:
        raise OrbitileError("the window needs PyMOL's own window; without one, use the commands: help orb_mo")
    session = state_of(cmd)
    if session.panel is None:
        session.panel = Panel(session, window)
    panel: Any = session.panel
    panel.show()
    panel.raise_()
    return panel


def _open_panel(session: Session) -> Answer:
    open_panel(_host_of(session).cmd)
    return Answer(None, "")


PANEL = Command(
    "orb_panel",
    "Open the window of Orbitile, as Plugin > Orbitile does.",
    (),
    (),
    ("orb_load", "orb_mo"),
    False,
    _open_panel,
)


def _in_pymol(command: Command) -> Callable[..., Any]:
    """A command as PyMOL wants one: its arguments, then `quiet` and `_self`; errors become PyMOL's, of one line.

    PyMOL reads the arguments off the code of the function, so the function is made with them.
    """

    def run(cmd: Any, quiet: Any, *values: Any) -> str | None:
        try:
            given = ["" if value is None else value for value in values]  # None is left out, as in "orb_mo , lumo"
            answer = command.run(state_of(cmd), given)
        except OrbitileError as error:
            _failures[:] = [command.name]
            raise CmdException(str(error)) from error
        except Exception:
            _failures[:] = [command.name]
            raise
        if answer.text and not int(quiet):
            print(answer.text if "\n" in answer.text else f" Orbitile: {answer.text}")
        return answer.value

    names = [argument.name for argument in command.arguments]
    parameters = [
        name if argument.required else f"{name}=''" for name, argument in zip(names, command.arguments, strict=True)
    ]
    signature = ", ".join([*parameters, f"quiet={0 if command.told else 1}", "*", "_self=cmd"])
    function: Callable[..., Any] = eval(
        f"lambda {signature}: run({', '.join(['_self', 'quiet', *names])})", {"run": run, "cmd": global_cmd}
    )
    function.__name__ = function.__qualname__ = command.name
    function.__doc__ = command.help(PYMOL)
    return function


PYMOL_COMMANDS = {command.name: _in_pymol(command) for command in (*COMMANDS, PANEL)}


def __getattr__(name: str) -> Any:
    """The commands as functions of this module, for scripts."""
    try:
        return PYMOL_COMMANDS[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def _load(filename: str, name: str = "", *, view: str = "", quiet: int = 1, _self: Any = global_cmd) -> Any:
    """What PyMOL's own ways of opening do: `orb_load`, and where there is a window, a first look at what was loaded.

    Scripts hide nothing; where there is a window, what is loaded in one go stands together, and hides the rest.
    """
    host = _host_of(state_of(_self))
    by_hand = host.has_window() and threading.current_thread() is threading.main_thread()
    hide = by_hand and not host.loaded_last
    names = PYMOL_COMMANDS["orb_load"](filename, name, view=view, hide=hide, quiet=quiet, _self=_self)
    if names and by_hand:
        if not host.loaded_last:
            _take_up_later(_self)
        host.loaded_last = names.split()[-1]
    return names


def _show_volume(filename: str, name: str, *, _self: Any = global_cmd) -> None:
    """Show what is in a file of a volume that PyMOL has loaded as a map, in the window where that is open."""
    session: Session | None = getattr(_self._pymol, "_orbitile", None)
    panel = None if session is None else cast("Any", session.panel)
    if panel is not None and panel.isVisible():
        _load(filename, f"{name}_volume", _self=_self)


def _take_up_later(cmd: Any) -> None:
    """Show what was loaded last in the window when nothing else goes on: a script may go on with what it wants to show.

    A window that the user has closed stays closed.
    """
    from pymol.Qt import QtCore

    def take_up() -> None:
        session = state_of(cmd)
        if session.computing.is_waited_for:
            _take_up_later(cmd)
            return
        host, panel = _host_of(session), cast("Any", session.panel)
        name, host.loaded_last = host.loaded_last, ""
        if name in host.molecules() and (panel is None or panel.isVisible()):
            with suppress(OrbitileError):  # there is no Qt
                open_panel(cmd).browser.molecules.take_up(name)

    QtCore.QTimer.singleShot(_SOON, take_up)


def register(cmd: Any = global_cmd) -> None:
    """Add the commands, their help and the completion of their arguments to a PyMOL."""
    import pymol

    for name, function in PYMOL_COMMANDS.items():
        cmd.extend(name, function)
        setattr(global_cmd, name, function)  # cmd.orb_mo(...), as PyMOL's own; the cmd of an instance takes it there
    for command in COMMANDS:
        for position, argument in enumerate(command.arguments):
            if argument.has_words:
                while len(cmd.auto_arg) <= position:
                    cmd.auto_arg.append({})
                cmd.auto_arg[position][command.name] = [
                    lambda argument=argument: cmd.Shortcut(state_of(cmd).words_for(argument)),
                    argument.name,
                    ", " if position < 1 else "",
                ]
    add_formats(_load, _show_volume)
    _end_scripts_at_errors(cmd)
    _follow_objects(cmd)
    tasks = ((_save_session, "_session_save_tasks"), (_restore_session, "_session_restore_tasks"))
    for task, where in tasks:
        listed = getattr(cmd._pymol, where, None) or getattr(pymol, where)
        if task not in listed:
            listed.append(task)


def _end_scripts_at_errors(cmd: Any) -> None:
    """Have `pymol -c` end with status 1 where a line of a script, or a script of Python, fails in one of our commands.

    PyMOL would go on with the next line and end with 0. Errors of its own commands are left to its option -y. So does
    it where a program that has launched it (`pymol.finish_launching`) ends by an exception.
    """
    options = cmd._pymol.invocation.options
    if options.no_gui and cmd.reaper is threading.main_thread() and not hasattr(sys.excepthook, "_orbitile"):
        sys.excepthook = _leaving(sys.excepthook, cmd)
    is_prompt = options.read_stdin and sys.stdin is not None and sys.stdin.isatty()
    if not options.no_gui or options.keep_thread_alive or is_prompt:
        return
    parser = type(cmd._parser)
    parse = parser.parse
    if hasattr(parse, "_orbitile"):
        return

    @wraps(parse)
    def ending(self: Any, line: str, secure: int = 0) -> Any:
        _failures.clear()
        result = parse(self, line, secure)
        if result == 0 and (_failures or line.split("#")[0].strip().startswith("orb_")):
            print(" Orbitile: a command has failed, so the script ends here")
            self.cmd.quit(1)
        return result

    vars(ending)["_orbitile"] = True
    parser.parse = ending


def _leaving(tell: Callable[..., Any], cmd: Any) -> Callable[..., Any]:
    """What tells of the exception by which a program ends, and has PyMOL end with status 1 if it is one of ours."""

    @wraps(tell)
    def leaving(kind: Any, error: Any, trace: Any) -> None:
        tell(kind, error, trace)
        if isinstance(error.__cause__, OrbitileError) and not hasattr(sys, "ps1"):
            cmd.reaper = None  # quitting would wait for this thread
            cmd.quit(1)

    vars(leaving)["_orbitile"] = True
    return leaving


def _follow_objects(cmd: Any) -> None:
    """Have surfaces go with their molecule at once when that is deleted or renamed, which PyMOL tells nobody.

    Its two commands are followed by a look at what there is; whatever else stood in their place, of another plugin,
    is called as before. A window also looks by itself twice a second; a script has no loop.
    """
    for name, made in (("delete", _follow_delete), ("set_name", _follow_set_name)):
        if not hasattr(getattr(global_cmd, name), "_orbitile"):
            setattr(global_cmd, name, made(getattr(global_cmd, name)))
        if cmd is not global_cmd:
            vars(cmd).pop(name, None)  # it is taken from the global one when it is asked for
        if not hasattr(cmd.keyword[name][0], "_orbitile"):
            cmd.keyword[name][0] = made(cmd.keyword[name][0])


def _follow_delete(delete: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(delete)
    def followed(name: Any, *, _self: Any = global_cmd) -> Any:
        result = delete(name, _self=_self)
        _look(_self, _look_around)
        return result

    vars(followed)["_orbitile"] = True
    return followed


def _follow_set_name(set_name: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(set_name)
    def followed(old_name: Any, new_name: Any, _self: Any = global_cmd) -> Any:
        result = set_name(old_name, new_name, _self=_self)
        _look(_self, lambda session: _rename(session, str(old_name), str(new_name)))
        return result

    vars(followed)["_orbitile"] = True
    return followed


def _look_around(session: Session) -> None:
    session.look()
    _host_of(session).follow_drawings()


def _rename(session: Session, old: str, new: str) -> None:
    host = _host_of(session)
    new = host.legal_name(new)
    if session.shelf.rename(old, new):
        shown = session.shelf[new]
        known = shown.request in session.computing.samples
        colouring = session.computing.sampled(shown.request).surface.colouring if known else None
        host.rename_parts(old, new, shown.molecule, colouring)
    elif old not in host.objects() and new in host.objects():
        host.drawings.rename(old, new)
        session.shelf.follow()
        session.drawn.molecule_renamed(old, new)
        host.regroup_drawings(new)


def _look(cmd: Any, look: Callable[[Session], None]) -> None:
    """Have the session of a PyMOL look at what has changed; the command that changed it has been successful."""
    session: Session | None = getattr(cmd._pymol, "_orbitile", None)
    if session is None or _host_of(session).cmd._pymol is not cmd._pymol:
        return
    if threading.current_thread() is not threading.main_thread() and session.host.has_window():
        return  # the window looks by itself, in the thread that the session belongs to
    with suppress(Exception):  # a look comes again, at the next command at the latest
        look(session)


def _save_session(saved: dict[str, Any], _self: Any = global_cmd) -> int:
    session = state_of(_self)
    saved[_REST] = session.motion.resting()  # PyMOL has written its atoms before, wherever they were
    saved["orbitile"] = session.shelf.saved()
    saved.update(_host_of(session).loaded.saved())
    saved[DRAWINGS] = {**_host_of(session).drawings.saved(), "of": session.drawn.saved()}
    return 1


def _restore_session(saved: dict[str, Any], _self: Any = global_cmd) -> int:
    session = state_of(_self)
    _host_of(session).loaded.restore(saved)
    _host_of(session).drawings.restore(saved.get(DRAWINGS))
    session.shelf.restore(saved.get("orbitile", {}))
    session.motion.restore(saved.get(_REST))
    drawings = saved.get(DRAWINGS)
    session.drawn.restore(drawings.get("of") if isinstance(drawings, dict) else None)
    shelf, ramps = session.shelf, set(_self.get_names_of_type("object:ramp"))
    _host_of(session).take_up_scales({f"{name}_scale" for name in shelf if shelf[name].scale is not None} & ramps)
    return 1


register()
