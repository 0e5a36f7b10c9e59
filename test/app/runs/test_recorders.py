# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The columns that control and plant record."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from support.linkage_arms import linkage_cell

from robot_dynamics.app.runs.recorders import (
    _CONTROL_MEASURED_UNITS,
    _CONTROL_UNITS,
    _PLANT_UNITS,
    ContactRecorder,
    ControlRecorder,
    PlantRecorder,
    common_metadata,
    control_units,
    reference_metadata,
    unbounded_drives,
)
from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.laws import make_law
from robot_dynamics.app.scenarios.plant import scene_of
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.admittance import AdmittanceLaw
from robot_dynamics.control.gravity import GravityLaw
from robot_dynamics.control.hybrid.law import HybridLaw
from robot_dynamics.control.impedance import ImpedanceLaw
from robot_dynamics.control.jointed.law import JointedLaw
from robot_dynamics.manipulation.grasp_map import internal_force_unit
from robot_dynamics.manipulation.hybrid import FrictionCone
from robot_dynamics.model import LinkElement, pose
from robot_dynamics.simulation.contact.report import ContactMode, ContactReport
from robot_dynamics.simulation.engine import Truth
from robot_dynamics.simulation.sensors import Measurement

SEVEN = np.array([0.0, 0, 0, 0, 0, 0, 1.0])


@pytest.fixture(scope="module")
def law(scenario):
    """Return the scenario's control law."""
    return make_law(scenario)


def measured(tick, period=0.002):
    """Return a measurement and a plant with numbers that tell them apart."""
    measurement = Measurement(
        tick, tick * period, np.full(14, 1.0), np.full(14, 2.0), np.full((2, 6), 3.0)
    )
    truth = Truth.of(
        SEVEN, np.full(6, 4.0), np.full(6, 5.0), (1e-10, 2e-10, 3e-10), np.full(14, 6.0)
    )
    return measurement, SimpleNamespace(truth=lambda: truth)


class Step(NamedTuple):
    """A control step with numbers that tell its parts apart."""

    recorded: tuple
    reference: np.ndarray = np.zeros(1)


def stepped(law):
    """Return a step with as many numbers as a law's columns have."""
    values = {
        "estimated_pose": SEVEN,
        "estimated_twist": np.full(6, 8.0),
        "estimated_closure": np.full(6, 9.0),
        "estimated_internal_force": np.full(6, 10.0),
        "control_scales": np.full(8, 1.0),
    }
    return Step(tuple(values.get(name, np.zeros(width)) for name, width in law.columns.items()))


def test_streamed_references_replace_the_plan(scenario, law):
    """From its first row on; where the law does not run, the last reference stays."""
    control, plan = ControlRecorder(law, scenario, 8), ControlRecorder(law, scenario, 8)
    lasts = {}  # as a live view shows them
    for tick in range(700):
        row = np.full(25, float(min(tick, 200)))
        row[7:13] = tick < 150  # it moves up to there
        step = None if tick == 300 else stepped(law)._replace(reference=row)
        streamed = tick >= 100
        control.write(tick, np.full(14, 7.0), step, 12.5, streamed=streamed)
        plan.write(tick, np.full(14, 7.0), step, 12.5)
        if tick in (99, 100, 150, 300, 699):
            lasts[tick] = control.finish(2, last=True)
    found, own = control.finish(2), plan.finish(2)
    for name, part in {
        "reference_pose": slice(0, 7),
        "reference_twist": slice(7, 13),
        "reference_internal_force": slice(19, 25),
    }.items():
        assert np.array_equal(found[name][:100], own[name][:100]), name
        assert (found[name][100] == np.full(25, 100.0)[part]).all() or part.start == 7
        assert np.array_equal(found[name][300], found[name][299]), name
        for tick, alone in lasts.items():
            assert np.array_equal(alone[name], found[name][tick : tick + 1]), (name, tick)
    assert found["reference_pose"][400, 0] == 200.0
    # Its force changes up to period 200; it has settled half a second later.
    (interval,) = found.get("settled_intervals_s")
    assert interval == pytest.approx([201 * 0.002 + 0.5, 699 * 0.002])


