# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of impacts against closed forms, differences and Pinocchio."""

from __future__ import annotations

import numpy as np
import pytest
from dynamics.test_complex_step import held_chain
from numpy.testing import assert_allclose
from support.linkages import four_bar
from support.mechanisms import random_state, random_tree
from support.touching import at, corners, floating

from robot_dynamics.contact.impact import impact, sticking_impact, struck
from robot_dynamics.contact.impact_derivatives import (
    impact_derivatives,
    sticking_impact_derivatives,
    struck_derivatives,
)
from robot_dynamics.contact.material import Material
from robot_dynamics.contact.points import Contacts, PointContact, vertices
from robot_dynamics.contact.surfaces import plane, sphere
from robot_dynamics.errors import RobotDynamicsError, UnknownNameError
from robot_dynamics.robot import Robot

STEP = 1e-6
TOL = 1e-7  # relative, of central differences with that step

pytestmark = pytest.mark.usefixtures("interpreted")


def by_differences(function, model, q, qd):
    """Return the derivatives of arrays by q, along velocities, and by qd."""
    found = []
    for e in STEP * np.eye(model.nv):
        ends = [function(np.array(model.integrate(q, s * e)), qd) for s in (1.0, -1.0)]
        found.append([(a - b) / (2.0 * STEP) for a, b in zip(*ends, strict=True)])
    for e in STEP * np.eye(model.nv):
        ends = [function(q, qd + s * e) for s in (1.0, -1.0)]
        found.append([(a - b) / (2.0 * STEP) for a, b in zip(*ends, strict=True)])
    columns = [np.stack(each, axis=-1) for each in zip(*found, strict=True)]
    return [part for x in columns for part in np.split(x, 2, axis=-1)]


def near(ours, theirs):
    """Check arrays, each relative to its largest entry."""
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == b.shape
        assert_allclose(a, b, rtol=0, atol=TOL * max(1.0, np.abs(b).max()))


def flying_chain(rng):
    """Return a random mechanism that flies, with three possible contacts, and a state."""
    robot = Robot.from_mechanism(random_tree(rng, ["floating", "revolute", "spherical"]))
    ball = sphere((0.1, 0.2, -3.0), 2.0)
    points = [
        PointContact("toe", "link1", rng.normal(size=3), material=Material(restitution=0.4)),
        PointContact("heel", "link2", rng.normal(size=3), plane((0, 0, 0), (0.6, 0, 0.8))),
        PointContact("ball", "link0", rng.normal(size=3), ball, radius=0.1),
    ]
    q, qd, _ = random_state(rng, robot.model)
    return Contacts(robot, points), q, qd


def linkage(rng):
    """Return a four-bar with a contact on its coupler, and a state that keeps it closed."""
    robot = Robot.from_mechanism(four_bar())
    guess = robot.assemble().q
    state = robot.assemble(guess, velocities=rng.normal(size=robot.model.nv))
    link = robot.model.bodies[-1].name
    floor = plane((0, 0, 0), (0.3, 0.8, 0.2))
    foot = PointContact("foot", link, (0.1, 0.2, 0.3), floor, material=Material(restitution=0.5))
    return Contacts(robot, [foot]), state.q, state.qd


def held(rng):
    """Return a chain with a universal joint that a loop holds, with a contact, and a state."""
    mechanism, q = held_chain("spherical", rng)
    robot = Robot.from_mechanism(mechanism)
    state = robot.assemble(q, velocities=rng.normal(size=robot.model.nv))
    floor = plane((0, 0, 0), (0.3, 0.8, 0.2))
    foot = PointContact("foot", "link2", (0.1, 0.2, 0.3), floor)
    return Contacts(robot, [foot]), state.q, state.qd


@pytest.mark.parametrize("law", ["newton", "poisson"])
@pytest.mark.parametrize("case", [flying_chain, linkage, held])
def test_impacts_without_friction(case, law):
    """Velocities and impulses of random mechanisms, and of a closed loop, by differences."""
    rng, hits = np.random.default_rng(4), set()
    for _ in range(3):
        contacts, q, qd = case(rng)
        which = range(len(contacts.names))
        if contacts(q, qd).rate[0] > 0.0:
            qd = -qd
        e = rng.uniform(0.1, 0.6, len(which)) if law == "newton" else 0.4

        def hit(q, qd, contacts=contacts, which=which, e=e):
            found = impact(contacts, q, qd, closed=which, restitution=e, law=law)
            return found.qd, found.impulse

        found = impact_derivatives(contacts, q, qd, closed=which, restitution=e, law=law)
        near(found, by_differences(hit, contacts.robot.model, q, qd))
        hits.add(int((hit(q, qd)[1] > 0.0).sum()))
    assert len(hits) > (case is flying_chain)


