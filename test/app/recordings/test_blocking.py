# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The part of the tracking error that surfaces block, on poses with answers from the drawing."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from robot_dynamics.app.recordings.blocking import blocked_error
from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.app.recordings.tracking import orientation_error, position_error
from robot_dynamics.app.scenarios.scenario import load_scenario

# Of `wall_slip`: the wall is at x = 0.7 m, the pad 0.06 m in front of the object's origin.
TOUCHING = 0.64
LEVEL = 0.95


def recording_of(scenario, *poses):
    """Return a recording of true and wanted poses, each a position and a rotation vector."""
    rows = [
        np.hstack([*true[:1], Rotation.from_rotvec(true[1]).as_quat()])
        for pair in poses
        for true in pair
    ]
    true, wanted = np.array(rows[::2]), np.array(rows[1::2])
    columns = {"tick": np.arange(len(true)), "object_pose": true, "reference_pose": wanted}
    names = [surface.name for surface in scenario.cell.surfaces]
    return Recording(columns, {"surfaces": names, "scenario_text": scenario.text()})


def at(x, y=0.0, z=LEVEL, rotation=(0.0, 0.0, 0.0)):
    """Return a pose."""
    return np.array([x, y, z]), np.array(rotation)


@pytest.fixture(scope="module")
def wall():
    """Return the scenario of a board that sticks to a wall by friction."""
    return load_scenario("wall_slip")


@pytest.mark.parametrize(
    ("true", "wanted", "blocked", "left"),
    [
        pytest.param(0.0, 10e-3, 10e-3, 0.0, id="on the wall"),
        pytest.param(2e-3, 10e-3, 8e-3, 0.0, id="the wall yields"),
        pytest.param(-3e-3, 10e-3, 10e-3, 3e-3, id="before the wall"),
        pytest.param(2e-3, 0.0, 0.0, 2e-3, id="the way out is free"),
        pytest.param(2e-3, 1e-3, 0.0, 1e-3, id="deeper than the reference"),
        pytest.param(-5e-3, -1e-3, 0.0, 4e-3, id="in free space"),
    ],
)
def test_a_wall_blocks_the_way_into_it(wall, true, wanted, blocked, left):
    """No further out than the object has come, and never the way out."""
    run = recording_of(wall, (at(TOUCHING + true), at(TOUCHING + wanted)))
    assert blocked_error(run) == pytest.approx(
        np.array([[0.0, 0.0, 0.0, blocked, 0.0, 0.0]]), abs=1e-12
    )
    assert position_error(run) == pytest.approx([left], abs=1e-12)


def test_friction_blocks_nothing(wall):
    """An object that slips along the wall and turns on it is off by all of that."""
    slipped = at(TOUCHING, 0.01, LEVEL + 0.02, (0.7, 0.0, 0.0))  # about the wall's normal
    run = recording_of(wall, (slipped, at(TOUCHING + 0.01)))
    assert blocked_error(run) == pytest.approx(np.array([[0, 0, 0, 0.01, 0, 0]]), abs=1e-12)
    assert position_error(run) == pytest.approx([np.hypot(0.01, 0.02)])
    assert orientation_error(run) == pytest.approx([0.7])


def test_a_wall_before_a_point_blocks_no_rotation():
    """However far the pad is from the origin: a displacement alone clears it."""
    off = load_scenario("wall_slip", ["cell.surfaces.0.part.xyz=[0.06, 0.1, -0.2]"])
    run = recording_of(off, (at(TOUCHING), at(TOUCHING + 0.01)))
    blocked = blocked_error(run)[0]
    assert blocked[3:] == pytest.approx([0.01, 0.0, 0.0], abs=1e-6)
    assert np.abs(blocked[:3]).max() < 1e-6  # rad; in the metric of inertia 0.08


def test_true_surfaces_block():
    """A wall that is nearer than modelled blocks more, one that is farther less."""
    for error in (-0.004, 0.004):
        there = load_scenario(
            "wall_slip", [f"plant.surface_error={{wall: {{xyz: [0, 0, {-error}]}}}}"]
        )
        run = recording_of(there, (at(TOUCHING + error), at(TOUCHING + 0.01)))
        assert blocked_error(run)[0, 3] == pytest.approx(0.01 - error)


