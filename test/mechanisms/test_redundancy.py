# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""C7 and C11: motions of overconstrained and singular mechanisms against closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation
from support import linkages
from support.mechanisms import consistent_velocity, random_state, two_arms

from robot_dynamics.dynamics.full_rank import SMALLEST_PIVOT
from robot_dynamics.model import build, pose, transform_of
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.closed_loop_step import singular_step, step_parameters, step_program
from robot_dynamics.simulation.drives import DriveParameters


def finite(motion):
    """Tell whether nothing in a result is not a number."""
    return all(np.isfinite(x).all() for x in (motion.qdd, motion.multipliers, motion.residual))


def shifted(twist):
    """Return the pose (4, 4) of a small rotation vector and translation."""
    return pose(twist[3:], Rotation.from_rotvec(twist[:3]).as_matrix())


class TestBricard:
    """C7, C11: Bricard's linkage, whose alternate angles obey cos a cos b + cos a + cos b = 0."""

    robot = Robot(build(linkages.bricard(), gravity=(1.0, -4.0, -9.0)))
    TAU = np.array([0.5, 0.1, -0.2, 0.3, 0.0])
    # Links 0, 2, 4 turn by one angle, 1 and 3 by the other.
    P = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])

    @staticmethod
    def angles(turn):
        """Return both angles at a turn [rad] around their closed curve."""

        def f(size):
            a, b = np.cos(size * np.array([np.cos(turn), np.sin(turn)]))
            return a * b + a + b

        return brentq(f, 0.1, np.pi, xtol=1e-15) * np.array([np.cos(turn), np.sin(turn)])

    def test_a_full_turn(self):
        """Driven through a full turn, at every degree: accelerations are those of the closed form,
        nothing is not finite, one constraint is redundant and named.
        """
        named = set()
        for degree in range(360):
            a, b = self.angles(np.radians(degree))
            q = self.P @ [a, b]
            assert_allclose(self.robot.closure(q)[1], 0.0, atol=1e-14)
            slope = np.array([-np.sin(a) * (np.cos(b) + 1), -np.sin(b) * (np.cos(a) + 1)])
            speed = 3.0 * np.array([-slope[1], slope[0]]) / np.linalg.norm(slope)
            bend = np.array(
                [[-np.cos(a) * (np.cos(b) + 1), np.sin(a) * np.sin(b)],
                 [np.sin(a) * np.sin(b), -np.cos(b) * (np.cos(a) + 1)]]
            )  # fmt: skip
            qd = self.P @ speed
            motion = self.robot.constrained_motion(q, qd, self.TAU)
            assert (motion.rank, len(motion.redundant)) == (4, 1)
            assert set(motion.redundant) <= set(motion.undetermined)
            assert finite(motion)
            named.add(motion.redundant)
            H, C, *_ = self.robot.constraint_terms(q, qd)
            reduced = np.zeros((3, 3))
            reduced[:2, :2], reduced[2, :2], reduced[:2, 2] = self.P.T @ H @ self.P, slope, slope
            right = [*(self.P.T @ (self.TAU - C)), -speed @ bend @ speed]
            expected = self.P @ np.linalg.solve(reduced, right)[:2]
            scale = np.max(np.abs(expected))
            # The smallest constraint is of order one, and H of a condition of a hundred.
            assert motion.conditioning > 0.5
            assert_allclose(motion.qdd, expected, atol=1e-12 * scale)
            assert_allclose(self.robot.forward_dynamics(q, qd, self.TAU), expected,
                            atol=1e-12 * scale)  # fmt: skip
            assert motion.residual < 1e-12 * scale
            report = self.robot.mobility(q, samples=0)
            assert (report.rank, report.mobility, report.redundant) == (4, 1, motion.redundant)
        assert len(named) >= 1

    @pytest.mark.parametrize("error", [1e-12, 1e-10, 1e-8, 1e-6, 1e-5, 1e-4])
    def test_nearly_redundant(self, error):
        """With all frames off by an error the linkage is rigid by the letter. What is meant still
        moves: accelerations tend to the exact ones as the error does, and forces stay bounded.
        """
        rng, exact = np.random.default_rng(0), linkages.bricard()
        off = [
            replace(j, placement=j.placement @ shifted(error * rng.normal(size=6)))
            for j in exact.joints
        ]
        robot = Robot(build(replace(exact, joints=tuple(off)), gravity=(1.0, -4.0, -9.0)))
        for turn in np.radians([10.0, 100.0, 200.0, 300.0]):
            a, b = self.angles(turn)
            q, slope = (
                self.P @ [a, b],
                [-np.sin(a) * (np.cos(b) + 1), -np.sin(b) * (np.cos(a) + 1)],
            )
            qd = self.P @ (3.0 * np.array([-slope[1], slope[0]]) / np.linalg.norm(slope))
            ideal = self.robot.constrained_motion(q, qd, self.TAU)
            motion = robot.constrained_motion(q, qd, self.TAU)
            assert (motion.rank, len(motion.redundant)) == (4, 1)
            # Frames off by e turn inertia and constraints by e; conditions are below a hundred.
            scale = np.max(np.abs(ideal.qdd))
            assert_allclose(motion.qdd, ideal.qdd, atol=(100 * error + 1e-12) * scale)
            assert np.max(np.abs(motion.multipliers)) < 1.1 * np.max(np.abs(ideal.multipliers))
            found = robot.forward_dynamics(q, qd, self.TAU)
            # Compiled code uses four rows that contradict the fifth by e, not all five in the
            # mean: it is off by e times the condition of those four, which is near a hundred.
            assert_allclose(found, ideal.qdd, rtol=0, atol=(200 * error + 1e-9) * scale)

    def test_assembled_configurations_obey_the_closed_form(self):
        """Assembled configurations lie on the curve, to the last digits."""
        for seed in range(10):
            q = self.robot.assemble(np.random.default_rng(seed).uniform(-1, 1, 5)).q
            c = np.cos(q)
            assert_allclose(c[0] * c[1] + c[0] + c[1], 0.0, atol=1e-14)
            assert_allclose(np.exp(1j * q[2:]), np.exp(1j * q[[0, 1, 0]]), atol=1e-13)


