"""The dialog that offers to install what PyMOL's Python lacks; nothing is installed without a yes.

It says beforehand which command is run, from where it takes what, and into which folder. pip runs in a process of its
own, what it says is shown, and closing the dialog ends it. Nothing but Qt and the standard library is needed.
"""

from __future__ import annotations

import importlib
import os
import sysconfig
from collections.abc import Callable, Sequence
from typing import Any

from pymol.Qt import QtCore, QtWidgets

from .._requirements import absent

_OFFLINE = ("Failed to establish a new connection", "Could not fetch URL", "NewConnectionError", "name resolution")
"""Parts of the messages by which pip says that it reaches no index."""

_WIDTH = 620
_open_dialogs: list[Any] = []


class Completing(QtWidgets.QDialog):  # type: ignore[misc]  # Qt has no types here
    """Offers to install what is missing.

    Parameters
    ----------
    command
        Program and arguments that install it.
    then
        Called when all is there.
    """

    def __init__(self, command: Sequence[str], then: Callable[[], None]) -> None:
        super().__init__(windowTitle="Orbitile: packages to install")
        self._then = then
        self._command = command
        self._process: Any = None
        selectable = QtCore.Qt.TextSelectableByMouse
        self.question = QtWidgets.QLabel(self._text(), wordWrap=True, textInteractionFlags=selectable)
        self.output = QtWidgets.QPlainTextEdit(readOnly=True)
        self.answer = QtWidgets.QLabel(wordWrap=True)
        for widget in (self.output, self.answer):
            widget.hide()
        self.buttons = QtWidgets.QDialogButtonBox()
        self.install_button = self.buttons.addButton("Install", QtWidgets.QDialogButtonBox.ActionRole)
        self.close_button = self.buttons.addButton("Not now", QtWidgets.QDialogButtonBox.RejectRole)
        self.close_button.setDefault(True)  # Return installs nothing
        self.install_button.setAutoDefault(False)
        self.install_button.clicked.connect(self.install)
        self.buttons.rejected.connect(self.reject)
        layout = QtWidgets.QVBoxLayout(self)
        for widget in (self.question, self.output, self.answer, self.buttons):
            layout.addWidget(widget)
        self._fit()
        _open_dialogs[:] = [self]

    def _fit(self) -> None:
        """Make room for all that is said."""
        width = max(self.width() if self.isVisible() else 0, _WIDTH)
        self.resize(width, max(self.height() if self.isVisible() else 0, self.layout().heightForWidth(width)))

    def _text(self) -> str:
        folder = sysconfig.get_path("purelib")
        where = (
            folder if os.access(folder, os.W_OK) else f"your own folder of packages, since you cannot write to {folder}"
        )
        quoted = " ".join(f'"{word}"' if set(word) & set("<>= ") else word for word in self._command)
        return (
            f"Orbitile needs packages that PyMOL's Python lacks: {', '.join(absent())}.\n\n"
            f"\u201cInstall\u201d runs\n\n{quoted}\n\n"
            f"which downloads them, and what they need, from the Python Package Index (pypi.org; with all of them some "
            f"150 MB) into {where}. Packages that are there are replaced only where they are too old.\n\n"
            "Nothing is downloaded or installed before you press Install."
        )

    def install(self) -> None:
        """Run pip and show what it says."""
        self.install_button.setEnabled(False)
        self.close_button.setText("Cancel")
        self.answer.hide()
        self.output.clear()
        self.output.show()
        self._fit()
        self._process = QtCore.QProcess(self, readyRead=self._read, finished=self._finish, errorOccurred=self._fail)
        self._process.setProcessChannelMode(QtCore.QProcess.MergedChannels)
        program, *arguments = self._command
        self._process.setWorkingDirectory(os.path.dirname(program))  # from where nobody's modules are imported
        self._process.start(program, [*arguments, "--disable-pip-version-check", "--no-input"])

    def _read(self) -> None:
        self.output.appendPlainText(bytes(self._process.readAll()).decode(errors="replace").rstrip("\n"))

    def _fail(self, error: object) -> None:
        if error == QtCore.QProcess.FailedToStart:
            self._tell(f"{self._command[0]} cannot be started. Run the command above in a terminal.")

    def _finish(self, status: int, how: object) -> None:
        self._read()
        importlib.invalidate_caches()
        if status == 0 and not absent():
            self.accept()
            self._then()
        elif status == 0:
            self._tell("Installed. Start PyMOL again to use Orbitile.")
        else:
            self._tell(self._reason())

    def _reason(self) -> str:
        said = self.output.toPlainText()
        if any(part in said for part in _OFFLINE):
            return (
                "pip does not reach the Python Package Index: is this computer offline? Nothing was installed. "
                "Connect it and press Install again."
            )
        lines = [line for line in said.splitlines() if line.strip()]
        last = next(
            (line for line in lines if line.lower().startswith("error")), lines[-1] if lines else "it said nothing"
        )
        return (
            f"pip did not install them: {last.strip()[:300]}\n\n"
            "Press Install to try again, or run the command above in a terminal."
        )

    def _tell(self, text: str) -> None:
        self.answer.setText(text)
        self.answer.show()
        self._fit()
        self.install_button.setEnabled(True)
        self.close_button.setText("Close")

    def reject(self) -> None:
        """Close the dialog; pip is ended where it runs."""
        if self._process is not None and self._process.state() != QtCore.QProcess.NotRunning:
            self._process.finished.disconnect()
            self._process.errorOccurred.disconnect()
            self._process.kill()
            self._process.waitForFinished(3000)
        super().reject()
