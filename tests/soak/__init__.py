"""Thousands of commands in a row, in PyMOL and in the server: memory, handles, processes and files are to stay level.

python -m tests.soak 10000 --viewer server --seed 7

mix        which commands, drawn by chance from a seed
viewers    PyMOL and the server, told the same commands
measuring  what processes hold, and whether it grows
"""
