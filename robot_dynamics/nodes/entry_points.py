# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The commands of the nodes: a signal during their imports ends them too.

Importing a node's modules takes a second; `process.py`, one of them, installs the signal handlers.
This module therefore has only fast imports.
"""

from __future__ import annotations

import importlib
import os
import signal
from types import FrameType

from robot_dynamics.threads import use_one_thread

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def start(module: str) -> None:
    """Import a node's module and run its `main`; end with status 0 on an earlier signal."""
    received = False

    def take(number: int, frame: FrameType | None) -> None:
        nonlocal received
        received = True
        # `ros2 launch` sends a second signal, which would kill an interpreter that ends.
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in _SIGNALS:
        # `nohup` ignores SIGHUP, and it stays ignored.
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, take)
    use_one_thread()
    try:
        main = importlib.import_module(module).main
    except BaseException:  # an interrupted import can raise an error of its own
        if received:
            _leave()
        raise
    if received:  # an import has caught the interrupt
        _leave()
    main()


def _leave() -> None:
    # An interrupt inside an `exec`, as in imports, would make Python end by SIGINT.
    os._exit(0)


def simulator() -> None:
    """Run the node `simulator`."""
    start("robot_dynamics.nodes.simulator")


def controller() -> None:
    """Run the node `controller`."""
    start("robot_dynamics.nodes.controller")


def guard() -> None:
    """Run the node `guard`."""
    start("robot_dynamics.nodes.guard")


def marker() -> None:
    """Run the node `marker`."""
    start("robot_dynamics.nodes.marker")
