# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of periods with contacts against the simulation itself at neighbouring states."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from dynamics.test_complex_step import held_chain
from support.mechanisms import random_tree
from support.touching import corners, floating

import robot_dynamics as rd
from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.laws import control_loop
from robot_dynamics.app.scenarios.plant import make_plant
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.contact import Material, PointContact, plane, sphere
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.contact.report import ContactMode

STEP = 1e-6
# Within the thresholds of contacts at rest, which count less slip than 1e-9 m/s as none.
STEPS = {"sticking arm": 1e-7}
TOL = 5e-6  # relative: of differences with that step, and of the energy balance


class Period:
    """A period of an engine as a function of state and torques."""

    def __init__(self, engine, torque):
        self.engine, self.torque, self.start = engine, torque, engine.save()
        self.stepping, self.model = engine.stepping, engine.robot.model
        self.q, self.v = self.stepping.q.copy(), self.stepping.v.copy()

    def rows(self, q, v):
        """Return the rows that may not move (m, nv), and gaps of the closed ones (c,)."""
        stepping = self.stepping
        (b, w), terms = stepping.step.rows, stepping.terms.at(q, v)
        contacts = stepping.state.contacts
        held = np.abs(contacts.force[:b]) < (1.0 - 1e-9) * stepping.step.laws.bound
        part, gaps = [*np.flatnonzero(held)], [*terms.error]
        gaps += [0.0] * (len(part) - len(gaps))  # held by friction, where they are
        for i, closed in enumerate(contacts.pressed):
            if closed:
                part.append(b + i * w)
                gaps.append(terms.gaps[i])
                if not contacts.slipping[i]:
                    part += range(b + i * w + 1, b + (i + 1) * w)
                    gaps += [0.0] * (w - 1)
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
        self.engine.restore(self.start)
        stepping = self.stepping
        energy, momentum = stepping.saved().energy, stepping._balance.momentum
        stepping._parts.find_momentum()
        before = momentum.copy()
        stepping.q[:], stepping.v[:] = q, v
        # With the energy and momentum of the other state.
        stepping.restore(stepping.saved()._replace(energy=energy))
        stepping._parts.find_momentum()
        stepping.state.account.momentum[:] += momentum - before
        self.engine.run(0.0, torque)
        return stepping.q.copy(), stepping.v.copy()

    def leave_out_energy_balance(self):
        """Take the following periods without the energy balance at their ends."""
        parts = self.stepping._parts
        self.stepping._parts = parts._replace(balance_energy=lambda: None)

    def errors(self, rng, step):
        """Return relative errors of A and B along a random direction."""
        n = self.model.nv
        self.engine.restore(self.start)
        A, B = self.engine.linearize(self.torque)
        after = self.end(self.q, self.v, self.torque)
        (dq, dv), du = rng.normal(size=(2, n)), rng.normal(size=B.shape[1])
        changes, ends = [], []
        for sign in (step, -step):
            self.engine.restore(self.start)
            q, v = self.near(sign * dq, sign * dv)
            changes.append(np.concatenate([self.model.difference(self.q, q), v - self.v]))
            q, v = self.end(q, v, self.torque)
            ends.append(np.concatenate([self.model.difference(after[0], q), v]))
        expected, moved = ((a - b) / (2.0 * step) for a, b in (ends, changes))
        of_state = np.abs(A @ moved - expected).max() / np.abs(expected).max()
        ends = []
        for sign in (1e-3, -1e-3):
            q, v = self.end(self.q, self.v, self.torque + sign * du)
            ends.append(np.concatenate([self.model.difference(after[0], q), v]))
        by_torque = (ends[0] - ends[1]) / 2e-3
        of_torque = np.abs(B @ du - by_torque).max() / np.abs(by_torque).max()
        return of_state, of_torque


