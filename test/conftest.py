# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures for the tests of all folders.

Hypothesis tries the same examples in every run, however long the machine takes for them. A test
marked slow tries others every time: new examples are to be found there, and not by whoever changes
something else.
"""

import os
import signal
from ctypes.util import find_library

import pytest
from hypothesis import HealthCheck, settings

from robot_dynamics.threads import use_one_thread

use_one_thread()  # before NumPy is imported; processes that tests start inherit it
# Most of what tests compile is called a few times. The tests of `compile` say that the effort
# changes no bit of a result, and compile as users do.
os.environ.setdefault("ROBOT_DYNAMICS_OPT_LEVEL", "0")
# Before MuJoCo is imported: pictures are drawn without a display. Told so without the library,
# MuJoCo could not be imported at all.
if find_library("OSMesa"):
    os.environ.setdefault("MUJOCO_GL", "osmesa")

# Tests send both to processes, which would inherit that they are ignored: SIGINT by what a script
# starts in the background, SIGHUP under `nohup`. What is handled is not inherited.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)


def pytest_configure(config):
    """Record the outcomes of tests with the marker `book`, for the documentation."""
    if not hasattr(config, "workerinput"):  # with xdist in the controlling process alone
        from support.book import Outcomes

        config.pluginmanager.register(Outcomes())


# Slow tests that `.ci/run` adds to the others: of whole runs, wrong models and wrong limits.
_IMPORTANT = (
    "test/app/",
    "test/reproductions/test_mutations.py",
    "test/test_examples.py",
    "test/test_limits.py",
)
_LONGEST = ("test_a_hundred_cells_", "test_other_edges_")  # minutes each


@pytest.hookimpl(tryfirst=True)  # before tests are selected by their markers
def pytest_collection_modifyitems(items):
    """Give the tests of `.ci/run` their marker."""
    for item in items:
        if item.nodeid.startswith(_IMPORTANT) and not item.name.startswith(_LONGEST):
            item.add_marker("important")


settings.register_profile(
    "suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suite")

_INTERPRET = "ROBOT_DYNAMICS_INTERPRET"


@pytest.fixture
def interpreted(monkeypatch):
    """Run programs in Python: they are called so rarely that it is quicker.

    Compiling a program takes as long as a thousand calls of it in Python, and many tests make a
    system of their own for a few calls. The tests of `compile` check
    that machine code computes the same. With ROBOT_DYNAMICS_INTERPRET=0 in the environment these
    tests compile as well.
    """
    monkeypatch.setenv(_INTERPRET, os.environ.get(_INTERPRET, "1"))
