# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The control step: estimate, servos and law are exact together, and limits are met in order."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support.control_step import PERIOD, Step, gains
from support.mechanisms import (
    holding,
    plain_arm,
    random_cell,
    random_link,
    random_pose,
    two_arms,
)

from robot_dynamics.compile import compile_program
from robot_dynamics.control.law import law_parameters

# What limits give way by, so that rounding at a limit stops nothing.
ROOM = 3e-9


CELLS = {"two": ((7, 7), (0.5, 0.5)), "mixed": ((7, 6), (0.3, 0.7)), "three": ((6, 7, 6), None)}


@pytest.fixture(params=CELLS, scope="module")
def step(request):
    rng = np.random.default_rng(21)
    joints, shares = CELLS[request.param]
    shares = shares or (0.2, 0.5, 0.3)
    cell = two_arms() if request.param == "two" else random_cell(rng, joints, shares)
    return Step(cell, shares, rng)


@pytest.fixture(scope="module")
def arms():
    return Step(two_arms(), (0.5, 0.5), np.random.default_rng(21))


@pytest.fixture
def rng():
    return np.random.default_rng(2)


def moved(pose, turn, move):
    """Return a pose turned by a rotation vector in world axes and moved."""
    rotation = Rotation.from_rotvec(turn) * Rotation.from_quat(pose[3:])
    return np.concatenate([pose[:3] + move, rotation.as_quat()])


def test_it_sees_the_object(step):
    """Pose, twist and residual are those of the true state, which the step is not told."""
    out = step.run(step.reference(moved(step.pose, [0.3, -0.2, 0.5], [0.1, 0, 0])))
    sign = np.sign(out["pose"][3:] @ step.pose[3:])
    assert_allclose(out["pose"][:3], step.pose[:3], atol=1e-12)
    assert_allclose(sign * out["pose"][3:], step.pose[3:], atol=1e-12)
    assert_allclose(out["twist"], step.twist, atol=1e-10)
    assert_allclose(out["closure"], 0.0, atol=1e-12)


def test_the_object_follows_the_servo(step, rng):
    """The acceleration under the torque is (41) to the letter, for any errors and integrals."""
    turn, move = 0.4 * rng.normal(size=3), 0.1 * rng.normal(size=3)
    twist, acceleration = step.twist + rng.normal(size=6), rng.normal(size=6)
    reference = step.reference(moved(step.pose, turn, move), twist, acceleration)
    memory = np.concatenate([1e-2 * rng.normal(size=6), np.zeros(step.nf + step.na)])
    out = step.run(reference, memory=memory)
    assert_allclose(out["error"], [*turn, *move], atol=1e-11)
    assert_allclose(out["scales"][:3], 1.0)
    expected = (
        acceleration
        + 40.0 * (twist - step.twist)
        + 400.0 * np.array([*turn, *move])
        + 900.0 * memory[:6]
    )
    achieved, _ = step.response(out["torque"])
    assert_allclose(achieved, expected, atol=1e-9 * np.max(np.abs(out["torque"])))


def test_the_internal_force_follows_its_servo(step, rng):
    """The internal force under the torque is (43): the reference and the integral's part."""
    force, integral = 30 * rng.normal(size=step.nf), rng.normal(size=step.nf)
    memory = np.concatenate([np.zeros(6), integral, np.zeros(step.na)])
    out = step.run(step.reference(force=force), memory=memory)
    _, achieved = step.response(out["torque"])
    scale = np.max(np.abs(out["torque"]))
    assert_allclose(achieved, force + 20.0 * integral, atol=1e-9 * scale)


def test_it_measures_the_internal_force(step, rng):
    """The measured internal force is the recovery of the measured wrenches."""
    wrenches = rng.normal(size=(len(step.system.arms), 6))
    out = step.run(step.reference(), wrenches=wrenches)
    assert_allclose(out["internal_force"], step.maps.recovery @ wrenches.ravel(), atol=1e-12)


def test_integrals_grow_by_the_errors(step, rng):
    """One period of error is added to each integral; the last torque is remembered."""
    turn, move = 0.1 * rng.normal(size=3), 0.1 * rng.normal(size=3)
    force, wrenches = rng.normal(size=step.nf), rng.normal(size=(len(step.system.arms), 6))
    before = 5e-3 * rng.uniform(-1, 1, size=6 + step.nf + step.na)  # well within their bounds
    reference = step.reference(moved(step.pose, turn, move), force=force)
    out = step.run(reference, wrenches=wrenches, memory=before)
    after = out["memory"]
    assert_allclose(after[:6] - before[:6], PERIOD * np.array([*turn, *move]), atol=1e-13)
    lacking = force - step.maps.recovery @ wrenches.ravel()
    nf = slice(6, 6 + step.nf)
    assert_allclose(after[nf] - before[nf], PERIOD * lacking, atol=1e-13)
    assert_allclose(after[6 + step.nf :], out["torque"])


