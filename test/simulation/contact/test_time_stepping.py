# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Contact mechanics against closed forms: inclines, bounces, elastic walls, fingers, discs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp, trapezoid
from scipy.spatial.transform import Rotation
from scipy.special import j1
from support.contact_scenes import BOX, MASS, between_fingers, on_surfaces, run
from support.mechanisms import two_arms

from robot_dynamics.contact.material import Material
from robot_dynamics.contact.surfaces import plane, sphere
from robot_dynamics.manipulation.hybrid import Contact, FrictionCone
from robot_dynamics.model import LinkElement, pose
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.contact.time_stepping import TimeStepping
from robot_dynamics.simulation.scene import ArmContact, Scene, SurfaceContact, points_of_face

G = 9.81
UP = (0.0, 0.0, 1.0)
UPRIGHT = (0.0, 0.0, 0.0, 1.0)
BOTTOM = points_of_face(0.1, 0.1, pose((0.0, 0.0, -0.05)))
CENTER = [[0.0, 0.0, 0.0]]


def floor(material, points=BOTTOM):
    """Return a floor at height zero."""
    return SurfaceContact("floor", plane((0, 0, 0), UP), points, material)


def energy_of(motion):
    """Return a function of the motion's kinetic and potential energy."""
    robot = Robot(motion.scene.model)
    return lambda: float(sum(robot.energies(motion.q, motion.v)))


@pytest.mark.parametrize(("mu", "slips"), [(0.37, False), (0.36, True), (0.2, True), (0.0, True)])
def test_a_block_on_an_incline(mu, slips):
    """At 20 degrees (tan 0.364) it slips exactly if mu is less, at g (sin a - mu cos a).

    The scheme is exact at constant acceleration: both thresholds are rounding. Sticking it does
    not creep, and it stays on the plane.
    """
    a = np.radians(20.0)
    normal, down = np.array([np.sin(a), 0, np.cos(a)]), np.array([np.cos(a), 0, -np.sin(a)])
    slope = SurfaceContact("slope", plane((0, 0, 0), normal), BOTTOM, Material(FrictionCone(mu)))
    motion = TimeStepping(on_surfaces(slope))
    motion.start(np.concatenate([0.05 * normal, Rotation.from_euler("y", a).as_quat()]))
    run(motion, 0.5)
    acceleration = G * (np.sin(a) - mu * np.cos(a)) if slips else 0.0
    assert_allclose(motion.q[:3] @ down, 0.5 * acceleration * 0.5**2, atol=1e-11)
    assert_allclose(motion.q[:3] @ normal, 0.05, atol=1e-12)
    assert motion.state.contacts.pressed.all()
    assert (motion.state.contacts.slipping == slips).all()
    assert motion.state.contacts.impacts.sum() == 0


@pytest.mark.parametrize(("radius", "corrected"), [(np.inf, False), (0.5, True)])
def test_only_what_is_open_is_corrected(radius, corrected):
    """A block that slides straight stays closed as its steps are; around a pillar it does not.

    Which it is, the middle of a step tells: no terms are evaluated where nothing is to be done.
    """
    surface = plane((0, 0, 0), UP) if np.isinf(radius) else sphere((0, 0, -radius), radius)
    scene = on_surfaces(SurfaceContact("ground", surface, CENTER, Material(FrictionCone(0.1))))
    motion = TimeStepping(scene)
    motion.start(np.array([0.0, 0, 0, *UPRIGHT]), np.array([0.0, 0, 0, 0.5, 0, 0]))
    sizes, evaluated, found = [], [], motion._correction.record
    for _ in range(100):
        motion.advance(1e-3, np.zeros(6))
        found.size = np.nan
        motion.correct()
        evaluated.append(not np.isnan(found.size))
        sizes.append(motion.correction)
    assert evaluated == [corrected] * 100
    assert (np.array(sizes[:50]) > 1e-12).all() == corrected
    assert abs(motion.terms.at(motion.q, motion.v).gaps[0]) < 2e-12


