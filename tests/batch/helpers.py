"""Many small files, and what a batch has made of them."""

import hashlib
import json
import re
from pathlib import Path

_HYDROGEN = """[Molden Format]
[Title]
{title}
[Atoms] AU
H 1 1 0.0 0.0 0.0
H 2 1 0.0 0.0 {distance:.6f}
[GTO]
1 0
s 1 1.0
 {exponent:.8f} 1.0

2 0
s 1 1.0
 {exponent:.8f} 1.0

[MO]
 Ene= {homo:.8f}
 Spin= Alpha
 Occup= 2.0
 1 {bonding:.10f}
 2 {bonding:.10f}
 Ene= {lumo:.8f}
 Spin= Alpha
 Occup= 0.0
 1 {antibonding:.10f}
 2 {without:.10f}
"""


def hydrogen(distance: float = 1.4, exponent: float = 0.4, title: str = "hydrogen") -> str:
    """A Molden file of H2 with one Gaussian an atom: s orbitals overlap by exp(-a d^2 / 2)."""
    from math import exp

    overlap = exp(-exponent * distance**2 / 2)
    bonding, antibonding = (2 + 2 * overlap) ** -0.5, (2 - 2 * overlap) ** -0.5
    return _HYDROGEN.format(
        title=title,
        distance=distance,
        exponent=exponent,
        homo=-0.6 / distance,
        lumo=0.3 / distance,
        bonding=bonding,
        antibonding=antibonding,
        without=-antibonding,
    )


def write_files(folder: Path, n: int) -> list[Path]:
    """Files of hydrogen at different distances."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"h2_{number}.molden" for number in range(n)]
    for number, file in enumerate(files):
        file.write_text(hydrogen(1.2 + 0.01 * number))
    return files


def digests(folder: Path) -> dict[str, str]:
    """Digest of each file in the folder of a batch, times taken out of the records."""
    found = {}
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        data = file.read_bytes()
        if file.parent.name == "records":
            content = json.loads(data)
            content["record"]["seconds"] = 0
            data = json.dumps(content).encode()
        found[str(file.relative_to(folder))] = hashlib.sha256(data).hexdigest()
    return found


def folders(folder: Path) -> list[str]:
    """Stems of the folders that were written, without their keys."""
    return sorted(re.sub("-[0-9a-f]{12}$", "", path.name) for path in (folder / "files").iterdir())