@pytest.mark.parametrize("case", [flying_chain, held])
def test_impacts_that_stick(case):
    """Velocities and impulses along n, t1 and t2, by differences."""
    contacts, q, qd = case(np.random.default_rng(5))
    which = [len(contacts.names) - 1]

    def hit(q, qd):
        found = sticking_impact(contacts, q, qd, closed=which, restitution=0.0)
        return found.qd, found.impulse

    found = sticking_impact_derivatives(contacts, q, qd, closed=which, restitution=0.0)
    near(found, by_differences(hit, contacts.robot.model, q, qd))


def test_impacts_that_stick_in_closed_form():
    """d qd+ / d qd = 1 - H^-1 J^T (J H^-1 J^T)^-1 J, and with e along the normal."""
    rng = np.random.default_rng(6)
    contacts, q, qd = flying_chain(rng)
    terms = contacts(q, qd)
    J = np.vstack([terms.T[:, 1], terms.along[1]])
    H = contacts.robot.inertia_matrix(q)
    W = np.linalg.solve(H, J.T)
    for e in (0.0, 0.1):
        bounce = np.diag([1.0 + e, 1.0, 1.0])
        expected = np.eye(len(H)) - W @ np.linalg.solve(J @ W, bounce @ J)
        found = sticking_impact_derivatives(contacts, q, qd, closed=[1], restitution=e)
        assert_allclose(found.qd_qd, expected, atol=1e-12 * np.abs(expected).max())


def test_corners_that_depend_on_one_another():
    """A box that lands on four corners and sticks: velocities have derivatives, impulses none."""
    contacts = Contacts(floating(), corners((0.05, 0.04, 0.03), Material(1.0)))
    q, qd = at(0.1, 0.2, 0.03), np.array([0.2, -0.1, 0.3, 0.4, 0.1, -1.0])
    which = range(4)

    def hit(q, qd):
        return (sticking_impact(contacts, q, qd, closed=which).qd,)

    found = sticking_impact_derivatives(contacts, q, qd)
    near(found[:2], by_differences(hit, contacts.robot.model, q, qd))
    assert np.isnan(found.impulse_qd).all()


@pytest.mark.parametrize("looped", [False, True])
def test_impulses_on_frames(looped):
    """`struck` by q and by impulses of two frames, by differences; loops stay closed."""
    rng = np.random.default_rng(7)
    contacts, q, qd = linkage(rng) if looped else flying_chain(rng)
    robot = contacts.robot
    names = [body.name for body in robot.model.bodies[-2:]]
    given = {name: rng.normal(size=6) for name in names}
    found = struck_derivatives(robot, q, qd, given)
    expected = by_differences(lambda q, qd: (struck(robot, q, qd, given),), robot.model, q, qd)
    near([found.qd_q], expected[:1])
    for name in names:
        ends = [
            struck(robot, q, qd, {**given, name: given[name] + e}) - struck(robot, q, qd, given)
            for e in np.eye(6)
        ]
        assert_allclose(found.qd_impulse[name], np.array(ends).T, atol=1e-10)


def test_newtons_law_refuses_reduced_impulses():
    """A rod whose rising end is pushed down again: all restitution would add energy."""
    rod = floating(1.0, (0.01, 1.0 / 3.0, 1.0 / 3.0))
    ends = Contacts(rod, vertices(PointContact("end", "body"), [(-1, 0, 0), (1, 0, 0)]))
    qd = np.array([0, -0.55, 0, 0, 0, -0.45])
    with pytest.raises(RobotDynamicsError, match="would add energy"):
        impact_derivatives(ends, at(0, 0, 0), qd, restitution=1.0)
    found = impact_derivatives(ends, at(0, 0, 0), qd, restitution=0.0)
    near(
        found[:2],
        by_differences(
            lambda q, qd: (impact(ends, q, qd, closed=[0, 1], restitution=0.0).qd,),
            rod.model, at(0, 0, 0), qd,
        ),
    )  # fmt: skip


