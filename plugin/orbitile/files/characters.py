"""Characters that fonts and file formats lack, in letters and digits: λ₂ is lambda2."""

from __future__ import annotations

import unicodedata

_DIGITS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_POWERS = {"²": "^2", "³": "^3"}


def in_words(text: str) -> str:
    """Text with names in place of Greek letters and ∇: sign(lambda₂)rho."""
    return "".join("del " if character == "∇" else _greek(character) for character in text)


def plain(text: str) -> str:
    """Text in words, and with indices and powers in line: sign(lambda2)rho, r^2."""
    return "".join(_POWERS.get(character, character) for character in in_words(text).translate(_DIGITS))


def _greek(character: str) -> str:
    """Name of a Greek letter ("alpha"); any other character as it is."""
    name = unicodedata.name(character, "")
    if not name.startswith("GREEK "):
        return character
    letter = name.split()[-1].replace("LAMDA", "LAMBDA")  # as Unicode spells it
    return letter.capitalize() if "CAPITAL" in name else letter.lower()
