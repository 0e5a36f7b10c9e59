# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Drives: torque constants, signs and delay, with deviations that hold."""

import numpy as np
import pytest
from support.two_link_arm import ARM, JOINTS

import robot_dynamics as rd
from robot_dynamics.description.world import Part, place
from robot_dynamics.identification.drives import DriveEquations
from robot_dynamics.identification.motion import Noise, RecordedMotion
from robot_dynamics.identification.signals import Filters, IdentificationError
from robot_dynamics.identification.smoothed_arm import SmoothedArm

PERIOD, SECONDS = 0.004, 6.0
VISCOUS, COULOMB, OFFSET = np.array([0.9, 0.5]), np.array([1.1, 0.6]), np.array([0.1, -0.05])


@pytest.fixture(scope="module")
def arm():
    """Return the described arm."""
    return rd.load(ARM)


@pytest.fixture(scope="module")
def equations(arm):
    """Return the equations of its drives, which expect a delay of one period."""
    return DriveEquations(arm, JOINTS, Noise(), 5.0, PERIOD)


def states(time):
    """Return positions, velocities and accelerations (N, 2) along sines."""
    w = 2.0 * np.pi * np.array([[0.4, 0.5], [1.3, 1.1]])
    a, phase = np.array([[0.6], [0.2]]), np.array([[0.0, 1.0], [2.0, 0.5]])
    angle = w * time[:, None, None] + phase
    parts = a * np.sin(angle), a * w * np.cos(angle), -a * w**2 * np.sin(angle)
    return [part.sum(axis=1) for part in parts]


def motion(arm, constants=(1.0, 1.0), delay=PERIOD, seed=0, scale=1.0):
    """Return noisy samples of drives that give a part of the delayed command."""
    rng, own = np.random.default_rng(seed), Noise()
    time = PERIOD * np.arange(round(SECONDS / PERIOD))
    q = states(time)[0]
    ahead, qd, qdd = states(time + delay)
    torque = scale * arm.inverse_dynamics(ahead, qd, qdd)
    torque += VISCOUS * qd + COULOMB * np.sign(qd) + OFFSET
    size = np.hypot(own.torque, own.torque_fraction * np.abs(torque))
    torque += size * rng.normal(size=torque.shape)
    q = q + own.position * rng.normal(size=q.shape)
    return RecordedMotion(PERIOD, q, torque / np.array(constants), None)


@pytest.mark.parametrize(
    ("constants", "delay"),
    [((1.0, 1.0), PERIOD), ((1.3, -1.0), 0.0), ((-0.5, 0.8), 0.02)],
    ids=["as stated", "a reversed elbow", "a reversed shoulder, late"],
)
def test_drives_are_found_within_their_deviations(arm, equations, constants, delay):
    """Constants to a percent with their signs, friction, and the delay to a quarter period."""
    found = equations.identify([motion(arm, constants, delay)])
    k, deviations = found.constants
    assert (np.abs(k - constants) < 4.0 * deviations).all()
    assert deviations.max() < 0.02
    assert abs(found.delay[0] - delay) < min(4.0 * found.delay[1], 0.25 * PERIOD)
    assert (np.abs(found.coulomb[0] - COULOMB) < 5.0 * found.coulomb[1]).all()
    assert found.fit.white


@pytest.mark.filterwarnings("ignore:.*has no inertia, yet it can move")
def test_an_arm_on_a_base_that_floats_is_at_its_positions():
    """A quaternion of the base shifts positions against velocities, and nothing else."""
    robot = rd.load(place([Part(rd.load_description(ARM), carrier="floating")]))
    motion = RecordedMotion(PERIOD, np.full((40, 2), [0.3, -0.2]), None, None)
    q, _, _, unknown = SmoothedArm(robot, JOINTS, Noise()).of(motion, Filters(PERIOD, 5.0))
    at = [*robot.model.neutral()[:-2], 0.3, -0.2]
    np.testing.assert_allclose(q[~unknown], np.tile(at, (np.sum(~unknown), 1)), atol=1e-12)


def test_deviations_of_drives_hold(arm, equations):
    """Of noisy recordings, 68 and 95 % are within one and 1.96 deviations."""
    scores = []
    for seed in range(20):
        found = equations.identify([motion(arm, seed=seed)])
        scores += [*((found.constants[0] - 1.0) / found.constants[1])]
        scores.append((found.delay[0] - PERIOD) / found.delay[1])
    sizes = np.abs(scores)
    # 60 scores: three standard errors of the shares.
    assert np.mean(sizes < 1.0) == pytest.approx(0.68, abs=0.18)
    assert np.mean(sizes < 1.96) > 0.86


def light(share):
    """Return an arm whose elbow moves a share of the described link."""
    mass = '<mass value="2"/>'
    inertia = 'ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.004"'
    assert mass in ARM
    assert inertia in ARM
    xx, zz = 0.02 * share, 0.004 * share
    less = f'ixx="{xx}" ixy="0" ixz="0" iyy="{xx}" iyz="0" izz="{zz}"'
    return rd.load(ARM.replace(mass, f'<mass value="{2.0 * share}"/>').replace(inertia, less))


@pytest.mark.parametrize("constant", [1.0, -1.0])
def test_noise_does_not_draw_the_constant_of_a_light_joint_to_zero(constant):
    """Noise of commands is no part of the torque: least squares on them would find 0.7 +- 0.08."""
    arm = light(0.02)
    equations = DriveEquations(arm, JOINTS, Noise(), 5.0, PERIOD)
    found = [equations.identify([motion(arm, (1.0, constant), seed=i)]) for i in range(6)]
    k, deviations = np.array([one.constants for one in found])[:, :, 1].T
    assert np.mean(k) == pytest.approx(constant, abs=0.15)  # three standard errors
    assert (np.abs(k - constant) < 3.0 * deviations).all()
    assert 0.08 < deviations.min() < deviations.max() < 0.2


@pytest.mark.parametrize("seed", [12, 21])
def test_a_small_constant_is_as_uncertain_as_a_larger_one(seed):
    """Nothing but friction and noise shows; the fit alone is sure that the constant is not 1."""
    arm = light(0.002)
    found = DriveEquations(arm, JOINTS, Noise(), 5.0, PERIOD).identify([motion(arm, seed=seed)])
    k, deviations = found.constants
    assert abs(k[1] - 1.0) > 5.0 * found.fit.deviations[1]
    assert abs(k[1] - 1.0) < 3.0 * deviations[1]
    assert deviations[0] < 0.01


def test_an_error_of_three_percent_is_seen(arm, equations):
    """A torque constant that is 3 % off differs from 1 by more than three deviations."""
    found = equations.identify([motion(arm, (1.03, 1.0))])
    (first, second), deviations = found.constants
    assert first - 1.0 > 3.0 * deviations[0]
    assert abs(second - 1.0) < 3.0 * deviations[1]


def test_other_links_leave_torques_unexplained(arm, equations):
    """Torques of links that are 20 % heavier are not those of the description."""
    found = equations.identify([motion(arm, scale=1.2)])
    right = equations.identify([motion(arm)])
    assert (found.unexplained[0] > 2.0 * right.unexplained[0]).all()
    assert found.constants[0] == pytest.approx(1.0 / 1.2, abs=0.05)


def test_short_recordings_are_refused(arm, equations):
    """A tenth of a second has no instants to fit."""
    whole = motion(arm)
    part = RecordedMotion(PERIOD, whole.q[:30], whole.torque[:30], None)
    with pytest.raises(IdentificationError, match="0 instants"):
        equations.identify([part])
