"""Commands of a session in any order, drawn by chance: what users do, and what they do wrongly."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np

import orbitile as ob
from tests.conftest import SAMPLES
from tests.molecules import scanned

from .viewers import Defect, Outcome, Viewer

_NAMES = ("one", "two", "three", "four")
"""Of molecules: each is loaded in place of the one that had its name."""
_MOST_SURFACES = 8

_FIELDS = (
    *("homo", "lumo", "homo-1", "lumo+1", "mo:1", "mo:2", "mo:3:beta", "density", "density", "esp", "elf", "lol"),
    *("spin", "laplacian", "rdg", "density:alpha", "kinetic"),
)
_SECOND = ("esp", "homo", "density", "laplacian")
_EXPORTED = ("cube", "dx", "mrc", "npz", "plt", "ply", "obj", "glb", "stl", "3mf", "usdz", "mvsx", "xyz", "html")

_WRONG: tuple[tuple[str, tuple[object, ...]], ...] = (
    ("orb_load", ("missing.molden",)),
    ("orb_load", ("broken.molden",)),
    ("orb_load", ("empty.fchk",)),
    ("orb_load", ("",)),
    ("orb_mo", ("nobody", "homo")),
    ("orb_mo", ("{molecule}", "mo:9999")),
    ("orb_mo", ("{molecule}", "homo", "-1")),
    ("orb_mo", ("{molecule}", "homo", "nan")),
    ("orb_mo", ("{molecule}", "homo", "0.03", "finest")),
    ("orb_field", ("{molecule}", "no such field")),
    ("orb_field", ("{molecule}", "difference:missing.molden")),
    ("orb_field", ("{molecule}", "density", "1e9", "coarse")),
    ("orb_field", ("{molecule}", "density", "0.01", "coarse", "nonsense")),
    ("orb_field", ("{molecule}",)),
    ("orb_iso", ("0.02", "nobody")),
    ("orb_iso", ("many",)),
    ("orb_color", ("no such colour",)),
    ("orb_style", ("fur",)),
    ("orb_export", ("missing/folder/a.cube",)),
    ("orb_export", ("a.doc",)),
    ("orb_picture", ("a.jpeg",)),
    ("orb_picture", ("a.png", "9999999", "9999999")),
    ("orb_film", ("a.avi",)),
    ("orb_film", ("a.gif", "64", "48", "10", "360", "0")),
    ("orb_device", ("abacus",)),
    ("orb_memory", ("1",)),
    ("orb_play", ("10", "nobody")),
    ("orb_settle", ()),
    ("orb_undo", ()),
    ("orb_scf", ("nobody",)),
    ("orb_live", ("nobody",)),
    ("orb_charges", ("{molecule}", "guess")),
    ("orb_delete", ("nobody",)),
)
"""Commands that have to be refused; `{molecule}` is any that is there."""

_ANALYSES: tuple[tuple[str, tuple[str, ...]], ...] = (
    *(
        ("orb_charges", (scheme,))
        for scheme in ("", "hirshfeld_i", "becke", "mulliken", "loewdin", "cm5", "mbis", "npa", "iao", "mk")
    ),
    ("orb_bonds", ()),
    ("orb_composition", ("homo",)),
    ("orb_levels", ()),
    ("orb_localise", ("boys",)),
    ("orb_localise", ("pm",)),
)

Action = Callable[["Mix"], None]
_ACTIONS: list[tuple[float, Action]] = []


def action(weight: float) -> Callable[[Action], Action]:
    """Something that users do, this often."""

    def add(function: Action) -> Action:
        _ACTIONS.append((weight, function))
        return function

    return add


class Mix:
    """Commands for a viewer, one after the other.

    Parameters
    ----------
    viewer
        That is told.
    folder
        For the files that are opened and written; made if it is not there.
    seed
        Of what is drawn by chance.

    Attributes
    ----------
    done : int
        Commands so far.
    answered, refused : Counter
        Of each command, how often.
    journal : list of str
        The last commands, for the account of a failure.
    """

    def __init__(self, viewer: Viewer, folder: Path, seed: int) -> None:
        self.viewer, self.folder = viewer, folder
        self.rng = random.Random(seed)
        self.done = 0
        self.answered: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.journal: list[str] = []
        self.molecules: dict[str, str] = {}
        self.files = _files(folder)
        self.written = folder / "written"
        self.written.mkdir()

    def step(self) -> None:
        """Do what users do, once."""
        weights, actions = zip(*_ACTIONS, strict=True)
        self.rng.choices(actions, weights)[0](self)

    def tell(self, command: str, *arguments: object, cancelled_after: float | None = None) -> Outcome:
        """Have a command done, and count it."""
        self.done += 1
        self.journal = [*self.journal[-30:], f"{command} {', '.join(map(str, arguments))} {cancelled_after or ''}"]
        outcome = self.viewer.do(command, arguments, cancelled_after=cancelled_after)
        (self.refused if outcome.error else self.answered)[command] += 1
        return outcome

    def expect(self, command: str, *arguments: object) -> str | None:
        """The value of a command that must not be refused."""
        outcome = self.tell(command, *arguments)
        if outcome.error is not None:
            raise Defect(f"{command} {arguments} was refused: {outcome.error}")
        return outcome.value

    def molecule(self) -> str:
        """Any molecule with orbitals; one is loaded where there is none."""
        there = set(self.viewer.objects())
        self.molecules = {name: kind for name, kind in self.molecules.items() if name in there}
        known = [name for name, kind in self.molecules.items() if kind != "volume"]
        if not known:
            self.load("water", "one")
            return "one"
        return self.rng.choice(known)

    def load(self, kind: str, name: str) -> None:
        """Load a file under a name, whose molecule it replaces."""
        self.expect("orb_load", str(self.files[kind]), name)
        self.molecules[name] = kind

    def surfaces(self) -> list[str]:
        """Names of the surfaces that are shown."""
        return [name for name in (self.expect("orb_surfaces") or "").split("\n") if name]

    def make_room(self) -> None:
        """Delete surfaces, of which there are to be only so many."""
        shown = self.surfaces()
        while len(shown) > _MOST_SURFACES:
            self.expect("orb_delete", shown.pop(self.rng.randrange(len(shown))))

    def target(self, suffix: str) -> Path:
        """A file to be written; there are few of them, so that they are written over."""
        return self.written / f"{self.rng.choice('ab')}.{suffix}"


def _files(folder: Path) -> dict[str, Path]:
    """The files that are opened, by what they are."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {
        "water": SAMPLES / "h2o_sto3g.fchk",
        "radical": SAMPLES / "ch3_hf_sto3g.fchk",
        "atom": SAMPLES / "h_sto3g.fchk",
        "ammonia": SAMPLES / "nh3_molden_cart.molden",
        "benzene": Path(str(files("orbitile") / "data" / "benzene.molden")),
    }
    known = {kind: Path(shutil.copy(source, folder)) for kind, source in found.items()}
    known["job"] = Path(shutil.copy(found["water"], folder / "job.fchk"))
    known["volume"] = folder / "volume.cube"
    water = ob.load(found["water"])
    lattice = ob.enclosing_lattice(water, "homo", 0.03, quality="coarse")
    ob.save(ob.compute(water, "homo", lattice, device="cpu"), known["volume"], wavefunction=water)
    known["path"] = folder / "path.h5"
    with ob.SeriesWriter(known["path"]) as writer:
        for frame in scanned(
            f"O 0 0 0; H 0 {0.79 * r:.4f} {0.61 * r:.4f}; H 0 {-0.79 * r:.4f} {0.61 * r:.4f}"
            for r in np.linspace(0.9, 1.2, 4)
        ):
            writer.append(frame)
    (folder / "broken.molden").write_text("[Molden Format]\n[Atoms] Angs\nC 1 6 0 0\n")
    (folder / "empty.fchk").write_text("")
    return known


