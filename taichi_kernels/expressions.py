"""Formulas as values: written once with the operators of Python, differentiated, and written out as source of a kernel.

A formula is a function of numbers, made of the operators + - * / and ** (to whole numbers, 1 or more) and of the
functions below. What it does is written down step by step, equal steps once. Derivatives are more steps on the same
list, by the chain rule from the result back to the inputs.

Those functions that say so take arrays of NumPy as well: a formula made of them is computed at once then.
"""

from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Number = int | float


@dataclass(eq=False)
class Steps:
    """What is computed, in order: each step is an operation, the steps that it needs, and a constant or a name.

    `dtype` is NumPy's type of the numbers that the formula is written for.
    """

    dtype: "np.dtype[np.floating]" = field(default_factory=lambda: np.dtype(np.float64))
    steps: list[tuple[str, tuple[int, ...], float | str]] = field(default_factory=list)
    known: dict[tuple[str, tuple[int, ...], float | str], int] = field(default_factory=dict)

    def add(self, operation: str, operands: tuple[int, ...] = (), value: float | str = 0.0) -> "Expression":
        """A step that was made before is found again."""
        step = operation, operands, value
        if step not in self.known:
            self.known[step] = len(self.steps)
            self.steps.append(step)
        return Expression(self, self.known[step])

    def variable(self, name: str) -> "Expression":
        """An input."""
        return self.add("input", value=name)

    def constant(self, value: float) -> "Expression":
        """A number."""
        return self.add("constant", value=float(value))


@dataclass(frozen=True, eq=False)
class Expression:
    """A number that depends on inputs: the result of a step."""

    on: Steps
    step: int

    @property
    def dtype(self) -> "np.dtype[np.floating]":
        """NumPy's type of the number."""
        return self.on.dtype

    def __add__(self, other: "Expression | Number") -> "Expression":
        other = self._with(other)
        if self._is(0.0) or other._is(0.0):
            return other if self._is(0.0) else self
        return self.on.add("+", (self.step, other.step))

    def __sub__(self, other: "Expression | Number") -> "Expression":
        other = self._with(other)
        return self if other._is(0.0) else self.on.add("-", (self.step, other.step))

    def __mul__(self, other: "Expression | Number") -> "Expression":
        other = self._with(other)
        if self._is(0.0) or other._is(1.0):
            return self
        if self._is(1.0) or other._is(0.0):
            return other
        return self.on.add("*", (self.step, other.step))

    def __truediv__(self, other: "Expression | Number") -> "Expression":
        other = self._with(other)
        return self if self._is(0.0) or other._is(1.0) else self.on.add("/", (self.step, other.step))

    def __pow__(self, power: int) -> "Expression":
        result = self
        for bit in bin(power)[3:]:  # after the first digit of the binary number
            result = result * result * (self if bit == "1" else 1.0)
        return result

    def __neg__(self) -> "Expression":
        return self * -1.0

    def __radd__(self, other: Number) -> "Expression":
        return self + other

    def __rsub__(self, other: Number) -> "Expression":
        return self._with(other) - self

    def __rmul__(self, other: Number) -> "Expression":
        return self * other

    def __rtruediv__(self, other: Number) -> "Expression":
        return self._with(other) / self

    def _with(self, other: "Expression | Number") -> "Expression":
        return other if isinstance(other, Expression) else self.on.constant(other)

    def _is(self, value: float) -> bool:
        operation, _, held = self.on.steps[self.step]
        return operation == "constant" and held == value

    def _applied(self, function: str) -> "Expression":
        return self.on.add(function, (self.step,))


Value = TypeVar("Value", Expression, NDArray[np.floating])
"""What a formula is made of: numbers to come, or arrays of numbers."""


# Functions: accurate where their result is small too -------------------------------------------------------------


def sqrt(x: Value) -> Value:
    """Square root of a number that is not negative, or of an array."""
    return x._applied("sqrt") if isinstance(x, Expression) else np.sqrt(x)


def cbrt(x: Value) -> Value:
    """Cubic root of a number above 0: of products and quotients with those of their parts, which are often known.

    Or of an array.
    """
    if not isinstance(x, Expression):
        return np.cbrt(x)
    operation, operands, value = x.on.steps[x.step]
    if operation == "constant":
        return x.on.constant(float(value) ** (1 / 3))
    if operation in ("*", "/"):
        first, second = (cbrt(Expression(x.on, operand)) for operand in operands)
        return first * second if operation == "*" else first / second
    return x._applied("cbrt")


def log1p(x: Value) -> Value:
    """Logarithm of 1 + x, x not negative; or of an array."""
    return x._applied("log1p") if isinstance(x, Expression) else np.log1p(x)


def expm1(x: Expression) -> Expression:
    """Exponential, less 1, of a number from 0 to 600."""
    return x._applied("expm1")


def exp(x: Expression) -> Expression:
    """Exponential of a number that is not positive."""
    return x._applied("exp")


