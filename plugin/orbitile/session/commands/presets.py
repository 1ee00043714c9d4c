"""The command that shows a preset."""

from __future__ import annotations

from ...arguments import TEXT, Argument, one_of
from ..declaration import Answer, command
from ..presets import PRESETS, preset_named, surfaces_of
from ..session import Session
from ._arguments import OBJECT, QUALITY
from .surfaces import show_field


@command(
    "Show what is often looked at, with isovalues and colours that suit it: "
    + "; ".join(f"{preset.name}, {preset.sentence[0].lower()}{preset.sentence[1:]}" for preset in PRESETS),
    OBJECT,
    Argument("preset", one_of(*(preset.name for preset in PRESETS)), "what to show", "frontier", "frontier"),
    Argument("file", TEXT, "for difference, the file to compare with, or several with commas between"),
    QUALITY,
    examples=("orb_preset benzene, potential",),
    related=("orb_field", "orb_mo"),
)
def orb_preset(session: Session, name: str, preset: str, file: str, quality: str) -> Answer:
    molecule = session.molecule(name)
    chosen = preset_named(preset)
    wavefunction = session.computing.aside(lambda: session.wavefunction(molecule))
    names, texts = [], []
    for surface in surfaces_of(chosen, wavefunction, file):
        answer = show_field(session, molecule, surface.field, surface.isovalue, quality, surface.color_by)
        assert answer.value is not None  # the name of the surface
        names.append(answer.value)
        texts.append(answer.text)
        if surface.transparency is not None:
            session.shelf.set_transparency(answer.value, surface.transparency)
        molecule = session.shelf[answer.value].molecule  # it may have been renamed meanwhile
    session.shelf.arrange(names if len(names) > 1 else ())
    return Answer(names[-1], "; ".join(texts))
