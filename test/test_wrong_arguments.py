# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Wrong arguments of a robot are refused in words of this package, with the place."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest
from support.mechanisms import random_tree

import robot_dynamics as rd
from robot_dynamics.dynamics.closure_functions import ClosureFunction
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError
from robot_dynamics.robot import Robot

MECHANISM = random_tree(np.random.default_rng(1), ["revolute", "prismatic", "revolute"])
ROBOT = Robot.from_mechanism(MECHANISM)
Q = np.array([0.1, 0.2, 0.3])
LINK = ROBOT.model.links[-1].name


# Each method with `out`: its arguments before it, and the number of results.
WITH_OUT = {
    "inverse_dynamics": ((Q, Q, Q), 1),
    "forward_dynamics": ((Q, Q, Q), 1),
    "pose": ((LINK, Q), 1),
    "jacobian": ((LINK, Q), 1),
    "velocity": ((LINK, Q, Q), 1),
    "acceleration": ((LINK, Q, Q, Q), 1),
    "bias_acceleration": ((LINK, Q, Q), 1),
    "external_forces": ((Q, {LINK: np.ones(6)}), 1),
    "payload_regressor": ((LINK, Q, Q, Q), 1),
    "articulated_bodies": ((Q, Q, Q), 2),
    "energies": ((Q, Q), 2),
    "closure": ((Q,), 2),
    "energy_regressor": ((Q, Q), 2),
    "inverse_dynamics_derivatives": ((Q, Q, Q), 3),
    "inverse_dynamics_vjp": ((Q, Q, Q, Q), 3),
}


@pytest.mark.parametrize("method", WITH_OUT)
def test_out_must_fit(method):
    """An array of another shape, type or number is refused with the method and `out`."""
    given, count = WITH_OUT[method]
    function = getattr(ROBOT, method)
    found = function(*given)
    good = found if count > 1 else (found,)
    assert len(good) == count
    place = rf"^(tree_)?{method}: out\b"

    def refused(words, *arrays):
        with pytest.raises(ArgumentError, match=f"{place}.*{words}"):
            function(*given, out=arrays if count > 1 else arrays[0])

    if all(array.ndim for array in good):  # a number is written to every entry
        refused(r"\(9, 9\)", *(np.empty((9, 9)) for _ in good))
    refused("int64", *(np.empty(array.shape, dtype=int) for array in good))
    refused(r"\[0\]", *([0] for _ in good))
    if all(array.size and array.ndim for array in good):
        refused("read-only", *(np.broadcast_to(0.0, array.shape) for array in good))
    if count > 1:
        with pytest.raises(ArgumentError, match=place):
            function(*given, out=np.empty(3))
        with pytest.raises(ArgumentError, match=place):
            function(*given, out=tuple(good[:-1]))
    again = tuple(np.empty_like(array) for array in good)
    function(*given, out=again if count > 1 else again[0])
    for one, other in zip(good, again, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (Q + 1j, "complex128"),
        (Q.astype(object), "object"),
        (np.array(["1", "2", "3"]), "<U1"),
        (["1", "2", "3"], "'1'"),
        ([[1.0], [1.0, 2.0]], r"\[1.0\]"),
        (None, "None"),
        (np.ones(2), r"\(2,\)"),
    ],
)
def test_arguments_must_be_numbers(values, words):
    """Complex numbers, objects and texts are refused by every method, compiled or not."""
    place = rf"\bqd? (is|has).*{words}.*, expected"
    for call in (
        lambda: ROBOT.inverse_dynamics(values, Q, Q),
        lambda: ROBOT.closure(values),
        lambda: ROBOT.damping_forces(values),
        lambda: ROBOT.external_forces(values, {}),
        lambda: ROBOT.loop_drives(values),
        lambda: ROBOT.loop_forces(values, Q, np.zeros(0)),
    ):
        with pytest.raises(ArgumentError, match=place):
            call()


@pytest.mark.parametrize("values", [Q + 1j, ["1", "2", "3"], Q.astype("m8[s]"), [10**400] * 3])
def test_one_state_must_be_numbers(values):
    """Methods of one state refuse the same: no imaginary part is discarded."""
    with pytest.raises(ArgumentError, match=r"^q is .*, expected 3 numbers"):
        ROBOT.constrained_motion(values, Q, Q)


def test_batches_where_nothing_is_computed():
    """Without loops, wrenches and drives the results have the leading shape of the arguments."""
    q = np.zeros((4, 5, 3))
    K, gaps = ROBOT.closure(q)
    assert (K.shape, gaps.shape) == ((4, 5, 0, 3), (4, 5, 0))
    assert ROBOT.loop_drives(q).shape == (4, 5, 3, 0)
    assert ROBOT.external_forces(q, {}).shape == (4, 5, 3)
    assert ROBOT.damping_forces(q.astype(int)).shape == (4, 5, 3)


