# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A simulation that a user steps: as `simulate` runs it, pushed, put back, on both engines."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import robot_dynamics as rd

ENGINES = ("engine", "mujoco")
# Everything in a state that is not positions and velocities: noise, delays, a fault.
IMPERFECT = (
    "plant.command_delay_periods=2",
    "control.command_delay_periods=2",
    "plant.sensors={position: 1e-5, velocity: 1e-3, force: 0.2, moment: 0.01}",
    "plant.sensors.wrench_delay_periods=2",
    "plant.sensors.sample_periods={right: 2}",
    "plant.faults=[{kind: stuck_sensors, arm: left, time_s: 0.03, duration_s: 0.02}]",
)


def torques(sim, count, seed=0):
    return 0.02 * sim.effort_limits * np.random.default_rng(seed).standard_normal((count, 1))


@pytest.mark.parametrize("engine", ENGINES)
def test_it_does_what_simulate_does(engine):
    """The torques that a run sent move a stepped simulation in the same way, bit for bit."""
    run = rd.simulate("lift_box", engine, duration=0.1)
    sim = rd.Simulation("lift_box", engine)
    seen = sim.reset()
    recording = run.recording
    for i, torque in enumerate(recording["commanded_torque"]):
        assert np.array_equal(seen.q, recording["joint_position"][i])
        assert np.array_equal(seen.qd, recording["joint_velocity"][i])
        assert np.array_equal(seen.object_pose, recording["object_pose"][i])
        assert seen.time == pytest.approx(i * sim.period)
        seen = sim.step(torque)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["lift_box", "tray", "fold", "wipe"])
def test_it_goes_on_from_a_state_bit_for_bit(name, engine):
    """Grasps that hold, slip, an object with a joint, surfaces; also after other motions, and as a
    copy that was pickled, for a process of a pool.
    """
    sim = rd.Simulation(name, engine, overrides=IMPERFECT if name == "lift_box" else ())
    commands = torques(sim, 40)
    for torque in commands[:15]:
        sim.step(torque)
    state, pickled = sim.state, pickle.dumps(sim)
    first = [sim.step(torque) for torque in commands[15:]]
    hashed = sim._plant.state_hash()
    reports = sim.contacts
    sim.reset()
    sim.step(commands[0])
    sim.state = state
    assert all(map(np.array_equal, sim.observation, state.observation))  # and shared by nobody
    for same in (sim, pickle.loads(pickled)) if name in ("lift_box", "wipe") else (sim,):
        again = [same.step(torque) for torque in commands[15:]]
        for one, other in zip(first, again, strict=True):
            assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
        assert [r.impacts for r in reports] == [r.impacts for r in same.contacts]
        assert same._plant.state_hash() == hashed


