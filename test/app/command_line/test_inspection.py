# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The report on a description."""

import json
import re

import numpy as np
import pytest

from robot_dynamics.app.command_line.inspection import equation, inspect_description, inspect_file
from robot_dynamics.description.description import Description
from robot_dynamics.description.load import load_description
from robot_dynamics.description.model_file import write_model
from robot_dynamics.description.world import Part, place
from robot_dynamics.model import (
    CouplingElement,
    JointElement,
    LinkElement,
    LoopElement,
    Mechanism,
    pose,
)
from robot_dynamics.resources import share_directory

ARM = """<robot name="arm">
  <link name="base"/>
  <link name="tip"><inertial><mass value="2"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="turn" type="revolute"><parent link="base"/><child link="tip"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="2" effort="30" velocity="4"/></joint>
</robot>
"""


@pytest.fixture
def arm(tmp_path):
    """Return the file of an arm with one joint."""
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    return path


def test_tree(arm):
    """The tree names links with their masses and joints with their limits."""
    lines = list(inspect_file(arm).lines())
    assert lines[0].endswith("'arm', 2 links, 1 movable joint, 2 kg")
    assert lines[1] == "  base  [no mass]"
    assert (
        lines[2] == "    tip  [2 kg]  <- turn (revolute) -1 to 2 rad, at most 30 N m and 4 rad/s"
    )
    assert lines[3:5] == [
        "  ends of the tree in base, every joint at zero:",
        "    tip: at 0 0 0 m; x along +x, y along +y, z along +z",
    ]
    assert lines[5] == "  q: turn"


def test_axes_of_the_ends(tmp_path):
    """A tool half a metre up, turned by 90 degrees about y: its z axis is along x."""
    tool = (
        '<link name="tool"/><joint name="mount" type="fixed"><parent link="tip"/>'
        '<child link="tool"/><origin xyz="0 -0.25 0.5" rpy="0 1.57079632679 0"/></joint></robot>'
    )
    path = tmp_path / "arm.urdf"
    path.write_text(ARM.replace("</robot>", tool))
    found = inspect_file(path)
    assert "    tool: at 0 -0.25 0.5 m; x along -z, y along +y, z along +x" in found.lines()
    path.write_text(ARM.replace("</robot>", tool.replace("-0.25", "0.03")))
    (line,) = (line for line in inspect_file(path).lines() if line.startswith("    tool: "))
    assert line.endswith("z along +x; its -x points away from turn")
    (end,) = found.as_json()["ends"]
    assert end["name"] == "tool"
    np.testing.assert_allclose(np.array(end["pose_at_zero"])[:3, 2], [1, 0, 0], atol=1e-9)
    path.write_text(ARM.replace("</robot>", tool.replace("1.57079632679", "0.6")))
    assert any("z along (0.565, 0, 0.825)" in line for line in inspect_file(path).lines())


def test_json(arm):
    """Everything is there as JSON too."""
    found = json.loads(json.dumps(inspect_file(arm).as_json(), allow_nan=False))
    assert found["ok"] is True
    assert found["total_mass_kg"] == 2.0
    assert found["joints"][0]["effort"] == 30.0
    assert found["bodies"] == [
        {"name": "tip", "parent": None, "joint": "turn", "freedoms": 1, "mass_kg": 2.0}
    ]
    counts = {key: found[key] for key in ("n", "constraints", "rank", "mobility")}
    assert counts == {"n": 1, "constraints": 0, "rank": 0, "mobility": 1}
    assert (found["loops"], found["redundant_constraints"]) == ([], [])


def test_position_limits_of_every_joint(four_bar):
    """Loop joints and joints of several freedoms have theirs; untold ranges are warned of."""
    found = four_bar("cylindrical", limits="[{lower: -2, upper: 3}, {upper: 0.25}]")
    lines = list(found.lines())
    assert "  loop pin (cylindrical) rz -2 to 3 rad, z -inf to 0.25 m: base to rocker" in lines
    assert found.warnings == ()
    (loop,) = json.loads(json.dumps(found.as_json(), allow_nan=False))["loops"]
    assert (loop["lower"], loop["upper"]) == ([-2.0, None], [3.0, 0.25])
    found = four_bar("revolute", limits="{lower: -4, upper: 4}")
    assert any("revolute) -4 to 4 rad: base" in line for line in found.lines())
    (warning,) = found.warnings
    assert "limits of 'pin' are -4 to 4 rad" in warning
    # The rocker would have to point away from the crank.
    (error,) = four_bar("revolute", limits="{lower: 3.0, upper: 3.2}").errors
    assert "'pin' cannot be closed" in error


