"""Logs of quantum-chemistry programs: what has to be known of each, and how they are read step by step."""
