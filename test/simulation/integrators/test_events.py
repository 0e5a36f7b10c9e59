# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motion from event to event: bounces, sliding off, tipping over, limits, loops, Zeno's rest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.touching import at, corners, floating

import robot_dynamics as rd
from robot_dynamics.contact.material import Material
from robot_dynamics.contact.points import Inequality, PointContact, cable, joint_limits
from robot_dynamics.contact.surfaces import sphere
from robot_dynamics.errors import ArgumentError
from robot_dynamics.model import JointElement, Limits, LinkElement, Mechanism
from robot_dynamics.simulation.integrators.trajectory import IntegrationError
from robot_dynamics.simulation.runge_kutta import EULER, EVENT_ORDERS, HEUN, interpolation_weights

ROOT = Path(__file__).resolve().parents[3]
G = 9.81
SMOOTH = Material(0.0)
BOX = (0.1, 0.1, 0.05)


def times_of(motion, kind="impact"):
    return np.array([event.time for event in motion.events if event.kind == kind])


@pytest.mark.book("K2")
@pytest.mark.parametrize("order", [2, 4, 8])
def test_a_bouncing_ball_keeps_its_times(order):
    """20 bounces within 1e-12 s of t1 + 2 t1 (e + ... + e^k), and rest after the last of them."""
    e, h, r = 0.8, 1.0, 0.1
    ball = PointContact("ball", "body", radius=r, material=Material(0.0, restitution=e))
    motion = rd.integrate(
        floating(), at(0, 0, h + r), np.zeros(6), 4.3, contacts=[ball], order=order, step=0.1,
        outputs=20,
    )  # fmt: skip
    t1 = np.sqrt(2 * h / G)
    expected = t1 + 2 * t1 * np.concatenate([[0.0], np.cumsum(e ** np.arange(1, 20))])
    assert_allclose(times_of(motion)[:20], expected, rtol=0, atol=1e-12)
    speeds = [event.after for event in motion.events[:20]]
    assert_allclose(speeds, G * t1 * e ** np.arange(1, 21), rtol=1e-9)
    # Zeno: bounces below 1 mm/s are the last ones, long before the sum of all times, 4.06 s.
    assert motion.events[-1].kind == "closed"
    assert motion.events[-1].time < t1 * (1 + e) / (1 - e)
    assert_allclose(motion.q[-1], at(0, 0, r), atol=1e-9)
    assert_allclose(motion.qd[-1], 0.0, atol=1e-9)
    assert np.diff(motion.energy).max() < 1e-12 * motion.energy[0]


@pytest.mark.book("K2")
@pytest.mark.parametrize("order", [2, 8])
def test_a_bounce_within_rounding_comes_to_rest(order):
    """A ball within rounding of the floor that rises too slowly to come clear of it."""
    ball = PointContact("ball", "body", radius=0.1, material=Material(0.0, restitution=0.5))
    q = at(0, 0, 0.1 - 1e-10)
    motion = rd.integrate(
        floating(), q, [0, 0, 0, 0, 0, 2e-5], 0.02, contacts=[ball], order=order, step=5e-3,
        outputs=4,
    )  # fmt: skip
    assert_allclose(motion.q[-1], at(0, 0, 0.1), atol=1e-9)
    assert_allclose(motion.qd[-1], 0.0, atol=1e-12)
    assert [event.kind for event in motion.events] == ["closed"]


@pytest.mark.book("K2")
@pytest.mark.parametrize("scheme", [EULER, HEUN])
def test_interpolation_ends_where_the_step_does(scheme):
    """b(1) are the weights of the step (11.49, 11.51); in between the order is the scheme's."""
    assert_allclose(interpolation_weights(scheme, 1.0), scheme.b, rtol=1e-15)
    assert_allclose(interpolation_weights(scheme, 0.0), 0.0)
    errors = []
    for h in (0.1, 0.05):
        k1 = 1.0  # y' = y from 1
        k2 = 1.0 + 2.0 / 3.0 * h
        b = interpolation_weights(scheme, 0.4)
        errors.append(abs(1.0 + h * np.dot(b, [k1, k2][: len(b)]) - np.exp(0.4 * h)))
    assert errors[0] / errors[1] > 0.9 * 2 ** (scheme.order + 1)