class TestFourBar:
    """C7: a four-bar closed by a revolute joint, three constraints too many."""

    LENGTHS, GROUND, GRAVITY = (0.3, 0.8, 0.6), 0.9, (0.0, -9.81, 0.0)

    def angles(self, crank):
        """Return the angles (3,) of the joints for a crank angle, which may be complex."""
        a, b, c = self.LENGTHS
        x, y = a * np.cos(crank) - self.GROUND, a * np.sin(crank)
        # From the ground pivot to the coupler's end of the crank: triangle b, c, d.
        d2 = x * x + y * y
        cos_inner = (b * b + c * c - d2) / (2 * b * c)
        rocker = np.pi - np.arccos(cos_inner)
        # Crank's tip plus coupler plus rocker is the ground pivot.
        u, v = b + c * np.cos(rocker), c * np.sin(rocker)
        cos_t, sin_t = (-x * u - y * v) / d2, (-y * u + x * v) / d2
        coupler = 2 * np.arctan(sin_t / (1 + cos_t))
        return np.array([crank, coupler - crank, rocker])

    def energies(self, crank):
        """Return d(angles)/d(crank), the inertia seen at the crank, and the potential energy."""
        h = 1e-30  # of complex steps: exact to the last digit
        rates = self.angles(crank + 1j * h).imag / h
        inertia, potential = 0.0, 0.0
        corner, turned, speed = np.zeros(2), 0.0, np.zeros(2)
        turning = 0.0
        for length, angle, rate in zip(self.LENGTHS, self.angles(crank), rates, strict=True):
            turned, turning = turned + angle, turning + rate
            along = np.array([np.cos(turned), np.sin(turned)])
            across = np.array([-along[1], along[0]])
            inertia += 0.04 * turning**2 + np.sum((speed + 0.1 * turning * across) ** 2)
            potential += 9.81 * (corner + 0.1 * along)[1]
            corner, speed = corner + length * along, speed + length * turning * across
        return rates, inertia, potential

    @pytest.mark.parametrize("closure", ["revolute", "sphere_in_cylinder"])
    def test_closed_form(self, closure):
        """The crank accelerates as Lagrange's equation in one coordinate has it, both closures."""
        mechanism = linkages.four_bar(closure, self.LENGTHS, self.GROUND)
        robot = Robot(build(mechanism, gravity=self.GRAVITY))
        for crank in np.arange(-3.0, 3.1, 0.25):
            q, rates = self.angles(crank).real, self.energies(crank)[0]
            assert_allclose(robot.closure(q)[1], 0.0, atol=1e-14)
            speed, torque, h = 4.0, 1.5, 1e-4
            ends = [self.energies(crank + s * h) for s in (-2.0, -1.0, 1.0, 2.0)]

            def slope(i, ends=ends, h=h):
                first, second, third, last = (end[i] for end in ends)
                return (first - 8 * second + 8 * third - last) / (12 * h)

            inertia = self.energies(crank)[1]
            expected = (torque - slope(2) - 0.5 * slope(1) * speed**2) / inertia
            motion = robot.constrained_motion(q, speed * rates, np.array([torque, 0.0, 0.0]))
            # Differences of fourth order with steps of 1e-4: eleven digits are left.
            assert_allclose(motion.qdd[0], expected, rtol=1e-9, atol=1e-9)
            qdd = robot.forward_dynamics(q, speed * rates, np.array([torque, 0.0, 0.0]))
            assert_allclose(qdd, motion.qdd, atol=1e-11 * np.max(np.abs(qdd)))
            assert (motion.rank, finite(motion)) == (2, True)
            redundant = ("pin.rx", "pin.ry", "pin.z") if closure == "revolute" else ()
            assert motion.redundant == motion.undetermined == redundant

    def test_both_closures_bear_the_same_forces(self):
        """The determined forces of the revolute joint are those of the sphere in its cylinder; the
        others, which nothing needs, are zero.
        """
        robots = [
            Robot(build(linkages.four_bar(kind, self.LENGTHS, self.GROUND), gravity=self.GRAVITY))
            for kind in ("revolute", "sphere_in_cylinder")
        ]
        q, qd = self.angles(0.8), 3.0 * self.energies(0.8)[0]
        tight, loose = (r.constrained_motion(q, qd, np.array([2.0, 0.0, 0.0])) for r in robots)
        forces = [
            r.constraint_terms(q, qd)[2].T @ motion.multipliers
            for r, motion in zip(robots, (tight, loose), strict=True)
        ]
        assert_allclose(*forces, rtol=1e-11)
        assert_allclose(*(np.linalg.norm(x.multipliers) for x in (tight, loose)), rtol=1e-12)
        assert_allclose(tight.multipliers[[0, 1, 4]], 0.0, atol=1e-13)


