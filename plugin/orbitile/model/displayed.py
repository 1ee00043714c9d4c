"""What shows itself at the end of a cell of a notebook."""

from __future__ import annotations

from typing import Any


class Displayed:
    """An object that a notebook shows as `orbitile.mimebundle` says; how is no affair of the model."""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        import orbitile

        return orbitile.mimebundle(self)
