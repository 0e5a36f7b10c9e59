# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Samples that cost nothing, in a module that other processes can import."""

from __future__ import annotations

import os
import signal
import time
import uuid
from pathlib import Path

from robot_dynamics.errors import ArgumentError, UnknownNameError


def squared(number):
    """Return a square, and how many threads NumPy's libraries may use."""
    return {"square": number**2, "threads": os.environ.get("OMP_NUM_THREADS")}


def slow(number):
    """Return a square after a moment."""
    time.sleep(0.3)
    return {"square": number**2}


def endless(number):
    """Return the square of 0; others take an hour."""
    time.sleep(3600.0 if number else 0.0)
    return {"square": number**2}


def struck(folder, number):
    """Return a square; in sample 3 the process is killed, the first time."""
    marks = Path(folder)
    (marks / f"begun-{number}-{uuid.uuid4()}").touch()
    if number == 3 and not (marks / "killed").exists():
        (marks / "killed").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"square": number**2}


def struck_block(given):
    """Return the results of `struck` for several samples."""
    return [struck(*one) for one in given]


def deadly(number):
    """Return a square, or end the process."""
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"square": number**2}


def refused(number):
    """Raise an error that a user reads."""
    raise ArgumentError(f"sample {number}; expected something else.")


def misnamed(number):
    """Raise an error whose constructor takes other arguments than its sentence."""
    raise UnknownNameError("sample", "x", ["a", "b"])


class LargeWork:
    """An argument of samples that exceeds a pipe's buffer; counts its pickling."""

    def __init__(self, marks):
        self.marks, self.pickled, self.load = marks, 0, bytes(200_000)

    def __call__(self, number):
        return self.marks, number

    def __getstate__(self):
        self.pickled += 1
        return vars(self)
