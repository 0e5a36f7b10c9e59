# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Bad tasks of hybrid control are refused before any torque; that good ones keep their bars is
asked in test_run.
"""

import pytest

from robot_dynamics.app.run import simulate
from robot_dynamics.app.scenario import load_scenario
from robot_dynamics.errors import RobotDynamicsError

WITHOUT_FRICTION = "cell.arms.0.contact={kind: frictionless_point}"
OFF_THE_WALL = "cell.surfaces.0.xyz=[0.8, 0.0, 1.0]"
INTO_THE_WALL = "reference.touches=[{surface: wall, from_s: 12.5}]"


@pytest.mark.parametrize(
    ("name", "override", "message"),
    [
        pytest.param(
            "tray", WITHOUT_FRICTION, "cannot control the rotation about", id="no force closure"
        ),
        pytest.param(
            "wipe",
            OFF_THE_WALL,
            "the object is not on that surface",
            id="not on the surface",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "wipe",
            INTO_THE_WALL,
            "into 'wall' where it is not to be touched",
            id="against the constraint",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "tray",
            "reference.force=[{time_s: 0, squeeze_n: 15}]",
            "would slip or open",
            id="too little squeeze",
        ),
        pytest.param(
            "tray",
            "reference.segments=[{duration_s: 5, move: [0.5, 0.0, 0.0]}]",
            "'right_tool' would be at a singularity",
            id="singularity",
        ),
        pytest.param(
            "three_arms",
            "reference.segments=[{duration_s: 9, move: [0.0, 0.0, 0.62]}]",
            "singularity|does not reach",
            id="out of reach",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_bad_tasks_are_refused_before_any_torque(name, override, message, monkeypatch):
    """Each by a file with the mistake, with its reason; the plant never gets a torque."""
    from robot_dynamics.simulation.contact import ContactPlant

    def never(self, torque):
        raise AssertionError("a torque was sent")

    monkeypatch.setattr(ContactPlant, "step", never)
    with pytest.raises(RobotDynamicsError, match=message):
        simulate(load_scenario(name, [override]))


@pytest.mark.parametrize("leeway", [50, 0])
def test_a_tray_that_is_heavier_than_believed_is_squeezed_harder(leeway):
    """The constant squeeze of the plan drops it; the one that is chosen in the loop does not."""
    run = simulate(
        "tray",
        overrides=[
            "plant.object_mass_scale=1.6",
            "reference.segments=[{duration_s: 0.6, move: [0.0, 0.0, 0.08]}]",
            f"control.internal_force.leeway_n={leeway}",
        ],
    )
    slipped = run.recording["grasp_slip"].max()
    if leeway:
        assert run.recording.metadata.get("fault") is None
        assert slipped < 1e-3  # the scenario's own bar
        added = run.recording["added_internal_force"][:, 0].max()
        assert run.report["added_internal_force_max_n"] == pytest.approx(added)
        assert 10.0 < added < leeway
        assert any("added internal force max [N] is" in line for line in run.report["failures"])
    else:
        assert slipped > 5e-3