@pytest.mark.slow
def test_small_changes_go_on_as_linearised():
    """A and B of a control period equal the differences of two periods with other torques."""
    sim = rd.Simulation("lift_box", "engine")
    for torque in torques(sim, 5):
        sim.step(torque)
    start, torque = sim.state, torques(sim, 1, seed=4)[0]
    A, B, robot = sim.linearize(torque)
    assert A.shape == (2 * robot.model.nv,) * 2
    ends = []
    for change in (1e-3, -1e-3):
        sim.state = start
        sim.step(torque + change)
        sim.step(torque + change)  # the first acts after the delay of one period
        ends.append(sim.observation.qd)
    sim.state = start
    sim.step(torque)
    _, B, robot = sim.linearize(torque)
    names = [robot.model.joint_index(name) for name in sim.joint_names]
    rows = [robot.model.nv + robot.model.v_slices[i].start for i in names]
    found = (ends[0] - ends[1]) / 2e-3
    np.testing.assert_allclose(B[rows].sum(axis=1), found, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize(("name", "engine"), [("wipe", "engine"), ("lift_box", "mujoco")])
def test_plants_without_derivatives_are_refused(name, engine):
    """Contacts that slip or open, and the other engine: a sentence each."""
    sim = rd.Simulation(name, engine)
    with pytest.raises(rd.ArgumentError, match="derivatives; expected"):
        sim.linearize(np.zeros(14))


def test_a_state_goes_to_another_simulation_of_the_scenario_only():
    """One of another scenario is refused."""
    one, other = rd.Simulation("lift_box"), rd.Simulation("lift_box")
    one.step(torques(one, 1)[0])
    other.state = one.state
    torque = torques(one, 1, seed=1)[0]
    assert np.array_equal(one.step(torque).q, other.step(torque).q)
    with pytest.raises(rd.ArgumentError, match="another simulation"):
        rd.Simulation("tray").state = one.state


def test_descriptions_are_no_scenarios():
    """Who gives a robot's file is told to load it."""
    file = "package://robot_dynamics/urdf/arm.urdf"
    for given, name in ((file, file), (Path("own.urdf"), "own.urdf")):
        with pytest.raises(rd.ArgumentError, match=f"'{name}' describes a robot, .* rd.load"):
            rd.Simulation(given, contacts=[])
    with pytest.raises(rd.ArgumentError, match=r"'arm' describes a robot, expected rd.load of it"):
        rd.Simulation(rd.load_description(file))


def motion_of(engine, name, wrenches):
    """Return velocities of arms and object after 10 ms, with and less without wrenches."""
    sim, ends = rd.Simulation(name, engine), []
    for given in (wrenches, None):
        sim.reset()
        for _ in range(5):
            seen = sim.step(np.zeros(len(sim.joint_names)), given)
        ends.append(np.concatenate([seen.qd, seen.object_twist]))
    return ends[0] - ends[1]


# A force along all axes and a moment; on the object, and on a link whose frame is turned.
PUSHES = {
    "object": {"box": [2.0, -1.0, 1.5, 30.0, -20.0, 10.0]},
    "link": {"left_link5": [1.0, 2.0, -1.0, -15.0, 10.0, 25.0]},
}


@pytest.mark.parametrize("push", PUSHES)
def test_external_wrenches_move_both_engines_alike(push):
    """MuJoCo applies them in its own way; its grasps give way by some parts in a thousand."""
    ours, other = (motion_of(engine, "lift_box", PUSHES[push]) for engine in ENGINES)
    assert np.abs(ours).max() > 0.01
    assert np.abs(ours - other).max() < 0.01 * np.abs(ours).max()


@pytest.mark.parametrize("push", PUSHES)
def test_sensors_feel_a_push_while_it_lasts_on_both_engines(push):
    """Grasp wrenches under drives' torques and a push; MuJoCo's grasps give way a little."""
    felt = []
    for engine in ENGINES:
        sim = rd.Simulation("lift_box", engine)
        sim.reset()
        torque = 0.1 * sim.effort_limits
        felt.append([sim.step(torque, PUSHES[push]).wrenches for _ in range(3)])
    ours, other = np.array(felt)
    assert np.abs(ours - other).max() < 0.01 * np.abs(ours).max()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_push_here_moves_there_as_one_there_moves_here(engine):
    """Reciprocity: from rest the twists that unit wrenches give are a symmetric matrix.

    Errors are those of 2 ms at accelerations of gravity, and of MuJoCo's soft grasps.
    """
    sim = rd.Simulation("lift_box", engine)
    still = np.zeros(len(sim.joint_names))

    def twist(wrench):
        sim.reset()
        sim.step(still)  # releases the brakes where the scenario has a delay
        return sim.step(still, {"box": wrench}).object_twist

    moved = np.array([twist(wrench) - twist(np.zeros(6)) for wrench in np.eye(6)])
    assert np.allclose(moved, moved.T, atol=2e-3 * np.abs(moved).max())
    assert np.linalg.eigvalsh(moved + moved.T).min() > 0.0


def test_a_push_on_a_tray_that_slips():
    """Time steps with contacts take them as well."""
    ours, other = (
        motion_of(engine, "tray", {"tray": [0, 0, 0, 20.0, 0, 0]}) for engine in ENGINES
    )
    assert ours[-3] > 0.0
    assert np.abs(ours - other)[-3:].max() < 0.05 * np.abs(ours[-3:]).max()


@pytest.mark.parametrize(
    ("torque", "wrenches", "words"),
    [
        (np.zeros(3), None, "torque has shape"),
        ([10**400] * 14, None, "expected 14 numbers"),
        (np.zeros(14) + 1j, None, "expected 14 numbers"),
        (np.full(14, np.nan), None, "torque has entries that are not finite"),
        (np.zeros(14), {"box": [1.0, 2.0]}, "the wrench on 'box' has shape"),
        (np.zeros(14), {"box": [np.inf] * 6}, "the wrench on 'box' has entries that are not"),
        (np.zeros(14), {"bux": [0.0] * 6}, "bux"),
        (np.zeros(14), {"world": [0.0] * 6}, "part of the world"),
    ],
)
def test_invalid_inputs_are_refused_and_change_nothing(torque, wrenches, words):
    """Wrong shapes, numbers that are not finite, links that are not there or cannot move."""
    sim = rd.Simulation("lift_box")
    before = sim.observation
    with pytest.raises(rd.RobotDynamicsError, match=words):
        sim.step(torque, wrenches)
    assert sim.observation is before
    with pytest.raises(rd.UnknownNameError, match="unknown link 5"):
        sim.step(np.zeros(14), {5: np.zeros(6)})
    assert sim.step(np.zeros(14)).time == pytest.approx(sim.period)


@pytest.mark.parametrize(("name", "engine"), [("lift_box", e) for e in ENGINES] + [("tray", None)])
def test_a_period_that_is_interrupted_is_told(name, engine, monkeypatch):
    """After Ctrl-C within a period a simulation does not go on, until it is set back."""
    sim = rd.Simulation(name, engine)
    torque = torques(sim, 1)[0]
    sim.step(torque)
    state, after = sim.state, sim.step(torque).q
    run = sim._plant.engine.run

    def interrupted(*given):
        run(*given)
        raise KeyboardInterrupt

    for set_back in (lambda: setattr(sim, "state", state), sim.reset):
        monkeypatch.setattr(sim._plant.engine, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            sim.step(torque)
        monkeypatch.undo()
        for on in (lambda: sim.step(torque), lambda: sim.state, lambda: sim.contacts):
            with pytest.raises(rd.RobotDynamicsError, match=rf"{name}: period \d was not fin"):
                on()
        set_back()
        if sim.observation.time:
            assert (sim.step(torque).q == after).all()
    assert sim.observation.time == 0.0


def test_a_step_too_long_for_friction_is_shortened_or_refused():
    """By default it is shortened; a stated one is refused, with one that is taken."""
    stiff = "plant.damping_scale=3000"
    sim = rd.Simulation("lift_box", overrides=[stiff])
    seen = [sim.step(np.zeros(len(sim.joint_names))).qd for _ in range(20)]
    assert np.abs(np.diff(seen[10:], axis=0)).max() < 0.05  # unstable, it would shake
    words = r"plant\.step_s 0\.002 s is too long for the friction.*expected at most ([\d.]+) s\.$"
    with pytest.raises(rd.ArgumentError, match=words) as refused:
        rd.Simulation("lift_box", overrides=[stiff, "plant.step_s=0.002"])
    shorter = re.search(words, str(refused.value))[1]
    assert float(shorter) < 0.002
    rd.Simulation("lift_box", overrides=[stiff, f"plant.step_s={shorter}"])
