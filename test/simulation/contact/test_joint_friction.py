# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Coulomb friction of joints that holds: in time steps, from event to event, beside contacts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from support import linkages

import robot_dynamics as rd
from robot_dynamics.contact import Material, PointContact, plane
from robot_dynamics.errors import ArgumentError
from robot_dynamics.model import (
    CouplingElement,
    JointElement,
    LinkElement,
    LoopElement,
    Mechanism,
    pose,
)

G = 9.81
FAR = plane((-50.0, 0.0, 0.0), (1.0, 0.0, 0.0))


def mechanism(name, joints, loops=(), couplings=(), masses=None):
    """Return links of 1 kg (or `masses`), their inertia 0.02 kg m^2, on joints; base is fixed."""
    links = [LinkElement("base")]
    for joint in joints:
        mass = (masses or {}).get(joint.child, 1.0)
        links.append(LinkElement(joint.child, mass, (0.0, 0.0, 0.0), 0.02 * np.eye(3)))
    return Mechanism(name, tuple(links), tuple(joints), tuple(loops), tuple(couplings))


def slide(name, friction=0.0, axis=(1.0, 0.0, 0.0), parent="base", **more):
    return JointElement(
        f"{name} slide", "prismatic", parent, name, axis=axis, friction=friction, **more
    )


def holding(parts, gravity=(0.0, 0.0, 0.0), **options):
    """Return the robot whose friction holds."""
    return rd.Robot.from_mechanism(parts, gravity=gravity, joint_friction="coulomb", **options)


def pair():
    """Return two slides of 1 kg that move together, with 10 N of friction on the second."""
    gear = CouplingElement("gear", (("b slide", 1.0), ("a slide", -1.0)))
    return holding(mechanism("pair", [slide("a"), slide("b", 10.0)], (), (gear,)))


def simulated(robot, tau, duration, *, period=0.002, **options):
    """Return observations of every period, the start first, under forces or a function of time."""
    sim = rd.Simulation(robot, period=period, **options)
    seen = [sim.observation]
    for i in range(round(duration / period)):
        seen.append(sim.step(tau(period * (i + 0.5)) if callable(tau) else tau))
    return sim, seen


def books(sim):
    return sim._plant.engine.books()


@pytest.mark.parametrize("contacts", [None, [PointContact("wall", "a", surface=FAR)]])
def test_loaded_slides_come_to_rest_for_ever(contacts):
    """6 N against 10 N: (10 - 6) / 2 = 2 m/s^2, rest at 0.25 m after 0.5 s, in every digit."""
    robot = pair()
    start = {"q": [0.0, 0.0], "qd": [1.0, 1.0]}
    sim, seen = simulated(robot, [6.0, 0.0], 2.0, contacts=contacts, **start)
    assert_allclose(seen[250].q, 0.25, atol=1e-9)
    assert np.ptp([one.q for one in seen[251:]], axis=0).max() < 1e-12
    assert max(np.abs(one.qd).max() for one in seen[251:]) < 1e-12
    assert_allclose(books(sim).joint_friction, -10.0 * 0.25, rtol=1e-6)
    assert_allclose(books(sim).total(), -1.0, rtol=1e-6)


def test_events_of_slides_that_come_to_rest():
    """The same from event to event: exact, with the time at which they stick."""
    run = rd.integrate(pair(), [0.0, 0.0], [1.0, 1.0], 4.0, tau=[6.0, 0.0], outputs=8, step=0.05)
    assert_allclose(run.q[1:], 0.25, atol=1e-11)
    assert np.abs(run.qd[1:]).max() < 1e-11
    assert [(event.kind, event.name) for event in run.events] == [
        ("slip", "b slide"), ("stick", "b slide"),
    ]  # fmt: skip
    assert_allclose(run.events[1].time, 0.5, atol=1e-11)


def link(friction, load=1.0):
    """Return a horizontal link with its mass 0.3 m off its axis."""
    body = LinkElement("link", load, (0.3, 0.0, 0.0), 0.01 * np.eye(3))
    joint = JointElement("joint", "revolute", "base", "link", axis=(0.0, 1.0, 0.0),
                         friction=friction)  # fmt: skip
    parts = Mechanism("link", (LinkElement("base"), body), (joint,))
    return holding(parts, gravity=(0.0, 0.0, -G))


