# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms, object and grasps as one closed-loop model, and where each stands in its vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import RobotDynamicsError, UnknownNameError, require_length
from robot_dynamics.model import (
    WORLD,
    LoopElement,
    Mechanism,
    Model,
    build,
    pose_of,
    transform_of,
)
from robot_dynamics.spatial import Inertia, Transform

Array = NDArray[np.float64]
IntArray = NDArray[np.intp]


@dataclass(frozen=True)
class Arm:
    """An arm of a grasp system.

    Attributes:
        name: Its name.
        joints: Names of its joints, base to tip.
        q_index: Where they stand in the model's positions.
        v_index: Where they stand in the model's velocities.
        tool: The link that holds the object.
        loop: Index of its grasp among the model's loop joints.
        load_share: Its part of the object's load.
        posture: Positions from which the start is looked for (n,).
    """

    name: str
    joints: tuple[str, ...]
    q_index: IntArray
    v_index: IntArray
    tool: str
    loop: int
    load_share: float
    posture: Array


@dataclass(frozen=True)
class GraspSystem:
    """Arms that hold one object: a model with a floating object and one grasp loop an arm.

    Attributes:
        model: Arms, object, and for each arm a loop joint "<arm>_grasp" from its tool to the
            object; the object's inertia and the grasps are variable parameters.
        arms: The arms, in the order of stacked vectors.
        object_body: Index of the object's body.
    """

    model: Model
    arms: tuple[Arm, ...]
    object_body: int

    @cached_property
    def q_index(self) -> IntArray:
        """Where the arm joints stand in the model's positions, arm by arm."""
        return np.concatenate([arm.q_index for arm in self.arms])

    @cached_property
    def v_index(self) -> IntArray:
        """Where the arm joints stand in the model's velocities, arm by arm."""
        return np.concatenate([arm.v_index for arm in self.arms])

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the arm joints, arm by arm."""
        return tuple(name for arm in self.arms for name in arm.joints)

    @cached_property
    def arm_slices(self) -> tuple[slice, ...]:
        """Where each arm stands in a vector over the arm joints."""
        ends = np.cumsum([0, *(len(arm.joints) for arm in self.arms)])
        return tuple(slice(int(a), int(b)) for a, b in pairwise(ends))

    @cached_property
    def object_q(self) -> slice:
        """Where the object's pose stands in the model's positions."""
        return self.model.q_slices[self.object_body]

    @cached_property
    def object_v(self) -> slice:
        """Where the object's velocity stands in the model's velocities."""
        return self.model.v_slices[self.object_body]

    @cached_property
    def limits(self) -> dict[str, Array]:
        """Lower, upper, velocity and effort limits over the arm joints."""
        return {name: values[self.v_index] for name, values in self.model.limits().items()}

    @cached_property
    def posture(self) -> Array:
        """The arms' postures, stacked."""
        return np.concatenate([arm.posture for arm in self.arms])

    @property
    def grasps(self) -> list[Array]:
        """Pose (4, 4) of each grasp frame in the object's body frame."""
        return [pose_of(self.model.loops[arm.loop].successor_placement) for arm in self.arms]

    def with_object(
        self, *, mass: float | None = None, inertia: Inertia | None = None
    ) -> GraspSystem:
        """Return the system with another object inertia, or its own scaled to a mass [kg]."""
        body = self.model.bodies[self.object_body]
        if mass is not None:
            if not (np.isfinite(mass) and mass > 0.0):
                raise RobotDynamicsError(f"object mass {mass!r} kg: expected a positive number.")
            own = body.inertia.components()
            inertia = Inertia.of([value * (mass / own[0]) for value in own])
        if inertia is None:
            return self
        return replace(self, model=self.model.replace(inertia={body.name: inertia}))

    def with_grasp_error(self, errors: dict[str, Array]) -> GraspSystem:
        """Return the system with displaced grasps: by arm a pose (4, 4) in its grasp frame."""
        moved = {}
        for name, error in errors.items():
            arm = self.arm(name)
            loop = self.model.loops[arm.loop]
            moved[loop.name] = transform_of(pose_of(loop.successor_placement) @ error)
        return replace(self, model=self.model.replace(successor_placement=moved))

    def arm(self, name: str) -> Arm:
        """Return an arm by its name.

        Raises:
            UnknownNameError: If there is none of this name.
        """
        for arm in self.arms:
            if arm.name == name:
                return arm
        raise UnknownNameError("arm", name, (arm.name for arm in self.arms))


