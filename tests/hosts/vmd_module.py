"""Stand-in for VMD's Python module, as far as Orbitile uses it.

It takes the arguments that VMD 1.9.4 takes, refuses all others, and keeps what it is given in single precision. VMD
itself may not be passed on; where it is installed, the tests take it in place of this.
"""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np

_FIRST = {key: f"first {key}" for key in ("center_matrix", "rotate_matrix", "scale_matrix", "global_matrix")}
_STYLES = {"Isosurface": 6, "CPK": 4, "Lines": 0}
_COLOURS = {"blue": (0, 0, 1), "red": (1, 0, 0), "gray": (0.35, 0.35, 0.35), "orange": (1, 0.5, 0), "yellow": (1, 1, 0)}
_COLOURS |= {"white": (1, 1, 1), "blue2": (0.02, 0.38, 0.67), "red3": (0.81, 0, 0)}


def _three(value, kind):
    if not isinstance(value, list | tuple) or len(value) != 3 or not all(isinstance(one, kind) for one in value):
        raise TypeError(f"expected three numbers, got {value!r}")
    return np.array(value, np.float32)


class _Module:
    def __init__(self):
        self.all, self.next, self.top = {}, 0, -1
        self.materials, self.scale = {"Opaque": 1.0, "Transparent": 0.3}, "RGB"
        self.matte: set[str] = set()

    def of(self, molid):
        if not isinstance(molid, int) or molid not in self.all:
            raise ValueError(f"invalid molecule id {molid!r}")
        return self.all[molid]

    def make(self, name, frames):
        one = SimpleNamespace(
            name=name, frames=frames, frame=len(frames) - 1, volumes=[], reps=[], view=dict(_FIRST), visible=True
        )
        first = {"style": "Lines", "color": "Name", "selection": "all", "material": "Opaque", "scale": (0.0, 0.0)}
        one.reps.append(first)
        self.all[self.next] = one
        self.top = self.next
        self.next += 1
        return self.top

    def first_view(self):
        for one in self.all.values():
            one.view = dict(_FIRST)

    def rep(self, molid, rep):
        reps = self.of(molid).reps
        if not isinstance(rep, int) or not 0 <= rep < len(reps):
            raise ValueError(f"no representation {rep!r}")
        return reps[rep]


