# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A running simulation in the browser, in which mouse and sliders push bodies."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.app.pictures.page import LOOPBACK, PORT, Page
from robot_dynamics.app.pictures.visual_scene import History, RecordedCell
from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.app.runs.run import simulate
from robot_dynamics.app.scenarios.scenario import Scenario

_PICTURE_S = 1.0 / 20.0  # wall-clock time between two pictures, at least
_PAUSE_S = 0.05  # between checks whether the pause is over


class LiveView:
    """Shows a run while it is simulated, in real time if the machine is fast enough.

    Args:
        scenario: The scenario.
        host: Address to listen on.
        port: Port to listen on.
        ready: Called with the page when it is there.

    Raises:
        VisualError: If viser or trimesh is missing, or the address is not of this machine.
    """

    def __init__(
        self,
        scenario: Scenario,
        host: str = LOOPBACK,
        port: int = PORT,
        ready: Callable[[Page], None] = lambda page: None,
    ) -> None:
        self._scenario, self._address, self._ready = scenario, (host, port), ready
        self._cell = RecordedCell(scenario.cell)
        self._page: Page | None = None
        self._history = History()
        self._simulated = 0.0  # where the simulation and ...
        self._due = 0.0  # ... the clock of the wall should be [s]
        self._shown = 0.0

    def run(self, duration: float | None = None) -> None:
        """Simulate the scenario once.

        Args:
            duration: Simulated time [s]; start and reference by default.
        """
        simulate(self._scenario, duration=duration, watch=self._watch)

    def close(self) -> None:
        """Close the page in all browsers."""
        if self._page is not None:
            self._page.close()

    def _watch(
        self, simulated: float, latest: Callable[[], Recording]
    ) -> Mapping[str, ArrayLike] | None:
        now = time.perf_counter()
        if simulated == 0.0:
            self._simulated, self._due, self._shown = 0.0, now, now - 2.0 * _PICTURE_S
            self._history = History()
        if now - self._shown > _PICTURE_S:
            self._show(latest(), simulated)
            self._shown = time.perf_counter()  # the picture's own time is not the next one's
        page = self._page
        if page is None:
            return None
        while not page.playing:
            time.sleep(_PAUSE_S)
            self._due = time.perf_counter()
        self._due += (simulated - self._simulated) / page.speed
        self._simulated = simulated
        early = self._due - time.perf_counter()
        if early > 0.0:
            time.sleep(early)
        else:  # lost time is not caught up
            self._due -= early
        return page.pushes

    def _show(self, recording: Recording, simulated: float) -> None:
        recording = self._history.extended(recording)
        last = np.array([len(recording) - 1])
        scene = self._cell.scene(recording, last, np.array([simulated]))
        if self._page is None:
            host, port = self._address
            self._page = Page(scene, host, port, live=True, pushes=True)
            self._ready(self._page)
            self._due = time.perf_counter()
        else:
            self._page.update(scene)
