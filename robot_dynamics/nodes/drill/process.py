# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The process of a drill: it starts nodes, tries every hazard, and says so, one JSON a line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import rclpy

from robot_dynamics.app.progress import print_event
from robot_dynamics.app.scenario import Scenario, build_system, load_scenario
from robot_dynamics.errors import RobotDynamicsError, UnknownNameError
from robot_dynamics.nodes.drill.hazards import HAZARDS
from robot_dynamics.nodes.drill.session import Session
from robot_dynamics.nodes.drill.soak import Soak
from robot_dynamics.nodes.drill.trial import Trial
from robot_dynamics.nodes.drill.witness import Witness, start_ros

WALL_CLOCK_RATE_HZ = 250.0  # which a laptop keeps beside whatever else it does


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a drill, and return the exit status: 0 when it is over, however it went."""
    parser = argparse.ArgumentParser()
    parser.add_argument("scenario")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--soak", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    start_ros()
    try:
        scenario = load_scenario(options.scenario)
        slower = at_most(scenario, WALL_CLOCK_RATE_HZ)
        witness = Witness(build_system(scenario))
        folder = Path.cwd()
        try:
            if options.soak:
                found = Soak(witness, scenario, folder, options.soak, options.seed).run()
                print_event("soak", **found)
            else:
                try_hazards(witness, options.only, scenario, slower, folder)
        finally:
            witness.close()
        print_event("done")
        return 0
    except KeyboardInterrupt:
        return 0
    except RobotDynamicsError as error:
        print_event("error", message=str(error))
        return 2 if isinstance(error, UnknownNameError) else 1
    finally:
        rclpy.try_shutdown()


def at_most(scenario: Scenario, rate_hz: float) -> Scenario:
    """Return the scenario with a control rate of at most so many Hz."""
    control = scenario.control
    return replace(scenario, control=replace(control, rate_hz=min(control.rate_hz, rate_hz)))


def try_hazards(
    witness: Witness, only: Sequence[str], scenario: Scenario, slower: Scenario, folder: Path
) -> None:
    """Try hazards in lockstep, then on the wall clock, and print what came of each.

    Args:
        witness: Who watches.
        only: Names of hazards; none for all.
        scenario: What runs in lockstep.
        slower: What runs on the wall clock.
        folder: Where nodes run.

    Raises:
        UnknownNameError: If a name is that of no hazard.
        DrillError: If nodes do not do what they do without any hazard.
    """
    names = [hazard.name for hazard in HAZARDS]
    for name in only:
        if name not in names:
            raise UnknownNameError("hazard", name, names)
    hazards = [hazard for hazard in HAZARDS if not only or hazard.name in only]
    print_event("hazards", count=len(hazards))
    done = 0
    for lockstep, run in ((True, scenario), (False, slower)):
        own = [hazard for hazard in hazards if hazard.lockstep is lockstep]
        if not own:
            continue
        print_event("progress", tick=done, ticks=len(hazards), doing="starting nodes")
        with Session(witness, run, folder, lockstep=lockstep) as session:
            session.start_nodes()
            session.begin()
            trial = Trial(session, witness, run)
            for hazard in own:
                print_event("progress", tick=done, ticks=len(hazards), doing=hazard.name)
                print_event("result", **asdict(trial.run(hazard)))
                done += 1
        witness.forget_services()
        witness.statuses.clear()


if __name__ == "__main__":
    sys.exit(main())
