# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Figures of internal forces, touches, slip, hinges and lines."""

import numpy as np
import pytest

from robot_dynamics.app.recordings.metrics import (
    added_internal_forces,
    contact_figures,
    holding_figures,
    holdings,
    internal_force_errors,
    largest,
    moments,
    smallest,
    squeezes,
    touches,
    warning_lead,
)
from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.manipulation.grasp_map import TRANSMITTED


def off_by(error, **metadata):
    """Return a recording of one row whose internal force is off by so much."""
    off = np.array([error], dtype=float)
    columns = {"tick": np.zeros(1), "internal_force": off, "reference_internal_force": 0.0 * off}
    return Recording(columns, metadata)


def test_forces_and_moments_of_rigid_grasps_are_each_taken_together():
    """Of two arms one wrench, of three two; names tell where the squeezes are."""
    two = off_by([1.0, 2.0, 2.0, 3.0, 4.0, 0.0], internal_forces=TRANSMITTED)
    assert squeezes(two.get("internal_forces")) == [3]
    assert moments(two).tolist() == [True] * 3 + [False] * 3
    np.testing.assert_allclose(internal_force_errors(two), [[5.0], [3.0]])
    names = [f"{name} of {arm}" for arm in "ab" for name in TRANSMITTED]
    three = off_by([1.0, 2, 2, 3, 4, 0, 4, 0, 0, 0, 0, 12], internal_forces=names)
    assert squeezes(three.get("internal_forces")) == [3, 9]
    np.testing.assert_allclose(internal_force_errors(three), [[13.0], [5.0]])


def test_other_grasps_name_theirs():
    """Names tell squeezes and moments; forces and moments are each taken together."""
    names = ["squeeze a-b", "twist", "squeeze b-c", "moment x of a"]
    named = off_by([3.0, 6.0, 4.0, 8.0], internal_forces=names)
    assert squeezes(named.get("internal_forces")) == [0, 2]
    assert moments(named).tolist() == [False, True, False, True]
    np.testing.assert_allclose(internal_force_errors(named), [[5.0], [10.0]])


def test_added_internal_forces_are_separate_from_errors():
    """It is taken off the error, and has a size of its own; laws that add nothing tell nothing."""
    named = off_by([33.0, 6.0, 4.0, 8.0], internal_forces=["squeeze", "twist", "shear", "moment"])
    assert added_internal_forces(named) is None
    named.columns["added_internal_force"] = np.array([[30.0, 0.0, 40.0, 1.0]])
    np.testing.assert_allclose(
        internal_force_errors(named), [[np.hypot(3.0, 36.0)], [np.hypot(6.0, 7.0)]]
    )
    np.testing.assert_allclose(added_internal_forces(named), [[50.0], [1.0]])


def test_after_a_fault_nothing_is_added():
    """The law does not run then, and its columns have no numbers."""
    named = off_by([0.0, 0.0], internal_forces=["squeeze", "twist"], fault="at 0.1 s: torn")
    named.columns["added_internal_force"] = np.array([[3.0, 4.0], [np.nan, np.nan]])
    np.testing.assert_allclose(added_internal_forces(named), [[3.0], [4.0]])


def test_a_single_arm_has_none():
    """Without internal forces nothing is off."""
    one = off_by([], internal_forces=[])
    assert squeezes(one.get("internal_forces")) == []
    np.testing.assert_array_equal(internal_force_errors(one), [[0.0], [0.0]])


def test_six_named_forces_have_the_squeeze_where_its_name_is():
    """Wherever it stands, and none without the name."""
    named = ["squeeze a-b", "shear x", "shear y", "twist", "bending x", "bending y"]
    assert squeezes(TRANSMITTED) == [3]
    assert squeezes(named) == [0]
    assert squeezes(["moment y", *["force x"] * 5]) == []


def test_of_numbers():
    """They are those of NumPy, of arrays of any shape."""
    values = np.array([[1.0, -4.0], [3.0, 2.0]])
    assert (largest(values), smallest(values)) == (3.0, -4.0)


