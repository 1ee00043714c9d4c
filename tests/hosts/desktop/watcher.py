"""Runs inside PyMOL and says what is on the screen and where, over a socket; what is done there, X does.

Each line is a Python expression about the names below; the answer is a line of JSON.
"""

import json
import math
import os
import socket
import sys
import threading
import time
import traceback

from pymol import cmd
from pymol.Qt import QtCore, QtWidgets

LATE = 0.04
"""Seconds between two turns of the thread of the window that are noted."""


class Pulse:
    """How long the window stands still, and what it does then."""

    def __init__(self):
        self.freezes = []
        self._last, self._stack = self._now(), ""
        self._timer = QtCore.QTimer()
        self._timer.setTimerType(QtCore.Qt.PreciseTimer)
        self._timer.timeout.connect(self._beat)
        self._timer.start(2)
        self._thread = threading.get_ident()
        threading.Thread(target=self._look, daemon=True).start()

    def _beat(self):
        now = self._now()
        if now[0] - self._last[0] > LATE:
            spent = [round(1000 * (end - begin)) for begin, end in zip(self._last, now, strict=True)]
            self.freezes.append([*spent, self._stack])
        self._last, self._stack = now, ""

    def _now(self):
        return time.perf_counter(), time.thread_time(), time.process_time()

    def _look(self):
        while True:
            time.sleep(0.015)
            if time.perf_counter() - self._last[0] > LATE / 2:
                frame = sys._current_frames().get(self._thread)
                stack = traceback.extract_stack(frame)[-7:]
                self._stack = " < ".join(f"{os.path.basename(at.filename)}:{at.lineno} {at.name}" for at in stack[::-1])

    def take(self):
        """What was noted since the last time: milliseconds, those of them that the thread and all threads computed,
        and what the window did. Where they did not compute, other programs had the processor."""
        found, self.freezes = self.freezes, []
        return found


pulse = Pulse()


def box(widget, part=None):
    """Left, top, width and height on the screen of a widget, or of a part of it; None where it cannot be used."""
    if not (widget.isVisible() and widget.isEnabled()):
        return None
    part = widget.rect() if part is None else part
    corner = widget.mapToGlobal(part.topLeft())
    return [corner.x(), corner.y(), part.width(), part.height()]


def _shown(kind=None):
    kind = QtWidgets.QWidget if kind is None else kind
    return [widget for widget in QtWidgets.QApplication.allWidgets() if isinstance(widget, kind) and widget.isVisible()]


def _words(widget):
    for name in ("text", "title", "placeholderText", "toolTip", "windowTitle", "currentText"):
        function = getattr(widget, name, None)
        if callable(function):
            try:
                yield str(function()).replace("&", "").strip()
            except TypeError:
                continue


def find(words, kind="QWidget"):
    """The widget that shows words, or begins its explanation with them; one that says exactly this goes first."""
    found = [w for w in _shown(getattr(QtWidgets, kind)) if any(text.startswith(words) for text in _words(w))]
    return min(found, key=lambda w: (words not in list(_words(w)), w.width() * w.height()), default=None)


def place(words, kind="QWidget"):
    """Where a widget is that shows words."""
    widget = find(words, kind)
    return None if widget is None else box(widget)


def entry(words):
    """Where the entry of an open menu is, or of the bar of menus."""
    for menu in [*_shown(QtWidgets.QMenu)[::-1], *_shown(QtWidgets.QMenuBar)]:
        for action in menu.actions():
            if action.isVisible() and action.text().replace("&", "").split("\t")[0].startswith(words):
                return box(menu, menu.actionGeometry(action))
    return None


def entries():
    """What the open menus offer."""
    return [
        [action.text(), action.isEnabled(), action.toolTip()]
        for menu in _shown(QtWidgets.QMenu)
        for action in menu.actions()
        if not action.isSeparator()
    ]


def open_entries():
    """What can be chosen of the menu opened last, and where."""
    menu = QtWidgets.QApplication.activePopupWidget()
    actions = menu.actions() if isinstance(menu, QtWidgets.QMenu) else []
    return [
        [action.text(), box(menu, menu.actionGeometry(action))]
        for action in actions
        if action.isEnabled() and action.isVisible() and not action.isSeparator()
    ]


_CLICKABLE = QtWidgets.QAbstractButton, QtWidgets.QComboBox, QtWidgets.QSlider, QtWidgets.QLabel, QtWidgets.QHeaderView


def clickable():
    """What can be clicked on in the window of Orbitile, and where: buttons, boxes, and what is in lists."""
    window, found = panel(), []
    for kind in _CLICKABLE:
        found += [[next(_words(w), ""), box(w)] for w in window.findChildren(kind) if box(w)]
    for view in window.findChildren(QtWidgets.QAbstractItemView):
        if box(view) and not isinstance(view, QtWidgets.QHeaderView) and view is not window.table:
            model, inside = view.model(), view.viewport()
            cells = [
                model.index(row, column) for row in range(model.rowCount()) for column in range(model.columnCount())
            ]
            boxes = [[cell, view.visualRect(cell)] for cell in cells]
            found += [[str(cell.data()), box(inside, at)] for cell, at in boxes if at.intersects(inside.rect())]
    return [[words[:40], at] for words, at in found]


def panel():
    """The window of Orbitile, if it can be seen."""
    return next((w for w in _shown(QtWidgets.QDockWidget) if w.objectName() == "orbitile"), None)


