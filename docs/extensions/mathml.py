"""Formulas as MathML, which browsers draw by themselves: pages need no script of anybody's, and no network."""

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util.math import get_node_equation_number


def visit_math(writer: Any, node: nodes.math) -> None:
    """A formula in a line."""
    writer.body.append(f'<span class="math notranslate nohighlight">{convert(node.astext())}</span>')
    raise nodes.SkipNode


def visit_math_block(writer: Any, node: nodes.math_block) -> None:
    """Formulas of their own lines, one below the other where an empty line is between them."""
    writer.body.append(writer.starttag(node, "div", CLASS="math notranslate nohighlight"))
    if node["number"]:
        writer.body.append(f'<span class="eqno">({get_node_equation_number(writer, node)})</span>')
    for part in node.astext().split("\n\n"):
        if part.strip():
            aligned = rf"\begin{{split}}{part}\end{{split}}" if r"\\" in part and r"\begin" not in part else part
            writer.body.append(convert(aligned, display="block"))
    writer.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Told to Sphinx."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
