"""The window of analyses as a user has it: chosen from the menu, a row clicked on, closed while it computes."""

import numpy as np
import pytest

import orbitile as ob
from orbitile.model.units import angstrom
from orbitile.readers._modes import mode_file

from .analysis import WINDOW, AnalysisTour
from .random_actions import trouble_in
from .test_window import objects_of, open_file, pytestmark, samples, screen, window  # noqa: F401  fixtures


@pytest.mark.slow
def test_charges_are_drawn_and_atoms_selected_by_their_rows(window, samples, tmp_path):  # noqa: F811
    open_file(window, samples.root / "benzene.molden")
    window.wait("'object:cgo' in [kind for kind, _ in objects().values()] and at_rest()")
    hand = AnalysisTour(window, samples.root, tmp_path)
    hand.choose("Charges")
    window.wait(f"{WINDOW} is not None and {WINDOW}.analysing.finding is not None and at_rest()")
    assert window.ask(f"{WINDOW}.status.text()").endswith("benzene")
    assert window.ask("'benzene_charges' in objects()")
    hand.row(3)
    window.wait("'sele' in cmd.get_names('selections')")
    assert window.ask("cmd.index('sele')") == [["benzene", 4]]
    assert window.ask("strays()") == []
    hand.press("drawings_button")
    window.wait("'benzene_charges' not in objects()")
    hand.choose("Topology")
    window.wait(f"{WINDOW}.analysing.finding.order.name == 'topology'")
    assert window.quit() == []  # while it computes
    assert trouble_in(window.log()) == []


@pytest.mark.slow
def test_a_peak_moves_the_molecule_and_its_electrons_are_computed(window, tmp_path):  # noqa: F811  the fixture
    pytest.importorskip("tblite", reason="tblite (extra xtb) is not installed")
    positions = np.array([[0, 0, 0.1173], [0, 0.7572, -0.4692], [0, -0.7572, -0.4692]]) * angstrom
    file = tmp_path / "water.h5"
    ob.compute_vibrations(ob.Geometry(np.array([8, 1, 1]), positions), file, ob.Calculation("gfn2"))
    open_file(window, file)
    window.wait('at_rest() and panel().line_buttons["vibrations"].isVisible()')
    window.screen.click(window.at('box(panel().line_buttons["vibrations"])'))
    window.wait(f"{WINDOW} is not None and {WINDOW}.analysing.finding is not None and at_rest()")
    plot = f"{WINDOW}.view.plot()"
    peak = f"int({plot}.plot.curves[0].y.argmax())"
    x, y = window.ask(f"(lambda at: [at.x(), at.y()])({plot}.mapToGlobal({plot}.place_of(0, {peak})))")
    window.screen.click((x, y + 10))
    window.wait(f"session().motion.now is not None and {WINDOW}.motion_bar.electrons_button.isEnabled()")
    window.screen.click(window.at(f"box({WINDOW}.motion_bar.electrons_button)"))
    made = "[name for name in session().host.molecules() if name.startswith('water_mode')]"
    window.wait(f"{made} and at_rest()", 120)
    (name,) = window.ask(made)
    assert window.ask(f"cmd.count_states({name!r})") == 24
    assert window.ask("session().motion.now is None")
    assert mode_file(file, int(name.removeprefix("water_mode"))).exists()
    assert window.quit() == []
    assert trouble_in(window.log()) == []
