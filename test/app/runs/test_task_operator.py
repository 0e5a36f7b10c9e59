# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An operator pauses, aborts and resumes a task; judged by the true state of the plant."""

import numpy as np
import pytest

from robot_dynamics.app.runs.run import make_plant
from robot_dynamics.app.scenarios.cell import true_system
from robot_dynamics.app.scenarios.laws import control_loop
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.abilities import TaskError
from robot_dynamics.control.faults import Cause, Finding
from robot_dynamics.control.resume import ResumeError
from robot_dynamics.control.start_check import StartError

TASK = """task=[
  {approach: {distance_m: 0.04, speed: 0.2, velocity_fraction: 0.6, on_failure: retreat}},
  {grasp: {squeeze_n: 80.0, touch_within_m: 0.005, squeeze_s: 0.1, on_failure: retreat}},
  {lift: {height_m: 0.02, unload_s: 0.1, on_failure: put_back}},
  {wait: {until: operator}},
  {carry: {segments: [{duration_s: 0.5, move: [0.03, 0.01, 0.0]}]}},
  {put_down: {on: table, touch_within_m: 0.003, load_s: 0.1}},
  {release: {distance_m: 0.04, speed: 0.2, open_s: 0.1}},
  {move: {to: home, velocity_fraction: 0.6}}]"""
SCENARIO = load_scenario("pick_and_place", [TASK, "plant.object_mass_scale=0.75"])
PLACE, PERIOD = np.array([0.62, 0.0, 0.75]), SCENARIO.control.period
WAY, UP = np.array([0.03, 0.01, 0.0]), np.array([0.0, 0.0, 0.02])
REST_S = 0.5  # in which all comes to rest after a request


class Cell:
    """The controller of a scenario and its plant."""

    def __init__(self):
        self.take_controller()
        self.plant = make_plant(SCENARIO, true_system(SCENARIO))
        self.seen, self.tick, self.torques = self.plant.reset(), 0, []
        self.start("start")

    def take_controller(self):
        """Take a new controller, which knows nothing of the one before."""
        self.loop = control_loop(SCENARIO)
        self.law = self.loop.law

    def start(self, way):
        """Start control, as the node does."""
        seen = self.seen
        self.loop.check(seen.q, seen.qd, way)
        self.loop.start_at(self.tick, self.tick, seen.q, seen.qd, seen.wrenches)

    def run(self, seconds):
        """Simulate a while."""
        for _ in range(round(seconds / PERIOD)):
            self.step()

    def step(self):
        seen = self.seen
        torque = self.loop.update(self.tick, self.tick, seen.q, seen.qd, seen.wrenches).torque
        self.torques.append(torque)
        self.seen = self.plant.step(torque)
        self.tick += 1

    def run_to(self, phase):
        """Run until a phase begins."""
        for _ in range(2000):
            if self.law.phases[self.law.phase] == phase:
                return
            assert not self.loop.safety.faults, self.loop.safety.faults
            self.step()
        pytest.fail(f"{phase} did not begin: {self.law.state}, {self.law.failure}")

    @property
    def place(self):
        return self.plant.truth().object_pose[:3].copy()

    @property
    def table_force(self):
        """Return the true force of the table on the object [N]."""
        return sum(surface.force[2] for surface in self.plant.contacts()[2:])

    def is_at_rest(self):
        """Return whether nothing moves for a while."""
        before = self.place
        self.run(0.1)
        return bool(np.abs(self.place - before).max() < 2e-5 and np.abs(self.seen.qd).max() < 0.01)


def free_arms_pause_and_go_on(cell):
    """In the middle of their way; the time of the phase stands still."""
    law = cell.law
    cell.run(0.6)
    assert np.abs(cell.seen.qd).max() > 0.1
    with pytest.raises(TaskError, match="resume refused: the task is not paused"):
        law.go_on()
    with pytest.raises(TaskError, match="next refused: phase 1, approach does not wait"):
        law.next()
    assert law.pause() == "the task pauses in phase 1, approach"
    cell.run(REST_S)
    assert (law.state, cell.is_at_rest()) == ("paused", True)
    cell.run(0.2)
    law.go_on()
    cell.run_to("lift")
    assert law.state == "running"


def a_pause_in_the_transfer_gives_the_weight_back(cell):
    """Arms that rest with a share of it would lift a lighter object without end."""
    law = cell.law
    cell.run(0.19)
    assert law.holds_object
    law.pause()
    cell.run(2.0 * REST_S)
    assert (law.state, law.holds_object) == ("paused", False)
    np.testing.assert_allclose(cell.place, PLACE, atol=2e-4)
    law.go_on()
    cell.run(0.1)


