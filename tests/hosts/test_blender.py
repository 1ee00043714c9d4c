"""Orbitile in Blender, without a screen; needs the module bpy, which PyPI has for Python 3.11."""

import json
import time
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

bpy = pytest.importorskip("bpy", reason="Blender's Python is not here: pip install bpy, for Python 3.11")

from orbitile import SeriesWriter, load  # noqa: E402 - Blender is asked for first
from orbitile.exporters import save  # noqa: E402
from orbitile.hosts import blender  # noqa: E402
from orbitile.hosts.blender import commands, start, things  # noqa: E402
from orbitile.hosts.blender.commands import session  # noqa: E402
from orbitile.model.lattice import Lattice  # noqa: E402
from orbitile.model.report import Paths, Points  # noqa: E402
from orbitile.model.units import angstrom  # noqa: E402
from orbitile.model.volume import Volume  # noqa: E402
from orbitile.scenes import scene_of  # noqa: E402
from orbitile.surfaces.colour_maps import NEGATIVE, POSITIVE, colours_of, linear_light  # noqa: E402

pytestmark = pytest.mark.slow
BENZENE = str(files("orbitile") / "data" / "benzene.molden")


@pytest.fixture(autouse=True)
def empty_file(monkeypatch, tmp_path):
    """Blender with Orbitile and an empty file, as a user of no settings has it."""
    monkeypatch.setenv("ORBITILE_DEVICE", "cpu")
    monkeypatch.setattr("orbitile.hosts.blender.viewer._settings_file", lambda: tmp_path / "config" / "orbitile.json")
    bpy.ops.wm.read_factory_settings(use_empty=True)
    blender.register()
    session().shelf.follow()
    yield
    blender.unregister()


@pytest.fixture
def film(tmp_path):
    """Benzene that moves along x by an Angstrom a frame."""
    benzene = load(BENZENE)
    path = tmp_path / "film.h5"
    with SeriesWriter(path) as writer:
        for step in range(3):
            positions = benzene.positions + np.array([step * angstrom, 0, 0])
            writer.append(replace(benzene, positions=positions, geometries=positions[None]))
    return path


def shown(name):
    return bpy.data.objects[name]


def vertices_of(data):
    found = np.empty(3 * len(data.vertices), np.float32)
    data.vertices.foreach_get("co", found)
    return found.reshape(-1, 3)


def faces_of(data):
    found = np.empty(3 * len(data.polygons), np.int32)
    data.polygons.foreach_get("vertices", found)
    return found.reshape(-1, 3)


def colour_of(material):
    return np.array(material.node_tree.nodes["Principled BSDF"].inputs["Base Color"].default_value)[:3]


def opacity_of(material):
    return material.node_tree.nodes["Principled BSDF"].inputs["Alpha"].default_value


def test_a_molecule_is_balls_and_sticks_in_angstrom():
    assert bpy.ops.orbitile.load(filename=BENZENE) == {"FINISHED"}
    root, wavefunction = shown("benzene"), load(BENZENE)
    assert root.users_collection[0].name == "benzene"
    balls = sorted((o for o in root.children if o[things.KIND] == "atom"), key=lambda ball: ball["orbitile_index"])
    assert [ball.name for ball in balls][:2] == ["benzene C1", "benzene C2"]
    np.testing.assert_allclose([ball.location[:] for ball in balls], wavefunction.positions / angstrom, atol=1e-6)
    assert len({ball.data for ball in balls}) == 2  # one mesh an element
    np.testing.assert_allclose(colour_of(bpy.data.materials["Orbitile C"]), linear_light(np.full(3, 0x90 / 255)), 1e-5)
    sticks = [stick for ball in balls for stick in ball.children]
    assert len(sticks) == 24
    there = bpy.context.evaluated_depsgraph_get()
    stick = next(stick for stick in sticks if stick.name == "benzene C1-C2").evaluated_get(there)
    middle = stick.matrix_world @ bpy.data.objects["benzene C1"].location.__class__((0, 0.5, 0))
    np.testing.assert_allclose(middle, wavefunction.positions[:2].mean(axis=0) / angstrom, atol=1e-5)
    assert session().host.molecules().keys() == {"benzene"}
    np.testing.assert_allclose(session().host.positions("benzene"), wavefunction.positions, atol=1e-5)


