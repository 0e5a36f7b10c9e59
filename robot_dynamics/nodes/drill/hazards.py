# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The hazards of the drill: what goes wrong, and what nodes are to make of it."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Literal

from robot_dynamics.nodes.drill.session import CONTROLLER, GUARD, SIMULATOR

Bound = Literal["periods", "stale", "heartbeat", "law"]


@dataclass(frozen=True)
class Hazard:
    """Something that goes wrong.

    Attributes:
        name: What it is called.
        lockstep: Whether it is tried in lockstep, where every period counts; else on the wall
            clock.
        faults: For the simulator's parameter of that name.
        cause: What the diagnostics must say of it; empty if control has to go on as if nothing
            had happened.
        bound: Until when the fallback is reached: two control periods, the declared silence of a
            stream or of the controller, or as the safety layer states for what only the motion
            shows.
        witness: Who says so.
        signal: Sent to a node instead.
        node: The node.
        lasts_s: Until the hazard is over [s].
        restart: Whether the node has to be started again.
        full_disk: Whether the controller's recording cannot be written instead.
        recovery: What is done to run again, in words.
    """

    name: str
    lockstep: bool
    faults: str = ""
    cause: str = ""
    bound: Bound = "periods"
    witness: str = CONTROLLER
    signal: int = 0
    node: str = ""
    lasts_s: float = 0.1
    restart: bool = False
    full_disk: bool = False
    recovery: str = "controller/reset, controller/start"

    @property
    def goes_on(self) -> bool:
        """Whether control has to go on."""
        return self.full_disk or (not self.cause and self.bound == "periods")


_NOTHING = "none"
_WITH_GUARD = "controller/reset, guard/reset, controller/start"

HAZARDS = (
    Hazard("NaN in a position", True, "position_nan left 0.002", "is nan"),
    Hazard("Inf in a velocity", True, "velocity_inf right 0.002", "is inf"),
    Hazard("NaN in a wrench", True, "wrench_nan left 0.002", "wrench"),
    Hazard("wrong joint name", True, "wrong_name left 0.002", "left_joint1"),
    Hazard("missing joint", True, "missing_joint right 0.002", "is missing"),
    Hazard("joints in another order", True, "wrong_order", recovery=_NOTHING),
    Hazard("velocities missing", True, "no_velocities 0.002", "velocity"),
    Hazard("sensors of an arm stuck", True, "stuck_sensors left 0.3", "", "law", lasts_s=0.3),
    Hazard("torque mode drops out", True, "torque_dropout left 0.3", "", "law", lasts_s=0.3),
    Hazard(
        "full disk while recording",
        False,
        cause="no recording",
        full_disk=True,
        node=CONTROLLER,
        restart=True,
        recovery="controller started again, with room for its file",
    ),
    Hazard("wrist sensor silent", False, "wrench_silent left", "no new sample", "stale"),
    Hazard("joint states silent", False, "silent", "no new sample", "stale"),
    Hazard("joint states frozen", False, "frozen", "no new sample", "stale"),
    Hazard("time stamps stand still", False, "stale_stamp", "no new sample", "stale"),
    Hazard("clock jumps back", False, "clock_back", "jumped back"),
    Hazard("every second message dropped", False, "dropped", recovery=_NOTHING),
    Hazard("messages duplicated", False, "duplicated", recovery=_NOTHING),
    Hazard("messages out of order", False, "reordered", recovery=_NOTHING),
    Hazard(
        "simulator killed",
        False,
        cause="no new sample",
        bound="stale",
        signal=signal.SIGKILL,
        node=SIMULATOR,
        restart=True,
        recovery="simulator started again, controller/reset, controller/start",
    ),
    Hazard(
        "simulator stopped for a second",
        False,
        cause="no new sample",
        bound="stale",
        signal=signal.SIGSTOP,
        node=SIMULATOR,
        lasts_s=1.0,
    ),
    Hazard(
        "controller stopped for a second",
        False,
        cause="no heartbeat",
        bound="heartbeat",
        witness=GUARD,
        signal=signal.SIGSTOP,
        node=CONTROLLER,
        lasts_s=1.0,
        recovery=_WITH_GUARD,
    ),
    Hazard(
        "controller killed with -9",
        False,
        cause="no heartbeat",
        bound="heartbeat",
        witness=GUARD,
        signal=signal.SIGKILL,
        node=CONTROLLER,
        restart=True,
        recovery="controller started again, guard/reset, controller/start",
    ),
    Hazard(
        "guard killed",
        False,
        signal=signal.SIGKILL,
        node=GUARD,
        restart=True,
        recovery="guard started again",
    ),
)