@pytest.mark.parametrize("angle", [1e-9, 0.1, 1.5, 3.0, 3.14])
def test_large_turns_are_seen_whole(arms, angle, rng):
    """The orientation error is the rotation vector up to half a turn."""
    axis = rng.normal(size=3)
    turn = angle * axis / np.linalg.norm(axis)
    out = arms.run(arms.reference(moved(arms.pose, turn, np.zeros(3))))
    # The sine of angles near half a turn has lost the digits that the closeness takes.
    assert_allclose(out["error"][:3], turn, atol=1e-11)
    assert_allclose(np.linalg.norm(out["pose"][3:]), 1.0, atol=1e-11)
    assert_allclose(abs(out["pose"][3:] @ arms.pose[3:]), 1.0, atol=1e-11)


def test_quaternions_of_both_signs_are_one_reference(arms):
    """-q and q mean the same orientation: no turn is asked for, and the torque is the same."""
    other = arms.pose.copy()
    other[3:] *= -1.0
    one, two = arms.run(arms.reference()), arms.run(arms.reference(other))
    assert_allclose(two["error"], 0.0, atol=1e-12)
    assert_allclose(two["torque"], one["torque"], atol=1e-9)


def test_without_limits_nothing_is_scaled(arms):
    """All scales are 1, and the load of infinite limits is next to nothing."""
    scales = arms.run(arms.reference(force=np.full(6, 50.0)))["scales"]
    assert_allclose(scales[:3], 1.0)
    assert 0 <= scales[3] < 1e-6
    assert scales[4] > 1e-4


def parts(arms, reference, **changes):
    """Return support, internal and motion torque of a reference, from steps that lack some."""
    none = arms.run(reference, ramp=0.0, **changes)["torque"]
    still = np.concatenate([reference[:19], np.zeros(6)])
    moving = arms.run(still, **changes)["torque"]
    both = arms.run(reference, **changes)["torque"]
    return none, both - moving, moving - none


def limited(arms, reference, effort, **changes):
    return arms.run(reference, effort=effort, **changes)


def task(arms):
    """Return a reference that takes squeeze and motion."""
    acceleration = np.array([2.0, -1.0, 3.0, 4.0, 2.0, 5.0])
    return arms.reference(acceleration=acceleration, force=np.array([1.0, 2, 0, 60, 5, -4]))


def test_motion_gives_way_first(arms):
    """With room for support and squeeze only motion is scaled, as a whole, to the limit."""
    reference = task(arms)
    support, squeeze, motion = parts(arms, reference)
    effort = np.abs(support + squeeze) + 0.4 * np.abs(motion) + 0.5
    out = limited(arms, reference, effort)
    internal_scale, motion_scale, rate, load, _ = out["scales"]
    assert (internal_scale, rate) == (1.0, 1.0)
    assert 0.0 < motion_scale < 1.0
    assert_allclose(out["torque"], support + squeeze + motion_scale * motion, atol=1e-9)
    assert (np.abs(out["torque"]) <= effort * (1 + ROOM)).all()
    # The largest scale there is: one joint stands at its limit.
    assert_allclose(np.max(np.abs(out["torque"]) / effort), 1.0, rtol=ROOM)
    assert_allclose(load, np.max(np.abs(support) / effort), rtol=1e-9)


def test_squeeze_gives_way_next(arms):
    """With room for a part of the squeeze it is scaled, and motion gets what is left."""
    reference = task(arms)
    support, squeeze, motion = parts(arms, reference)
    effort = np.abs(support) + 0.5 * np.abs(squeeze) + 1e-3
    out = limited(arms, reference, effort)
    internal_scale, motion_scale = out["scales"][:2]
    assert 0.4 < internal_scale < 1.0
    expected = support + internal_scale * squeeze + motion_scale * motion
    assert_allclose(out["torque"], expected, atol=1e-9)
    assert (np.abs(out["torque"]) <= effort * (1 + ROOM)).all()
    # Both are the largest there are, found by looking at every joint by itself.
    assert_allclose(internal_scale, largest_scale(support, squeeze, effort), rtol=1e-6)
    held = support + internal_scale * squeeze
    assert_allclose(motion_scale, largest_scale(held, motion, effort), atol=1e-6)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_joint_at_its_limit_does_not_stop_what_relieves_it(arms, sign):
    """Where the squeeze has taken a joint to its limit, motion away from there goes on."""
    reference = task(arms)
    reference[13:19] *= sign
    support, squeeze, motion = parts(arms, reference)
    effort = np.full(14, 1e6)
    joint = int(np.argmax(np.abs(squeeze) * (squeeze * motion < 0.0)))
    effort[joint] = np.abs(support + 0.5 * squeeze)[joint]
    out = limited(arms, reference, effort)
    assert 0.0 < out["scales"][0] < 1.0
    assert_allclose(out["scales"][1], 1.0)


