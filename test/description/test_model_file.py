# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whole models in one file: nothing is lost, and mistakes have their lines."""

import dataclasses

import numpy as np
import pytest
from description.urdf_texts import ARM
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from support.mechanisms import random_tree

from robot_dynamics.description.description import Description, Shape, Transmission
from robot_dynamics.description.diagnosis import DescriptionError, Diagnosis, Problem
from robot_dynamics.description.load import load_description
from robot_dynamics.description.model_file import SavedModel, read_model, write_model
from robot_dynamics.description.urdf import read_urdf
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.model import (
    CouplingElement,
    JointElement,
    Limits,
    LinkElement,
    LoopElement,
    Mechanism,
    SafetyController,
    pose,
)
from robot_dynamics.model.joints import joint_type, loop_joint_names, tree_joint_names

numbers = st.floats(allow_nan=False, allow_infinity=False)
# No surrogates: they cannot be written as UTF-8 whatever the format.
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
parameters = {"helical": {"pitch": 0.1}, "rack_and_pinion": {"radius": 1 / 3}}


@st.composite
def poses(draw):
    """Return a pose that is a rotation to rounding, with any translation."""
    turn = Rotation.random(random_state=draw(st.integers(0, 2**20))).as_matrix()
    return pose(draw(st.tuples(numbers, numbers, numbers)), turn)


@st.composite
def limits(draw):
    """Return limits, some of them left open."""
    values = draw(st.lists(st.none() | numbers, min_size=7, max_size=7))
    fields = [f.name for f in dataclasses.fields(Limits)]
    return Limits(**{k: v for k, v in zip(fields, values, strict=True) if v is not None})


@st.composite
def of_freedoms(draw, kind):
    """Return a loop joint's statements about its freedoms, of all or of each."""
    nv = joint_type(kind, **parameters.get(kind, {})).nv
    if nv == 0:
        return {"friction": draw(numbers), "rest": draw(numbers), "limits": draw(limits())}

    def some(values):
        return draw(values | st.tuples(*[values] * nv))

    found = {name: some(numbers) for name in ("damping", "friction", "rest")}
    found |= {"limits": some(limits()), "active": some(st.booleans())}
    # Without a force a floating loop joint would be refused.
    stiffness = numbers.filter(bool) if kind == "floating" else numbers
    return found | {"stiffness": some(stiffness)}


@st.composite
def descriptions(draw):
    """Return a random tree with every kind of element, names of any characters."""
    own = draw(st.lists(names, min_size=2, max_size=5, unique=True))
    links = [
        LinkElement(
            name,
            draw(numbers),
            draw(st.tuples(numbers, numbers, numbers)),
            np.array(draw(st.lists(numbers, min_size=9, max_size=9))).reshape(3, 3),
        )
        for name in own
    ]
    joints = []
    for i, child in enumerate(own[1:], 1):
        kind = draw(st.sampled_from(tree_joint_names()))
        each = draw(st.booleans())
        joints.append(
            JointElement(
                f"{child} joint",
                kind,
                own[draw(st.integers(0, i - 1))],
                child,
                draw(poses()),
                draw(st.tuples(numbers, numbers, numbers)),
                (draw(limits()), draw(limits())) if each else draw(limits()),
                (draw(numbers), draw(numbers)) if each else draw(numbers),
                draw(numbers),
                draw(st.sampled_from([None, True, False, (True, False)])),
                parameters.get(kind, {}),
                draw(numbers),
                draw(st.none() | st.just(SafetyController(-1.0, 1 / 3, 2.0))),
                draw(numbers),
                (draw(numbers), draw(numbers)) if each else draw(numbers),
            )
        )
    loops = []
    for name in draw(st.lists(names, max_size=2, unique=True)):
        kind = draw(st.sampled_from([*loop_joint_names(), "floating"]))
        loops.append(
            LoopElement(
                name, kind, own[0], own[1], draw(poses()), draw(poses()),
                parameters.get(kind, {}), draw(st.booleans()), **draw(of_freedoms(kind)),
            )
        )  # fmt: skip
    terms = tuple((joint.name, draw(numbers)) for joint in joints)
    return Description(
        Mechanism(
            draw(names),
            tuple(links),
            tuple(joints),
            tuple(loops),
            (CouplingElement(draw(names), terms, draw(numbers)),),
        ),
        (Shape(own[0], "visual", "mesh", draw(poses()), (1.0, 1 / 3, -1.0), draw(names), None),),
        Diagnosis([Problem("warning", "a.urdf:3", draw(names), draw(names), draw(names))]),
        draw(names),
        {draw(names): (draw(names), draw(numbers), draw(numbers))},
        (Transmission(draw(names), "Simple", ("a",), ("m",), (draw(numbers),), (0.1,)),),
        (draw(names),),
        draw(st.none() | st.just(()) | st.tuples(names)),
        draw(names),
    )