@pytest.mark.book("K2")
def test_a_puck_leaves_a_dome_at_two_thirds_of_its_height():
    """Without friction it opens where cos = 2/3: the force becomes zero there."""
    R, r, start = 1.0, 0.05, 0.1
    a = R + r
    dome = PointContact("dome", "body", surface=sphere((0, 0, 0), R), radius=r, material=SMOOTH)
    q = at(a * np.sin(start), 0, a * np.cos(start))
    motion = rd.integrate(
        floating(), q, np.zeros(6), 1.2, contacts=[dome], step=5e-3, order=8, outputs=240
    )
    opened = times_of(motion, "open")
    assert len(opened) == 1
    height = np.interp(opened[0], motion.t, motion.q[:, 2]) / a
    assert_allclose(height, 2.0 / 3.0 * np.cos(start), atol=3e-5)  # linear between outputs
    on = motion.t < opened[0]
    assert_allclose(np.linalg.norm(motion.q[on, :3], axis=1), a, atol=1e-12)
    assert_allclose(motion.energy, motion.energy[0], rtol=1e-10)


def rolled_off(order, step):
    """A ball that rolls down a dome and leaves it, and its gap at the outputs."""
    R, r, start = 0.5, 0.1, 0.3
    dome = PointContact("dome", "body", surface=sphere((0, 0, -R), R), radius=r,
                        material=Material(0.5, restitution=0.5))  # fmt: skip
    a = R + r
    moving = (at(a * np.sin(start), 0, a * np.cos(start) - R), [0, 0.5, 0, 0, 0.3, 0])
    motion = rd.integrate(
        floating(0.5), *moving, 0.8, contacts=[dome], order=order, step=step, outputs=20
    )
    return motion, np.linalg.norm(motion.q[:, :3] + [0, 0, R], axis=1) - a


@pytest.fixture(scope="module")
def precisely_rolled_off():
    """That motion, of order eight."""
    return rolled_off(8, 2e-3)[0]


@pytest.mark.parametrize(("order", "step"), [(1, 2e-3), (2, 2e-3), (2, 1e-3), (4, 2e-3)])
def test_a_rolling_ball_leaves_a_dome_once(precisely_rolled_off, order, step):
    """Errors of the scheme, which are as large as the gap at first, do not close it again."""
    motion, gaps = rolled_off(order, step)
    assert [event.kind for event in motion.events] == ["closed", "slip", "stick", "slip", "open"]
    opened = [times_of(each, "open")[0] for each in (motion, precisely_rolled_off)]
    assert_allclose(*opened, rtol=0, atol=step if order == 1 else 10.0 * step**2)
    assert gaps[motion.t > opened[0]].min() > 0.0


@pytest.mark.parametrize(("order", "h"), [(2, 1e-3), (8, 1e-3), (4, 1e-2)])
def test_a_decelerating_arrival_within_rounding_bounces(order, h):
    """Within rounding of the floor there, and accelerated upwards: it arrives all the same."""
    ball = PointContact("ball", "body", radius=0.1, material=Material(0.0, restitution=0.5))
    up, gap, speed = 10.0, 5e-10, 2.0 * h
    robot, start = floating(2.0), speed + up * h
    z = 0.1 + gap + start * h - 0.5 * up * h * h
    motion = rd.integrate(
        robot, at(0, 0, z), [0, 0, 0, 0, 0, -start], 5 * h, tau=[0, 0, 0, 0, 0, 2.0 * (G + up)],
        contacts=[ball], order=order, step=h, outputs=5, rest_speed=1e-4,
    )  # fmt: skip
    (event,) = motion.events
    assert event.kind == "impact"
    assert_allclose([event.before, event.after], [-speed, 0.5 * speed], rtol=1e-3)


