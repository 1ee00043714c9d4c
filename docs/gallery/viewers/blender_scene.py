"""
In Blender
==========

The commands are the same in Blender, where surfaces become meshes with materials. Run it with
``blender --background --python blender_scene.py``, or in a Python that has ``bpy``: Cycles,
Blender's ray tracer, draws the picture.
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
scene.world = bpy.data.worlds.new("paper")
scene.world.color = (1, 1, 1)
sun = bpy.data.objects.new("sun", bpy.data.lights.new("sun", "SUN"))
sun.data.energy, sun.rotation_euler = 3, (0.6, 0.3, 0)
camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
camera.location, camera.rotation_euler = (0, -9, 6.5), (0.95, 0, 0)
for thing in (sun, camera):
    scene.collection.objects.link(thing)
scene.camera = camera
scene.render.engine, scene.cycles.samples = "CYCLES", 32
scene.render.resolution_x, scene.render.resolution_y = 800, 600
scene.render.filepath = str(Path("blender.png").resolve())
bpy.ops.render.render(write_still=True)