def bits(value):
    """Return a value as text from which every bit of every number can be told."""
    if dataclasses.is_dataclass(value):
        found = [bits(getattr(value, f.name)) for f in dataclasses.fields(value) if f.compare]
        return f"{type(value).__name__}{found}"
    if isinstance(value, np.ndarray):
        return bits(value.tolist())
    if isinstance(value, dict):
        return str([(key, bits(item)) for key, item in value.items()])
    if isinstance(value, (list, tuple)):
        return str([bits(item) for item in value])
    return float(value).hex() if isinstance(value, (int, float)) else repr(value)


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_any_model_comes_back_to_the_last_bit(tmp_path_factory, suffix):
    """Random descriptions, with names of any characters, are equal after writing and reading."""
    path = tmp_path_factory.mktemp("model") / f"model{suffix}"

    @settings(max_examples=60, deadline=None, derandomize=True)
    @given(descriptions(), st.tuples(numbers, numbers, numbers), st.lists(names))
    def check(description, gravity, variable):
        write_model(path, description, gravity=gravity, variable=variable)
        again = read_model(path)
        assert bits(again) == bits(SavedModel(description, gravity, tuple(variable)))

    check()


def test_a_model_of_the_file_is_the_model_that_was_written(tmp_path, rng):
    """Built from the file, a mechanism gives the same structure and parameters."""
    mechanism = random_tree(rng, ["revolute", "prismatic", "floating", "spherical"])
    saved = SavedModel(Description(mechanism), (0.0, 0.0, -1.62), ("link1",))
    path = tmp_path / "moon.yaml"
    write_model(path, saved.description, gravity=saved.gravity, variable=saved.variable)
    one, other = saved.model(), read_model(path).model()
    assert one.structure_key == other.structure_key
    assert (one.gravity, one.variable) == (other.gravity, other.variable)
    loaded = load_description(path).mechanism
    assert bits(loaded) == bits(mechanism)


def test_a_file_is_readable(tmp_path):
    """A line for each element, and nothing that has its default value."""
    write_model(tmp_path / "arm.yaml", read_urdf(ARM))
    lines = (tmp_path / "arm.yaml").read_text().splitlines()
    assert lines[0] == 'format: "robot_dynamics model"'
    assert '- {"name": "base"}' in lines
    assert not any("Infinity" in line for line in lines)


