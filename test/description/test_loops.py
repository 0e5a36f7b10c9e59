# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Loop joints in YAML, read and written back."""

import re
from pathlib import Path

import numpy as np
import pytest
from description.urdf_texts import ARM
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from robot_dynamics.description.diagnosis import DescriptionError, Diagnosis
from robot_dynamics.description.joint_names import parameter_names
from robot_dynamics.description.loops import (
    checked_loops,
    read_loops,
    write_loops,
)
from robot_dynamics.description.orientations import rotation_of_rpy
from robot_dynamics.description.urdf import read_urdf
from robot_dynamics.description.yaml_document import parse_yaml
from robot_dynamics.errors import ArgumentError
from robot_dynamics.model import (
    CouplingElement,
    Limits,
    LinkElement,
    LoopElement,
    Mechanism,
    joint_type,
    pose,
)
from robot_dynamics.model.joints import loop_joint_names

GOOD = """loops:
- name: left
  type: fixed
  predecessor: {link: tool, xyz: [0, 0, 0.1], rpy: [0, 1.5, 0]}
  successor: {link: box}
"""


def read(tmp_path, text, links=("tool", "box")):
    """Return the loops of a text."""
    (tmp_path / "loops.yaml").write_text(text)
    there = Mechanism("there", tuple(LinkElement(link) for link in links))
    return read_loops(tmp_path / "loops.yaml", there).loops


def test_a_good_file_is_read(tmp_path):
    """Links, type and poses arrive; omitted poses are zero."""
    (loop,) = read(tmp_path, GOOD)
    assert (loop.name, loop.type, loop.predecessor, loop.successor) == (
        "left", "fixed", "tool", "box",
    )  # fmt: skip
    np.testing.assert_array_equal(
        loop.predecessor_pose, pose((0, 0, 0.1), rotation_of_rpy((0.0, 1.5, 0.0)))
    )
    np.testing.assert_array_equal(loop.successor_pose, np.eye(4))


def test_written_loops_are_read_back_to_rounding(tmp_path, rng):
    """Random loops come back with their poses to rounding, also those pitched upright."""
    turns = [*Rotation.random(20, random_state=3).as_matrix()]
    turns += [rotation_of_rpy((0.3, sign * np.pi / 2, 0.4)) for sign in (1, -1)]
    loops = [
        LoopElement(f"y{i}", "fixed", "on", "off", pose(rng.normal(size=3), R), pose((1, 2, i)))
        for i, R in enumerate(turns)
    ]
    write_loops(tmp_path / "out.yaml", loops)
    again = read_loops(tmp_path / "out.yaml").loops
    assert len(again) == len(loops)
    for before, after in zip(loops, again, strict=True):
        assert (before.name, before.predecessor) == (after.name, after.predecessor)
        # A few roundings of numbers of order one; upright they are written as quaternions.
        np.testing.assert_allclose(after.predecessor_pose, before.predecessor_pose, atol=3e-15)
        np.testing.assert_allclose(after.successor_pose, before.successor_pose, atol=1e-15)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("type: fixed", "type: fixd", r"loops\.yaml:2.*'left'.*'fixd'"),
        ("type: fixed", "type: floating", "'floating'"),
        ("link: tool", "link: tol", r"loops\.yaml:4.*'tol'.*'tool'"),
        ("link: tool", "link: box", r"loops\.yaml:2.*'box'"),
        ("link: box", "lnk: box", r"loops\.yaml:5.*'lnk'.*'link'"),
        ("[0, 0, 0.1]", "[0, 0]", r"loops\.yaml:4.*\b3\b.*\b2\b"),
        ("name: left", "name: 7", r"loops\.yaml:2.*\b0\b"),
        ("loops:", "lops:", r"loops\.yaml:1.*'lops'.*'loops'"),
        ("{link: box}", "{link: box, quat_xyzw: [0, 0, 0, 2]}", r"yaml:5.*length"),
        ("rpy:", "quat_xyzw: [0, 0, 0, 1], rpy:", r"yaml:4.*\brpy\b.*quat_xyzw"),
        ("type: fixed", "type: helical", r"loops.yaml:2: .*helical.*pitch"),
        ("link: tool", "link: box", "'box'"),
    ],
)
def test_mistakes_are_located(tmp_path, old, new, message):
    """A typo in a key, a type or a link is answered with its line and the nearest name."""
    with pytest.raises(DescriptionError, match=message):
        read(tmp_path, GOOD.replace(old, new))