@pytest.mark.parametrize("e", [0.3, 0.8])
def test_a_bouncing_ball(e):
    """Dropped from 1 m it rises to e^2, e^4 and e^6 of that, less rounding of the peaks in time.

    The highest of sampled heights is below the peak by g h^2 / 8 at most, 1e-7 m.
    """
    motion = TimeStepping(on_surfaces(floor(Material(FrictionCone(0.0), restitution=e), CENTER)))
    motion.start(np.array([0.0, 0.0, 1.0, *UPRIGHT]))
    tops, before = [], [0.0]

    def watch(m):
        if before[0] > 0.0 >= m.v[5]:
            tops.append(m.q[2])
        before[0] = m.v[5]

    run(motion, 1.9 if e > 0.5 else 0.95, after=watch)
    assert_allclose(tops[:3], [e**2, e**4, e**6][: len(tops[:3])], atol=4e-6)
    assert len(tops) >= 2


def test_a_ball_comes_to_rest():
    """Bounces get shorter without end in theory; the ball lies still after a finite number."""
    motion = TimeStepping(on_surfaces(floor(Material(FrictionCone(0.5), restitution=0.5), CENTER)))
    motion.start(np.array([0.0, 0.0, 0.1, *UPRIGHT]))
    run(motion, 0.6)
    assert_allclose(motion.q[2], 0.0, atol=1e-7)  # what counts as closed
    assert_allclose(motion.v, 0.0, atol=1e-12)
    # From 1.4 m/s by halves to 2.7 mm/s: later ones rise by less than what counts as closed.
    assert motion.state.contacts.impacts[0] == 10


@pytest.mark.parametrize("stiffness", [1e4, 1e5])
@pytest.mark.parametrize("mass", [0.5, 4.0])
def test_an_elastic_wall(stiffness, mass):
    """Without loss it is left after pi sqrt(m / k) at the speed of arrival; with e at e of it.

    The time is known to a step at either end; restitution to the square of the step over it.
    """
    link = LinkElement("ball", mass, (0.0, 0.0, 0.0), 0.01 * np.eye(3))
    step = 2.5e-4
    for e in (1.0, 0.3):
        material = Material(FrictionCone(0.0), stiffness=stiffness, restitution=e, speed=0.07)
        motion = TimeStepping(on_surfaces(floor(material, CENTER), link=link, gravity=(0, 0, 0)))
        motion.start(np.array([0, 0, 1e-3, *UPRIGHT]), np.array([0, 0, 0, 0, 0, -0.07]))
        within = []
        run(
            motion,
            0.15,
            step,
            after=lambda m, seen=within: seen.append(m.state.contacts.pressed[0]),
        )
        period = np.pi * np.sqrt(mass / stiffness)
        assert_allclose(motion.v[5], e * 0.07, rtol=0.5 * (step / period) ** 2 * np.pi**2 + 1e-5)
        if e == 1.0:
            assert_allclose(step * sum(within), period, atol=2.0 * step)
        assert motion.state.contacts.impacts[0] == 1


def test_an_elastic_floor_carries():
    """At rest it is pressed in by m g / k, spread over four corners."""
    material = Material(FrictionCone(0.5), stiffness=1e4, restitution=0.3)
    motion = TimeStepping(on_surfaces(floor(material)))
    motion.start(np.array([0.0, 0.0, 0.05, *UPRIGHT]))
    run(motion, 1.0, 1e-3)
    assert_allclose(motion.q[2] - 0.05, -MASS * G / 4e4, rtol=1e-3)
    assert np.abs(motion.v).max() < 1e-4


@pytest.mark.parametrize(("squeeze", "drops"), [(20.0, True), (24.0, True), (25.0, False)])
def test_two_fingers_hold_a_box_or_drop_it(squeeze, drops):
    """2 kg between two points of mu = 0.4: they hold if 2 mu N > m g, so from N = 24.5 N on.

    Less, and it falls with g - 2 mu N / m from the start: exact at constant acceleration.
    """
    scene, start = between_fingers(Material(FrictionCone(0.4)))
    motion = TimeStepping(scene)
    motion.start(start)
    force = np.zeros(8)
    force[scene.system.v_index] = squeeze
    run(motion, 0.2, force=force)
    fall = G - 2.0 * 0.4 * squeeze / MASS if drops else 0.0
    height = motion.q[scene.system.object_q][2]
    assert_allclose(height, -0.5 * fall * 0.2**2, atol=1e-10)
    assert (motion.state.contacts.slipping == drops).all()