def block(mu, angle, qd=None):
    """Return a block on a slope, which slides or sticks."""
    slope = plane((0, 0, 0), (np.sin(angle), 0.0, np.cos(angle)))
    q = np.array([0.03 * np.sin(angle), 0, 0.03 * np.cos(angle), 0, 0, 0, 1.0])
    q[4], q[6] = np.sin(angle / 2), np.cos(angle / 2)
    contacts = corners((0.05, 0.04, 0.03), Material(mu), surface=slope)
    return rd.Simulation(floating(), contacts=contacts, q=q, qd=qd, period=2e-3)


def flight():
    """Return a mechanism in the air."""
    rng = np.random.default_rng(1)
    tree = random_tree(rng, ["floating", "revolute", "revolute"], chain=True)
    robot = Robot.from_mechanism(tree)
    q, qd = robot.model.neutral(), rng.normal(size=robot.model.nv)
    q[2] = 3.0
    return rd.Simulation(robot, contacts=[PointContact("toe", "link2")], q=q, qd=qd), 0.0


def touching(robot, q, link, mu, *, ball=False, sticks=False, fixed=()):
    """Return a mechanism that presses a point of a link to a ball or a plane, and moves on."""
    point, n = np.array([0.1, 0.05, 0.2]), np.array([0.1, -0.2, 1.0]) / np.sqrt(1.05)
    place = (robot.pose(link, q) @ [*point, 1.0])[:3]
    surface = sphere(place - 0.4 * n, 0.4) if ball else plane(place, n)
    contact = PointContact("tip", link, point, surface, material=Material(mu))
    rd_sim = rd.Simulation(robot, contacts=[contact], q=q)
    stepping = rd_sim._plant.engine.stepping
    nv, b = robot.model.nv, stepping.terms.holding
    J = stepping.terms.at(q, np.zeros(nv)).J
    held = np.vstack(
        [J if sticks else J[[*range(stepping.terms.closing), b]], np.eye(nv)[list(fixed)]]
    )
    qd = 0.5 * np.sin(np.arange(nv) + 1.0)
    qd -= np.linalg.pinv(held, rcond=1e-9) @ (held @ qd)
    torque = robot.bias_forces(q, qd) - 60.0 * J[b]
    return rd.Simulation(robot, contacts=[contact], q=q, qd=qd, period=2e-3), torque


def arm(friction=0.0):
    """Return an arm of four joints, and positions."""
    parts = random_tree(np.random.default_rng(3), ["revolute"] * 4, chain=True)
    joints = tuple(replace(j, damping=friction, friction=friction) for j in parts.joints)
    robot = Robot.from_mechanism(replace(parts, joints=joints), joint_friction=friction > 0.0)
    return robot, np.array([0.3, -0.4, 0.5, 0.2]), "link3"


def held(friction):
    """Return an arm on a ball, whose joints Coulomb friction (4,) holds or brakes."""
    parts = random_tree(np.random.default_rng(3), ["revolute"] * 4, chain=True)
    joints = tuple(replace(j, friction=f) for j, f in zip(parts.joints, friction, strict=True))
    robot = Robot.from_mechanism(replace(parts, joints=joints), joint_friction="coulomb")
    q = np.array([0.3, -0.4, 0.5, 0.2])
    fixed = np.flatnonzero(np.array(friction) > 10.0)
    return touching(robot, q, "link3", 0.3, ball=True, fixed=fixed)


def braked_loop():
    """Return a chain in a loop with friction in its joints, in the air."""
    robot, q, link = looped("coulomb")
    return touching(robot, q, link, 0.3)


def looped(friction=False):
    """Return a chain that flies, held by a loop joint, and positions."""
    mechanism, q = held_chain("spherical", np.random.default_rng(4))
    if friction:
        joints = tuple(replace(j, friction=0.2) for j in mechanism.joints)
        mechanism = replace(mechanism, joints=joints)
    return Robot.from_mechanism(mechanism, joint_friction=friction), q, "link1"


