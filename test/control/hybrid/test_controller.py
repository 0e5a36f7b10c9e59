# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The hybrid controller: its start, its memory, its phases, and its changes of task."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from support.hybrid_control import (
    FOOT,
    REST,
    SAFETY,
    SETTINGS,
    START,
    SYSTEM,
    Plan,
    Q,
    controller,
    floor,
    pressing_wrenches,
    touching,
)
from support.hybrid_systems import LINKAGE
from support.sampled_decoupling import cell_of

from robot_dynamics.app.runs.recorders import planned_columns
from robot_dynamics.control.path_check import PreflightError
from robot_dynamics.control.rotation_path import product
from robot_dynamics.control.settings import ForceServoSettings, PostureSettings
from robot_dynamics.control.start_check import StartError
from robot_dynamics.control.touch_settings import ContactForceSettings
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.manipulation.grasping import hybrid_system
from robot_dynamics.manipulation.hybrid import Contact, Environment
from robot_dynamics.model import pose

NO_FORCE = np.zeros((2, 6))
SETTLED = 20  # ticks: the ramp is over


def test_it_starts_with_support_alone():
    """Start and first update send the torque that supports arms and object, pressed or not."""
    control = controller(Plan(1, contact=20.0, squeeze=30.0), environment=touching())
    seen = control.start(Q, REST)
    first = control.update(0, Q, REST)
    assert_allclose(first.torque, seen.support, atol=1e-12)
    assert_allclose(first.torque, control.hold_support(Q), atol=1e-12)
    assert seen.outputs.distance == pytest.approx(0.0, abs=1e-12)
    assert first.outputs.touched == [1.0]


def test_it_presses_with_what_is_wanted():
    """The floor's force enters as J^T times the shares of its wrench, after the ramp."""
    free, pressing = (controller(Plan(1, contact=f), environment=touching()) for f in (0.0, 20.0))
    torques = []
    for control in (free, pressing):
        control.start(Q, REST)
        torques.append(control.update(SETTLED, Q, REST).torque)
    terms_J = _jacobian()
    push = np.array([0.0, 0.0, 0.0, 0.0, 0.0, -20.0])  # f E_F^T: p grows downwards
    push[:3] = np.cross(FOOT, push[3:])
    forces = pressing.distribution.share @ push
    assert_allclose(torques[1] - torques[0], terms_J.T @ forces, atol=1e-8)


def _jacobian():
    """Return S^T J at the start."""
    return hybrid_system(SYSTEM).terms(Q, REST, pose(START[:3]), np.zeros(6)).J_S


def test_a_surface_that_is_far_is_approached():
    """Control begins with motion, and with force when the floor is felt; not before."""
    control = controller(Plan(1, contact=20.0), environment=floor(START[2] - 0.3))
    control.start(Q, REST)
    assert control.update(SETTLED, Q, REST).outputs.touched == [0.0]
    control.sense(contact_force=[0.1])
    assert control.update(SETTLED, Q, REST, NO_FORCE).outputs.touched == [0.0]
    control.sense(contact_force=[5.0])
    assert control.update(SETTLED, Q, REST, NO_FORCE).outputs.touched == [1.0]
    control.sense(contact_force=[0.0])
    lost = round(SETTINGS.contact_force.lost_after_s / SETTINGS.period) + 1
    seen = [control.update(SETTLED, Q, REST, NO_FORCE).outputs.touched[0] for _ in range(lost)]
    assert seen[:-2] == [1.0] * (lost - 2)
    assert seen[-1] == 0.0


def test_forces_on_surfaces_are_estimated():
    """At rest, the sum of grasp forces less the weight is the force on the floor."""
    control = controller(Plan(1), environment=touching())
    control.start(Q, REST)
    step = control.update(SETTLED, Q, REST, pressing_wrenches(control))
    assert step.outputs.contact_force == pytest.approx([12.0], abs=1e-8)
    assert_allclose(step.held_body_wrenches[0, 9:12], [0.0, 0.0, -12.0], atol=1e-8)
    assert_allclose(step.held_body_wrenches[0, 12:], 0.0, atol=1e-8)
    # A push by the world that no surface explains stands alone in what is unexplained.
    more = pressing_wrenches(control)
    more[0, 3:] += SYSTEM.grasps[0][:3, :3].T @ [7.0, 0.0, 0.0]
    step = control.update(SETTLED, Q, REST, more)
    assert_allclose(step.held_body_wrenches[0, 15:17], [7.0, 0.0], atol=1e-8)