@pytest.mark.book("K2")
def test_a_box_tips_over_an_edge():
    """On four corners, one of them redundant; pushed above it tips about two, as by statics."""
    half, m, Iy = (0.1, 0.1, 0.2), 2.0, 0.006
    robot = floating(m)
    contacts = corners(half, SMOOTH)
    stop = Inequality("stop", lambda p: 0.2 - p.point("body").x)
    push = 15.0  # N along x at the centre; the corners slide, the stop holds the top
    motion = rd.integrate(
        robot, at(0.2, 0, 0.2), np.zeros(6), 0.1, tau=[0, 0, 0, push, 0, 0],
        contacts=[*contacts, stop], step=2e-3, outputs=10,
    )  # fmt: skip
    assert_allclose(motion.q, np.tile(at(0.2, 0, 0.2), (11, 1)), atol=1e-12)
    # A moment beyond m g x tips it about the two corners at x; they slide without friction.
    moment = m * G * half[0] + 0.5
    tipped = rd.integrate(
        robot, at(0, 0, 0.2), np.zeros(6), 0.004, tau=[0, moment, 0, 0, 0, 0],
        contacts=contacts, step=1e-3, outputs=10,
    )  # fmt: skip
    rate = 0.5 / (Iy + m * half[0] ** 2)
    assert_allclose(tipped.qd[-1, 1], rate * 0.004, rtol=1e-3)  # the lever shrinks by 1e-3
    pressed = tipped.q[-1, 2]
    assert pressed > 0.2
    # It tips about the corners at +x: their gap stays.
    low = robot.pose("body", tipped.q[-1]) @ [0.1, 0.1, -0.2, 1.0]
    assert_allclose(low[2], 0.0, atol=1e-11)


def test_more_contacts_than_needed_move_as_their_reduced_set():
    """A box that falls on its corners: doubled, with points within and on two parallel edges."""
    more = [(0.1, 0.1, -0.05), (-0.1, 0.1, -0.05), (0.0, 0.0, -0.05)]
    more += [(x, y, -0.05) for x in (-0.1, 0.1) for y in (-0.04, 0.07)]
    q = at(0.0, 0.0, 0.4)
    q[3:] = np.array([0.2, 0.1, 0.0, 0.97]) / np.linalg.norm([0.2, 0.1, 0.0, 0.97])
    half, hard = (0.1, 0.1, 0.05), Material(0.0, restitution=0.4)
    motions = [
        rd.integrate(
            floating(), q, np.zeros(6), 0.42, contacts=corners(half, hard, which), step=5e-3,
            order=4, outputs=9,
        )
        for which in ((), more)
    ]  # fmt: skip
    assert len(times_of(motions[0])) > 3
    assert_allclose(motions[1].q, motions[0].q, atol=1e-9)
    for motion in motions:
        assert np.diff(motion.energy).max() < 1e-7 * motion.energy[0]  # of the scheme of order 4


def test_a_pendulum_on_a_cable_falls_and_swings():
    """Slack it falls freely; taut it loses the speed along the cable, and then swings on."""
    rope = cable("rope", 1.0, ("body", (0, 0, 0)), ("world", (0, 0, 0)))
    start = at(0.8, 0.0, 0.0)
    motion = rd.integrate(
        floating(), start, np.zeros(6), 0.7, contacts=[rope], step=5e-3, outputs=20
    )
    hit = motion.events[0]
    assert (hit.kind, hit.name) == ("impact", "rope")
    assert_allclose(hit.time, np.sqrt(2 * 0.6 / G), rtol=1e-10)  # at (0.8, -0.6)
    assert_allclose(hit.before, -0.6 * np.sqrt(2 * G * 0.6), rtol=1e-10)
    after = motion.t > hit.time + 1e-9
    assert_allclose(np.linalg.norm(motion.q[after, :3], axis=1), 1.0, atol=1e-11)
    energy = motion.energy[after]
    assert_allclose(energy, energy[0], rtol=1e-10)
    lost = 0.5 * 2.0 * hit.before**2
    assert_allclose(motion.energy[0] - energy[0], lost, rtol=1e-9)


