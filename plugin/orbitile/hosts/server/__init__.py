"""Orbitile as a process of its own, for viewers without Python: `orbitile serve`; docs/server.md is the reference.

A line of JSON on standard input asks for a command; lines on standard output say what to show, and what became of it.
Between requests frames of trajectories are computed ahead, and sent as they are done. The process ends with its
standard input, and takes its folder along.
"""

TITLE = "any viewer, over a pipe"