def test_bonds_follow_atoms():
    bpy.ops.orbitile.load(filename=BENZENE)
    moved = load(BENZENE).positions + 1.5
    moved[0] += 0.3
    session().host.move("benzene", moved)
    there = bpy.context.evaluated_depsgraph_get()
    stick = bpy.data.objects["benzene C1-C2"].evaluated_get(there)
    np.testing.assert_allclose(stick.matrix_world.translation, moved[0] / angstrom, atol=1e-5)
    assert stick.matrix_world.to_scale()[1] == pytest.approx(np.linalg.norm(moved[0] - moved[1]) / angstrom, rel=1e-5)
    moved[0] += 20
    session().host.move("benzene", moved)
    session().host.rebond("benzene")
    assert not [o for o in bpy.data.objects if o.name.startswith("benzene C1-")]


def test_an_orbital_is_a_mesh_with_a_material_for_each_sign():
    bpy.ops.orbitile.load(filename=BENZENE)
    assert bpy.ops.orbitile.mo(orbital="homo", quality="coarse") == {"FINISHED"}
    surface = shown("benzene_homo")
    found = session().computing.sampled(session().shelf["benzene_homo"].request).surface
    np.testing.assert_allclose(vertices_of(surface.data) * angstrom, found.vertices, atol=1e-5)
    np.testing.assert_array_equal(faces_of(surface.data), found.faces)
    assert [material.name for material in surface.data.materials] == ["benzene_homo positive", "benzene_homo negative"]
    for material, colour in zip(surface.data.materials, (POSITIVE, NEGATIVE), strict=True):
        np.testing.assert_allclose(colour_of(material), linear_light(np.array(colour)), atol=1e-6)
        assert opacity_of(material) == pytest.approx(1 - np.sqrt(0.35))
        assert material.surface_render_method == "BLENDED"
    numbers = np.array([polygon.material_index for polygon in surface.data.polygons])
    np.testing.assert_array_equal(numbers == 0, found.phases[found.faces[:, 0]] > 0)
    assert (surface["quantity"], surface["unit"]) == ("HOMO (orbital 21)", "bohr^-3/2")
    bpy.ops.orbitile.color(positive="red", negative="lime", transparency="0")
    assert colour_of(shown("benzene_homo").data.materials[0]).tolist() == [1, 0, 0]
    assert opacity_of(shown("benzene_homo").data.materials[0]) == 1
    bpy.ops.orbitile.style(style="dots")
    assert len(shown("benzene_homo").data.vertices) == 6 * len(found.vertices)
    bpy.ops.orbitile.style(style="mesh")
    assert set(np.unique(shown("benzene_homo").data.materials[0].name)) == {"benzene_homo positive"}


def test_values_of_a_second_field_are_colours_in_linear_light():
    bpy.ops.orbitile.load(filename=BENZENE)
    bpy.ops.orbitile.field(object_name="benzene", field="density", quality="coarse", color_by="esp")
    data = shown("benzene_density").data
    surface = session().computing.sampled(session().shelf["benzene_density"].request).surface
    colours = np.empty(4 * len(data.vertices), np.float32)
    data.color_attributes["Orbitile"].data.foreach_get("color", colours)
    np.testing.assert_allclose(colours.reshape(-1, 4)[:, :3], linear_light(colours_of(surface.colouring)), atol=1e-6)
    (material,) = data.materials
    assert material.node_tree.nodes["Principled BSDF"].inputs["Base Color"].is_linked
    assert "electrostatic potential" in shown("benzene_density")["colours"]


def test_changes_replace_what_was_there_and_leave_nothing_behind():
    bpy.ops.orbitile.load(filename=BENZENE)
    bpy.ops.orbitile.mo(orbital="homo", quality="coarse")
    shown("benzene_homo").location = (1, 2, 3)
    meshes, materials = len(bpy.data.meshes), len(bpy.data.materials)
    bpy.ops.orbitile.iso(isovalue="0.06")
    assert (len(bpy.data.meshes), len(bpy.data.materials)) == (meshes, materials)
    assert shown("benzene_homo").location[:] == (1, 2, 3)  # where the user has put it
    bpy.ops.orbitile.next()
    assert session().shelf.present() == ["benzene_mo22"]
    assert "benzene_homo" not in bpy.data.objects
    bpy.ops.orbitile.delete(object_name="benzene_mo22")
    assert (len(bpy.data.meshes), len(bpy.data.materials)) == (meshes - 1, materials - 2)


