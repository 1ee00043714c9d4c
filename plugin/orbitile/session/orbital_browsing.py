"""Which orbitals a window lists: those of the file, or localised ones, which the worker process makes of them."""

from __future__ import annotations

from concurrent.futures import Future

from ..errors import Cancelled
from ..localised.localisation import localised, why_not
from ..localised.schemes import INTRINSIC, SCHEMES
from ..model.wavefunction import Wavefunction
from .analysis_browsing import AnalysisBrowsing
from .orbitals import Levels, levels_of, localised_levels_of
from .sampling import WORKER_WAVEFUNCTIONS
from .session import Session
from .view import View
from .words import of_error

CANONICAL = ""
"""What is listed at first: the orbitals as the file has them."""

LISTED_ORBITALS = {
    CANONICAL: "Canonical",
    "ibo": "IBO",
    "pm": "Pipek-Mezey",
    "pm_iao": "Pipek-Mezey (IAO)",
    "boys": "Boys",
}
"""What can be listed, by schemes of localisation, each with a short title."""


def answer_levels(source: str, scheme: str) -> Levels:
    """The localised orbitals of a source, as a table lists them, in a worker; what was made of them stays there.

    Raises
    ------
    OrbitileError
        When they cannot be localised.
    """
    wavefunction = WORKER_WAVEFUNCTIONS.get(source)
    one = next(one for one in SCHEMES if one == scheme)
    made = localised(wavefunction, one, "all" if one in INTRINSIC else "occupied")
    return localised_levels_of(wavefunction, made, scheme)


class OrbitalBrowsing(AnalysisBrowsing):
    """What a window does with lists of orbitals; parameters as of `AnalysisBrowsing`.

    Attributes
    ----------
    scheme : str
        What the orbitals that are listed, or on their way, are localised by, of `LISTED_ORBITALS`.
    """

    def __init__(self, session: Session, view: View) -> None:
        super().__init__(session, view)
        self.scheme = CANONICAL
        self._localising: Future[Levels] | None = None

    def why_not_localised(self) -> dict[str, str]:
        """Schemes that the molecule does not have, each with the reason."""
        wavefunction = self.wavefunction
        if wavefunction is None:
            return {}
        reasons = {scheme: why_not(wavefunction, scheme) for scheme in SCHEMES}
        return {scheme: reason for scheme, reason in reasons.items() if reason}

    def choose_orbitals(self, scheme: str) -> None:
        """List localised orbitals, once the worker has made them, or those of the file again."""
        wavefunction = self.wavefunction
        if scheme == self.scheme or scheme not in LISTED_ORBITALS or wavefunction is None:
            return
        if scheme == CANONICAL:
            self._list_canonical(wavefunction)
            return
        self._withdraw_localising()
        self.scheme = scheme
        source = self.session.source(self.molecule)
        self._localising = self.session.computing.worker.run(answer_levels, source, scheme)
        self.view.say(f"Localising: {SCHEMES[next(one for one in SCHEMES if one == scheme)]} …")
        self.view.set_busy(True)

    def _list_canonical(self, wavefunction: Wavefunction) -> None:
        self._withdraw_localising()
        self.scheme, self.levels = CANONICAL, levels_of(wavefunction)
        self.view.show_molecule()

    def _withdraw_localising(self) -> bool:
        job, self._localising = self._localising, None
        if job is not None:
            job.cancel()
        return job is not None

    def choose_molecule(self, name: str) -> None:
        """List the orbitals of another molecule, as its file has them."""
        if name != self.molecule or self.wavefunction is None:
            self._withdraw_localising()
            self.scheme = CANONICAL
        super().choose_molecule(name)

    def tick(self) -> None:
        """Look at what is under way, and do what is due."""
        super().tick()
        if self._localising is not None and self._localising.done():
            job, self._localising = self._localising, None
            self._localised(job)
            self.view.set_busy(self.is_busy())

    def _localised(self, job: Future[Levels]) -> None:
        try:
            levels = job.result()
        except Exception as error:
            if self.wavefunction is not None:
                self._list_canonical(self.wavefunction)
            if not isinstance(error, Cancelled):
                self.view.say(of_error(error), error=True)
            return
        self.levels = levels
        self.view.show_molecule()
        self.view.say(
            f"{LISTED_ORBITALS[self.scheme]}: {sum(map(len, levels))} orbitals; the arrow keys walk through them."
        )
        self._rows = None  # what is shown may be one of them
        self._listing()

    def is_busy(self) -> bool:
        """Whether the user waits for something that can be cancelled."""
        return super().is_busy() or self._localising is not None

    def at_rest(self) -> bool:
        """Whether everything that was asked for is shown."""
        return super().at_rest() and self._localising is None

    def cancel(self) -> bool:
        """Withdraw what is under way; says whether there was anything."""
        localising = self._withdraw_localising()
        if localising and self.wavefunction is not None:
            self._list_canonical(self.wavefunction)
        return super().cancel() or localising
