# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The sum of grasp wrenches against the engine's, and findings from its residual."""

from __future__ import annotations

import numpy as np
import pytest
from support.grasp_sum import GraspSum
from support.law_steps import judged, law_step
from two_arms import two_arms

from robot_dynamics.control.faults import Cause
from robot_dynamics.control.reference import ACCELERATION
from robot_dynamics.control.rotation_path import conjugate, rotated
from robot_dynamics.control.settings import SafetySettings
from robot_dynamics.control.step_check import StepCheck
from robot_dynamics.control.wrench_residual import (
    ObjectDeviation,
    WrenchResidual,
    Wrist,
    watched_bodies,
)
from robot_dynamics.robot import Robot
from robot_dynamics.spatial import Inertia

PERIOD = 0.002
SETTINGS = SafetySettings()
RNG = np.random.default_rng(11)


@pytest.fixture(scope="module")
def system():
    """Return arms with an object whose centre of mass is not its origin."""
    return two_arms().with_object(
        inertia=Inertia.of([4.0, 0.2, -0.1, 0.3, 0.3, 0.01, 0.25, 0.02, 0.03, 0.2])
    )


def moving():
    """Return pose, twist and a row of a body in some motion."""
    quaternion = RNG.normal(size=4)
    pose = np.concatenate([RNG.normal(size=3), quaternion / np.linalg.norm(quaternion)])
    row = np.zeros(31)
    row[ACCELERATION] = RNG.normal(size=6)
    return pose, RNG.normal(size=6), row


def wrenches_of(system, pose, twist, row):
    """Return grasp wrenches (2, 6) that make a motion, by inverse dynamics of the free object."""
    model = system.model
    q, v, a = model.neutral(), np.zeros(model.nv), np.zeros(model.nv)
    q[system.object_q] = pose
    to_body = conjugate(pose[3:])
    omega, velocity = rotated(to_body, twist[:3]), rotated(to_body, twist[3:])
    angular, linear = (rotated(to_body, part) for part in np.split(row[ACCELERATION], 2))
    v[system.object_v] = [*omega, *velocity]
    # the spatial acceleration is the classical one less w x v (2.50)
    a[system.object_v] = [*angular, *(linear - np.cross(omega, velocity))]
    net = Robot(model).inverse_dynamics(q, v, a)[system.object_v]  # about the origin, body axes
    share = []
    for grasp in system.grasps:
        R, at = grasp[:3, :3], grasp[:3, 3]
        part = 0.5 * net
        share.append([*(R.T @ (part[:3] - np.cross(at, part[3:]))), *(R.T @ part[3:])])
    return np.array(share)


def line_of_grasps(system):
    """Return the unit vector from the first grasp to the second (3,)."""
    one, other = (grasp[:3, 3] for grasp in system.grasps)
    return (other - one) / np.linalg.norm(other - one)


def squeezed(system, wrenches, force):
    """Return wrenches with a force from grasp to grasp besides, which moves nothing."""
    along = line_of_grasps(system)
    more = wrenches.copy()
    for i, sign in ((0, 1.0), (1, -1.0)):
        more[i, 3:] += sign * force * system.grasps[i][:3, :3].T @ along
    return more