class TestTwice:
    """C7: two arms hold an object, one grasp of which is stated twice."""

    def setup_method(self):
        system, self.q, self.mechanism = two_arms()
        self.model = system.model
        again = replace(self.model.loops[0], name="again")
        self.twice = replace(self.model, loops=(*self.model.loops, again))
        rng = np.random.default_rng(3)
        _, qd, self.tau = random_state(rng, self.model)
        H, _, K, *_ = Robot(self.model).constraint_terms(self.q, qd)
        self.qd = consistent_velocity(H, K, qd)

    def test_equals_pinocchio(self):
        """Accelerations are those of one weld, and of Pinocchio's proximal solver with both."""
        from support.oracle import Pinocchio

        once = Robot(self.model).constrained_motion(self.q, self.qd, self.tau)
        twice = Robot(self.twice).constrained_motion(self.q, self.qd, self.tau)
        scale = np.max(np.abs(once.qdd))
        assert_allclose(twice.qdd, once.qdd, atol=1e-12 * scale)
        oracle = Pinocchio.of_mechanism(self.mechanism, self.twice)
        theirs = oracle.closed_loop(self.q, self.qd, self.tau, (1e-14, 1e-6, 100))
        # Ended at an accuracy of 1e-14 of its own measure: nine digits.
        assert_allclose(twice.qdd, theirs, atol=1e-9 * scale)
        assert twice.redundant == tuple(f"again.{d}" for d in ("rx", "ry", "rz", "x", "y", "z"))

    @pytest.mark.parametrize("error", [1e-4, 1e-6, 1e-8])
    def test_a_second_weld_that_stands_off(self, error):
        """It says the same of the motion wherever it is, and forces are shared, not traded."""
        once = Robot(self.model).constrained_motion(self.q, self.qd, self.tau)
        frame = np.eye(4)
        frame[:3, :3] = Rotation.from_rotvec([error, -error, 0.5 * error]).as_matrix()
        frame[:3, 3] = [error, 2 * error, -error]
        placement = transform_of(frame).compose(self.model.loops[0].successor_placement)
        robot = Robot(self.twice.replace(successor_placement={"again": placement}))
        motion = robot.constrained_motion(self.q, self.qd, self.tau)
        assert 0.5 * error < motion.closure_error < 10 * error
        assert (motion.rank, len(motion.redundant)) == (12, 6)
        scale = np.max(np.abs(once.qdd))
        assert_allclose(motion.qdd, once.qdd, atol=1e-12 * scale)
        assert np.max(np.abs(motion.multipliers)) < np.max(np.abs(once.multipliers))
        assert_allclose(robot.forward_dynamics(self.q, self.qd, self.tau), motion.qdd,
                        rtol=0, atol=0)  # fmt: skip