def test_errors_are_reported_and_change_nothing():
    with pytest.raises(RuntimeError, match="no molecule with orbitals is loaded"):
        bpy.ops.orbitile.mo()
    with pytest.raises(RuntimeError, match=r"nothing\.molden"):
        bpy.ops.orbitile.load(filename="nothing.molden")
    assert not list(bpy.data.objects)


def test_a_saved_file_keeps_what_is_shown(tmp_path):
    bpy.ops.orbitile.load(filename=BENZENE)
    bpy.ops.orbitile.mo(orbital="lumo", quality="coarse")
    count = len(shown("benzene_lumo").data.vertices)
    path = str(tmp_path / "saved.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    assert session().shelf.present() == []
    bpy.ops.wm.open_mainfile(filepath=path)
    assert session().shelf.present() == ["benzene_lumo"]
    assert len(shown("benzene_lumo").data.vertices) == count
    bpy.ops.orbitile.iso(isovalue="0.06")
    assert len(shown("benzene_lumo").data.vertices) != count


def test_another_file_of_the_same_name_and_the_same_again(tmp_path):
    bpy.ops.orbitile.load(filename=BENZENE)
    other = tmp_path / "benzene.molden"
    other.write_bytes((files("orbitile") / "data" / "benzene.molden").read_bytes())
    bpy.ops.orbitile.load(filename=str(other))
    assert list(session().host.molecules()) == ["benzene", "benzene_2"]
    bpy.ops.orbitile.load(filename=BENZENE)
    assert set(session().host.molecules()) == {"benzene", "benzene_2"}
    assert len([o for o in bpy.data.objects if o.get(things.KIND) == "atom"]) == 24
    assert len([o for o in bpy.data.objects if o.get(things.KIND) == "stick"]) == 48


def test_undo_and_redo():
    bpy.ops.ed.undo_push(message="begin")
    for step in ("load", "mo", "iso"):
        given = {"load": {"filename": BENZENE}, "mo": {"quality": "coarse"}, "iso": {"isovalue": "0.06"}}[step]
        getattr(bpy.ops.orbitile, step)(**given)
        bpy.ops.ed.undo_push(message=step)
    assert session().shelf["benzene_homo"].isovalue == 0.06
    bpy.ops.ed.undo()
    assert session().shelf["benzene_homo"].isovalue == pytest.approx(0.0279, abs=1e-4)
    bpy.ops.ed.undo()
    assert (session().shelf.present(), session().host.objects()) == ([], {"benzene"})
    bpy.ops.ed.redo()
    assert session().shelf.present() == ["benzene_homo"]
    bpy.ops.orbitile.color(positive="red", negative="green")
    bpy.ops.ed.undo()
    bpy.ops.ed.undo()
    assert session().host.molecules().keys() <= {"benzene"}


def test_what_the_user_renames_and_deletes():
    bpy.ops.orbitile.load(filename=BENZENE)
    bpy.ops.orbitile.mo(quality="coarse")
    shown("benzene").name = "ring"
    session().shelf.follow()
    assert session().shelf["benzene_homo"].molecule == "ring"
    bpy.ops.orbitile.iso(isovalue="0.05")
    bpy.data.objects.remove(shown("ring"))
    session().shelf.follow()
    assert session().shelf.present() == []
    assert "benzene_homo" not in bpy.data.objects


def test_what_is_hidden_and_set_aside():
    bpy.ops.orbitile.load(filename=BENZENE)
    bpy.ops.orbitile.mo(quality="coarse")
    session().shelf.set_visible("benzene_homo", False)
    assert session().host.hidden({"benzene_homo": "benzene"}) == {"benzene_homo"}
    assert shown("benzene_homo").hide_render
    session().shelf.set_visible("benzene_homo", True)
    assert not session().host.hidden({"benzene_homo": "benzene"})
    session().host.set_aside("benzene", ["benzene_homo"])
    assert bpy.data.collections["benzene"].hide_render
    assert session().host.hidden({"benzene_homo": "benzene"}) == {"benzene_homo"}
    session().host.bring_back("benzene")
    assert not bpy.data.collections["benzene"].hide_render


def test_a_film_is_an_object_a_frame_and_atoms_that_move(film):
    bpy.ops.orbitile.load(filename=str(film))
    bpy.ops.orbitile.mo(orbital="homo", quality="coarse")
    bpy.ops.orbitile.frames()
    scene = bpy.context.scene
    assert (scene.frame_start, scene.frame_end) == (1, 3)
    begin = load(BENZENE).positions[0, 0] / angstrom
    centres = []
    for frame in range(3):
        scene.frame_set(frame + 1)
        assert session().host.frame("film") == frame
        assert bpy.data.objects["film C1"].location[0] == pytest.approx(begin + frame, abs=1e-5)
        seen = [o for o in bpy.data.objects if o.get(things.KIND) == "frame" and not o.hide_render]
        assert [o.name for o in seen] == [f"film_homo {frame + 1}"]
        centres.append(vertices_of(seen[0].data)[:, 0].mean())
    np.testing.assert_allclose(np.diff(centres), 1, atol=0.02)
    numbers, paths = session().host.geometries("film")
    assert (len(numbers), paths.shape) == (12, (3, 12, 3))
    assert scene.frame_current == 3
    session().host.drop("film_homo", 1)
    assert "film_homo 2" not in bpy.data.objects
    bpy.ops.orbitile.delete(object_name="film_homo")
    assert not [o for o in bpy.data.objects if o.name.startswith("film_homo")]


def test_a_film_is_saved_and_changed(film, tmp_path):
    bpy.ops.orbitile.load(filename=str(film))
    bpy.ops.orbitile.mo(orbital="homo", quality="coarse")
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "film.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "film.blend"))
    assert session().shelf.present() == ["film_homo"]
    commands.orb_frames(name="film_homo")
    assert len([o for o in bpy.data.objects if o.get(things.KIND) == "frame"]) == 3


def test_ghosts_and_single_atoms(tmp_path):
    atoms = {"positions": np.array([[0, 0, 0], [0, 0, 1.8], [0, 2, 0]]), "numbers": np.array([8, 1, 0])}

    class Water:
        atomic_numbers, geometries = atoms["numbers"], atoms["positions"][None]
        is_ghost, source, title = atoms["numbers"] == 0, "nowhere", ""

    session().host.add_molecule("water", Water(), 0)
    assert {o.name for o in shown("water").children} == {"water O1", "water H2", "water X3"}
    assert not bpy.data.objects["water X3"].children

    class Helium(Water):
        atomic_numbers, geometries = np.array([2]), np.zeros((1, 1, 3))

    session().host.add_molecule("he", Helium(), 0)
    assert len(shown("he").children) == 1


def test_a_thousand_atoms():
    grid = np.stack(np.meshgrid(*[np.arange(10)] * 3), -1).reshape(-1, 3) * 2.9

    class Crystal:
        atomic_numbers, geometries = np.full(1000, 6), grid[None]
        is_ghost, source, title = np.zeros(1000, bool), "nowhere", ""

    session().host.add_molecule("crystal", Crystal(), 0)
    assert len(bpy.data.objects) == 1 + 1000 + 2 * 2700
    assert len(bpy.data.meshes) == 2


def test_names_that_blender_would_cut():
    name = session().host.legal_name("ü" * 100)
    assert len(name.encode()) <= 60
    assert name == "ü" * 30


def test_settings_are_kept(tmp_path):
    assert session().host.settings() == {}
    session().host.keep_settings({"quality": "fine"})
    assert session().host.settings() == {"quality": "fine"}
    (tmp_path / "config" / "orbitile.json").write_text("{")
    assert session().host.settings() == {}


class Layout:
    """Takes down what a panel draws."""

    def __init__(self, drawn):
        self.drawn = drawn

    def label(self, text="", icon=""):
        self.drawn.append(text)

    def prop(self, data, name, **more):
        assert hasattr(data, name)
        self.drawn.append(name)

    def operator(self, name, **more):
        group, operator = name.split(".")
        assert hasattr(getattr(bpy.ops, group), operator)
        self.drawn.append(name)

    def template_list(self, kind, _, data, listed, owner, active, **more):
        self.drawn += [row.name for row in getattr(data, listed)]

    def progress(self, **more):
        self.drawn.append("progress")

    def box(self, **more):
        return self

    row = box


def test_the_panel_shows_and_does_what_the_browser_does():
    from orbitile.hosts.blender.panel import Panel, window

    bpy.ops.orbitile.load(filename=BENZENE)
    it, controls = window(), bpy.context.window_manager.orbitile
    it.tick()

    def wait():
        end = time.monotonic() + 60
        it.tick()
        while not it.browser.at_rest():
            assert time.monotonic() < end
            time.sleep(0.02)
            it.tick()

    def drawn():
        layout = Layout([])
        Panel.draw(type("Drawn", (), {"layout": layout})(), bpy.context)
        return layout.drawn

    assert len(controls.orbitals) == 31
    assert controls.orbitals[controls.orbital].name.endswith("HOMO")
    controls.orbital = 16
    wait()
    assert session().shelf.present() == ["benzene_mo17"]
    assert any("orbital 17" in text for text in drawn())
    controls.isovalue = 0.06
    wait()
    assert session().shelf["benzene_mo17"].isovalue == 0.06
    controls.transparency = 0.7
    assert session().shelf["benzene_mo17"].look.transparency == pytest.approx(0.7)
    controls.field = "lumo"
    wait()
    assert session().shelf.present() == ["benzene_lumo"]
    controls.field = "nonsense"
    assert it.is_error
    assert any("nonsense" in text for text in drawn())
    message = json.loads(shown("benzene_lumo")[things.SHOWN])
    assert message["request"]["field"] == "lumo"


def test_what_python_lacks_is_said(monkeypatch):
    blender.unregister()
    monkeypatch.setattr(start, "find_spec", lambda name: None)
    blender.register()
    assert "pip install" in start.missing()
    assert hasattr(bpy.types, "ORBITILE_PT_missing")
    blender.unregister()
    monkeypatch.undo()
    blender.register()


def test_vdb_files_are_where_the_volume_is(tmp_path):
    import openvdb

    axes = np.array([[0.5, 0, 0], [0.1, 0.6, 0], [0, 0.2, 0.7]])
    lattice = Lattice(np.array([1.0, 2, 3]), axes, (4, 5, 6))
    values = np.random.default_rng(1).normal(size=(4, 5, 6)).astype(np.float32)
    save(Volume(values, lattice, "λ", "e"), tmp_path / "a.vdb")
    grid = openvdb.read(str(tmp_path / "a.vdb"), "density")
    point = (lattice.origin + np.array([1, 2, 3]) @ axes) / angstrom
    np.testing.assert_allclose(grid.transform.indexToWorld((1, 2, 3)), point, rtol=1e-12)
    assert grid.getConstAccessor().getValue((1, 2, 3)) == values[1, 2, 3]
    assert grid.metadata["quantity"] == "lambda"
    bpy.ops.object.volume_import(filepath=str(tmp_path / "a.vdb"))
    assert bpy.context.object.data.grids.load()
    corner = np.array(bpy.context.object.bound_box).min(axis=0)
    assert np.all(corner < lattice.origin / angstrom + 1e-6)


def test_values_are_added_as_a_volume(tmp_path):
    bpy.ops.orbitile.load(filename=BENZENE)
    bpy.ops.orbitile.field(object_name="benzene", field="density", quality="coarse")
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "a.blend"))
    assert bpy.ops.orbitile.add_volume() == {"FINISHED"}
    assert (tmp_path / "benzene_density.vdb").exists()
    volume = shown("benzene_density volume")
    assert volume.data.grids.load()
    corners = vertices_of(shown("benzene_density").data)
    low, high = np.array(volume.bound_box).min(axis=0), np.array(volume.bound_box).max(axis=0)
    assert np.all(low < corners.min(axis=0))
    assert np.all(high > corners.max(axis=0))


