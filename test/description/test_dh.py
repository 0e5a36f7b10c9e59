# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of Denavit and Hartenberg in both conventions."""

import math

import numpy as np
import pytest
from model.mechanisms import link_pose

from robot_dynamics.description.dh import DHRow, dh_mechanism
from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.load import load_description
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import build

#: The PUMA 560 by Corke, standard convention.
TABLE = """dh: standard
name: puma
rows:
- {name: j1, alpha: 1.5707963267948966, mass: 1.0, inertia: [0.01, 0.35, 0.01, 0, 0, 0]}
- {name: j2, a: 0.4318, mass: 17.4, center: [-0.3638, 0.006, 0.2275],
   inertia: [0.13, 0.524, 0.539, 0, 0, 0], lower: -1, upper: 2, velocity: 3, effort: 4}
- {name: j3, type: prismatic, d: 0.15, theta: 0.3, mass: 4.8, center: [-0.02, -0.0141, 0.07],
   inertia: [0.066, 0.086, 0.0125, 0, 0, 0], damping: 0.1, friction: 0.2, armature: 0.3}
"""


def turn_x(angle, distance):
    """Return a screw about and along x."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[1, 0, 0, distance], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1]])


def turn_z(angle, distance):
    """Return a screw about and along z."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, distance], [0, 0, 0, 1]])


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_frames_are_the_products_of_the_book(rng, convention):
    """Frame i of random tables is the product of screws, joints at random positions."""
    for _ in range(10):
        kinds = rng.choice(["revolute", "prismatic"], 5)
        numbers = rng.normal(size=(5, 4))
        rows = [
            DHRow(f"j{i}", kind, *map(float, row), mass=1.0)
            for i, (kind, row) in enumerate(zip(kinds, numbers, strict=True))
        ]
        model = build(dh_mechanism(rows, convention=convention))
        q = rng.normal(size=5)
        expected = np.eye(4)
        for kind, (theta, d, a, alpha), position in zip(kinds, numbers, q, strict=True):
            z = turn_z(theta + position, d) if kind == "revolute" else turn_z(theta, d + position)
            x = turn_x(alpha, a)
            expected = expected @ (z @ x if convention == "standard" else x @ z)
        # Twenty products of matrices of order one, grown by translations to order ten.
        np.testing.assert_allclose(link_pose(model, "j4_link", q), expected, atol=1e-13)


def test_a_file_gives_everything(tmp_path):
    """Limits, friction, rotors and inertia of the YAML form arrive."""
    (tmp_path / "puma.yaml").write_text(TABLE)
    description = load_description(tmp_path / "puma.yaml")
    assert description.mechanism.name == "puma"
    by_name = {joint.name: joint for joint in description.mechanism.joints}
    assert by_name["j2"].limits.upper == 2.0
    assert (by_name["j3"].type, by_name["j3"].damping) == ("prismatic", 0.1)
    assert (by_name["j3"].friction, by_name["j3"].armature) == (0.2, 0.3)
    links = {link.name: link for link in description.mechanism.links}
    assert links["j2_link"].center == (-0.3638, 0.006, 0.2275)
    assert build(description.mechanism).nv == 3
    locked = load_description(tmp_path / "puma.yaml", locked={"j3": 0.1})
    assert build(locked.mechanism).nv == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("dh: standard", "dh: craig", r"puma.yaml:1: .*'craig'"),
        ("name: j2,", "name: j1,", "'j1'"),
        ("a: 0.4318", "a: .nan", r"puma.yaml:5: .*finite"),
        ("prismatic", "prism", r"puma\.yaml:7.*'prismatic'"),
        ("mass: 17.4", "mass: -1", r"mass.*-1"),
        ("lower: -1", "lower: 5", r"lower.*\b5\b"),
        ("[0.13, 0.524, 0.539, 0, 0, 0]", "[0.13, 0.5]", r"rows\[1\]\.inertia.*\b6\b.*\b2\b"),
        (TABLE[TABLE.index("rows") :], "rows: []\n", r"puma\.yaml:3: rows"),
    ],
)
def test_mistakes_are_located(tmp_path, old, new, message):
    """Each names the file and the line, or the row."""
    (tmp_path / "puma.yaml").write_text(TABLE.replace(old, new, 1))
    with pytest.raises(DescriptionError, match=message):
        load_description(tmp_path / "puma.yaml")


def test_degrees_are_suspected(tmp_path):
    """An alpha of 90 is a warning, which a strict reading refuses."""
    (tmp_path / "puma.yaml").write_text(TABLE.replace("1.5707963267948966", "90"))
    description = load_description(tmp_path / "puma.yaml")
    assert any("were degrees meant?" in p.hint for p in description.diagnosis.warnings)
    with pytest.raises(DescriptionError, match="degrees"):
        load_description(tmp_path / "puma.yaml", strict=True)


def test_the_convention_must_be_stated():
    """A table of one convention read as the other is another robot."""
    with pytest.raises(TypeError):
        dh_mechanism([DHRow("j")])
    with pytest.raises(RobotDynamicsError, match=r"'standard'.*'modified'"):
        dh_mechanism([DHRow("j")], convention="classic")


def test_a_table_without_mass_is_one_of_kinematics(tmp_path):
    """It is read with warnings, moves its frames, and its dynamics are refused in a sentence."""
    import robot_dynamics as rd

    (tmp_path / "dh.yaml").write_text("dh: standard\nrows: [{name: s, d: 0.3}]\n")
    massless, motionless = load_description(tmp_path / "dh.yaml").diagnosis.warnings
    assert "has no mass" in massless.message
    assert "kinematics need none" in motionless.hint
    robot = rd.load(tmp_path / "dh.yaml")
    with pytest.raises(RobotDynamicsError, match=r"'s'.*inertia"):
        robot.forward_dynamics(np.zeros(1), np.zeros(1), np.zeros(1))
