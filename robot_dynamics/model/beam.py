# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A flexible link, as a chain of rigid segments with elastic joints between them."""

from __future__ import annotations

import numpy as np

from robot_dynamics.errors import ArgumentError
from robot_dynamics.model.elements import JointElement, LinkElement, Mechanism, pose

_BENDS_ABOUT = {"y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def beam(
    name: str,
    length: float,
    mass: float,
    bending_stiffness: float,
    *,
    joints: int = 20,
    axis: str = "z",
    damping_time: float = 0.0,
) -> Mechanism:
    """Return a uniform slender beam along x that bends about one axis.

    Each joint represents the bending of a piece of the beam around it, so that the two outer
    segments are half as long as the others. The error of the natural frequencies then falls with
    the square of the number of joints.

    Links are NAME0 (the root, for the support of the beam) to NAMEn, whose frame is half a piece
    before the tip, and NAME_tip. Joints are NAME_bend1 to NAME_bendn.

    Args:
        name: Prefix of the names of links and joints.
        length: Length of the beam [m].
        mass: Mass of the beam [kg].
        bending_stiffness: Bending stiffness E I [N m^2].
        joints: Number of joints.
        axis: Axis of bending, "y" or "z".
        damping_time: Damping of a joint over its stiffness [s]. Damping of tree joints is
            friction: the caller who integrates the motion adds it to the joint forces.

    Raises:
        ArgumentError: If a number is not positive, or the axis is neither "y" nor "z".
    """
    numbers = {"length": length, "mass": mass, "bending_stiffness": bending_stiffness}
    for quantity, value in {**numbers, "joints": joints}.items():
        if not (np.isfinite(value) and value > 0.0):
            raise ArgumentError(
                f"beam {name!r}: {quantity} is {value!r}, expected a positive number."
            )
    if axis not in _BENDS_ABOUT:
        raise ArgumentError(f"beam {name!r}: axis is {axis!r}, expected 'y' or 'z'.")
    piece = length / joints
    stiffness = bending_stiffness / piece
    lengths = [0.5 * piece, *[piece] * (joints - 1), 0.5 * piece]
    links, elements = [], []
    for i, size in enumerate(lengths):
        # A slender rod: the beam of Euler and Bernoulli has no inertia of rotation either.
        inertia = np.diag([0.0, 1.0, 1.0]) * mass * size**3 / length / 12.0
        links.append(
            LinkElement(f"{name}{i}", mass * size / length, (0.5 * size, 0.0, 0.0), inertia)
        )
        if i:
            elements.append(
                JointElement(
                    f"{name}_bend{i}",
                    "revolute",
                    f"{name}{i - 1}",
                    f"{name}{i}",
                    pose((lengths[i - 1], 0.0, 0.0)),
                    _BENDS_ABOUT[axis],
                    active=False,
                    stiffness=stiffness,
                    damping=damping_time * stiffness,
                )
            )
    tip = pose((lengths[-1], 0.0, 0.0))
    links.append(LinkElement(f"{name}_tip"))
    elements.append(JointElement(f"{name}_end", "fixed", f"{name}{joints}", f"{name}_tip", tip))
    return Mechanism(name, tuple(links), tuple(elements))