class Monitor:
    """The monitor of the object, with the kernel of the residual.

    The object is `moved` from its reference [m], and the arms disagree by `closure` about it [m].
    """

    def __init__(self, system, friction=0.0, moved=0.001, closure=0.0, settings=SETTINGS):
        bodies = watched_bodies(system, settings, PERIOD, friction)
        arms = {"left": ["one"], "right": ["other"]}
        self._check = StepCheck(arms, np.ones(2), settings, bodies=bodies)
        self.begin, self._sum = self._check.begin, GraspSum(system)
        self.warned = False
        self._error = np.array([0.0, 0.0, 0.0, moved, 0.0, 0.0])
        self._closure = np.array([0.0, 0.0, 0.0, 0.0, closure, 0.0])

    def finding(self, *measured):
        """Return the finding about the wrenches of a control instant."""
        return self.finding_of(self._sum.held_body_wrench(*measured), measured[0])

    def finding_of(self, wrenches, wrists=None):
        """Return the finding about wrenches of the body (1, 18) and of its grasps (2, 6)."""
        none, check = np.zeros(2), self._check
        step = law_step(
            none,
            pose=np.full(7, np.nan),  # so that the direction of the error has no meaning
            error=self._error,
            closure=self._closure,
            held_body_wrenches=wrenches,
        )
        self.passed = check.passes(step, none, none, none, measured=True, warned=self.warned)
        cell = judged(check, step, wrists)
        # The rule for wrenches comes before those for closure and error.
        return None if cell.figures.wrench_excess <= 0.0 else next(check.findings(cell))

    @property
    def doubtful(self):
        """Whether the sensors measure more than is good."""
        return self._check.doubtful

    @property
    def value(self):
        """The smoothed residual."""
        return self._check.residuals[0, :6]


def wrenches_of_body(residual, force, push=0.0):
    """Return wrenches of a body (1, 18) that pushes a surface downwards."""
    return np.array([[0.0, 0.0, 0.0, *force, 0.0, 0.0, 0.0, 0.0, 0.0, -push, *residual]])


def run(monitor, wrenches, pose, twist, row, seconds=0.3):
    """Return the finding after some time of the same."""
    monitor.begin()
    found = None
    for _ in range(round(seconds / PERIOD)):
        found = monitor.finding(wrenches, pose, twist, row)
        if found is not None:
            break
    return found


def test_the_wrench_of_the_motion_leaves_no_residual(system):
    """Against the engine's inverse dynamics, in ten random motions, whatever is squeezed."""
    monitor = Monitor(system)
    for _ in range(10):
        state = moving()
        wrenches = squeezed(system, wrenches_of(system, *state), 50.0)
        assert run(monitor, wrenches, *state) is None
        # Sums of numbers around 100: rounding alone.
        assert np.abs(monitor.value).max() < 1e-12 * 100


def test_a_push_by_the_world_is_found_whole(system):
    """The residual is the world's share; the finding names it and its limits."""
    monitor = Monitor(system)
    pose, _, row = moving()
    row[:], still = 0.0, np.zeros(6)
    pushed = wrenches_of(system, pose, still, row)
    grasp = system.grasps[0][:3, :3]
    sideways = np.array(rotated(conjugate(pose[3:]), np.array([30.0, 0.0, 0.0])))
    pushed[0, 3:] += grasp.T @ sideways
    found = run(monitor, pushed, pose, still, row)
    assert found.cause is Cause.UNEXPECTED_CONTACT
    assert "30 N" in found.sentence
    # The filter has forgotten nothing: it begins with the first sample.
    assert np.allclose(monitor.value[3:], sideways, atol=1e-9)


def test_an_object_that_is_gone_is_a_lost_grasp(system):
    """Sensors that feel nothing of its weight, and arms that disagree about it."""
    pose, _, row = moving()
    row[:] = 0.0
    empty = squeezed(system, np.zeros((2, 6)), 20.0), pose, np.zeros(6), row
    found = run(Monitor(system, closure=0.0011), *empty)
    assert found.cause is Cause.GRASP_LOST
    assert found.sentence == (
        "what holds it carries 0 N, expected 39.2 N for its weight and motion, and what it pushes "
        "with."
    )
    # As long as they agree, something else carries it, or the sensors are wrong.
    assert run(Monitor(system, closure=0.0009), *empty).cause is Cause.JAMMED
    assert run(Monitor(system, moved=0.0), *empty).cause is Cause.WRENCH_WRONG
    nowhere = Monitor(system, moved=np.nan)
    assert run(nowhere, *empty).cause is Cause.JAMMED


