"""SciPy without parts of NumPy that nobody needs; NumPy has them all the same."""

import subprocess
import sys
import textwrap


def test_numpy_is_as_it_was_and_its_parts_are_not_imported():
    program = """
        import sys
        import numpy as np

        names, listed = list(np.__all__), dir(np)
        from orbitile.readers._lean_import import import_scipy

        import_scipy()
        import_scipy()
        assert "scipy.spatial" in sys.modules
        assert not {"numpy.f2py", "numpy.testing", "unittest"} & set(sys.modules)
        assert (names, listed) == (np.__all__, dir(np))
        assert np.testing.assert_allclose
        from scipy.special import ndtr
        from scipy.spatial import cKDTree

        assert ndtr(0.0) == 0.5
        assert cKDTree(np.eye(3)).query(np.zeros(3))[0] == 1.0
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
