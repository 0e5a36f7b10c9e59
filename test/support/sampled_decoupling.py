# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Steps of motion, contact force and internal force under sampled control: what they disturb."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.control.hybrid.controller import HybridController
from robot_dynamics.control.hybrid.settings import HybridSettings
from robot_dynamics.control.reference import TIME_LAWS
from robot_dynamics.control.settings import (
    ControlSettings,
    FrictionSettings,
    SafetySettings,
    StartSettings,
)
from robot_dynamics.model import LinkElement, pose
from support.hybrid_plant import HybridPlant, Plane
from support.mechanisms import BENT, holding, plain_arm

# A floor and a wall that points of the box touch; the box is free to move along y.
PLANES = (Plane((0.05, 0.0, -0.12), (0.0, 0.0, -1.0)), Plane((0.12, 0.0, 0.03), (1.0, 0.0, 0.0)))
STEP = 2.5e-4  # of integration [s]
SMOOTH = 0.05  # duration of a step [s]
BEGIN, END = 0.3, 0.45  # when it begins, and when all is over, after the ramp [s]
MOVE, FORCE = 0.01, 10.0  # how far steps go [m, N]


# Links of 1.5 kg in the mean, and the box as heavy as the object there: as in the exact sweep.
LIGHTER, BOX = 0.54, 3.0


def cell_of(count, joints):
    """Return arms around a box."""
    box = LinkElement("box", BOX, (0.01, -0.02, 0.03), np.diag([0.036, 0.03, 0.024]))
    grasps = []
    for i in range(count):
        turn = Rotation.from_euler("z", 2.0 * np.pi * i / count)
        inward = turn * Rotation.from_euler("x", np.pi / 2)  # z along -y
        grasps.append(pose(turn.apply([0.0, 0.15, 0.0]), inward.as_matrix()))
    arms = [_lighter(plain_arm(f"arm{i}", joints)) for i in range(count)]
    shares = [1.0 / count] * count
    return holding(arms, box, grasps, [BENT[:joints]] * count, shares)


def _lighter(arm):
    """Return an arm with links of a part of their mass."""
    links = [
        replace(link, mass=LIGHTER * link.mass, inertia=LIGHTER * np.asarray(link.inertia))
        for link in arm.links
    ]
    return replace(arm, links=tuple(links))


@dataclass(frozen=True)
class Steps:
    """A plan at rest but for one step.

    Attributes:
        start: Pose of the object at the beginning (7,).
        surfaces: C.
        internal: m.
        what: "motion", "contact" or "internal".
    """

    start: np.ndarray
    surfaces: int
    internal: int
    what: str
    duration: float = END

    def rows(self, times):
        """Return rows (N, 19 + 2 C + m)."""
        t = np.atleast_1d(np.asarray(times, dtype=float))
        u, C = np.clip((t - BEGIN) / SMOOTH, 0.0, 1.0), self.surfaces
        law = TIME_LAWS["quintic"]
        rows = np.zeros((len(t), 19 + 2 * C + self.internal))
        rows[:, :7] = self.start
        rows[:, 19 : 19 + C], rows[:, 19 + C : 19 + 2 * C] = FORCE, 1.0
        # The first internal force is a squeeze.
        rows[:, 19 + 2 * C] = 2.0 * FORCE
        if self.what == "motion":
            inside = (u > 0.0) & (u < 1.0)
            rows[:, 1] += MOVE * law(u)
            rows[:, 11] = MOVE * law.deriv(1)(u) / SMOOTH * inside
            rows[:, 17] = MOVE * law.deriv(2)(u) / SMOOTH**2 * inside
        elif self.what == "contact":
            rows[:, 19] += FORCE * law(u)
        else:
            rows[:, 19 + 2 * C] += FORCE * law(u)
        return rows

    def settled_intervals(self, settle_s):
        """Return none: nobody asks."""
        return []


@dataclass(frozen=True)
class Disturbed:
    """The largest deviations during a step.

    A torque that is held is right for the middle of its period, and the force that it makes
    strays on the way: by as much before as after. Forces are therefore given at every step of
    integration, and as means over control periods.

    Attributes:
        position: Of the object's origin [m].
        rotation: Of the object [rad].
        contact: Of the forces on planes [N].
        force: Of internal forces [N].
        moment: Of internal moments [N m].
        mean_contact: Of the forces on planes, as means over periods [N].
        mean_force: Of internal forces, likewise [N].
    """

    position: float
    rotation: float
    contact: float
    force: float
    moment: float
    mean_contact: float
    mean_force: float


def run(count, kind, surfaces, joints, what, period, **more):
    """Return what a step of one kind disturbs, with sampled control of a perfect model."""
    cell = cell_of(count, joints)
    plant = HybridPlant(cell, kind, PLANES[:surfaces], STEP)
    control = controller_of(plant, cell, what, period, **more)
    q, qd = plant.joints
    control.start(q, qd)
    plan, ramp = control.reference, control.ramp_ticks * period
    distribution = control.distribution
    moments = np.array(["moment" in name or "twist" in name or "bending" in name
                        for name in distribution.names])  # fmt: skip
    wrenches, worst = None, np.zeros(7)
    per_period = round(period / STEP)
    for tick in range(round((ramp + END) / period)):
        q, qd = plant.joints
        if tick:
            wrenches = plant.wrenches
            if surfaces:
                control.sense(contact_force=plant.surface_forces)
        torque = control.update(tick, q, qd, wrenches).torque
        strayed = np.zeros(surfaces + len(moments))
        for k in range(per_period):
            plant.advance(torque)
            t = tick * period + (k + 1) * STEP - ramp
            if t < BEGIN - 0.02:
                continue
            row = plan.rows([t])[0]
            pose_q = plant.q[plant.system.object_q]
            inside = distribution.internal_force(plant.contact_forces)
            contact = plant.surface_forces - row[19 : 19 + surfaces]
            off = inside - row[19 + 2 * surfaces :]
            strayed += np.concatenate([contact, off]) / per_period
            turned = Rotation.from_quat(pose_q[3:]) * Rotation.from_quat(row[3:7]).inv()
            found = [
                np.linalg.norm(pose_q[:3] - row[:3]),
                turned.magnitude(),
                np.abs(contact).max(initial=0.0),
                np.abs(off[~moments]).max(initial=0.0),
                np.abs(off[moments]).max(initial=0.0),
            ]
            worst[:5] = np.maximum(worst[:5], found)
        mean = np.abs(strayed)
        worst[5] = max(worst[5], mean[:surfaces].max(initial=0.0))
        worst[6] = max(worst[6], mean[surfaces:][~moments].max(initial=0.0))
    return Disturbed(*worst.tolist())


def controller_of(plant, cell, what, period, hybrid=None, **more):
    """Return the controller of a plant, without friction, delay or limits."""
    settings = ControlSettings(
        rate_hz=1.0 / period,
        start=StartSettings(ramp_s=0.02),
        command_delay_periods=0,
        friction=FrictionSettings(share=0.0),
        **more,
    )
    surfaces = len(plant.environment.surfaces)
    internal = sum(contact.directions.shape[1] for contact in plant.contacts) - 6
    plan = Steps(cell.start[cell.system.object_q], surfaces, internal, what)
    return HybridController(
        cell.system,
        settings,
        SafetySettings(torque_rate=np.inf),
        plan,
        contacts=plant.contacts,
        environment=plant.environment,
        hybrid=hybrid or HybridSettings(),
    )
