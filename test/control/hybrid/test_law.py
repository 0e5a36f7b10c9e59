# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled law is the law: equal to the one in NumPy, and exact under forward dynamics.

The expected values follow from the request alone (`support.exact_decoupling`). States are
random ones where the arms' S^T J has a condition of less than 100, those nearer to singularities
are drawn again: arms move without bound there, and rounding with them. Where the hands are nearly
singular in their free directions, the object and the forces are compared, the torques not. In the
law as shipped the model is evaluated ahead of the measurement, arms are damped below a pivot that
none of these states comes near, and arms share the load unequally.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import null_space
from support.complex_step import moving, rates
from support.exact_decoupling import SAFE_PIVOT, worst
from support.hybrid_step import TracedHybridLaw, arguments_of, bare_gains
from support.hybrid_systems import GRASPS, LINKAGE, SURFACES, environment_of, state_of

from robot_dynamics.compile.differentiation import jacobian_times_vector, vector_times_jacobian
from robot_dynamics.control.hybrid import law_program
from robot_dynamics.control.hybrid.law_inputs import LawConstants, LawOptions
from robot_dynamics.control.hybrid.law_program import HybridLawProgram
from robot_dynamics.control.hybrid.servo import MotionServo
from robot_dynamics.manipulation.hybrid.decoupling_law import DampedInverse
from robot_dynamics.reproductions.yoshikawa_zheng.system_motion import system_motion


def check(*combination, **how):
    """Assert that requests are met, of the hands as well, and that torques are those of NumPy.

    Both lose digits with the condition of J: to 1e-16 times some powers of 100.
    """
    found = worst(*combination, **how)
    assert found.error < 1e-9
    assert found.hands < 1e-9
    assert found.torque < 1e-10


@pytest.mark.parametrize(
    ("count", "kind", "surfaces", "joints", "shipped"),
    [
        (2, "rigid", "free", 7, False),
        (3, "soft finger", "plane", 6, False),
        (3, "frictional point", "two planes", 7, True),
    ],
)
def test_it_is_the_law_of_numpy(count, kind, surfaces, joints, shipped):
    """Compiled: torques are those of `hybrid_torque`, and forward dynamics return the request."""
    check(count, kind, joints, SURFACES[surfaces], 20, shipped=shipped)


@pytest.mark.parametrize("joints", [6, 7])
@pytest.mark.parametrize("surfaces", SURFACES)
@pytest.mark.parametrize(("count", "kind"), GRASPS)
def test_it_decouples_in_every_combination(count, kind, surfaces, joints):
    """The code that the kernels are traced from, over floats, at a state of each; and shipped."""
    check(count, kind, joints, SURFACES[surfaces], 1, compiled=False)
    check(count, kind, joints, SURFACES[surfaces], 1, compiled=False, shipped=True)


@pytest.mark.parametrize("surfaces", SURFACES)
def test_it_moves_along_coordinates_of_the_users_own(surfaces):
    """u1 is (41) in the coordinates, and the normals of surfaces leave them as they are (35)."""
    check(2, "rigid", 6, SURFACES[surfaces], 3, compiled=False, own=True)


@pytest.mark.parametrize(
    ("count", "kind", "surfaces"),
    [(2, "soft finger", "plane"), (3, "frictional point", "two planes")],
)
def test_it_decouples_for_arms_with_loops(count, kind, surfaces):
    """The same over floats, of arms with a five-bar linkage each: torques are those of drives."""
    check(count, kind, LINKAGE, SURFACES[surfaces], 2, compiled=False)
    check(count, kind, LINKAGE, SURFACES[surfaces], 2, compiled=False, shipped=True)


@pytest.mark.slow
@pytest.mark.parametrize("surfaces", SURFACES)
@pytest.mark.parametrize(("count", "kind"), GRASPS)
def test_it_decouples_for_arms_with_loops_anywhere(count, kind, surfaces):
    """Over 200 states of every combination of contacts and planes, and 100 as shipped."""
    check(count, kind, LINKAGE, SURFACES[surfaces], 200)
    check(count, kind, LINKAGE, SURFACES[surfaces], 100, shipped=True)


@pytest.mark.parametrize("falsified", [lambda a: -3.0 * a + 1.0, lambda a: 1.001 * a])
def test_a_wrong_servo_is_found(falsified, monkeypatch):
    """Of a law that asks for another acceleration the comparison says that it is off."""
    honest = MotionServo.of

    def wrong(*given):
        servo = honest(*given)
        return replace(servo, acceleration=[falsified(a) for a in servo.acceleration])

    monkeypatch.setattr(MotionServo, "of", wrong)
    found = worst(3, "soft finger", 6, 1, 1, compiled=False)
    assert found.error > 1e-6
    assert found.torque > 1e-6


