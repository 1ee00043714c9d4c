"""The view of notebooks from the side of Python: what it is asked for, what it shows, what stays of it."""

import gc
import sys
import threading
import time
import types
import weakref
from dataclasses import replace

import numpy as np
import pytest

import orbitile as ob
from orbitile import OrbitileError
from orbitile.base.watch import checkpoint
from orbitile.hosts.notebook.subject import Newest, Subject
from orbitile.model.report import Closure, Column, Report, Table
from orbitile.pictures.request import Request
from tests.web.unpacking import document_in, unpacked

COARSE = "coarse"


def needs_anywidget():
    return pytest.importorskip("anywidget", reason="anywidget (extra notebook) is not installed")


@pytest.fixture
def view(benzene):
    needs_anywidget()
    shown = ob.view(benzene, quality=COARSE, device="cpu")
    assert shown.wait(60)
    yield shown
    shown.close()


def slide(view):
    return unpacked(view._slide)["slides"][0]


def asked(view, **changes):
    """What the browser sends when something is chosen in it."""
    wanted = {"field": view.field, "color_by": view.color_by, "isovalue": view.isovalue, "frame": view.frame}
    view.set_state({"_asked": {**wanted, **changes, "at": time.time()}})
    assert view.wait(60)


# ---- the newest request


def test_the_newest_request_alone_is_answered():
    newest, told, begun, go_on = Newest(), [], threading.Event(), threading.Event()

    def first():
        begun.set()
        go_on.wait(10)
        checkpoint()
        return "first"

    newest.ask(first, lambda result, error: told.append(result))
    assert begun.wait(10)
    for n in range(5):
        newest.ask(lambda n=n: n, lambda result, error: told.append(result))
    go_on.set()
    assert newest.wait(10)
    assert told == [4]


