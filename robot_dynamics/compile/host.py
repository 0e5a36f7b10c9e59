# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the machine that runs the kernels can do."""

from __future__ import annotations

import ctypes
import logging
import os
from functools import lru_cache
from typing import NamedTuple

_logger = logging.getLogger(__name__)

# Before, pointers had types unless asked otherwise.
_OLDEST_LLVM = 16
# Straight-line code gains nothing above.
_EFFORT = 1


class Host(NamedTuple):
    """A target of code generation.

    Attributes:
        triple: LLVM's name of the platform.
        cpu: LLVM's name of the processor.
        features: The processor's features as LLVM writes them, "+avx2,-sse4a".
        lanes: How many states a SIMD kernel takes at once.
        fma: Whether a multiplication and an addition can be one operation with one rounding.
        effort: How hard the code generator tries, 0 to 3. Results do not depend on it.
    """

    triple: str
    cpu: str
    features: str
    lanes: int
    fma: bool
    effort: int


def interpretation_forced() -> bool:
    """Whether the environment variable ROBOT_DYNAMICS_INTERPRET asks for no machine code."""
    return os.environ.get("ROBOT_DYNAMICS_INTERPRET", "") not in ("", "0")


def effort_asked_for() -> int:
    """Return the effort that the environment variable ROBOT_DYNAMICS_OPT_LEVEL asks for.

    With 0 compilation takes less than half as long, and what is compiled two to five times as
    long: for what is not called often.
    """
    text = os.environ.get("ROBOT_DYNAMICS_OPT_LEVEL", "")
    if text in ("0", "1", "2", "3"):
        return int(text)
    if text:
        _logger.warning("ROBOT_DYNAMICS_OPT_LEVEL is %r, expected 0 to 3: ignored.", text)
    return _EFFORT


@lru_cache(maxsize=1)
def find_host() -> Host | None:
    """Return what this machine can do; None where there is no code generator for it."""
    if ctypes.sizeof(ctypes.c_ssize_t) != 8:
        return None  # The loops take NumPy's sizes and strides to be 64 bits wide.
    try:
        from llvmlite import binding

        binding.check_jit_execution()
    except (ImportError, OSError):
        return None  # not installed, or the system forbids code made at run time
    if binding.llvm_version_info[0] < _OLDEST_LLVM:
        _logger.warning("llvmlite is too old for compiled kernels: 0.45 or later is needed.")
        return None
    features = binding.get_host_cpu_features()
    triple = binding.get_process_triple()
    arm = triple.startswith(("aarch64", "arm64"))
    if features.get("avx512f"):
        lanes = 8
    elif features.get("avx2"):
        lanes = 4
    else:
        lanes = 2
    return Host(
        triple=triple,
        cpu=binding.get_host_cpu_name(),
        features=features.flatten(),
        lanes=lanes,
        fma=arm or bool(features.get("fma")),
        effort=effort_asked_for(),
    )