@pytest.mark.parametrize("shipped", [False, True])
@pytest.mark.parametrize("count_kind", [(2, "soft finger"), (3, "frictional point")])
def test_the_plain_pseudo_inverse_meets_the_task_as_well(count_kind, shipped):
    """(34) with J^+: motion, forces and hands are those of the request, as of the other one."""
    check(*count_kind, 7, 1, 3, compiled=False, shipped=shipped, null_space="plain")


def test_the_generalised_inverses_differ_in_the_self_motion():
    """Each leaves out its own part of the joints' motion, and both give the same of the object.

    With N a basis of the self-motion, N^T H qdd = N^T H d_q in the metric of the inertia, which is
    dynamically consistent: the task makes no force on the self-motion. With the plain one it is
    N^T qdd = N^T d_q.
    """
    rng = np.random.default_rng(7)
    state = state_of(2, "soft finger", 7, environment_of(0), rng)
    terms, gains = state.terms, bare_gains(state.system)
    motion = {}
    for inverse in ("inertia", "plain"):
        options = LawOptions(ahead=False, null_space=inverse)
        step = TracedHybridLaw(state.system, options, compiled=False)
        got = step.run(state, gains=gains, acceleration=np.arange(6.0))
        motion[inverse] = system_motion(terms, got["torque"])
    first, second = motion["inertia"], motion["plain"]
    assert_allclose(first.object_acceleration, second.object_acceleration, atol=1e-9)
    assert_allclose(first.contact_forces, second.contact_forces, atol=1e-7)
    assert_allclose(terms.J @ first.qdd, terms.J @ second.qdd, atol=1e-8)
    N, d_q = null_space(terms.J), -state.drives[1]
    assert N.shape == (14, 2)
    assert_allclose(N.T @ terms.M @ (first.qdd - d_q), 0.0, atol=1e-9)
    assert_allclose(N.T @ (second.qdd - d_q), 0.0, atol=1e-9)
    assert np.abs(first.qdd - second.qdd).max() > 0.1


@pytest.mark.parametrize("inverse", ["inertia", "plain"])
@pytest.mark.parametrize(("kind", "joints"), [("frictional point", 3), ("soft finger", 5)])
def test_arms_with_few_joints_move_hands_as_far_as_they_can(kind, joints, inverse):
    """Fingers with three joints at points have no say; five joints leave one of two tilts.

    The object and the forces are exactly those of the request all the same, and nothing grows.
    """
    rng = np.random.default_rng(3)
    state = state_of(3, kind, joints, environment_of(0), rng)
    options = LawOptions(ahead=False, null_space=inverse)
    step = TracedHybridLaw(state.system, options, compiled=False)
    assert step.layout.free == (0 if joints == 3 else 6)
    # Far from the grasps: hands are told to turn, and servos are stiff.
    gains = bare_gains(
        state.system, hand_proportional=400.0, hand_derivative=40.0, safe_pivot=SAFE_PIVOT
    )
    got = step.run(state, gains=gains, acceleration=np.arange(6.0), internal=5.0)
    terms = state.terms
    motion = system_motion(terms, got["torque"])
    system, R = state.system, state.pose[:3, :3]
    asked = np.arange(6.0)
    asked[3:] += np.cross(asked[:3], R @ np.asarray(system.held.center))
    omega = state.twist[:3]
    r = R @ np.asarray(system.held.center)
    asked[3:] += np.cross(omega, np.cross(omega, r))
    assert_allclose(motion.object_acceleration, asked, atol=1e-8)
    inside = got["distribution"].internal_force(motion.contact_forces)
    assert_allclose(inside, 5.0, atol=1e-7)
    assert np.abs(motion.qdd).max() < 1e4


@pytest.mark.parametrize("part", ["servo", "projection", "following"])
def test_a_wrong_motion_of_the_hands_is_found(part, monkeypatch):
    """By 1 %: of d_ah itself, of the part kept from the object, of the motion with the object."""
    if part == "servo":
        honest = law_program.hand_motion
        monkeypatch.setattr(
            law_program, "hand_motion",
            lambda *given: tuple([1.01 * value for value in values] for values in honest(*given)),
        )  # fmt: skip
    elif part == "following":
        honest = LawConstants.unpack

        def wrong(*given):
            fixed = honest(*given)
            W_free = [[1.01 * value for value in row] for row in fixed.W_free]
            return replace(fixed, W_free=W_free)

        monkeypatch.setattr(LawConstants, "unpack", wrong)
    else:
        honest_push = DampedInverse.inertial_torque

        def unprojected(side, wanted, posture):
            force, missing = honest_push(side, wanted, posture)
            free = len(wanted) - len(side.J)
            added = np.array(side._G[:free]).T @ np.array(wanted[:free])
            return [a + 0.01 * b for a, b in zip(force, added, strict=True)], missing

        monkeypatch.setattr(DampedInverse, "inertial_torque", unprojected)
    found = worst(3, "soft finger", 7, 1, 2, compiled=False)
    assert found.hands > 1e-6
    assert found.torque > 1e-6
    if part == "projection":
        assert found.error > 1e-6
    else:  # whatever hands do, the object does not feel it
        assert found.error < 1e-9