@pytest.mark.parametrize("stiffness", [np.inf, 1e7])
def test_beyond_the_edge_of_its_face_a_finger_touches_nothing(stiffness):
    """Sliding down between the fingers the box leaves them after 20 mm and falls freely."""
    e = 0.0 if np.isinf(stiffness) else 0.3
    material = Material(FrictionCone(0.4), stiffness=stiffness, restitution=e)
    scene, start = between_fingers(material, face=(0.02, 0.02))
    motion = TimeStepping(scene)
    motion.start(start)
    force = np.zeros(8)
    force[scene.system.v_index] = 20.0
    slow = G - 2.0 * 0.4 * 20.0 / MASS
    leaves = np.sqrt(2.0 * 0.02 / slow)
    run(motion, 0.25, force=force)
    assert not motion.state.contacts.pressed.any()
    rest = 0.25 - leaves
    expected = -(0.02 + slow * leaves * rest + 0.5 * G * rest**2)
    # It leaves at the end of a step: of a quarter millisecond, at 0.28 m/s and 8 m/s^2 more.
    assert_allclose(motion.q[scene.system.object_q][2], expected, atol=5e-4)


def test_soft_fingers_brake_a_spin():
    """Between soft fingers a spin about their line ends at the rate 2 gamma N / I."""
    gamma, squeeze, omega = 0.01, 30.0, 5.0
    scene, start = between_fingers(
        Material(FrictionCone(0.5, gamma)), "soft finger", gravity=(0, 0, 0)
    )
    motion = TimeStepping(scene)
    v = np.zeros(8)
    v[scene.system.object_v.start] = omega  # about x, the fingers' line
    motion.start(start, v)
    force = np.zeros(8)
    force[scene.system.v_index] = squeeze
    brake = 2.0 * gamma * squeeze / float(BOX.inertia[0][0])
    run(motion, 0.05, force=force)
    assert_allclose(motion.v[scene.system.object_v.start], omega - 0.05 * brake, rtol=1e-9)
    run(motion, 0.05, force=force)
    assert_allclose(motion.v, 0.0, atol=1e-12)  # 5 rad/s end after 0.083 s
    assert not motion.state.contacts.slipping.any()


@pytest.mark.parametrize(("part", "turns"), [(0.999, False), (1.001, True)])
def test_soft_fingers_hold_a_turn(part, turns):
    """A weight W beside the fingers' line turns the box only beyond the limit of friction.

    Each finger carries W / 2 and the moment W d / 2: (W / 2 mu N)^2 + (W d / 2 gamma N)^2 < 1.
    Within a thousandth below it, the box stays where it is for two seconds, to rounding.
    """
    mu, gamma, squeeze, d = 0.5, 0.01, 100.0, 0.05
    weight = part * 2.0 * squeeze / np.hypot(1.0 / mu, d / gamma)
    inertia = np.diag([0.01, 0.012, 0.014])
    box = LinkElement("box", weight / G, (0.0, -d, 0.0), inertia)
    scene, start = between_fingers(Material(FrictionCone(mu, gamma)), "soft finger", link=box)
    motion = TimeStepping(scene)
    motion.start(start)
    force = np.zeros(8)
    force[scene.system.v_index] = squeeze
    run(motion, 0.1 if turns else 2.0, force=force)
    assert (motion.state.contacts.slipping == turns).all()
    if turns:
        assert motion.v[scene.system.object_v.start] > 1e-4
    else:
        assert_allclose(motion.q, start, atol=1e-12)
        assert_allclose(motion.v, 0.0, atol=1e-12)