@pytest.mark.parametrize("share", [0.59, 0.9999, 1.0001, 1.5])
def test_a_link_holds_below_its_friction_and_falls_above(share):
    """Gravity's torque is `share` of friction. Right beyond it, it begins to fall."""
    torque = 0.3 * G
    robot = link(torque / share)
    run = rd.integrate(robot, [0.0], [0.0], 1.0, outputs=4, step=1e-2)
    _, seen = simulated(robot, [0.0], 1.0)
    if share < 1.0:
        assert np.abs(run.q).max() < 1e-14
        assert max(np.abs(one.q).max() for one in seen) < 1e-14
        return
    inertia, excess = 0.01 + 0.09, torque * (1.0 - 1.0 / share)
    first = 0.5 * excess / inertia * 0.02**2
    early = rd.integrate(robot, [0.0], [0.0], 0.02, outputs=1)
    assert_allclose(early.q[-1], first, rtol=1e-2)
    assert_allclose(seen[10].q, first, rtol=2e-2)
    assert run.q[-1] > 50.0 * first


def test_stick_slip_of_a_driven_block():
    """F sin(w t) of 12 N on 2 kg with 8 N: it slides from sin(w t) = 2/3 on, until
    v = int (F sin - 8) / m = 0, and holds until -2/3; then the same the other way.
    """
    robot = holding(mechanism("block", [slide("a", 8.0)], masses={"a": 2.0}))
    w, F, m, mu = 5.0, 12.0, 2.0, 8.0
    begin = np.arcsin(mu / F) / w

    def speed(t):
        return (F / w * (np.cos(w * begin) - np.cos(w * t)) - mu * (t - begin)) / m

    stop = brentq(speed, begin + 0.1, begin + 0.6, xtol=1e-14)
    assert stop < begin + np.pi / w  # it holds before it goes back
    way = (
        F / w * (np.cos(w * begin) * (stop - begin) - (np.sin(w * stop) - np.sin(w * begin)) / w)
        - 0.5 * mu * (stop - begin) ** 2
    ) / m
    back = begin + np.pi / w
    run = rd.integrate(
        robot, [0.0], [0.0], 2.0, tau=lambda t, q, qd: [F * np.sin(w * t)], step=1e-2, outputs=200
    )
    kinds = [event.kind for event in run.events]
    times = np.array([event.time for event in run.events])
    assert kinds[:4] == ["slip", "stick", "slip", "stick"]
    assert_allclose(times[:4], [begin, stop, back, stop + np.pi / w], atol=1e-9)
    assert_allclose(run.q[np.searchsorted(run.t, stop) :][0], way, atol=1e-10)
    _, seen = simulated(robot, lambda t: [F * np.sin(w * t)], 2.0, period=2.5e-4)
    assert_allclose([one.q for one in seen[::40]], run.q, atol=3e-7)


@pytest.mark.parametrize("closed_by", ["gear", "loop"])
@pytest.mark.parametrize("share", [0.95, 1.05])
def test_a_self_locking_screw(closed_by, share):
    """A nut of m kg on a screw of pitch p: its weight turns with m g p (per radian). Below the
    friction of the screw it stays; above, (J / p^2 + m) a = m g - F / p.
    """
    p, m, J = 0.01, 40.0, 0.02
    friction = m * G * p / share
    screw = JointElement("screw", "revolute", "base", "screw", axis=(0.0, 0.0, 1.0),
                         friction=friction if closed_by == "gear" else 0.0)  # fmt: skip
    nut = slide("nut", axis=(0.0, 0.0, 1.0))
    if closed_by == "gear":
        gear = CouplingElement("thread", (("nut slide", 1.0), ("screw", -p)))
        parts = mechanism("screw", [screw, nut], (), (gear,), {"nut": m})
    else:
        # The nut does not turn; friction is in the loop joint, of the turn of the screw in it.
        thread = LoopElement("thread", "helical", "nut", "screw", parameters={"pitch": -p},
                             friction=friction)  # fmt: skip
        parts = mechanism("screw", [screw, nut], (thread,), (), {"nut": m})
    robot = holding(parts, gravity=(0.0, 0.0, -G))
    fall = 0.0 if share < 1.0 else (m * G - friction / p) / (J / p**2 + m)
    run = rd.integrate(robot, [0.0, 0.0], [0.0, 0.0], 1.0, outputs=2, step=2e-2)
    _, seen = simulated(robot, [0.0, 0.0], 1.0)
    index = robot.model.joint_names.index("nut slide")
    assert_allclose(run.q[-1][index], -0.5 * fall, atol=1e-9)
    assert_allclose(seen[-1].q[index], -0.5 * fall, atol=1e-6)


