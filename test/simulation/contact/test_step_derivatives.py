# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of periods with contacts against the simulation itself at neighbouring states."""

from __future__ import annotations

import numpy as np
import pytest
from support.linkages import four_bar
from support.mechanisms import random_tree
from support.touching import corners, floating

import robot_dynamics as rd
from robot_dynamics.contact import Material, PointContact, plane, sphere
from robot_dynamics.robot import Robot

STEP = 1e-6
TOL = 2e-6  # relative: of differences with that step, and of the energy balance


class Period:
    """A period of a simulation as a function of state and joint forces."""

    def __init__(self, sim, torque):
        self.sim, self.torque, self.start = sim, torque, sim.state
        self.engine = sim._plant.engine
        self.stepping, self.model = self.engine.stepping, self.engine.robot.model
        self.q, self.v = self.stepping.q.copy(), self.stepping.v.copy()

    def rows(self, q, v):
        """Return the rows that may not move (m, nv), and gaps of the closed ones (c,)."""
        stepping = self.stepping
        (b, w), terms = stepping._rows, stepping.terms.at(q, v)
        part, gaps = [*range(b)], [*terms.error]
        for i, closed in enumerate(stepping.pressed):
            if closed:
                part.append(b + i * w)
                gaps.append(terms.gaps[i])
                part += [] if stepping.slipping[i] else [b + i * w + 1, b + i * w + 2]
                gaps += [] if stepping.slipping[i] else [0.0, 0.0]
        return terms.J[part], np.array(gaps)

    def near(self, dq, dv):
        """Return a state near the start at which contacts stay closed."""
        n = self.model.nv
        before = self.rows(self.q, self.v)[0] @ self.v
        J = self.rows(self.q, self.v)[0]
        dq = dq - np.linalg.pinv(J) @ (J @ dq)
        q = np.array(self.model.integrate(self.q, dq))
        for _ in range(3):
            J, gaps = self.rows(q, np.zeros(n))
            off = gaps - self.rows(self.q, np.zeros(n))[1]
            q = np.array(self.model.integrate(q, -np.linalg.pinv(J, rcond=1e-9) @ off))
        J = self.rows(q, self.v)[0]
        v = self.v + dv
        return q, v - np.linalg.pinv(J, rcond=1e-9) @ (J @ v - before)

    def end(self, q, v, torque):
        """Return the state after the period from another state."""
        self.sim.state = self.start
        saved = self.stepping.saved()
        saved.state.q[:], saved.state.v[:] = q, v
        self.stepping.restore(saved)
        self.sim.step(torque)
        return self.stepping.q.copy(), self.stepping.v.copy()

    def errors(self, rng):
        """Return relative errors of A and B along a random direction."""
        n = self.model.nv
        self.sim.state = self.start
        A, B, _ = self.sim.linearize(self.torque)
        after = self.end(self.q, self.v, self.torque)
        dq, dv, du = rng.normal(size=(3, n))
        changes, ends = [], []
        for sign in (STEP, -STEP):
            self.sim.state = self.start
            q, v = self.near(sign * dq, sign * dv)
            changes.append(np.concatenate([self.model.difference(self.q, q), v - self.v]))
            q, v = self.end(q, v, self.torque)
            ends.append(np.concatenate([self.model.difference(after[0], q), v]))
        expected, moved = ((a - b) / (2.0 * STEP) for a, b in (ends, changes))
        of_state = np.abs(A @ moved - expected).max() / np.abs(expected).max()
        ends = []
        for sign in (1e-3, -1e-3):
            q, v = self.end(self.q, self.v, self.torque + sign * du)
            ends.append(np.concatenate([self.model.difference(after[0], q), v]))
        by_torque = (ends[0] - ends[1]) / 2e-3
        of_torque = np.abs(B @ du - by_torque).max() / np.abs(by_torque).max()
        return of_state, of_torque


def flight():
    """Return a mechanism in the air."""
    rng = np.random.default_rng(1)
    robot = Robot.from_mechanism(random_tree(rng, ["floating", "revolute", "revolute"]))
    sim = rd.Simulation(robot, contacts=[PointContact("toe", "link2")], q=None, period=2e-3)
    q = robot.model.neutral()
    q[2] = 3.0
    qd = rng.normal(size=robot.model.nv)
    return rd.Simulation(robot, contacts=[PointContact("toe", "link2")], q=q, qd=qd), sim.period


def block(mu, angle, qd=None):
    """Return a block on a slope, which slides or sticks."""
    slope = plane((0, 0, 0), (np.sin(angle), 0.0, np.cos(angle)))
    q = np.array([0.03 * np.sin(angle), 0, 0.03 * np.cos(angle), 0, 0, 0, 1.0])
    q[4], q[6] = np.sin(angle / 2), np.cos(angle / 2)
    contacts = corners((0.05, 0.04, 0.03), Material(mu), surface=slope)
    return rd.Simulation(floating(), contacts=contacts, q=q, qd=qd, period=2e-3)


