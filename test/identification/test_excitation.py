# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motions that make an arm observable: within limits, free of collisions, and long enough."""

import numpy as np
import pytest

import robot_dynamics as rd
from robot_dynamics.app.command_line.main import main
from robot_dynamics.app.identification.excitation import excite
from robot_dynamics.app.identification.payload_excitation import excite_payload
from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.laws import make_law
from robot_dynamics.app.scenarios.task import carried_object
from robot_dynamics.control.path_check import PreflightError
from robot_dynamics.control.task.free_arms import JointMove
from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.manipulation.assembly import closed_configuration


@pytest.fixture(scope="module")
def planned():
    """Return a short motion of our left arm, with drives of 40 % of their torque."""
    weak = rd.load_scenario("pick_and_place", ["safety.effort_fraction=0.4"])
    return excite(weak, "left", longest_s=3.0)


def test_moves_are_within_all_limits(planned):
    """Positions, speeds and torques of the description, by inverse dynamics at other instants."""
    scenario = rd.load_scenario("pick_and_place")
    system = build_system(scenario)
    robot, limits = rd.Robot(system.arms_alone), system.limits
    q, largest = scenario.home[:7], 0.0
    for end, speed in planned.moves:
        path = JointMove(q, end, speed * limits["velocity"][:7])
        rows = [path.at(time) for time in np.linspace(0.0, path.duration, 77)]
        states = np.zeros((3, 77, 14))
        states[:, :, :7] = np.swapaxes(np.array(rows), 0, 1)
        assert (states[0, :, :7] > limits["lower"][:7]).all()
        assert (states[0, :, :7] < limits["upper"][:7]).all()
        assert (np.abs(states[1, :, :7]) <= 0.9 * limits["velocity"][:7] + 1e-9).all()
        torque = np.abs(robot.inverse_dynamics(*states)[:, :7]) / limits["effort"][:7]
        assert torque.max() < 0.8 * 0.4 + 0.02  # between the planner's instants
        largest = max(largest, torque.max())
        q = end
    assert largest > 0.25  # the arm's weight needs less: the limits matter
    assert planned.duration < 3.0 + 5.0  # the last move and the way home


def test_wanted_deviations_end_the_motion(planned):
    """A motion without a limit of time ends where its deviations are as wanted."""
    share = 1.001 * float(planned.shares.max())
    found = excite(planned.scenario, "left", share=share, longest_s=1e3)
    assert found.shares.max() <= share
    assert len(found.lines) == 3  # nothing is missed
    assert len(found.moves) <= len(planned.moves)
    # The other way round: these moves end by their time, with more wanted.
    assert planned.shares.max() > 0.1


def test_the_command_writes_a_task(tmp_path, capsys):
    """It extends the scenario, has no threshold of an object, and ends at home."""
    place = tmp_path / "motion.yaml"
    arguments = ["excite", "pick_and_place", "--arm", "left", "--longest", "0.1"]
    assert main([*arguments, "--output", str(place)]) == 0
    out = capsys.readouterr().out
    assert "1 move of arm" in out
    assert "standard deviations are above the wanted 10 % of those before" in out
    scenario = rd.load_scenario(place)
    assert [phase.name for phase in scenario.task] == ["move", "move"]
    assert scenario.task[1].own.to == "home"
    assert scenario.acceptance.engine.place_error_m is None
    assert scenario.cell == rd.load_scenario("pick_and_place").cell


def test_impossible_motions_are_refused():
    """Unknown arms, shares of nothing."""
    with pytest.raises(UnknownNameError, match="middle"):
        excite("pick_and_place", "middle")
    with pytest.raises(ArgumentError, match="share is 0"):
        excite("pick_and_place", "left", share=0)
    with pytest.raises(ArgumentError, match="between 0 and 1"):
        excite("pick_and_place", "left", share=1.0)


@pytest.fixture(scope="module")
def carried_around():
    """Return a short motion of the box of lift_box."""
    return excite_payload("lift_box", share=0.03, longest_s=2.0)


def test_the_object_moves_within_all_limits_and_returns(carried_around, tmp_path):
    """By the check of the path before a start, which uses 80 % of the allowed torque at most."""
    place = carried_around.write_scenario(tmp_path / "motion.yaml", "lift_box")
    scenario = rd.load_scenario(place)
    assert scenario.reference.force == ()
    assert scenario.acceptance.engine.object_position_error_max_m is None
    law = make_law(scenario)
    q = closed_configuration(law.system, scenario.object_pose)[law.system.q_index]
    check = law.checked_path(q)
    allowed = scenario.safety.effort_fraction
    assert 0.5 * allowed < check.torque_fraction[0] <= 0.8 * allowed
    begin, end = law.reference.rows([0.0, carried_around.duration])[:, :7]
    np.testing.assert_allclose(end, begin, atol=5e-4)
    # The other way round: a tenth more torque than allowed is refused.
    weak = 0.9 * check.torque_fraction[0]
    with pytest.raises(PreflightError):
        make_law(scenario.changed([f"safety.effort_fraction={weak}"])).checked_path(q)


def test_a_motion_of_the_object_is_as_long_as_needed(carried_around):
    """It ends with the wanted deviations, or says that it does not reach them."""
    assert carried_around.shares.max() > 0.03
    assert 2.0 <= carried_around.duration < 7.0
    assert "are above the wanted 3 % of those before" in carried_around.lines[-1]
    share = 1.001 * float(carried_around.shares.max())
    found = excite_payload("lift_box", share=share, longest_s=1e3)
    assert found.shares.max() <= share
    assert found.duration <= carried_around.duration
    assert len(found.lines) == 2
    assert found.deviations[0] < 0.1
    assert found.deviations[1:4].max() < 2e-3