def test_a_closed_loop_meets_the_limit_of_a_joint():
    """A four-bar swings onto a limit, bounces and comes to rest on it; closure to 1e-10."""
    robot = rd.load(ROOT / "examples" / "four_bar.urdf")
    start = robot.assemble([-1.0, 0.5, -1.5])
    stop = Inequality("stop", lambda p: -0.5 - p.joint("crank_joint"), restitution=0.3)
    motion = rd.integrate(
        robot, start.q, start.qd, 0.7, contacts=[stop], tau=[-1.0, 0.0, 0.0], step=1e-2, order=4,
        outputs=20,
    )  # fmt: skip
    assert motion.events[0].kind == "impact"
    assert motion.events[-1].kind == "closed"
    assert_allclose(motion.q[-1, 0], -0.5, atol=1e-9)
    assert motion.worst_closure_error < 1e-10
    assert_allclose(motion.qd[-1], 0.0, atol=1e-8)


def slide(length):
    """Return a mass on a rail, and its elastic limits."""
    links = (LinkElement("base"), LinkElement("slide", 2.0))
    joint = JointElement(
        "rail",
        "prismatic",
        "base",
        "slide",
        axis=(1, 0, 0),
        limits=Limits(lower=0.0, upper=length),
    )
    robot = rd.Robot.from_mechanism(Mechanism("rail", links, (joint,)))
    return robot, joint_limits(robot, restitution=1.0)


def test_a_slide_goes_back_and_forth_without_loss():
    """Elastic limits: 50 impacts at their times, and all of the energy at the end."""
    robot, limits = slide(0.1)
    motion = rd.integrate(
        robot, [0.05], [1.0], 5.0, contacts=limits, order=2, step=0.5, outputs=10
    )
    assert_allclose(times_of(motion), 0.05 + 0.1 * np.arange(50), atol=1e-12)
    assert_allclose(motion.energy, motion.energy[0], rtol=1e-12)
    assert "energy" not in str(motion)  # which impacts may take


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"q": at(0, 0, 0.04)}, "contact 'corner 1' is 0.01 m deep, expected 1e-09 m at most"),
        (
            {"contacts": [Inequality("high", lambda p: p.point("body").z - 1.0)]},
            "phi of 'high' is -0.95, expected zero or more",
        ),
        ({"method": "adaptive"}, "method 'projection'"),
        ({"order": 3}, "order 3"),
        ({"rest_speed": -1.0}, "rest_speed"),
        ({"rest_speed": 1e-8}, "rest_speed is 1e-08 m/s, expected 1e-06 or more"),
        ({"contacts": corners(BOX, Material(0.0, 1e5, 0.5))}, "has stiffness 100000 N/m"),
    ],
)
def test_bad_arguments_are_refused(changes, words):
    """With one sentence."""
    how = {"q": at(0, 0, 0.05), "contacts": corners(BOX, SMOOTH), **changes}
    with pytest.raises(ArgumentError, match=words):
        rd.integrate(floating(), how.pop("q"), np.zeros(6), 0.1, **how)
    assert set(EVENT_ORDERS) == {1, 2, 4, 5, 8}


@pytest.mark.parametrize("mu", [0.0, 0.3])
def test_a_surface_that_ends_is_told_with_place_and_time(mu):
    """A point slides to where its surface is NaN; the rows before it are kept."""
    edge = PointContact(
        "edge", "body", surface=lambda r: 1e-3 * np.sqrt(1.0 - r.x) - r.z, material=Material(mu)
    )
    with pytest.raises(IntegrationError, match="s: contact 'edge' has a gap or a normal") as error:
        rd.integrate(
            floating(), at(0, 0, 1e-3), [0, 0, 0, 3.0, 0, 0], 1.0, contacts=[edge], step=1e-2,
            order=2, outputs=50,
        )  # fmt: skip
    assert 1 / 3 - 0.02 < error.value.time < 0.5
    assert error.value.trajectory.t[-1] == pytest.approx(error.value.time, abs=0.02)


