"""Notebooks: JupyterLab, VS Code, Colab.

`orbitile.view` gives a view that computes in the kernel what is chosen in it (`widget`, by `anywidget`); what stands at
the end of a cell shows itself (`showing`). Beside each view stands a page of what it has shown, for times without a
kernel: the saved notebook, and what is exported from it.

This package imports nothing of a notebook; `widget` does.
"""

TITLE = "notebooks"