class TestParallelogram:
    """C7, C11: a parallelogram, which is singular with all bars in line."""

    robot = Robot(
        build(
            linkages.four_bar("revolute", lengths=(0.5, 0.9, 0.5), ground=0.9),
            gravity=(0.0, -1.0, 0.0),
        )
    )
    STEP = 1e-3

    def energy(self, q, qd):
        """Return the energy: each bar of 1 kg has its centre 0.1 from its joint."""
        turned = np.cumsum(q)
        corners = np.concatenate([[0.0], np.cumsum([0.5, 0.9] * np.sin(turned[:2]))])
        height = np.sum(corners + 0.1 * np.sin(turned))
        return 0.5 * qd @ self.robot.inertia_matrix(q) @ qd + 1.0 * height

    def test_mobility(self):
        """In line the rank drops by one, and the report says that others are near."""
        report = self.robot.mobility([0.0, 0.0, -np.pi])
        assert (report.rank, report.mobility, report.rank_drops) == (1, 2, True)
        assert report.nearby_ranks == (2,)
        assert self.robot.mobility([0.1, -0.1, 0.1 - np.pi]).rank == 2

    @pytest.mark.parametrize("start", [-0.5, 0.0, -1e-3, -1e-8])
    def test_passing_through(self, start):
        """Turning through the line, whatever steps meet it, nothing blows up: loops stay closed,
        energy stays, and the bars go on as a parallelogram.
        """
        robot, model = self.robot, self.robot.model
        program = step_program(model, [])
        none = np.zeros(0)
        drives = DriveParameters(np.zeros(0, dtype=np.intp), none, none, none, 0.01)
        parameters = step_parameters(model, drives, self.STEP)
        q = np.array([start, -start, start - np.pi])
        qd = 4.0 * np.array([1.0, -1.0, 1.0])
        first, slow, kinetic = self.energy(q, qd), 0, 0.5 * qd @ robot.inertia_matrix(q) @ qd
        for _ in range(400):
            result = program.evaluate(q, qd, none, parameters=parameters)
            if not result[5] >= SMALLEST_PIVOT:
                slow += 1
                result = singular_step(robot, drives, self.STEP, q, qd, none)
            q, qd = result[:2]
            assert np.isfinite([*q, *qd, *result[2]]).all()
            assert np.max(np.abs(robot.closure(q)[1])) < 1e-9
            assert abs(self.energy(q, qd) - first) < 1e-8 * kinetic
            # A step without the constraint that is missing is off by its angle's third power.
            assert abs(q[0] + q[1]) < 0.004**3
            assert np.max(np.abs(result[2])) < 20.0
        assert slow > 0 or start < -1e-6
        assert q[0] > 0.5


class TestStewartPlatform:
    """C7, C11: with the platform turned by a right angle all legs leave one motion free."""

    robot = Robot.from_mechanism(linkages.stewart_platform())

    def pose(self, yaw):
        q = np.array(self.robot.model.neutral())
        q[:3], q[3:7] = [0.0, 0.0, 0.0], Rotation.from_euler("z", yaw, degrees=True).as_quat()
        return self.robot.assemble(q, held=["platform_joint"]).q

    def test_drives(self):
        """There the six drives move only five of six motions; a degree away they move all."""
        singular, regular = (self.robot.mobility(self.pose(yaw)) for yaw in (90.0, 89.0))
        assert (regular.driven, regular.actuation) == (6, "fully")
        assert (singular.driven, singular.rank) == (5, 18)
        assert singular.actuation == "underactuated, redundantly"

    def test_locked_legs(self):
        """With the legs locked one constraint becomes redundant: weight falls along the motion
        that is left, the accelerations fulfil the constraints, and nothing is not finite.
        """
        q = self.pose(90.0)
        model = self.robot.model
        rods = {f"rod{i}_joint": float(q[model.q_slices[model.joint_index(f"rod{i}_joint")]][0])
                for i in range(6)}  # fmt: skip
        locked = Robot.from_mechanism(linkages.stewart_platform().locked(rods))
        q = locked.assemble(
            np.delete(q, [model.q_slices[model.joint_index(n)].start for n in rods])
        ).q
        motion = locked.constrained_motion(q, np.zeros(18), np.zeros(18))
        assert (motion.rank, len(motion.redundant)) == (17, 1)
        assert len(motion.undetermined) > 1
        assert finite(motion)
        report = locked.mobility(q)
        assert (report.mobility, report.redundant) == (1, motion.redundant)
        # Against Gauss's principle in the one motion that is left.
        H, C, K, _, _, _ = locked.constraint_terms(q, np.zeros(18))
        G = np.linalg.svd(K)[2][-1]
        assert_allclose(K @ G, 0.0, atol=1e-12)
        expected = G * (G @ -C) / (G @ H @ G)
        assert_allclose(motion.qdd, expected, atol=1e-10 * max(1.0, np.max(np.abs(expected))))
        assert_allclose(locked.forward_dynamics(q, np.zeros(18), np.zeros(18)), motion.qdd,
                        rtol=0, atol=0)  # fmt: skip
        forces = K.T @ motion.multipliers
        assert_allclose(H @ motion.qdd + C, forces, atol=1e-10 * np.max(np.abs(forces)))
