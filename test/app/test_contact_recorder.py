# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a plant tells of its contacts is added up."""

import numpy as np

from robot_dynamics.app.recorders import ContactRecorder
from robot_dynamics.simulation.contact import ContactReport, Touch


def report(name, state, force=0.0, slip=0.0, used=0.0):
    """Return a contact that presses with a force and slides at a speed."""
    return ContactReport(
        name, state, np.zeros(3), np.eye(3), np.array([0.0, 0.0, force]), np.zeros(3),
        np.array([slip, 0.0]), 0.0, 0.0, used, 0,
    )  # fmt: skip


def test_forces_of_a_surface_add_up_and_slides_grow():
    """Two corners on a wall press together; a grasp that slides moves on, one that sticks not."""
    recorder = ContactRecorder(["left", "right"], ["wall"], 0.01, np.zeros((1, 12)))
    assert recorder.columns == {
        "grasp_slip": 2, "friction_used": 2, "contact_force": 1, "surface_slip": 1,
    }  # fmt: skip
    contacts = [
        report("left", Touch.STICKING, 30.0, 1e-9, 0.4),
        report("right", Touch.SLIDING, 30.0, 0.2, 1.0),
        report("wall", Touch.SLIDING, 4.0, 0.1),
        report("wall", Touch.SLIDING, 5.0, 0.3),
    ]
    recorder.values(contacts)
    grasps, used, force, slid = recorder.values(contacts)
    np.testing.assert_allclose(grasps, [0.0, 0.004])
    np.testing.assert_allclose(used, [0.4, 1.0])
    np.testing.assert_allclose(force, [9.0])
    np.testing.assert_allclose(slid, [0.006])


def test_without_surfaces_there_are_no_columns_of_them():
    """What is not there is not recorded."""
    recorder = ContactRecorder(["left"], [], 0.01, np.zeros((1, 6)))
    assert set(recorder.columns) == {"grasp_slip", "friction_used"}
    assert len(recorder.values([report("left", Touch.HELD)])) == 2


def test_forces_on_a_hinge_are_those_by_the_object():
    """Of each the opposite of what the hinge exerts on the object, with the sign of its row."""
    rows = [(3, 1.0), (4, 1.0), (5, 1.0), (1, -1.0), (0, 1.0)]
    recorder = ContactRecorder([], ["wall", "door"], 0.01, np.zeros((0, 0)), {"door": rows})
    assert recorder.columns == {"contact_force": 2, "surface_slip": 2, "holding_force": 5}
    door = report("door", Touch.HELD)._replace(
        force=np.array([3.0, 0.0, -4.0]), moment=np.array([0.5, 0.25, 0.0])
    )
    force, slid, holding = recorder.values([report("wall", Touch.STICKING, 7.0), door])
    np.testing.assert_allclose(force, [7.0, 5.0])
    np.testing.assert_allclose(holding, [-3.0, 0.0, 4.0, 0.25, -0.5])
    np.testing.assert_allclose(slid, 0.0)


def test_internal_forces_are_those_of_the_contacts():
    """They are measured in the contacts' frames, in the order of the arms."""
    recovery = np.zeros((1, 12))
    recovery[0, [5, 11]] = 0.5  # half of what both push with
    recorder = ContactRecorder(["left", "right"], ["wall"], 0.01, recovery)
    forces = [report("left", Touch.STICKING, 20.0), report("right", Touch.STICKING, 30.0)]
    forces.append(report("wall", Touch.STICKING, 7.0))
    assert recorder.internal_force(forces) == [25.0]
