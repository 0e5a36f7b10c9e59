# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of control laws at single states in fast motion, with the closed-loop engine.

A servo hides small errors of its model, and slow motion hides terms that grow with velocities.
Here the law gets random accelerations and forces at random states in fast motion, and the engine
computes the effect of its torques. The measurements do not use the law's own terms: motions and
forces come from the engine's equations, and from Jacobians of links, whose rates are differences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.manipulation.jointed_object import JointedObjectSystem
from robot_dynamics.reproductions.joint_space import JointSpaceModel
from robot_dynamics.reproductions.jointed_systems import Setting
from robot_dynamics.reproductions.object_task import ObjectTask
from robot_dynamics.reproductions.pseudovelocities import CompletedVelocities
from robot_dynamics.reproductions.reduced_order import ReducedOrderTerms, decoupled_law
from robot_dynamics.reproductions.study import Check, largest
from robot_dynamics.reproductions.unified import UnifiedSystem, carrying
from robot_dynamics.robot import Robot

#: Positions (nq,) and velocities (nv,) that keep loops closed.
State = tuple[Array, Array]

_STATES = 5
_EXACT = 1e-9  # relative: two ways to compute the same number
#: Relative tolerance: rates of Jacobians are central differences.
DIFFERENCED = 1e-6
_STEP = 1e-5  # of these differences [s]


@dataclass(frozen=True)
class PartsOnEngine:
    """Motion of the parts of a jointed object, and the force between them, by the engine.

    Attributes:
        system: Arms and object.
        robot: Its model.
    """

    system: JointedObjectSystem
    robot: Robot

    def jacobian(self, q: Array) -> Array:
        """Return the Jacobians (2, 6, n) of the parts' centres of mass, world axes."""
        centers = (np.array([*p.inertia.h]) / p.inertia.mass for p in self.system.parts)
        return np.array([self._of_point(i, q, at) for i, at in enumerate(centers)])

    def joint_jacobian(self, q: Array) -> Array:
        """Return the Jacobian (6, n) of the first part's point in the joint, world axes."""
        first, second = (self.robot.pose(part.name, q) for part in self.system.parts)
        # The second part's link is at the joint.
        return self._of_point(0, q, first[:3, :3].T @ (second[:3, 3] - first[:3, 3]))

    def constraint(self, q: Array) -> Array:
        """Return the joint's constraint on the first part's motion less the second's (c, n)."""
        difference = self.joint_jacobian(q) - self._of_point(1, q, np.zeros(3))
        names = [row.direction for row in self.system.joint.type.rows]
        own = self.robot.pose(self.system.parts[1].name, q)[:3, :3].T @ difference[:3]
        moments = own if "rz" not in names else difference[:3]
        values = [*moments, *difference[3:]]
        by_name = dict(zip(("rx", "ry", "rz", "x", "y", "z"), values, strict=True))
        return np.array([by_name[name] for name in names])

    def acceleration(self, jacobian: Callable[[Array], Array], state: State, qdd: Array) -> Array:
        """Return J qdd + J_dot qd of a Jacobian (..., n) of the positions."""
        q, qd = state
        rate = (jacobian(q + _STEP * qd) - jacobian(q - _STEP * qd)) @ qd / (2.0 * _STEP)
        return np.asarray(jacobian(q) @ qdd + rate)

    def motion(self, state: State, torque: Array) -> tuple[Array, Array]:
        """Return accelerations (n,), and the force in the joint on the second part (c,)."""
        q, qd = state
        qdd = self.robot.constrained_motion(q, qd, torque).qdd
        H, C, *_ = self.robot.constraint_terms(q, qd)
        rest = torque - H @ qdd - C  # A^T f
        force = np.linalg.lstsq(self.constraint(q).T, rest, rcond=None)[0]
        return qdd, np.asarray(force)

    def any_accelerations(self, state: State, rng: np.random.Generator) -> Array:
        """Return accelerations (n,) that torques can cause."""
        q, qd = state
        H, C, *_ = self.robot.constraint_terms(q, qd)
        torque = C + H @ (5.0 * rng.normal(size=len(C)))
        return np.asarray(self.robot.constrained_motion(q, qd, torque).qdd)

    def _of_point(self, part: int, q: Array, at: Array) -> Array:
        name = self.system.parts[part].name
        R, J = self.robot.pose(name, q)[:3, :3], self.robot.jacobian(name, q)
        angular = J[:3]
        linear = J[3:] + np.cross(angular, at, axis=0)
        return np.vstack([R @ angular, R @ linear])