@action(6)
def load(mix: Mix) -> None:
    mix.load(mix.rng.choice(["water", "water", "radical", "atom", "ammonia", "benzene"]), mix.rng.choice(_NAMES))


@action(0.5)
def load_a_volume(mix: Mix) -> None:
    mix.load("volume", mix.rng.choice(_NAMES))
    mix.make_room()


@action(14)
def show_an_orbital(mix: Mix) -> None:
    isovalue = mix.rng.choice(["", "0.03", "0.1", f"{mix.rng.uniform(0.01, 0.2):.3f}"])
    orbital = mix.rng.choice([*_FIELDS[:4], str(mix.rng.randrange(1, 6))])
    mix.tell("orb_mo", mix.molecule(), orbital, isovalue, "coarse")
    mix.make_room()


@action(10)
def show_a_field(mix: Mix) -> None:
    second = mix.rng.choice(["", "", *_SECOND])
    mix.tell("orb_field", mix.molecule(), mix.rng.choice(_FIELDS), "", "coarse", second)
    mix.make_room()


@action(1)
def show_a_difference(mix: Mix) -> None:
    mix.tell("orb_field", mix.molecule(), f"difference:{mix.files['water']}", "", "coarse")
    mix.make_room()


@action(1)
def show_a_preset(mix: Mix) -> None:
    mix.tell("orb_preset", mix.molecule(), mix.rng.choice(["frontier", "potential", "density"]), "", "coarse")
    mix.make_room()


