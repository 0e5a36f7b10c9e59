# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reading and writing mechanisms: URDF, loop joints and worlds; documents with located errors."""

from robot_dynamics.description.description import Description, Shape
from robot_dynamics.description.diagnosis import DescriptionError, Diagnosis, Problem
from robot_dynamics.description.load import load_description
from robot_dynamics.description.loops import read_loops, write_loops
from robot_dynamics.description.urdf import read_urdf
from robot_dynamics.description.world import Part, World, joints_between, place

__all__ = [
    "Description",
    "DescriptionError",
    "Diagnosis",
    "Part",
    "Problem",
    "Shape",
    "World",
    "joints_between",
    "load_description",
    "place",
    "read_loops",
    "read_urdf",
    "write_loops",
]
