# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Dynamics of any multibody system over the accelerations of its bodies (sections 3.7 and 8.13).

No spanning tree is favoured: every joint, in the tree or closing a loop, constrains its two bodies,
and one sparse system is solved for all accelerations and all constraint forces. Its cost grows
with the number of bodies where that of joint-space methods grows with the length of chains and of
loops, as in a ladder. It runs on the model's data: nothing is traced or compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, diags

from robot_dynamics.dynamics.joint_equations import JointEquations, joint_equations
from robot_dynamics.dynamics.joint_layout import JointLayout
from robot_dynamics.dynamics.redundant import ConstrainedMotion, constraint_names
from robot_dynamics.dynamics.saddle import SaddlePoint
from robot_dynamics.dynamics.scaling import constraint_scales
from robot_dynamics.errors import RobotDynamicsError, require_length
from robot_dynamics.model import Model
from robot_dynamics.spatial import Force, Inertia, Motion, Symmetric3, Vector3

Array = NDArray[np.float64]