def erf(x: Expression) -> Expression:
    """Error function of a number that is not negative."""
    return x._applied("erf")


def atan(x: Expression) -> Expression:
    """Arc tangent of a number that is not negative."""
    return x._applied("atan")


def saturated(x: Expression) -> Expression:
    """x / (1 + x), x not negative: of its derivative the rule for quotients would lose the digits."""
    return x._applied("saturated")


def at_least(x: Value, limit: Value | Number) -> Value:
    """The larger one of a number, or of each of an array, and a limit."""
    if not isinstance(x, Expression):
        return np.maximum(x, limit)
    return x.on.add("at_least", (x.step, x._with(limit).step))


def at_most(x: Value, limit: Value | Number) -> Value:
    """The smaller one of a number, or of each of an array, and a limit."""
    if not isinstance(x, Expression):
        return np.minimum(x, limit)
    return x.on.add("at_most", (x.step, x._with(limit).step))


def above(x: Value, limit: Value | Number) -> Value:
    """1 where a number, or each of an array, is above a limit, 0 elsewhere."""
    if not isinstance(x, Expression):
        return (x > limit).astype(x.dtype)
    return x.on.add("above", (x.step, x._with(limit).step))


def taken_at_least(x: Expression, limit: Expression | Number) -> Expression:
    """The larger one of a number and a limit, whose derivative is 1 below the limit too: it is taken there instead."""
    return x.on.add("taken_at_least", (x.step, x._with(limit).step))


# What becomes of them ----------------------------------------------------------------------------------------------


def derivatives(result: Expression, inputs: list[Expression]) -> list[Expression]:
    """Derivatives of a result with respect to some inputs."""
    on = result.on
    slopes = {result.step: on.constant(1.0)}
    for step in range(result.step, -1, -1):
        operation, operands, _ = on.steps[step]
        if step not in slopes or not operands:
            continue
        needed = [Expression(on, operand) for operand in operands]
        parts = _partial(operation, Expression(on, step), *needed)
        for operand, part in zip(operands, parts, strict=False):
            share = slopes[step] * part
            slopes[operand] = slopes[operand] + share if operand in slopes else share
    return [slopes.get(one.step, on.constant(0.0)) for one in inputs]


def _partial(operation: str, result: Expression, a: Expression, b: Expression | None = None) -> list[Expression]:
    """Derivatives of one step with respect to what it needs; of limits, to the first."""
    one = a.on.constant(1.0)
    if b is not None:
        return {
            "+": lambda: [one, one],
            "-": lambda: [one, -one],
            "*": lambda: [b, a],
            "/": lambda: [1.0 / b, -(result / b)],
            "at_least": lambda: [a.on.add("above", (a.step, b.step))],
            "at_most": lambda: [a.on.add("above", (b.step, a.step))],
            "above": lambda: [a.on.constant(0.0)],
            "taken_at_least": lambda: [one],
        }[operation]()
    return [
        {
            "sqrt": lambda: 0.5 / result,
            "cbrt": lambda: 1.0 / (3.0 * result * result),
            "log1p": lambda: 1.0 / (1.0 + a),
            "expm1": lambda: 1.0 + result,
            "exp": lambda: result,
            "erf": lambda: 2 / np.sqrt(np.pi) * exp(-(a * a)),
            "atan": lambda: 1.0 / (1.0 + a * a),
            "saturated": lambda: (1.0 / (1.0 + a)) ** 2,
        }[operation]()
    ]


_TEXT = {
    "constant": "real({value!r})",
    "+": "{0} + {1}",
    "-": "{0} - {1}",
    "*": "{0} * {1}",
    "/": "{0} / {1}",
    "sqrt": "ti.sqrt({0})",
    "saturated": "{0} / (1.0 + {0})",
    "at_least": "ti.max({0}, {1})",
    "taken_at_least": "ti.max({0}, {1})",
    "at_most": "ti.min({0}, {1})",
    "above": "ti.select({0} > {1}, real(1.0), real(0.0))",
}
"""Source of a step; others are functions of this name."""


def written_out(results: dict[str, Expression]) -> list[str]:
    """Assignments that compute results from inputs; all have the names that were given them."""
    on = next(iter(results.values())).on
    needed = [False] * len(on.steps)
    for result in results.values():
        needed[result.step] = True
    for step in range(len(on.steps) - 1, -1, -1):
        for operand in on.steps[step][1] if needed[step] else ():
            needed[operand] = True
    names = [str(value) if operation == "input" else f"t{n}" for n, (operation, _, value) in enumerate(on.steps)]
    lines = []
    for step, (operation, operands, value) in enumerate(on.steps):
        if needed[step] and operation != "input":
            text = _TEXT.get(operation, operation + "({0})")
            lines.append(f"{names[step]} = " + text.format(*(names[one] for one in operands), value=value))
    return lines + [f"{name} = {names[result.step]}" for name, result in results.items()]