def test_tilting_soft_fingers_turn_what_they_hold():
    """Fingers that tilt to and fro roll on the box; without a spin it turns about their line.

    About the line finger and box turn at sin(tilt) times the rate of the nod, so that a closed
    path of the wrist leaves a turn (2 pi B J1(A) for amplitudes A and B): sticking in velocity
    has no angle to be restored. Measured: the joints' own path, summed up, which the trapezoidal
    rule makes exact to the square of a step: 2e-5 of the turn.
    """
    scene, start = between_fingers(
        Material(FrictionCone(0.5, 0.02)), "soft finger", gravity=(0, 0, 0), wrists=True
    )
    motion = TimeStepping(scene)
    motion.start(start)
    q_at, v_at = scene.system.q_index, scene.system.v_index
    force, step, path = np.zeros(len(motion.v)), 2.5e-4, []
    for i in range(round(1.1 / step)):
        s = np.clip(2.0 * np.pi * (i * step), 0.0, 2.0 * np.pi)
        tilt, nod = 0.3 * np.sin(s), 0.4 * (1.0 - np.cos(s))
        wanted = np.array([0.0, tilt, nod, 0.0, -tilt, nod])
        force[v_at] = 20.0 * (wanted - motion.q[q_at]) - 0.1 * motion.v[v_at]
        force[v_at[[0, 3]]] = 50.0
        run(motion, step, force=force)
        if i % 8 == 7:
            motion.correct()
        path.append(motion.q[q_at])
    assert motion.state.contacts.pressed.all()
    assert not motion.state.contacts.slipping.any()
    _, tilt, nod, _, other, _ = np.array(path).T
    turn = trapezoid(np.sin(tilt), nod)
    assert_allclose(trapezoid(np.sin(other), nod), -turn, rtol=1e-6)
    assert_allclose(turn, 2.0 * np.pi * 0.4 * j1(0.3), rtol=0.2)  # as far as the wrists follow
    rotation = Rotation.from_quat(motion.q[scene.system.object_q][3:]).as_rotvec()
    assert_allclose(np.abs(rotation), [turn, 0.0, 0.0], atol=2e-5 * turn)


def test_a_turning_slide_is_against_the_slip():
    """Sliding and spinning on a soft finger share the friction: the limit is an ellipsoid."""
    gamma, mu, squeeze = 0.02, 0.5, 30.0
    scene, start = between_fingers(
        Material(FrictionCone(mu, gamma)), "soft finger", gravity=(0, 0, 0)
    )
    motion = TimeStepping(scene)
    v = np.zeros(8)
    at = scene.system.object_v.start
    v[at], v[at + 5] = 10.0, 0.4  # about the fingers' line, and along z
    motion.start(start, v)
    force = np.zeros(8)
    force[scene.system.v_index] = squeeze
    motion.advance(2.5e-4, force)
    # t is against (v, (gamma / mu) omega) of length mu N.
    slip = np.array([0.4, gamma / mu * 10.0])
    t = -mu * squeeze * slip / np.linalg.norm(slip)
    change = np.array([2.0 * t[0] / MASS, 2.0 * t[1] * gamma / mu / float(BOX.inertia[0][0])])
    # The slip of the step's end counts: it differs by some 1e-3 of itself.
    assert_allclose((motion.v - v)[[at + 5, at]] / 2.5e-4, change, rtol=3e-3)


@pytest.mark.parametrize("stiffness", [np.inf, 1e5])
def test_energy_never_grows_in_passive_contact(stiffness):
    """A box thrown on a floor tumbles: no period adds energy, but for the time steps' error.

    Of 5.4 J, in 200 periods of eight steps, on a rigid floor and on an elastic one, which gives
    back no more than it stores, also where a corner enters and leaves within a step: rounding.
    """
    e = 0.0 if np.isinf(stiffness) else 0.3
    material = Material(FrictionCone(0.4), stiffness=stiffness, restitution=e)
    corners = np.vstack([BOTTOM, BOTTOM * [1, 1, -1]])
    motion = TimeStepping(on_surfaces(floor(material, corners)))
    turned = Rotation.from_euler("xyz", [0.5, 0.4, 0.3]).as_quat()
    motion.start(np.array([0, 0, 0.2, *turned]), np.array([5.0, 3.0, 2.0, 1.0, 0.5, 0.0]))
    energy, seen = energy_of(motion), []

    def stored():
        if np.isinf(stiffness):
            return 0.0
        rest = np.zeros(6)
        gaps = motion.terms(motion.q, rest, rest, rest, rest, 0.0).gaps
        return 0.5 * stiffness * float((np.minimum(gaps, 0.0) ** 2).sum())

    run(motion, 0.4, after=lambda m: seen.append(energy() + stored()))
    seen = seen[7::8]
    growth = np.diff(seen)
    assert growth.max() < 1e-12
    assert seen[-1] < seen[0] - 1.0
    # Nothing is lost without an entry in the books.
    start = seen[0]
    assert abs(seen[-1] - stored() - start - motion.books.total()) < 1e-3