@pytest.mark.parametrize("values", [[], [1.0, np.nan], [np.inf], [-np.inf, 0.0]])
def test_of_what_is_none(values):
    """A threshold that compares with None is not kept by accident."""
    assert largest(np.array(values)) is None
    assert smallest(np.array(values)) is None


PERIOD = 0.01


@pytest.fixture
def recording():
    """Two seconds: a force of 10 N is wanted from 0.2 s on, 20 N from 1.2 s on.

    The surface is felt at 0.3 s, bounces once, and is right from 0.4 s on. The reference moves at
    0.1 m/s until 0.8 s, then rests.
    """
    t = PERIOD * np.arange(200)
    wanted = np.where(t >= 0.195, 10.0, 0.0) + np.where(t >= 1.195, 10.0, 0.0)
    force = np.where(t >= 0.295, wanted, 0.0)
    force[32:34] = 0.0  # a bounce
    force[34:40] = 15.0
    twist = np.zeros((200, 6))
    twist[:80, 3] = 0.1
    columns = {
        "tick": np.arange(200),
        "contact_force": force[:, None],
        "reference_contact_force": wanted[:, None],
        "object_twist": 0.7 * twist,
        "reference_twist": twist,
    }
    return Recording(columns, {"period_s": PERIOD, "slip_tolerance_m": 1e-3})


def test_a_touch_is_found(recording):
    """Its beginning, its speed, the number of later contacts, and the time of settling."""
    (one,) = touches(recording)
    assert (one.first, one.end, one.contacts, one.settled) == (30, 200, 2, 40)
    assert one.speed == pytest.approx(0.07)
    figures = contact_figures(recording)
    assert figures["touch_contacts_max"] == 2
    assert figures["touch_speed_max"] == pytest.approx(0.07)
    assert figures["touch_settling_max_s"] == pytest.approx(0.1)
    assert figures["contact_force_max_n"] == 20.0


def test_errors_count_by_whether_the_object_moves(recording):
    """An error while it moves, and another at rest, appear where they belong."""
    recording.columns["contact_force"][70] = 10.8  # moving, 0.4 s after the touch
    recording.columns["contact_force"][190] = 19.8  # at rest
    figures = contact_figures(recording)
    assert figures["contact_force_error_moving_fraction"] == pytest.approx(0.08)
    assert figures["contact_force_error_settled_fraction"] == pytest.approx(0.01)
    assert figures["contact_speed_moving_max"] == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("speed", "moving", "resting"),
    [
        (0.0201, 0.08, None),
        (0.0199, None, None),
        (2e-6, None, None),
        (5e-7, None, 0.08),
    ],
)
def test_how_fast_the_object_moves_and_rests(recording, speed, moving, resting):
    """It moves from 0.02 m/s on, and rests below 1e-6 m/s."""
    recording.columns["reference_twist"][:, 3] = speed
    recording.columns["contact_force"][70] = 10.8
    figures = contact_figures(recording)
    assert figures["contact_force_error_moving_fraction"] == pytest.approx(moving)
    assert figures["contact_force_error_settled_fraction"] == pytest.approx(resting)


@pytest.mark.parametrize(("row", "error"), [(59, 0.0), (60, 1.0), (149, 0.0), (150, 1.0)])
def test_how_long_transients_last(recording, row, error):
    """0.3 s after the touch in row 30 and the change in row 120."""
    recording.columns["contact_force"][row] *= 2.0
    figures = contact_figures(recording)
    kind = "moving" if row < 80 else "settled"
    assert figures[f"contact_force_error_{kind}_fraction"] == pytest.approx(error)


@pytest.mark.parametrize(("row", "error"), [(108, 0.0), (109, 0.1)])
def test_how_long_a_rest_takes_to_count(recording, row, error):
    """The 30th row of 10.1 ms after the last motion is the first beyond 0.3 s."""
    recording.metadata["period_s"] = 0.0101
    recording.columns["contact_force"][row] = 11.0
    figures = contact_figures(recording)
    assert figures["contact_force_error_settled_fraction"] == pytest.approx(error)