def test_a_braked_pendulum_loses_what_friction_takes():
    """From 2 rad, until gravity does not move it any more; friction takes the energy.

    The reference integrates each swing by itself with SciPy.
    """
    friction, inertia, torque = 0.35, 0.01 + 0.09, 0.3 * G
    robot, angle = link(friction), 2.0  # q is from the horizontal, down is pi / 2
    way, rest = 0.0, None
    while rest is None:
        sign = np.sign(np.cos(angle))
        if abs(torque * np.cos(angle)) <= friction:
            rest = angle
            break

        def stops(t, y):
            return y[1]

        stops.terminal = True
        stops.direction = -sign
        swing = solve_ivp(
            lambda t, y, s=sign: [y[1], (torque * np.cos(y[0]) - s * friction) / inertia],
            (0.0, 10.0), [angle, 0.0], "DOP853", events=stops, rtol=1e-12, atol=1e-13,
        )  # fmt: skip
        turned = swing.y[0, -1]
        way, angle = way + abs(turned - angle), turned
    run = rd.integrate(robot, [2.0], [0.0], 8.0, outputs=80, step=1e-2)
    assert_allclose(run.q[-1], rest, atol=1e-8)
    assert np.abs(run.qd[-1]) < 1e-12
    assert_allclose(run.energy[0] - run.energy[-1], friction * way, rtol=1e-8)
    sim, seen = simulated(robot, [0.0], 8.0, q=[2.0], period=1e-3)
    assert_allclose(seen[-1].q, rest, atol=1e-6)
    assert_allclose(books(sim).joint_friction, -friction * way, rtol=1e-7)
    assert_allclose(np.ptp([one.q for one in seen[-1000:]]), 0.0, atol=1e-14)


def rubbing_four_bar():
    plain = linkages.four_bar()
    joints = tuple(replace(j, friction=0.1 + 0.1 * i) for i, j in enumerate(plain.joints))
    loops = tuple(replace(loop, friction=0.25) for loop in plain.loops)
    return replace(plain, joints=joints, loops=loops)


def test_friction_in_the_tree_or_in_the_loop():
    """A four-bar moves, loses energy and stops alike whichever of its joints closes the loop."""
    gravity, shared = (0.0, -1.0, 0.0), ("crank_joint", "coupler_joint")
    one = holding(rubbing_four_bar(), gravity)
    other = holding(rubbing_four_bar(), gravity, spanning_tree=shared)
    there = one.assemble([0.5, 1.0, 1.0], velocities={"crank_joint": 3.0})
    held = {name: there.q[i] for i, name in enumerate(shared)}
    also = other.assemble(held=held, velocities={"crank_joint": 3.0})
    runs, steps = [], []
    for robot, start in ((one, there), (other, also)):
        at = [robot.model.joint_index(name) for name in shared]
        run = rd.integrate(robot, start.q, start.qd, 2.0, outputs=20, step=5e-3)
        runs.append(run.q[:, at])
        assert np.abs(run.qd[-1]).max() < 1e-9
        sim, seen = simulated(robot, 0.0 * start.qd, 2.0, q=start.q, qd=start.qd)
        steps.append(np.array([s.q[at] for s in seen[::50]]))
        assert_allclose(books(sim).joint_friction, run.energy[-1] - run.energy[0], rtol=1e-7)
        assert np.ptp([s.q for s in seen[-50:]], axis=0).max() < 1e-9
    assert_allclose(runs[1], runs[0], atol=1e-8)
    assert_allclose(steps[0], runs[0], atol=1e-6)
    assert_allclose(steps[1], runs[1], atol=1e-6)


@pytest.mark.parametrize("how", ["steps", "events"])
def test_a_held_joint_stays_where_it_is_while_others_swing(how):
    """A four-bar swings on a slide that friction holds; closing its loop moves the slide not."""
    bars = linkages.four_bar()
    carried = [replace(j, parent=j.parent if j.parent != "base" else "cart") for j in bars.joints]
    cart = JointElement("rail", "prismatic", "base", "cart", axis=(1.0, 0.0, 0.0), friction=200.0)
    pins = [replace(loop, predecessor="cart") for loop in bars.loops]
    links = (*bars.links, LinkElement("cart", 1.0, (0.0, 0.0, 0.0), 0.1 * np.eye(3)))
    parts = Mechanism("carried", links, (cart, *carried), tuple(pins))
    robot = holding(parts, gravity=(0.0, -G, 0.0))
    start = robot.assemble(np.r_[0.0, 0.5, 1.0, 1.0], velocities={"crank_joint": 2.0, "rail": 0.0})
    place = start.q[0]
    if how == "events":
        run = rd.integrate(robot, start.q, start.qd, 1.0, outputs=10, step=1e-2, order=4)
        assert run.effort.correction > 1e-9
        assert np.abs(run.q[:, 0] - place).max() < 1e-13
        assert np.ptp(run.q[:, 1]) > 0.5
        return
    sim, seen = simulated(robot, 0.0 * start.qd, 1.0, q=start.q, qd=start.qd, step=2e-3)
    assert np.abs([one.q[0] - place for one in seen]).max() < 1e-13
    assert np.ptp([one.q[1] for one in seen]) > 0.5
    assert books(sim).joint_friction == pytest.approx(0.0, abs=1e-12)