CASES = {
    "flight": flight,
    "sliding block": lambda: (block(0.2, 0.4, [0, 0, 0, 0.5, 0.1, 0.0]), 0.0),
    "spinning block without friction": lambda: (block(0.0, 0.0, [0, 0, 2.0, 0.5, 0, 0]), 0.0),
    "arm with friction on a ball": lambda: touching(*arm(0.5), 0.3, ball=True),
    "sticking arm": lambda: touching(*arm(), 5.0, sticks=True),
    "closed loop": lambda: touching(*looped(), 0.3),
    "joints that friction brakes": lambda: held((0.0, 0.3, 0.4, 0.2)),
    "joint that friction holds": lambda: held((0.5, 50.0, 0.0, 0.2)),
    "loop that friction brakes": braked_loop,
}


STATES = {"flight": ContactMode.OPEN, "sticking arm": ContactMode.STICKING}


@pytest.mark.parametrize("name", CASES)
def test_periods_go_on_as_linearised(name):
    """A and B along random directions that keep contacts closed, after some periods."""
    sim, torque = CASES[name]()
    n = len(sim._plant.engine.stepping.v)
    torque = torque + np.zeros(n)
    for _ in range(3):
        sim.step(torque)
    rng = np.random.default_rng(2)
    period = Period(sim._plant.engine, torque + 0.1 * rng.normal(size=n))
    assert {c.state for c in sim.contacts} == {STATES.get(name, ContactMode.SLIDING)}
    step = STEPS.get(name, STEP)
    for _ in range(3):
        assert max(period.errors(rng, step)) < TOL
    period.leave_out_energy_balance()
    for _ in range(3):
        assert max(period.errors(rng, step)) < 0.1 * TOL


def test_long_steps_of_fast_motion_go_on_as_linearised():
    """The accelerations that steps hand on count there: to 1e-9 without the energy balance."""
    sim, _ = flight()
    robot, (_, q, qd, *_) = sim._plant.engine.robot, sim.observation
    toe = PointContact("toe", "link2")
    sim = rd.Simulation(robot, contacts=[toe], q=q, qd=2.0 * qd, period=4e-3, step=1e-3)
    torque = np.zeros(robot.model.nv)
    for _ in range(3):
        sim.step(torque)
    period = Period(sim._plant.engine, torque)
    period.leave_out_energy_balance()
    assert max(period.errors(np.random.default_rng(2), 1e-5)) < 1e-9


@pytest.mark.slow
def test_a_cell_with_soft_fingers_goes_on_as_linearised():
    """Two arms carry a tray between soft fingers that stick."""
    scenario = load_scenario("tray", (), "engine")
    system = build_system(scenario)
    loop, plant = control_loop(scenario, system), make_plant(scenario, system)
    seen = plant.reset()
    loop.begin_law(seen.q, seen.qd)
    for tick in range(200):
        torque = loop.update_unchecked(tick, tick, seen.q, seen.qd, seen.wrenches).torque
        seen = plant.step(torque)
    assert {c.state for c in plant.contacts()} == {ContactMode.STICKING}
    rng, period = np.random.default_rng(2), Period(plant.engine, torque)
    for _ in range(2):
        assert max(period.errors(rng, 1e-7)) < 1e-5


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
        floating(),
        contacts=corners((0.05, 0.04, 0.03), Material(0.5, stiffness=1e4, damping=10.0)),
    )
    with pytest.raises(rd.ArgumentError, match="soft contacts"):
        soft.linearize(np.zeros(6))


def test_changing_friction_of_joints_is_refused():
    """A held joint whose load exceeds its friction, and joints that stop: an error each."""
    sim, torque = held((0.5, 50.0, 0.0, 0.2))
    for _ in range(3):
        sim.step(torque)
    torque[1] += 500.0
    with pytest.raises(rd.RobotDynamicsError, match=r"friction of '.*' changes in this period"):
        sim.linearize(torque)
    sim, torque = held((0.5, 0.3, 0.4, 0.2))
    for _ in range(3):
        sim.step(torque)
    with pytest.raises(rd.RobotDynamicsError, match="closes or a joint stops in this period"):
        sim.linearize(torque)
