"""Defects by chance are made where something is computed, and are seen by a test of it."""

import ast
from pathlib import Path

from tests.mutants import sites, tried, with_change

SOURCE = '''"""What a module says."""
LIMIT = 3


def f(a: int = 1) -> int:
    """What it does."""
    if not a < 2:
        raise ValueError(f"é {a + 1}")
    return 4 * a  # é
'''


def test_what_is_changed():
    texts = [(ast.get_source_segment(SOURCE, node), text) for node, text in sites(ast.parse(SOURCE))]
    assert sorted(texts) == [
        ("1", "(2)"),
        ("2", "(3)"),
        ("4", "(5)"),
        ("4 * a", "(4 / a)"),
        ("a < 2", "(a <= 2)"),
        ("not a < 2", "(a < 2)"),
        ("not a < 2", "not (not a < 2)"),
    ]
    node, text = next(at for at in sites(ast.parse(SOURCE)) if at[1] == "(4 / a)")
    assert with_change(SOURCE, node, text) == SOURCE.replace("4 * a", "(4 / a)")


def test_a_test_sees_it_or_not(tmp_path, capsys):
    module, checks = tmp_path / "module.py", tmp_path / "test_it.py"
    module.write_text(SOURCE, encoding="utf-8")
    (tmp_path / "plugin").mkdir()
    changes = {text: node for node, text in sites(ast.parse(SOURCE))}
    for check, told in (("f(1) == 4", "not seen"), ("f(0) == 0", "seen")):
        checks.write_text(f"from module import f\n\n\ndef test_f():\n    assert {check}\n")
        text = "(4 / a)" if told == "not seen" else "(4 + a)"
        assert tried(tmp_path, Path(module.name), changes["(4 / a)"], text, ["-q"], 60) == told
        assert module.read_text(encoding="utf-8") == SOURCE
    assert "module.py:9: 4 * a -> (4 / a)" in capsys.readouterr().out
