# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Loops that arms close within themselves: whose they are, what drives them, how they close."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.compiled_model import CompiledModel
from robot_dynamics.dynamics.assembly import assemble
from robot_dynamics.errors import RobotDynamicsError, UnknownNameError
from robot_dynamics.model import LoopJoint, Model


def arms_of(model: Model, objects: Collection[int], loops: Sequence[LoopJoint]) -> Model:
    """Return a model without the bodies of objects, which carry nothing, and with some loops only.

    Args:
        model: Arms and objects.
        objects: Indices of the objects' bodies.
        loops: Those of the arms.
    """

    def moved(index: int) -> int:
        return index - sum(at < index for at in objects)

    bodies = [
        replace(body, parent=moved(body.parent))
        for i, body in enumerate(model.bodies)
        if i not in objects
    ]
    links = [
        replace(link, body=moved(link.body)) for link in model.links if link.body not in objects
    ]
    kept = {body.name for body in bodies}
    return replace(
        model,
        bodies=tuple(bodies),
        links=tuple(links),
        loops=tuple(
            replace(loop, predecessor=moved(loop.predecessor), successor=moved(loop.successor))
            for loop in loops
        ),
        variable=frozenset(name for name in model.variable if name in kept),
    )


def linkage_of(model: Model, path: Sequence[int], loops: Sequence[LoopJoint]) -> tuple[int, ...]:
    """Return the bodies of all loops that share joints with the path to a tool, ascending.

    Args:
        model: The arms.
        path: The bodies from the base to the tool.
        loops: Loop joints within arms.
    """
    clusters = model.tree.clusters([(loop.predecessor, loop.successor) for loop in loops])
    bound = {body for one in clusters if set(one.bodies) & set(path) for body in one.bodies}
    return tuple(sorted(bound))


def driven_bodies(
    model: Model, arm: str, drives: Sequence[str], path: Sequence[int], linkage: Sequence[int]
) -> tuple[int, ...]:
    """Return the bodies whose joints move an arm, in the order of its drives.

    Args:
        model: The arms.
        arm: Name of the arm.
        drives: Names of its drives; none of an arm without loops, where every joint has one.
        path: The bodies from the base to its tool.
        linkage: Those of its loops.

    Raises:
        RobotDynamicsError: If drives are missing, are there twice, or are not expected.
        UnknownNameError: If one is no joint of the arm.
    """
    if not drives and not linkage:
        return tuple(path)
    if not drives:
        raise RobotDynamicsError(
            f"arm {arm!r} has internal closed chains, expected `drives`: the names of the joints "
            "that "
            "determine its motion."
        )
    if not linkage:
        raise RobotDynamicsError(
            f"arm {arm!r} has no internal closed chains, all of its joints are drives; expected "
            "no "
            "`drives`."
        )
    bodies = {model.bodies[body].joint.name: body for body in (*path, *linkage)}
    for name in drives:
        if name not in bodies:
            raise UnknownNameError("drive", name, bodies, f"arm {arm!r}")
        if not model.bodies[bodies[name]].joint.type.nv == 1:
            raise RobotDynamicsError(f"drive {name!r}: expected one degree of freedom.")
    if len(set(drives)) != len(drives):
        twice = next(name for i, name in enumerate(drives) if name in drives[:i])
        raise RobotDynamicsError(f"arm {arm!r}: drive {twice!r} is there twice, expected once.")
    return tuple(bodies[name] for name in drives)


def assembled(
    arms: Model, drives: Mapping[str, float], near: Mapping[str, float]
) -> tuple[float, ...]:
    """Return positions (nq,) that close the internal closed chains of the arms.

    Args:
        arms: The arms alone.
        drives: Positions of their drives, by name.
        near: Near to which positions other joints are looked for; zero where nothing is said.

    Raises:
        UnknownNameError: If a joint is not there.
        AssemblyError: If the loops do not close near to there.
    """
    compiled = CompiledModel(arms)

    def closure(q: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        K, error = compiled.closure(q)
        return K, error

    guess = arms.neutral()
    for name, value in {**near, **drives}.items():
        guess[arms.q_slices[arms.joint_index(name)]] = value
    found = assemble(arms, closure, guess, held=list(drives), restarts=0, tolerance=1e-12)
    return tuple(found.q.tolist())