def test_degrees_and_idle_gears_are_doubted():
    """The line of the end, or of the gear, and the nearest name."""
    diagnosis = Diagnosis()
    text = (
        GOOD.replace("1.5, 0", "90, 0") + "couplings:\n- {name: g, joint: a, driver: b, ratio: 0}"
    )
    checked_loops(parse_yaml(text), diagnosis=diagnosis)
    degrees, idle = diagnosis.problems
    assert (degrees.severity, degrees.place) == ("warning", "<text>:4")
    assert "rpy in link 'tool': an angle is 90 rad" in degrees.message
    assert "were degrees meant?" in degrees.hint
    assert (idle.severity, idle.place) == ("warning", "<text>:7")
    assert "the ratio is 0, so that joint 'a' is held at 0" in idle.message


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("type: helical", r"'helical'.*'pitch'"),
        ("type: helical\n  parameters: {pitch: x}", "'x'|expected a number in m/rad"),
        ("type: helical\n  parameters: {pitch: .nan}", "pitch: expected a finite number"),
        ("type: helical\n  parameters: {pich: 1}", r"'pich'.*'pitch'"),
        ("type: helical\n  parameters: 0.1", "expected a mapping"),
        ("type: revolute\n  parameters: {pitch: 1}", r"'revolute'.*'pitch'"),
        ("type: rack_and_pinion", "'radius'"),
        ("type: reversed helical", r"'reversed helical'.*'pitch'"),
    ],
)
def test_parameters_of_joint_types_are_checked(tmp_path, entry, message):
    """Missing, misspelt, of the wrong kind or of another type: one line, name and unit."""
    with pytest.raises(DescriptionError, match=message) as caught:
        read(tmp_path, GOOD.replace("type: fixed", entry))
    assert "loops.yaml:" in str(caught.value)
    assert "argument" not in str(caught.value)


GEARS = """couplings:
- {name: grip, joint: y, driver: finger, ratio: -1.0, offset: 0.01}
- {name: wrist, terms: {left: 1, right: 1.0, tilt: -40}}
actuated: [finger, left, right]
"""
JOINTS = ("y", "finger", "left", "right", "tilt")


def test_gears_and_drives_are_read():
    """A ratio or any linear relation; a joint may be called y."""
    loops, couplings, actuated = checked_loops(parse_yaml(GEARS), None, JOINTS)
    assert loops == ()
    assert couplings[0] == CouplingElement.gear("grip", "y", "finger", -1.0, 0.01)
    assert couplings[1].terms == (("left", 1.0), ("right", 1.0), ("tilt", -40.0))
    assert actuated == ("finger", "left", "right")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("joint: y, ", "", r":2.*driver"),
        ("joint: y", "joint: z", r":2.*'z'"),
        ("joint: y", "joint: finger", ":2: .*drives itself"),
        ("terms: {left: 1, right: 1.0, tilt: -40}", "offset: 1", r":3.*driver"),
        ("tilt: -40", "tlt: -40", r":3.*'tilt'"),
        ("tilt: -40", "tilt: .nan", ":3: .*finite"),
        ("name: wrist", "name: grip", r":3.*<text>.*\b2\b"),
        ("actuated: [finger", "actuated: [finge", r":4.*actuated.*'finge'"),
    ],
)
def test_mistakes_in_gears_are_located(old, new, message):
    """Relations between nothing, or of unknown joints, name their line."""
    with pytest.raises(DescriptionError, match=message):
        checked_loops(parse_yaml(GEARS.replace(old, new)), None, JOINTS)


def test_everything_is_written_back(tmp_path):
    """Gears, drives, parameters of joint types and contacts that only push come back exactly."""
    loops = (
        LoopElement("screw", "helical", "on", "off", parameters={"pitch": 0.001}),
        LoopElement("touch", "point_on_plane", "on", "off", unilateral=True),
    )
    couplings = (CouplingElement("wrist", (("a", 1.0), ("b", 0.1)), 1 / 3),)
    write_loops(tmp_path / "out.yaml", loops, couplings, ["a"])
    again, gears, actuated = read_loops(tmp_path / "out.yaml")
    assert gears == couplings
    assert actuated == ("a",)
    assert [loop.parameters for loop in again] == [{"pitch": 0.001}, {}]
    assert [loop.unilateral for loop in again] == [False, True]


