"""Charges of atoms, their bond orders and what these are made of."""
