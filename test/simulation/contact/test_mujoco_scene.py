# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Scenes as MuJoCo models: translations and refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from lxml import etree
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from support.contact_scenes import between_fingers

from robot_dynamics.contact.material import Material
from robot_dynamics.contact.surfaces import cylinder, hole, plane, sphere
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.hybrid import Contact, FrictionCone
from robot_dynamics.simulation.mujoco_model import (
    damping_ratio,
    mujoco_xml,
    surface_geoms,
)
from robot_dynamics.simulation.scene import Scene, SurfaceContact
from robot_dynamics.spatial import Vector3

TIP = [[0.05, 0.0, 0.0]]


def model(kind="rigid", surfaces=(), material=None):
    """Return the parsed model of a box between two fingers."""
    scene, start = between_fingers(material or Material(FrictionCone(0.4, 0.01)), kind)
    scene = Scene(scene.system, scene.contacts, surfaces)
    return etree.fromstring(mujoco_xml(scene, start, 2e-4, 4e-4))


@pytest.mark.parametrize(
    ("kind", "condim"), [("frictionless point", 1), ("frictional point", 3), ("soft finger", 4)]
)
def test_pushing_contacts_are_pairs_of_geoms(kind, condim):
    """One pair of geoms an arm, with the friction that its kind has; nothing else collides."""
    root = model(kind)
    pairs = root.findall("contact/pair")
    assert [int(pair.get("condim")) for pair in pairs] == [condim, condim]
    assert all(geom.get("contype") == "0" for geom in root.iter("geom"))
    friction = [float(x) for x in pairs[0].get("friction").split()]
    assert friction[0] == (0.4 if condim > 1 else 1e-5)
    assert friction[2] == (0.01 if condim == 4 else 1e-5)
    assert root.find("equality").findall("weld") == []


def test_pins_and_lines_are_two_connects_each():
    """Along the axis that they turn about: z of a pin, x of a line."""
    for kind in ("pin", "line"):
        assert len(model(kind).findall("equality/connect")) == 4
    assert len(model("rigid").findall("equality/weld")) == 2


def test_surfaces_are_geoms_of_the_world():
    """A plane, a ball and a cylinder, each touched by its points."""
    surfaces = (
        SurfaceContact("wall", plane((0.1, 0, 0), (-2.0, 0, 0)), TIP),
        SurfaceContact("ball", sphere((0.2, 0, 0), 0.1), TIP),
        SurfaceContact("bar", cylinder((0, 0, 0.3), (1, 0, 0), 0.1), [*TIP, [0, 0, 0.05]]),
    )
    root = model(surfaces=surfaces)
    kinds = {geom.get("name"): geom.get("type") for geom in root.findall("worldbody/geom")}
    assert kinds == {"wall": "plane", "ball": "sphere", "bar": "cylinder"}
    assert len(root.findall("contact/pair")) == 4


def test_a_hole_is_a_ring_of_flats():
    """Points are as deep in the flats as in the circle, to the difference of the two."""
    bore = hole((0.1, 0.2, 0.3), (1.0, 2.0, 2.0), 0.03, 0.05)
    *flats, bottom = surface_geoms("bore", bore)
    axis, mouth = np.array([1.0, 2.0, 2.0]) / 3.0, np.array([0.1, 0.2, 0.3])
    wider = 0.03 * (1.0 / np.cos(np.pi / len(flats)) - 1.0)
    assert wider < 4e-5
    rng = np.random.default_rng(1)
    for _ in range(50):
        across = np.cross(axis, rng.normal(size=3))
        across *= rng.uniform(0.028, 0.031) / np.linalg.norm(across)
        place = mouth - rng.uniform(0.001, 0.03) * axis + across
        # Inner faces are a point's radius beyond the hole.
        depths = []
        for part in flats:
            out, along, up = part.axes.T
            off = place - part.at
            assert abs(off @ up) < part.size[2]  # between mouth and bottom
            if abs(off @ along) < part.size[1]:
                depths.append(off @ out + part.size[0] + 5e-4)
        assert -1e-12 < bore(Vector3.of(place.tolist())) - max(depths) < wider + 1e-12
    # What the bottom's upper face is below the mouth.
    top = bottom.at + bottom.size[2] * bottom.axes[:, 2]
    assert_allclose(axis @ (mouth - top), 0.05 + 5e-4, atol=1e-12)