def tip_of_arm(surface, mu, qd, joint_friction=False):
    """Return an arm whose tip touches a surface at the start."""
    parts = random_tree(np.random.default_rng(3), ["revolute"] * 4, chain=True)
    robot = Robot.from_mechanism(parts, joint_friction=joint_friction)
    return robot, PointContact("tip", "link3", (0.1, 0.0, 0.2), surface, material=Material(mu))


def sliding_arm():
    """Return an arm whose tip slides on a ball."""
    robot, _ = tip_of_arm(plane((0, 0, 0), (0, 0, 1)), 0.3, None)
    q = np.array([0.3, -0.4, 0.5, 0.2])
    tip = robot.pose("link3", q) @ [0.1, 0.0, 0.2, 1.0]
    ball = sphere(tip[:3] - [0.0, 0.0, 0.4], 0.4)
    robot, point = tip_of_arm(ball, 0.3, None)
    terms = rd.Simulation(robot, contacts=[point], q=q)._plant.engine.stepping.terms
    J = terms.at(q, np.zeros(4)).J
    qd = np.array([0.5, 0.4, -0.3, 0.6])
    qd -= np.linalg.pinv(J[:1]) @ (J[:1] @ qd)
    return rd.Simulation(robot, contacts=[point], q=q, qd=qd, period=2e-3), -40.0 * J[0]


def linkage():
    """Return a four-bar whose coupler slides along a wall."""
    robot = Robot.from_mechanism(four_bar())
    state = robot.assemble(robot.assemble().q)
    link = robot.model.bodies[-1].name
    place = (robot.pose(link, state.q) @ [0.1, 0.1, 0.1, 1.0])[:3]
    J = robot.with_frame(
        "at", link, np.array([[1, 0, 0, 0.1], [0, 1, 0, 0.1], [0, 0, 1, 0.1], [0, 0, 0, 1.0]])
    ).jacobian("at", state.q, "aligned")[3:]
    return robot, state, link, place, J


CASES = {
    "flight": lambda: (flight()[0], None),
    "sliding block": lambda: (block(0.2, 0.4, [0, 0, 0, 0.5, 0.1, 0.0]), None),
    "sticking block": lambda: (block(0.8, 0.3), None),
    "spinning block without friction": lambda: (block(0.0, 0.0, [0, 0, 2.0, 0.5, 0, 0]), None),
    "arm on a ball": sliding_arm,
}


@pytest.mark.parametrize("name", CASES)
def test_periods_go_on_as_linearised(name):
    """A and B along random directions that keep contacts closed, after some periods."""
    sim, torque = CASES[name]()
    n = len(sim._plant.engine.stepping.v)
    torque = np.zeros(n) if torque is None else torque
    for _ in range(3):
        sim.step(torque)
    rng = np.random.default_rng(2)
    period = Period(sim, torque + 0.1 * rng.normal(size=n))
    for _ in range(3):
        of_state, of_torque = period.errors(rng)
        assert of_state < TOL
        assert of_torque < TOL


def test_motions_that_open_closed_contacts_are_removed():
    """A sticking block: nothing of a small motion is left after a period."""
    sim = block(0.8, 0.3)
    for _ in range(3):
        sim.step(np.zeros(6))
    before = sim.state
    A, B, _ = sim.linearize(np.zeros(6))
    np.testing.assert_allclose(A, 0.0, atol=1e-8)
    np.testing.assert_allclose(B, 0.0, atol=1e-8)
    assert np.array_equal(sim.step(np.zeros(6)).q, _stepped(sim, before).q)


def _stepped(sim, state):
    sim.state = state
    return sim.step(np.zeros(6))


def test_changing_contacts_and_other_laws_are_refused():
    """A body that lands, one that has just touched, and soft contacts: an error each."""
    landing = rd.Simulation(
        floating(),
        contacts=corners((0.05, 0.04, 0.03)),
        q=[0, 0, 0.031, 0, 0, 0, 1.0],
        qd=[0, 0, 0, 0, 0, -1.0],
    )
    with pytest.raises(rd.RobotDynamicsError, match="a contact closes in this period"):
        landing.linearize(np.zeros(6))
    with pytest.raises(rd.RobotDynamicsError, match="changes in this period"):
        block(0.8, 0.3).linearize(np.zeros(6))
    soft = rd.Simulation(
        floating(), contacts=corners((0.05, 0.04, 0.03), Material(0.5, stiffness=1e4))
    )
    with pytest.raises(rd.ArgumentError, match="soft contacts"):
        soft.linearize(np.zeros(6))
