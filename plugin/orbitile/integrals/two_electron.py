from dataclasses import dataclass
import numpy as np
@dataclass(frozen=True, eq=False)
class RepulsionBlock:
    left: np.ndarray
    right: np.ndarray
    values: np.ndarray
