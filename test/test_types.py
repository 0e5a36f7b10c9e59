# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""User programs under `mypy --strict`: no error in a right one, one at each wrong line."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import robot_dynamics

pytest.importorskip("mypy")
FOLDER = Path(robot_dynamics.__file__).parent

GOOD = """
import numpy as np
from numpy.typing import NDArray

import robot_dynamics as rd

robot: rd.Robot = rd.load("arm.urdf", joint_friction=True, gravity=(0.0, 0.0, -1.62))
held: rd.Robot = robot.replace(joint_friction="coulomb")
n = robot.model.nv
q, qd, qdd = np.zeros(n), [0.0] * n, (0.0,) * n
tau: NDArray[np.float64] = robot.inverse_dynamics(q, qd, qdd)
batch = robot.inverse_dynamics(np.zeros((10, n)), [[0.0] * n] * 10, q)
robot.inertia_matrix(q, out=np.empty((n, n)))
kinetic, potential = robot.energies(q, qd)
total = float(kinetic + potential)
H, C, K, k, gaps, rates = robot.constraint_terms(q, qd)
K, gaps = robot.closure(q)
worst = float(np.abs(gaps).max())
by_q, by_qd, by_qdd = robot.inverse_dynamics_derivatives(q, qd, qdd)
slope = robot.forward_dynamics_derivatives(q, qd, tau).qdd_tau @ tau
pose = robot.pose("tool", q)
J = robot.jacobian("tool", q, "aligned")
f = robot.external_forces(q, {"tool": [0, 0, 0, 0, 0, -9.81]})
motion = robot.forward_dynamics(q, qd, tau + f, check=False)
efforts = robot.closed_loop_inverse_dynamics(q, qd, qdd, limits=True).by_name
found = robot.inverse_kinematics("tool", pose, q, tolerance=1e-8)
if found.converged:
    tau = robot.gravity_compensation(found.q).tau
both = robot.inverse_kinematics({"tool": pose, ("left", "right"): {"relative": np.eye(4)}})
solve = robot.independent_dynamics(["crank"])
accelerations, pivot = solve(q, qd, tau)
closed = robot.assemble(held={"crank": 0.5}, velocities={"crank": 1.0}).q
moon = robot.replace(gravity=(0.0, 0.0, -1.62)).with_frame("tip", "tool", np.eye(4))
results = rd.in_parallel(robot.inverse_dynamics, batch, batch, batch)
"""

BAD = """
import numpy as np

import robot_dynamics as rd

robot = rd.load("arm.urdf")
q = np.zeros(7)
robot.inverse_dynamics(0.0, q, q)  # error
robot.inverse_dynamics("q", q, q)  # error
robot.inverse_dynamics(q, q)  # error
robot.inverse_dynamics(q, q, q, q, q)  # error
robot.inverse_dynamics(q, qd=q, qddd=q)  # error
robot.inverse_dynamic(q, q, q)  # error
robot.forward_dynamics(q, q, ["0.0"])  # error
robot.bias_forces(q, {"joint1": 0.0})  # error
robot.pose(q, "tool")  # error
robot.pose("tool", None)  # error
robot.jacobian("tool", q, "globe")  # error
robot.external_forces(q, [0.0] * 6)  # error
robot.energies(q, q).kinetic  # error
robot.constraint_terms(q, q).M  # error
H, C, K = robot.constraint_terms(q, q)  # error
robot.forward_dynamics_derivatives(q, q, q).tau_q  # error
robot.inertia_matrix(q).determinant()  # error
tau: list[float] = robot.gravity(q)  # error
kinetic, potential, sum_ = robot.energies(q, q)  # error
robot.assemble(q, hold=["crank"])  # error
robot.inverse_kinematics("tool", q, tolerence=1e-6)  # error
robot.gravity_compensation(q, limit=True)  # error
robot.mobility(sample=3)  # error
rd.load("arm.urdf", gravitation=(0.0, 0.0, 0.0))  # error
robot.replace(mass=1.0)  # error
robot.total_mass = "heavy"  # error
robot.linearize(q, q, q, controller=1.0)  # error
rd.Robot("arm.urdf")  # error
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """Return all that mypy says about both programs."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "good.py").write_text(GOOD)
    (folder / "bad.py").write_text(BAD)
    options = ["--strict", "--follow-imports=silent", "--config-file=", "--no-error-summary"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "good.py", "bad.py"],
        cwd=folder, env={"MYPYPATH": str(FOLDER.parent)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def test_a_right_program_is_clean(said):
    """Arrays, lists and tuples as arguments; results with their types, of batches as well."""
    assert "good.py" not in said


def test_wrong_programs_have_errors_at_their_lines(said):
    """Scalars and text for vectors, missing and unknown arguments, unknown methods and results."""
    marked = {n for n, line in enumerate(BAD.splitlines(), 1) if line.endswith("# error")}
    assert len(marked) > 20
    assert {int(line) for line in re.findall(r"bad\.py:(\d+): error", said)} == marked, said


def test_types_are_shipped():
    """The marker of PEP 561, without which checkers ignore the types of an installed package."""
    assert (FOLDER / "py.typed").is_file()
