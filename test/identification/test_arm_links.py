# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Links, rotors and friction of arms: base parameters, bodies of positive mass, written files."""

import json

import numpy as np
import pytest
from support.two_link_arm import ARM, JOINTS

import robot_dynamics as rd
from robot_dynamics.app.command_line.main import main
from robot_dynamics.app.identification.arm_report import ArmIdentification
from robot_dynamics.app.identification.inputs import Cell
from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.dynamics.inertial_parameters import is_physical
from robot_dynamics.identification.arm_links import ArmEquations
from robot_dynamics.identification.fitted_friction import FittedFriction
from robot_dynamics.identification.motion import Noise, RecordedMotion
from robot_dynamics.identification.signals import Filters, IdentificationError

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
    """Return the identified parameters from a noisy motion of the true arm."""
    return equations.identify([motion()])


def true_standard():
    """Return standard parameters of the true links, and armatures."""
    return np.concatenate([TRUE.inertial_parameters, ROTOR])


@pytest.mark.parametrize(
    ("scale", "excluded", "named"), [(1.1, 1, True), (1.0, 1, False), (1.1, 0, False)]
)
def test_scales_of_arms_that_were_not_identified_are_named(scale, excluded, named):
    """The corrected scenario has the scales of the simulated arms as one, of all arms alike."""
    scenario = rd.load_scenario("lift_box", [f"plant.link_mass_scale={scale}"])
    cell = Cell(scenario, build_system(scenario), [])
    found = ArmIdentification(cell, {}, [], {"right": "it rests"} if excluded else {})
    sentence = "sets plant.link_mass_scale to 1 for all simulated arms, also for 'right'"
    assert any(sentence in one for one in found.warnings) == named