@dataclass(frozen=True)
class ArmGrasp:
    """What `grasp_system` needs to know of an arm; see `settings.ArmSettings`."""

    name: str
    tool: str
    grasp: Array
    posture: Sequence[float]
    load_share: float


def grasp_system(
    mechanism: Mechanism,
    object_link: str,
    arms: Sequence[ArmGrasp],
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
) -> GraspSystem:
    """Return the closed-loop system of arms in a mechanism that hold one of its links.

    Args:
        mechanism: Arms and the object, the object on a floating joint, everything else on the
            base or part of an arm.
        object_link: The object's root link.
        arms: The arms; at least one.
        gravity: Acceleration of gravity [m/s^2].

    Raises:
        RobotDynamicsError: If a joint belongs to no arm or to two, if a posture has the wrong
            length, or if the object is not a single floating body.
    """
    names = [arm.name for arm in arms]
    if len(set(names)) != len(names) or not names:
        raise RobotDynamicsError(
            f"arms {names}: expected at least one arm, each with its own name."
        )
    carriers = [joint for joint in mechanism.joints if joint.child == object_link]
    if not any(joint.type == "floating" for joint in carriers):
        raise RobotDynamicsError(f"object link {object_link!r} is not on a floating joint.")
    loops = [
        LoopElement(f"{arm.name}_grasp", "fixed", arm.tool, object_link, np.eye(4), arm.grasp)
        for arm in arms
    ]
    variable = {object_link, *(loop.name for loop in loops)}
    model = build(mechanism.with_loops(loops), gravity=gravity, variable=variable)
    object_body = model.link(object_link).body
    carrier = model.bodies[object_body]
    if carrier.parent != WORLD or carrier.placement != Transform.identity():
        raise RobotDynamicsError(
            f"object link {object_link!r} floats relative to another frame than the world, "
            "expected its joint at the world's origin: its positions are its pose in the world."
        )
    owner: dict[int, str] = {}
    result = []
    for index, arm in enumerate(arms):
        path = model.support(model.link(arm.tool).body)
        for body in path:
            joint = model.bodies[body].joint
            if joint.type.nv != 1:
                raise RobotDynamicsError(
                    f"arm {arm.name!r}: joint {joint.name!r} is {joint.type.name}, expected "
                    "joints with one degree of freedom between the base and the tool."
                )
            if body in owner:
                raise RobotDynamicsError(
                    f"joint {joint.name!r} carries both arm {owner[body]!r} and arm {arm.name!r}."
                )
            owner[body] = arm.name
        posture = np.asarray(arm.posture, dtype=float)
        require_length(
            f"posture of arm {arm.name!r}",
            posture.tolist(),
            len(path),
            "one a joint: " + ", ".join(model.bodies[b].joint.name for b in path),
        )
        result.append(
            Arm(
                arm.name,
                tuple(model.bodies[b].joint.name for b in path),
                np.array([model.q_slices[b].start for b in path], dtype=np.intp),
                np.array([model.v_slices[b].start for b in path], dtype=np.intp),
                arm.tool,
                index,
                arm.load_share,
                posture,
            )
        )
    for i, name in enumerate(model.joint_names):
        if i not in owner and i != object_body:
            raise RobotDynamicsError(
                f"joint {name!r} belongs to no arm; lock it under 'locked' of its robot."
            )
    return GraspSystem(model, tuple(result), object_body)