@pytest.mark.parametrize(("force", "settled"), [(10.49, 34), (10.505, 40), (9.51, 34), (9.49, 40)])
def test_how_near_a_settled_force_is(recording, force, settled):
    """Within a twentieth of the wanted one."""
    recording.columns["contact_force"][34:40] = force
    assert touches(recording)[0].settled == settled


@pytest.mark.parametrize("row", [45, 125])
def test_transients_do_not_count(recording, row):
    """Within 0.3 s of the touch, and of a change of the wanted force, errors are no figures."""
    recording.columns["contact_force"][row] *= 2.0
    figures = contact_figures(recording)
    assert figures["contact_force_error_moving_fraction"] == 0.0
    assert figures["contact_force_error_settled_fraction"] == 0.0


def test_a_touch_that_never_settles(recording):
    """A force that keeps away from the wanted one settles at the end of the touch, not before."""
    recording.columns["contact_force"][34:] *= 0.9
    assert touches(recording)[0].settled == 200
    assert contact_figures(recording)["touch_settling_max_s"] == pytest.approx(1.7)


def test_a_surface_that_is_never_touched(recording):
    """Without a touch there is nothing to say of touches: figures are missing, not zero."""
    recording.columns["contact_force"][:] = 0.0
    figures = contact_figures(recording)
    assert touches(recording) == []
    for name in ("touch_settling_max_s", "contact_force_error_settled_fraction"):
        assert figures[name] is None


def test_a_slip_and_the_warning_before_it(recording):
    """The lead is the time from the first negative margin to the first real slip."""
    slip, margin = np.zeros((200, 2)), np.full((200, 2), 0.4)
    slip[150:, 1] = 2e-3
    margin[120:, 1] = -0.1
    recording.columns.update(grasp_slip=slip, slip_margin=margin)
    recording.columns["surface_slip"] = np.zeros((200, 1))
    recording.columns["grasp_tilt"] = np.full((200, 1), 0.05)
    figures = contact_figures(recording)
    assert figures["grasp_tilt_max_deg"] == pytest.approx(np.degrees(0.05))
    assert figures["grasp_slip_max_m"] == 2e-3
    assert figures["slip_margin_min"] == pytest.approx(-0.1)
    assert figures["slip_warning_lead_s"] == pytest.approx(0.3)
    margin[5] = -0.1  # taken back long before the slip
    assert warning_lead(recording) == pytest.approx(0.3)
    margin[:] = 0.4
    assert warning_lead(recording) == pytest.approx(-0.5)  # never said
    slip[:] = 0.0
    assert warning_lead(recording) is None


@pytest.mark.parametrize(
    ("slipped", "until", "lead"),
    [(1.01e-3, 151, 0.3), (0.99e-3, 151, None), (1.01e-3, 150, -0.5)],
)
def test_which_slips_and_warnings_count(recording, slipped, until, lead):
    """A slip beyond the tolerance, 1 mm, in row 150; a warning that is not taken back by then."""
    slip, margin = np.zeros((200, 1)), np.full((200, 1), 0.4)
    slip[150:], margin[120:until] = slipped, -0.1
    recording.columns.update(grasp_slip=slip, slip_margin=margin)
    assert warning_lead(recording) == pytest.approx(lead)


def test_of_several_forces_of_a_surface_the_push_counts(recording):
    """The wall's commanded force follows the hole's in the row; a touch is found on the wall."""
    wanted = recording["reference_contact_force"]
    hole = np.zeros((200, 1))
    columns = {
        **recording.columns,
        "contact_force": np.hstack([hole + 3.0, recording["contact_force"]]),
        "reference_contact_force": np.hstack([np.zeros((200, 4)), wanted]),
    }
    both = Recording(columns, {**recording.metadata, "surface_rows": [0, 4]})
    (one,) = touches(both)
    assert (one.surface, one.first) == (1, 30)
    assert contact_figures(both)["guide_force_max_n"] == 3.0
    assert "guide_force_max_n" not in contact_figures(recording)


