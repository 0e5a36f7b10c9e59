# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Friction, stiffness and place of a plane that arms press with an object."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.payloads import NOISE, carried, record

import robot_dynamics as rd
from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.app.scenarios.cell import build_system, pose_matrix
from robot_dynamics.description.orientations import rpy_of_rotation
from robot_dynamics.identification.motion import ArmKinematics
from robot_dynamics.identification.pressed_plane import PressedPlaneEquations
from robot_dynamics.identification.signals import IdentificationError

BOX = (10.0, np.zeros(3), np.diag([0.2083333333333333, 0.15, 0.2083333333333333]))
POINT = np.array([0.02, -0.03, -0.25])
MU, STIFFNESS, DISSIPATION = 0.35, 400.0, 2.0


@pytest.fixture(scope="module")
def arms():
    """Return the exact motion of our two arms."""
    return carried("our arms", 0.004)


def pressing(arms, rng, stiffness=STIFFNESS, mass=BOX[0], bias=0.0, place=None):
    """Return two noisy motions, in the air and on a plane, and the plane as described.

    The plane is so soft that all of the motion presses it, with the law of Hunt and Crossley and
    with Coulomb's friction.

    Args:
        arms: The motion.
        rng: Random numbers.
        stiffness: Stiffness of the plane [N/m].
        mass: Mass of the object [kg].
        bias: Bias of the first sensor along x [N].
        place: True pose (4, 4) of the plane in the described one; as described by default.
    """
    place = np.eye(4) if place is None else place
    air, on = (record(arms, (mass, *BOX[1:]), rng) for _ in range(2))
    R, w = arms.pose[:, :3, :3], arms.twist[:, :3]
    r = R @ POINT
    at, v = arms.pose[:, :3, 3] + r, arms.twist[:, 3:] + np.cross(w, r)
    frame = np.eye(4)
    frame[:3, :3] = Rotation.from_euler("xyz", [0.1, -0.2, 0.3]).as_matrix()
    true = frame @ place
    n = true[:3, 2]
    heights = at @ n
    frame[:3, 3] = n * (heights.max() + 0.01)
    true = frame @ place
    depth = (true[:3, 3] - at) @ n
    N = stiffness * depth * (1.0 - DISSIPATION * v @ n)
    slip = v - np.outer(v @ n, n)
    f = N[:, None] * (n - MU * slip / np.linalg.norm(slip, axis=1, keepdims=True).clip(1e-9))
    assert N.min() > 1.0
    # The first arm bears it all.
    back = np.swapaxes(arms.poses[0][:, :3, :3], 1, 2)
    own = np.hstack([np.cross(at - arms.poses[0][:, :3, 3], f), f]).reshape(-1, 2, 3)
    wrenches = on.wrenches.copy()
    wrenches[:, 0] -= np.einsum("nij,nkj->nki", back, own).reshape(-1, 6)
    for one in (air.wrenches, wrenches):
        one[:, 0, 3] += bias
    count = len(on.q)
    return [
        replace(air, touched=np.zeros((count, 1))),
        replace(on, wrenches=wrenches, touched=np.ones((count, 1))),
    ], frame


def equations(arms, frame, described=(0.5, 0.0, 0.0, 0.0, 1.0 / 300.0, 0.0)):
    """Return the equations of a plane."""
    return PressedPlaneEquations(
        ArmKinematics(arms.system), arms.grasps, frame, POINT, np.array(described), NOISE, 5.0
    )


def test_a_plane_is_found_within_its_deviations(arms):
    """Friction to 1 %, stiffness to 2 %, with another mass, a bias, and a displaced plane."""
    rng = np.random.default_rng(0)
    place = np.eye(4)
    place[:3, :3] = Rotation.from_rotvec([0.01, -0.006, 0.0]).as_matrix()
    place[2, 3] = 0.003
    motions, frame = pressing(arms, rng, mass=12.0, bias=8.0, place=place)
    found = equations(arms, frame).identify(motions, slice(0, 1))
    values = np.concatenate([found.force.values[[0, 3]], found.place.values[:4]])
    deviations = np.concatenate([found.force.deviations[[0, 3]], found.place.deviations[:4]])
    true = np.array([MU, 12.0, 0.003, 0.01, -0.006, 1.0 / STIFFNESS])
    assert (np.abs(values - true) < 4.0 * deviations).all(), (values - true) / deviations
    assert deviations[0] < 0.01 * MU
    assert deviations[-1] < 0.02 / STIFFNESS
    assert found.force.white
    assert found.held_out[1] < 3.0 < 0.1 * found.held_out[0]