@pytest.mark.parametrize(
    ("scenario", "reason"),
    [
        ("wipe", "has the surface 'wall'"),
        ("tray", "by a soft_finger contact"),
    ],
)
def test_objects_that_are_not_held_rigidly_are_refused(scenario, reason):
    """In one sentence that says what is expected."""
    with pytest.raises(ArgumentError, match=f"{reason}.*; expected arms that hold one object"):
        excite_payload(scenario)


def test_the_object_of_a_task_is_moved_where_its_carry_begins():
    """In the air, squeezed as by the task, and without a motion of its own."""
    scenario = rd.load_scenario("pick_and_place")
    carry, held = carried_object(scenario, build_system(scenario))
    assert scenario.task[carry].name == "carry"
    lifted = np.array(scenario.object_pose)
    lifted[2] += 0.1  # task.lift.height_m
    np.testing.assert_allclose(held.object_pose, lifted, atol=1e-9)
    assert held.task == held.reference.segments == held.reference.touches == ()
    assert [step.squeeze_n for step in held.reference.force] == [80.0]


def test_a_task_without_a_carry_is_refused():
    """There is no phase for the motion."""
    moves = rd.load_scenario("pick_and_place", ["task=[{move: {to: home}}]"])
    with pytest.raises(ArgumentError, match="the first grasp of the task has no `carry`"):
        excite_payload(moves)


def test_arms_too_weak_for_any_move_are_told_so():
    """The refusal names the joint that no move suits, here one that cannot hold the box."""
    weak = rd.load_scenario("lift_box", ["safety.effort_fraction=0.2"])
    expected = (
        r"none of 24 moves of the object .*; most often joint '.*' would need .* to hold arm"
    )
    with pytest.raises(ArgumentError, match=expected):
        excite_payload(weak)


@pytest.mark.slow
def test_the_planned_motion_identifies_the_payload(tmp_path):
    """A box that is 20 % too heavy, with noise: 1 %, 2 mm, and the planned deviations."""
    planned = excite_payload("lift_box", longest_s=5.0)
    place = tmp_path / "motion.yaml"
    planned.write_scenario(place, "lift_box")
    noise = ("position=1.0e-4", "force=0.3", "moment=0.02")
    changes = ["plant.object_mass_scale=1.2", *(f"plant.sensors.{one}" for one in noise)]
    found = rd.identify(rd.simulate(rd.load_scenario(place, changes)).recording, "lift_box")
    values, deviations = found.payload.summary
    assert (np.abs(values[:4] - [12.0, 0, 0, 0]) < 4.0 * deviations[:4]).all()
    assert deviations[0] < 0.01 * 12.0
    assert deviations[1:4].max() < 2e-3
    ratio = np.median(deviations / planned.deviations)
    assert 0.5 < ratio < 2.0


@pytest.mark.slow
def test_motions_do_not_depend_on_the_law(tmp_path):
    """They are checked as of the hybrid law; the admittance follows them."""
    change = "control.law=admittance"
    planned = excite_payload(rd.load_scenario("lift_box", [change]), longest_s=0.1)
    assert planned.segments == excite_payload("lift_box", longest_s=0.1).segments
    place = planned.write_scenario(tmp_path / "motion.yaml", "lift_box")
    assert rd.simulate(rd.load_scenario(place, [change])).ok


@pytest.mark.slow
def test_a_task_carries_the_object_along_the_planned_motion(tmp_path):
    """Then along its own segments; palms hold a box that is 10 % too heavy."""
    planned = excite_payload("pick_and_place", longest_s=0.1)
    place = planned.write_scenario(tmp_path / "motion.yaml", "pick_and_place")
    given, scenario = rd.load_scenario("pick_and_place"), rd.load_scenario(place)
    segments = scenario.task[planned.carry].own.segments
    assert segments == planned.segments + given.task[planned.carry].own.segments
    noise = ("position=1.0e-4", "force=0.3", "moment=0.02")
    changes = ["plant.object_mass_scale=1.1", *(f"plant.sensors.{one}" for one in noise)]
    run = rd.simulate(rd.load_scenario(place, changes))
    assert run.ok
    values, deviations = rd.identify(run.recording, "pick_and_place").payload.summary
    assert (np.abs(values[:4] - [5.5, 0, 0, 0]) < 4.0 * deviations[:4]).all()
    ratio = np.median(deviations[:4] / planned.deviations[:4])
    assert 0.3 < ratio < 2.0  # lift and descent tell something too


@pytest.mark.slow
def test_the_planned_motion_identifies_the_arm(tmp_path):
    """Run with links that are too heavy, it gives deviations as planned, and their torques."""
    planned = excite("pick_and_place", "left", share=0.2, longest_s=12.0)
    place = planned.write_scenario(tmp_path / "motion.yaml", "pick_and_place")
    changes = ["plant.link_mass_scale=1.1", "plant.sensors.position=1.0e-4"]
    run = rd.simulate(rd.load_scenario(place, changes))
    _, links = rd.identify(run.recording, "pick_and_place", what="arms").arms["left"]
    before, after, consistent = links.held_out
    assert consistent < 1.0 < 10.0 < before
    assert after < 1.0
    names = [name for name in planned.names if "friction" not in name]
    at = [links.fit.names.index(name) for name in names]
    shares = links.fit.deviations[at] / links.fit.prior_deviations[at]
    ratio = np.median(shares / planned.shares[: len(names)])
    assert 0.5 < ratio < 2.0
