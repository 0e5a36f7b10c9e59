# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Hinges and lines of a scene in MuJoCo: connects at two points, or to a carriage on a rail.

What they resist with is friction of tendons that take hold of the object itself: that of an axle
or a carriage of next to no mass would give way. A line has one along itself, a hinge a couple of
two, tangents of a circle about it, from a yoke that turns along.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from lxml import etree
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from robot_dynamics.model import transform_of
from robot_dynamics.simulation.contact.environment_joints import EnvironmentJoint
from robot_dynamics.simulation.contact.report import ContactReport, held
from robot_dynamics.simulation.mujoco_model import STIFF, add_connects, axis_points, placement

Array = NDArray[np.float64]

#: Mass of the carriage that a point on a line is connected to [kg].
CARRIAGE = 1e-4
# Ends of tendons at the part, and the way they pull the object there: a tendon gets as much longer
# as a line's point moves, or, with both branches, as a hinge turns.
_PULLS = {
    "hinge": (
        (np.array([0.5, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])),
        (np.array([-0.5, 0.0, 0.0]), np.array([0.0, -1.0, 0.0])),
    ),
    "line": ((np.zeros(3), np.array([0.0, 0.0, 1.0])),),
}
_LONG = 100.0  # Of tendons [m]: no object comes to their other end.
_ENDLESS = 1e12  # Bound of what damps [N, N m].
_IMPEDANCES = (1e-4, 0.9999)  # MuJoCo's bounds.


def add_environment_joint(
    environment_joint: EnvironmentJoint,
    world: etree._Element,
    body: etree._Element,
    pose: Array,
    sections: tuple[etree._Element, etree._Element, etree._Element],
    stiffness_time: float,
) -> None:
    """Add a hinge or a line, and sensors of what passes through it.

    Args:
        environment_joint: The hinge or the line.
        world: MuJoCo's world.
        body: Its object.
        pose: The object's pose at the start (4, 4): the carriage stands there.
        sections: MuJoCo's equalities, sensors and tendons.
        stiffness_time: Time constant [s].
    """
    equality, sensor, tendon = sections
    name, frame, part = environment_joint.name, environment_joint.frame, environment_joint.part
    # A body of its own without mass, so that a sensor sees the force pass through it.
    base = etree.SubElement(world, "body", name=f"{name}_base", **placement(transform_of(frame)))
    etree.SubElement(base, "site", name=f"{name}_base")
    other, places = base, axis_points()
    if environment_joint.kind == "line":
        along = np.linalg.inv(frame) @ pose @ part[:, 3]
        at = " ".join(repr(float(x)) for x in (0.0, 0.0, along[2]))
        other = etree.SubElement(base, "body", name=f"{name}_carriage", pos=at)
        etree.SubElement(other, "joint", name=f"{name}_rail", type="slide", axis="0 0 1")
        etree.SubElement(
            other, "inertial", mass=repr(CARRIAGE), pos="0 0 0", diaginertia="1e-8 1e-8 1e-8"
        )
        places = [np.zeros(3)]
    ends = ((other, np.eye(4), "world"), (body, part, "object"))
    add_connects(equality, name, ends, places, stiffness_time)
    for kind, word in (("force", "force"), ("torque", "moment")):
        etree.SubElement(sensor, kind, name=f"{name}_{word}", site=f"{name}_base")
    if environment_joint.resists:
        if environment_joint.kind == "hinge":
            at_part = placement(transform_of(pose @ part))
            base = etree.SubElement(world, "body", name=f"{name}_yoke", mocap="true", **at_part)
        _add_tendons(environment_joint, base, body, tendon, stiffness_time)


def _add_tendons(
    environment_joint: EnvironmentJoint,
    base: etree._Element,
    body: etree._Element,
    tendon: etree._Element,
    stiffness_time: float,
) -> None:
    """Add the tendons along which a hinge or a line resists: one for friction, one for damping."""
    name, part, pulls = (
        environment_joint.name,
        environment_joint.part,
        _PULLS[environment_joint.kind],
    )
    for i, (at, way) in enumerate(pulls):
        for parent, end, place in (
            (base, "far", at - _LONG * way),
            (body, "near", part[:3, :3] @ at + part[:3, 3]),
        ):
            pos = " ".join(repr(float(x)) for x in place)
            etree.SubElement(parent, "site", name=f"{name}_{end}_{i}", pos=pos)
    for word, bound in (("friction", environment_joint.friction), ("damping", _ENDLESS)):
        if getattr(environment_joint, word) == 0.0:
            continue
        spatial = etree.SubElement(
            tendon, "spatial", name=f"{name}_{word}", frictionloss=repr(float(bound)),
            solreffriction=f"{stiffness_time!r} 1", solimpfriction=STIFF,
        )  # fmt: skip
        for i in range(len(pulls)):
            if i:
                etree.SubElement(spatial, "pulley", divisor="1")
            for end in ("far", "near"):
                etree.SubElement(spatial, "site", site=f"{name}_{end}_{i}")


