# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of wrists and grippers when control of a task starts: free hands, or a load."""

from __future__ import annotations

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.start_check import StartError, disagreements
from robot_dynamics.control.task.free_arms import FreeArms
from robot_dynamics.control.task.grippers import Grippers
from robot_dynamics.manipulation.system import GraspSystem

#: Share of the squeeze that each hand must measure.
PRESSES = 0.5
_BEARS = 0.5  # share of the weight that arms must measure which hold the object in the air
_Z = 5  # force along z in a wrench


def require_free_hands(
    system: GraspSystem,
    q: Array,
    wrenches: Array | None,
    most: float,
    gap: float,
    grippers: Grippers | None,
) -> None:
    """Refuse a start with hands that touch or hold something.

    Args:
        system: The arms.
        q: Positions of their joints (na,).
        wrenches: Measured grasp wrenches (k, 6), in tool frames; None without sensors.
        most: Largest force of a free hand [N].
        gap: Disagreement of the arms about the object's place up to which hands without sensors,
            and without grippers that report, count as holding it [m]; palms may be tilted on it.
        grippers: Grippers of the arms; None without.

    Raises:
        StartError: With the arm.
    """
    loaded = [] if grippers is None else grippers.unknown_loads
    if loaded:
        sentence = (
            f"the gripper of arm {loaded[0]!r} holds something; expected empty hands: a task "
            "begins with free hands."
        )
        raise StartError(loaded[0], 1.0, 0.0, sentence)
    if wrenches is None:
        reported = grippers is not None and not grippers.silent
        apart = np.inf if reported else disagreements(system, q)[0]
        if apart <= gap:
            sentence = (
                f"the hands are where they would hold the object, to {apart:.3g} m, and no "
                f"sensor tells whether they do; expected more than {gap:g} m: move them away by "
                "the drives' own controllers."
            )
            raise StartError("object", apart, gap, sentence)
        return
    for arm, wrench in zip(system.arms, wrenches, strict=True):
        force = float(np.linalg.norm(wrench[3:]))
        if not force <= most:
            sentence = (
                f"arm {arm.name!r} touches something with {force:.3g} N, expected at most "
                f"{most:g} N: a task begins with free hands."
            )
            raise StartError(arm.name, force, most, sentence)


def require_load(
    arms: FreeArms,
    q: Array,
    wrenches: Array | None,
    squeeze: Array,
    weight: Array,
    grippers: Grippers | None,
) -> None:
    """Refuse a start in the air with hands that do not press, or do not carry the object.

    Args:
        arms: The arms.
        q: Positions of their joints (na,).
        wrenches: Measured grasp wrenches (k, 6), in tool frames; None without sensors.
        squeeze: Wrenches (k, 6) by the tools on the object, of which palms must press with half.
        weight: Weight of the object as a vector (3,) [N].
        grippers: Grippers of the arms; None for palms.

    Raises:
        StartError: With the arm, or the object.
    """
    empty = [] if grippers is None else grippers.empty
    if empty:
        sentence = (
            f"the gripper of arm {empty[0]!r} holds nothing; expected it to hold the object."
        )
        raise StartError(empty[0], 0.0, 1.0, sentence)
    if wrenches is None:
        return
    if grippers is None:
        for arm, wrench, wanted in zip(arms.system.arms, wrenches, squeeze, strict=True):
            pressed, least = float(wrench[_Z]), PRESSES * float(wanted[_Z])
            if not pressed >= least:
                sentence = (
                    f"arm {arm.name!r} presses with {pressed:.3g} N, expected at least "
                    f"{least:.3g} N: a task goes on in the air with an object that the arms hold."
                )
                raise StartError(arm.name, pressed, least, sentence)
    turns = [arms.tool_pose(i, q)[:3, :3] for i in range(len(wrenches))]
    force = sum(turn @ wrench[3:] for turn, wrench in zip(turns, wrenches, strict=True))
    load = float(np.linalg.norm(weight))
    borne, least = float(-(weight / load) @ force), _BEARS * load
    if not borne >= least:
        sentence = (
            f"the arms bear {borne:.3g} N of the weight of {load:.3g} N, expected at least "
            f"{least:.3g} N: a task goes on in the air with an object that the arms carry."
        )
        raise StartError("object", borne, least, sentence)
