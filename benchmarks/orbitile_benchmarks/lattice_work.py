"""What the lattice kernel did in its latest call, from the lists that it left."""

from dataclasses import dataclass

import numpy as np

from taichi_kernels.layout import BX, BY, BZ, Layout
from taichi_kernels.orbital_lattice import workspace_of


@dataclass(frozen=True)
class Work:
    """What the last step of the kernel did.

    Attributes
    ----------
    pairs : int
        Rows that screening kept, over all bricks; on a GPU, products of three tables.
    multiply_adds : int
        Multiplications with addition that their products take, counting bricks at the edge as whole ones. The bricks of
        a column share column factors on a CPU.
    """

    pairs: int
    multiply_adds: int


def latest_work(plan: Layout, precision: str) -> Work:
    """Work of the latest call for this layout, in this precision of tables and sums, read from the lists it left.

    Raises
    ------
    ValueError
        When the latest call was for another layout, so that its lists are gone.
    """
    for use in ("products", "few rows", "many rows"):
        space = workspace_of(np.dtype(precision), use)
        space.forget_lost()
        if space.latest is not None and space.latest[0] is plan:
            break
    else:
        raise ValueError("the lists of that call are gone: another one came after it")
    _, n_counts, listed = space.latest
    if listed is None:
        words = space.integers("masks", (n_counts,)).to_numpy()[:n_counts]
        kept = int(np.unpackbits(words.view(np.uint8)).sum())
        return Work(kept, kept * BX * BY * BZ)
    pairs = int(space.integers("brick_count", (n_counts,)).to_numpy()[:n_counts].sum())
    name, n_lists, capacity = listed
    counts = space.integers(f"{name}_count", (n_lists,)).to_numpy()[:n_lists]
    rows = space.integers(f"{name}_rows", (n_lists * capacity,)).to_numpy()[: n_lists * capacity].reshape(n_lists, -1)
    # per row and plane of a brick: a column factor of as many terms as it has tables, times a vector along z
    factors = int(plan.rows[rows[np.arange(capacity) < counts[:, None]], 2].sum()) * BX * BY
    return Work(pairs, factors + pairs * BX * BY * BZ)