numbers = st.floats(-1e3, 1e3)
words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
parameters = {"pitch": 0.1, "radius": 1 / 3}


@st.composite
def documents(draw):
    """Return random loops of every type, gears of every kind and drives, with any names."""
    names = draw(st.lists(words, min_size=8, max_size=8, unique=True))
    links, joints = names[:3], names[3:6]
    loops = []
    for kind in draw(st.lists(st.sampled_from(loop_joint_names()), min_size=1, max_size=4)):
        kind = draw(st.sampled_from(["", "reversed "])) + kind
        ends = draw(st.permutations(links))
        poses = [
            pose(
                draw(st.tuples(numbers, numbers, numbers)),
                Rotation.random(random_state=draw(st.integers(0, 2**20))).as_matrix(),
            )
            for _ in range(2)
        ]
        own = {name: parameters[name] * draw(numbers) or 1.0 for name in parameter_names(kind)}
        loops.append(
            LoopElement(
                f"{names[6]} {len(loops)}",
                kind,
                ends[0],
                ends[1],
                *poses,
                own,
                draw(st.booleans()),
            )
        )
    terms = tuple((joint, draw(numbers)) for joint in joints)
    gears = (
        CouplingElement(f"{names[7]} gear", terms, draw(numbers)),
        CouplingElement.gear(f"{names[7]} second", joints[0], joints[1], draw(numbers)),
    )
    return loops, gears, draw(st.none() | st.just(tuple(joints[:2])))


@pytest.mark.parametrize(
    "name", ["a\x85b", "\u2028", "\ufeffx", "\x7f", "gr\u00fcn", " a ", "a: b", "no"]
)
def test_names_of_any_characters_come_back(tmp_path, name):
    """Also those with characters that YAML takes for the ends of lines."""
    gear = CouplingElement.gear("g", name, "b")
    write_loops(tmp_path / "l.yaml", (), [gear])
    assert read_loops(tmp_path / "l.yaml").couplings == (gear,)
    assert ("gr\u00fcn" in (tmp_path / "l.yaml").read_text("utf-8")) == (name == "gr\u00fcn")


def test_any_loops_gears_and_drives_come_back(tmp_path_factory):
    """Every type, its polarity and parameters, names of any characters; poses to rounding."""
    path = tmp_path_factory.mktemp("loops") / "loops.yaml"

    @settings(max_examples=50, deadline=None, derandomize=True)
    @given(documents())
    def check(document):
        loops, gears, actuated = document
        write_loops(path, *document)
        again, gears_again, actuated_again = read_loops(path)
        assert (gears_again, actuated_again) == (gears, actuated)
        assert len(again) == len(loops)
        for before, after in zip(loops, again, strict=True):
            for name in ("name", "type", "predecessor", "successor", "parameters", "unilateral"):
                assert getattr(after, name) == getattr(before, name)
            for name in ("predecessor_pose", "successor_pose"):
                one, other = getattr(before, name), getattr(after, name)
                assert np.array_equal(one[:3, 3], other[:3, 3])
                # Angles and quaternions, there and back: some roundings of numbers of order one.
                np.testing.assert_allclose(one[:3, :3], other[:3, :3], atol=3e-15)

    check()


def test_names_are_checked_against_a_mechanism_or_a_description(tmp_path):
    """Links and joints that it lacks are named with their lines; other objects are refused."""
    path, arm = tmp_path / "l.yaml", read_urdf(ARM)
    write_loops(path, (), [CouplingElement.gear("g", "shoulder", "elbow")], ["elbow"])
    assert read_loops(path, arm) == read_loops(path, arm.mechanism) == read_loops(path)
    assert read_loops(path).actuated == ("elbow",)
    path.write_text(path.read_text().replace("elbow", "elbw"))
    with pytest.raises(DescriptionError, match="'elbow'") as caught:
        read_loops(path, arm)
    assert len(caught.value.problems) == 2
    with pytest.raises(ArgumentError, match="`of` is a list, expected a mechanism or a desc"):
        read_loops(path, ["elbow"])


def test_names_are_used_once(tmp_path):
    """A second loop of the same name is refused, and so are all other problems at once."""
    with pytest.raises(DescriptionError) as caught:
        read(tmp_path, GOOD + GOOD.replace("loops:\n", "").replace("link: tool", "link: none"))
    messages = [problem.message for problem in caught.value.problems]
    assert len(messages) == 2
    assert any("already taken" in message for message in messages)