@pytest.mark.parametrize("stiffness", [1e4, 1e5, 1e6, 1e7, 1e8])
def test_springs_give_back_what_they_took(stiffness):
    """A box that tumbles on springs without friction or damping keeps its energy, that of
    the springs included: errors of steps in which corners enter and leave come back.
    """
    material = Material(FrictionCone(0.0), stiffness=stiffness, restitution=1.0)
    corners = np.vstack([BOTTOM, BOTTOM * [1, 1, -1]])
    for seed in range(3):
        rng = np.random.default_rng(seed)
        motion = TimeStepping(on_surfaces(floor(material, corners)))
        turned = Rotation.random(random_state=rng).as_quat()
        start = [*(5.0 * rng.normal(size=3)), *rng.normal(size=3)]
        motion.start(np.array([0, 0, 0.2, *turned]), np.array(start))
        energy = energy_of(motion)
        before = energy()
        run(motion, 0.4)
        rest = np.zeros(6)
        gaps = motion.terms(motion.q, rest, rest, rest, rest, 0.0).gaps
        stored = 0.5 * motion.state.surfaces.used @ np.minimum(gaps, 0.0) ** 2
        # 6e-6 at most of 25 starts, 1e-3 where springs are work that is not looked at.
        assert abs(energy() + stored - before) < 1e-5 * before
        assert motion.state.contacts.impacts.any()


@pytest.mark.parametrize("stiffness", [1e4, 1e6, 1e8])
def test_laws_of_springs_are_met_in_each_step(stiffness):
    """Of a box that tumbles with friction and losses."""
    material = Material(FrictionCone(0.4), stiffness=stiffness, restitution=0.3)
    motion = TimeStepping(on_surfaces(floor(material, np.vstack([BOTTOM, BOTTOM * [1, 1, -1]]))))
    missed: list[bool] = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        turned = Rotation.random(random_state=rng).as_quat()
        start = np.array([*(5.0 * rng.normal(size=3)), *rng.normal(size=3)])
        motion.start(np.array([0, 0, 0.2, *turned]), start)
        run(motion, 0.4, after=lambda m: missed.append(bool(m.step.trial.springs.missed)))
        assert motion.state.contacts.impacts.any()
    assert not any(missed)
    assert motion.residual < 1e-10


@pytest.mark.parametrize("e", [1.0, 0.5])
def test_a_spring_that_is_pressed_at_the_start_gives_what_it_stores(e):
    """It throws the box upwards; with losses less of it comes back."""
    K, deep, count = 1e5, 5e-3, len(BOTTOM)
    material = Material(FrictionCone(0.0), stiffness=K, restitution=e, speed=2.0)
    motion = TimeStepping(on_surfaces(floor(material, BOTTOM)))
    motion.start(np.array([0, 0, -BOTTOM[0, 2] - deep, 0, 0, 0, 1.0]))
    energy = energy_of(motion)
    before = energy()
    run(motion, 0.1)
    assert not motion.state.contacts.pressed.any()

    def power(z, y):  # of the force, over z: m v dv = f dz
        return count * -K * z * (1.0 - motion.step.laws.loss[0] * np.sqrt(max(y[0], 0.0)) * c)

    c = np.sqrt(2.0 / MASS)
    weight = MASS * 9.81
    left = solve_ivp(lambda z, y: power(z, y) - weight, (-deep, 0.0), [0.0], rtol=1e-8, atol=1e-10)
    gained = left.y[0, -1] + weight * deep
    assert abs(energy() - before - gained) < (1e-5 if e == 1.0 else 2e-3) * gained