@pytest.mark.parametrize(("below", "touched"), [(0.33, 0.0), (0.04, 1.0), (-0.04, 1.0)])
def test_an_estimated_force_in_free_air_is_no_touch(below, touched):
    """An object that is lighter than believed feels like a floor, of which there is none near.

    A floor that is 4 cm off from where it is believed to be is touched all the same.
    """
    floors = touching().surfaces
    there = Environment((lambda at: floors[0](at) - below,))
    control = controller(Plan(1, contact=20.0), environment=there)
    control.start(Q, REST)
    step = control.update(SETTLED, Q, REST, pressing_wrenches(control))
    assert step.outputs.touched == [touched]
    assert step.outputs.contact_force == pytest.approx([12.0 * touched], abs=1e-8)


@pytest.mark.parametrize("wrenches", [NO_FORCE, None])
def test_a_surface_that_is_not_to_be_touched_changes_nothing(wrenches):
    """A second floor 0.4 m below the first, of the same part, which the first one determines."""
    floors = touching().surfaces
    alone = controller(Plan(1, contact=20.0), environment=Environment(floors))
    below = Environment((*floors, lambda at: floors[0](at) - 0.4))
    both = controller(Plan(2, contact=[20.0, 0.0], wanted=[1.0, 0.0]), environment=below)
    for control in (alone, both):
        control.start(Q, REST)
    for tick in (0, SETTLED):
        one, two = alone.update(tick, Q, REST, wrenches), both.update(tick, Q, REST, wrenches)
        assert_allclose(two.torque, one.torque, atol=1e-9)
        assert_allclose(two.outputs.contact_force, [*one.outputs.contact_force, 0.0], atol=1e-9)


def test_integrals_wait_for_contact_and_are_bounded():
    """The gated integral grows only while the floor is felt, and no further than its bound."""
    contact = ContactForceSettings(error_limit_n=2.0, integral_limit_n=1.0, bandwidth=50.0)
    settings = replace(SETTINGS, contact_force=contact)
    control = controller(Plan(1, contact=20.0), settings=settings, environment=touching())
    at = control.layout.memory["contact_integral"]
    control.start(Q, REST)
    control.sense(contact_force=[0.0])
    assert control.update(SETTLED, Q, REST, NO_FORCE).memory[at] == [0.0]
    control.sense(contact_force=[5.0])
    first = control.update(SETTLED, Q, REST, NO_FORCE).memory[at]
    assert first == pytest.approx([50.0 * 0.002 * 2.0])
    for _ in range(20):
        step = control.update(SETTLED, Q, REST, NO_FORCE)
    assert step.memory[at] == pytest.approx([1.0])


def limited(room, **parts):
    """Return a step under efforts (14,) of a control whose plan has some parts."""
    off = np.array([*[parts.get("motion", 0.0)] * 3, 0.0, 0.0, 0.0, 0.0])
    contact, squeeze = parts.get("contact", 0.0), parts.get("squeeze", 0.0)
    plan = Plan(1, contact=contact, squeeze=squeeze, start=START + off)
    force = ForceServoSettings(max_internal_force_correction_n=parts.get("correction_limit", 0.0))
    settings = replace(SETTINGS, internal_force=force)
    control = controller(plan, settings=settings, environment=touching())
    control.kernel.limits = {**control.kernel.limits, "effort": room / SAFETY.effort_fraction}
    control.start(Q, REST)
    control.sense(contact_force=[contact / 2.0])
    step = control.update(SETTLED, Q, REST, NO_FORCE)
    return step, step.memory[control.layout.memory["contact_integral"]]


@cache
def unlimited(**parts):
    """Return a step that nothing limits."""
    return limited(np.full(14, 1e6), **parts)[0]


