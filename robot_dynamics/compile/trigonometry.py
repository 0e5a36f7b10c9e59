# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Sine, cosine and arc tangent as inlined polynomials, the same operations for every width.

The angle is reduced to [-pi/4, pi/4] by subtracting a multiple k of pi/2 that is stored in several
parts (Cody and Waite, Software Manual for the Elementary Functions, 1980), the sine and cosine of
the remainder are the polynomials of fdlibm (Sun Microsystems, 1993; k_sin.c and k_cos.c), and the
last two bits of k select which of the two is which result, and its sign.

Measured against extended precision, the error of sine and cosine is below 1.5 units in the last
place (and below 1 for 99.8 % of angles) for |x| <= 1e7, below 2.5 units without fused
multiplications. Above, up to 1e15, it is below 1.3e-16, or without fused multiplications of the
order of the spacing of such angles. The sine of anything larger or not finite is nan.
"""

from __future__ import annotations

import math

from robot_dynamics.compile.writer import Lanes, Writer

_SIN = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
_COS = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)
_TWO_OVER_PI = float.fromhex("0x1.45f306dc9c883p-1")
# pi / 2 as an exact sum. With fused operations k times a part is exact for any k; without them
# the parts have 27 bits, so that the product is exact for k below 2^26.
_PARTS_FUSED = (
    float.fromhex("0x1.921fb54442d18p+0"),
    float.fromhex("0x1.1a62633145c07p-54"),
)
_PARTS = (
    float.fromhex("0x1.921fb54000000p+0"),
    float.fromhex("0x1.10b4610000000p-30"),
    float.fromhex("0x1.a62633145c06ep-58"),
)
# Added to a number below 2^51, this leaves the nearest integer in the last bits.
_ROUND = 1.5 * 2.0**52
LARGEST_ANGLE = 1e15

# atan(t) = t + t z P(z) / Q(z) with z = t^2 and |t| <= 0.66 (S. L. Moshier, Cephes, 1989; atan.c).
_ATAN_P = (
    -6.485021904942025371773e1,
    -1.228866684490136173410e2,
    -7.500855792314704667340e1,
    -1.615753718733365076637e1,
    -8.750608600031904122785e-1,
)
_ATAN_Q = (
    1.945506571482613964425e2,
    4.853903996359136964868e2,
    4.328810604912902668951e2,
    1.650270098316988542046e2,
    2.485846490142306297962e1,
    1.0,
)


class Arithmetic:
    """Writes floating-point operations on values in lanes.

    Args:
        writer: Receives the text.
        lanes: Number of lanes.
        fma: Whether the processor fuses multiplication and addition.
    """

    def __init__(self, writer: Writer, lanes: Lanes, fma: bool) -> None:
        self.writer, self.lanes, self.fma = writer, lanes, fma

    def binary(self, instruction: str, a: str, b: str) -> str:
        """Return the result of fadd, fsub, fmul or fdiv."""
        return self.writer.emit(f"{instruction} {self.lanes.real} {a}, {b}")

    def multiply_add(self, a: str, b: str, c: str) -> str:
        """Return `a * b + c`, with one rounding where the processor can."""
        if not self.fma:
            return self.binary("fadd", self.binary("fmul", a, b), c)
        real = self.lanes.real
        return self.writer.emit(
            f"call {real} @llvm.fma.{self.lanes.suffix}({real} {a}, {real} {b}, {real} {c})"
        )

    def intrinsic(self, name: str, a: str) -> str:
        """Return the result of an intrinsic function of one argument."""
        real = self.lanes.real
        return self.writer.emit(f"call {real} @llvm.{name}.{self.lanes.suffix}({real} {a})")

    def select(self, condition: str, a: str, b: str) -> str:
        """Return `a` where a condition holds and `b` elsewhere."""
        real = self.lanes.real
        return self.writer.emit(f"select {self.lanes.mask} {condition}, {real} {a}, {real} {b}")

    def polynomial(self, x: str, coefficients: tuple[float, ...]) -> str:
        """Return a polynomial in `x`, lowest coefficient first, by Horner's rule."""
        constants = [self.lanes.constant(value) for value in coefficients]
        value = constants.pop()
        while constants:
            value = self.multiply_add(x, value, constants.pop())
        return value