def test_an_elastic_surface_is_a_spring_that_a_load_presses_in():
    """Pushed with 20 N the box stands 20 N / k deep, half of it on each of two points.

    MuJoCo's own statics: the force over the depth, to the motion that remains after half a
    second. The damper is for the restitution with box and both fingers, 2.6 kg, behind it.
    """
    mujoco = pytest.importorskip("mujoco")
    material, tips = Material(FrictionCone(0.3), stiffness=1e4, restitution=0.3), 2
    points = [[0.05, 0.02, 0.0], [0.05, -0.02, 0.0]]
    wall = SurfaceContact("wall", plane((0.05, 0, 0), (-1, 0, 0)), points, material)
    root = model(surfaces=(wall,))
    stiffness, damping = (float(x) for x in root.find("contact/pair").get("solref").split())
    expected = 2.0 * damping_ratio(0.3) * np.sqrt(1e4 * 2.6 / tips)
    assert_allclose(damping / stiffness, expected / 1e4, rtol=1e-6)
    made = mujoco.MjModel.from_xml_string(etree.tostring(root).decode())
    made.opt.gravity[:] = 0.0
    data = mujoco.MjData(made)
    data.xfrc_applied[made.geom("wall_point0").bodyid[0], 0] = 20.0
    for _ in range(round(0.5 / made.opt.timestep)):
        mujoco.mj_step(made, data)
    assert data.ncon >= tips
    assert_allclose([c.dist for c in data.contact if c.dist < 0.0][:tips], -1e-3, rtol=1e-3)


@pytest.mark.parametrize("e", [0.2, 0.3, 0.9])
def test_the_damping_of_a_restitution(e):
    """Integrated with SciPy, a spring with that damper is left, once it would pull, at e v."""
    z = damping_ratio(e)

    def out(_, y):
        return y[0] + 2.0 * z * y[1]

    out.terminal, out.direction = True, -1
    end = solve_ivp(
        lambda _, y: [y[1], -y[0] - 2.0 * z * y[1]],
        (0, 9),
        [0.0, 1.0],
        events=out,
        rtol=1e-10,
        atol=1e-12,
    )
    assert_allclose(-end.y[1, -1], e, rtol=1e-6)


def test_less_restitution_than_a_damper_leaves():
    """Critical damping is the most there is."""
    assert damping_ratio(0.0) == damping_ratio(0.1) == 1.0


def test_surfaces_without_a_shape_are_planes_for_each_point():
    """Balls from inside and functions of the user's own: planes that move, one pair a point."""
    bowl = SurfaceContact("bowl", sphere((0, 0, 0), 0.1, inside=True), [TIP[0], [0, 0, 0]])
    dune = SurfaceContact("dune", lambda r: r.x * r.x - 1.0, TIP)
    root = model(surfaces=(bowl, dune))
    moving = [body for body in root.iter("body") if body.get("mocap") == "true"]
    names = ["bowl_tangent0", "bowl_tangent1", "dune_tangent0"]
    assert [body.get("name") for body in moving] == names
    assert [body.find("geom").get("type") for body in moving] == ["plane"] * 3
    pairs = {pair.get("geom2"): pair.get("geom1") for pair in root.findall("contact/pair")}
    assert [pairs[name] for name in names] == ["bowl_point0", "bowl_point1", "dune_point0"]


def test_untranslatable_contacts_are_refused():
    """Directions of the user's own are named; functions have no shape."""
    assert surface_geoms("dune", lambda r: r.x) == []
    scene, start = between_fingers(Material())
    contact = Contact.of_directions(np.eye(6)[:, 3:], scene.system.grasps[0])
    first = replace(scene.contacts[0], contact=contact)
    scene = Scene(scene.system, (first, scene.contacts[1]))
    with pytest.raises(RobotDynamicsError, match="arm 'arm0' would hold by directions"):
        mujoco_xml(scene, start, 2e-4, 4e-4)