@pytest.mark.parametrize("ramp", [0.5, 1.0])
def test_friction_is_compensated_at_the_desired_velocity(ramp, monkeypatch):
    """The joints' friction at the servo's velocity is added, with the ramp."""
    state = state_of(2, "rigid", 7, environment_of(0), np.random.default_rng(3))
    step, given = (
        TracedHybridLaw(state.system, compiled=False),
        {"ramp": ramp, "twist": np.arange(6.0)},
    )
    plain = step.run(state, **given)["torque"]
    desired = []

    def friction(joints, rates, share, velocity):
        desired.append(list(rates))
        return [1.0 + i for i, _ in enumerate(joints)]

    monkeypatch.setattr(law_program, "friction_torque", friction)
    added = step.run(state, **given)["torque"] - plain
    assert_allclose(added, ramp * (1.0 + np.arange(14)), atol=1e-8)
    # Without an error of the pose that is the velocity of the reference.
    terms, center = state.terms, state.pose[:3, :3] @ np.asarray(state.system.held.center)
    twist = np.arange(6.0)
    twist[3:] += np.cross(twist[:3], center)
    assert_allclose(terms.J_S @ desired[0], terms.W_S.T @ twist, atol=1e-8)


def test_derivatives_of_the_law_are_those_of_complex_steps():
    """Of torque and memory by measurements, reference, memory and all parameters, both ways."""
    rng = np.random.default_rng(4)
    state = state_of(2, "soft finger", 6, environment_of(1), rng)
    large = dict.fromkeys(
        ("contact_error", "contact_bound", "internal_bound", "motion_bound"), 1e9
    )
    gains = bare_gains(
        state.system, proportional=30.0, derivative=9.0, integral=2.0, friction_share=0.5,
        effort=np.full(12, 1e9), torque_rate=1e12, period=1e-3, lead=5e-4, trend=1.0,
        posture_proportional=4.0, contact_integral=3.0, internal_integral=2.0, **large,
    )  # fmt: skip
    arrays, block, _ = arguments_of(state, gains=gains, wrenches=rng.normal(size=(2, 6)))
    moved = {0, 1, 2, 4, 5}  # not which sensors there are, nor the ramp
    # Away from where nothing is wrong: sizes of errors have kinks there.
    inputs = [x + 1e-3 * rng.normal(size=x.shape) * (i in moved) for i, x in enumerate(arrays)]
    d = [rng.normal(size=x.shape) * (i in moved) for i, x in enumerate(inputs)]
    inputs.append(block)
    d.append(rng.normal(size=block.shape) * block)
    lists = [np.asarray(x).tolist() for x in inputs]
    step = HybridLawProgram(state.system, tuple(range(12)), LawOptions(ahead=True))
    program = step.trace().with_parameters_as_input()

    def stepped(x, rate):
        if np.ndim(x) == 2:
            return [moving(*row) for row in zip(x, rate[:, None], strict=True)]
        return moving(x, rate[None]) if np.ndim(x) else x

    found = step(*map(stepped, lists, d))
    expected = {name: rates(found[name], 1)[:, 0] for name in ("torque", "memory")}
    along = jacobian_times_vector(program, lists, [np.asarray(x).tolist() for x in d])
    for name, theirs in expected.items():
        assert_allclose(along[name], theirs, rtol=0, atol=1e-12 * np.abs(theirs).max())
    weights = [rng.normal(size=np.shape(found[name])) * (name != "outputs") for name in found]
    gradients = vector_times_jacobian(program, lists, [w.tolist() for w in weights])
    product = sum(
        float(np.sum(x * np.array(g))) for x, g in zip(d, gradients.values(), strict=True)
    )
    wanted = sum(float(w @ theirs) for w, theirs in zip(weights, expected.values(), strict=False))
    assert product == pytest.approx(wanted, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("joints", [6, 7])
@pytest.mark.parametrize("surfaces", SURFACES)
@pytest.mark.parametrize(("count", "kind"), GRASPS)
def test_it_decouples_at_a_thousand_states(count, kind, surfaces, joints):
    """The same over 1000 states of every combination, and 200 as shipped."""
    check(count, kind, joints, SURFACES[surfaces], 1000)
    check(count, kind, joints, SURFACES[surfaces], 200, shipped=True)