def test_a_slide_is_pressed_on_a_wall_and_left_there():
    """Friction holds a pressed slide: when the drive lets go, the slide stays."""
    robot = holding(mechanism("press", [slide("a", 4.0)]))
    wall = PointContact("wall", "a", surface=plane((0.1, 0.0, 0.0), (-1.0, 0.0, 0.0)),
                        material=Material(0.5))  # fmt: skip
    sim, seen = simulated(robot, [6.0], 0.6, contacts=[wall])
    assert_allclose(seen[-1].q, 0.1, atol=1e-9)
    contact = sim.contacts[0]
    # 6 N = wall + friction; how they share it is not determined by statics.
    assert 2.0 - 1e-9 <= contact.force[2] <= 10.0 + 1e-9
    for _ in range(200):
        last = sim.step([0.0])
    assert_allclose(last.q, 0.1, atol=1e-9)
    # A force away from the wall below friction does not move it; above, it does.
    for _ in range(200):
        last = sim.step([-3.9])
    assert_allclose(last.q, 0.1, atol=1e-9)
    for _ in range(100):
        last = sim.step([-5.0])
    assert_allclose(last.q, 0.1 - 0.5 * 0.2**2, atol=1e-4)


@pytest.mark.parametrize("speed", [0.5, 2.0])
def test_a_joint_that_holds_takes_no_part_in_a_blow(speed):
    """Friction is finite and has no impulse: a slide that bounces off a held one moves it by
    2 v m / (m + M) e = 1, which friction then stops with F / M.
    """
    friction = 3.0
    parts = mechanism("blow", [slide("a"), slide("b", friction)], masses={"b": 2.0})
    robot = holding(parts)
    ball = PointContact("blow", "a", (0.0, 0.0, 0.0), plane((-0.05, 0.0, 0.0), (-1.0, 0.0, 0.0)),
                        on="b", material=Material(0.0, restitution=1.0))  # fmt: skip
    q, qd = [-0.1, 0.0], [speed, 0.0]
    after = 2.0 * speed / 3.0
    way = after**2 / (2.0 * friction / 2.0)
    run = rd.integrate(robot, q, qd, 2.0, outputs=1, contacts=[ball], step=2e-2)
    assert_allclose(run.q[-1][1], way, rtol=1e-9)
    assert [e.kind for e in run.events] == ["impact", "slip", "stick"]
    _, seen = simulated(robot, [0.0, 0.0], 2.0, q=q, qd=qd, contacts=[ball])
    assert_allclose(seen[-1].q[1], way, rtol=1e-4)


def test_steps_are_of_second_order_while_joints_slide():
    """A four-bar whose joints slide: a quarter of the error with half the step."""
    robot = holding(rubbing_four_bar(), (0.0, -1.0, 0.0))
    start = robot.assemble([0.5, 1.0, 1.0], velocities={"crank_joint": 6.0})
    exact = rd.integrate(robot, start.q, start.qd, 0.1, outputs=1, step=1e-3).q[-1]
    errors = []
    for step in (4e-4, 2e-4):
        _, seen = simulated(
            robot, 0.0 * start.qd, 0.1, period=0.01, q=start.q, qd=start.qd, step=step
        )
        errors.append(np.abs(seen[-1].q - exact).max())
    assert 3.0 < errors[0] / errors[1] < 5.5


def double_pendulum(friction):
    """Return two rods of 1 kg and 0.5 m that turn about y."""
    rods = [LinkElement(n, 1.0, (0.25, 0, 0), np.diag([1e-3, 0.02, 0.02])) for n in "ab"]
    joints = [
        JointElement("ja", "revolute", "base", "a", axis=(0.0, 1.0, 0.0), friction=friction[0]),
        JointElement("jb", "revolute", "a", "b", pose((0.5, 0.0, 0.0)), (0.0, 1.0, 0.0),
                     friction=friction[1]),
    ]  # fmt: skip
    parts = Mechanism("double", (LinkElement("base"), *rods), tuple(joints))
    return holding(parts, gravity=(0.0, 0.0, -G))


FRICTION, START = (0.8, 0.5), np.array([0.3, 1.0])