@pytest.mark.parametrize("room", [40.0, 12.0, 4.0, 1.0])
def test_limits_are_met_in_order(room):
    """Each part has the rest of the ones before it: support, squeeze, contact force, motion.

    The parts are differences of unlimited torques; scales are compared with the largest that the
    efforts leave, joint by joint. Integrals do not grow while anything is scaled.
    """
    parts = {"squeeze": 40.0, "contact": 30.0, "motion": 0.02}
    support = unlimited().torque
    effort = np.full(14, np.abs(support).max() + room)
    step, integral = limited(effort, **parts)
    total = support
    for name, scale in zip(parts, step.scales[[0, 5, 1]], strict=True):
        part = unlimited(**{name: parts[name]}).torque - support
        towards = np.where(part > 0.0, effort - total, effort + total)
        most = np.min(np.maximum(towards, 0.0) / np.maximum(np.abs(part), 1e-12))
        assert scale == pytest.approx(min(1.0, most), abs=1e-6)
        total = total + scale * part
    assert_allclose(step.torque, total, atol=1e-5)
    assert np.all(np.abs(step.torque) <= effort * (1.0 + 1e-8))
    assert step.task_scale == min(*step.scales[:3], step.scales[5])
    assert step.task_scale < 1.0
    assert integral == [0.0]


@pytest.mark.parametrize("room", [1.0, 0.1])
def test_the_internal_force_gives_way_before_the_task(room):
    """The nearest internal force that fits replaces an excessive squeeze; the task is kept.

    Without correction limit a part is held back. Torques are those of the law with that internal
    force.
    """
    parts = {"squeeze": 40.0, "contact": 30.0}
    support = unlimited().torque
    effort = np.full(14, np.abs(support).max() + room)
    assert limited(effort, **parts)[0].task_scale < 0.9
    step, _ = limited(effort, **parts, correction_limit=2e3)  # in one period
    assert step.task_scale == pytest.approx(1.0, abs=1e-9)
    internal = np.zeros(step.internal_force_torques.shape[1])
    internal[0] = parts["squeeze"]
    asked = step.torque_range + step.internal_force_torques @ (
        internal + step.added_internal_force
    )
    assert np.abs(asked).max() == pytest.approx(effort[0], rel=1e-8)
    ample = unlimited(**parts)
    assert_allclose(
        step.torque,
        ample.torque + ample.internal_force_torques @ step.added_internal_force,
        atol=1e-8,
    )


def test_the_internal_force_gives_way_at_a_bounded_rate():
    """Within the correction limit in 0.1 s; then limits are inactive, and the addition stays."""
    support = unlimited().torque
    settings = replace(
        SETTINGS, internal_force=ForceServoSettings(max_internal_force_correction_n=50.0)
    )
    control = controller(Plan(1, squeeze=40.0), settings=settings, environment=touching())
    effort = np.full(14, np.abs(support).max() + 0.1)
    control.kernel.limits = {**control.kernel.limits, "effort": effort / SAFETY.effort_fraction}
    control.start(Q, REST)
    # Without sensors no integral grows.
    steps = [control.update(SETTLED, Q, REST) for _ in range(100)]
    added = np.array([step.added_internal_force for step in steps])
    assert steps[0].task_scale < 0.9
    assert np.abs(np.diff(added, axis=0)).max() <= 50.0 * 0.002 / 0.1 + 1e-9
    assert np.linalg.norm(added[0]) > 0.5
    assert all(step.task_scale > 1.0 - 1e-6 for step in steps[60:])
    # A torque of another controller comes without it.
    assert not steps[0].with_torque(support).added_internal_force.any()
    assert_allclose(added[60:], added[-1:].repeat(40, axis=0), atol=1e-9)