def a_phase_waits_for_an_operator(cell):
    """With the object in the air, longer than any time limit would let it."""
    law = cell.law
    law.has_operator = True
    cell.run_to("wait")
    law._course[law._at].limit_s = 0.5 * REST_S
    cell.run(REST_S)
    assert (law.state, cell.is_at_rest()) == ("waiting", True)
    assert cell.place[2] == pytest.approx(PLACE[2] + 0.02, abs=1e-4)
    law.next()
    cell.run(2.0 * PERIOD)
    assert law.phases[law.phase] == "carry"


def a_phase_pauses_in_its_first_period(cell):
    """And it does not matter how often an operator asks."""
    law = cell.law
    for _ in range(2):
        law.pause()
        cell.run(REST_S)
        assert (law.state, cell.is_at_rest()) == ("paused", True)
    assert 0.005 < cell.place[0] - PLACE[0] < 0.012  # as far as coming to rest in 0.4 s leads
    law.go_on()
    with pytest.raises(TaskError, match="resume refused: the task is not paused"):
        law.go_on()


def a_lost_sensor_interrupts_the_task(cell):
    """Its law holds the object at rest; that is no end, and the task can go on."""
    law, loop = cell.law, cell.loop
    cell.run(0.1)
    loop.safety.trip(cell.tick, Finding(Cause.WRENCH_LOST, "left/wrench", "it is silent."))
    cell.run(2.0 * REST_S)
    assert (law.state, law.done, loop.safety.law_runs, cell.is_at_rest()) == (
        "failed", False, True, True,
    )  # fmt: skip
    with pytest.raises(TaskError, match="no task is under way, it has ended early"):
        law.pause()
    loop.reset(cell.tick)
    cell.start("resume")
    assert loop.beginning.startswith("the task goes on in phase 5, carry: the object moves by ")


def a_carried_object_pauses_and_goes_on(cell):
    """On its path: it comes to where it would have come without a pause."""
    law = cell.law
    cell.run(0.1)
    law.pause()
    cell.run(REST_S)
    assert cell.is_at_rest()
    assert 0.005 < cell.place[0] - PLACE[0] < 0.029
    law.go_on()
    cell.run_to("put_down")
    np.testing.assert_allclose(cell.place, PLACE + WAY + UP, atol=2e-4)


def a_new_controller_goes_on_in_the_phase_it_is_told(cell):
    """As after the end of a process: with the measurements of joints and wrists."""
    cell.run(0.05)
    cell.loop.safety.stop(cell.tick)  # as a guard would hold the arms
    cell.run(0.3)
    cell.take_controller()
    law, loop, seen = cell.law, cell.loop, cell.seen
    with pytest.raises(ResumeError, match="no task was interrupted in this process"):
        loop.check(seen.q, seen.qd, "resume")
    for number, said in (
        (0, "resume_phase is 0, expected a phase of the task, from 1 to 8"),
        (9, "resume_phase is 9, expected"),
        (2, "resume_phase is 2, grasp, in which the hands are at the standing object"),
        (7, "resume_phase is 7, release, in which the hands are"),
    ):
        with pytest.raises(TaskError, match=said):
            law.take_up(number)
    law.take_up(6)
    law.choose_start("resume", seen.q, 0)
    free = seen.wrenches.copy()
    free[1] = 0.0
    with pytest.raises(StartError, match=r"arm 'right' presses with 0 N, expected at least 40 N"):
        law.check_hands(seen.q, free)
    standing = seen.wrenches.copy()
    standing[:, 3:5] = 0.0  # the weight is friction on upright palms
    law.take_up(8)
    law.choose_start("resume", seen.q, 0)
    with pytest.raises(StartError, match="arm 'left' touches something with"):
        law.check_hands(seen.q, seen.wrenches)
    with pytest.raises(StartError, match="the hands are where they would hold the object, to"):
        law.check_hands(seen.q, None)
    law.check_hands(np.array(SCENARIO.home), None)
    law.take_up(6)
    loop.check(seen.q, seen.qd, "resume")
    law.check_hands(seen.q, None)
    with pytest.raises(StartError, match=r"the arms bear .* of the weight of 49.1 N, .* 24\.5 N"):
        law.check_hands(seen.q, standing)
    loop.safety.depart_from(cell.torques[-1])
    cell.start("resume")
    assert loop.beginning.startswith("the task goes on in phase 6, put_down: the object moves by")
    height = cell.place[2]
    cell.run(SCENARIO.control.start.ramp_s + 0.9)  # it weighs the object, at rest
    assert law._course[law._at].added_s == 1.0  # no time limit counts that
    assert law.holds_object
    assert cell.place[2] == pytest.approx(height, abs=3e-3)  # lighter than modelled
    cell.run(0.6)