def test_friction_of_a_joint_that_was_struck_is_that_of_its_speed():
    """A box at 1 m/s strikes a finger at rest, with 20 N of friction: it loses 20 N h / m a step.

    At rest friction of 20 N over 50 mm/s would be 400 N s/m, a third of the speed in that step.
    """
    scene, start = between_fingers(
        Material(FrictionCone(0.5), restitution=1.0), gravity=(0.0, 0.0, 0.0)
    )
    motion = TimeStepping(scene)
    q, v = start.copy(), np.zeros(scene.model.nv)
    finger, box = 1, scene.system.object_v.start + 3
    q[0], q[finger], v[box] = q[0] - 0.5, q[finger] - 1e-3, 1.0
    motion.start(q, v)
    motion.friction.coulomb[finger], motion.friction.fading = 20.0, 0.05
    while not motion.state.contacts.impacts.any():
        motion.advance(2.5e-4, np.zeros(len(v)))
    given, lost = 2.0 * MASS / (MASS + 0.3), 20.0 * 2.5e-4 / 0.3
    assert given - 1.01 * lost < abs(motion.v[finger]) < given + 1e-9


def test_impacts_with_friction_never_give_energy():
    """A slanted rod whose tip strikes a rough floor: Newton's restitution alone would gain.

    Kane and Levinson's case: a tip that is turned back along the floor by friction. In random
    blows with e = 0.9 some reach the threshold, none is beyond it but for rounding; those that
    lose energy keep their restitution.
    """
    rod = LinkElement("rod", 1.0, (0.0, 0.0, 0.0), np.diag([0.08, 0.08, 1e-3]))
    tip = np.array([[0.0, 0.0, -0.5]])
    material = Material(FrictionCone(0.8), restitution=0.9)
    rng, reduced, kept = np.random.default_rng(3), 0, 0
    scene = on_surfaces(floor(material, tip), link=rod, gravity=(0.0, 0.0, 0.0))
    motion = TimeStepping(scene)
    energy, rest = energy_of(motion), np.zeros(6)
    for _ in range(100):
        turned = Rotation.from_euler("xy", rng.uniform(-1.2, 1.2, 2))
        start = np.array([0.0, 0.0, -turned.apply(tip[0])[2], *turned.as_quat()])
        motion.start(start, rng.normal(size=6) * [2.0, 2.0, 2.0, 1.0, 1.0, 1.0])
        seen = motion.terms(motion.q, motion.v, rest, rest, rest, 0.0)
        arrival, before = float(seen.before[0]), energy()
        if arrival > -0.05:
            continue
        motion.advance(1e-7, rest)
        gained = energy() - before
        assert gained < 1e-9 * before  # rounding, and a step of 1e-7 s
        leaving = float((seen.J @ motion.v)[0]) / -arrival
        reduced += leaving < 0.9 - 1e-3
        kept += abs(leaving - 0.9) < 1e-4
        assert leaving < 0.9 + 1e-4
    assert reduced >= 3
    assert kept >= 3