def test_it_follows_another_plan_without_a_jump():
    """At the change the torque goes on; a blend later the new plan is followed."""
    control = controller(Plan(velocity=(0.1, 0.0, 0.0)))
    control.start(Q, REST)
    plain = controller(Plan(velocity=(0.1, 0.0, 0.0)))
    plain.start(Q, REST)
    for tick in (SETTLED, SETTLED + 1):
        control.update(tick, Q, REST)
        plain.update(tick, Q, REST)
    far = START + np.array([0.0, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0])
    control.follow(Plan(start=far, squeeze=30.0), SETTLED + 2)
    before, after = plain.update(SETTLED + 2, Q, REST), control.update(SETTLED + 2, Q, REST)
    assert_allclose(after.torque, before.torque, atol=1e-9)
    # The next one differs by what a sample of the blend makes of it, not by a jump.
    step = np.abs(control.update(SETTLED + 3, Q, REST).torque - after.torque).max()
    jump = controller(Plan(start=far, squeeze=30.0))
    jump.start(Q, REST)
    assert step < 0.02 * np.abs(jump.update(SETTLED, Q, REST).torque - after.torque).max()
    late = control.update(SETTLED + 2 + 150, Q, REST)
    assert_allclose(late.reference[:3], far[:3], atol=1e-12)
    assert late.reference[control.layout.reference["internal"]][0] == 30.0


def test_it_comes_to_rest():
    """A hold goes on along the path, slows down to rest, and stays there."""
    control = controller(Plan(velocity=(0.1, 0.0, 0.0)))
    control.start(Q, REST)
    going = control.update(120, Q, REST).reference
    control.hold(120)
    first = control.update(120, Q, REST).reference
    assert_allclose(first[:13], going[:13], atol=1e-12)
    assert_allclose(control.update(5000, Q, REST).reference[7:19], 0.0, atol=1e-12)
    assert control.start(Q, REST).reference[10] == 0.1


def test_a_plan_of_other_forces_is_refused():
    """Rows must have a column for each surface force and internal force."""
    with pytest.raises(RobotDynamicsError, match="rows of 27, expected 25"):
        controller(Plan(1))
    with pytest.raises(RobotDynamicsError, match="rows of 25, expected 27"):
        controller(environment=touching()).follow(Plan(0), 0)


def test_starts_from_afar_are_refused():
    """An object elsewhere, an arm away from its contact, and moving joints are named."""
    control = controller(Plan(1), environment=touching())
    control.check_start(Q, REST)
    with pytest.raises(StartError, match="the object is"):
        controller(
            Plan(1, start=[*(START[:3] + 0.1), *START[3:]]), environment=touching()
        ).check_start(Q, REST)
    half_a_turn = product(np.array([0.6, 0.8, 0.0, 0.0]), START[3:])
    with pytest.raises(StartError, match="180 degrees from its place"):
        controller(Plan(1, start=[*START[:3], *half_a_turn]), environment=touching()).check_start(
            Q, REST
        )
    with pytest.raises(StartError, match="degrees from its place"):
        control.check_start(Q + np.array([0.0] * 7 + [0.2] + [0.0] * 6), REST)
    with pytest.raises(StartError, match="moves at"):
        control.check_start(Q, REST + 0.1)
    # In free space each rigid grasp alone tells where the object is: arms are named.
    with pytest.raises(StartError, match=r"arm '.*' is 0\.1\d* m and .* from its grasp"):
        controller(Plan(start=[*(START[:3] + 0.1), *START[3:]])).check_start(Q, REST)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of the division that is refused
def test_two_walls_in_one_are_refused_by_their_names():
    """Their forces cannot be told apart: no number comes of it, and the start says why."""
    twice = Environment(touching().surfaces * 2)
    control = controller(Plan(2, contact=20.0), environment=twice)
    with pytest.raises(PreflightError, match="same motion"):
        control.check_start(Q, REST)


def test_a_grasp_that_cannot_hold_is_refused():
    """Two frictional points leave the turn about their line free, and the message names it."""
    points = [Contact.of_kind("frictional point", grasp) for grasp in SYSTEM.grasps]
    with pytest.raises(RobotDynamicsError, match="cannot control the rotation about"):
        controller(Plan(internal=0), contacts=points)


