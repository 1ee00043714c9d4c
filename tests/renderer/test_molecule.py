"""Balls and sticks: which atoms are bonded, and how large they are."""

import numpy as np

from orbitile.model.geometry import find_bonds
from orbitile.scenes import Molecule
from orbitile.scenes.scene import ball_radius, make_scene

from .samples import BLUE, RED, ball, molecule


def test_bonds():
    water = [[0, 0, 0], [1.43, 1.11, 0], [-1.43, 1.11, 0]]
    assert find_bonds(np.array([8, 1, 1]), np.array(water)).tolist() == [[0, 1], [0, 2]]
    assert len(find_bonds(np.array([2, 2]), np.array([[0, 0, 0], [0, 0, 5.0]]))) == 0
    assert len(find_bonds(np.array([2]), np.zeros((1, 3)))) == 0
    ghost = Molecule.of(molecule([0, 6, 8], [[0, 0, 0], [0, 0, 2], [0, 0, 4.2]]))
    assert ghost.radii[0] < ghost.radii[1:].min()
    assert ghost.bonds.tolist() == [[1, 2]]


def test_the_surface_of_a_core_orbital_is_not_hidden_by_its_atom():
    atoms = molecule([36], [[0, 0, 0]])
    small = ball(0.2)
    picture = make_scene([small], atoms, [(BLUE, RED)], [1.0])
    assert picture.molecule.radii[0] < np.linalg.norm(small.vertices, axis=1).min()
    usual = make_scene([ball(3.0)], atoms, [(BLUE, RED)], [1.0])
    assert usual.molecule.radii[0] == ball_radius(36)