@pytest.mark.parametrize("closure", [0.0, 0.002])
def test_half_the_weight_is_no_coin_flip(system, closure):
    """Around half the weight the cause depends on the arms' agreement alone."""
    pose, _, row = moving()
    row[:], still = 0.0, np.zeros(6)
    held = wrenches_of(system, pose, still, row)
    for part in (0.45, 0.49):
        found = run(Monitor(system, closure=closure), part * held, pose, still, row)
        assert found.cause is (Cause.GRASP_LOST if closure else Cause.JAMMED)
    # More than the weight is no lost grasp, whatever the arms say.
    found = run(Monitor(system, closure=closure), 1.55 * held, pose, still, row)
    assert found.cause is Cause.UNEXPECTED_CONTACT
    # Sensors are blamed where neither the object's place nor the arms contradict: not here.
    found = run(Monitor(system, moved=0.0, closure=closure), 1.55 * held, pose, still, row)
    assert found.cause is (Cause.UNEXPECTED_CONTACT if closure else Cause.WRENCH_WRONG)


@pytest.mark.parametrize(
    ("residual", "push", "words"),
    [
        ([0.0, 0.0, 0.0, 0.0, 0.0, 30.0], 0.0, "or its mass is 1.8 times the stated one or more."),
        ([0.0, 0.0, 0.0, 7.4, 0.0, 30.0], 0.0, "or its mass is 1.8 times the stated one or more."),
        ([0.0, 0.0, 0.0, 7.7, 0.0, 30.0], 0.0, "or it is not what it was taken for."),
        ([0.0, 0.0, 0.0, 0.0, 0.0, -30.0], 0.0, "mass is 0.25 times the stated one or less."),
        ([4.0, 0.0, 0.0, 0.0, 0.0, 1.0], 0.0, "its centre of mass is 0.1 m or more from"),
        ([4.0, 0.0, 2.3, 0.0, 0.0, 1.0], 0.0, "its centre of mass is 0.12 m or more from"),
        ([4.0, 0.0, 2.4, 0.0, 0.0, 1.0], 0.0, "or it is not what it was taken for."),
        ([0.0, 0.0, 0.0, 0.0, 0.0, 70.0], 20.0, "or it is not what it was taken for."),
    ],
)
def test_a_stop_tells_the_payload_that_would_explain_it(system, residual, push, words):
    """A force along the weight of 40 N is mass, a moment across it a centre, else neither."""
    monitor = Monitor(system)
    force = np.array([0.0, 0.0, 40.0]) + residual[3:]
    for _ in range(100):
        found = monitor.finding_of(wrenches_of_body(residual, force, push))
    assert words in found.sentence


def test_an_arm_alone_loses_what_moves(system):
    """Without a second arm to disagree, a missing wrench with motion is a lost grasp."""
    body = watched_bodies(system, SETTINGS, PERIOD)[0]
    state = np.array([*np.zeros(3), 0.0, 0.0, -30.0, 0.0, 0.0, 9.2, 0.0, 100.0])

    def cause(*motion):
        return body.finding(np.zeros(18), state, ObjectDeviation(*motion)).cause

    assert cause(0.001, 0.0, None) is Cause.GRASP_LOST
    assert cause(0.0, 0.0, None) is Cause.WRENCH_WRONG
    # 30 N displace by 0.15 mm at least; rotations count by the lever of the grasps.
    lever = body.parameters[1]
    assert cause(0.000149, 0.0, False) is Cause.WRENCH_WRONG
    assert cause(0.000151, 0.0, False) is Cause.JAMMED
    assert cause(0.0, 0.000149 / lever, False) is Cause.WRENCH_WRONG
    assert cause(0.0, 0.000151 / lever, False) is Cause.JAMMED


def body_of(weight, lever=0.5):
    """Return the limits of a body that two arms hold, one at its centre."""
    places = [np.zeros(3), np.array([0.4, 0.0, 0.0])]
    wrists = {arm: Wrist(i, places[i], np.eye(3)) for i, arm in enumerate(("left", "right"))}
    return WrenchResidual("object", weight, lever, SETTINGS, PERIOD, wrists=wrists)


