"""What the pictures of a film show: a field along a trajectory, orbitals or isovalues one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..base.errors import OrbitileError
from ..evaluation.default_isovalue import default_isovalue
from ..evaluation.requests import FileReferences, field_of
from ..fields import Field, as_drawn
from ..model.trajectory import Trajectory
from ..model.wavefunction import Wavefunction
from ..trajectories.paths import align, interpolate, localised_for
from ..trajectories.tracking import Tracking, track


@dataclass(frozen=True, eq=False)
class Shot:
    """What one picture of a film shows.

    Attributes
    ----------
    wavefunction : Wavefunction
    field : str or Field
        Name of a field of it, or the field itself.
    isovalue : float
        In atomic units.
    """

    wavefunction: Wavefunction
    field: str | Field
    isovalue: float

    def looks_like(self, other: Shot) -> bool:
        """Whether it shows the same as another one, but for the view."""
        return self.wavefunction is other.wavefunction and self.field == other.field and self.isovalue == other.isovalue


@dataclass(frozen=True, eq=False)
class Shots:
    """The shots of a film in order, each time it is called: a film goes through them twice, and keeps one at a time.

    Attributes
    ----------
    sequence
        Gives the shots.
    most : int
        Number of shots, or more where frames are left out.
    """

    sequence: Callable[[], Iterable[Shot]]
    most: int

    def __call__(self) -> Iterable[Shot]:
        """The shots from the first one on."""
        return self.sequence()


def along(
    trajectory: Trajectory,
    field: str,
    tracking: Tracking | None = None,
    isovalue: float | None = None,
    *,
    aligned: bool = False,
    between: int = 0,
    device: str | None = None,
    report: Callable[[str], None] | None = None,
) -> Shots:
    """A field along a trajectory, at one isovalue.

    Parameters
    ----------
    trajectory, field
        What to show. With tracking, an orbital is named as in the first frame and stays the same orbital; localised
        orbitals too, which are found and followed then.
    tracking
        From `track`; without it orbitals flip and jump as they do in the files.
    isovalue
        In atomic units; by default that of the first frame.
    aligned
        Turn and move each frame onto the first one, so that the molecule stays where it is.
    between
        Number of interpolated frames between two neighbours, which have to be followed.
    device
        As for `compute`; the isovalue is found on it.
    report
        Told in one line, once, of each frame that is left out.

    Raises
    ------
    FieldError
        When there is no such field in the first frame.
    OrbitileError
        When no frame can be read, or frames are to be interpolated without tracking.
    """
    if between and tracking is None:
        raise OrbitileError(
            "frames can be interpolated where orbitals are followed only: give a tracking, or none between"
        )
    check_surface(field)
    tracking = tracking and _tracking_for(field, tracking)
    name = field if tracking is None else tracking.field(field)
    shown = trajectory if tracking is None else tracking.path
    shown = interpolate(align(shown) if aligned else shown, between)

    reported: set[str] = set()

    def tell(line: str) -> None:
        if report is not None and line not in reported:
            report(line)
        reported.add(line)

    def wavefunctions() -> Iterator[Wavefunction]:
        return (wavefunction for _, wavefunction in shown.frames(tell))

    first = next(wavefunctions(), None)
    if first is None:
        reason = next(iter(trajectory.problems.values()), "it has none")
        raise OrbitileError(f"{trajectory.name}: no frame can be read: {reason}")
    references = FileReferences()  # the same for all frames
    resolved = field_of(first, name, references)
    value = default_isovalue(first, resolved, device=device) if isovalue is None else isovalue

    def shots() -> Iterator[Shot]:
        return (Shot(frame, field_of(frame, name, references), value) for frame in wavefunctions())

    return Shots(shots, len(shown))


def _tracking_for(field: str, tracking: Tracking) -> Tracking:
    """A tracking that holds for a field: of localised orbitals for one of these, which are not those of the files."""
    trajectory = tracking.trajectory
    first = next((wavefunction for _, wavefunction in trajectory.frames()), None)
    if first is None or first.localised:  # what was localised for the field is followed already
        return tracking
    localised = localised_for(trajectory, first, field)
    return tracking if localised is trajectory else track(localised)


def over_orbitals(
    wavefunction: Wavefunction, names: Sequence[str], isovalue: float | None = None, *, device: str | None = None
) -> Shots:
    """Orbitals of one wavefunction one after another, at one isovalue; by default that of the first, from `device`."""
    if not names:
        raise OrbitileError("orbitals of a film: expected one or more, got none")
    for name in names:
        field_of(wavefunction, name)
    value = default_isovalue(wavefunction, names[0], device=device) if isovalue is None else isovalue
    return Shots(lambda: (Shot(wavefunction, name, value) for name in names), len(names))


def over_isovalues(wavefunction: Wavefunction, field: str | Field, isovalues: Sequence[float]) -> Shots:
    """One field at one isovalue after another; the same one again and again for a molecule that only turns."""
    if not len(isovalues):
        raise OrbitileError("isovalues of a film: expected one or more, got none")
    check_surface(field)
    resolved = field_of(wavefunction, field)
    return Shots(lambda: (Shot(wavefunction, resolved, value) for value in isovalues), len(isovalues))


def check_surface(field: str | Field) -> None:
    """Refuse a field that has no isosurface of its own, and only colours that of another."""
    surface, colours = as_drawn(field) if isinstance(field, str) else (field, "")
    if colours:
        raise OrbitileError(f"field {field!r} of a film: it only colours the surface of another field; use {surface}")