def test_warnings_of_an_observer_say_that_they_are(scenario, law, monkeypatch):
    """Of the law that commands they stand by themselves."""
    monkeypatch.setattr(type(law), "metadata", {"warnings": ["left is about to slip."]})
    found = reference_metadata(scenario, law, 0, 1.0)["law_warnings"]
    assert found == ["left is about to slip."]
    own = replace(scenario.control, law="hold.py:Hold", observer="hybrid")
    found = reference_metadata(replace(scenario, control=own), law, 0, 1.0)["law_warnings"]
    assert found == ["the observer warns: left is about to slip."]


def test_both_sides_make_one_recording(scenario, law):
    """The two recordings of a run agree about it and merge; each value is where it belongs."""
    plant, control = (
        PlantRecorder(scene_of(scenario, law.system), scenario, 4),
        ControlRecorder(law, scenario, 4),
    )
    for tick in range(4):
        plant.write(*measured(tick))
        control.write(tick, np.full(14, 7.0), stepped(law), 12.5)
    recording = plant.finish(wall_time_s=1.0).merged(control.finish(2))
    assert len(recording) == 4
    for name, value in {
        "joint_position": 1.0,
        "joint_velocity": 2.0,
        "grasp_wrench": 3.0,
        "object_twist": 4.0,
        "internal_force": 5.0,
        "closure_position": 1e-10,
        "closure_rotation": 2e-10,
        "correction": 3e-10,
        "applied_torque": 6.0,
        "commanded_torque": 7.0,
        "estimated_twist": 8.0,
        "estimated_closure": 9.0,
        "estimated_internal_force": 10.0,
        "control_scales": 1.0,
        "step_time": 12.5,
    }.items():
        assert (recording[name] == value).all(), name
    assert recording.get("scenario") == scenario.name
    assert recording.get("ticks") == 4
    assert set(recording.get("units")) == set(recording.columns)


ALL = "squeeze [N], shear y [N], shear z [N], twist [N m], bending y [N m], bending z [N m]"


@pytest.mark.parametrize(
    ("name", "forces", "scales"),
    [
        ("wipe", ALL, 8),
        ("tray", "squeeze [N], twist [N m]", 8),
        ("fold", "force x [N], force y [N], force z [N]", 5),
        (
            "gravity",
            "twist [N m], bending y [N m], bending z [N m], squeeze [N], shear y [N], shear z [N]",
            5,
        ),
    ],
)
def test_units_name_internal_forces_and_scales_in_their_order(name, forces, scales):
    """On both sides as many as are recorded, and every column of the law has a unit."""
    scenario = load_scenario(name)
    law = make_law(scenario)
    plant, control = (
        PlantRecorder(scene_of(scenario, law.system), scenario, 1).finish(),
        control_units(law),
    )
    assert plant.get("units")["internal_force"] == f"{forces}: true"
    assert plant.get("units").keys() == plant.columns.keys()
    assert control["estimated_internal_force"] == f"{forces}: from the wrist sensors"
    assert control["reference_internal_force"].startswith(forces)
    count = len(forces.split(", "))
    assert plant["internal_force"].shape == (0, count)
    recorded = ControlRecorder(law, scenario, 1).finish(0)
    assert recorded["estimated_internal_force"].shape == (0, count)
    assert count == len(law.internal_force_names)
    assert len(control["control_scales"].split(", ")) == law.columns["control_scales"] == scales
    assert control.keys() >= law.columns.keys()


def test_the_reference_begins_at_the_start_tick(scenario, law):
    """The reference of a row is that of its time since the reference began."""
    control = ControlRecorder(law, scenario, 700)
    for tick in range(700):
        control.write(tick, np.zeros(14), stepped(law) if tick < 650 else None, 1.0)
    reference = law.reference
    recording = control.finish(100)
    row = reference.row(599 * scenario.control.period)
    np.testing.assert_array_equal(recording["reference_pose"][699], row[:7])
    np.testing.assert_array_equal(recording["reference_internal_force"][699], row[19:])
    np.testing.assert_array_equal(recording["reference_pose"][99], reference.start)
    # Of a step that the law did not make nothing is known.
    for name in law.columns:
        assert np.isnan(recording[name][650:]).all(), name
        assert np.isfinite(recording[name][:650]).all(), name


CONE = FrictionCone(0.5)
TWO = {"left": CONE, "right": CONE}


