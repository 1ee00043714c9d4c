"""Scenes in files: what they show, where it is, in which units, read back by other people's readers."""

import json
import struct
import sys
from dataclasses import replace
from importlib.resources import files
from zipfile import ZipFile

import numpy as np
import pytest

from orbitile import load
from orbitile.base.errors import FileError
from orbitile.commandline import main
from orbitile.exporters import holds_scenes, save
from orbitile.model.cell import Cell
from orbitile.model.geometry import Geometry
from orbitile.model.lattice import Lattice
from orbitile.model.surface import Colouring
from orbitile.model.units import angstrom
from orbitile.model.volume import Volume
from orbitile.scenes import Molecule, Scene, scene_of
from orbitile.scenes.scene import make_scene
from orbitile.scenes.solids import placed_parts, solid_of
from orbitile.surfaces.colour_maps import NEGATIVE, POSITIVE, linear_light
from orbitile.surfaces.isosurface import isosurface

BENZENE = files("orbitile") / "data" / "benzene.molden"
BLUE, ORANGE = POSITIVE, NEGATIVE


@pytest.fixture(scope="module")
def lobes():
    """A p orbital along z: a lobe of each sign, five bohr across together."""
    lattice = Lattice.box(np.full(3, -4.0), np.full(3, 4.0), 0.4)
    points = lattice.points()
    values = (points[:, 2] * np.exp(-np.linalg.norm(points, axis=1))).reshape(lattice.shape)
    return isosurface(Volume(values, lattice, "2p", "bohr^-3/2"), 0.1)


@pytest.fixture(scope="module")
def coloured(lobes):
    values = lobes.vertices[:, 0].astype(np.float32)
    return replace(lobes, quantity="density", colouring=Colouring(values, -1.0, 1.0, "potential", "hartree/e"))


@pytest.fixture(scope="module")
def molecule():
    """Carbon monoxide, and a ghost."""
    return Molecule.of(Geometry(np.array([6, 8, 0]), np.array([[0, 0, 0], [0, 0, 2.1], [0, 3.0, 0]])))


@pytest.fixture(scope="module")
def scene(lobes, molecule):
    return replace(make_scene([lobes], None, [(BLUE, ORANGE)], [0.65]), molecule=molecule)


def tree_of(path):
    data = path.read_bytes()
    return json.loads(data[20 : 20 + struct.unpack("<I", data[12:16])[0]])


def test_parts_of_a_mesh_are_its_lobes(scene, coloured):
    (mesh,) = scene.meshes
    up, down = mesh.parts()
    assert (up.name, down.name) == ("2p, positive", "2p, negative")
    assert len(up.faces) + len(down.faces) == len(mesh.faces)
    assert up.vertices[up.faces][..., 2].min() > 0 > down.vertices[down.faces][..., 2].max()
    np.testing.assert_allclose(up.colour[:3], BLUE, atol=1e-6)
    (one,) = up.parts()
    assert one is up
    (whole,) = scene_of(coloured).meshes
    assert whole.parts() == [whole]
    assert whole.colour is None
    assert whole.facts["colours"] == "potential from -1 to 1 hartree/e"


def test_placed_parts_are_where_atoms_and_bonds_are(molecule):
    parts = placed_parts(molecule)
    assert [(part.shape, part.name, part.material) for part in parts] == [
        ("ball", "C1", "C"),
        ("ball", "O2", "O"),
        ("ball", "X3", "X"),
        ("stick", "C1-O2", "C"),
        ("stick", "O2-C1", "O"),
    ]
    middle = parts[3].transform @ [0, 0, 1, 1]
    np.testing.assert_allclose(middle, parts[4].transform @ [0, 0, 1, 1])
    np.testing.assert_allclose(middle[:3], [0, 0, 1.05])
    assert all(np.linalg.det(part.transform) > 0 for part in parts)  # else they would be inside out
    assert placed_parts(replace(molecule, symbols=()))[0].name == "atom1"
    solid = solid_of(molecule)
    np.testing.assert_allclose(np.linalg.norm(solid.normals, axis=1), 1, atol=1e-6)
    assert solid_of(Molecule()).vertices.shape == (0, 3)