def test_a_type_that_cannot_close_a_loop_is_not_offered():
    """Only types with constraints and a residual may be named."""
    assert "fixed" in loop_joint_names()
    assert "floating" not in loop_joint_names()


SPRUNG = """loops:
- name: mount
  type: floating
  predecessor: {link: tool}
  successor: {link: box}
  stiffness: [1, 2, 3, 400, 500, 600.5]
  rest: [0, 0, 0, 0, 0, -0.01]
  damping: 0.5
- {name: hinge, type: revolute, predecessor: {link: tool}, successor: {link: box}, active: true,
   friction: 0.1, limits: {lower: -1, effort: 20}}
"""


def test_springs_dampers_and_drives_are_read(tmp_path):
    """One value stands for all freedoms, a list has one for each; limits left out are infinite."""
    mount, hinge = read(tmp_path, SPRUNG)
    assert mount.stiffness == (1, 2, 3, 400, 500, 600.5)
    assert (mount.rest[5], mount.damping, mount.active) == (-0.01, 0.5, False)
    assert (hinge.active, hinge.friction, hinge.stiffness) == (True, 0.1, 0.0)
    assert hinge.limits == Limits(lower=-1.0, effort=20.0)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  stiffness: [1, 2, 3, 400, 500, 600.5]\n", "  stiffness: [1, 2]\n", "stiffness has 2"),
        ("damping: 0.5", "damping: -0.5", "damping"),
        ("type: revolute", "type: fixed", "active is given, expected none"),
        ("effort: 20", "efort: 20", "efort"),
    ],
)
def test_mistakes_in_springs_are_located(tmp_path, old, new, message):
    """Wrong counts, signs and types name the loop joint and its line."""
    assert old in SPRUNG
    with pytest.raises(DescriptionError, match=f"loops.yaml:[0-9]+: .*{message}"):
        read(tmp_path, SPRUNG.replace(old, new))


def test_a_floating_loop_joint_needs_a_force(tmp_path):
    """Without spring, damper and drive it says nothing, which is a mistake."""
    text = GOOD.replace("fixed", "floating")
    with pytest.raises(DescriptionError, match="'floating'"):
        read(tmp_path, text)
    (loop,) = read(tmp_path, text + "  damping: 1.0\n")
    assert loop.type == "floating"


def test_anything_about_freedoms_is_written_back(tmp_path_factory):
    """Random springs, dampers, drives and limits of every type come back to the last bit."""
    path = tmp_path_factory.mktemp("loops") / "out.yaml"
    numbers = st.floats(allow_nan=False, allow_infinity=False)
    positive = st.floats(min_value=0.0, allow_infinity=False)

    @settings(max_examples=60, deadline=None, derandomize=True)
    @given(st.data(), st.sampled_from([*loop_joint_names(), "floating", "reversed planar"]))
    def check(data, kind):
        parameters = {"helical": {"pitch": 0.1}, "rack_and_pinion": {"radius": 1 / 3}}
        own = parameters.get(kind, {})
        nv = joint_type(kind, **own).nv
        limits = st.builds(Limits, numbers, numbers, positive)
        stiffness = numbers.filter(bool) if kind == "floating" else numbers
        each = {"damping": positive, "friction": positive, "rest": numbers, "limits": limits}
        each |= {"stiffness": stiffness, "active": st.booleans()} if nv else {}
        del each["damping" if nv == 0 else "friction"]
        values = {k: data.draw(v | st.tuples(*[v] * nv)) for k, v in each.items()}
        loop = LoopElement("l", kind, "on", "off", parameters=own, **values)
        write_loops(path, [loop])
        assert read_loops(path).loops == (loop,)

    check()


def test_the_example_of_the_documentation():
    """The file that docs/urdf.md shows is read, springs and drives included."""
    document = Path(__file__).parents[2] / "docs" / "urdf.md"
    blocks = re.findall(r"```yaml\n(.*?)```", document.read_text(encoding="utf-8"), re.S)
    block = next(text for text in blocks if text.startswith("loops:"))
    loops, couplings, actuated = checked_loops(parse_yaml(block))
    assert [loop.name for loop in loops if loop.stiffness] == ["mount", "knee"]
    assert (len(couplings), actuated) == (2, ("shoulder", "elbow"))
