# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms, object and grasps as one closed-loop model, and where each stands in its vectors."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.errors import RobotDynamicsError, UnknownNameError
from robot_dynamics.manipulation.grasp_map import TRANSMITTED
from robot_dynamics.manipulation.hybrid.contacts import Contact
from robot_dynamics.manipulation.passive_joints import PassiveJoints
from robot_dynamics.model import (
    LoopJoint,
    Model,
    pose_of,
    transform_of,
)
from robot_dynamics.spatial import Inertia

Array = NDArray[np.float64]
IntArray = NDArray[np.intp]


@dataclass(frozen=True)
class Arm:
    """An arm of a grasp system.

    Attributes:
        name: Its name.
        joints: Names of its joints, base to tip; of an arm with internal closed chains, those of
            its drives; the others are neither measured nor commanded.
        q_index: Where they stand in the model's positions.
        v_index: Where they stand in the model's velocities.
        tool: The link that holds the object.
        loop: Index of its grasp among the model's loop joints.
        load_share: Its part of the object's load.
        posture: Positions where the search of the start begins (n,).
        passive_joints: Names of the joints without drives, of an arm with internal closed chains.
        contact: How its tool holds the object: kind, directions and limits; rigidly by default.
            Its frame is that of the grasp, see `GraspSystem.contacts`.
        sensor_tool_mass: Mass of the tool that its wrist sensor carries [kg].
        sensor_tool_center: Centre of that mass in the tool link's frame [m].
        sensor_frame: The link in whose frame the sensor measures; the tool link if empty.
    """

    name: str
    joints: tuple[str, ...]
    q_index: IntArray
    v_index: IntArray
    tool: str
    loop: int
    load_share: float
    posture: Array
    passive_joints: tuple[str, ...] = ()
    contact: Contact = field(default_factory=lambda: Contact.of_kind("rigid", np.eye(4)))
    sensor_tool_mass: float = 0.0
    sensor_tool_center: tuple[float, float, float] = (0.0, 0.0, 0.0)
    sensor_frame: str = ""


