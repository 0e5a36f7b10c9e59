# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a node's process goes before all ordinary ones, as drivers of robots do.

The scheduler of Linux runs a process of a real-time priority as soon as it has something to do,
whatever else is busy. Threads that check paths and write files stay ordinary: control must not
wait for them.
"""

from __future__ import annotations

import os
import threading

from robot_dynamics.errors import RobotDynamicsError

TASKS = "/proc/self/task"


class PriorityError(RobotDynamicsError):
    """A priority that the system does not grant."""


def go_before_others(priority: int) -> None:
    """Give this process a real-time priority, but for what it does on the side.

    The main thread and those of the middleware get it. Other threads of Python do not, and
    neither do threads and processes that are started later.

    Args:
        priority: From 1 to 99, the most urgent.

    Raises:
        PriorityError: If the process has no right to it, or the system has no such thing.
    """
    beside = {
        thread.native_id
        for thread in threading.enumerate()
        if thread is not threading.main_thread()
    }
    try:
        policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
        for task in {int(name) for name in os.listdir(TASKS)} - beside:
            os.sched_setscheduler(task, policy, os.sched_param(priority))
    except (AttributeError, OSError) as error:
        raise PriorityError(
            f"realtime_priority {priority} is not granted ({error}); expected Linux, and the "
            "right to it, as of `rtprio` in /etc/security/limits.conf: this process goes on as "
            "an ordinary one."
        ) from error