def test_a_refused_file(arm):
    """A file that is refused has all its problems, each with its line, and no tree."""
    arm.write_text(ARM.replace('mass value="2"', 'mass value="-2"').replace("0 0 1", "0 0 0"))
    inspection = inspect_file(arm)
    assert list(inspection.lines()) == []
    found = inspection.as_json()
    assert (found["ok"], found["bodies"], found["n"], found["mobility"]) == (False, [], None, None)
    places = {error.split(": ")[0] for error in inspection.errors}
    assert places == {"arm.urdf:3", "arm.urdf:6"}


FOUR_BAR = """<robot name="four_bar"><link name="base"/>{}</robot>"""
BAR = """
  <link name="{0}"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="{0}_joint" type="continuous"><parent link="{1}"/><child link="{0}"/>
    <origin xyz="{2} 0 0"/><axis xyz="0 0 1"/><limit effort="10" velocity="5"/></joint>"""
LOOPS = """
loops:
- name: pin
  type: {}
  predecessor: {{link: base, xyz: [0.9, {}, {}]}}
  successor: {{link: rocker, xyz: [0.6, 0, 0]}}
"""


@pytest.fixture
def four_bar(tmp_path):
    """Return a function that writes a four-bar and its loop, and inspects them."""

    def inspected(closure="revolute", y=0.0, z=0.0, limits="", **options):
        bars = [("crank", "base", 0.0), ("coupler", "crank", 0.3), ("rocker", "coupler", 0.8)]
        urdf, loops = tmp_path / "four_bar.urdf", tmp_path / "loops.yaml"
        urdf.write_text(FOUR_BAR.format("".join(BAR.format(*bar) for bar in bars)))
        stated = f"  limits: {limits}\n" if limits else ""
        loops.write_text(LOOPS.format(closure, y, z) + stated)
        return inspect_file(urdf, loops, **options)

    return inspected


def test_loops(four_bar):
    """A loop is shown, and how the mechanism can move, redundant constraints by name."""
    inspection = four_bar()
    assert inspection.ok
    found = json.loads(json.dumps(inspection.as_json(), allow_nan=False))
    keys = ("n", "constraints", "rank", "mobility", "redundant_constraints", "total_mass_kg")
    assert [found[key] for key in keys] == [3, 5, 2, 1, ["pin.rx", "pin.ry", "pin.z"], 3.0]
    none = dict.fromkeys(("lower", "upper", "velocity", "effort"))
    ends = ["base", "rocker"]
    assert found["loops"] == [{"name": "pin", "type": "revolute", "links": ends, **none}]
    lines = list(inspection.lines())
    assert "  loop pin (revolute): base to rocker" in lines
    assert any("mobility 1 = 3 coordinates - 2 independent of 5" in line for line in lines)


def test_couplings(arm):
    """Mimic joints are constraints, which are shown and take a motion away each."""
    follower = """<link name="tip2"><inertial><mass value="1"/>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="turn2" type="continuous"><parent link="tip"/><child link="tip2"/>
      <axis xyz="0 0 1"/><limit effort="1" velocity="1"/><mimic joint="turn" multiplier="2"/>
      </joint></robot>"""
    arm.write_text(ARM.replace("</robot>", follower))
    inspection = inspect_file(arm)
    found = inspection.as_json()
    assert [found[key] for key in ("n", "constraints", "rank", "mobility")] == [2, 1, 1, 1]
    assert found["couplings"][0]["terms"] == {"turn2": 1.0, "turn": -2.0}
    assert any("coupling turn2: turn2 - 2 turn = 0" in line for line in inspection.lines())


def test_loops_that_cannot_close(four_bar):
    """A loop out of reach is an error with the gap; the tree is shown all the same."""
    inspection = four_bar(y=3.0)
    assert not inspection.ok
    assert len(inspection.errors) == 1
    assert re.search(
        r"loops\.yaml:3: loop 'pin' cannot be closed, it stays open by \d\.\d+ m",
        inspection.errors[0],
    )
    assert list(inspection.lines())
    found = inspection.as_json()
    assert (found["ok"], found["n"], found["constraints"]) == (False, 3, 5)
    assert (found["rank"], found["mobility"]) == (None, None)


