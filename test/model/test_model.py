# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The numbered model: sizes, names, positions, and the key of its compiled code."""

import pickle
from dataclasses import replace
from functools import cached_property

import numpy as np
import pytest
from model.mechanisms import arm, grasp

from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.model import Limits, build, joint_type, pose, transform_of
from robot_dynamics.model.model import Model
from robot_dynamics.spatial import Inertia, Symmetric3, Vector3


def closed(**options):
    """Return the arm that holds its free body."""
    return build(arm().with_loops([grasp()]), **options)


def heavier(mass=9.0):
    """Return another inertia."""
    return Inertia.from_center_of_mass(mass, Vector3.zero(), Symmetric3.diagonal(1.0, 1.0, 1.0))


def test_sizes_and_slices_follow_the_joints():
    """Positions and velocities stand in the order of the bodies."""
    model = closed()
    assert (model.nq, model.nv, model.constraint_count) == (10, 9, 6)
    assert [(s.start, s.stop) for s in model.q_slices] == [(0, 1), (1, 2), (2, 3), (3, 10)]
    assert [(s.start, s.stop) for s in model.v_slices] == [(0, 1), (1, 2), (2, 3), (3, 9)]
    assert model.support(2) == (0, 1, 2)
    assert model.neutral().tolist() == [0] * 9 + [1]


def test_names_are_found_and_misspellings_explained():
    """Links, joints and loops are found by name; an unknown one gets the nearest name."""
    model = closed()
    assert model.joint_index("rail") == 2
    assert model.loop("grasp").name == "grasp"
    for call, name in ((model.joint_index, "rial"), (model.link, "tol"), (model.loop, "grsp")):
        with pytest.raises(UnknownNameError, match="did you mean"):
            call(name)


def test_limits_are_those_of_each_degree_of_freedom():
    """Limits appear per velocity; a limit that is not stated is infinite."""
    limits = closed().limits()
    assert limits["effort"].tolist() == [4.0] + [np.inf] * 8
    assert limits["lower"].tolist() == [-1.0] + [-np.inf] * 8


def test_positions_move_and_stay_normalized(rng):
    """`integrate` follows `position_rate`, and `normalized` mends a quaternion."""
    model = closed()
    q = model.normalized(rng.normal(size=model.nq).tolist())
    qd = rng.normal(size=model.nv)
    assert abs(np.linalg.norm(q[6:]) - 1.0) < 1e-15
    step = 1e-5  # central differences: error of about step^2 and rounding over step
    ahead, behind = (np.array(model.integrate(q, sign * step * qd)) for sign in (1, -1))
    np.testing.assert_allclose(
        (ahead - behind) / (2 * step), model.position_rate(q, qd), atol=1e-9
    )


def test_replace_changes_only_what_it_is_asked_to():
    """A replaced model is new, differs where asked, and leaves the old one alone."""
    model = closed()
    at = transform_of(pose((0, 0, 1)))
    other = model.replace(
        gravity=(0, 0, -1), inertia={"free": heavier()}, successor_placement={"grasp": at}
    )
    assert other.gravity == (0.0, 0.0, -1.0)
    assert other.bodies[3].inertia.mass == 9.0
    assert other.loops[0].successor_placement == at
    assert other.bodies[:3] == model.bodies[:3]
    assert (model.gravity[2], model.bodies[3].inertia.mass) == (-9.81, 4.0)
    with pytest.raises(UnknownNameError, match="'fre'"):
        model.replace(inertia={"fre": heavier()})
    with pytest.raises(UnknownNameError, match="'free'"):
        model.replace(predecessor_placement={"free": at})
    with pytest.raises(ArgumentError, match=r"gravity.*\b2\b.*\b3\b"):
        model.replace(gravity=(0, 0))