def test_glb_has_materials_names_and_facts(scene, tmp_path):
    pygltflib = pytest.importorskip("pygltflib")

    save(scene, tmp_path / "a.glb")
    theirs = pygltflib.GLTF2().load(str(tmp_path / "a.glb"))
    materials = {material.name: material for material in theirs.materials}
    assert set(materials) == {"C", "O", "X", "2p, positive", "2p, negative"}
    blue = materials["2p, positive"]
    assert (blue.alphaMode, blue.doubleSided, blue.pbrMetallicRoughness.metallicFactor) == ("BLEND", True, 0.0)
    factor = blue.pbrMetallicRoughness.baseColorFactor
    np.testing.assert_allclose(factor, [*linear_light(np.array(BLUE)), 1 - np.sqrt(0.35)], atol=1e-6)
    assert materials["C"].alphaMode in (None, "OPAQUE")
    nodes = {node.name: node for node in theirs.nodes}
    assert {nodes["molecule"].children and theirs.nodes[child].name for child in nodes["molecule"].children} == {
        "C1",
        "O2",
        "X3",
        "C1-O2",
        "O2-C1",
    }
    lobe = theirs.meshes[nodes["2p, positive"].mesh]
    assert (lobe.extras["isovalue"], lobe.extras["length_unit"]) == (0.1, "angstrom")
    place = np.array(nodes["O2"].matrix).reshape(4, 4)[3, :3]
    np.testing.assert_allclose(place, [0, 0, 2.1 / angstrom], atol=1e-6)


def test_glb_tells_what_its_buffers_are_for(scene, coloured, tmp_path):
    """The validator of the Khronos Group warns of buffers that do not, and refuses shared ones without a stride."""
    for name, what in (("scene", scene), ("coloured", scene_of(coloured))):
        save(what, tmp_path / f"{name}.glb")
        tree = tree_of(tmp_path / f"{name}.glb")
        used = {accessor["bufferView"] for accessor in tree["accessors"]}
        assert all("target" in tree["bufferViews"][view] for view in used)
    attributes = [p["attributes"] for mesh in tree["meshes"] for p in mesh["primitives"]]
    assert [set(one) for one in attributes] == [{"POSITION", "NORMAL", "COLOR_0"}]
    assert tree["materials"][0]["pbrMetallicRoughness"]["baseColorFactor"] == [1, 1, 1, 1]


def test_names_in_a_glb_do_not_collide(lobes, molecule, tmp_path):
    twice = replace(lobes, quantity="C1")
    meshes = make_scene([twice, twice], None, [(BLUE, ORANGE), (ORANGE, BLUE)], [1, 0.5]).meshes
    save(Scene(molecule, meshes), tmp_path / "a.glb")
    names = [node["name"] for node in tree_of(tmp_path / "a.glb")["nodes"]]
    assert len(names) == len(set(names))
    materials = tree_of(tmp_path / "a.glb")["materials"]
    assert len({material["name"] for material in materials}) == len(materials) == 3 + 4


@pytest.mark.parametrize("suffix", ["ply", "obj"])
def test_scenes_as_one_mesh(suffix, scene, tmp_path):
    import trimesh

    save(scene, tmp_path / f"a.{suffix}")
    theirs = trimesh.load(tmp_path / f"a.{suffix}", process=False)
    (theirs,) = getattr(theirs, "geometry", {"": theirs}).values()
    expected = len(solid_of(scene.molecule, subdivisions=2, sections=16).vertices) + len(scene.meshes[0].vertices)
    assert len(theirs.vertices) == expected
    np.testing.assert_allclose(theirs.vertices[-1] * angstrom, scene.meshes[0].vertices[-1], atol=1e-5)
    assert b"2p at isovalue +/-0.1" in (tmp_path / f"a.{suffix}").read_bytes()


