"""What Orbitile asks of a viewer. Whoever does this much is a host; nothing else of a viewer is used."""

from __future__ import annotations

from typing import Any, Protocol

from ..surface import Colouring, Surface
from ..volume import Volume
from ..wavefunction import Wavefunction

Colour = tuple[float, float, float]
"""Red, green and blue from 0 to 1."""


class Host(Protocol):
    """A viewer that shows molecules, volumes and surfaces under names.

    A field that is shown has one name, which its surface and its volume share; how the viewer calls its own objects for
    them is the host's affair. Lengths arrive in bohr. All but `drawing` and `progress` are called from the thread that
    runs the commands.
    """

    def legal_name(self, name: str) -> str:
        """The name that the viewer would give an object that is to be called `name`."""
        ...

    def add_molecule(self, name: str, wavefunction: Wavefunction) -> None:
        """Show the atoms, and remember the file that they came from, `wavefunction.source`.

        Its geometries become states or frames, and the one that the orbitals belong to is shown.
        """
        ...

    def molecules(self) -> dict[str, str]:
        """Molecules that have a wavefunction, in the order of loading, with the file it is in."""
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

    def put_surface(
        self, name: str, molecule: str, drawing: Any, transparency: float, colouring: Colouring | None
    ) -> None:
        """Add or replace the surface of a field of a molecule.

        Transparency goes from 0, opaque, to 1. Where there is a colouring, the viewer explains its colours.
        """
        ...

    def set_transparency(self, name: str, transparency: float) -> None:
        """Change the transparency of a surface, without the rest of it."""
        ...

    def put_volume(self, name: str, molecule: str, volume: Volume) -> None:
        """Add or replace the volume of a field, for the viewer's own tools."""
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