def test_loops_far_out_of_reach_are_in_metres(four_bar):
    """Distances have the unit in which they have few digits, be they of a wrong unit."""
    (error,) = four_bar(y=3000.0).errors
    assert re.search(r"open by 2\d\d\d m ", error)
    (error,) = four_bar(y=1.5).errors
    assert re.search(r"open by \d\d\.\d mm", error)


def test_loops_of_the_urdf_have_their_line(four_bar, tmp_path):
    """Also those inside the URDF."""
    four_bar()
    urdf = tmp_path / "four_bar.urdf"
    text = urdf.read_text()
    loop = """
<loop_joint name="pin" type="spherical">
<link1 link="base" xyz="9 0 0"/><link2 link="rocker"/></loop_joint></robot>"""
    urdf.write_text(text.replace("</robot>", loop))
    (error,) = inspect_file(urdf).errors
    assert error.startswith(
        f"four_bar.urdf:{text.count(chr(10)) + 2}: loop 'pin' cannot be closed"
    )


@pytest.mark.parametrize(
    ("terms", "offset", "words"),
    [
        ((("a", 1.0), ("b", -2.0)), 0.0, "a - 2 b = 0"),
        ((("a", -1.0), ("b", 1.0)), -0.5, "-a + b = -0.5"),
        ((("a", 1.0), ("b", -0.0)), -0.0, "a = 0"),
        ((("a", 2.5), ("b", 1.0), ("c", -40.0)), 1.0, "2.5 a + b - 40 c = 1"),
    ],
)
def test_equations(terms, offset, words):
    """Gears read as one would write them, without ones, zeros and double signs."""
    assert equation(CouplingElement("g", terms, offset)) == words


def test_loops_of_rounded_numbers(four_bar):
    """A loop that stays open by a hundredth of a millimetre is a warning, and has its mobility."""
    inspection = four_bar(z=1e-5)
    assert inspection.ok
    assert "close only to 0.01 mm" in inspection.warnings[-1]
    assert inspection.mobility.mobility == 1
    assert not four_bar(z=1e-5, strict=True).ok


def test_loops_that_leave_no_motion(four_bar):
    """A structure is no error, but deserves a look."""
    inspection = four_bar("fixed", y=0.5)
    assert inspection.ok
    assert inspection.mobility.mobility == 0
    assert "leave no motion" in inspection.warnings[-1]


def test_strict(arm):
    """A file with a warning is refused only if that was asked for."""
    arm.write_text(ARM.replace(' effort="30"', ""))
    lenient, strict = inspect_file(arm), inspect_file(arm, strict=True)
    assert lenient.description is not None
    assert lenient.warnings
    assert strict.description is None
    assert strict.warnings == lenient.warnings


def test_shipped_descriptions():
    """The shipped robot and its box are clean even when warnings count."""
    for name in ("dual_arm.urdf", "box.urdf"):
        inspection = inspect_file(share_directory() / "urdf" / name, strict=True)
        assert (inspection.errors, inspection.warnings) == ((), ())


def test_joints_that_close_loops(tmp_path):
    """A model file whose joints form no tree is shown, each link once, and can move."""
    links = tuple(LinkElement(name, 1.0, inertia=np.eye(3)) for name in ("base", "a", "b", "c"))
    pins = [("base", "a"), ("a", "b"), ("b", "c"), ("c", "a")]
    joints = tuple(JointElement(f"{p}_{c}", "spherical", p, c) for p, c in pins)
    write_model(tmp_path / "ring.yaml", Description(Mechanism("ring", links, joints)))
    inspection = inspect_file(tmp_path / "ring.yaml")
    assert inspection.ok, inspection.errors
    lines = [line.split()[0] for line in inspection.lines() if "<-" in line]
    assert lines == ["a", "b", "c", "a"]
    assert inspection.as_json()["constraints"] == 3


def test_a_world_is_inspected_as_a_file_is(arm):
    """Placed parts are shown with their prefixes; their loops are closed or refused."""
    described = load_description(arm)
    cell = place([Part(described, "a_"), Part(described, "b_", xyz=(0.0, 1.0, 0.0))], "cell")
    inspection = inspect_description(cell)
    assert inspection.ok
    assert next(inspection.lines()).startswith(f"{arm}: 'cell', ")
    assert any("b_turn (revolute)" in line for line in inspection.lines())
    far = pose((0.0, 90.0, 0.0))
    tied = cell.with_loops([LoopElement("tie", "spherical", "a_tip", "b_tip", far)])
    (error,) = inspect_description(tied).errors
    assert "loop 'tie' cannot be closed" in error