def write_sine_and_cosine(
    arithmetic: Arithmetic, x: str, sine: bool, cosine: bool
) -> tuple[str, str]:
    """Write the sine and the cosine of an angle, and return their names.

    Args:
        arithmetic: Where to write.
        x: The angle in rad.
        sine: Whether the sine is wanted; its name is "" otherwise.
        cosine: Whether the cosine is wanted; its name is "" otherwise.
    """
    writer, lanes = arithmetic.writer, arithmetic.lanes
    real, integer = lanes.real, lanes.integer
    constant, binary, fma = lanes.constant, arithmetic.binary, arithmetic.multiply_add

    size = arithmetic.intrinsic("fabs", x)
    known = writer.emit(f"fcmp ole {real} {size}, {constant(LARGEST_ANGLE)}")
    x = arithmetic.select(known, x, constant(float("nan")))
    shifted = fma(x, constant(_TWO_OVER_PI), constant(_ROUND))
    k = binary("fsub", shifted, constant(_ROUND))
    r = x
    for part in _PARTS_FUSED if arithmetic.fma else _PARTS:
        r = fma(k, constant(-part), r)

    z = binary("fmul", r, r)
    sine_of_r = fma(binary("fmul", z, r), arithmetic.polynomial(z, _SIN), r)
    # 1 - z/2 loses bits, which (1 - w) - z/2 recovers.
    half = binary("fmul", z, constant(0.5))
    w = binary("fsub", constant(1.0), half)
    lost = binary("fsub", binary("fsub", constant(1.0), w), half)
    square = binary("fmul", z, z)
    cosine_of_r = binary("fadd", w, fma(square, arithmetic.polynomial(z, _COS), lost))

    bits = writer.emit(f"bitcast {real} {shifted} to {integer}")
    odd = writer.emit(f"and {integer} {bits}, {lanes.whole(1)}")
    swap = writer.emit(f"icmp ne {integer} {odd}, {lanes.whole(0)}")

    def with_sign(value: str, quadrant: str) -> str:
        second = writer.emit(f"and {integer} {quadrant}, {lanes.whole(2)}")
        sign = writer.emit(f"shl {integer} {second}, {lanes.whole(62)}")
        plain = writer.emit(f"bitcast {real} {value} to {integer}")
        return writer.emit(
            f"bitcast {integer} {writer.emit(f'xor {integer} {plain}, {sign}')} to {real}"
        )

    sine_name = cosine_name = ""
    if sine:
        sine_name = with_sign(arithmetic.select(swap, cosine_of_r, sine_of_r), bits)
    if cosine:
        following = writer.emit(f"add {integer} {bits}, {lanes.whole(1)}")
        cosine_name = with_sign(arithmetic.select(swap, sine_of_r, cosine_of_r), following)
    return sine_name, cosine_name


def write_arc_tangent(arithmetic: Arithmetic, y: str, x: str) -> str:
    """Write the angle of a point in the plane, `atan2(y, x)`, and return its name.

    Measured against extended precision, the error is below 2 units in the last place. The angle is
    nan if both coordinates are infinite.

    Args:
        arithmetic: Where to write; one lane.
        y: The second coordinate.
        x: The first coordinate.
    """
    writer, lanes = arithmetic.writer, arithmetic.lanes
    real, integer = lanes.real, lanes.integer
    constant, binary, select = lanes.constant, arithmetic.binary, arithmetic.select

    def compare(relation: str, a: str, b: str) -> str:
        return writer.emit(f"fcmp {relation} {real} {a}, {b}")

    def less(angle: str, eighths: float) -> str:
        """Return a number of eighths of a turn less an angle."""
        return binary("fsub", constant(eighths * math.pi / 4.0), angle)

    height, width = arithmetic.intrinsic("fabs", y), arithmetic.intrinsic("fabs", x)
    flat = compare("ole", height, width)
    small, large = select(flat, height, width), select(flat, width, height)
    # Above atan(0.66) the tangent of the angle less pi/4.
    turned = compare("ogt", small, binary("fmul", large, constant(0.66)))
    numerator = select(turned, binary("fsub", small, large), small)
    denominator = select(turned, binary("fadd", small, large), large)
    origin = compare("oeq", large, constant(0.0))
    t = binary("fdiv", numerator, select(origin, constant(1.0), denominator))
    z = binary("fmul", t, t)
    ratio = binary(
        "fdiv",
        binary("fmul", z, arithmetic.polynomial(z, _ATAN_P)),
        arithmetic.polynomial(z, _ATAN_Q),
    )
    angle = arithmetic.multiply_add(t, ratio, t)
    angle = select(turned, binary("fadd", constant(math.pi / 4.0), angle), angle)
    angle = select(flat, angle, less(angle, 2.0))
    bits = writer.emit(f"bitcast {real} {x} to {integer}")
    behind = writer.emit(f"icmp slt {integer} {bits}, {lanes.whole(0)}")
    angle = select(behind, less(angle, 4.0), angle)
    sign = writer.emit(
        f"and {integer} {writer.emit(f'bitcast {real} {y} to {integer}')}, {-(2**63)}"
    )
    plain = writer.emit(f"bitcast {real} {angle} to {integer}")
    return writer.emit(
        f"bitcast {integer} {writer.emit(f'or {integer} {plain}, {sign}')} to {real}"
    )
