# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What tests of all folders share.

Hypothesis tries the same examples in every run, however long the machine takes for them. What is
marked slow tries others every time: new examples are to be found there, and not by whoever changes
something else.
"""

import os

from hypothesis import HealthCheck, settings

# For matrices as small as ours a second thread of the linear algebra gains nothing, and waiting
# for it takes a hundred times as long as the work where other processes keep the cores busy.
# This has to be said before NumPy is imported; processes that tests start inherit it.
for library in ("OMP", "OPENBLAS", "MKL", "BLIS"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

settings.register_profile(
    "suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suite")
