"""The benchmarks of Orbitile: `orbitile bench`.

`systems` makes the molecules, `measurement` holds clocks and references, `orbitile_rows` and `peers` time programs,
`suite` runs it all, `report` and `plots` show what was found.
"""

import os

# The threads of a BLAS and those of PySCF would fight for the same cores; this counts when NumPy is not imported yet.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
