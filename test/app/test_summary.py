# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A report in a few lines."""

from robot_dynamics.app.report import summary


def test_a_good_run(run):
    """The lines say what ran, how it went, and the figures with their units."""
    lines = list(summary(run.report | {"ok": True}))
    assert lines[0] == "lift_box with the plant 'engine': good"
    assert any("mm from the reference" in line for line in lines)
    assert max(map(len, lines)) <= 130


def test_figures_that_are_missing(run):
    """A figure that could not be computed is a question mark, not an error."""
    empty = dict.fromkeys(run.report) | {"ok": False, "scenario": "x", "plant": "engine"}
    lines = list(summary(empty))
    assert "NOT GOOD" in lines[0]
    assert "? mm" in lines[1]


def test_a_run_on_surfaces(run):
    """Forces on surfaces, and how long before it began a slip was foreseen, have their lines."""
    figures = {
        "contact_force_max_n": 43.9,
        "contact_force_error_settled_fraction": 0.001,
        "contact_force_error_moving_fraction": 0.058,
        "touch_settling_max_s": 0.17,
        "slip_warning_lead_s": 0.56,
        "surface_slip_max_m": 0.0664,
        "delay_margin_s": None,
        "added_internal_force_max_n": 24.31,
    }
    text = "\n".join(summary(run.report | figures))
    assert (
        "43.9 N at most; off by 0.1 % at rest and 5.8 % moving; touches settle in 0.17 s" in text
    )
    assert "; control added 24.3 N at most" in text
    assert "foreseen 0.56 s before it began; 66.4 mm on surfaces at most" in text
    assert "limit of stability" not in text  # without a servo
    assert "limit of stability" in "\n".join(summary(run.report))
    assert "on surfaces" not in "\n".join(summary(run.report))


def test_what_was_never_at_rest(run):
    """Figures of the time at rest are left out together where there was none."""
    missing = ("object_position_error_settled_m", "internal_force_error_settled_n")
    figures = {"contact_force_max_n": 0.0, "control_step_p99_us": 8172.3}
    text = "\n".join(summary(run.report | dict.fromkeys(missing) | figures))
    assert text.count("never at rest") == 2
    assert "?" not in text
    assert "on surfaces    0 N at most\n" in text
    assert "99 % within 8172 us" in text


def test_zero_has_no_sign(run):
    """A squeeze that rounds to zero from below."""
    text = "\n".join(summary(run.report | {"squeeze_range_n": [-0.02, 20.04]}))
    assert "squeeze 0.0 to 20.0 N" in text


def test_arms_that_hold_nothing(run):
    """Nothing is said of an object, of a force within it and of grasps."""
    text = "\n".join(summary(run.report | {"law": "gravity"}))
    assert "torques" in text
    assert not any(f"\n  {word}" in text for word in ("object", "internal", "grasps"))


def test_moments_on_a_hinge(run):
    """Beside the forces; a line bears none."""
    names = ("max", "error_max", "error_settled")
    forces = {f"holding_force_{name}_n": 20.1 for name in names}
    moments = {f"holding_moment_{name}_nm": 0.25 for name in names}
    line = "\n".join(summary(run.report | forces))
    assert "20.1 N at most; off by 20.1 N at most and 20.1 N at rest" in line
    assert "20.1 N and 0.25 N m at most" in "\n".join(summary(run.report | forces | moments))