def test_base_parameters_are_found_within_their_deviations(equations, found):
    """Combinations of links and rotors, friction and offsets are within four deviations."""
    count = len(equations.base.independent)
    true = np.concatenate(
        [equations.base.matrix @ true_standard(), VISCOUS, COULOMB, np.zeros(4), OFFSET]
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


@pytest.mark.parametrize(("speed", "most"), [(0.02, 0.03), (0.05, 0.003), (0.1, 0.03)])
def test_friction_that_sets_in_smoothly_is_explained(speed, most):
    """As simulated drives have it, v / sqrt(v^2 + v0^2), where joints are not slow."""
    friction = FittedFriction(rd.load(ARM).model, JOINTS)
    v = np.linspace(0.031, 0.8, 400)
    columns = friction.columns(np.tile(v[:, None], 2))[:, 0, ::2]
    smooth = v / np.sqrt(v**2 + speed**2)
    x = np.linalg.lstsq(columns, smooth, rcond=None)[0]
    assert np.abs(columns @ x - smooth).max() < most


def test_full_parameters_are_of_bodies_of_positive_mass(equations, found):
    """They have the same base parameters, to their deviations, and are physical."""
    for parameters in found.inertias.values():
        assert is_physical(parameters)
        assert parameters[0] > 0.0
    count = len(equations.base.independent)
    off = equations.base.matrix @ found.standard - found.fit.values[:count]
    assert (np.abs(off) < found.fit.deviations[:count]).all()
    assert (found.armature >= 0.0).all()
    # A rotor of this arm acts as the inertia of the link that it turns.
    assert not found.armature_known.any()


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
    """Unobservable parameters are named, and stay near the description."""
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


@pytest.fixture(scope="module")
def cell():
    """Return a recording of our left arm, whose links are 10 % too heavy, in free motion."""
    scenario = rd.load_scenario("lift_box", ["plant.link_mass_scale=1.1"])
    system = build_system(scenario)
    robot = rd.Robot(build_system(scenario, 1.1).arms_alone)
    rng, time = np.random.default_rng(4), PERIOD * np.arange(2500)[:, None]
    w = 2.0 * np.pi * np.array([[0.3], [0.7], [1.1]]) * rng.uniform(0.7, 1.3, 7)
    a, phase = np.array([[0.7], [0.3], [0.15]]), rng.uniform(0.0, 6.0, (3, 7))
    angle = w * time[:, None] + phase
    q, qd, qdd = np.tile(system.posture, (len(time), 1)), *np.zeros((2, len(time), 14))
    q[:, :7] += (a * np.sin(angle)).sum(axis=1)
    qd[:, :7] = (a * w * np.cos(angle)).sum(axis=1)
    qdd[:, :7] = (-a * w**2 * np.sin(angle)).sum(axis=1)
    torque = robot.inverse_dynamics(q, qd, qdd) + 0.5 * np.sign(qd) + 0.3 * qd
    torque += 0.1 * rng.normal(size=torque.shape)
    mean = 0.5 * (torque + np.vstack([torque[:1], torque[:-1]]))
    columns = {
        "tick": np.arange(len(time), dtype=float),
        "joint_position": q + 1e-4 * rng.normal(size=q.shape),
        "applied_torque": mean,
    }
    metadata = {
        "scenario": "lift_box",
        "scenario_text": scenario.text(),
        "joints": list(system.joint_names),
        "period_s": PERIOD,
        "holds_object": False,
    }
    return Recording(columns, metadata), robot


def test_the_corrected_cell_predicts_the_torques(cell, tmp_path):
    """The command writes a scenario and a URDF, comments kept, of the arm that moved."""
    recording, true = cell
    recording.save(tmp_path / "run.npz")
    place, report = tmp_path / "corrected.yaml", tmp_path / "report.json"
    arguments = ["identify", str(tmp_path / "run.npz"), "--scenario", "lift_box"]
    arguments += ["--what", "arms", "--no-armature", "--output", str(place), "--json", str(report)]
    assert main(arguments) == 0
    found = json.loads(report.read_text())
    assert list(found["arms"]) == ["left"]
    assert any("arm 'right' was not identified" in one for one in found["warnings"])
    residual = found["arms"]["left"]["held_out_residual"]
    assert residual["after"] < 1.5 < 5.0 < residual["before"]
    urdf = tmp_path / "corrected_robot.urdf"
    assert urdf.read_text().count("<!--") > 5
    links = rd.load_description(urdf).mechanism.links
    # The mass of the first link, which turns about the vertical, is not in the torques.
    mass = next(one.mass for one in links if one.name == "left_link1")
    assert mass == pytest.approx(3.9, rel=0.1)
    corrected = rd.Robot(build_system(rd.load_scenario(place)).arms_alone)
    rng = np.random.default_rng(5)
    q, qd, qdd = rng.uniform(-1.0, 1.0, (3, 100, 14))
    off, before = (
        one.inverse_dynamics(q, qd, qdd)[:, :7] - true.inverse_dynamics(q, qd, qdd)[:, :7]
        for one in (corrected, rd.Robot(build_system(rd.load_scenario("lift_box")).arms_alone))
    )
    assert np.sqrt(np.mean(off**2)) < 0.03 < 0.5 < np.sqrt(np.mean(before**2))


def test_a_simulated_plant_has_the_identified_arms_once(cell, tmp_path):
    """Not with its scale of the links on top."""
    found = rd.identify(cell[0], what="arms", armature=False)
    place = found.write_scenario(tmp_path / "whole.yaml", None)[0]
    assert rd.load_scenario(place).plant.link_mass_scale == 1.0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"applied_torque": -1.0}, "no links of positive mass explain"),
        ({"joint_position": 0.0}, "the joints move by at most"),
        ({"holds_object": True}, "never move free"),
    ],
)
def test_poor_recordings_of_arms_are_refused_in_a_sentence(cell, change, said):
    """Reversed torques, arms at rest, and arms that hold the object."""
    recording, _ = cell
    columns, metadata = dict(recording.columns), dict(recording.metadata)
    for name, value in change.items():
        if name in columns:
            columns[name] = value * columns[name]
        else:
            metadata[name] = value
    with pytest.raises(IdentificationError, match=said):
        rd.identify(Recording(columns, metadata), what="arms", armature=False)