def test_a_box_that_cuts_and_a_plane_are_no_solids(scene, tmp_path):
    pytest.importorskip("manifold3d", reason="solids need manifold3d (extra printing)")
    (mesh,) = scene.meshes
    holed = replace(mesh, faces=mesh.faces[:-7])
    with pytest.raises(FileError, match="expected a closed surface to print"):
        save(Scene(scene.molecule, (holed,)), tmp_path / "a.stl")
    assert list(tmp_path.iterdir()) == []


def test_stl_is_one_watertight_solid_in_millimetres(scene, lobes, tmp_path):
    import trimesh

    pytest.importorskip("manifold3d", reason="solids need manifold3d (extra printing)")
    save(scene, tmp_path / "a.stl")
    assert (tmp_path / "a.stl").read_bytes().startswith(b"Orbitile; lengths in millimetres, 10 mm an Angstrom")
    theirs = trimesh.load(tmp_path / "a.stl")
    assert theirs.is_watertight
    assert theirs.is_winding_consistent
    save(lobes, tmp_path / "b.stl")
    alone = trimesh.load(tmp_path / "b.stl")
    assert alone.is_watertight
    np.testing.assert_allclose(alone.extents, 10 * np.ptp(lobes.vertices, axis=0) / angstrom, atol=0.01)
    assert theirs.volume > alone.volume > 100


def test_sticks_of_large_molecules_stay_thick_enough(tmp_path):
    import trimesh

    pytest.importorskip("manifold3d", reason="solids need manifold3d (extra printing)")
    chain = Geometry(np.full(30, 6), np.arange(30)[:, None] * [0, 0, 1.45 * angstrom])
    save(Scene(Molecule.of(chain)), tmp_path / "a.stl")
    theirs = trimesh.load(tmp_path / "a.stl")
    assert b"2 mm an Angstrom" in (tmp_path / "a.stl").read_bytes()[:80]
    assert theirs.is_watertight
    assert theirs.extents.max() < 200
    middle = theirs.section([0, 0, 1], [0, 0, 1.45 * 2 * 10.5])  # of a bond
    assert np.ptp(middle.vertices[:, 0]) == pytest.approx(2.0, rel=0.02)


def three_mf(path):
    lib3mf = pytest.importorskip("lib3mf", reason="3MF files need lib3mf (extra printing)")
    model = lib3mf.get_wrapper().CreateModel()
    model.QueryReader("3mf").ReadFromFile(str(path))
    assert model.GetUnit() == lib3mf.ModelUnit.MilliMeter
    objects = model.GetMeshObjects()
    found = {}
    while objects.MoveNext():
        found[objects.GetCurrentMeshObject().GetName()] = objects.GetCurrentMeshObject()
    return found


def test_3mf_has_bodies_that_do_not_overlap(scene, tmp_path):
    import trimesh

    pytest.importorskip("manifold3d", reason="solids need manifold3d (extra printing)")
    pytest.importorskip("lib3mf", reason="3MF files need lib3mf (extra printing)")
    save(scene, tmp_path / "a.3mf")
    found = three_mf(tmp_path / "a.3mf")
    assert set(found) == {"molecule", "2p, positive", "2p, negative"}
    volume = 0.0
    for body in found.values():
        assert body.IsManifoldAndOriented()
        corners = np.array([tuple(position.Coordinates) for position in body.GetVertices()])
        faces = np.array([tuple(triangle.Indices) for triangle in body.GetTriangleIndices()])
        mesh = trimesh.Trimesh(corners, faces, process=False)
        assert mesh.is_watertight
        volume += mesh.volume
    save(scene, tmp_path / "a.stl")
    assert volume == pytest.approx(trimesh.load(tmp_path / "a.stl").volume, rel=1e-3)


def test_3mf_keeps_the_colours_of_values(coloured, tmp_path):
    pytest.importorskip("manifold3d", reason="solids need manifold3d (extra printing)")
    pytest.importorskip("lib3mf", reason="3MF files need lib3mf (extra printing)")
    save(coloured, tmp_path / "a.3mf")
    (body,) = three_mf(tmp_path / "a.3mf").values()
    properties = body.GetAllTriangleProperties()
    assert len({tuple(one.PropertyIDs) for one in properties}) > 100