@dataclass(frozen=True)
class GraspSystem:
    """Arms that hold one object: a model with a floating object and one grasp loop an arm.

    An object of two parts has a joint between them, a loop joint of its own: the first arm holds
    the first part, the second arm the other.

    Attributes:
        model: Arms, object, and for each arm a loop joint "<arm>_grasp" from its tool to the
            object; the object's inertia and the grasps are variable parameters.
        arms: The arms, in the order of stacked vectors.
        object_body: Index of the object's body, of its first part if it has two.
        object_joint: Index of the loop joint between its parts; None of a rigid object.
        internal_chains: Where the internal closed chains of the arms begin among the model's loop
            joints; None without.
        assembled: Positions of the arms' model (see `arms_alone`) that close their internal closed
            chains, at the postures; empty without loops.
    """

    model: Model
    arms: tuple[Arm, ...]
    object_body: int
    object_joint: int | None = None
    internal_chains: int | None = None
    assembled: tuple[float, ...] = ()

    @property
    def object_loop_joint(self) -> LoopJoint | None:
        """The joint between the object's parts, from the first to the second, if it has any."""
        return None if self.object_joint is None else self.model.loops[self.object_joint]

    @cached_property
    def arms_alone(self) -> Model:
        """The arms without the object and without grasps; their internal closed chains stay."""
        own = () if self.internal_chains is None else self.model.loops[self.internal_chains :]
        return arms_of(self.model, self.object_bodies, own)

    @cached_property
    def passive_joints(self) -> PassiveJoints:
        """What the arms' joints without drives do, from their drives in the order of the model."""
        arms = self.arms_alone
        if self.internal_chains is None:
            return PassiveJoints.of_tree(arms)
        drives = [arms.v_slices[arms.joint_index(name)].start for name in self.joint_names]
        return PassiveJoints.of(arms, drives, self.assembled)

    @cached_property
    def every_q(self) -> IntArray:
        """Where all joints of the arms stand in the model's positions, those without drives too.

        Arm by arm without loops, else in the order of `arms_alone`.
        """
        return self.q_index if self.internal_chains is None else self._of_arms(self.model.q_slices)

    @cached_property
    def every_v(self) -> IntArray:
        """Where all joints of the arms stand in the model's velocities, likewise."""
        return self.v_index if self.internal_chains is None else self._of_arms(self.model.v_slices)

    def _of_arms(self, slices: Sequence[slice]) -> IntArray:
        arms = [i for i in range(len(slices)) if i not in self.object_bodies]
        return np.array([slices[i].start for i in arms], dtype=np.intp)

    def positions(self, q: ArrayLike, near: Array | None = None) -> Array:
        """Return positions (nq,) of the model with arm joints at `q` (na,).

        The object is at its zero. Joints without drives follow those with one.

        Args:
            q: Positions of the arm joints.
            near: Positions (nq,) nearby that close the internal closed chains of the arms; at
                their postures by default.

        Raises:
            RobotDynamicsError: If the internal closed chains of the arms do not close there.
        """
        at = self._neutral.copy()
        at[self.q_index] = q
        if self.internal_chains is not None:
            from_there = None if near is None else near[self.every_q]
            at[self.every_q] = self.passive_joints.positions(at[self._drives], from_there)
        return at

    @cached_property
    def _neutral(self) -> Array:
        return self.model.neutral()

    @cached_property
    def _drives(self) -> IntArray:
        """Where the drives of `passive_joints` stand in the model's positions."""
        return self.every_q[list(self.passive_joints.drives)]

    def motions(self, at: Array) -> Array:
        """Return what all joints do (na, nv) if one arm joint after the other moves by one.

        Args:
            at: Positions (nq,) of the model, the internal closed chains of the arms closed.
        """
        found = np.zeros((len(self.v_index), self.model.nv))
        if self.internal_chains is None:
            found[np.arange(len(found)), self.v_index] = 1.0
            return found
        drives = self.every_v[list(self.passive_joints.drives)].tolist()
        for row, index in zip(found, self.v_index.tolist(), strict=True):
            unit = np.zeros(len(drives))
            unit[drives.index(index)] = 1.0
            row[self.every_v] = self.passive_joints.rates(at[self.every_q], unit)
        return found

    def path(self, arm: Arm) -> tuple[str, ...]:
        """Return the names of an arm's joints from base to tool."""
        bodies = self.model.support(self.model.link(arm.tool).body)
        return tuple(self.model.bodies[body].joint.name for body in bodies)

    def require_plain_arms(self, what: str) -> None:
        """Refuse arms with internal closed chains.

        Args:
            what: What does not support them.

        Raises:
            RobotDynamicsError: If there are any.
        """
        if self.internal_chains is not None:
            name = self.model.loops[self.internal_chains].name
            raise RobotDynamicsError(
                f"loop {name!r} is an internal chain of an arm, which {what} does not support; "
                "expected arms without loops, or `law: hybrid`."
            )

    @property
    def object_bodies(self) -> tuple[int, ...]:
        """Indices of the object's bodies: one, or its parts."""
        joint = self.object_loop_joint
        return (self.object_body,) if joint is None else (self.object_body, joint.successor)

    @property
    def object_mass(self) -> float:
        """Mass of the whole object [kg]."""
        bodies = self.model.bodies
        return float(sum(bodies[b].inertia.components()[0] for b in self.object_bodies))

    @property
    def internal_axes(self) -> tuple[str, ...]:
        """What the components of the force within the object are: moments "rx", forces "x" ...

        Those that its joint transmits, or six for each arm but the last.
        """
        joint = self.object_loop_joint
        if joint is None:
            return ("rx", "ry", "rz", "x", "y", "z") * (len(self.arms) - 1)
        return tuple(row.direction for row in joint.type.rows)

    @property
    def internal_force_names(self) -> tuple[str, ...]:
        """Names of the components of `internal_axes`, which laws of contacts have other ones for.

        Moments and forces in the object's joint; of two grasps `TRANSMITTED`, of more arms these
        for each but the last.
        """
        if self.object_loop_joint is not None:
            return tuple(
                f"moment {axis[1:]}" if axis.startswith("r") else f"force {axis}"
                for axis in self.internal_axes
            )
        if len(self.arms) == 2:
            return TRANSMITTED
        return tuple(f"{name} of {arm.name}" for arm in self.arms[:-1] for name in TRANSMITTED)

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
    def passive_joint_names(self) -> tuple[str, ...]:
        """Names of the joints without drives, of arms with loops, arm by arm."""
        return tuple(name for arm in self.arms for name in arm.passive_joints)

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
        """Pose (4, 4) of each grasp frame in the object's body frame.

        Of an object with a joint they are those where the joint's frames coincide.
        """
        own = [pose_of(self.model.loops[arm.loop].successor_placement) for arm in self.arms]
        if self.object_loop_joint is not None:
            own[1] = self.second_part @ own[1]
        return own

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """How each arm holds the object, its frame at the arm's grasp on the object."""
        pairs = zip(self.arms, self.grasps, strict=True)
        return tuple(arm.contact.at(grasp) for arm, grasp in pairs)

    @property
    def second_part(self) -> Array:
        """Pose (4, 4) of the second part in the first where the frames of their joint coincide."""
        joint = self.object_loop_joint
        if joint is None:
            return np.eye(4)
        on_first, on_second = pose_of(joint.predecessor_placement), joint.successor_placement
        return np.asarray(on_first @ pose_of(on_second.inverse()))

    def with_object(
        self, *, mass: float | None = None, inertia: Inertia | None = None
    ) -> GraspSystem:
        """Return the system with another object inertia, or its own scaled to a mass [kg].

        A mass is that of the whole object, an inertia that of its only, or its first, body.
        """
        inertias: dict[str, Inertia] = {}
        if inertia is not None:
            inertias[self.model.bodies[self.object_body].name] = inertia
        if mass is not None:
            if not (np.isfinite(mass) and mass > 0.0):
                raise RobotDynamicsError(f"object mass {mass!r} kg: expected a positive number.")
            factor = mass / self.object_mass
            for index in self.object_bodies:
                body = self.model.bodies[index]
                own = body.inertia.components()
                inertias[body.name] = Inertia.of([value * factor for value in own])
        return replace(self, model=self.model.replace(inertia=inertias)) if inertias else self

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
