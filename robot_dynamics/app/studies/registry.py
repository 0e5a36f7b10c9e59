# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""All studies by name."""

from __future__ import annotations

from robot_dynamics.app.studies.study import Study
from robot_dynamics.errors import UnknownNameError

STUDIES = (
    Study(
        "space-robot", "two arms on a free-floating base catch a satellite and turn it", "space"
    ),
    Study(
        "space-robot-thrusters",
        "the same with thrusters that hold the base",
        "space",
        "run_with_thrusters",
    ),
    Study("mobile-manipulator", "two arms on a vehicle carry a box while it drives", "vehicle"),
    Study("flexible-base", "two arms on springs and dampers, which ring when they move", "sprung"),
    Study("unseren", "two arms with a jointed object: Unseren's architecture", "unseren"),
    Study(
        "unseren-monte-carlo",
        "the same with hundreds of wrong models and disturbances, on all cores",
        "unseren_monte_carlo",
        sampled=True,
    ),
    Study("fold", "two arms of seven joints fold rods and pliers", "fold"),
    Study("flexible-link", "an arm whose link bends, slewed with and without shaping", "slew"),
    Study(
        "separability", "active and passive joints apart, beside the unified model", "separability"
    ),
    Study(
        "yoshikawa-zheng",
        "two planar robots move a bar, press it on a wall and squeeze it, all at once",
        "yoshikawa_zheng.study",
        laws=("literal", "damped", "integral"),
    ),
)


def study_called(name: str) -> Study:
    """Return the study of a name.

    Raises:
        UnknownNameError: If there is none; it has the names that there are.
    """
    for study in STUDIES:
        if study.name == name:
            return study
    raise UnknownNameError("study", name, [study.name for study in STUDIES])
