"""
A program of your own, through a pipe
=====================================

``orbitile serve`` is Orbitile for viewers that have no Python: lines of JSON go in and come out.
VMD uses it, and any program can. Here a script asks for an orbital as a mesh.
"""

import json
import subprocess
import sys
from importlib.resources import files

benzene = files("orbitile") / "data" / "benzene.molden"
command = [sys.executable, "-m", "orbitile", "serve"]
with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
    print(json.loads(server.stdout.readline())["event"])

    def ask(command, *arguments):
        server.stdin.write(json.dumps({"id": 1, "command": command, "arguments": arguments}) + "\n")
        server.stdin.flush()
        while "event" in (message := json.loads(server.stdout.readline())):
            pass  # what a viewer would draw
        return message["value"]

    print(ask("orb_load", str(benzene)))
    print(ask("orb_mo", "benzene", "lumo"))
    ask("orb_export", "lumo.ply")
    server.stdin.close()

# %%
# The mesh is one for all programs that read PLY. Here Matplotlib draws it, as trimesh has read it:

import trimesh
from matplotlib import pyplot
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

mesh = trimesh.load("lumo.ply")
colours = mesh.visual.face_colors / 255
axes = pyplot.figure(figsize=(8, 6)).add_subplot(projection="3d")
axes.add_collection3d(Poly3DCollection(mesh.triangles, facecolors=colours, shade=True))
axes.auto_scale_xyz(*mesh.bounds.T)
axes.set_aspect("equal")
axes.set_box_aspect(None, zoom=1.5)
axes.set_axis_off()
axes.view_init(35, 20)
pyplot.savefig("mesh.png", dpi=150)
