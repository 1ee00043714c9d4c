"""What drawings by matplotlib share: slices and correlation diagrams. No pyplot: no window, no state."""

from __future__ import annotations

import warnings
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any

from ..errors import FileError, OrbitileError
from ..files.writing import written_atomically
from ..imports import with_settings_of_the_user
from ..packages import install_command

FORMATS = (".png", ".svg", ".pdf")


def check_picture(path: str | PathLike[str]) -> Path:
    """The path of a drawing, if its ending is one of those that can be written and matplotlib is there.

    Raises
    ------
    FileError, OrbitileError
        Otherwise.
    """
    target = Path(path)
    if target.suffix.lower() not in FORMATS:
        raise FileError(f"{target.name}: expected a picture to end in {', '.join(FORMATS)}")
    try:
        matplotlib_module("figure")
    except ImportError as error:
        raise OrbitileError(
            f"slices and diagrams are drawn by matplotlib, which is not here: {install_command('matplotlib')}"
        ) from error
    return target


def matplotlib_module(name: str) -> Any:
    """A module of matplotlib, imported when it is needed."""
    return with_settings_of_the_user("matplotlib", name)


def new_figure(inches: tuple[float, float], dpi: float) -> tuple[Any, Any]:
    """An empty figure of (width, height) inches, and its axes."""
    figure = matplotlib_module("figure").Figure(figsize=inches, dpi=dpi, layout="constrained")
    return figure, figure.add_subplot()


def write_picture(figure: Any, target: Path) -> None:
    """Write a figure of matplotlib, drawn in memory first: on a full disk its own writers end in other errors.

    Raises
    ------
    OrbitileError
        When labels leave no room for what is drawn.
    FileError
        When the file cannot be written.
    """
    drawn = BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "constrained_layout not applied", UserWarning)
        try:
            figure.savefig(drawn, format=target.suffix[1:].lower(), dpi=figure.dpi)
        except UserWarning as error:
            width, height = figure.get_size_inches() * figure.dpi
            raise OrbitileError(
                f"{target.name}: a drawing of {width:.0f} x {height:.0f} pixels has no room beside its labels; "
                "choose a larger one"
            ) from error
    with written_atomically(target) as file:
        file.write_bytes(drawn.getbuffer())
