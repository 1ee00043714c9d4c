"""Decimal numbers in columns: the same to the last bit as `float` gives, or none at all."""

import random

import numpy as np
import pytest

from orbitile.readers._decimal_columns import decimals


def lines(texts, width=30):
    return np.frombuffer("".join(text.rjust(width) for text in texts).encode(), np.uint8).reshape(-1, width)


@pytest.mark.parametrize("form", ["%.14E", "%.16E", "%.17e", "%.6f", "%.12f", "%.0f.", "%.1E"])
@pytest.mark.parametrize("powers", [(-3, 3), (-30, -1), (-240, -30), (5, 15), (15, 240), (-308, -240), (240, 307)])
def test_numbers_are_those_of_float(form, powers):
    if "f" in form and powers[1] > 3:
        pytest.skip("too many digits for a line: such numbers are printed with exponents")
    dice = random.Random(f"{form}{powers}")
    texts = [form % (dice.choice((1, -1)) * dice.random() * 10 ** dice.uniform(*powers)) for _ in range(500)]
    texts += [form % 0.0, form % -0.0]
    found, expected = decimals(lines(texts)), np.array([float(text) for text in texts])
    np.testing.assert_array_equal(found.view(np.int64), expected.view(np.int64))


def test_numbers_half_way_between_two_doubles_are_rounded_as_by_float():
    texts = [f"{2**53 + n}." for n in range(1, 64)] + [f"{2**54 + n}." for n in range(64)]
    np.testing.assert_array_equal(decimals(lines(texts)), [float(text) for text in texts])


def test_formats_may_differ_from_line_to_line():
    texts = ["0.25     ", "-1.5E-003", "  10.125  ", "+.5", "7."]
    assert decimals(lines(texts)).tolist() == [0.25, -1.5e-3, 10.125, 0.5, 7.0]


@pytest.mark.parametrize(
    "text",
    [
        "1 2.5",
        "- 2.5",
        "2.5E 5",
        "1.0-2",
        ".",
        "2",
        "nan",
        "1.0.0",
        "1E5",
        "1.0E+",
        "1.0 2",
        "1.0D+00",
        "1_0.0",
        "",
        "²3.5",
    ],
)
def test_what_is_no_number_is_refused(text):
    assert decimals(np.frombuffer(text.rjust(12).encode(), np.uint8)[None]) is None