def state_of(force, moment=(0.0, 0.0, 0.0), needed=(0.0, 0.0, 0.0)):
    """Return the state of a filter after many samples (11,)."""
    return np.array([*moment, *force, *np.add(needed, force), 0.0, 1000.0])


@pytest.mark.parametrize(
    ("way", "exists"),
    [
        ([0, 0, 0, 0, 0, 1.51e-4], True),
        ([0, 0, 0, 0, 0, 1.49e-4], False),
        ([0, 0, 0, 0, 0, -1e-3], False),  # against the force that it would give way to
        ([0, 0, 0, 1e-3, 0, 0], False),
    ],
)
def test_a_force_that_exists_does_work(way, exists):
    """5 um/N at least, along itself: an object that is off in another direction tells nothing."""
    motion = ObjectDeviation(1e-3, 0.0, False, np.array(way))
    found = body_of(30.0).finding(np.zeros(18), state_of([0.0, 0.0, 30.0]), motion)
    assert found.cause is (Cause.UNEXPECTED_CONTACT if exists else Cause.WRENCH_WRONG)
    turned = ObjectDeviation(0.0, 1e-3, False, 2.0 * np.roll(way, 3))  # by a lever of 0.5 m
    found = body_of(30.0).finding(np.zeros(18), state_of([0.0] * 3, [0.0, 0.0, 15.01]), turned)
    assert found.cause is (Cause.UNEXPECTED_CONTACT if exists else Cause.WRENCH_WRONG)


@pytest.mark.parametrize(("weight", "most"), [(20.0, 15.0), (100.0, 50.0)])
def test_how_much_a_residual_may_be(weight, most):
    """15 N, or half the weight; a moment by its lever, of 0.1 m at least."""
    body = body_of(weight, lever=0.05)
    for size, beyond in ((0.99 * most, False), (1.01 * most, True)):
        for state in (state_of([0, size, 0]), state_of([0, 0, 0], [0.1 * size, 0, 0])):
            assert (body.excess([0.0] * 18, state.tolist(), body.parameters) > 0.0) == beyond


def test_how_long_forces_are_smoothed():
    """Of a step 63 % are there after 0.05 s; of a push that ended 37 % after 0.2 s."""
    body = body_of(100.0)
    state = body.next_state([0.0] * 9 + [30.0] + [0.0] * 8, [0.0] * 11, body.parameters)
    state[10] = 1000.0
    for tick in range(100):
        if tick == 25:
            assert state[4] == pytest.approx(20.0 * (1.0 - np.exp(-1.0)), rel=3e-3)
        state = body.next_state([0.0] * 16 + [20.0, 0.0], state, body.parameters)
    assert state[9] == pytest.approx(30.0 * np.exp(-1.0), rel=3e-3)


@pytest.mark.parametrize(
    ("part", "cosine", "apart", "cause"),
    [
        (0.252, 1.0, True, Cause.GRASP_LOST),
        (0.248, 1.0, True, Cause.JAMMED),
        (1.99, 1.0, True, Cause.GRASP_LOST),
        (2.01, 1.0, True, Cause.UNEXPECTED_CONTACT),
        (0.99, 1.0, False, Cause.JAMMED),
        (1.01, 1.0, False, Cause.UNEXPECTED_CONTACT),
        (0.9, 0.505, False, Cause.JAMMED),
        (0.9, 0.495, False, Cause.UNEXPECTED_CONTACT),
    ],
)
def test_missing_weight_is_a_lost_grasp_if_the_arms_disagree(part, cosine, apart, cause):
    """A quarter of the weight to twice of it if the arms disagree, as a weightless body is pushed;
    else up to all of it, within 60 degrees.
    """
    force = 100.0 * part * np.array([np.sqrt(1.0 - cosine**2), 0.0, -cosine])
    state = state_of(force, needed=[0.0, 0.0, 100.0])
    motion = ObjectDeviation(0.01, 0.0, apart)
    assert body_of(100.0).finding(np.zeros(18), state, motion).cause is cause


