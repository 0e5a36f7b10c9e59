# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Closure functions of well-known mechanisms in closed form, as their users would write them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robot_dynamics.dynamics.closure_functions import ClosureFunction
from robot_dynamics.model import CouplingElement, Mechanism
from robot_dynamics.scalar.functions import acos, asin, atan2, cos, hypot, sin, sqrt
from support import golden, linkages
from support.linkages import Builder


def actuated_arm_function(l1: float = golden.L1, l2: float = golden.L2) -> ClosureFunction:
    """Return gamma of Fig 8.3 as the book has it."""

    def gamma(y):
        d = sqrt(l1**2 + l2**2 - 2.0 * l1 * l2 * cos(y[0]))
        return {"q2": atan2(l2 * sin(y[0]), l2 * cos(y[0]) - l1), "q3": d}

    return ClosureFunction(("q1",), gamma)


def four_bar_function(
    lengths=(0.3, 0.8, 0.6), ground: float = 0.9, branch: float = 1.0, prefix: str = ""
) -> ClosureFunction:
    """Return gamma of `linkages.four_bar`: the triangle of coupler, rocker and diagonal."""
    a, b, c = lengths

    def gamma(y):
        x, z = ground - a * cos(y[0]), -a * sin(y[0])  # from the crank pin to the ground pin
        diagonal = hypot(x, z)
        opening = acos((b * b + diagonal * diagonal - c * c) / (2.0 * b * diagonal))
        coupler = atan2(z, x) + branch * opening
        rocker = atan2(z - b * sin(coupler), x - b * cos(coupler))
        return {
            f"{prefix}coupler_joint": coupler - y[0],
            f"{prefix}rocker_joint": rocker - coupler,
        }

    return ClosureFunction((f"{prefix}crank_joint",), gamma)


def slider_crank_function(crank: float = 0.3, rod: float = 1.0) -> ClosureFunction:
    """Return gamma of `linkages.slider_crank`, with the slider ahead of the crank."""

    def gamma(y):
        angle = asin(-crank / rod * sin(y[0]))
        return {
            "rod_joint": angle - y[0],
            "slider_joint": crank * cos(y[0]) + rod * cos(angle),
        }

    return ClosureFunction(("crank_joint",), gamma)


def parallelogram_arm(arm: float = 0.8, lever: float = 0.3) -> Mechanism:
    """Return an arm of two links whose second drive stands on the base, as palletisers have it.

    A rod that stays parallel to the first link turns the second one as the crank turns.
    """
    b = Builder("parallelogram_arm")
    b.add("arm", "base", active=True)
    b.add("forearm", "arm", at=(arm, 0, 0))
    b.add("crank", "base", active=True)
    b.add("rod", "crank", at=(lever, 0, 0))
    b.close("pin", "revolute", "rod", "forearm", (arm, 0, 0), (lever, 0, 0))
    return b.done()


def parallelogram_arm_function() -> ClosureFunction:
    """Return gamma of the parallelogram: opposite sides are parallel."""
    return ClosureFunction(
        ("arm_joint", "crank_joint"),
        lambda y: {"forearm_joint": y[1] - y[0], "rod_joint": y[0] - y[1]},
    )


def stewart_platform_function(mechanism: Mechanism) -> ClosureFunction:
    """Return the legs' joints of `linkages.stewart_platform` by the pose of its platform.

    Written with vectors of NumPy, and with NumPy's own functions of them.
    """
    placements = {joint.name: joint.placement for joint in mechanism.joints}
    start = placements["platform_joint"][:3, 3]
    feet = [placements[f"leg{i}_joint"][:3, 3] for i in range(6)]
    zero = placements["rod0_joint"][2, 3]
    balls = [loop.successor_pose[:3, 3] for loop in mechanism.loops]

    def gamma(y):
        r, (x, y_, z, w) = np.array(y[:3]), y[3:]
        axis = np.array([x, y_, z])
        result = {}
        for i, (foot, ball) in enumerate(zip(feet, balls, strict=True)):
            turned = ball + 2.0 * np.cross(
                axis, np.cross(axis, ball) + w * np.array(ball, dtype=object)
            )
            leg = start + r + turned - foot
            result[f"leg{i}_joint"] = [
                np.arctan2(-leg[1], leg[2]),
                np.arctan2(leg[0], np.hypot(leg[1], leg[2])),
            ]
            result[f"rod{i}_joint"] = np.linalg.norm(leg) - zero
        return result

    return ClosureFunction(("platform_joint",), gamma)


def geared_arm() -> Mechanism:
    """Return two links moved by rotors on the base, the second through a differential."""
    b = Builder("geared_arm")
    b.add("upper", "base", axis=linkages.Y)
    b.add("lower", "upper", at=(0.5, 0, 0), axis=linkages.Y)
    b.add("rotor1", "base", at=(0, 0.2, 0), axis=linkages.Y, active=True)
    b.add("rotor2", "base", at=(0, -0.2, 0), axis=linkages.Y, active=True)
    gears = (
        CouplingElement.gear("gear1", "upper_joint", "rotor1_joint", 0.02, 0.3),
        CouplingElement(
            "gear2", (("lower_joint", 1.0), ("upper_joint", 1.0), ("rotor2_joint", -0.01)), -0.5
        ),
    )
    return replace(b.done(), couplings=gears)


def held_body() -> Mechanism:
    """Return a spatial arm of two hinges with a free body welded to its end."""
    b = Builder("held_body")
    b.add("first", "base", active=True)
    b.add("second", "first", at=(0.5, 0, 0), axis=linkages.X, active=True)
    b.add("body", "base", "floating")
    b.close("weld", "fixed", "second", "body", (0.1, 0.4, 0.0))
    return b.done()


def held_body_function() -> ClosureFunction:
    """Return the pose of the body, with a quaternion, by the angles of the arm."""

    def gamma(y):
        c, s = cos(y[0]), sin(y[0])
        x, side, up = 0.6, 0.4 * cos(y[1]), 0.4 * sin(y[1])
        cz, sz = cos(0.5 * y[0]), sin(0.5 * y[0])
        cx, sx = cos(0.5 * y[1]), sin(0.5 * y[1])
        place = [c * x - s * side, s * x + c * side, up]
        return {"body_joint": [*place, cz * sx, sz * sx, sz * cx, cz * cx]}

    return ClosureFunction(("first_joint", "second_joint"), gamma)


#: Mechanisms and their closure functions, by name.
CLOSED = {
    "Fig 8.3": (golden.actuated_arm(), (actuated_arm_function(),)),
    "four-bar": (linkages.four_bar(), (four_bar_function(),)),
    "slider-crank": (linkages.slider_crank(), (slider_crank_function(),)),
    "parallelogram": (parallelogram_arm(), (parallelogram_arm_function(),)),
    "Stewart platform": (
        linkages.stewart_platform(), (stewart_platform_function(linkages.stewart_platform()),)
    ),
    "geared arm": (geared_arm(), ()),
    "held body": (held_body(), (held_body_function(),)),
}  # fmt: skip
