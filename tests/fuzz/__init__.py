"""Fuzzing: whatever it is given, Orbitile answers, or refuses in one clear sentence, and goes on.

`python -m tests.fuzz 100000 --seed 7` makes that many cases of all kinds, see `tests.fuzz.kinds`. The invariant: an
answer or an `OrbitileError`, in bounded time and memory; the next right request is answered right; nothing half-written
stays. A case is made of the seed and its number alone, so that it can be made again.
"""