@action(12)
def change_a_surface(mix: Mix) -> None:
    rng = mix.rng
    command, arguments = rng.choice(
        [
            ("orb_iso", (f"{rng.uniform(0.01, 0.1):.3f}",)),
            ("orb_next", ()),
            ("orb_prev", ()),
            ("orb_color", (rng.choice(["red", "marine"]), "yellow", f"{rng.random():.2f}")),
            ("orb_style", (rng.choice(["surface", "mesh", "dots", "two-sided"]),)),
        ]
    )
    mix.tell(command, *arguments)


@action(5)
def change_what_is_seen(mix: Mix) -> None:
    shown = mix.surfaces()
    if shown:
        mix.expect(mix.rng.choice(["orb_hide", "orb_unhide", "orb_keep", "orb_delete"]), mix.rng.choice(shown))


@action(3)
def delete(mix: Mix) -> None:
    mix.viewer.delete(mix.molecule())


@action(2)
def ask(mix: Mix) -> None:
    mix.expect("orb_info", mix.molecule())
    mix.expect(mix.rng.choice(["orb_device", "orb_memory", "orb_surfaces", "orb_cancel"]))


@action(4)
def export(mix: Mix) -> None:
    mix.tell("orb_export", str(mix.target(mix.rng.choice(_EXPORTED))))


@action(0.7)
def draw_a_picture(mix: Mix) -> None:
    mix.tell("orb_picture", str(mix.target("png")), "80", "60")


@action(0.1)
def draw_a_film(mix: Mix) -> None:
    mix.tell("orb_film", str(mix.target("gif")), "64", "48", "10", "90", "3")
    mix.viewer.rest()
    if mix.rng.random() < 0.5:
        mix.tell("orb_cancel")


@action(4)
def withdraw(mix: Mix) -> None:
    """Begin what takes long, and withdraw it at any moment."""
    field = mix.rng.choice(["esp", "elf", "homo", "density", "laplacian"])
    quality = mix.rng.choice(["coarse", "medium"])
    mix.tell("orb_field", mix.molecule(), field, "", quality, cancelled_after=mix.rng.random() ** 2 * 0.1)
    mix.make_room()