def report(name, state, force=0.0, slip=0.0, used=0.0, tilt=0.0):
    """Return a contact that presses with a force and slides at a speed."""
    return ContactReport(
        name, state, np.zeros(3), np.eye(3), np.array([0.5 * used * force, 0.0, force]),
        np.zeros(3),
        np.array([slip, 0.0]), 0.0, 0.0, CONE, 0, tilt,
    )  # fmt: skip


def test_forces_of_a_surface_add_up_and_slides_grow():
    """Two corners on a wall press together; a grasp that slides moves on, one that sticks not."""
    recorder = ContactRecorder(TWO, ["wall"], 0.01, np.zeros((1, 12)))
    assert recorder.columns == {
        "contact_wrench": 12, "grasp_slip": 2, "contact_force": 1, "surface_slip": 1,
        "grasp_gap": 2,
    }  # fmt: skip
    contacts = [
        report("left", ContactMode.STICKING, 30.0, 1e-9, 0.4),
        report("right", ContactMode.SLIDING, 30.0, 0.2, 1.0),
        report("wall", ContactMode.SLIDING, 4.0, 0.1),
        report("wall", ContactMode.SLIDING, 5.0, 0.3),
    ]
    recorder.values(contacts)
    wrenches, grasps, force, slid, _ = recorder.values(contacts)
    np.testing.assert_allclose(grasps, [0.0, 0.004])
    found = recorder.finish({"contact_wrench": wrenches[None], "grasp_slip": grasps[None]})
    assert found.keys() == {"grasp_slip", "internal_force", "friction_used"}
    np.testing.assert_allclose(found["friction_used"], [[0.4, 1.0]])
    np.testing.assert_allclose(force, [9.0])
    np.testing.assert_allclose(slid, [0.006])


def test_soft_fingers_tilt_while_they_touch():
    """A pad that has left the object lies on nothing; a point has no pad."""
    recorder = ContactRecorder(TWO, [], 0.01, np.zeros((1, 12)), soft_fingers=["right"])
    assert recorder.columns["grasp_tilt"] == 1
    for state, tilt in (
        (ContactMode.STICKING, 0.1),
        (ContactMode.SLIDING, 0.1),
        (ContactMode.OPEN, 0.0),
    ):
        contacts = [report("left", state, 3.0, tilt=0.2), report("right", state, 3.0, tilt=0.1)]
        values = dict(zip(recorder.columns, recorder.values(contacts), strict=True))
        assert values["grasp_tilt"].tolist() == [tilt]


def test_palms_that_come_to_the_object_slip_only_while_they_touch():
    """One that is 1 cm away at the start moves along it; the other one has lost it."""
    recorder = ContactRecorder(TWO, [], 0.01, np.zeros((1, 12)))
    for state, gap in ((ContactMode.OPEN, 0.01), (ContactMode.SLIDING, 0.0)):
        away = report("left", state, slip=0.1)._replace(gap=gap)
        lost = report("right", ContactMode.OPEN, slip=0.1)._replace(gap=0.0)
        values = dict(zip(recorder.columns, recorder.values([away, lost]), strict=True))
        assert values["grasp_gap"].tolist() == [gap, 0.0]
    np.testing.assert_allclose(values["grasp_slip"], [0.001, 0.002])


def test_the_limit_of_tilt_is_a_threshold_of_runs_with_soft_fingers(scenario):
    """A threshold of the scenario's own comes first."""
    for overrides, expected in (
        ([], 10.0),
        (["safety.tilt_limit_deg=3.0"], 3.0),
        (["acceptance.engine.grasp_tilt_max_deg=1.5"], 1.5),
        (["safety.tilt_limit_deg=.inf"], None),
    ):
        tray = load_scenario("tray", overrides)
        found = common_metadata(tray, build_system(tray), {})["acceptance"]
        assert found.get("grasp_tilt_max_deg") == expected
    found = common_metadata(scenario, build_system(scenario), {})["acceptance"]
    assert "grasp_tilt_max_deg" not in found


def test_without_surfaces_there_are_no_columns_of_them():
    """Columns exist only for existing surfaces."""
    recorder = ContactRecorder({"left": None}, [], 0.01, np.zeros((1, 6)))
    assert set(recorder.columns) == {"contact_wrench", "grasp_slip", "grasp_gap"}
    wrenches, *_ = recorder.values([report("left", ContactMode.HELD, 3.0, used=0.5)])
    found = recorder.finish({"contact_wrench": wrenches[None]})
    assert found["friction_used"].tolist() == [[0.0]]


