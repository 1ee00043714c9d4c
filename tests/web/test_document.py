"""Documents, their bytes, and pages of them: nothing is lost but digits, and texts stay texts."""

import base64
import hashlib
import html
import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from orbitile import Orbitals, OrbitileError, Shell, Wavefunction, compute_surface, save, scene_of
from orbitile.model.surface import Colouring
from orbitile.pictures.pages import bare_slide, choices_of, document_of, slide_of
from orbitile.scenes import Mesh, Molecule, Scene
from orbitile.scenes.web import Document, Slide, iframe, packed, page, viewer_script
from orbitile.scenes.web.collection import Entry, page_of
from tests.web.unpacking import document_in, unpacked

HOSTILE = '</script><script>alert("x")</script><!-- &amp; \u2028 "\''


@pytest.fixture(scope="module")
def surface(benzene):
    return compute_surface(benzene, "homo", 0.04)


@pytest.fixture(scope="module")
def document(benzene, surface):
    return document_of([slide_of(surface, benzene, "homo")], benzene)


def test_what_is_packed_comes_out_again(document, surface):
    found = unpacked(packed(document))
    (slide,) = found["slides"]
    (mesh,) = slide["meshes"]
    scene = document.slides[0].scene
    box = np.ptp(surface.vertices, axis=0).max()
    assert np.abs(mesh["vertices"] + document.middle - surface.vertices).max() < 1e-5 * box
    assert np.abs(mesh["normals"] / 127 - surface.normals).max() < 1 / 127
    assert np.array_equal(mesh["faces"], surface.faces)
    assert np.abs(mesh["colours"] / 255 - scene.meshes[0].colours).max() < 1 / 255
    assert np.allclose(slide["centres"].reshape(-1, 3) + document.middle, scene.molecule.centres, atol=1e-5)
    assert np.allclose(slide["radii"], scene.molecule.radii)
    assert np.array_equal(slide["bonds"].reshape(-1, 2), scene.molecule.bonds)
    assert slide["isovalue"] == surface.isovalue
    assert found["atoms"][:2] == ["C1", "C2"]


def test_faces_in_any_order_come_out_again():
    rng = np.random.default_rng(3)
    vertices = rng.normal(size=(40, 3))
    normals = vertices / np.linalg.norm(vertices, axis=1, keepdims=True)
    faces = rng.integers(0, 40, size=(90, 3))
    mesh = Mesh(vertices, faces, normals, np.ones((40, 4)))
    (slide,) = unpacked(packed(Document(slides=(Slide(Scene(Molecule(), (mesh,))),))))["slides"]
    assert np.array_equal(slide["meshes"][0]["faces"], faces)


def test_what_slides_share_is_stored_once(benzene, surface):
    slide = slide_of(surface, benzene, "homo")
    one = packed(document_of([slide], benzene))
    two = packed(document_of([slide, replace(slide, isovalue=0.05)], benzene))
    assert len(two) - len(one) < 2000


def test_single_atoms_and_planes_have_a_box():
    shell = Shell(0, 0, False, np.ones(1), np.ones(1))
    atom = Wavefunction(np.array([1]), np.zeros((1, 3)), (shell,), Orbitals(np.eye(1), np.ones(1)))
    found = unpacked(packed(document_of([bare_slide(atom)], atom)))
    assert found["atoms"] == ["H1"]
    flat = Mesh(np.eye(3) * [1, 1, 0], np.array([[0, 1, 2]]), np.tile([0.0, 0, 1], (3, 1)), np.ones((3, 4)))
    (slide,) = unpacked(packed(Document(slides=(Slide(Scene(Molecule(), (flat,))),))))["slides"]
    assert np.allclose(slide["meshes"][0]["vertices"], np.eye(3) * [1, 1, 0])


def test_orbitals_to_choose_from_are_those_of_the_file(benzene):
    choices = choices_of(benzene)
    assert [choice.number for choice in choices if choice.title in ("HOMO", "LUMO")] == [22, 21]
    assert {choice.number for choice in choices} == set(range(1, len(benzene.alpha) + 1))
    homo = next(choice for choice in choices if choice.title == "HOMO")
    assert homo.energy == benzene.alpha.energies[20]
    assert homo.occupation == 2


