# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Loop joints in YAML, read and written back."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.loops import (
    closing_types,
    read_loops,
    rpy_of_rotation,
    write_loops,
)
from robot_dynamics.description.urdf_elements import rotation_of_rpy
from robot_dynamics.model import LoopElement, pose

GOOD = """loops:
- name: left
  type: fixed
  predecessor: {link: tool, xyz: [0, 0, 0.1], rpy: [0, 1.5, 0]}
  successor: {link: box}
"""


def read(tmp_path, text, links=("tool", "box")):
    """Return the loops of a text."""
    (tmp_path / "loops.yaml").write_text(text)
    return read_loops(tmp_path / "loops.yaml", links)


def test_a_good_file_is_read(tmp_path):
    """Links, type and poses arrive; what is left out is zero."""
    (loop,) = read(tmp_path, GOOD)
    assert (loop.name, loop.type, loop.predecessor, loop.successor) == (
        "left", "fixed", "tool", "box",
    )  # fmt: skip
    np.testing.assert_array_equal(
        loop.predecessor_pose, pose((0, 0, 0.1), rotation_of_rpy((0.0, 1.5, 0.0)))
    )
    np.testing.assert_array_equal(loop.successor_pose, np.eye(4))


def test_what_was_written_is_read_back(tmp_path, rng):
    """Random loops come back with their poses to rounding, also those pitched upright."""
    turns = [*Rotation.random(20, random_state=3).as_matrix()]
    turns += [rotation_of_rpy((0.3, sign * np.pi / 2, 0.4)) for sign in (1, -1)]
    loops = [
        LoopElement(f"y{i}", "fixed", "on", "off", pose(rng.normal(size=3), R), pose((1, 2, i)))
        for i, R in enumerate(turns)
    ]
    write_loops(loops, tmp_path / "out.yaml")
    again = read_loops(tmp_path / "out.yaml", ["on", "off"])
    assert len(again) == len(loops)
    for before, after in zip(loops, again, strict=True):
        assert (before.name, before.predecessor) == (after.name, after.predecessor)
        # Angles are good to a few roundings; near upright their sine is flat, hence the root.
        np.testing.assert_allclose(after.predecessor_pose, before.predecessor_pose, atol=3e-8)
        np.testing.assert_allclose(after.successor_pose, before.successor_pose, atol=1e-15)


def test_angles_are_found_again(rng):
    """Roll, pitch and yaw of a matrix are those it was made of, within half a turn."""
    for rpy in rng.uniform(-1.5, 1.5, size=(50, 3)):
        # A pitch of 1.5 rad leaves a cosine of 0.07 to find the other angles from.
        np.testing.assert_allclose(rpy_of_rotation(rotation_of_rpy(rpy)), rpy, atol=1e-14)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("type: fixed", "type: fixd", r"loops.yaml:2: loop joint 'left': unknown loop joint type"),
        ("type: fixed", "type: floating", "unknown loop joint type 'floating'"),
        ("link: tool", "link: tol", r"loops.yaml:4: .*unknown link 'tol'; did you mean 'tool'"),
        ("link: tool", "link: box", r"loops.yaml:2: .*both its ends are on link 'box'"),
        ("link: box", "lnk: box", r"loops.yaml:5: .*unknown key 'lnk'; did you mean 'link'"),
        ("[0, 0, 0.1]", "[0, 0]", r"loops.yaml:4: .*expected 3 values, found 2"),
        ("name: left", "name: 7", r"loops.yaml:2: .*put it in quotes"),
        ("loops:", "closed_loop:", r"loops.yaml:1: error: unknown key 'closed_loop'"),
    ],
)
def test_mistakes_are_located(tmp_path, old, new, message):
    """A typo in a key, a type or a link is answered with its line and what was meant."""
    with pytest.raises(DescriptionError, match=message):
        read(tmp_path, GOOD.replace(old, new))


def test_names_are_used_once(tmp_path):
    """A second loop of the same name is refused, and so are all other problems at once."""
    with pytest.raises(DescriptionError) as caught:
        read(tmp_path, GOOD + GOOD.replace("loops:\n", "").replace("link: tool", "link: none"))
    messages = [problem.message for problem in caught.value.problems]
    assert len(messages) == 2
    assert any("already taken" in message for message in messages)


def test_a_type_that_cannot_close_a_loop_is_not_offered():
    """Only types with constraints and a residual may be named."""
    assert "fixed" in closing_types()
    assert "floating" not in closing_types()
