# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The dynamics of all robots of example-robot-data, on fixed and floating bases, are Pinocchio's.

All of them are slow tests; a hand and a biped stand for them in every run.
"""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.motion_checks import links_without_inertia
from robot_dynamics.description.urdf import read_urdf
from robot_dynamics.model import JointElement, LinkElement, build
from robot_dynamics.resources import ResourceNotFoundError, resolve_package_uri
from robot_dynamics.robot import Robot

try:
    FOLDER = resolve_package_uri("package://example-robot-data/robots/")
    FILES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.urdf"))
except ResourceNotFoundError:
    pytest.skip("example-robot-data is not installed", allow_module_level=True)

QUICK = [
    ("allegro_hand_description/urdf/allegro_left_hand.urdf", False),
    ("bolt_description/robots/bolt.urdf", True),
]
#: Relative, in the largest entry: some ten roundings of 1e-16 for each of up to a hundred bodies.
TOLERANCE = 1e-12
TOLERANCE_OF_DERIVATIVES = 1e-10


def on_a_floating_base(mechanism):
    """Return a mechanism whose root may fly; the joint has Pinocchio's name."""
    root = mechanism.root
    return replace(
        mechanism,
        links=(LinkElement("outside"), *mechanism.links),
        joints=(JointElement("root_joint", "floating", "outside", root), *mechanism.joints),
    )


def both(name, floating):
    """Return a robot and Pinocchio's reading of the same file, or skip a refused file."""
    from support.oracle import Pinocchio, pin

    try:
        mechanism = read_urdf(FOLDER / name).mechanism
    except DescriptionError:
        pytest.skip("refused: see the documentation of URDF files")
    if floating:
        mechanism = on_a_floating_base(mechanism)
        theirs = pin.buildModelFromUrdf(str(FOLDER / name), pin.JointModelFreeFlyer())
    else:
        theirs = pin.buildModelFromUrdf(str(FOLDER / name))
    model = build(mechanism)
    if model.nv == 0:
        pytest.skip("a single rigid piece")
    oracle = Pinocchio(model, theirs)
    theirs.armature[oracle.at_v] = model.armature  # Pinocchio's reader has none from transmissions
    return Robot(model), oracle, not links_without_inertia(mechanism)


def near(ours, theirs, tolerance=TOLERANCE, size=0.0):
    """Check a difference relative to the largest entry, or to a size that its terms have."""
    expected = np.asarray(theirs)
    size = max(size, np.abs(expected).max())
    assert_allclose(ours, expected, rtol=0, atol=tolerance * size)


def check(name, floating):
    """Compare every algorithm at a random state."""
    from support.oracle import pin

    robot, oracle, moves_inertia = both(name, floating)
    model, theirs, data, at_v = robot.model, oracle.theirs, oracle.data, oracle.at_v
    rng = np.random.default_rng(5)
    q = np.array(model.integrate(model.neutral().tolist(), rng.uniform(-1, 1, model.nv).tolist()))
    qd, x = rng.normal(size=(2, model.nv))
    state = oracle.q_of(q), oracle.v_of(qd), oracle.v_of(x)
    square = np.ix_(at_v, at_v)

    tau = oracle.inverse_dynamics(q, qd, x)
    near(robot.inverse_dynamics(q, qd, x), tau)
    H = robot.inertia_matrix(q)
    near(H, oracle.inertia_matrix(q))
    slopes = pin.computeRNEADerivatives(theirs, data, *state)
    found = robot.inverse_dynamics_derivatives(q, qd, x)
    for ours, expected in zip(found[:2], slopes[:2], strict=True):
        near(ours, expected[square], TOLERANCE_OF_DERIVATIVES, np.abs(tau).max())
    frames = rng.choice(len(model.links) - 1, 5) + 1
    for link in [model.links[i].name for i in frames]:
        near(robot.jacobian(link, q), oracle.jacobian(link, q))
    pin.dccrba(theirs, data, *state[:2])
    rows = [3, 4, 5, 0, 1, 2]
    near(robot.centroidal_momentum_matrix(q), data.Ag[rows][:, at_v])
    size = np.abs(data.Ag).max()
    near(robot.centroidal_momentum_matrix_rate(q, qd), data.dAg[rows][:, at_v], size=size)
    if moves_inertia:
        # A rounding of H by 1e-16 changes the solution by its condition times as much. That is
        # seen in icub and tiago_no_hand (condition 5e6 to 3e8; 3e-12 apart), in no other.
        worse = max(1.0, 1e-16 / TOLERANCE * np.linalg.cond(H))
        qdd = oracle.forward_dynamics(q, qd, x)
        near(robot.tree_forward_dynamics(q, qd, x), qdd, TOLERANCE * worse)
        if not model.constraint_count:
            slopes = pin.computeABADerivatives(theirs, data, *state)
            found = robot.forward_dynamics_derivatives(q, qd, x)
            for ours, expected in zip(found[:2], slopes[:2], strict=True):
                near(ours, expected[square], TOLERANCE_OF_DERIVATIVES * worse, np.abs(qdd).max())


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(("name", "floating"), QUICK)
def test_dynamics_equal_pinocchio(name, floating):
    """A hand, and a biped on a floating base."""
    check(name, floating)


@pytest.mark.slow
@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("name", FILES)
def test_dynamics_of_all_equal_pinocchio(name, floating):
    """Every robot of the package that loads."""
    check(name, floating)