def test_errors_are_handed_on_and_there_is_no_thread_afterwards():
    newest, told = Newest(), []

    def fail():
        raise ValueError("no")

    newest.ask(fail, lambda result, error: told.append((result, str(error))))
    assert newest.wait(10)
    assert told == [(None, "no")]
    deadline = time.monotonic() + 5
    while any(thread.name == "orbitile view" for thread in threading.enumerate()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(thread.name == "orbitile view" for thread in threading.enumerate())


def test_what_is_withdrawn_is_not_told():
    newest, told, begun, go_on = Newest(), [], threading.Event(), threading.Event()

    def work():
        begun.set()
        go_on.wait(10)

    newest.ask(work, lambda *outcome: told.append(outcome))
    assert begun.wait(10)
    newest.cancel()
    go_on.set()
    assert newest.wait(10)
    assert told == []


# ---- slides of a subject


def test_a_value_that_is_reached_nowhere_gives_the_molecule_and_says_so(benzene):
    found = Subject(benzene).slide(Request("", "homo", isovalue=7.0, quality=COARSE, device="cpu"))
    assert found.scene.meshes == ()
    assert len(found.scene.molecule.centres) == 12
    assert "nothing has this value" in found.remark


def test_the_values_serve_for_other_isovalues(benzene, monkeypatch):
    import orbitile.pictures.surface as module

    computed = []
    compute = module.compute
    monkeypatch.setattr(module, "compute", lambda *a, **k: computed.append(a[1]) or compute(*a, **k))
    subject = Subject(benzene)
    for isovalue in (0.03, 0.05, 0.04, 0.029, 0.02):
        shown = subject.slide(Request("", "homo", isovalue=isovalue, quality=COARSE, device="cpu"))
        fresh = ob.compute_surface(benzene, "homo", isovalue, device="cpu")
        reach = [np.ptp(vertices, axis=0) for vertices in (shown.scene.meshes[0].vertices, fresh.vertices)]
        assert np.abs(reach[0] - reach[1]).max() < 0.15  # bohr: none is cut off
    assert len(computed) == 2  # 0.03 serves what is above it; 0.029 makes room for less than itself


def test_what_is_no_subject_is_refused():
    with pytest.raises(
        OrbitileError, match="view: expected a Wavefunction, a Trajectory or the name of a file, got int"
    ):
        Subject(3)


# ---- the widget


def test_without_anywidget_the_command_is_told(benzene, monkeypatch):
    monkeypatch.setattr("orbitile.hosts.notebook.showing.find_spec", lambda name: None)
    with pytest.raises(OrbitileError, match=r"-m pip install '?anywidget"):
        ob.view(benzene)


def test_traits_say_what_is_shown(view):
    assert slide(view)["field"] == "mo:21"
    usual = view.isovalue
    assert usual == pytest.approx(0.028, abs=0.002)
    view.isovalue = 0.05
    assert view.wait(60)
    assert slide(view)["isovalue"] == 0.05
    view.field = "lumo"
    assert view.wait(60)
    assert (slide(view)["field"], view.field) == ("mo:22", "lumo")
    assert view.isovalue not in (None, 0.05), "another field has its own isovalue"


def test_a_view_has_its_document_when_browsers_hear_of_it(benzene, monkeypatch):
    """They may draw it at once, before anything else is told."""
    needs_anywidget()
    from orbitile.hosts.notebook.widget import View

    opened = []
    monkeypatch.setattr(View, "open", lambda self: opened.append(unpacked(self.get_state()["_document"])))
    ob.view(benzene, quality=COARSE, device="cpu").close()
    assert [len(document["atoms"]) for document in opened] == [12]


def test_a_browser_that_lacks_the_document_gets_it_again(view, monkeypatch):
    sent = []
    monkeypatch.setattr(type(view), "send_state", lambda self, key=None: sent.append(key))
    view.set_state({"_lacking": True})
    assert ["_document", "_levels", "_slide"] in sent
    assert not view._lacking, "a second browser could not ask"


def test_what_is_chosen_in_the_browser_can_be_read(view):
    asked(view, field="mo:20", isovalue=None)
    assert (view.field, slide(view)["field"]) == ("mo:20", "mo:20")
    asked(view, isovalue=0.06)
    assert (view.isovalue, slide(view)["isovalue"]) == (0.06, 0.06)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"field": "nonsense"}, "field: there is no 'nonsense'"),
        ({"field": "mo:99"}, "field 'mo:99': the file holds orbitals 1 to 31"),
        ({"isovalue": -1.0}, "isovalue: expected a positive number or None, got -1.0"),
        ({"frame": 4}, "frame: expected 0 to 0, got 4"),
        ({"isovalue": "much"}, "isovalue"),
    ],
)
def test_errors_are_one_line_and_the_picture_stays(view, changes, said):
    before = view._slide
    asked(view, **changes)
    assert said in view.error
    assert "\n" not in view.error
    assert view._slide == before
    asked(view, field="homo", isovalue=0.04, frame=0)
    assert view.error == ""


def test_values_that_cannot_be_are_refused_in_python(view):
    from traitlets import TraitError

    for name, value in [("isovalue", 0.0), ("isovalue", float("nan")), ("frame", 1), ("camera", {"height": 3})]:
        with pytest.raises(TraitError, match=f"{name}: expected"):
            setattr(view, name, value)
    view.camera = {"rotation": np.eye(3), "centre": [0, 0, 0], "height": 10}
    assert view.camera["rotation"] == np.eye(3).tolist()


def test_asking_does_not_wait(view):
    begin = time.perf_counter()
    for n in range(1, 31):
        view.field = f"mo:{n}"
    assert time.perf_counter() - begin < 1
    assert view.wait(60)
    assert slide(view)["field"] == "mo:30"


def test_two_views_of_one_wavefunction_show_different_things(view, benzene):
    other = ob.view(benzene, "lumo", quality=COARSE, device="cpu")
    assert other.wait(60)
    assert [slide(one)["field"] for one in (view, other)] == ["mo:21", "mo:22"]
    other.close()


def test_a_view_that_is_closed_is_forgotten(benzene):
    needs_anywidget()
    shown = ob.view(benzene, quality=COARSE, device="cpu")
    gone = weakref.ref(shown)
    shown.close()
    del shown
    deadline = time.monotonic() + 20
    while gone() is not None and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.05)
    assert gone() is None