def a_task_aborts_and_resumes_in_the_air(cell):
    """It holds the object where it is; after a stop it goes on from there, to its place."""
    law, loop = cell.law, cell.loop
    cell.run(0.05)
    assert law.abort() == "the task ends in phase 6, put_down, by: hold"
    for refused in (law.pause, law.next):
        with pytest.raises(TaskError, match="refused: the task is being aborted"):
            refused()
    cell.run(REST_S)
    assert (law.state, cell.is_at_rest()) == ("failed", True)
    assert law.failure == "phase 6, put_down: aborted on request."
    assert PLACE[2] + 0.004 < cell.place[2] < PLACE[2] + 0.0199
    with pytest.raises(TaskError, match="pause refused: no task is under way, it has ended early"):
        law.pause()
    height = cell.place[2]
    loop.safety.stop(cell.tick)
    cell.run(0.1)
    loop.safety.reset(cell.tick)
    cell.run(0.1)
    assert cell.place[2] == pytest.approx(height, abs=3e-3)  # lighter than modelled
    with pytest.raises(ResumeError, match="a task puts its object down itself; expected `resume`"):
        loop.check(cell.seen.q, cell.seen.qd, "put_down")
    cell.start("resume")
    while cell.place[2] > PLACE[2] + 3.1e-3:  # the search begins 3 mm above the table
        cell.step()
    law.pause()
    cell.run(0.05)
    law.go_on()
    touched, running = [], law._running.law.running
    while law.phases[law.phase] == "put_down":
        cell.step()
        touched.append((bool(running.last.touched.any()), law.holds_object))
        if [touch for touch, _ in touched] == [False] * (len(touched) - 1) + [True]:
            assert cell.place[2] == pytest.approx(PLACE[2], abs=5e-4)  # going on is no touch
    # A touch alone does not mean that the support bears the weight: a bias looks alike.
    assert touched[-1] == (True, False)
    assert {(False, True), (True, True), (True, False)} == set(touched)
    assert cell.table_force == pytest.approx(5.0 * 9.81, abs=1.0)
    cell.run_to("move")
    cell.run(1.5)
    assert (law.state, law.failure, loop.safety.faults) == ("done", "", ())
    np.testing.assert_allclose(cell.place, PLACE + WAY, atol=3e-4)
    np.testing.assert_allclose(cell.seen.q, SCENARIO.home, atol=1e-3)


def a_law_goes_on_from_the_torque_that_was_sent(cell):
    """Limits may have changed the torque of the law."""
    law, seen, most = cell.law, cell.seen, SCENARIO.safety.torque_rate * PERIOD
    step = law.update(cell.tick, seen.q, seen.qd, seen.wrenches)
    other = step.torque + 5.0
    law.sent(other)
    after = law.update(cell.tick, seen.q, seen.qd, seen.wrenches)
    np.testing.assert_allclose(after.torque, other - most, atol=1e-9)


def torques_never_jump(cell):
    """Nor where an operator or the fallback comes between."""
    change = np.abs(np.diff(cell.torques, axis=0)).max()
    assert 0.0 < change <= SCENARIO.safety.torque_rate * PERIOD * (1.0 + 1e-9)


def a_task_begins_with_free_hands(cell):
    """A controller that was started anew does not know the contents of the hands; wrists do."""
    law = cell.law
    law.choose_start("start", cell.seen.q, cell.tick)
    wrenches = np.zeros((2, 6))
    wrenches[1, 5] = 20.0
    law.check_hands(cell.seen.q, wrenches)
    wrenches[1, 5] = 20.1
    with pytest.raises(StartError, match=r"arm 'right' touches something with 20\.1 N"):
        law.check_hands(cell.seen.q, wrenches)


def test_an_operator_in_the_course_of_a_task():
    """One run, whose parts begin where the part before has ended."""
    cell = Cell()
    for part in (
        free_arms_pause_and_go_on,
        a_pause_in_the_transfer_gives_the_weight_back,
        a_phase_waits_for_an_operator,
        a_phase_pauses_in_its_first_period,
        a_lost_sensor_interrupts_the_task,
        a_carried_object_pauses_and_goes_on,
        a_new_controller_goes_on_in_the_phase_it_is_told,
        a_task_aborts_and_resumes_in_the_air,
        a_law_goes_on_from_the_torque_that_was_sent,
        torques_never_jump,
        a_task_begins_with_free_hands,
    ):
        part(cell)