def test_what_analyses_find_is_drawn_at_the_molecule():
    bpy.ops.orbitile.load(filename=BENZENE)
    assert bpy.ops.orbitile.charges(object_name="benzene", scheme="mulliken") == {"FINISHED"}
    texts = [o for o in shown("benzene").children if o.type == "FONT"]
    assert len(texts) == 12
    there = bpy.context.evaluated_depsgraph_get()
    carbon = np.array(bpy.data.objects["benzene C1"].location)
    above = np.array(texts[0].evaluated_get(there).matrix_world.translation)
    np.testing.assert_allclose(above - carbon, [0, 0, 0.3], atol=1e-5)
    points = Points("cp", np.array([[0, 0, 1.0]]) * angstrom, ("ring",), radius=0.1 * angstrom)
    arrow = Paths("dipole", (np.array([[0, 0, 0], [0, 0, 2.0]]) * angstrom,), heads=True)
    session().host.put_drawings("benzene", "charges", (points, arrow))
    drawn = [o for o in shown("benzene").children if o.get(things.KIND) == "drawing"]
    assert {o.type for o in drawn} == {"MESH", "FONT", "CURVE"}
    curve = next(o for o in drawn if o.type == "CURVE")
    there = bpy.context.evaluated_depsgraph_get()
    drawn_as = curve.evaluated_get(there).to_mesh()
    corners = vertices_of(drawn_as)
    np.testing.assert_allclose([corners[:, 2].min(), corners[:, 2].max()], [0, 2], atol=0.01)
    assert np.abs(corners[:, 0]).max() == pytest.approx(2.5 * 0.06 / angstrom, rel=0.05)  # the head of the arrow
    session().host.put_drawings("benzene", "charges", ())
    assert not [o for o in bpy.data.objects if o.get(things.KIND) == "drawing"]
    assert not bpy.data.curves