def largest_scale(base, added, effort):
    """Return the largest s in [0, 1] with |base + s added| <= effort, by bisection."""
    low, high = 0.0, 1.0
    if (np.abs(base + added) <= effort * (1 + ROOM)).all():
        return 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        fits = (np.abs(base + middle * added) <= effort * (1 + ROOM)).all()
        low, high = (middle, high) if fits else (low, middle)
    return low


def test_support_is_never_scaled(arms):
    """Where support alone is too much it is sent whole, alone, and the load says so."""
    reference = task(arms)
    support, _, _ = parts(arms, reference)
    effort = np.full(14, 0.5 * np.max(np.abs(support)))
    out = limited(arms, reference, effort)
    assert_allclose(out["scales"][:2], 0.0, atol=1e-6)
    assert_allclose(out["torque"], support, atol=1e-4)  # what the room of the limits lets through
    assert_allclose(out["support"], support, atol=1e-9)
    assert_allclose(out["scales"][3], 2.0, rtol=1e-9)


@pytest.mark.parametrize("cause", ["effort", "rate", "ramp"])
def test_integrals_only_shrink_while_anything_is_held_back(arms, cause):
    """Scaled torque, limited rate, or a ramp that is not over: no integral grows."""
    reference = task(arms)
    reference[:3] += 0.01
    support, squeeze, motion = parts(arms, reference)
    changes = {
        "effort": {"effort": np.abs(support) + 0.5 * np.abs(squeeze + motion) + 1e-3},
        "rate": {"torque_rate": 100.0},
        "ramp": {"ramp": 0.999},
    }[cause]
    # Integrals of the sign of their errors would grow, those of the other sign shrink.
    signs = np.concatenate([np.zeros(3), np.ones(3), np.sign(reference[19:])])
    grown = np.concatenate([5e-3 * signs, np.zeros(14)])
    after = arms.run(reference, memory=grown, **changes)["memory"]
    assert_allclose(after[:12], grown[:12], rtol=0, atol=0)
    after = arms.run(reference, memory=-grown, **changes)["memory"]
    moved_ones = np.flatnonzero(signs)
    assert (np.abs(after[moved_ones]) < np.abs(grown[moved_ones])).all()
    assert (after[moved_ones] * -grown[moved_ones] >= 0.0).all()
    free = arms.run(reference, memory=grown)["memory"]
    assert (np.abs(free[moved_ones]) > np.abs(grown[moved_ones])).all()


def test_integrals_are_bounded(arms):
    """An outlier of a sensor leaves no more than the largest correction behind."""
    wrenches = np.full((2, 6), 1e7)
    memory = arms.run(task(arms), wrenches=wrenches)["memory"]
    assert (20.0 * np.abs(memory[6:9]) <= 20.0 + 1e-9).all()  # K_II times the integral [N m]
    assert (20.0 * np.abs(memory[9:12]) <= 100.0 + 1e-9).all()  # [N]


def test_torque_changes_at_a_limited_rate(arms):
    """No joint changes by more than the rate in a period; the direction of change stays."""
    reference = task(arms)
    before = np.linspace(-10, 10, 14)
    memory = np.concatenate([np.zeros(12), before])
    free = arms.run(reference, memory=memory)["torque"]
    out = arms.run(reference, memory=memory, torque_rate=1000.0)
    change = out["torque"] - before
    assert_allclose(np.max(np.abs(change)), 1000.0 * PERIOD, rtol=1e-12)
    assert_allclose(change, out["scales"][2] * (free - before), atol=1e-9)


def test_the_ramp_lets_the_task_in(arms):
    """At ramp 0 support acts alone; half way the task acts by half."""
    reference = task(arms)
    support, squeeze, motion = parts(arms, reference)
    half = arms.run(reference, ramp=0.5)["torque"]
    assert_allclose(half, support + 0.5 * (squeeze + motion), atol=1e-9)
    assert_allclose(arms.run(reference, ramp=0.0)["support"], support, atol=1e-12)