def test_a_face_presses_like_a_point(arms):
    """All three rows of the surface are touched, and none is of another surface."""
    motions, frame = pressing(arms, np.random.default_rng(0))
    point = equations(arms, frame).identify(motions, slice(0, 1))
    motions = [replace(one, touched=np.repeat(one.touched, 3, axis=1)) for one in motions]
    face = equations(arms, frame).identify(motions, slice(0, 3))
    assert face.force.values == pytest.approx(point.force.values, abs=1e-12)
    with pytest.raises(IdentificationError, match="presses it in 0 instants"):
        equations(arms, frame).identify(motions, slice(0, 2))
    # Without its law, the controller does not tell whether the object touches.
    motions[1].touched[:] = np.nan
    with pytest.raises(IdentificationError, match="presses it in 0 instants"):
        equations(arms, frame).identify(motions, slice(0, 3))


def test_deviations_of_planes_hold(arms):
    """Of noisy recordings, 68 and 95 % are within one and 1.96 deviations."""
    scores, rng = [], np.random.default_rng(1)
    for _ in range(8):
        motions, frame = pressing(arms, rng)
        found = equations(arms, frame).identify(motions, slice(0, 1))
        scores.append((found.force.values[0] - MU) / found.force.deviations[0])
        errors = found.place.values[:4] - [0.0, 0.0, 0.0, 1.0 / STIFFNESS]
        scores += [*(errors / found.place.deviations[:4])]
    sizes = np.abs(scores)
    # 40 scores, correlated within a fit: three standard errors of the shares.
    assert np.mean(sizes < 1.0) == pytest.approx(0.75, abs=0.22)
    assert np.mean(sizes < 1.96) > 0.82


def cell(frame):
    """Return `lift_box` with a plane that is harder and smoother than the true one."""
    rpy = [round(float(one), 12) for one in rpy_of_rotation(frame[:3, :3])]
    surface = (
        f"{{name: plane, kind: plane, xyz: {frame[:3, 3].tolist()}, rpy: {rpy}, "
        f"part: {{xyz: {POINT.tolist()}}}, friction: 0.2, stiffness: 5.0e+2, restitution: 1.0}}"
    )
    return rd.load_scenario("lift_box", [f"cell.surfaces=[{surface}]"])


def recordings_of(arms, motions, scenario):
    """Return motions as recordings."""
    metadata = {
        "scenario": scenario.name,
        "scenario_text": scenario.text(),
        "joints": list(arms.system.joint_names),
        "period_s": arms.period,
    }
    return [
        Recording(
            {
                "tick": np.arange(len(one.q), dtype=float),
                "joint_position": one.q,
                "grasp_wrench": one.wrenches.reshape(len(one.q), -1),
                "touched": one.touched,
            },
            metadata,
        )
        for one in motions
    ]


def test_a_surface_is_corrected_in_its_scenario(arms, tmp_path):
    """Friction, stiffness and place are written."""
    place = np.eye(4)
    place[:3, :3] = Rotation.from_rotvec([0.01, -0.006, 0.0]).as_matrix()
    place[2, 3] = 0.003
    motions, frame = pressing(arms, np.random.default_rng(3), place=place)
    scenario = cell(frame)
    found = rd.identify(recordings_of(arms, motions, scenario), scenario, what="surfaces")
    assert not found.warnings
    values = json.loads(found.write_report(tmp_path / "r.json").read_text())["surfaces"]["plane"]
    assert values["friction"]["before"] == 0.2
    assert values["friction"]["value"] == pytest.approx(MU, rel=0.01)
    assert "friction" in "".join(found.lines)
    assert found.plot(tmp_path / "r.png").exists()
    [file] = found.write_scenario(tmp_path / "corrected.yaml", None)
    [surface] = rd.load_scenario(file).cell.surfaces
    assert surface.friction == pytest.approx(MU, rel=0.01)
    assert surface.stiffness == pytest.approx(STIFFNESS, rel=0.02)
    touched = (arms.pose[:, :3, :3] @ POINT + arms.pose[:, :3, 3]).mean(axis=0)
    true, corrected, before = (
        (touched - one[:3, 3]) @ one[:3, 2] for one in (frame @ place, pose_matrix(surface), frame)
    )
    assert abs(corrected - true) < 3e-4 < 1e-3 < abs(before - true)