def test_usdz_has_units_materials_and_facts(scene, coloured, tmp_path):
    usd = pytest.importorskip("pxr.Usd", reason="USDZ files need usd-core (extra usd)")
    from pxr import UsdGeom, UsdShade

    save(scene, tmp_path / "a.usdz")
    stage = usd.Stage.Open(str(tmp_path / "a.usdz"))
    assert UsdGeom.GetStageMetersPerUnit(stage) == 0.01
    lobe = UsdGeom.Mesh(stage.GetPrimAtPath("/scene/_2p_positive"))
    points = np.array(lobe.GetPointsAttr().Get())
    expected = scene.meshes[0].parts()[0].vertices / angstrom
    np.testing.assert_allclose(points, expected, atol=1e-5)
    assert lobe.GetPrim().GetCustomDataByKey("orbitile:isovalue") == 0.1
    material, _ = UsdShade.MaterialBindingAPI(lobe.GetPrim()).ComputeBoundMaterial()
    surface = UsdShade.Shader(stage.GetPrimAtPath(f"{material.GetPath()}/surface"))
    np.testing.assert_allclose(surface.GetInput("diffuseColor").Get(), linear_light(np.array(BLUE)), atol=1e-6)
    assert surface.GetInput("opacity").Get() == pytest.approx(1 - np.sqrt(0.35))
    assert {prim.GetName() for prim in stage.GetPrimAtPath("/scene/molecule").GetChildren()} == {"C", "O", "X"}
    save(coloured, tmp_path / "b.usdz")
    stage = usd.Stage.Open(str(tmp_path / "b.usdz"))
    colours = UsdGeom.Mesh(stage.GetPrimAtPath("/scene/density")).GetDisplayColorPrimvar()
    assert len(colours.Get()) == len(coloured.vertices)


def primitives_in(archive):
    """Groups of primitives by the package of the format: what each group is given, and its primitives."""
    molviewspec = pytest.importorskip("molviewspec", reason="MolViewSpec archives need molviewspec (extra molstar)")
    found = molviewspec.MVSJ.loads(archive.read("index.mvsj").decode()).data.root.children
    groups = [node for node in found if node.kind == "primitives"]
    return [(group.params, [one.params for one in group.children]) for group in groups]


def test_mvsx_has_the_molecule_and_the_lobes_in_angstrom(scene, tmp_path):
    pytest.importorskip("molviewspec", reason="MolViewSpec archives need molviewspec (extra molstar)")
    save(scene, tmp_path / "a.mvsx")
    with ZipFile(tmp_path / "a.mvsx") as archive:
        lines = archive.read("molecule.sdf").decode().splitlines()
        groups = primitives_in(archive)
    assert [line.split()[3] for line in lines if line.startswith("M  V30") and line.endswith(" 0")][1:] == ["C", "O"]
    assert "M  V30 1 1 1 2" in lines
    assert [given["tooltip"] for given, _ in groups] == [
        f"2p, {sign}, isovalue 0.1 bohr^-3/2" for sign in ("positive", "negative")
    ]
    for (_, [mesh]), lobe, colour in zip(groups, scene.meshes[0].parts(), (BLUE, ORANGE), strict=True):
        assert np.reshape(mesh["vertices"], (-1, 3)) == pytest.approx(lobe.vertices / angstrom, abs=1e-4)
        assert np.array_equal(np.reshape(mesh["indices"], (-1, 3)), lobe.faces)
        assert mesh["color"] == "#" + "".join(f"{round(255 * channel):02x}" for channel in colour)