def cell(row, column):
    """Where a cell of the table of orbitals is; it is scrolled into view by the user."""
    table = panel().table
    return box(table.viewport(), table.visualRect(table.model().index(row, column)))


def dialogs():
    """Titles of the dialogs that are open."""
    return [w.windowTitle() or type(w).__name__ for w in _shown(QtWidgets.QDialog)]


def drops_down():
    """Whether a menu is open, or the list of a box: the next click would close it."""
    return QtWidgets.QApplication.activePopupWidget() is not None


def windows():
    """Titles of the windows that are open."""
    return [
        w.windowTitle() for w in QtWidgets.QApplication.topLevelWidgets() if w.isVisible() and w.windowType() != 0x0C
    ]


def feedback():
    """What PyMOL has said in its window."""
    return _shown(QtWidgets.QMainWindow)[0].browser.toPlainText()


def main_window():
    return next(w for w in _shown(QtWidgets.QMainWindow) if hasattr(w, "pymolwidget"))


def objects():
    """Objects of PyMOL with their types and whether they are enabled."""
    enabled = set(cmd.get_names("objects", enabled_only=1))
    return {name: [cmd.get_type(name), name in enabled] for name in cmd.get_names("objects")}


def session():
    """Session of Orbitile, if there is one."""
    return getattr(cmd._pymol, "_orbitile", None)


def at_rest():
    """Whether nothing is under way."""
    window = panel()
    return window is None or window.browser.at_rest()


def bar():
    """Whether the bar of progress is seen, how far it is, and what is said."""
    window = panel()
    return (
        [False, 0, ""]
        if window is None
        else [window.progress.isVisible(), window.progress.value(), window.status.text()]
    )


def strays():
    """What does not belong: objects of nobody's, things listed that are gone, a window that shows another state."""
    names, found = set(cmd.get_names("objects")), []
    orbitile = session()
    molecules = {} if orbitile is None else orbitile.host.molecules()
    shown = [] if orbitile is None else list(orbitile.shelf)
    parts = {part for name in shown for part in orbitile.host.parts(name)}
    owners = {orbitile.shelf[name].molecule for name in shown}
    groups = [f"{owner}_orb" for owner in {*owners, *molecules}]
    drawn = set() if orbitile is None else orbitile.host.drawings.names()
    for name in names - drawn:
        kind = cmd.get_type(name)
        if kind == "object:group":
            belongs = any(name.startswith(group) for group in groups)
        elif kind == "object:molecule":
            belongs = name in molecules
        else:
            belongs = name in parts
        if not belongs and not name.startswith("mine"):
            found.append(f"object {name} ({kind})")
    found += [
        f"{name} is of {owner}, which is not there"
        for name in shown
        if (owner := orbitile.shelf[name].molecule) not in names
    ]
    window = panel()
    if window is not None:
        listed = [window.molecule_box.itemText(at) for at in range(window.molecule_box.count())]
        if "defect" in window.status.text():
            found.append(window.status.text())
        if listed != list(molecules):
            found.append(f"the window lists {listed}, PyMOL has {list(molecules)}")
    return found


def atom(name, number):
    """Where an atom of an object is on the screen, counted from 0."""
    at = cmd.get_coords(name, min(cmd.get_state(), max(cmd.count_states(name), 1)))[number]
    view, (width, height) = cmd.get_view(), cmd.get_viewport()
    x, y, z = (sum(view[3 * j + i] * (at[j] - view[12 + j]) for j in range(3)) + view[9 + i] for i in range(3))
    scale = height / 2 / math.tan(math.radians(cmd.get_setting_float("field_of_view")) / 2)
    if cmd.get_setting_boolean("orthoscopic"):
        scale /= -view[11]
    else:
        scale /= -z
    widget = main_window().pymolwidget
    corner = widget.mapToGlobal(widget.rect().topLeft())
    below = widget.height() - height
    return [round(corner.x() + width / 2 + scale * x), round(corner.y() + height / 2 - scale * y), 1, 1, below]


def live():
    """Stage of the live molecule, what is said of it, how many geometries have converged, and the last energy."""
    now = session() and session().live.now
    if not now:
        return None
    status = now.status
    energies = status.energies
    return [status.stage, status.text, len(energies), energies[-1] if energies else None, now.at_rest()]


def memory():
    """Megabytes that PyMOL holds."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 2**20


class _Server:
    def __init__(self, path):
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind(path)
        self._listening.listen(1)
        self._notifier = QtCore.QSocketNotifier(self._listening.fileno(), QtCore.QSocketNotifier.Read)
        self._notifier.activated.connect(self._accept)

    def _accept(self, *_):
        self._peer, _ = self._listening.accept()
        self._lines = self._peer.makefile("r")
        self._reader = QtCore.QSocketNotifier(self._peer.fileno(), QtCore.QSocketNotifier.Read)
        self._reader.activated.connect(self._answer)

    def _answer(self, *_):
        line = self._lines.readline()
        if not line:
            self._reader.setEnabled(False)
            return
        try:
            answer = {"answer": eval(json.loads(line), globals())}
            text = json.dumps(answer, default=str)
        except Exception:
            text = json.dumps({"error": traceback.format_exc()})
        self._peer.sendall(text.encode() + b"\n")

    def close(self):
        for one in (getattr(self, "_lines", None), getattr(self, "_peer", None), self._listening):
            if one is not None:
                one.close()


_server = _Server(os.environ["ORBITILE_WATCHER"])
QtWidgets.QApplication.instance().aboutToQuit.connect(_server.close)
