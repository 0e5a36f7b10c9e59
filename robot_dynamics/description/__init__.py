# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reading and writing mechanisms: URDF and its relatives, loop joints, DH tables, whole models."""

from robot_dynamics.description.description import Description, Shape, Transmission
from robot_dynamics.description.dh import DHRow, dh_mechanism
from robot_dynamics.description.diagnosis import (
    DescriptionError,
    DescriptionWarning,
    Diagnosis,
    Problem,
)
from robot_dynamics.description.load import load_description
from robot_dynamics.description.loops import LoopFile, read_loops, write_loops
from robot_dynamics.description.mjcf import read_mjcf
from robot_dynamics.description.mjcf_writer import write_mjcf
from robot_dynamics.description.model_file import SavedModel, read_model, write_model
from robot_dynamics.description.urdf import read_urdf
from robot_dynamics.description.urdf_objects import read_urdf_object
from robot_dynamics.description.urdf_writer import write_urdf
from robot_dynamics.description.world import Part, joints_between, place

__all__ = [
    "DHRow",
    "Description",
    "DescriptionError",
    "DescriptionWarning",
    "Diagnosis",
    "LoopFile",
    "Part",
    "Problem",
    "SavedModel",
    "Shape",
    "Transmission",
    "dh_mechanism",
    "joints_between",
    "load_description",
    "place",
    "read_loops",
    "read_mjcf",
    "read_model",
    "read_urdf",
    "read_urdf_object",
    "write_loops",
    "write_mjcf",
    "write_model",
    "write_urdf",
]
