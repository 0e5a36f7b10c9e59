# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Grasp system: arms, object and grasps as one closed-loop model, and indices of its vectors."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.arrays import Array
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

IntArray = NDArray[np.intp]


@dataclass(frozen=True)
class Arm:
    """An arm of a grasp system.

    Attributes:
        name: Its name.
        joints: Names of its joints, base to tip; for an arm with internal closed chains, of its
            drives only, since passive joints are neither measured nor commanded.
        q_index: Indices of `joints` in the model's positions.
        v_index: Indices of `joints` in the model's velocities.
        tool: The link that holds the object.
        loop: Index of its grasp among the model's loop joints.
        load_share: Its share of the object's load.
        posture: Initial guess of its joint positions at the start (n,).
        passive_joints: Names of the passive joints of an arm with internal closed chains.
        contact: Contact of its tool with the object: kind, directions and limits; rigid by
            default. Its frame is set by `GraspSystem.contacts`.
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
    """Arms that hold one object: a model with a floating object and one grasp loop per arm.

    The joint of a jointed object is a further loop joint: the first arm holds the first part, the
    second arm the second part.

    Attributes:
        model: Arms, object, and for each arm a loop joint "<arm>_grasp" from its tool to the
            object; the object's inertia and the grasps are variable parameters.
        arms: The arms, in the order of stacked vectors.
        object_body: Index of the object's body, or of its first part.
        object_joint: Index of the loop joint between the parts; None for a rigid object.
        internal_chains: Index of the first internal closed chain of the arms in the model's loop
            joints; None without internal closed chains.
        assembled: Positions of `arms_alone` that close the internal closed chains at the postures;
            empty without them.
    """

    model: Model
    arms: tuple[Arm, ...]
    object_body: int
    object_joint: int | None = None
    internal_chains: int | None = None
    assembled: tuple[float, ...] = ()

    @property
    def object_loop_joint(self) -> LoopJoint | None:
        """The joint from the object's first to its second part; None for a rigid object."""
        return None if self.object_joint is None else self.model.loops[self.object_joint]

    @cached_property
    def arms_alone(self) -> Model:
        """Model of the arms without object and grasps, with their internal closed chains."""
        own = () if self.internal_chains is None else self.model.loops[self.internal_chains :]
        return arms_of(self.model, self.object_bodies, own)

    @cached_property
    def passive_joints(self) -> PassiveJoints:
        """Motion of the passive joints from the drives, in the order of the model."""
        arms = self.arms_alone
        if self.internal_chains is None:
            return PassiveJoints.of_tree(arms)
        drives = [arms.v_slices[arms.joint_index(name)].start for name in self.joint_names]
        return PassiveJoints.of(arms, drives, self.assembled)

    @cached_property
    def every_q(self) -> IntArray:
        """Indices of all joints of the arms in the model's positions, passive joints included.

        Arm by arm without internal closed chains, else in the order of `arms_alone`.
        """
        return self.q_index if self.internal_chains is None else self._of_arms(self.model.q_slices)

    @cached_property
    def every_v(self) -> IntArray:
        """Indices of the joints of `every_q` in the model's velocities."""
        return self.v_index if self.internal_chains is None else self._of_arms(self.model.v_slices)

    def _of_arms(self, slices: Sequence[slice]) -> IntArray:
        arms = [i for i in range(len(slices)) if i not in self.object_bodies]
        return np.array([slices[i].start for i in arms], dtype=np.intp)

    def positions(self, q: ArrayLike, near: Array | None = None) -> Array:
        """Return positions (nq,) of the model with arm joints at `q` (na,).

        The object is at its zero position. Passive joints follow the drives.

        Args:
            q: Positions of the arm joints.
            near: Nearby positions (nq,) that close the internal closed chains; `assembled` by
                default.

        Raises:
            RobotDynamicsError: If the internal closed chains do not close at `q`.
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
        """Indices of the drives of `passive_joints` in the model's positions."""
        return self.every_q[list(self.passive_joints.drives)]

    def motions(self, at: Array) -> Array:
        """Return velocities (na, nv) of all joints for a unit velocity of each arm joint.

        Args:
            at: Positions (nq,) of the model that close the internal closed chains.
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
            what: The formulation that does not support them, for the message.

        Raises:
            RobotDynamicsError: If an arm has an internal closed chain.
        """
        if self.internal_chains is not None:
            name = self.model.loops[self.internal_chains].name
            raise RobotDynamicsError(
                f"loop {name!r} is an internal closed chain of an arm; {what} expected arms "
                "without loops: use `law: hybrid`."
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
        """Axes of the internal force: "rx", "ry", "rz" for moments, "x", "y", "z" for forces.

        Axes along which the object's joint transmits force, or six for each arm but the last.
        """
        joint = self.object_loop_joint
        if joint is None:
            return ("rx", "ry", "rz", "x", "y", "z") * (len(self.arms) - 1)
        return tuple(row.direction for row in joint.type.rows)

    @property
    def internal_force_names(self) -> tuple[str, ...]:
        """Names of the components of `internal_axes`; laws of contacts have names of their own.

        Moments and forces in the object's joint; for two arms `TRANSMITTED`; for more arms
        `TRANSMITTED` for each arm but the last.
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
    def joint_units(self) -> tuple[str, ...]:
        """Units of the positions of the arm joints, "rad" or "m", arm by arm."""
        turns = self.model.turning_freedoms[self.v_index]
        return tuple("rad" if turning else "m" for turning in turns)

    @cached_property
    def q_index(self) -> IntArray:
        """Indices of the arm joints in the model's positions, arm by arm."""
        return np.concatenate([arm.q_index for arm in self.arms])

    @cached_property
    def v_index(self) -> IntArray:
        """Indices of the arm joints in the model's velocities, arm by arm."""
        return np.concatenate([arm.v_index for arm in self.arms])

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the arm joints, arm by arm."""
        return tuple(name for arm in self.arms for name in arm.joints)

    @cached_property
    def passive_joint_names(self) -> tuple[str, ...]:
        """Names of the passive joints, arm by arm."""
        return tuple(name for arm in self.arms for name in arm.passive_joints)

    @cached_property
    def arm_slices(self) -> tuple[slice, ...]:
        """Slice of each arm in vectors over the arm joints."""
        ends = np.cumsum([0, *(len(arm.joints) for arm in self.arms)])
        return tuple(slice(int(a), int(b)) for a, b in pairwise(ends))

    @cached_property
    def object_q(self) -> slice:
        """Slice of the object's pose in the model's positions."""
        return self.model.q_slices[self.object_body]

    @cached_property
    def object_v(self) -> slice:
        """Slice of the object's velocity in the model's velocities."""
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

        For a jointed object, the poses at which the joint's frames coincide.
        """
        own = [pose_of(self.model.loops[arm.loop].successor_placement) for arm in self.arms]
        if self.object_loop_joint is not None:
            own[1] = self.second_part @ own[1]
        return own

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """Contact of each arm with the object, its frame at the grasp."""
        pairs = zip(self.arms, self.grasps, strict=True)
        return tuple(arm.contact.at(grasp) for arm, grasp in pairs)

    @property
    def second_part(self) -> Array:
        """Pose (4, 4) of the second part in the first at which the joint's frames coincide."""
        joint = self.object_loop_joint
        if joint is None:
            return np.eye(4)
        on_first, on_second = pose_of(joint.predecessor_placement), joint.successor_placement
        return np.asarray(on_first @ pose_of(on_second.inverse()))

    def with_object(
        self, *, mass: float | None = None, inertia: Inertia | None = None
    ) -> GraspSystem:
        """Return the system with another object inertia, or its own scaled to a mass [kg].

        Args:
            mass: Mass of the whole object.
            inertia: Inertia of its only body, or of its first part.
        """
        inertias: dict[str, Inertia] = {}
        if inertia is not None:
            inertias[self.model.bodies[self.object_body].name] = inertia
        if mass is not None:
            if not (np.isfinite(mass) and mass > 0.0):
                raise RobotDynamicsError(
                    f"the object mass is {mass!r} kg; expected a positive number."
                )
            factor = mass / self.object_mass
            for index in self.object_bodies:
                body = self.model.bodies[index]
                own = body.inertia.components()
                inertias[body.name] = Inertia.of([value * factor for value in own])
        return replace(self, model=self.model.replace(inertia=inertias)) if inertias else self

    def with_grasp_error(self, errors: dict[str, Array]) -> GraspSystem:
        """Return the system with displaced grasps.

        Args:
            errors: Displacement (4, 4) in the grasp frame, by the name of the arm.
        """
        moved = {}
        for name, error in errors.items():
            arm = self.arm(name)
            loop = self.model.loops[arm.loop]
            moved[loop.name] = transform_of(pose_of(loop.successor_placement) @ error)
        return replace(self, model=self.model.replace(successor_placement=moved))

    def arm(self, name: str) -> Arm:
        """Return the arm with a name.

        Raises:
            UnknownNameError: If no arm has this name.
        """
        for arm in self.arms:
            if arm.name == name:
                return arm
        raise UnknownNameError("arm", name, (arm.name for arm in self.arms))


def arms_of(model: Model, objects: Collection[int], loops: Sequence[LoopJoint]) -> Model:
    """Return the model of the arms alone, without the bodies of objects.

    Args:
        model: Arms and objects.
        objects: Indices of the objects' bodies, which must carry no other bodies.
        loops: The loop joints of the arms, which are kept.
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