def test_known_friction_is_compensated(arms):
    """The torque gains damping and Coulomb friction at the motion that the servos want."""
    twist = np.array([0.1, 0.0, 0.2, 0.3, 0.0, 0.1])
    reference = arms.reference(twist=twist)
    without = arms.run(reference)["torque"]
    added = arms.run(reference, friction_share=1.0)["torque"] - without
    half = arms.run(reference, friction_share=0.5)["torque"] - without
    assert_allclose(half, 0.5 * added, atol=1e-12)
    # The rates behind it move the grasps as the reference moves the object.
    rates = np.array([solve_friction(a) for a in added])
    _, _, K, _, _, _ = arms.terms.evaluate(arms.q, arms.qd, parameters=arms.block)
    R = Rotation.from_quat(arms.pose[3:]).inv()
    body = np.concatenate([R.apply(twist[:3]), R.apply(twist[3:])])
    slip = K[:, arms.system.v_index] @ rates + K[:, arms.system.object_v] @ body
    assert_allclose(slip, 0.0, atol=1e-9)


def solve_friction(torque):
    """Return the rate at which damping 0.2 and friction 0.1 (v0 = 0.05) take a torque."""
    low, high = -20.0, 20.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        value = 0.2 * middle + 0.1 * middle / np.hypot(middle, 0.05)
        low, high = (middle, high) if value < torque else (low, middle)
    return middle


def test_posture_moves_no_object(arms):
    """The pull towards the posture changes torques, but neither motion nor squeeze."""
    reference = task(arms)
    one = arms.run(reference)["torque"]
    two = arms.run(reference, posture=arms.system.posture - 0.5)["torque"]
    assert np.max(np.abs(one - two)) > 0.1
    for ours, theirs in zip(arms.response(one), arms.response(two), strict=True):
        assert_allclose(ours, theirs, atol=1e-8)


def test_numbers_that_are_none_come_through(arms):
    """A measurement that is not a number makes torques that are none: nothing hides it."""
    spoilt = Step.__new__(Step)
    spoilt.__dict__.update(arms.__dict__)
    spoilt.q = arms.q.copy()
    spoilt.q[3] = np.nan
    assert np.isnan(spoilt.run(arms.reference())["torque"]).any()


def test_one_arm_alone(rng):
    """A single arm moves its object; there is no internal force, and it compiles as well."""
    arm = plain_arm("arm0")
    grasp = random_pose(rng, 0.1)
    cell = holding(
        [arm], random_link(rng, "held"), [grasp], [(0.1, 0.5, -0.1, 1.2, 0.2, 0.9, 0)], (1.0,)
    )
    one = Step(cell, (1.0,), rng)
    acceleration = np.array([1.0, 2.0, 3.0, -1.0, 0.5, 0.2])
    reference = one.reference(acceleration=acceleration)
    out = one.run(reference)
    achieved, _ = one.response(out["torque"])
    assert_allclose(achieved, acceleration, atol=1e-9)
    assert out["internal_force"].shape == out["closure"].shape == (0,)
    block = law_parameters(one.system, gains(one.system), one.maps)
    compiled = compile_program(one.program, lanes=1).bind(block)
    inputs = (
        one.q[one.system.q_index], one.qd[one.system.v_index], np.zeros((1, 6)),
        reference, np.zeros(13), 1.0,
    )  # fmt: skip
    assert_allclose(compiled(*inputs)[0], out["torque"], atol=1e-9)


def test_parameters_are_laid_out_as_the_program_reads_them(arms):
    """The block has the program's length; infinite limits are packed as finite numbers."""
    block = law_parameters(arms.system, gains(arms.system), arms.maps)
    assert len(block) == arms.program.parameters
    assert np.isfinite(block).all()


def test_compiled_equals_interpreted(arms):
    """The kernel does what the program says."""
    block = law_parameters(arms.system, gains(arms.system), arms.maps)
    reference = task(arms)
    inputs = (
        arms.q[arms.system.q_index], arms.qd[arms.system.v_index], np.ones((2, 6)),
        reference, np.zeros(26), 1.0,
    )  # fmt: skip
    compiled = compile_program(arms.program, lanes=1).bind(block)(*inputs)
    interpreted = arms.program.evaluate(*inputs, parameters=block)
    for ours, oracle in zip(compiled, interpreted, strict=True):
        # Conditions of 1e4 amplify the roundings that fused products save.
        assert_allclose(ours, oracle, atol=1e-11 * max(1.0, np.max(np.abs(oracle))))