@pytest.mark.parametrize("aside", [0.0, 0.8])
def test_points_are_seen_that_go_half_of_their_way_through(aside):
    """In a step: a ball of 1 cm is never passed, in time steps or from event to event."""
    way, h = 0.5 * 0.02 * np.sqrt(1.0 - aside**2), 1e-3
    ball = PointContact("ball", "body", surface=sphere((0, 0, 0), 0.01), material=SMOOTH)
    for i in range(8):
        start = at(0.01 * aside, 0, 0.05 + way * i / 8), [0, 0, 0, 0, 0, -way / h]
        motion = rd.integrate(
            floating(), *start, 12 * h, contacts=[ball], step=h, order=4, outputs=1
        )
        assert motion.events[0].kind == "impact"
        sim = rd.Simulation(floating(), contacts=[ball], q=start[0], qd=start[1], period=h, step=h)
        hits = []
        for _ in range(12):
            sim.step(np.zeros(6))
            hits.append(sim.contacts[0].impacts)
        assert sum(hits) >= 1


def test_events_that_accumulate_are_told():
    """A body that alternates between two stops 1e7 times a second, in steps of 100 s."""
    robot, limits = slide(1e-7)
    words = "100 events of 'rail lower', 'rail upper' follow each other in 1e-05 s; expected"
    with pytest.raises(IntegrationError, match=words):
        rd.integrate(robot, [5e-8], [1.0], 100.0, contacts=limits, order=2, step=100.0, outputs=1)


def test_ctrl_c_says_when():
    """Also before the first output."""
    ball = PointContact("ball", "body", radius=0.1, material=SMOOTH)

    def stop(time, q, qd):
        if time > 0.205:
            raise KeyboardInterrupt
        return np.zeros(6)

    with pytest.raises(KeyboardInterrupt, match=r"stopped at 0\.2 s of the motion"):
        rd.integrate(
            floating(), at(0, 0, 0.5), np.zeros(6), 1.0, tau=stop, contacts=[ball], step=0.01,
            outputs=1,
        )  # fmt: skip


@pytest.mark.parametrize("mu", [0.0, 0.3])
def test_a_wedged_body_ends_the_integration(mu):
    """A disc in a slot that closes in on it: no forces meet the laws; the floor is not named."""
    narrow = [
        PointContact(
            name,
            "body",
            radius=0.1,
            surface=sphere((s * 1.9, 0, 0.1), 2.0, inside=True),
            material=Material(mu),
        )
        for name, s in (("left", 1.0), ("right", -1.0))
    ]
    floor = PointContact("floor", "body", radius=0.1, material=Material(mu))
    words = "at 0 s: contacts 'left', 'right': no contact forces satisfy the laws"
    with pytest.raises(IntegrationError, match=words):
        rd.integrate(
            floating(), at(0, 0, 0.1), [0, 0, 0, 0, 1.0, 0], 0.5, contacts=[floor, *narrow]
        )


@pytest.mark.parametrize("mu", [0.0, 0.3])
def test_motion_without_bounds_is_told(mu):
    """A moment on a box on its corners that grows beyond all numbers."""

    def moment(time, q, qd):
        return np.array([0.0, 1e3, 0.0, 0.0, 0.0, 0.0]) * np.exp(3e3 * time)

    with pytest.raises(IntegrationError, match="motion is unbounded"):
        rd.integrate(
            floating(), at(0, 0, 0.05), np.zeros(6), 1.0, tau=moment, step=1e-2,
            contacts=corners(BOX, Material(mu)),
        )  # fmt: skip