@pytest.mark.parametrize("name", [3, None, ["tool"]])
def test_names_must_be_texts(name):
    """A number or a list in the place of a name is refused like an unknown name."""
    wrench = {} if isinstance(name, list) else {name: np.ones(6)}
    for call in (
        lambda: ROBOT.pose(name, Q),
        lambda: ROBOT.jacobian(name, Q),
        lambda: ROBOT.jacobian(LINK, Q, name),
        lambda: ROBOT.acceleration(name, Q, Q, Q),
        lambda: ROBOT.payload_regressor(name, Q, Q, Q),
        lambda: ROBOT.external_forces(Q, wrench) if wrench else ROBOT.pose(name, Q),
        lambda: ROBOT.joint_wrenches(Q, Q, Q, wrench) if wrench else ROBOT.pose(name, Q),
        lambda: ROBOT.with_frame(name, LINK, np.eye(4)),
        lambda: ROBOT.with_frame("new", name, np.eye(4)),
        lambda: ROBOT.model.joint_index(name),
        lambda: ROBOT.hybrid_dynamics([name]),
        lambda: ROBOT.operational_space_inertia([name], Q),
        lambda: ROBOT.inverse_kinematics(LINK, np.eye(4), Q, held=[name]),
        lambda: ROBOT.constrained_motion(Q, Q, Q, method=name),
        lambda: Robot.from_mechanism(MECHANISM, variable=[name]),
    ):
        with pytest.raises(RobotDynamicsError, match=re.escape(str(name)[:3]) + ".*expected"):
            call()


def test_long_and_wrong_names_are_shown():
    """A name that is no text is shown as it is, and the names that exist follow."""
    with pytest.raises(UnknownNameError, match=r"unknown link 3; expected one of .*link"):
        ROBOT.model.link(3)
    assert UnknownNameError("link", "lnk", ["link"]).args[0] == (
        "unknown link 'lnk'; did you mean 'link'?"
    )


def test_hybrid_dynamics_explains_its_arguments():
    """The compiled function names the argument that does not fit, and takes `out`."""
    hybrid = ROBOT.hybrid_dynamics(ROBOT.model.joint_names[:1])
    with pytest.raises(ArgumentError, match=r"^hybrid_dynamics: qdd has shape \(2,\)"):
        hybrid(Q, Q, Q, Q[:2])
    with pytest.raises(ArgumentError, match=r"^hybrid_dynamics: out\[1\]"):
        hybrid(Q, Q, Q, Q, out=(np.empty(3), np.empty(2)))
    qdd, tau = hybrid(Q, Q, Q, Q)
    np.testing.assert_allclose(ROBOT.inverse_dynamics(Q, Q, qdd), tau, atol=1e-12)


def test_a_robot_is_made_of_a_model():
    """The path of a file is refused with the function that reads it."""
    for wrong in ("x.urdf", MECHANISM, None):
        with pytest.raises(ArgumentError, match=r"rd\.load"):
            rd.Robot(wrong)


def test_the_model_of_a_robot_stays():
    """Compiled code belongs to the model: it cannot be exchanged."""
    robot = Robot.from_mechanism(MECHANISM)
    explicit = robot.with_closure(check=False)
    for each in (robot, explicit):
        with pytest.raises(AttributeError, match="model"):
            each.model = ROBOT.model
        assert pickle.loads(pickle.dumps(each)).model == robot.model


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"inertia": {"link1": None}}, "^inertia of 'link1' is None, expected Inertia"),
        ({"inertia": [1]}, r"^inertia is \[1\]"),
        ({"predecessor_placement": {"loop": 1.0}}, "^predecessor_placement of 'loop' is 1.0"),
        ({"gravity": 9.81}, "^gravity is 9.81"),
        ({"gravity": "down"}, "^gravity is 'down'"),
        ({"gravity": (0.0, 9.81)}, "^gravity has 2"),
        ({"gravity": (0.0, 0.0, np.nan)}, "^gravity .*finite"),
    ],
)
def test_replaced_parts_have_their_kind(changes, words):
    """New parameters of a wrong kind are refused; None is no inertia."""
    with pytest.raises(ArgumentError, match=words):
        ROBOT.replace(**changes)
    if "gravity" in changes:
        with pytest.raises(ArgumentError, match=words):
            Robot.from_mechanism(MECHANISM, **changes)


def test_independent_coordinates_are_checked():
    """A robot in independent coordinates refuses wrong arrays likewise."""
    explicit = ROBOT.with_closure(check=False)
    assert isinstance(explicit.closure.functions, tuple | list)
    assert not any(isinstance(each, ClosureFunction) for each in explicit.closure.functions)
    with pytest.raises(ArgumentError, match=r"^explicit_motion: out\[2\] has shape \(2,\)"):
        explicit.motion(Q, Q, Q, out=(np.empty(3), np.empty(3), np.empty(2)))
    with pytest.raises(ArgumentError, match=r"^explicit_inverse_dynamics: out has shape \(2,\)"):
        explicit.inverse_dynamics(Q, Q, Q, out=np.empty(2))
    with pytest.raises(ArgumentError, match=r"^coordinates: qd has shape"):
        explicit.coordinates(Q, Q[:2])


@pytest.mark.parametrize("plant", ["foo", {"plant.seed": 1}, ""])
def test_engines_are_named(plant):
    """An unknown engine is refused by the name of the argument, not of a command-line option."""
    with pytest.raises(UnknownNameError, match=r"^unknown plant .*engine, mujoco"):
        rd.load_scenario("lift_box", plant=plant)


def test_overrides_are_no_mapping():
    """A mapping is refused with its first entry in the form that is expected."""
    with pytest.raises(ArgumentError, match=r"^overrides .*'plant\.object_mass_scale=1\.2'"):
        rd.load_scenario("lift_box", {"plant.object_mass_scale": 1.2})