@pytest.mark.parametrize(
    "changes",
    [
        {"gravity": (1, 2, 3)},
        {"joint_friction": True},
        {"inertia": {"free": heavier()}},
        {"inertia": {"upper": heavier()}},
        {"predecessor_placement": {"grasp": transform_of(pose((0, 0, 1)))}},
        {"successor_placement": {"grasp": transform_of(pose((0, 0, 2)))}},
    ],
)
def test_a_replaced_model_knows_what_a_new_one_would_find(changes):
    """`replace` passes on the computed results that the new model itself would have."""
    model = closed(variable=["free", "grasp"])
    found = [name for name, value in vars(Model).items() if isinstance(value, cached_property)]
    for name in found:
        getattr(model, name)
    changed = model.replace(**changes)
    fresh = replace(changed)
    assert len(vars(changed)) > len(vars(fresh))  # something was handed on
    for name in found:
        np.testing.assert_equal(getattr(changed, name), getattr(fresh, name), name)


def test_the_structure_key_leaves_out_what_code_reads_from_parameters():
    """Gravity, names, limits and variable parts do not change the key."""
    model = closed(variable=["free", "grasp"])
    key = model.structure_key
    at = transform_of(pose((0, 0, 1)))
    assert model.replace(gravity=(1, 2, 3)).structure_key == key
    assert model.replace(inertia={"free": heavier()}).structure_key == key
    assert model.replace(predecessor_placement={"grasp": at}).structure_key == key
    joint = replace(model.bodies[0].joint, name="other", limits=Limits())
    renamed = replace(model, bodies=(replace(model.bodies[0], joint=joint), *model.bodies[1:]))
    assert renamed.structure_key == key


def test_the_structure_key_tells_apart_what_code_has_built_in():
    """Fixed inertias and placements, joint types, topology and friction change the key."""
    model = closed(variable=["free"])
    at = transform_of(pose((0, 0, 1)))
    first = model.bodies[0]
    others = [
        closed(),
        model.replace(inertia={"upper": heavier()}),
        model.replace(successor_placement={"grasp": at}),
        replace(model, bodies=(replace(first, placement=at), *model.bodies[1:])),
        replace(model, bodies=model.bodies[:3], loops=()),
        replace(
            model,
            bodies=(replace(first, joint=replace(first.joint, damping=0.6)), *model.bodies[1:]),
        ),
        replace(
            model,
            bodies=(
                replace(first, joint=replace(first.joint, type=model.bodies[2].joint.type)),
                *model.bodies[1:],
            ),
        ),
    ]
    ball = replace(model.loops[0], type=joint_type("spherical"))
    for data in ({}, {"stiffness": 1.0}, {"stiffness": (1.0, 2.0, 3.0)}, {"damping": 1.0},
                 {"active": True}, {"rest": 1.0}):  # fmt: skip
        others.append(replace(model, loops=(replace(ball, **data),)))
    for data in ({"stiffness": 1.0}, {"stiffness": 1.0, "rest": 1.0}):
        sprung = replace(first, joint=replace(first.joint, **data))
        others.append(replace(model, bodies=(sprung, *model.bodies[1:])))
    keys = [model.structure_key] + [other.structure_key for other in others]
    assert len(set(keys)) == len(keys)


def test_a_model_survives_pickling():
    """A pickled model is equal and has the same key."""
    model = closed(variable=["free"])
    copy = pickle.loads(pickle.dumps(model))
    assert isinstance(copy, Model)
    assert copy == model
    assert copy.structure_key == model.structure_key


def test_drives_in_loop_joints_have_names_and_limits():
    """Each freedom with a drive is one, in the order of the loop joints; others have none."""
    model = closed()
    slot = replace(
        model.loops[0], name="slot", type=joint_type("cylindrical"), active=(False, True),
        limits=(Limits(effort=1.0), Limits(effort=2.0)),
    )  # fmt: skip
    ball = replace(model.loops[0], name="ball", type=joint_type("spherical"), active=True)
    driven = replace(model, loops=(slot, model.loops[0], ball))
    assert driven.loop_drives == ((0, 1), (2, 0), (2, 1), (2, 2))
    assert driven.loop_drive_names == ("slot.z", "ball.rx", "ball.ry", "ball.rz")
    assert driven.loop_drive_effort.tolist() == [2.0, np.inf, np.inf, np.inf]
    assert (model.loop_drive_names, model.loop_drive_effort.shape) == ((), (0,))