@pytest.fixture
def text(tmp_path):
    """Return the text of a model file."""
    arm = read_urdf(ARM)
    shape = Shape("tool", "visual", "sphere", np.eye(4), (0.1,))
    weld = LoopElement("weld", "fixed", "tool", "base")
    gear = CouplingElement.gear("gear", "shoulder", "elbow")
    whole = dataclasses.replace(
        arm,
        shapes=(shape,),
        mechanism=arm.mechanism.with_loops([weld]).with_couplings([gear]),
    )
    write_model(tmp_path / "arm.yaml", whole)
    return (tmp_path / "arm.yaml").read_text()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("version: 1", "version: 2", r"version.*\b1\b"),
        ('format: "robot', 'format: "robt', r"m\.yaml:1.*'robot_dynamics model'"),
        ('"name": "upper"', '"name": "lower"', r"'lower'.*m\.yaml:7"),
        ('"type": "prismatic"', '"type": "prizmatic"', r"m\.yaml:12.*'prismatic'"),
        ('"parent": "upper"', '"parent": "uper"', r"m\.yaml:12.*'upper'"),
        ('"mass": 2.0', '"mass": "2.0"', r"m\.yaml:7.*\b1\b.*'2\.0'"),
        ('"mass": 2.0', '"mas": 2.0', r"m\.yaml:7.*'mas'"),
        ('"successor": "base"', '"successor": "bse"', r"m\.yaml:15.*'bse'"),
        ('"link": "tool"', '"link": "tol"', r"m\.yaml:19.*'tol'"),
        ('["elbow", -1.0]', '["elbw", -1.0]', "'elbw'"),
        ('"type": "fixed", "pred', '"type": "floating", "pred', "'floating'"),
        ('"type": "fixed", "pred', '"type": "fixed", "damping": 1.0, "pred', "damping is given"),
        (
            '"type": "fixed", "pred',
            '"type": "planar", "rest": [0.0, 1.0], "pred',
            r"m\.yaml:15.*rest.*\b2\b.*\b3\b",
        ),
        ("[1.0, 0.0, 0.0, 0.2]", "[1.0, 0.0, 0.2]", r"m\.yaml:12.*\b4\b.*\b3\b"),
        ("[1.0, 0.0, 0.0, 0.2]", "[2.0, 0.0, 0.0, 0.2]", r"m\.yaml:12.*rotation"),
    ],
)
def test_mistakes_are_located(tmp_path, text, old, new, message):
    """Whoever edits a file is told the line of each mistake."""
    assert old in text, text
    (tmp_path / "m.yaml").write_text(text.replace(old, new, 1))
    with pytest.raises(DescriptionError, match=message):
        read_model(tmp_path / "m.yaml")


def test_numbers_that_are_not_finite_are_not_written(tmp_path):
    """A model with nan is refused, not written in a form that cannot be read."""
    link = LinkElement("base", float("nan"))
    with pytest.raises(RobotDynamicsError, match="not finite"):
        write_model(tmp_path / "m.yaml", Description(Mechanism("m", (link,))))


def test_joints_need_not_form_a_tree(tmp_path):
    """A mechanism whose joints close a loop is kept as it is; the model has the loop joint."""
    ring = Mechanism(
        "ring",
        tuple(LinkElement(name, 1.0, inertia=np.eye(3)) for name in ("base", "a", "b")),
        (
            JointElement("one", "revolute", "base", "a"),
            JointElement("two", "revolute", "a", "b", damping=0.5),
            JointElement("back", "revolute", "b", "a", pose((1.0, 0.0, 0.0))),
        ),
    )
    write_model(tmp_path / "ring.yaml", Description(ring))
    saved = read_model(tmp_path / "ring.yaml")
    assert saved.description.mechanism == ring
    assert [loop.name for loop in saved.model().loops] == ["back"]
    lost = dataclasses.replace(ring, joints=ring.joints[1:])
    write_model(tmp_path / "lost.yaml", Description(lost))
    with pytest.raises(DescriptionError, match=r"'a'.*'base'"):
        read_model(tmp_path / "lost.yaml")


def test_a_mechanism_alone_is_written(tmp_path):
    """A mechanism is written like a description of it; anything else is refused with the file."""
    mechanism = random_tree(np.random.default_rng(2), ["revolute", "prismatic"])
    write_model(tmp_path / "arm.yaml", mechanism, gravity=(0.0, 0.0, -1.0))
    saved = read_model(tmp_path / "arm.yaml")
    assert saved.description.mechanism == mechanism
    assert saved.gravity == (0.0, 0.0, -1.0)
    for wrong in (saved, "arm.urdf", None):
        with pytest.raises(ArgumentError, match=r"other\.yaml: .*rd\.load_description"):
            write_model(tmp_path / "other.yaml", wrong)
    assert not (tmp_path / "other.yaml").exists()
