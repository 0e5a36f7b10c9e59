# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The robots of example-robot-data: which load, and that they are the robots Pinocchio reads."""

import re
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.motion_checks import links_without_inertia
from robot_dynamics.description.urdf import read_urdf
from robot_dynamics.dynamics.inertia_matrix import inertia_matrix
from robot_dynamics.dynamics.kinematics import body_transforms, joint_transforms, link_pose
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import WORLD, build
from robot_dynamics.model.moved_inertia import require_inertia
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.resources import ResourceNotFoundError, resolve_package_uri

try:
    FOLDER = resolve_package_uri("package://example-robot-data/robots/")
    FILES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.urdf"))
except ResourceNotFoundError:
    pytest.skip("example-robot-data is not installed", allow_module_level=True)

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "urdf.md"
#: Relative, in the largest entry: the claim of the documentation.
TOLERANCE = 1e-12


def refusals():
    """Return the errors of each file that is refused."""
    found = {}
    for name in FILES:
        try:
            read_urdf(FOLDER / name)
        except DescriptionError as error:
            found[name] = [p.sentence() for p in error.problems if p.severity == "error"]
    return found


def listed():
    """Return the files that the documentation lists as refused, with the words of the reason."""
    rows = re.findall(r"^\| `([^`]+\.urdf)` \| ([^|]+) \|", DOCUMENT.read_text(), re.MULTILINE)
    return dict(rows)


def test_the_documentation_lists_what_does_not_load():
    """The files refused are those listed, and each error has the words that the list quotes."""
    found, told = refusals(), listed()
    if not set(told) <= set(FILES):
        pytest.skip("another release of example-robot-data than the one documented")
    assert set(found) == set(told)
    assert len(FILES) - len(found) >= 65
    for name, reason in told.items():
        quoted = re.findall(r'"([^"]+)"', reason)
        assert quoted
        for words in quoted:
            assert any(words in sentence for sentence in found[name]), (name, words)


def test_fingers_without_mass_may_be_locked():
    """romeo has forward dynamics once the joints that move no inertia are locked."""
    name = "romeo_description/urdf/romeo.urdf"
    with pytest.raises(RobotDynamicsError, match=r"'LHand'.*inertia"):
        require_inertia(build(read_urdf(FOLDER / name).mechanism))
    locked = dict.fromkeys(links_without_inertia(read_urdf(FOLDER / name).mechanism), 0.0)
    model = build(read_urdf(FOLDER / name, locked=locked).mechanism)
    require_inertia(model)
    assert model.nv > 30
    assert not set(locked) & set(model.joint_names)


@pytest.mark.parametrize("name", [name for name in FILES if name not in listed()])
def test_a_robot_is_the_one_that_pinocchio_reads(name):
    """Poses of all links, masses, centre of mass and H agree at a random configuration."""
    from support.oracle import Pinocchio, pin

    model = build(read_urdf(FOLDER / name).mechanism)
    oracle = Pinocchio.of_urdf(str(FOLDER / name), model)
    theirs, data = oracle.theirs, oracle.data
    rng = np.random.default_rng(3)
    q = model.integrate(model.neutral().tolist(), rng.uniform(-1, 1, model.nv).tolist())
    their_q = oracle.q_of(q)

    pin.framesForwardKinematics(theirs, data, their_q)
    X0 = body_transforms(model, joint_transforms(model, q))
    first_moment, mass, reach = np.zeros(3), 0.0, 1.0
    for link in model.links:
        ours = np.array(link_pose(link, X0), dtype=float)
        frame = theirs.getFrameId(link.name, pin.FrameType.BODY)
        expected = data.oMf[frame].homogeneous
        reach = max(reach, np.abs(expected).max())
        np.testing.assert_allclose(ours, expected, atol=TOLERANCE * reach)
        if link.body != WORLD:
            mass += link.inertia.mass
            first_moment += ours[:3, :3] @ list(link.inertia.h) + ours[:3, 3] * link.inertia.mass
    if model.nv == 0:
        return  # a single rigid piece, which Pinocchio fixes to the world
    assert mass == pytest.approx(pin.computeTotalMass(theirs), rel=TOLERANCE)
    center = pin.centerOfMass(theirs, data, their_q)
    np.testing.assert_allclose(first_moment / mass, center, atol=TOLERANCE * reach)

    ours = np.array(inertia_matrix(model, q, parameters_of(model)), dtype=float)
    expected = oracle.inertia_matrix(q)
    np.testing.assert_allclose(ours, expected, atol=TOLERANCE * np.abs(expected).max())