def test_forces_on_a_hinge_are_those_by_the_object():
    """Each is the opposite of the hinge's force on the object, with the sign of its row."""
    rows = [(3, 1.0), (4, 1.0), (5, 1.0), (1, -1.0), (0, 1.0)]
    recorder = ContactRecorder(
        {"left": CONE}, ["wall", "door"], 0.01, np.zeros((0, 6)), {"door": rows}
    )
    assert recorder.columns.keys() >= {"contact_force", "surface_slip"}
    assert recorder.columns["holding_force"] == 5
    door = report("door", ContactMode.HELD)._replace(
        force=np.array([3.0, 0.0, -4.0]), moment=np.array([0.5, 0.25, 0.0])
    )
    held = report("left", ContactMode.STICKING)
    _, _, force, slid, holding, _ = recorder.values(
        [held, report("wall", ContactMode.STICKING, 7.0), door]
    )
    np.testing.assert_allclose(force, [7.0, 5.0])
    np.testing.assert_allclose(holding, [-3.0, 0.0, 4.0, 0.25, -0.5])
    np.testing.assert_allclose(slid, 0.0)


def test_internal_forces_are_those_of_the_contacts():
    """They are measured in the contacts' frames, in the order of the arms."""
    recovery = np.zeros((1, 12))
    recovery[0, [5, 11]] = 0.5  # half of what both push with
    recorder = ContactRecorder(TWO, ["wall"], 0.01, recovery)
    forces = [
        report("left", ContactMode.STICKING, 20.0),
        report("right", ContactMode.STICKING, 30.0),
    ]
    forces.append(report("wall", ContactMode.STICKING, 7.0))
    wrenches = recorder.values(forces)[0]
    assert recorder.finish({"contact_wrench": wrenches[None]})["internal_force"] == [[25.0]]


def test_drives_without_limits_are_named():
    """Arms whose joints state nothing; those that only follow their drives are left out."""
    box = LinkElement("box", 3.0, inertia=0.03 * np.eye(3))
    system = linkage_cell(1, box, [pose((-0.15, 0.0, 0.0))]).system
    (sentence,) = unbounded_drives(system)
    assert sentence.startswith("drives arm0_turn, arm0_near, arm0_crank, arm0_roll, arm0_bend,")
    assert "arm0_rod" not in sentence


def test_shipped_arms_have_limits():
    """Also those whose linkages have joints without any."""
    assert unbounded_drives(build_system(load_scenario("parallelogram_arms"))) == []


def stated_columns():
    """Return unit, order and frame of every column that a plant or a law of the package records.

    Internal forces are those of the scenario: in the place of their names is `...`.
    """
    forces = SimpleNamespace(names=("...",), internal_force_names=("...",))
    found = {**_PLANT_UNITS, "internal_force": f"{internal_force_unit(('...',))}: true"}
    rows = {name: ("plant", text) for name, text in found.items()}
    for law_class in (HybridLaw, ImpedanceLaw, AdmittanceLaw, JointedLaw, GravityLaw):
        law = object.__new__(law_class)  # its units alone are asked for: nothing is compiled
        law.system, law.kernel = forces, SimpleNamespace(distribution=forces)
        for name, text in {**_CONTROL_MEASURED_UNITS, **_CONTROL_UNITS, **law.units}.items():
            rows.setdefault(name, ("controller", text))
    return rows


def test_the_page_on_recordings_has_every_column():
    """Its table states side, unit, order and frame of each column as recordings do."""
    page = Path(__file__).resolve().parents[3] / "docs" / "recording.md"
    if not page.is_file():
        pytest.skip("needs the checkout, not an installed package")
    table = page.read_text(encoding="utf-8").partition("## Columns\n")[2].partition("\n## ")[0]
    shown = dict(re.findall(r"^\| `(\w+)` \| (\w+ \| .*) \|$", table, re.M))
    assert shown == {name: " | ".join(row) for name, row in stated_columns().items()}


def test_a_run_states_what_the_page_does(run):
    """Columns of a run are among those, and say the same of themselves."""
    stated = stated_columns()
    for name, text in run.recording.metadata["units"].items():
        start, dots, end = stated[name][1].partition("... [N]")
        assert text.startswith(start) and text.endswith(end) if dots else text == start, name
