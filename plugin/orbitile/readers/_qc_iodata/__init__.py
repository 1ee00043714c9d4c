"""The parsers of qc-iodata as modules of this package, without SciPy.

`import iodata` imports all its 40 parsers, and SciPy for a few constants: that takes longer than to read most files.
Its modules name each other by their places in their package, so they can be modules of this one as well, which looks
for them where qc-iodata is installed: `_qc_iodata.formats.molden` is the file of qc-iodata. The two of them that need
SciPy have others in their place here, `utils` and `overlap`.

What we change in these modules while a file is read changes nothing in `iodata`, which other code of the process may
use.
"""

from importlib.util import find_spec

_installed = find_spec("iodata")
if _installed is None or _installed.submodule_search_locations is None:
    raise ModuleNotFoundError("No module named 'iodata'", name="iodata")
__path__ = [*__path__, *_installed.submodule_search_locations]