def boxed_steps(robot, friction, q, duration, h):
    """Return positions after steps as DART takes them: v+ first, then q, impulses in a box.

    The boxed problem of the joints' rows is solved by projected Gauss-Seidel, as Bullet does.
    """
    v, P = np.zeros(2), np.zeros(2)
    plain = robot.replace(joint_friction=False)
    for _ in range(round(duration / h)):
        W = np.linalg.inv(plain.inertia_matrix(q))
        free = v - h * W @ plain.bias_forces(q, v)
        for _ in range(60):
            for i in range(2):
                P[i] -= (free + W @ P)[i] / W[i, i]
                P[i] = np.clip(P[i], -h * friction[i], h * friction[i])
        v = free + W @ P
        q = q + h * v
    return q


def test_steps_as_dart_takes_them_come_nearer_with_their_length():
    """Of first order, and ours of second: half the step is half the distance."""
    robot, duration = double_pendulum(FRICTION), 0.5
    exact = rd.integrate(robot, START, [0.0, 0.0], duration, outputs=1, step=5e-3).q[-1]
    _, seen = simulated(robot, [0.0, 0.0], duration, q=START)
    assert_allclose(seen[-1].q, exact, atol=1e-6)
    errors = [
        np.abs(boxed_steps(robot, FRICTION, START, duration, h) - exact).max()
        for h in (1e-3, 5e-4)
    ]
    assert errors[1] < 2e-3
    assert 1.8 < errors[0] / errors[1] < 2.2


MUJOCO = """<mujoco><option timestep="2e-4" gravity="0 0 -9.81" integrator="implicitfast"/>
<default><joint axis="0 1 0" solreffriction="4e-4 1" solimpfriction="0.9999 0.9999 1e-3"/>
</default><worldbody><body><joint frictionloss="{0}"/>
<inertial pos="0.25 0 0" mass="1" diaginertia="1e-3 0.02 0.02"/>
<body pos="0.5 0 0"><joint frictionloss="{1}"/>
<inertial pos="0.25 0 0" mass="1" diaginertia="1e-3 0.02 0.02"/></body></body></worldbody></mujoco>
"""


@pytest.mark.parametrize("friction", [FRICTION, (8.0, 3.0)])
def test_mujoco_moves_and_holds_a_double_pendulum_alike(friction):
    """By `frictionloss`, to its creep and the first order of its steps."""
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(MUJOCO.format(*friction))
    data = mujoco.MjData(model)
    data.qpos[:] = START
    sim = rd.Simulation(double_pendulum(friction), q=START, period=2e-3)
    most = 0.0
    for _ in range(500):
        mujoco.mj_step(model, data, 10)
        seen = sim.step([0.0, 0.0])
        most = max(most, np.abs(seen.q - data.qpos).max())
    if friction == FRICTION:
        assert np.abs(seen.q - START).max() > 0.5
        assert most < 2e-3
    else:  # m g (0.25 + 0.5 + 0.25) = 9.8 N m at most: it moves a little, and holds
        assert np.abs(seen.qd).max() < 1e-12
        assert most < 1e-4


def test_a_state_goes_on_bit_for_bit():
    """Set to a state from before it stuck, a simulation repeats the rest."""
    sim, _ = simulated(pair(), [6.0, 0.0], 0.3, q=[0.0, 0.0], qd=[1.0, 1.0])
    state = sim.state
    first = [sim.step([6.0, 0.0]).q for _ in range(150)]
    sim.state = state
    assert np.array_equal(first, [sim.step([6.0, 0.0]).q for _ in range(150)])


def test_what_is_refused():
    """Methods without events, many states, and smooth friction of loops beside contacts."""
    robot = link(1.0)
    for options in ({"method": "adaptive"}, {"method": "independent"}, {"method": "stabilised"}):
        with pytest.raises(ArgumentError, match=r"coulomb.*need the method 'projection'"):
            rd.integrate(robot, [0.0], [0.0], 0.1, **options)
    with pytest.raises(ArgumentError, match=r"coulomb.*one state"):
        rd.integrate(robot, np.zeros((2, 1)), [0.0], 0.1)
    with pytest.raises(ArgumentError, match="prescribed motion of 'joint'"):
        rd.integrate(robot, [0.0], [0.0], 0.1, prescribed={"joint": lambda t: 0.0})
    frictionless = robot.replace(joint_friction=True)
    assert frictionless.model.structure_key != robot.model.structure_key
    with pytest.raises(ArgumentError, match="friction of loop joint 'pin' beside contacts"):
        rd.Simulation(
            rd.Robot.from_mechanism(rubbing_four_bar(), joint_friction=True),
            contacts=[PointContact("far", "crank", surface=FAR)],
        )