def test_changing_contacts_are_refused():
    """Between pushing and opening, and with restitution that would add energy: an error each."""
    robot = floating()
    two = [PointContact(n, "body", (x, 0, 0)) for n, x in (("left", -0.1), ("right", 0.1))]
    contacts = Contacts(robot, two)
    rest = np.zeros(6)
    with pytest.raises(RobotDynamicsError, match="'left' is between pushing and opening"):
        impact_derivatives(contacts, at(0, 0, 0), rest)
    turning = np.array([0.0, 10.0, 0.0, 0.0, 0.0, -1.0])  # the left one is at rest, then opens
    assert abs(contacts(at(0, 0, 0), turning).rate).min() < 1e-12
    with pytest.raises(RobotDynamicsError, match="between pushing and opening"):
        impact_derivatives(contacts, at(0, 0, 0), turning, restitution=0.5)
    box, flat = Contacts(robot, corners((0.05, 0.04, 0.03))), np.array([0, 0, 0, 0, 0, -1.0])
    with pytest.raises(RobotDynamicsError, match="between pushing and opening"):
        impact_derivatives(box, at(0, 0, 0.03), flat)  # two corners or four: it may tip
    with pytest.raises(UnknownNameError, match="'stronge'"):
        impact_derivatives(contacts, at(0, 0, 0), rest, law="stronge")
    rng = np.random.default_rng(8)
    for _ in range(20):
        chain, q, qd = flying_chain(rng)
        qd = qd if chain(q, qd).rate[0] < 0.0 else -qd
        hit = sticking_impact(chain, q, qd, closed=[0, 1], restitution=1.0)
        if hit.energy_lost < 1e-9:
            with pytest.raises(RobotDynamicsError, match="would add energy"):
                sticking_impact_derivatives(chain, q, qd, closed=[0, 1], restitution=1.0)
            return
    pytest.fail("none was reduced")


def test_sticking_impacts_equal_pinocchio():
    """`computeImpulseDynamicsDerivatives` of a leg, velocities after the impact."""
    pin = pytest.importorskip("pinocchio", exc_type=ImportError)
    from support.oracle import Pinocchio

    rng = np.random.default_rng(9)
    tree = random_tree(rng, ["floating", "revolute", "revolute"], chain=True)
    robot = Robot.from_mechanism(tree)
    peer = Pinocchio.of_mechanism(tree, robot.model)
    q, qd, _ = random_state(rng, robot.model)
    point = np.array([0.1, -0.2, -0.3])
    frame = peer.theirs.frames[peer.theirs.getFrameId("link2", pin.FrameType.BODY)]
    placement = frame.placement * pin.SE3(np.eye(3), point)
    model = pin.RigidConstraintModel(
        pin.ContactType.CONTACT_3D, peer.theirs, frame.parentJoint, placement, pin.LOCAL
    )
    contacts = Contacts(robot, [PointContact("tip", "link2", point)])
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.append(model)
    datas.append(model.createData())
    state = peer.q_of(q), peer.v_of(qd)
    pin.initConstraintDynamics(peer.theirs, peer.data, models, datas)
    settings = pin.ProximalSettings(1e-12, 0.0, 1)
    pin.impulseDynamics(peer.theirs, peer.data, *state, models, datas, 0.0, settings)
    hit = sticking_impact(contacts, q, qd, closed=[0], restitution=0.0)
    assert_allclose(peer.data.dq_after[peer.at_v], hit.qd, atol=1e-10)
    pin.computeImpulseDynamicsDerivatives(peer.theirs, peer.data, models, datas, 0.0, settings)
    found = sticking_impact_derivatives(contacts, q, qd, closed=[0], restitution=0.0)
    order = np.ix_(peer.at_v, peer.at_v)
    # Theirs are of the change of velocities, whose derivative by qd lacks the identity.
    by_qd = peer.data.ddq_dv[order] + np.eye(robot.model.nv)
    assert_allclose(found.qd_qd, by_qd, atol=1e-9)
    assert_allclose(found.qd_q, peer.data.ddq_dq[order], atol=1e-9)