def test_impacts_of_two_points_on_what_is_held_never_give_energy():
    """Two arms hold an object rigidly, of which two points strike a floor and a wall at once.

    With restitutions of 0.9 and 0.3, rough both, and far from the grasps: of random blows some
    lose both and some reach the threshold of the energy; none is beyond it, and grasps hold in
    all.
    """
    cell = two_arms()
    system, at = cell.system, cell.start[cell.system.object_q]
    points = np.array([[0.3, 0.3, -0.3], [0.4, -0.3, 0.2]])
    places = at[:3] + Rotation.from_quat(at[3:]).apply(points)
    lively, dull = (
        Material(FrictionCone(mu), restitution=e) for mu, e in [(1.2, 0.9), (0.8, 0.3)]
    )
    surfaces = (
        SurfaceContact("floor", plane(tuple(places[0]), UP), points[:1], lively),
        SurfaceContact("wall", plane(tuple(places[1]), (-1.0, 0.0, 0.0)), points[1:], dull),
    )
    rigid = tuple(ArmContact(Contact.of_kind("rigid", g), Material()) for g in system.grasps)
    motion = TimeStepping(Scene(system, rigid, surfaces))
    rest = np.zeros(system.model.nv)
    K = Robot(system.model).constraint_terms(cell.start, rest)[2]
    onto = np.eye(len(rest)) - np.linalg.pinv(K) @ K  # what the grasps allow
    energy, rng, found = energy_of(motion), np.random.default_rng(0), []
    for _ in range(200):
        motion.start(cell.start.copy(), onto @ (2.0 * rng.normal(size=len(rest))))
        seen = motion.terms(motion.q, motion.v, rest, rest, rest, 0.0)
        before, arrival = energy(), seen.before[[12, 15]]  # after the rows of the grasps
        if arrival.max() > -0.05:
            continue
        motion.advance(1e-7, rest)
        gained, leaving = energy() - before, (seen.J @ motion.v)[[12, 15]]
        assert gained < 1e-9 * before  # rounding, and a step of 1e-7 s
        assert np.abs(K @ motion.v).max() < 1e-4  # m/s, which change within the step
        found.append((gained > -1e-9 * before, *np.isclose(-leaving / arrival, [0.9, 0.3], 1e-3)))
    at_bar, lively, dull = np.array(found).T
    assert at_bar.sum() >= 5
    assert (lively & dull & ~at_bar).sum() >= 5


def test_a_slide_over_a_ball_keeps_to_it():
    """A point that slides on a sphere without friction leaves it at 2/3 of its first height."""
    ball = SurfaceContact("ball", sphere((0, 0, -0.1), 0.1), CENTER, Material(FrictionCone(0.0)))
    motion = TimeStepping(on_surfaces(ball))
    tilt = 0.1
    motion.start(np.array([0.1 * np.sin(tilt), 0, 0.1 * np.cos(tilt) - 0.1, *UPRIGHT]))
    left = []

    def watch(m):
        if not left and not m.state.contacts.pressed[0]:
            left.append(10.0 * m.q[2] + 1.0)

    run(motion, 0.4, after=watch)
    # From rest at the tilt it leaves where cos = 2/3 cos(tilt). It is seen after a step, and sinks
    # by 1.6e-3 of the radius in each.
    assert_allclose(left[0], 2.0 / 3.0 * np.cos(tilt), atol=3e-3)
    assert motion.state.contacts.impacts[0] == 0


def test_on_an_elastic_incline_it_sticks():
    """Corners on springs share the load without end at rest: no creep, no rocking, laws met."""
    a = np.radians(15.0)
    normal, down = np.array([np.sin(a), 0, np.cos(a)]), np.array([np.cos(a), 0, -np.sin(a)])
    material = Material(FrictionCone(0.5), stiffness=1e4, restitution=0.3)
    slope = SurfaceContact("slope", plane((0, 0, 0), normal), BOTTOM, material)
    motion = TimeStepping(on_surfaces(slope))
    motion.start(np.concatenate([0.0496 * normal, Rotation.from_euler("y", a).as_quat()]))
    run(motion, 0.3)
    there = float(motion.q[:3] @ down)
    run(motion, 0.3)
    # What is left is the settling of the springs: some 1e-9 m, and a nanometre a second.
    assert abs(float(motion.q[:3] @ down) - there) < 1e-8
    assert np.abs(motion.v).max() < 1e-7
    assert motion.residual < 1e-10
    assert not motion.state.contacts.slipping.any()


def test_sticking_bodies_do_not_creep():
    """Sticking under a side load moves nothing: no creep."""
    motion = TimeStepping(on_surfaces(floor(Material(FrictionCone(0.5)))))
    motion.start(np.array([0.0, 0.0, 0.05, *UPRIGHT]))
    force = np.array([0.0, 0.0, 0.05, 8.0, 0.0, 0.0])
    run(motion, 2.0, step=1e-3, force=force)
    assert_allclose(motion.q, [0, 0, 0.05, *UPRIGHT], atol=1e-12)
    assert motion.correction < 1e-12
    assert motion.residual < 1e-10
