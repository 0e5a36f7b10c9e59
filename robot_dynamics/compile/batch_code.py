# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Code for batches, compiled at the first one.

Code for several states at a time takes longer to compile than code for one, and most functions are
never given several. Without it, batches are evaluated one state after the other, with the same
results.
"""

from __future__ import annotations

import ctypes
import logging
import signal
import threading
from collections.abc import Callable

import numpy as np

from robot_dynamics.compile.emission import BATCH_CODE
from robot_dynamics.compile.machine import MachineCode

_logger = logging.getLogger(__name__)

# Time after which `BatchCode._make` has returned [s].
_RETURNED = 0.05


class BatchCode:
    """The code for batches of a module.

    Args:
        machine: The module, which calls `_make` at the first batch.
        build: Returns the code; called in the thread of the first batch.
    """

    def __init__(self, machine: MachineCode, build: Callable[[], MachineCode]) -> None:
        self._build, self._making = build, threading.Lock()
        self._code: MachineCode | None = None
        self._words = (ctypes.c_void_p * 2).from_address(machine.addresses[BATCH_CODE])
        self._call = ctypes.CFUNCTYPE(None)(self._make)
        self._words[1] = ctypes.cast(self._call, ctypes.c_void_p).value

    def _make(self) -> None:
        with self._making:  # other threads wait for the code as well
            if self._words[1]:
                self._make_once()
        np.add(0.0, 0.0)  # NumPy must not take floating-point errors of the compilation for ours

    def _make_once(self) -> None:
        try:
            self._code = self._build()
            self._words[0] = self._code.address
        except KeyboardInterrupt:  # nothing can be raised through machine code
            threading.Timer(_RETURNED, _interrupt).start()
            return
        except Exception as error:
            _logger.warning("Batches are evaluated one state after the other: %s", error)
        self._words[1] = None


def _interrupt() -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


_sharing = threading.Lock()


def make_at_first_batch(machine: MachineCode, build: Callable[[], MachineCode]) -> None:
    """Compile the batch code of a module when it first gets a batch.

    Args:
        machine: The module, which may be shared: the first `build` counts.
        build: Returns the code.
    """
    with _sharing:
        if machine.batch_code is None:
            machine.batch_code = BatchCode(machine, build)
