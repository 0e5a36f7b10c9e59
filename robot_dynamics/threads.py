# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Number of threads of the linear algebra behind NumPy.

For matrices as small as those of robots a second thread gains nothing, and waiting for it takes a
hundred times as long as the work if other processes keep the cores busy. Only the standard library
is imported here, because the number must be set before NumPy is imported.
"""

from __future__ import annotations

import os

#: What has to stand in the environment of a process whose linear algebra takes one thread.
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "BLIS")}


def use_one_thread() -> None:
    """Take one thread, here and in processes started here, unless the environment says more."""
    for name, number in ONE_THREAD.items():
        os.environ.setdefault(name, number)