@action(1)
def load_a_trajectory(mix: Mix) -> None:
    name = mix.rng.choice(_NAMES)
    mix.load("path", name)
    mix.tell("orb_mo", name, mix.rng.choice(["homo", "lumo", "4"]), "0.1", "coarse")
    mix.make_room()


@action(2)
def go_through_frames(mix: Mix) -> None:
    mix.tell("orb_frames", "1", mix.rng.choice(["2", "4", ""]))
    mix.tell("orb_play", mix.rng.choice(["30", "5", "0"]))
    mix.tell("orb_memory", mix.rng.choice(["64", "512"]))
    if mix.rng.random() < 0.2:
        mix.viewer.rest()
    mix.tell("orb_play", "0")


@action(3)
def analyse(mix: Mix) -> None:
    command, arguments = mix.rng.choice(_ANALYSES)
    mix.tell(command, mix.molecule(), *arguments)


@action(8)
def do_something_wrong(mix: Mix) -> None:
    command, arguments = mix.rng.choice(_WRONG)
    molecule = mix.molecule()
    outcome = mix.tell(command, *(str(argument).format(molecule=molecule) for argument in arguments))
    if outcome.error is None:
        raise Defect(f"{command} {arguments} was not refused")
    if "\n" in outcome.error or not outcome.error.strip():
        raise Defect(f"{command} {arguments}: the refusal is no line of text: {outcome.error!r}")


@action(0.5)
def save_and_open_again(mix: Mix) -> None:
    mix.viewer.reopen(mix.folder)


@action(1)
def write_a_file_anew(mix: Mix) -> None:
    """A program goes on writing what is shown: it is computed no further until it is loaded again."""
    job = mix.files["job"]
    shutil.copy(mix.files["water"], job)
    mix.load("job", "job")
    mix.expect("orb_mo", "job", "homo", "0.1", "coarse")
    shutil.copy(mix.files["radical"], job)
    outcome = mix.tell("orb_mo", "job", "lumo", "0.1", "coarse")
    if outcome.error is None or "has changed since it was loaded" not in outcome.error:
        raise Defect(f"a file that has changed: {outcome}")
    mix.load("job", "job")
    mix.expect("orb_mo", "job", "homo", "0.1", "coarse")
    mix.viewer.delete("job")


@action(0.1)
def compute_orbitals(mix: Mix) -> None:
    """Have orbitals computed for atoms that have some already; what is computed is withdrawn, or waited for."""
    target = mix.written / f"{mix.rng.randrange(3)}.series.h5"
    target.unlink(missing_ok=True)
    mix.tell("orb_scf", mix.molecule(), "sto-3g", "hf", "0", "0", str(target))
    if mix.rng.random() < 0.5:
        mix.tell("orb_cancel")
    for _ in range(20):
        mix.viewer.rest()
    mix.tell("orb_cancel")


@action(0.1)
def go_live(mix: Mix) -> None:
    """A live molecule, its atoms moved, relaxed, put back, scanned; what it came through is written."""
    mix.load("ammonia", "live")
    mix.expect("orb_mo", "live", "homo", "0.05", "coarse")
    mix.expect("orb_live", "live")
    for step in (0.02, -0.03):
        mix.viewer.move("live", step)
        mix.tell("orb_settle")
    mix.tell("orb_undo")
    mix.tell("orb_settle")
    mix.tell("orb_path", str(mix.target("h5")))
    mix.tell("orb_scan", "1-2", "0.9", "1.0", "3")
    mix.tell("orb_settle")
    mix.tell("orb_scan_to", "0.95")
    mix.tell("orb_settle")
    mix.tell("orb_scan_save", str(mix.target("h5")))
    mix.tell("orb_scan")
    mix.tell("orb_live")
    mix.viewer.delete("live")


def strangers(shown: Sequence[str]) -> list[str]:
    """Objects that belong to no molecule of the mix: what commands left behind."""
    return [name for name in shown if name.split("_")[0] not in (*_NAMES, "job", "live", "last", "cell")]