@pytest.mark.parametrize(
    ("moment", "measured", "named"),
    [
        ([0.0, 2.55, 0.0], None, "left"),  # an offset, but for a quarter of the whole
        ([0.0, 2.61, 0.0], None, "left and right"),
        ([10.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 3.5, 0.0], "left"),  # silent: 1/4 of 14.1 N
        ([10.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 3.57, 0.0], "left and right"),
        ([43.88, 0.0, 0.0], [25.0, 0.0, 0.0, 0.0, 0.0, 0.0], "left"),  # scaled: cosine 0.975
        ([36.80, 0.0, 0.0], [25.0, 0.0, 0.0, 0.0, 0.0, 0.0], "left and right"),  # and 0.965
    ],
)
def test_how_sensors_are_told_apart(moment, measured, named):
    """By a force of 10 N and a moment over the lever; the other one measures something else."""
    state = state_of([0.0, 0.0, 10.0], 0.5 * np.array(moment))
    wrists = None
    if measured is not None:
        wrists = np.array([measured, [0.0, 0.0, 50.0, 0.0, 50.0, 0.0]])
    assert body_of(100.0).sensors(state, wrists) == named


def test_a_sensor_that_is_wrong_is_named():
    """By its sign, its scale, its offset or its silence; otherwise both are."""
    # Its centre of mass, about which moments are, is its origin.
    system = two_arms().with_object(
        inertia=Inertia.of([8.0, 0.0, 0.0, 0.0, 0.3, 0.0, 0.3, 0.0, 0.0, 0.3])
    )
    pose, still, row = np.array([0.0] * 6 + [1.0]), np.zeros(6), np.zeros(31)
    held = squeezed(system, wrenches_of(system, pose, still, row), 60.0)

    def named(wrong):
        found = run(Monitor(system, moved=0.0), wrong, pose, still, row)
        assert found.cause is Cause.WRENCH_WRONG
        return found.subject

    for i, arm in enumerate(("left", "right")):
        for scale in (-1.0, 0.0, 2.5):
            wrong = held.copy()
            wrong[i] *= scale
            assert named(wrong) == arm
        wrong = held.copy()
        wrong[i, 3:] += system.grasps[i][:3, :3].T @ [0.0, 0.0, 45.0]
        assert named(wrong) == arm
        # A force along the line between the grasps has no moment that tells whose it is.
        wrong = held.copy()
        wrong[i, 3:] += system.grasps[i][:3, :3].T @ (45.0 * line_of_grasps(system))
        assert named(wrong) == "left and right"
    assert named(0.0 * held) == "left and right"


def test_a_small_difference_is_a_warning(system):
    """Beyond 5 N or 5 % of the weight, until it is a tenth lower, wherever control ends."""
    far = SafetySettings(wrench_residual_share=5.0)
    never = SafetySettings(wrench_residual_share=np.inf)
    for mass, least, settings in (
        (4.0, 5.0, SETTINGS),
        (20.0, 0.05 * 20.0 * 9.80665, SETTINGS),
        (20.0, 0.05 * 20.0 * 9.80665, far),
        (4.0, 5.0, never),
    ):
        monitor = Monitor(system.with_object(mass=mass), moved=0.0, settings=settings)

        def doubtful(force, monitor=monitor):
            monitor.warned = monitor.doubtful
            for _ in range(400):
                found = monitor.finding_of(wrenches_of_body([0, 0, 0, force, 0, 0], [0, 0, 39.2]))
                assert found is None
            return monitor.doubtful

        assert not doubtful(0.99 * least)
        assert doubtful(1.01 * least)
        assert not monitor.passed  # until there is a warning
        assert doubtful(0.91 * least)
        assert monitor.passed
        assert not doubtful(0.89 * least)
        assert monitor.passed


