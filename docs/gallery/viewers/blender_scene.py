"""
In Blender
==========

The commands are the same in Blender, where surfaces become meshes with materials. Run it with
``blender --background --python blender_scene.py``, or in a Python that has ``bpy``: Cycles,
Blender's ray tracer, draws the picture.

.. image:: /images/blender.png
   :width: 400

The Python that builds this site need not have Blender in it: the picture was made by this script
once.
"""

from importlib.resources import files
from pathlib import Path

import bpy

from orbitile.hosts.blender import commands

bpy.ops.wm.read_factory_settings(use_empty=True)
commands.orb_load(str(files("orbitile") / "data" / "benzene.molden"))
commands.orb_mo("benzene", "homo", 0.03)
print([thing.name for thing in bpy.data.objects])

# %%
# Light, a camera that looks at it from aslant, and the picture:

scene = bpy.context.scene
sun = bpy.data.objects.new("sun", bpy.data.lights.new("sun", "SUN"))
sun.data.energy, sun.rotation_euler = 5, (0.6, 0.3, 0)
camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
camera.location, camera.rotation_euler = (0, -8, 5.8), (0.95, 0, 0)
for thing in (sun, camera):
    scene.collection.objects.link(thing)
scene.camera = camera
scene.render.film_transparent = True
scene.render.engine, scene.cycles.samples = "CYCLES", 32
scene.render.resolution_x, scene.render.resolution_y = 800, 600
scene.render.filepath = str(Path("blender.png").resolve())
bpy.ops.render.render(write_still=True)
