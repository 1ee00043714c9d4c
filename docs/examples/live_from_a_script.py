"""A molecule that is live, from a script: positions go in, energies and surfaces come out.

    python live_from_a_script.py [FOLDER]

It speaks to `orbitile serve` as a viewer does (see the page on the server), so any program that can start a process can
do this. The O-H bond of water is stretched; the HOMO at each length is written as a mesh.
"""

import json
import subprocess
import sys


class Server:
    """`orbitile serve`."""

    def __init__(self):
        command = [sys.executable, "-m", "orbitile", "serve"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        json.loads(self.process.stdout.readline())  # what it can do

    def ask(self, command, *arguments, **more):
        """Have something done; events that are told before the answer are what a viewer would show."""
        self.process.stdin.write(json.dumps({"id": 1, "command": command, "arguments": arguments, **more}) + "\n")
        self.process.stdin.flush()
        while "event" in (message := json.loads(self.process.stdout.readline())):
            pass
        if "error" in message:
            raise SystemExit(message["error"])
        return message["value"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


folder = sys.argv[1] if len(sys.argv) > 1 else "."
water = [[0.0, 0.0, 0.0], [0.96, 0.0, 0.0], [-0.24, 0.93, 0.0]]  # Angstrom
server = Server()
name = server.ask("atoms", "water", "O H H", " ".join(str(x) for place in water for x in place))
server.ask("orb_live", name, "sto-3g", "pbe")
for length in (0.96, 1.06, 1.16):
    water[1][0] = length
    energy = server.ask("orb_settle", positions={name: water})
    server.ask("orb_export", f"{folder}/homo_{length}.ply")
    sys.stdout.write(f"{length} Angstrom: {energy} hartree\n")
server.close()