def test_a_limit_that_is_infinite_stays_so_without_weight():
    """As without gravity; a share alone is no limit of a weightless object."""
    for weight in (0.0, 100.0):
        body = WrenchResidual("o", weight, 0.5, SafetySettings(wrench_residual_share=np.inf), 0.01)
        state = state_of([0.0, 1e6, 0.0]).tolist()
        assert body.excess([0.0] * 18, state, body.parameters) < 0.0


def test_a_warning_names_the_sensor_or_the_object(system):
    """An object that gives way is pushed, or of another mass; else the sensor is to be tared."""
    force = np.array([0.0, 0.0, 7.0])
    body = watched_bodies(system, SETTINGS, PERIOD)[0]
    at = body._wrists["right"].at
    state = np.array([*np.cross(at, force), *force, 0.0, 0.0, 46.2, 0.0, 100.0])
    sentence = body.warning(np.zeros(18), state, ObjectDeviation(0.0, 0.0, False))
    assert sentence.startswith("right: the wrist sensors measure 7 N")
    assert "expected at most 5 N" in sentence
    assert "taring before the grasp" in sentence
    pushed = body.warning(np.zeros(18), state, ObjectDeviation(0.001, 0.0, False))
    assert pushed.startswith("object: ")
    assert "it is pushed" in pushed


def test_friction_on_a_surface_is_no_fault_and_a_grasp_lost_there_is(system):
    """30 N of drag with 60 N of push; then an object on which the grasps feel nothing at all."""
    monitor = Monitor(system, friction=0.5)
    push, drag = np.array([60.0, 0.0, 39.2]), np.array([0.0, 0.0, 0.0, 0.0, 30.0, 0.0])

    def last(*given):
        monitor.begin()
        return [monitor.finding_of(wrenches_of_body(*given)) for _ in range(150)][-1]

    assert last(drag, push + drag[3:], 60.0) is None
    assert last(drag, push + drag[3:]).cause is Cause.UNEXPECTED_CONTACT
    caught = np.array([0.0, 0.0, 0.0, 0.0, 60.0, 0.0])  # more than friction, at a surface
    assert last(caught, push + caught[3:], 60.0).cause is Cause.JAMMED
    monitor.begin()  # left a moment ago, and still felt: 60 N have decayed to 10 after 0.36 s
    assert all(monitor.finding_of(wrenches_of_body(drag, push, 60.0)) is None for _ in range(50))
    found = [monitor.finding_of(wrenches_of_body(drag, push)) for _ in range(250)]
    assert 150 < [one is not None for one in found].index(True) < 200
    gone = last(np.concatenate([np.zeros(3), -push]), np.zeros(3), 60.0)
    assert gone.cause is Cause.JAMMED


def test_a_short_push_and_a_wrong_mass_are_no_faults(system):
    """20 % of the weight for ever, and the whole weight for a tenth of the smoothing time."""
    monitor = Monitor(system)
    pose, _, row = moving()
    row[:], still = 0.0, np.zeros(6)
    held = wrenches_of(system, pose, still, row)
    assert run(monitor, 1.2 * held, pose, still, row) is None
    monitor.begin()
    for tick in range(200):
        bump = 2.0 * held if 100 <= tick < 103 else held
        assert monitor.finding(bump, pose, still, row) is None


def test_light_objects_have_a_limit_in_newtons(system):
    """Sensors have noise and offsets of that size."""
    light = system.with_object(mass=0.5)
    monitor = Monitor(light)
    pose, _, row = moving()
    row[:], still = 0.0, np.zeros(6)
    pushed = wrenches_of(light, pose, still, row)
    pushed[0, 3:] += [8.0, 0.0, 0.0]
    assert run(monitor, pushed, pose, still, row) is None
    pushed[0, 3:] += [8.0, 0.0, 0.0]
    assert run(monitor, pushed, pose, still, row).cause is Cause.UNEXPECTED_CONTACT