class MujocoEnvironmentJoints:
    """Looks at the hinges and lines of a scene in MuJoCo, and turns their yokes along.

    Args:
        mujoco: The engine's module.
        model: MuJoCo's model of the scene.
        data: Its state.
        environment_joints: The hinges and lines.
        body: Name of the object's body.
    """

    def __init__(
        self,
        mujoco: Any,
        model: Any,
        data: Any,
        environment_joints: Sequence[EnvironmentJoint],
        body: str,
    ) -> None:
        self._data, self._environment_joints = data, tuple(environment_joints)
        self._body = model.body(body).id
        first = int(model.jnt_qposadr[model.body_jntadr[self._body]])
        self._object_q = slice(first, first + 7)
        self._at = [
            [int(model.sensor(f"{one.name}_{word}").adr[0]) for word in ("moment", "force")]
            for one in self._environment_joints
        ]
        self._of_tendons = int(mujoco.mjtConstraint.mjCNSTR_FRICTION_TENDON)
        self._resisting = {
            int(model.tendon(f"{one.name}_{word}").id): i
            for i, one in enumerate(self._environment_joints)
            for word in ("friction", "damping")
            if getattr(one, word) > 0.0
        }
        for one in self._environment_joints:
            if one.damping > 0.0:
                _damp(model, model.tendon(f"{one.name}_damping").id, one.damping)
        self._yokes = [
            (one, int(model.body(f"{one.name}_yoke").mocapid[0]))
            for one in self._environment_joints
            if one.resists and one.kind == "hinge"
        ]
        self._sum, self._count = np.zeros((len(self._at), 6)), 0
        self._wrenches = np.zeros_like(self._sum)
        self._resisted_sum = np.zeros(len(self._at))
        self._resisted = np.zeros_like(self._resisted_sum)
        self._follow()

    def stepped(self) -> None:
        """Look at the forces after a step of the engine."""
        data = self._data
        for total, starts in zip(self._sum, self._at, strict=True):
            total += np.concatenate([data.sensordata[at : at + 3] for at in starts])
        if self._resisting:
            for row in np.flatnonzero(data.efc_type == self._of_tendons):
                i = self._resisting[int(data.efc_id[row])]
                self._resisted_sum[i] += data.efc_force[row]
        self._count += 1
        self._follow()

    def _follow(self) -> None:
        """Turn the yokes to where the object is now."""
        for one, at in self._yokes:
            x, (w, *v) = self._data.qpos[self._object_q][:3], self._data.qpos[self._object_q][3:]
            turn = Rotation.from_quat([*v, w])
            self._data.mocap_pos[at] = x + turn.apply(one.part[:3, 3])
            qx, qy, qz, qw = (turn * Rotation.from_matrix(one.part[:3, :3])).as_quat()
            self._data.mocap_quat[at] = [qw, qx, qy, qz]

    def take(self) -> None:
        """Let the forces of a control period be the mean of its steps."""
        steps = max(self._count, 1)
        self._wrenches, self._resisted = self._sum / steps, self._resisted_sum / steps
        self._sum, self._resisted_sum = np.zeros_like(self._sum), np.zeros_like(self._resisted_sum)
        self._count = 0

    def openings(self) -> tuple[float, float]:
        """Return by how much they are open at most [m], [rad]."""
        position = rotation = 0.0
        for one in self._environment_joints:
            off = one.frame[:3, :3].T @ (self._place(one) - one.frame[:3, 3])
            if one.kind == "line":
                position = max(position, float(np.hypot(*off[:2])))
                continue
            turned = self._data.xmat[self._body].reshape(3, 3) @ one.part[:3, 2]
            tilt = float(np.linalg.norm(np.cross(turned, one.frame[:3, 2])))
            position, rotation = max(position, float(np.linalg.norm(off))), max(rotation, tilt)
        return position, rotation

    def reports(self) -> list[ContactReport]:
        """Return what there is to say of each."""
        found = []
        for one, wrench, resisted in zip(
            self._environment_joints, self._wrenches, self._resisted, strict=True
        ):
            axes, point = one.frame[:3, :3].T, self._place(one)
            # As at a wrist, what the base's parent exerts; about the part, where it is now.
            about = wrench.copy()
            about[:3] -= np.cross(axes @ (point - one.frame[:3, 3]), wrench[3:])
            exerted = np.zeros(6)
            exerted[list(one.components)] = about[list(one.components)]
            exerted[one.free] = resisted
            found.append(held(one.name, point, axes, exerted[3:], exerted[:3]))
        return found

    def _place(self, one: EnvironmentJoint) -> Array:
        turn = self._data.xmat[self._body].reshape(3, 3)
        return np.asarray(self._data.xpos[self._body] + turn @ one.part[:3, 3])


def _damp(model: Any, tendon: int, damping: float) -> None:
    """Let a tendon damp by what its rate is at the end of the step, however much that is.

    MuJoCo's friction is f = -(a + b v) / R within its bound, with R = (1 - d) / d of the mobility
    A there. With h b = 1 and h R damping = 1 that is -damping (v + h a); d is bounded.
    """
    h, A = float(model.opt.timestep), float(model.tendon_invweight0[tendon])
    d = float(np.clip(1.0 - 1.0 / (1.0 + h * damping * A), *_IMPEDANCES))
    b = min(damping * A * (1.0 - d) / d, 1.0 / h)
    model.tendon_solimp_fri[tendon, :2] = d
    # What is negative is meant as it is: stiffness, which friction has none of, and damping.
    model.tendon_solref_fri[tendon] = [-1.0, -b * d]