def test_hinges_block_both_ways():
    """Of the lid, whose hinge is off by 2 mm and 0.3 degrees: that much at 90 degrees.

    The object starts on the true hinge: the axis of the object is off by as much.
    """
    lid, start = load_scenario("lid"), np.array([0.86, 0.0, 0.95])
    turned = Rotation.from_rotvec([0.0, np.pi / 2.0, 0.0])
    # The hinge's x and z axes are those of the world and its y axis; it is turned about its own y.
    frame = Rotation.from_euler("xyz", [-np.pi / 2.0, 0.0, 0.0])
    place, axis = (
        start + np.array([0.002, 0.0, 0.0]),
        (frame * Rotation.from_rotvec([0, 0.005, 0])).apply([0.0, 0.0, 1.0]),
    )
    on_it = Rotation.from_rotvec(np.pi / 2.0 * axis)
    true = (place + on_it.apply(start - place), on_it.as_rotvec())
    run = recording_of(lid, (true, (start, turned.as_rotvec())))
    turn, shift = np.split(blocked_error(run)[0], 2)
    # Only rotations across the axis; the displacement is that of the origin, 2 mm from the axis.
    assert turn @ axis == pytest.approx(0.0, abs=1e-6)
    assert np.linalg.norm(turn) == pytest.approx(0.005 * np.sqrt(2.0), rel=1e-2)
    assert shift == pytest.approx(start - true[0], abs=3e-5)
    # What is left is a rotation about the axis, to second order of 0.007 rad.
    assert position_error(run)[0] < 3e-5
    assert orientation_error(run)[0] < 1e-4


@pytest.mark.parametrize(
    ("offset", "turned", "shift", "angle"),
    [
        pytest.param(1.9e-4, 0.0, 0.0, 0.0, id="in the play"),
        pytest.param(1e-3, 0.0, 8e-4, 0.0, id="beside the hole"),
        pytest.param(0.0, 0.019, 0.0, 0.0, id="tilted in the play"),
        pytest.param(0.0, 0.03, 0.0, 0.0094, id="tilted"),  # 30 mm cos a + 10 mm sin a = 30.2 mm
    ],
)
def test_a_hole_blocks_what_exceeds_its_play(offset, turned, shift, angle):
    """Of the peg: 0.2 mm to each side, and over the 20 mm that are guided 0.0206 rad."""
    peg = load_scenario("peg", ["plant.surface_error={}"])
    deep = np.array([0.62, 0.0, 0.92])  # its tip 3 cm in the hole, 0.15 m below the origin
    turn = Rotation.from_rotvec([0.0, turned, 0.0])
    middle = np.array([0.0, 0.0, -0.14])  # between the ends that are guided
    wanted = deep + middle - turn.apply(middle) + np.array([offset, 0.0, 0.0])
    run = recording_of(peg, ((deep, np.zeros(3)), (wanted, turn.as_rotvec())))
    blocked = blocked_error(run)[0]
    assert blocked[:3] == pytest.approx([0.0, angle, 0.0], abs=3e-4)
    if not turned:
        assert blocked[3:] == pytest.approx([shift, 0.0, 0.0], abs=1e-7)


def test_two_lines_block_rotations():
    """Of the drawer: the reference is turned by 1 degree, each line holds its point."""
    drawer = load_scenario("drawer", ["plant.surface_error={}"])
    start = np.array([0.62, 0.0, 0.95])
    run = recording_of(
        drawer,
        ((start, np.zeros(3)), (start, np.array([0.0, 0.0, np.radians(1.0)]))),
        ((start, np.zeros(3)), (start + np.array([0.0, 0.0, 0.003]), np.zeros(3))),
        ((start, np.zeros(3)), (start + np.array([0.1, 0.0, 0.0]), np.array([0.02, 0.0, 0.0]))),
    )
    blocked = blocked_error(run)
    assert blocked[0] == pytest.approx([0, 0, np.radians(1.0), 0, 0, 0], abs=1e-5)
    assert blocked[1] == pytest.approx([0, 0, 0, 0, 0, 0.003], abs=1e-9)
    assert blocked[2] == pytest.approx(np.zeros(6), abs=1e-9)  # along the rail, and about it
    assert position_error(run) == pytest.approx([0.0, 0.0, 0.1], abs=1e-5)


def test_without_surfaces_nothing_is_blocked(run):
    """Nor in recordings of free motion."""
    assert not blocked_error(run.recording).any()