def test_a_mesh_that_is_being_edited_is_left_alone():
    bpy.ops.orbitile.load(filename=BENZENE)
    bpy.ops.orbitile.mo(quality="coarse")
    bpy.context.view_layer.objects.active = shown("benzene_homo")
    bpy.ops.object.mode_set(mode="EDIT")
    with pytest.raises(RuntimeError, match="is being edited in Blender"):
        bpy.ops.orbitile.iso(isovalue="0.05")
    with pytest.raises(RuntimeError, match="is being edited in Blender"):
        bpy.ops.orbitile.delete(object_name="benzene_homo")
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.orbitile.iso(isovalue="0.05")


def test_files_are_opened_from_a_list(tmp_path):
    assert bpy.ops.orbitile.open(filepath=BENZENE) == {"FINISHED"}
    assert session().shelf.present() == ["benzene_homo"]
    bpy.data.collections.new("own")
    bpy.context.scene.collection.children.link(bpy.data.collections["own"])
    own = tmp_path / "own.molden"
    own.write_bytes((files("orbitile") / "data" / "benzene.molden").read_bytes())
    bpy.ops.orbitile.open(directory=str(tmp_path), files=[{"name": "own.molden"}])
    assert not bpy.data.collections["own"].objects
    assert shown("own").users_collection[0].name == "own.001"


