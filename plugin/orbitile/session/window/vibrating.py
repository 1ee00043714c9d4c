"""A molecule that moves along the mode that is chosen in a window."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...model.vibrations import AMPLITUDE
from ..commands.vibrations import orb_electrons, vibrate
from .showing import Showing


@dataclass(frozen=True)
class Look:
    """How a mode is shown.

    Attributes
    ----------
    amplitude : float
        Largest displacement of an atom in Angstrom.
    moves, arrows : bool
    """

    amplitude: float = AMPLITUDE
    moves: bool = True
    arrows: bool = False


class Vibrating:
    """The mode that a window shows.

    Attributes
    ----------
    look : Look
        How modes are shown, now and when the next one is chosen.
    """

    def __init__(self, showing: Showing) -> None:
        self._showing, self._session = showing, showing.session
        self.look = Look()
        self._chosen = ("", 0)

    @property
    def text(self) -> str:
        """What moves, or has arrows; empty where nothing does."""
        now = self._session.motion.now
        return "" if now is None else now.text

    @property
    def mode(self) -> int:
        """Number of the mode that was chosen last; 0 for none."""
        return self._chosen[1]

    def choose(self, molecule: str, mode: int) -> None:
        """Show a mode of a molecule."""
        self._chosen = molecule, mode
        if not (self.look.moves or self.look.arrows):
            self.look = replace(self.look, moves=True)
        self._show()

    def change(self, **look: float | bool) -> None:
        """Show modes in another way."""
        self.look = replace(self.look, **look)  # type: ignore[arg-type]  # they are named as in `Look`
        if self.mode:
            self._show()

    def _show(self) -> None:
        (molecule, mode), look = self._chosen, self.look
        molecule = self._session.shelf.molecule_now(molecule)
        self._showing.attempt(
            lambda: vibrate(self._session, molecule, mode, look.amplitude, moves=look.moves, arrows=look.arrows)
        )

    def compute_electrons(self) -> None:
        """Compute the electrons along the mode, in the background; they become a molecule of their own."""
        molecule, mode = self._chosen
        self.stop()
        molecule = self._session.shelf.molecule_now(molecule)
        self._showing.attempt(lambda: orb_electrons.run(self._session, [mode, molecule]))

    def stop(self) -> None:
        """Show no mode any more."""
        self._chosen = ("", 0)
        self._session.motion.stop()
