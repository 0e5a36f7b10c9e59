# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Links, rotors and friction of arms: base parameters, bodies of positive mass, written files."""

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.dynamics.inertial_parameters import is_physical
from robot_dynamics.identification.arm_links import ArmEquations
from robot_dynamics.identification.motion import Noise, RecordedMotion
from robot_dynamics.identification.signals import Filters, IdentificationError

ARM = """<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0 0.01 0.2"/><mass value="4"/>
    <inertia ixx="0.06" ixy="0" ixz="0" iyy="0.06" iyz="0" izz="0.01"/></inertial></link>
  <link name="fore"><inertial><origin xyz="0.02 0 0.15"/><mass value="2"/>
    <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.004"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit lower="-3" upper="3" velocity="3" effort="60"/>
    <dynamics damping="0.4" friction="0.8"/></joint>
  <joint name="elbow" type="revolute"><origin xyz="0 0 0.4"/><parent link="upper"/>
    <child link="fore"/><axis xyz="1 0 0"/>
    <limit lower="-3" upper="3" velocity="3" effort="30"/></joint>
</robot>"""
JOINTS = ("shoulder", "elbow")
PERIOD, SECONDS = 0.004, 16.0
VISCOUS, COULOMB = np.array([1.0, 0.5]), np.array([1.2, 0.6])
ROTOR, OFFSET = np.array([0.1, 0.05]), np.array([0.3, -0.2])


def true_arm():
    """Return the arm with other links: one is heavier, the other lighter and displaced."""
    text = ARM.replace('value="4"', 'value="4.8"').replace('value="2"', 'value="1.7"')
    return rd.load(text.replace('xyz="0.02 0 0.15"', 'xyz="0.04 0.03 0.15"'))


TRUE = true_arm()


def motion(seed=1, amplitude=1.0, noise=True):
    """Return samples of the true arm along sines."""
    rng = np.random.default_rng(seed)
    time = PERIOD * np.arange(round(SECONDS / PERIOD))[:, None]
    w = 2.0 * np.pi * np.array([[0.3, 0.4], [0.7, 0.9], [1.1, 1.4]])
    a, phase = amplitude * np.array([[0.8], [0.3], [0.15]]), rng.uniform(0.0, 6.0, (3, 2))
    angle = w * time[:, None] + phase
    q = (a * np.sin(angle)).sum(axis=1)
    qd, qdd = (a * w * np.cos(angle)).sum(axis=1), (-a * w**2 * np.sin(angle)).sum(axis=1)
    torque = TRUE.inverse_dynamics(q, qd, qdd) + ROTOR * qdd
    torque += VISCOUS * qd + COULOMB * np.sign(qd) + OFFSET
    if noise:
        own = Noise()
        size = np.hypot(own.torque, own.torque_fraction * np.abs(torque))
        torque = torque + size * rng.normal(size=torque.shape)
        q = q + own.position * rng.normal(size=q.shape)
    return RecordedMotion(PERIOD, q, torque, None)


@pytest.fixture(scope="module")
def equations():
    """Return the equations of the described arm."""
    return ArmEquations(rd.load(ARM), JOINTS, Noise(), 5.0)


@pytest.fixture(scope="module")
def found(equations):
    """Return what a noisy motion of the true arm tells."""
    return equations.identify([motion()])


def true_standard():
    """Return standard parameters of the true links, and armatures."""
    return np.concatenate([TRUE.inertial_parameters, ROTOR])


def test_base_parameters_are_found_within_their_deviations(equations, found):
    """Combinations of links and rotors, friction and offsets are within four deviations."""
    count = len(equations.base.independent)
    true = np.concatenate(
        [equations.base.matrix @ true_standard(), VISCOUS, COULOMB, [0.0, 0.0], OFFSET]
    )
    scores = (found.fit.values - true) / found.fit.deviations
    assert np.abs(scores).max() < 4.0
    assert found.fit.white
    # The description is far outside: the test can fail.
    described = equations.base.matrix @ equations.described
    assert np.abs((found.fit.values[:count] - described) / found.fit.deviations[:count]).max() > 30
    before, after, consistent = found.held_out
    assert after < 1.3 < 10.0 < before
    assert consistent == pytest.approx(after, rel=0.05)


def test_full_parameters_are_of_bodies_of_positive_mass(equations, found):
    """They have the same base parameters, to their deviations, and are physical."""
    for parameters in found.inertias.values():
        assert is_physical(parameters)
        assert parameters[0] > 0.0
    count = len(equations.base.independent)
    off = equations.base.matrix @ found.standard - found.fit.values[:count]
    assert (np.abs(off) < found.fit.deviations[:count]).all()
    assert (found.armature >= 0.0).all()


def test_base_parameters_equal_those_of_plain_least_squares(equations):
    """Without noise, friction at rest and weights, numpy's least squares finds the same."""
    exact = motion(noise=False)
    found = equations.identify([exact]).fit
    filters = Filters(PERIOD, 5.0)
    q, qd, qdd = (x[30:-30] for x in filters.differentiate(exact.q))
    Y = rd.load(ARM).inverse_dynamics_regressor(q, qd, qdd)
    rotors, speeds = np.eye(2) * qdd[:, None], np.eye(2) * qd[:, None]
    columns = [Y, rotors, speeds, np.sign(speeds), np.tile(np.eye(2), (len(q), 1, 1))]
    used = np.concatenate(columns, axis=2)
    slow = np.abs(qd).min(axis=1) < 0.5  # friction there is another one
    rows, y = used[~slow].reshape(-1, used.shape[2]), exact.torque[30:-30][~slow].ravel()
    base = equations.base
    kept = [*base.independent, *range(22, 28)]
    x = np.linalg.lstsq(rows[:, kept], y, rcond=None)[0]
    names = list(found.names)
    at = [i for i, name in enumerate(names) if not name.startswith("low-speed")]
    assert found.values[at] == pytest.approx(x, abs=0.02)
    assert np.abs((found.values[at] - x) / found.deviations[at]).max() < 1.0


def test_armatures_stay_as_described_if_they_are_known(found):
    """With the armatures in the model there are fewer unknowns, and the same torques."""
    rotors = "".join(
        f'<transmission name="{name}"><type>SimpleTransmission</type><joint name="{name}"/>'
        f'<actuator name="{name}_motor"><rotorInertia>{rotor}</rotorInertia></actuator>'
        "</transmission>"
        for name, rotor in zip(JOINTS, ROTOR, strict=True)
    )
    robot = rd.load(ARM.replace("</robot>", f"{rotors}</robot>"))
    equations = ArmEquations(robot, JOINTS, Noise(), 5.0, armature=False)
    links = equations.identify([motion()])
    assert links.armature is None
    assert links.held_out[1] == pytest.approx(found.held_out[1], rel=0.05)


def test_a_joint_that_rests_says_nothing_of_its_friction(equations):
    """What is not observable is named, and stays near the description."""
    still = motion()
    q, torque = still.q.copy(), still.torque.copy()
    q[:, 0] = 0.3
    fit = equations.identify([RecordedMotion(PERIOD, q, torque, None)]).fit
    for kind in ("viscous", "Coulomb"):
        assert f"{kind} friction of shoulder" in fit.unobserved
    assert "Coulomb friction of elbow" not in fit.unobserved


def test_short_motions_are_refused(equations):
    """A second is not enough."""
    whole = motion()
    short = RecordedMotion(PERIOD, whole.q[:250], whole.torque[:250], None)
    with pytest.raises(IdentificationError, match="instants of the arm of 'shoulder'"):
        equations.identify([short])