@pytest.mark.parametrize("suffix", ["glb", "usdz", "stl"])
def test_scenes_in_files_as_blender_reads_them(suffix, tmp_path):
    if suffix == "stl":
        pytest.importorskip("manifold3d", reason="solids need manifold3d (extra printing)")
    wavefunction = load(BENZENE)
    from orbitile import compute_surface

    surface = compute_surface(wavefunction, "homo", 0.03, device="cpu")
    path = str(tmp_path / f"a.{suffix}")
    save(scene_of(surface, wavefunction), path)
    reader = {
        "glb": lambda: bpy.ops.import_scene.gltf(filepath=path),
        "usdz": lambda: bpy.ops.wm.usd_import(filepath=path),
        "stl": lambda: bpy.ops.wm.stl_import(filepath=path),
    }[suffix]
    assert reader() == {"FINISHED"}
    meshes = [o for o in bpy.context.scene.objects if o.type == "MESH"]
    corners = np.array([o.matrix_world @ v.co for o in meshes for v in o.data.vertices])
    size = np.sort(np.ptp(corners, axis=0))
    unit = {"glb": 1, "usdz": 0.01, "stl": 10}[suffix]
    atoms = np.concatenate([wavefunction.positions, surface.vertices]) / angstrom
    radius = 2 * 0.24
    expected = np.sort(np.ptp(atoms, axis=0) + np.array([radius, radius, 0]))
    np.testing.assert_allclose(size, unit * expected, rtol=0.05)
    if suffix == "glb":
        assert bpy.data.objects["HOMO (orbital 21), positive"].data["isovalue"] == 0.03