def test_mvsx_has_colours_of_values_and_edges_of_a_cell(coloured, tmp_path):
    pytest.importorskip("molviewspec", reason="MolViewSpec archives need molviewspec (extra molstar)")
    cell = Molecule.of(Geometry(np.array([3]), np.zeros((1, 3)))).with_edges(Cell(np.zeros(3), 7.0 * np.eye(3)))
    save(replace(scene_of(coloured), molecule=cell, labels=((np.zeros(3), "Li"),)), tmp_path / "a.mvsx")
    with ZipFile(tmp_path / "a.mvsx") as archive:
        (_, edges), (_, [mesh]), (_, [label]) = primitives_in(archive)
    assert len(edges) == 12
    assert {edge["kind"] for edge in edges} == {"tube"}
    assert len(mesh["triangle_groups"]) == len(coloured.faces)
    assert set(mesh["triangle_groups"]) == {int(group) for group in mesh["group_colors"]}
    assert len(mesh["group_colors"]) > 20
    assert label["text"] == "Li"


@pytest.mark.parametrize(
    ("package", "suffix", "message"),
    [
        ("manifold3d", "stl", r"-m pip install '?(lib3mf|manifold3d)"),
        ("lib3mf", "3mf", r"-m pip install '?(lib3mf|manifold3d)"),
        ("pxr.Usd", "usdz", r"-m pip install '?usd-core"),
        ("molviewspec", "mvsx", r"-m pip install '?molviewspec"),
    ],
)
def test_what_is_missing_is_said(package, suffix, message, scene, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(FileError, match=message):
        save(scene, tmp_path / f"a.{suffix}")
    assert list(tmp_path.iterdir()) == []


def test_vdb_without_openvdb_is_refused_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openvdb", None)
    lattice = Lattice(np.zeros(3), np.eye(3), (2, 2, 2))
    with pytest.raises(FileError, match=r"PyPI does not have: use Blender's .*python3-openvdb"):
        save(Volume(np.ones((2, 2, 2)), lattice), tmp_path / "a.vdb")
    assert list(tmp_path.iterdir()) == []


def test_formats_of_scenes():
    assert all(holds_scenes(f"a.{suffix}") for suffix in ("glb", "mvsx", "usdz", "stl", "3mf", "ply", "obj"))
    assert not holds_scenes("a.png")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["glb", "mvsx", "usdz", "stl", "3mf", "ply", "obj"])
@pytest.mark.parametrize("fields", [["homo"], ["homo", "lumo"], ["density", "--color-by", "esp"]], ids="-".join)
def test_render_writes_scenes(suffix, fields, tmp_path, capsys):
    for package in {
        "usdz": ["pxr"],
        "mvsx": ["molviewspec"],
        "stl": ["manifold3d"],
        "3mf": ["manifold3d", "lib3mf"],
    }.get(suffix, []):
        pytest.importorskip(package, reason="an extra of this format")
    path = tmp_path / f"a.{suffix}"
    arguments = ["render", str(BENZENE), *fields, "--quality", "coarse", "--device", "cpu", "-o", str(path)]
    assert main(arguments) == 0
    assert path.stat().st_size > 10_000
    assert capsys.readouterr().out.splitlines()[-1] == str(path)


@pytest.mark.slow
def test_a_thousand_atoms_and_one(tmp_path):
    import trimesh

    grid = np.stack(np.meshgrid(*[np.arange(10)] * 3), -1).reshape(-1, 3)
    save(Scene(Molecule.of(Geometry(np.full(1000, 6), grid * 2.9))), tmp_path / "many.glb")
    assert (tmp_path / "many.glb").stat().st_size < 2_000_000  # a ball and a stick, and where they stand
    assert len(trimesh.load(tmp_path / "many.glb").graph.nodes_geometry) == 1000 + 2 * 2700
    pytest.importorskip("manifold3d", reason="solids need manifold3d (extra printing)")
    save(Scene(Molecule.of(Geometry(np.array([2]), np.zeros((1, 3))))), tmp_path / "one.stl")
    assert trimesh.load(tmp_path / "one.stl").is_watertight


def test_the_wavefunction_is_not_overwritten(tmp_path):
    wavefunction = load(BENZENE)
    path = tmp_path / "a.glb"
    path.write_bytes(b"")
    with pytest.raises(FileError, match="is read here"):
        save(scene_of((), wavefunction), path, wavefunction=replace(wavefunction, source=str(path)))
