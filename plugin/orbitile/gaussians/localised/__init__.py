"""Orbitals made local: intrinsic atomic orbitals, and what is localised on them."""