def test_a_run_without_contacts_has_no_such_figures(run):
    """Free motion is reported as before."""
    assert contact_figures(run.recording) == {}


def test_forces_that_nobody_wants_are_figures(recording):
    """A law that commands no force on surfaces has none of the errors, but presses on them."""
    del recording.columns["reference_contact_force"]
    recording.columns["contact_force"][70] = 113.0
    assert contact_figures(recording) == {"contact_force_max_n": 113.0}


@pytest.fixture
def hinged():
    """A door with two forces and a moment, a rail with one force, and a wall."""
    force = np.tile([3.0, 4.0, 0.5, 10.0], (10, 1))
    wanted = np.tile([7.0, 3.0, 4.0, 0.5, 10.0], (10, 1))  # of the wall first
    columns = {
        "tick": np.arange(10),
        "holding_force": force,
        "contact_force": np.tile([7.0, 5.0, 10.0], (10, 1)),
        "reference_contact_force": wanted,
        "object_twist": np.zeros((10, 6)),
        "reference_twist": np.zeros((10, 6)),
    }
    rows = [
        ["door", 1, "N"],
        ["door", 2, "N"],
        ["door", 3, "N m"],
        ["rail", 4, "N"],
    ]
    return Recording(
        columns,
        {
            "period_s": 0.01,
            "surface_rows": [0, 1, 4],
            "holding_rows": rows,
            "holding_axes": ["x", "y", "-x", "x"],
        },
    )


SETTLED = np.arange(10) >= 5


def test_errors_appear_where_they_belong(hinged):
    """Those of a force in both of its components, those of a moment, those of another one."""
    figures = holding_figures(hinged, SETTLED)
    assert figures["holding_force_max_n"] == 10.0
    assert figures["holding_moment_max_nm"] == 0.5
    assert {value for name, value in figures.items() if "error" in name} == {0.0}
    hinged.columns["holding_force"][2, :2] += [0.3, 0.4]  # moving
    hinged.columns["holding_force"][7, 3] -= 0.2  # at rest
    hinged.columns["holding_force"][8, 2] += 0.1
    figures = holding_figures(hinged, SETTLED)
    assert figures["holding_force_error_max_n"] == pytest.approx(0.5)
    assert figures["holding_force_error_settled_n"] == pytest.approx(0.2)
    assert figures["holding_moment_error_settled_nm"] == pytest.approx(0.1)
    hinged.columns["holding_force"][0, 0] = np.nan
    assert holding_figures(hinged, SETTLED)["holding_force_max_n"] is None


def test_hinges_and_lines_do_not_count_as_touches(hinged):
    """Figures of touches are those of the wall; each hinge and line stands by itself."""
    assert contact_figures(hinged)["contact_force_max_n"] == 7.0
    found = [(one.name, one.unit, one.axes, one.force.shape[1]) for one in holdings(hinged)]
    assert found == [
        ("door", "N", ("x", "y"), 2),
        ("door", "N m", ("-x",), 1),
        ("rail", "N", ("x",), 1),
    ]
    del hinged.metadata["holding_axes"]  # as in recordings of before
    assert [one.axes for one in holdings(hinged)] == [("1", "2"), ("1",), ("1",)]


def test_without_hinges_there_are_no_figures(hinged):
    """Nor of lines."""
    del hinged.columns["holding_force"]
    assert holding_figures(hinged, SETTLED) == {}


def test_forces_on_hinges_that_nobody_wants_are_figures(hinged):
    """Their sizes, without errors."""
    del hinged.columns["reference_contact_force"]
    figures = holding_figures(hinged, SETTLED)
    assert figures == {"holding_force_max_n": 10.0, "holding_moment_max_nm": 0.5}
    assert [one.wanted for one in holdings(hinged)] == [None] * 3
    assert contact_figures(hinged) == {"contact_force_max_n": 7.0}
