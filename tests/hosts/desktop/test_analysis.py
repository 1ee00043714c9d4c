"""The window of analyses as a user has it: chosen from the menu, a row clicked on, closed while it computes."""

import pytest

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
    window.wait("'sele' in cmd.get_names('selections')", 5)
    assert window.ask("cmd.index('sele')") == [["benzene", 4]]
    assert window.ask("strays()") == []
    hand.press("drawings_button")
    window.wait("'benzene_charges' not in objects()", 5)
    hand.choose("Topology")
    window.wait(f"{WINDOW}.analysing.finding.order.name == 'topology'", 5)
    assert window.quit() == []  # while it computes
    assert trouble_in(window.log()) == []
