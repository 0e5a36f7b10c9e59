# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Steps of motion, contact force and internal force under sampled control: disturbances."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.control.hybrid.law import HybridLaw
from robot_dynamics.control.reference import TIME_LAWS
from robot_dynamics.control.settings import (
    ControlSettings,
    FrictionSettings,
    SafetySettings,
    StartSettings,
)
from robot_dynamics.model import LinkElement, pose
from support.hybrid_plant import HybridPlant, Plane
from support.hybrid_systems import LINKAGE
from support.linkage_arms import linkage_cell
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
    """Return arms around a box; with linkages and six drives each if joints is `LINKAGE`."""
    box = LinkElement("box", BOX, (0.01, -0.02, 0.03), np.diag([0.036, 0.03, 0.024]))
    grasps = []
    for i in range(count):
        turn = Rotation.from_euler("z", 2.0 * np.pi * i / count)
        inward = turn * Rotation.from_euler("x", np.pi / 2)  # z along -y
        grasps.append(pose(turn.apply([0.0, 0.15, 0.0]), inward.as_matrix()))
    if joints == LINKAGE:  # tools' x axes into the box
        turned = pose((0.0, 0.0, 0.0), Rotation.from_euler("y", -90, degrees=True).as_matrix())
        return linkage_cell(count, box, [grasp @ turned for grasp in grasps])
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
        """Return none: they are not used here."""
        return []


@dataclass(frozen=True)
class Disturbed:
    """The largest deviations during a step.

    With a zero-order hold the torque is exact at one instant of its period; the forces change as
    the arms move on. Force errors are therefore given at every instant, both ends of each period
    included; as means over periods; and as half of the change of a force within a period, which is
    the error at both ends if it is zero in the middle.

    Attributes:
        position: Of the object's origin [m].
        rotation: Of the object [rad].
        contact: Of the forces on planes [N].
        force: Of internal forces [N].
        moment: Of internal moments [N m].
        mean_contact: Of the forces on planes, as means over periods [N].
        mean_force: Of internal forces, likewise [N].
        mean_moment: Of internal moments, likewise [N m].
        half_contact: Half of the change of forces on planes within a period [N].
        half_force: Of internal forces, likewise [N].
        half_moment: Of internal moments, likewise [N m].
    """

    position: float
    rotation: float
    contact: float
    force: float
    moment: float
    mean_contact: float
    mean_force: float
    mean_moment: float
    half_contact: float
    half_force: float
    half_moment: float


def run(count, kind, surfaces, joints, what, period, averaged=False, **more):
    """Return the disturbance by a step of one kind, with sampled control of a perfect model.

    See `holds` for `averaged`, and `controller_of` for more.
    """
    cell = cell_of(count, joints)
    plant = HybridPlant(cell, kind, PLANES[:surfaces], STEP)
    control = controller_of(plant, cell, what, period, **more)
    moments = np.array(["moment" in name or "twist" in name or "bending" in name
                        for name in control.distribution.names])  # fmt: skip
    moved, force_errors = [], []
    for state in holds(plant, control, period, averaged):
        if state.time > BEGIN - 0.02:
            moved.append(state.moved)
            force_errors.append(state.force_errors)
    moved, force_errors = np.array(moved), np.array(force_errors)  # (N, 2), (N, steps + 1, C + m)
    weights = np.ones(force_errors.shape[1])
    weights[[0, -1]] = 0.5
    mean = np.einsum("nki,k->ni", force_errors, weights / weights.sum())
    half = 0.5 * np.ptp(force_errors, axis=1)

    def largest(values):
        of = np.abs(values).reshape(-1, surfaces + len(moments)).max(axis=0)
        inside = of[surfaces:]
        return [
            of[:surfaces].max(initial=0.0),
            inside[~moments].max(initial=0.0),
            inside[moments].max(initial=0.0),
        ]

    at_all, means, halves = largest(force_errors), largest(mean), largest(half)
    return Disturbed(*moved.max(axis=0).tolist(), *at_all, *means, *halves)


@dataclass(frozen=True)
class Hold:
    """A control period: the deviations from its plan.

    Attributes:
        time: When it began, after the ramp [s].
        torque: That was held (n,).
        moved: Distance and angle of the object at its end (2,).
        force_errors: Forces on planes and internal forces, at all steps of integration (steps + 1,
            C + m).
    """

    time: float
    torque: np.ndarray
    moved: tuple[float, float]
    force_errors: np.ndarray


def holds(plant, control, period, averaged=False):
    """Run a plan, and yield each control period when it is over.

    Forces are given to the controller as they are at the end of a period, or averaged over it.
    """
    control.start(*plant.joints)
    plan, ramp = control.reference, control.ramp_ticks * period
    steps, wrenches, felt = round(period / STEP), None, []
    for tick in range(round((ramp + END) / period)):
        if felt:
            of = felt if averaged else felt[-1:]
            wrenches, pressed = (np.mean(values, axis=0) for values in zip(*of, strict=True))
            if plan.surfaces:
                control.sense(contact_force=pressed)
        torque, time = control.update(tick, *plant.joints, wrenches).torque, tick * period - ramp
        rows = plan.rows(time + STEP * np.arange(steps + 1))
        plant.accelerate(torque)
        force_errors, felt = [off_plan(plant, control, rows[0])], []
        for row in rows[1:]:
            plant.advance(torque)
            force_errors.append(off_plan(plant, control, row))
            felt.append((plant.wrenches, plant.surface_forces))
        at, pose_q = rows[-1], plant.q[plant.system.object_q]
        turned = Rotation.from_quat(pose_q[3:]) * Rotation.from_quat(at[3:7]).inv()
        moved = float(np.linalg.norm(pose_q[:3] - at[:3])), float(turned.magnitude())
        yield Hold(time, torque, moved, np.array(force_errors))


def off_plan(plant, control, row):
    """Return the errors of plane forces and internal forces from a row of the plan (C + m,)."""
    C = control.layout.surfaces
    inside = control.distribution.internal_force(plant.contact_forces)
    return np.concatenate([plant.surface_forces - row[19 : 19 + C], inside - row[19 + 2 * C :]])


def controller_of(plant, cell, what, period, **more):
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
    return HybridLaw(
        cell.system,
        settings,
        SafetySettings(torque_rate=np.inf),
        plan,
        contacts=plant.contacts,
        environment=plant.environment,
    )