def jointed_states(setting: Setting, robot: Robot, count: int) -> Iterator[State]:
    """Yield states near the start in which joints turn at about 1 rad/s."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        near = setting.start + 0.05 * rng.normal(size=len(setting.start))
        q = robot.assemble(near).q
        yield q, moving(robot, q, rng.normal(size=len(near)))


def moving(robot: Robot, q: Array, wish: Array) -> Array:
    """Return the velocities (nv,) nearest to a wish (nv,) that keep loops closed."""
    K = robot.constraint_terms(q, wish)[2]
    return np.asarray(wish - np.linalg.pinv(K) @ (K @ wish))


def jointed_law_checks(setting: Setting, name: str = "") -> list[Check]:
    """Return checks of Unseren's law with a jointed object, as the controller uses it.

    Args:
        setting: Arms and object.
        name: Beginning of the claims.
    """
    rng = np.random.default_rng(1)
    model, robot = JointSpaceModel(setting.system), Robot(setting.system.model)
    engine = PartsOnEngine(setting.system, robot)
    motion_off, force_off, seen_off = 0.0, 0.0, 0.0
    for state in jointed_states(setting, robot, _STATES):
        q, qd = state
        n = len(q)
        possible = engine.any_accelerations(state, rng)
        wanted = engine.acceleration(engine.jacobian, state, possible)
        terms = model.terms(q, qd)
        force = 10.0 * rng.normal(size=len(terms.A))
        reduced = ReducedOrderTerms.of(terms, CompletedVelocities.chosen(terms))
        motion = ObjectTask.of(reduced).pseudo(
            wanted - terms.G_dot_qd, rng.normal(size=n), reduced.drift
        )
        qdd, f = engine.motion(state, decoupled_law(reduced, motion, force).torque)
        found = engine.acceleration(engine.jacobian, state, qdd)
        motion_off = largest(motion_off, relative_error(found, wanted))
        force_off = largest(force_off, relative_error(f, force))
        seen_off = largest(seen_off, relative_error(terms.velocity, engine.jacobian(q) @ qd))
    start = f"{name}: " if name else ""
    return [
        Check(f"{start}{what} on the engine, in fast motion, relative error", off, DIFFERENCED)
        for what, off in (
            ("accelerations of the parts", motion_off),
            ("force in the joint", force_off),
            ("velocities that the servo sees", seen_off),
        )
    ]


def inverse_dynamics_law_check(
    system: UnifiedSystem, near: Array | None = None, spread: float = 0.2
) -> Check:
    """Return the check of torques (28): driven joints have the desired accelerations on any base.

    Args:
        system: The system, without an object.
        near: Positions (nq,) near which states are drawn; neutral ones by default.
        spread: Standard deviation from these [rad, m].
    """
    rng = np.random.default_rng(2)
    model, robot, worst = system.model, Robot(system.model), 0.0
    start = model.neutral() if near is None else near
    for _ in range(_STATES):
        away = spread * rng.normal(size=model.nv)
        q = np.asarray(model.integrate(start.tolist(), away.tolist()))
        qd, tau = rng.normal(size=model.nv), np.zeros(model.nv)
        wanted, force = (rng.normal(size=len(at)) for at in (system.driven, system.following))
        parts = system.terms(q, qd).parts
        tau[system.following] = force
        tau[system.driven] = parts.inverse_dynamics(wanted, force, np.zeros(len(parts.J_a)))
        qdd = robot.constrained_motion(q, qd, tau).qdd
        # Springs accelerate the passive joints far more than drives do.
        off = np.max(np.abs(qdd[system.driven] - wanted)) / np.max(np.abs(qdd))
        worst = largest(worst, float(off))
    return Check(
        "accelerations by (28) on the engine, in fast motion, relative error", worst, _EXACT
    )


def carrying_law_checks(
    system: UnifiedSystem, robot: Robot, ready: Array, *, relative: bool = False
) -> list[Check]:
    """Return checks of torques that carry an object.

    Args:
        system: With the object.
        robot: Its model.
        ready: Positions (nq,) in which the arms hold the object.
        relative: Whether accelerations are relative to the base.
    """
    rng = np.random.default_rng(3)
    a, p, o = system.driven, system.following, system.object_v
    moved_off, wrench_off = 0.0, 0.0
    for _ in range(_STATES):
        q = ready
        qd = moving(robot, q, rng.normal(size=system.model.nv))
        wanted, force = rng.normal(size=6), 10.0 * rng.normal(size=len(p))
        internal = 10.0 * rng.normal(size=6 * len(system.tools))
        law = carrying(system.terms(q, qd), wanted, force, internal=internal, relative=relative)
        tau = np.zeros(system.model.nv)
        tau[a], tau[p] = law.torque, force
        motion = robot.constrained_motion(q, qd, tau)
        expected = wanted
        if relative:
            expected = wanted + _as_part_of_base(system, robot, q) @ motion.qdd[p]
        moved_off = largest(moved_off, relative_error(motion.qdd[o], expected))
        wrench_off = largest(wrench_off, relative_error(law.grasp_wrenches, motion.multipliers))
    return [
        Check(f"{what} on the engine, in fast motion, relative error", off, _EXACT)
        for what, off in (
            ("accelerations of the carried object", moved_off),
            ("grasp wrenches of the law", wrench_off),
        )
    ]


def _as_part_of_base(system: UnifiedSystem, robot: Robot, q: Array) -> Array:
    """Return the velocity transform (6, 6) from a floating base to the object on it."""
    base, held = (robot.pose(name, q) for name in (system.model.bodies[0].name, _held(system)))
    there = np.linalg.inv(base) @ held
    R, (x, y, z) = there[:3, :3].T, there[:3, 3]
    arm = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.block([[R, np.zeros((3, 3))], [-R @ arm, R]])


def _held(system: UnifiedSystem) -> str:
    return system.model.bodies[-1].name


def relative_error(found: Array, wanted: Array) -> float:
    """Return the largest error, relative to the largest desired value."""
    return float(np.max(np.abs(found - wanted)) / np.max(np.abs(wanted)))