def test_the_object_may_be_seen_from_outside():
    """With a sensor the pose is the sensor's, not that of the arms."""
    control = controller(object_pose="sensor")
    control.start(Q, REST)
    elsewhere = START + np.array([0.0, 0.0, 0.01, 0.0, 0.0, 0.0, 0.0])
    control.sense(pose=elsewhere, twist=[0.0, 0.0, 0.0, 0.1, 0.0, 0.0])
    step = control.update(SETTLED, Q, REST)
    assert_allclose(step.pose, elsewhere, atol=1e-12)
    assert_allclose(step.twist, [0.0, 0.0, 0.0, 0.1, 0.0, 0.0], atol=1e-12)
    assert_allclose(step.error[3:], [0.0, 0.0, -0.01], atol=1e-12)
    assert_allclose(np.abs(step.closure).max(), 0.0, atol=1e-9)


def test_invalid_sensor_values_are_refused_and_discarded():
    """A pose, twist or force that is none raises, and the torques do not change."""
    control = controller(Plan(1), environment=touching(), object_pose="sensor")
    control.start(Q, REST)
    control.sense(pose=START, twist=np.zeros(6))
    before = control.update(SETTLED, Q, REST).torque
    for bad in (
        {"pose": np.where(np.arange(7) == 0, np.nan, START)},
        {"pose": START, "twist": [np.inf] * 6},
        {"pose": START + 1.0, "contact_force": [1.0, 2.0]},
    ):
        with pytest.raises(RobotDynamicsError, match="expected"):
            control.sense(**bad)
    control.sense(pose=[*START[:3], *(2.0 * START[3:])])
    assert_allclose(control.update(SETTLED, Q, REST).torque, before, atol=1e-9)


def test_it_offers_what_a_law_offers():
    """Records of a step and references fill the columns in their order."""
    control = controller(Plan(1), environment=touching())
    step = control.start(Q, REST)
    ends = np.cumsum(list(control.columns.values()))
    recorded = np.split(np.concatenate(step.recorded), ends)
    assert recorded.pop().size == 0
    columns = dict(zip(control.columns, recorded, strict=True))
    for name, values in {
        "estimated_pose": step.pose,
        "estimated_twist": step.twist,
        "estimated_closure": step.closure,
        "estimated_internal_force": step.internal_force,
        "estimated_contact_force": step.outputs.contact_force,
        "touched": step.outputs.touched,
        "uncontrolled_error": step.outputs.uncontrolled_error,
        "control_scales": step.scales,
        "added_internal_force": step.added_internal_force,
    }.items():
        assert_array_equal(columns.pop(name), values)
    assert not columns
    references = planned_columns(control, np.array([0.0, 0.5]))
    assert references["reference_pose"].shape == (2, 7)
    assert references["reference_contact_force"].shape == (2, 1)
    assert control.ramp_ticks == 10
    assert control.ticks == 510
    assert control.metadata["internal_forces"] == list(control.distribution.names)


def test_drives_alone_are_measured_of_arms_with_loops():
    """A drive that is not where its linkage can be is told, and no torque is made of it."""
    cell = cell_of(2, LINKAGE)
    system = cell.system
    q, rest = system.posture.copy(), np.zeros(12)
    control = controller(Plan(start=cell.start[system.object_q]), system=system)
    control.check_start(q, rest)
    control.check_path(q)
    step = control.start(q, rest)
    assert step.torque.shape == step.support.shape == (12,)
    opening, pivot, moved = step.outputs.linkage
    assert opening < 1e-12
    assert moved < 1e-12
    assert 0.1 < pivot <= 1.0
    assert_allclose(step.closure, 0.0, atol=1e-12)
    assert_allclose(control.hold_support(q), step.support, atol=1e-9)
    q[system.joint_names.index("arm0_crank")] -= 1.2
    with pytest.raises(
        RobotDynamicsError, match=r"chains of the arms stay open by 0\.\d+ m or rad"
    ):
        control.update(1, q, rest)
    with pytest.raises(RobotDynamicsError, match=r"arm0_crank -1\.3"):
        control.check_start(q, rest)
    with pytest.raises(ArgumentError, match="expected 0 for arms with loops"):
        controller(
            Plan(start=cell.start[system.object_q]), system=system,
            posture=PostureSettings(singularity_avoidance=1.0),
        )  # fmt: skip
