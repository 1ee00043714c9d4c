"""What an analysis found, in tabs: tables, plots, remarks."""

from __future__ import annotations

from typing import Any

from pymol.Qt import QtCore, QtWidgets

from ...model.report import Report
from .report_plot import ReportPlot
from .report_table import ReportTable

Qt = QtCore.Qt


class ReportView(QtWidgets.QTabWidget):  # type: ignore[misc]  # Qt has no types here
    """A report.

    Attributes
    ----------
    row_chosen : signal of Table, int
        A row of a table.
    field_chosen : signal of str
        Field of a point of a plot.
    """

    row_chosen = QtCore.Signal(object, int)
    field_chosen = QtCore.Signal(str)

    def __init__(self, parent: Any = None) -> None:
        super().__init__(parent)
        self._remarks: Any = None
        self._report: Report | None = None

    def show_report(self, report: Report | None) -> None:
        """Show a report; one of the same tables and plots as that before takes its place, each tab as it stands."""
        if report is self._report:
            return
        before, self._report = self._report, report
        if report is None or before is None or not self._fits(report):
            self._build(report)
            return
        tables = [self.widget(at) for at in range(self.count()) if isinstance(self.widget(at), ReportTable)]
        plots = [self.widget(at) for at in range(self.count()) if isinstance(self.widget(at), ReportPlot)]
        for widget, table in zip(tables, report.tables, strict=True):
            widget.fill(table)
        for widget, plot in zip(plots, report.plots, strict=True):
            widget.fill(plot)
        if self._remarks is not None:
            self._remarks.setPlainText(_text_of(report))

    def _fits(self, report: Report) -> bool:
        widgets = [self.widget(at) for at in range(self.count())]
        tables = [widget for widget in widgets if isinstance(widget, ReportTable)]
        plots = [widget for widget in widgets if isinstance(widget, ReportPlot)]
        return (
            [table.name for table in report.tables] == [widget.table.name for widget in tables]
            and all(widget.fits(table) for widget, table in zip(tables, report.tables, strict=True))
            and [plot.name for plot in report.plots] == [widget.plot.name for widget in plots]
            and bool(report.remarks) == (self._remarks is not None)
        )

    def _build(self, report: Report | None) -> None:
        while self.count():
            widget = self.widget(0)
            self.removeTab(0)
            widget.deleteLater()
        self._remarks = None
        if report is None:
            return
        for plot in report.plots:  # seen first: they say most at a glance
            picture = ReportPlot(plot)
            picture.picked.connect(self.field_chosen)
            self.addTab(picture, _title(plot.name) if report.tables or len(report.plots) > 1 else "Plot")
        for table in report.tables:
            widget = ReportTable(table)
            widget.chosen.connect(self.row_chosen)
            self.addTab(widget, _title(table.name))
        if report.remarks:
            self._remarks = QtWidgets.QPlainTextEdit(_text_of(report))
            self._remarks.setReadOnly(True)
            self.addTab(self._remarks, f"Remarks ({len(report.remarks)})")

    def copy(self, clipboard: Any) -> None:
        """Copy what the tab shows: text, or a picture."""
        widget = self.currentWidget()
        if isinstance(widget, ReportTable):
            clipboard.setText(widget.text())
        elif isinstance(widget, ReportPlot):
            clipboard.setPixmap(widget.grab())
        elif widget is not None:
            clipboard.setText(widget.toPlainText())


def _title(name: str) -> str:
    words = name.replace("_", " ")
    return f"{words[:1].upper()}{words[1:]}"


def _text_of(report: Report) -> str:
    return "\n\n".join(report.remarks)
