"""What Orbitile asks of a viewer. Whoever does this much is a host; nothing else of a viewer is used."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..model.surface import Colouring, Surface
from ..model.volume import Volume
from ..model.wavefunction import Wavefunction

Colour = tuple[float, float, float]
"""Red, green and blue from 0 to 1."""


class Host(Protocol):
    """A viewer that shows molecules, volumes and surfaces under names.

    A field that is shown has one name, which its surface and its volume share; how the viewer calls its own objects for
    them is the host's affair. Lengths arrive in bohr. All but `drawing` and `progress` are called from the thread that
    runs the commands.

    Attributes
    ----------
    draws_volumes : bool
        Whether the viewer draws surfaces from the volumes, so that each is to be put with its own.
    """

    draws_volumes: bool

    def legal_name(self, name: str) -> str:
        """The name that the viewer would give an object that is to be called `name`."""
        ...

    def add_molecule(self, name: str, wavefunction: Wavefunction, geometry: int) -> None:
        """Show the atoms, and remember what they came from, `wavefunction.source`.

        Its geometries become states or frames. The given one is shown, and surfaces that name no frame belong to it.
        """
        ...

    def molecules(self) -> dict[str, str]:
        """Molecules that have a wavefunction, in the order of loading, with the source that was to be remembered."""
        ...

    def renamed(self) -> dict[str, str]:
        """Molecules that the user has given other names since this was asked last: new names by those they had."""
        ...

    def geometries(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Atomic numbers and positions, shape (n_frames, n_atoms, 3) in bohr, of an object that came from anywhere.

        Raises
        ------
        OrbitileError
            When there is no such molecule, or it cannot be given.
        """
        ...

    def adopt(self, name: str, source: str) -> None:
        """Remember for an object, which came from anywhere, where its wavefunctions are."""
        ...

    def frame(self, molecule: str) -> int | None:
        """Frame that is shown of a molecule, from 0; None where there is no such molecule."""
        ...

    def go_to(self, molecule: str, frame: int) -> None:
        """Show another frame of a molecule."""
        ...

    def every(self, milliseconds: int, function: Callable[[], None]) -> bool:
        """Call a function again and again, from the thread that runs the commands; once is enough for each function.

        False where there is no loop that would do it: in a script.
        """
        ...

    def has_window(self) -> bool:
        """Whether there is a window, so that nothing may keep its thread busy for long."""
        ...

    def wait(self, future: Future[Any]) -> None:
        """Wait until a future is done; where this is the thread of a window, that stays alive meanwhile.

        So the user may do anything before this returns. A future that can still be cancelled is, when the viewer quits.
        """
        ...

    def objects(self) -> set[str]:
        """Names of all that is there: molecules and fields alike, less what the user has deleted."""
        ...

    def drawing(self, surface: Surface, colours: tuple[Colour, Colour]) -> Any:
        """What the viewer draws a surface from, for `put_surface`; the viewer is not touched.

        The colours are those of the positive and of the negative phase, and do not count where the surface has a
        colouring. It takes longest of all, and may be called from another thread.
        """
        ...

    def size(self, surface: Surface, volume: Volume) -> int:
        """Bytes that the viewer takes for one frame of a field, about."""
        ...

    def put_surface(
        self,
        name: str,
        molecule: str,
        drawing: Any,
        transparency: float,
        colouring: Colouring | None,
        frame: int | None = None,
    ) -> None:
        """Add or replace the surface of a field of a molecule; of one frame, where one is given, beside the others.

        Transparency goes from 0, opaque, to 1. Where there is a colouring, the viewer explains its colours.
        """
        ...

    def set_transparency(self, name: str, transparency: float) -> None:
        """Change the transparency of a surface, without the rest of it."""
        ...

    def put_volume(self, name: str, molecule: str, volume: Volume, frame: int | None = None) -> None:
        """Add or replace the volume of a field, or of one frame of it, for the viewer's own tools."""
        ...

    def drop(self, name: str, frame: int) -> None:
        """Take away surface and volume of one frame."""
        ...

    def remove(self, name: str) -> None:
        """Take away surface and volume of a field, if they are there."""
        ...

    def colour(self, name: str) -> Colour:
        """A colour of the viewer by its name.

        Raises
        ------
        OrbitileError
            When the viewer knows none of this name.
        """
        ...

    def progress(self, share: float) -> None:
        """Share of the work that is done, from 0 to 1; called from any thread."""
        ...

    def say(self, text: str) -> None:
        """Tell the user something, in one line."""
        ...

    def settings(self) -> dict[str, Any]:
        """What `keep_settings` was given last, if need be by an earlier run; empty at first."""
        ...

    def keep_settings(self, settings: dict[str, Any]) -> None:
        """Keep what the user has set, in plain types, from one run to the next."""
        ...
