# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""robot_dynamics: rigid-body dynamics and coordinated control of several arms.

    import robot_dynamics as rd

    robot = rd.load("arm.urdf")                       # a model and its compiled algorithms
    tau = robot.inverse_dynamics(q, qd, qdd)          # (n,) or (N, n)
    tau = rd.in_parallel(robot.inverse_dynamics, q, qd, qdd)  # (N, n), on all cores
    run = rd.simulate("lift_box", plant="engine")     # two arms lift a box
    run.plot("lift.png")
    motion = rd.integrate(robot, q, qd, 2.0)          # free motion, loops kept closed
    run = rd.simulate("lift_box", controller=mine)    # torques by a function of yours
    sim = rd.Simulation("lift_box")                   # the same plant, stepped by sim.step(torque)
    batch = rd.BatchSimulation("lift_box", 1000)      # a thousand such cells, by batch.run()
    sim = rd.Simulation(robot, period=0.002, q=q)     # a robot by itself, loops kept closed

Each name is imported when it is first used, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from robot_dynamics.app.batches.batch_simulation import BatchSimulation
    from robot_dynamics.app.identification.identify import identify
    from robot_dynamics.app.recordings.recording import Recording
    from robot_dynamics.app.runs.run import Run, simulate
    from robot_dynamics.app.runs.simulation import Simulation
    from robot_dynamics.app.scenarios.scenario import Scenario, load_scenario
    from robot_dynamics.compile.parallel import in_parallel
    from robot_dynamics.control.control_law import ControlLaw, LawStep
    from robot_dynamics.control.controller import Controller
    from robot_dynamics.description import Description, DescriptionError, load_description
    from robot_dynamics.dynamics.closure_functions import ClosureFunction
    from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError
    from robot_dynamics.model import Mechanism, Model, build
    from robot_dynamics.robot import Robot, load
    from robot_dynamics.simulation.integrators.integrate import integrate

_HOMES = {
    "ArgumentError": "errors",
    "BatchSimulation": "app.batches.batch_simulation",
    "ClosureFunction": "dynamics.closure_functions",
    "ControlLaw": "control.control_law",
    "Controller": "control.controller",
    "Description": "description",
    "DescriptionError": "description",
    "LawStep": "control.control_law",
    "Mechanism": "model",
    "Model": "model",
    "Recording": "app.recordings.recording",
    "Robot": "robot",
    "RobotDynamicsError": "errors",
    "Run": "app.runs.run",
    "Scenario": "app.scenarios.scenario",
    "Simulation": "app.runs.simulation",
    "UnknownNameError": "errors",
    "build": "model",
    "identify": "app.identification.identify",
    "in_parallel": "compile.parallel",
    "integrate": "simulation.integrators.integrate",
    "load": "robot",
    "load_description": "description",
    "load_scenario": "app.scenarios.scenario",
    "simulate": "app.runs.run",
}

__all__ = [  # noqa: RUF022 - functions first
    "build",
    "identify",
    "in_parallel",
    "integrate",
    "load",
    "load_description",
    "load_scenario",
    "simulate",
    "ArgumentError",
    "BatchSimulation",
    "ClosureFunction",
    "ControlLaw",
    "Controller",
    "Description",
    "DescriptionError",
    "LawStep",
    "Mechanism",
    "Model",
    "Recording",
    "Robot",
    "RobotDynamicsError",
    "Run",
    "Scenario",
    "Simulation",
    "UnknownNameError",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":  # read only where it is asked for: parsing package.xml takes time
        from robot_dynamics.version import find_version

        return find_version()
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value  # found directly from now on
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
