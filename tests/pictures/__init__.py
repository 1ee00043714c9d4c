"""Facts about the pixels of pictures."""

from pathlib import Path

import numpy as np
from PIL import Image


def shares_of_colours(picture: Path) -> tuple[float, float, float]:
    """Shares of the pixels that are reddish, that are bluish, and that are of the colour of the first one."""
    pixels = np.asarray(Image.open(picture).convert("RGB")).reshape(-1, 3).astype(int)
    red_over_blue = pixels[:, 0] - pixels[:, 2]
    same = np.all(pixels == pixels[0], axis=1)
    return float((red_over_blue > 40).mean()), float((red_over_blue < -40).mean()), float(same.mean())
