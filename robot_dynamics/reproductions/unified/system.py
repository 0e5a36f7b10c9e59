# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms on a base that is fixed, free, thrust, mobile or sprung, and the object they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.algorithm import Algorithm, place
from robot_dynamics.dynamics.closed_loop import terms_of_transforms
from robot_dynamics.dynamics.inverse import base_acceleration, velocities_and_accelerations
from robot_dynamics.dynamics.jacobian import link_jacobian
from robot_dynamics.dynamics.kinematics import body_transforms, joint_transforms, link_transform
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import (
    JointElement,
    Link,
    LinkElement,
    LoopElement,
    Mechanism,
    Model,
    build,
)
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.reproductions.unified.held_object import HeldObjectTerms, grip_matrix
from robot_dynamics.reproductions.unified.partition import Partition
from robot_dynamics.spatial import Motion

IntArray = NDArray[np.intp]


@dataclass(frozen=True)
class UnifiedTerms:
    """The system at one state.

    Attributes:
        parts: Arms and base.
        held: The object; None without one.
    """

    parts: Partition
    held: HeldObjectTerms | None


@dataclass(frozen=True)
class UnifiedSystem:
    """A base with arms and a held object.

    Attributes:
        model: The whole model for the closed-loop engine: base and arms, then the object on a
            floating joint, and a weld from each end-effector to the object.
        tools: The end-effectors' links.
        grasps: Their poses (4, 4) in the object.
        driven: Indices of the drives in the model's velocities (a,).
        following: Indices of base and passive joints (p,).
        object_v: Slice of the object's velocity; None without one.
    """

    model: Model
    tools: tuple[str, ...]
    grasps: tuple[Array, ...]
    driven: IntArray
    following: IntArray
    object_v: slice | None

    @property
    def object_body(self) -> int | None:
        """Index of the object's body."""
        return None if self.object_v is None else len(self.model.bodies) - 1

    @cached_property
    def grip(self) -> Array:
        """W (6m, 6)."""
        return grip_matrix(self.grasps)

    def terms(self, q: Array, qd: Array) -> UnifiedTerms:
        """Return the equations of base and arms, and of the object.

        Args:
            q: Positions of `model` (nq,), the object's pose last.
            qd: Velocities (nv,), the object's last.
        """
        H, C, J, J_dot_v = self._kernel(q, qd)
        J, J_dot_v = J.reshape(-1, self.model.nv), J_dot_v.ravel()
        a, p = self.driven, self.following
        parts = Partition(
            H[np.ix_(p, p)], H[np.ix_(p, a)], H[np.ix_(a, a)], C[p], C[a], J[:, p], J[:, a],
            J_dot_v,
        )  # fmt: skip
        if self.object_v is None:
            return UnifiedTerms(parts, None)
        at = self.object_v
        return UnifiedTerms(parts, HeldObjectTerms(H[at, at], C[at], self.grip))

    @cached_property
    def _kernel(self) -> Any:
        links = tuple(place(self.model.link(tool)) for tool in self.tools)
        return UNIFIED.bind(self.model, links, lanes=1)


def unified_terms(
    model: Model, q: Any, qd: Any, parameters: Parameters, tools: Sequence[Link]
) -> tuple[Any, ...]:
    """Return H, C, and the end-effectors' Jacobians and their rates times qd."""
    Xup = joint_transforms(model, q)
    terms = terms_of_transforms(model, Xup, qd, parameters, q)
    X0 = body_transforms(model, Xup)
    _, avp = velocities_and_accelerations(model, Xup, qd, None, parameters.gravity, q)
    J, J_dot_v = [], []
    for link in tools:
        J.append(link_jacobian(model, link, Xup, q))
        # Everything accelerates with the base, which replaces gravity; this is removed again.
        swept: Motion = link.placement * avp[link.body]
        falling = link_transform(link, X0) * base_acceleration(parameters.gravity)
        J_dot_v.append((swept - falling).components())
    return terms.H, terms.C, J, J_dot_v


#: Option: the links of the tools.
UNIFIED = Algorithm(
    "unified",
    unified_terms,
    "q, qd -> H (nv, nv), C (nv), J (tools, 6, nv), J_dot_v (tools, 6)",
)


def unified_system(
    robot: Mechanism,
    tools: Sequence[str],
    held: LinkElement | None = None,
    grasps: Sequence[Array] = (),
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
) -> UnifiedSystem:
    """Return the system of a robot whose end-effectors hold an object.

    The robot's tree determines the base: fixed; on a floating joint, drifting or pushed by
    thrusters; on a planar or other joint, mobile; with a spring between world and base, flexible.
    Joints without a drive (`active=False`) follow.

    Args:
        robot: Base and arms; loops only if they constrain nothing, as springs do.
        tools: The end-effectors.
        held: The object; its velocity is in its frame. None for free end-effectors.
        grasps: For each end-effector its pose (4, 4) in the object.
        gravity: Acceleration of gravity [m/s^2]; zeros in space.

    Raises:
        RobotDynamicsError: If the numbers of tools and grasps differ, or the robot has
            constraints.
    """
    if held is not None and len(grasps) != len(tools):
        raise RobotDynamicsError(
            f"{len(grasps)} grasps for {len(tools)} end-effectors, expected one for each."
        )
    links, joints, loops = robot.links, robot.joints, robot.loops
    if held is not None:
        carrier = JointElement(f"{held.name}_floats", "floating", robot.root, held.name)
        links, joints = (*links, held), (*joints, carrier)
        loops = (
            *loops,
            *(
                LoopElement(f"{tool}_grasp", "fixed", tool, held.name, np.eye(4), grasp)
                for tool, grasp in zip(tools, grasps, strict=True)
            ),
        )
    # Another object, or another grasp, must not require another compilation.
    variable = () if held is None else (held.name, *(f"{tool}_grasp" for tool in tools))
    whole = Mechanism(robot.name, links, joints, loops, robot.couplings)
    model = build(whole, gravity=gravity, variable=variable)
    expected = 0 if held is None else 6 * len(tools)
    if model.constraint_count != expected:
        raise RobotDynamicsError(
            f"{robot.name}: the mechanism has constraints other than the grasps, expected a tree: "
            "use the closed-loop engine."
        )
    object_v = None
    own = np.ones(model.nv, dtype=bool)
    if held is not None:
        object_v = model.v_slices[model.link(held.name).body]
        own[object_v] = False
    return UnifiedSystem(
        model,
        tuple(tools),
        tuple(np.asarray(grasp, dtype=float) for grasp in grasps),
        np.flatnonzero(own & model.active),
        np.flatnonzero(own & ~model.active),
        object_v,
    )
