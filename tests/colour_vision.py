"""How colours are perceived, by readers who lack one kind of cones too."""

import numpy as np

from orbitile.surfaces.colour_maps import linear_light

# G. M. Machado et al., IEEE Trans. Vis. Comput. Graph. 2009, 15, 1291: complete loss of one kind of cones
BLINDNESS = {
    "red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def oklab(light):
    """Of amounts of red, green and blue light: B. Ottosson, A perceptual color space for image processing (2020)."""
    cones = np.array([[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
                      [0.0883024619, 0.2817188376, 0.6299787005]])  # fmt: skip
    lab = np.array([[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
                    [0.0259040371, 0.7827717662, -0.8086757660]])  # fmt: skip
    return np.cbrt(light @ cones.T) @ lab.T


def perceived_by(kind, colours):
    """Colours for the display as somebody sees them who lacks one kind of cones, or none; in OKLab."""
    seen = np.eye(3) if kind == "none" else np.array(BLINDNESS[kind])
    return oklab(np.clip(linear_light(np.asarray(colours)) @ seen.T, 0, 1))


def contrast(colour, ground):
    """Contrast of two colours for the display, from 1 to 21 (WCAG 2.1)."""
    low, high = sorted(float(linear_light(np.asarray(c)) @ [0.2126, 0.7152, 0.0722]) for c in (colour, ground))
    return (high + 0.05) / (low + 0.05)