def test_energies_that_are_not_known_are_none(benzene):
    unknown = replace(benzene, alpha=replace(benzene.alpha, energies=np.full(len(benzene.alpha), np.nan)))
    found = unpacked(packed(document_of([bare_slide(unknown)], unknown)))
    assert {choice["energy"] for choice in found["choices"]} == {None}


def test_names_of_orbitals_are_told(benzene):
    names = tuple(f"BD ({n}) C 1 - H 2" for n in range(len(benzene.alpha)))
    named = replace(benzene, alpha=replace(benzene.alpha, labels=names))
    assert {choice.label for choice in choices_of(named)} == set(names)


def test_texts_of_files_stay_texts(benzene, surface):
    labels = (HOSTILE, *[str(n) for n in range(1, len(benzene.alpha))])
    named = replace(benzene, title=HOSTILE, alpha=replace(benzene.alpha, labels=labels))
    slide = slide_of(replace(surface, quantity=HOSTILE), named, "homo")
    document = document_of([slide], named)
    text = page(document)
    assert HOSTILE not in text
    assert text.count("alert(") == text.count(html.escape(HOSTILE)) == 2  # title and heading
    found = document_in(text)
    assert found["title"] == HOSTILE
    assert HOSTILE in {choice["label"] for choice in found["choices"]}
    within = iframe(document, name='"><script>')
    assert within.count("<") == 2  # the frame and its end
    assert within.count('"') == 2 * within.count('="')


def test_a_page_fetches_nothing(document):
    text = page(document)
    policy = re.search('Content-Security-Policy" content="([^"]*)"', text)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    for kind in ("style", 'script type="module"'):
        own = re.search(f"<{kind}>(.*?)</", text, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
        assert f"{kind.split()[0]}-src 'sha256-{digest}'" in policy
    assert not re.search(r"""(src|href)\s*=|@import|url\(|import\(|fetch\(|https?://(?!www\.w3\.org/2000/svg)""", text)


def test_coloured_surfaces_have_a_scale(benzene, surface):
    values = np.linspace(-0.05, 0.05, len(surface.vertices), dtype=np.float32)
    coloured = replace(surface, colouring=Colouring(values, -0.05, 0.05, "electrostatic potential", "hartree/e"))
    (legend,) = slide_of(coloured, benzene, "density", "esp").legends
    assert legend.heading == "electrostatic potential (hartree/e)"
    assert legend.ticks[0][0] == 0
    assert legend.ticks[-1] == (1, "0.050")
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in legend.scale)


def test_a_scene_is_saved_as_a_page(benzene, surface, tmp_path):
    save(scene_of(surface, benzene), tmp_path / "a.html")
    found = document_in((tmp_path / "a.html").read_text(encoding="utf-8"))
    assert len(found["slides"][0]["meshes"]) == 1
    assert found["choices"] == []


def test_documents_are_refused_that_cannot_be():
    with pytest.raises(OrbitileError, match=r"rotation of a view: expected finite numbers of shape \(3, 3\)"):
        Document(rotation=np.zeros(3))
    with pytest.raises(OrbitileError, match="middle of a view"):
        Document(middle=np.full(3, np.nan))
    with pytest.raises(OrbitileError, match="frame of a slide: expected 0 to 0, got 1"):
        Document(slides=(Slide(Scene(), frame=1),))


def test_the_script_is_one_module(document, tmp_path):
    vibrations = replace(document, spectrum={"modes": {}})
    pages = {"page": page(document), "modes": page(vibrations), "collection": page_of([Entry("a", document)], "")}
    texts = {name: re.search('<script type="module">(.*?)</', text, re.DOTALL)[1] for name, text in pages.items()}
    for end, text in {**texts, "widget": viewer_script("widget")}.items():
        assert not re.search(r"^import ", text, re.MULTILINE)
        assert text.count("export ") == (end == "widget")
        names = re.findall(r"^(?:async )?(?:const|let|function|class) (\w+)", text, re.MULTILINE)
        assert len(names) == len(set(names)), "two modules of the viewer declare one name"
        node = shutil.which("node")
        if node:
            (tmp_path / f"{end}.mjs").write_text(text, encoding="utf-8")
            checked = subprocess.run([node, "--check", tmp_path / f"{end}.mjs"], capture_output=True, text=True)
            assert not checked.returncode, checked.stderr