def make():
    """A VMD without molecules."""
    it = _Module()

    def load(struct_type, struct_file, coord_type=None, coord_file=None):
        assert struct_type == "xyz"
        lines = Path(struct_file).read_text(encoding="utf-8").splitlines()
        n = int(lines[0])
        frames = [
            np.array([line.split()[1:4] for line in lines[at + 2 : at + 2 + n]], np.float32)
            for at in range(0, len(lines), n + 2)
        ]
        molid = it.make(struct_file, frames)
        it.first_view()
        return molid

    def new(name, natoms=0):
        if not isinstance(name, str) or not isinstance(natoms, int):
            raise TypeError
        return it.make(name, [])

    def delete(molid):
        it.of(molid)
        del it.all[molid]
        it.top = max(it.all, default=-1)

    def add_volumetric(molid, name, size, data, origin=(0, 0, 0), xaxis=(1, 0, 0), yaxis=(0, 1, 0), zaxis=(0, 0, 1)):
        one = it.of(molid)
        if not isinstance(name, str):
            raise TypeError("name")
        nx, ny, nz = (int(n) for n in _three(size, int))
        if not isinstance(data, list) or not all(type(number) is float for number in data):
            raise TypeError("Volumetric data must be floats")
        if len(data) != nx * ny * nz:
            raise ValueError("size of data list")
        edges = np.concatenate([_three(axis, float | int) for axis in (xaxis, yaxis, zaxis)])
        one.volumes.append((np.array(data, np.float32), (nx, ny, nz), _three(origin, float | int), edges))
        it.first_view()

    def get_volumetric(molid, dataindex):
        data, size, origin, edges = it.of(molid).volumes[dataindex]
        return [data.astype(float).tolist(), size, tuple(origin.tolist()), tuple(edges.tolist())]

    def modrep(molid, rep, style=None, color=None, selection=None, material=None, scaleminmax=None):
        one = it.rep(molid, rep)
        if style is not None:
            name, *numbers = style.split()
            if len(numbers) != _STYLES[name] or not all(np.isfinite(float(number)) for number in numbers):
                raise ValueError(style)
        if color is not None and not re.fullmatch(r"ColorID \d+|Volume \d+|Name", color):
            raise ValueError(color)
        if material is not None and material not in it.materials:
            raise ValueError(material)
        given = {"style": style, "color": color, "selection": selection, "material": material}
        one.update({key: value for key, value in given.items() if value is not None})
        return True

    def set_scaleminmax(molid, rep, scale_min, scale_max):
        it.rep(molid, rep)["scale"] = (float(scale_min), float(scale_max))

    def addrep(molid, style=None, color=None, selection=None, material=None):
        it.of(molid).reps.append(dict(it.of(molid).reps[-1]) if it.of(molid).reps else {})
        return len(it.of(molid).reps) - 1

    def add(name=None, copy=None):
        if name in it.materials or copy not in it.materials:
            raise ValueError(name)
        it.materials[name] = it.materials[copy]

    def change(name, opacity=None, specular=0.5):
        if not isinstance(specular, float) or name not in it.materials:
            raise ValueError(name)
        it.materials[name] = it.materials[name] if opacity is None else opacity
        it.matte |= {name} if specular == 0 else set()

    def set_scale(method):
        if method not in ("RWB", "BGR", "WBlk", "BlkW"):
            raise ValueError(method)
        it.scale = method

    def set_top(molid):
        it.of(molid)
        it.top = molid

    def set_frame(molid, frame):
        if not isinstance(frame, int | np.integer) or not 0 <= frame < len(it.of(molid).frames):
            raise ValueError(frame)
        it.of(molid).frame = int(frame)

    def evaltcl(line):
        """Molinfo get and set of the four matrices alone."""
        found = re.fullmatch(r"molinfo (\d+) (get|set) \{([a-z_ ]+)\}(?: \{(.*)\})?", line)
        number, verb, keys, values = found.groups()
        view = it.of(int(number)).view
        if verb == "get":
            return " ".join(f"{{{view[key]}}}" for key in keys.split())
        given = re.findall(r"\{((?:[^{}]|\{[^{}]*\})*)\}", values)
        view.update(zip(keys.split(), given, strict=True))
        return ""

    return SimpleNamespace(
        evaltcl=evaltcl,
        molecule=SimpleNamespace(
            load=load,
            new=new,
            delete=delete,
            exists=lambda molid: molid in it.all,
            listall=lambda: list(it.all),
            name=lambda molid: it.of(molid).name,
            rename=lambda molid, name: setattr(it.of(molid), "name", name),
            get_top=lambda: it.top,
            set_top=set_top,
            get_visible=lambda molid: it.of(molid).visible,
            set_visible=lambda molid, state: setattr(it.of(molid), "visible", bool(state)),
            numframes=lambda molid: len(it.of(molid).frames),
            get_frame=lambda molid: it.of(molid).frame,
            set_frame=set_frame,
            add_volumetric=add_volumetric,
            get_volumetric=get_volumetric,
            num_volumetric=lambda molid: len(it.of(molid).volumes),
            delete_volumetric=lambda molid, dataindex: it.of(molid).volumes.pop(dataindex),
        ),
        molrep=SimpleNamespace(
            num=lambda molid: len(it.of(molid).reps),
            addrep=addrep,
            delrep=lambda molid, rep: it.of(molid).reps.remove(it.rep(molid, rep)),
            modrep=modrep,
            set_scaleminmax=set_scaleminmax,
            get_scaleminmax=lambda molid, rep: it.rep(molid, rep)["scale"],
            get_style=lambda molid, rep: it.rep(molid, rep)["style"],
            get_color=lambda molid, rep: it.rep(molid, rep)["color"],
            get_material=lambda molid, rep: it.rep(molid, rep)["material"],
        ),
        vmdnumpy=SimpleNamespace(timestep=lambda molid, frame: it.of(molid).frames[frame]),
        material=SimpleNamespace(listall=lambda: list(it.materials), add=add, change=change),
        color=SimpleNamespace(get_colors=lambda: dict(_COLOURS), set_scale=set_scale),
    )