def test_what_was_seen_is_saved(view, tmp_path):
    view.field = "lumo"
    assert view.wait(60)
    view.save(tmp_path / "seen.html")
    found = document_in((tmp_path / "seen.html").read_text(encoding="utf-8"))
    assert [one["field"] for one in found["slides"]] == ["mo:22", "mo:21"]
    assert len(found["choices"]) == 32  # the orbitals and the density
    assert len(found["computing"][0]["orbitals"]) == 31
    assert [one["field"] for one in found["computing"][0]["sums"]] == ["density"]


@pytest.mark.slow  # follows orbitals
def test_frames_of_a_trajectory(water, tmp_path):
    needs_anywidget()
    from tests.molecules import trajectory_of

    view = ob.view(trajectory_of(water), quality=COARSE, device="cpu")
    assert view.wait(60)
    isovalue = view.isovalue
    for frame in (3, 8, 1):
        view.frame = frame
        assert view.wait(60)
        assert (slide(view)["frame"], view.error) == (frame, "")
    assert view.isovalue == isovalue
    found = document_in_saved(view, tmp_path)
    assert found["n_frames"] == 4
    assert sorted(one["frame"] for one in found["slides"]) == [0, 1, 2, 3]
    assert [len(frame["orbitals"]) for frame in found["computing"]] == [7] * 4
    assert "of the first frame" in found["note"]
    view.close()


def test_a_frame_comes_with_its_energies(water):
    from tests.molecules import trajectory_of

    view = ob.view(trajectory_of(water), quality=COARSE, device="cpu")
    assert view.wait(60)
    fields = [choice.field for choice in view._base.choices]
    for frame in (3, 0):
        view.frame = frame
        assert view.wait(60)
        energies, occupations = np.frombuffer(view._levels, "<f4").reshape(2, -1)
        rows = [fields.index(f"mo:{n}") for n in range(1, len(water[frame].alpha) + 1)]
        assert energies[rows] == pytest.approx(water[frame].alpha.energies, abs=1e-6)
        assert occupations[rows] == pytest.approx(water[frame].alpha.occupations)
        assert np.isnan(energies[fields.index("density")])
    assert not np.allclose(water[3].alpha.energies, water[0].alpha.energies, atol=1e-4)
    view.close()


def document_in_saved(view, folder):
    view.save(folder / "page.html")
    return document_in((folder / "page.html").read_text(encoding="utf-8"))


# ---- what shows itself


def test_surfaces_and_volumes_show_themselves(benzene):
    volume = ob.compute(benzene, "homo", ob.Lattice.around(benzene, spacing=0.8, margin=4.0), device="cpu")
    for shown in (volume, ob.isosurface(volume, 0.03)):
        found = shown._repr_mimebundle_()
        assert found["text/html"].startswith("<iframe ")
        assert "HOMO" in found["text/plain"]


def test_a_wavefunction_shows_its_frontier_orbitals_without_a_kernel(benzene):
    found = benzene._repr_mimebundle_()
    assert set(found) == {"text/html", "text/plain"}
    assert found["text/plain"] == "C6H6"


def test_terminals_are_left_alone(benzene, monkeypatch):
    shell = types.ModuleType("IPython")
    shell.get_ipython = lambda: object()
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setattr("orbitile.hosts.notebook.showing.find_spec", lambda name: True)
    assert benzene._repr_mimebundle_() is None


def test_reports_are_tables_whose_texts_stay_texts():
    table = Table("atoms", "<b>atoms</b>", (Column("element", ("C", "<i>")), Column("charge", (0.5, -0.5), "e")))
    closed = replace(table, closures=(Closure("sum", 0.0, 0.0),))
    text = Report("charges", "Charges & more", (closed,), remarks=("<script>",))._repr_mimebundle_()["text/html"]
    assert "<td>&lt;i&gt;</td><td>-0.5000</td>" in text
    assert "Charges &amp; more" in text
    assert "<script>" not in text
    assert "<b>" not in text
