"""What is tested here is kernels: small sums are not left to NumPy."""

import pytest


@pytest.fixture(autouse=True)
def kernels_for_the_smallest_sum(request, monkeypatch):
    if request.module.__name__.endswith("test_matrix_product"):
        return
    monkeypatch.setattr("orbitile.gaussians.kernels.matrix_product._MOST", {"single": -1, "double": -1})
    monkeypatch.setattr("orbitile.gaussians.kernels.matrix_product._MOST_AT_POINTS", -1)