def test_surfaces_that_are_not_pressed_are_refused(arms):
    """One sentence names the surface, or the column that is missing."""
    motions, frame = pressing(arms, np.random.default_rng(4))
    scenario = cell(frame)
    air, on = recordings_of(arms, motions, scenario)
    with pytest.raises(IdentificationError, match="'plane': the object presses it in 0 instants"):
        rd.identify(air, scenario, what="surfaces")
    with pytest.raises(IdentificationError, match="is in the air in 0"):
        rd.identify(on, scenario, what="surfaces")
    without = {name: on[name] for name in ("tick", "joint_position", "grasp_wrench")}
    with pytest.raises(IdentificationError, match="no column 'touched'"):
        rd.identify(Recording(without, on.metadata), scenario, what="surfaces")
    with pytest.raises(IdentificationError, match="'lift_box' has no surface; expected a plane"):
        rd.identify(air, rd.load_scenario("lift_box"), what="surfaces")
    wider = {**without, "touched": np.repeat(on["touched"], 2, axis=1)}
    with pytest.raises(
        IdentificationError, match=r"'touched' has 2 numbers .* 1, of all surfaces"
    ):
        rd.identify(Recording(wider, on.metadata), scenario, what="surfaces")


@pytest.mark.parametrize("what", ["surfaces", "frames"])
def test_a_jointed_object_is_refused(what):
    """Its parts move, so that it has no single mass and pose."""
    scenario = rd.load_scenario("fold")
    metadata = {
        "scenario": scenario.name,
        "joints": list(build_system(scenario).joint_names),
        "period_s": scenario.control.period,
    }
    recording = Recording({"tick": np.zeros(1)}, metadata)
    with pytest.raises(IdentificationError, match="the object has a joint; expected a rigid"):
        rd.identify(recording, scenario, what=what)


@pytest.mark.slow
@pytest.mark.parametrize("stiffness", ["2.0e+4", ".inf"])
def test_a_simulated_wall_is_found(stiffness):
    """Friction and stiffness of the plant's wall; of a rigid wall a bound of its stiffness."""
    segments = "[{duration_s: 1, move: [0.05, 0, 0]}, {duration_s: 1.2}, "
    segments += "{duration_s: 1, move: [0, 0, 0.1]}, {duration_s: 1, move: [0, 0.05, -0.1]}, "
    segments += "{duration_s: 0.5}, {duration_s: 1, move: [-0.05, 0, 0]}]"
    run = rd.simulate(
        "wipe",
        overrides=[
            "control.rate_hz=250",
            f"cell.surfaces.0.stiffness={stiffness}",
            f"reference.segments={segments}",
            "reference.touches.0.until_s=5.025",
            "reference.touches.0.changes.0.time_s=1.5",
            "plant.sensors.position=1.0e-4",
            "plant.sensors.force=0.3",
            "plant.sensors.moment=0.02",
        ],
    )
    found = rd.identify(run.recording, "wipe", what="surfaces")
    values = found.json["surfaces"]["wall"]
    friction, compliance = values["friction"], values["compliance_m_per_n"]
    assert abs(friction["value"] - 0.48) < 4.0 * friction["standard_deviation"] < 0.01
    rigid = stiffness == ".inf"
    off = abs(compliance["value"] - (0.0 if rigid else 1.0 / float(stiffness)))
    assert off < 4.0 * compliance["standard_deviation"] < 0.2e-4
    assert ("stiffness" in "".join(values["not_observable"])) == rigid
