"""What a host asks of a worker, and what comes back.

Requests travel as plain dictionaries, since the worker may run under another Python with another NumPy; arrays travel
in files of a private folder, in shared memory where the system has it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..lattice import Lattice
from ..surface import Surface
from ..volume import Volume


@dataclass(frozen=True)
class Request:
    """A field of the wavefunction in a file, sampled on a lattice that holds its isosurface.

    Attributes
    ----------
    path : str
        File with the wavefunction.
    field : str
        Name of the field.
    quality : str
        coarse, medium or fine.
    isovalue : float or None
        Of the surface; None picks one that encloses `share`.
    share : float
        Share of the field's square that the default isovalue encloses.
    device, precision : str
        As for `orbitile.compute`.
    """

    path: str
    field: str
    quality: str = "medium"
    isovalue: float | None = None
    share: float = 0.9
    device: str = "auto"
    precision: str = "single"

    def message(self) -> dict[str, Any]:
        """The request in plain types."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Sample:
    """A sampled field with one isosurface.

    Attributes
    ----------
    request : Request
    volume : Volume
    surface : Surface
        At `isovalue`.
    isovalue : float
        The one asked for, or the one picked.
    device : str
        What computed it.
    seconds : float
        What it took in the worker, from the wavefunction to the mesh.
    """

    request: Request
    volume: Volume
    surface: Surface
    isovalue: float
    device: str
    seconds: float = field(default=0.0)

    @property
    def n_bytes(self) -> int:
        """Memory that the arrays take."""
        s = self.surface
        return sum(a.nbytes for a in (self.volume.values, s.vertices, s.faces, s.normals, s.phases))


ARRAYS = ("values", "vertices", "faces", "normals", "phases")


def put_sample(sample: Sample, folder: str, number: int) -> dict[str, Any]:
    """Leave the arrays of a sample in files; returns the rest of it in plain types."""
    arrays = dict(zip(ARRAYS, _arrays(sample), strict=True))
    described: dict[str, Any] = {}
    for name, array in arrays.items():
        path = Path(folder) / f"{number}-{name}"
        array.tofile(path)
        described[name] = (str(path), array.dtype.str, array.shape)
    lattice = sample.volume.lattice
    return {
        "arrays": described,
        "origin": lattice.origin.tolist(),
        "axes": lattice.axes.tolist(),
        "shape": lattice.shape,
        "quantity": sample.volume.quantity,
        "unit": sample.volume.unit,
        "isovalue": sample.isovalue,
        "device": sample.device,
        "seconds": sample.seconds,
    }


def take_sample(request: Request, message: dict[str, Any]) -> Sample:
    """Map the arrays that a worker left, and unlink their files: memory is given back when the sample is dropped."""
    arrays = {name: _taken(*described) for name, described in message["arrays"].items()}
    lattice = Lattice(message["origin"], message["axes"], message["shape"])
    quantity, unit, isovalue = message["quantity"], message["unit"], message["isovalue"]
    return Sample(
        request,
        Volume(arrays["values"], lattice, quantity, unit),
        Surface(arrays["vertices"], arrays["faces"], arrays["normals"], arrays["phases"], isovalue, quantity, unit),
        isovalue,
        message["device"],
        message["seconds"],
    )


def _arrays(sample: Sample) -> tuple[NDArray[Any], ...]:
    s = sample.surface
    return sample.volume.values, s.vertices, s.faces, s.normals, s.phases


def _taken(path: str, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    file = Path(path)
    if 0 in shape:
        file.unlink()
        return np.empty(shape, dtype)
    array = np.memmap(file, dtype, "r+", shape=tuple(shape))
    file.unlink()
    return np.asarray(array)
