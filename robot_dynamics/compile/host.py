# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Properties of the machine that runs the kernels."""

from __future__ import annotations

import ctypes
import logging
import os
from functools import lru_cache
from typing import NamedTuple

_logger = logging.getLogger(__name__)

# Earlier versions have typed pointers by default.
_OLDEST_LLVM = 16
# Higher levels do not improve straight-line code.
_OPT_LEVEL = 1
# Half a minute of Python and LLVM for equal bodies, some minutes if all differ.
_MOST_OPERATIONS = 3_000_000


class Host(NamedTuple):
    """A target of code generation.

    Attributes:
        triple: LLVM's name of the platform.
        cpu: LLVM's name of the processor; empty for any of its kind.
        features: The processor's features as LLVM writes them, "+avx2,-sse4a".
        lanes: Number of states of a SIMD kernel at a time.
        fma: Whether a multiplication and an addition can be one operation with one rounding.
        opt_level: Optimisation level of LLVM, 0 to 3. Results do not depend on it.
    """

    triple: str
    cpu: str
    features: str
    lanes: int
    fma: bool
    opt_level: int


def interpretation_forced() -> bool:
    """Whether the environment variable ROBOT_DYNAMICS_INTERPRET turns compilation off."""
    return os.environ.get("ROBOT_DYNAMICS_INTERPRET", "") not in ("", "0")


def for_any_processor() -> bool:
    """Whether ROBOT_DYNAMICS_NATIVE=0 of the environment asks for code that any processor runs.

    Of the kind that this machine has: without AVX and FMA on x86-64.
    """
    return os.environ.get("ROBOT_DYNAMICS_NATIVE", "") == "0"


def as_without_avx512() -> bool:
    """Whether ROBOT_DYNAMICS_NATIVE=avx2 asks for code of a processor without AVX-512."""
    return os.environ.get("ROBOT_DYNAMICS_NATIVE", "") == "avx2"


def most_operations() -> int:
    """Return the largest number of operations of a compiled program.

    ROBOT_DYNAMICS_MOST_OPERATIONS of the environment, or three million: forward dynamics of a
    chain of 3900 bodies, second derivatives of one of 900.
    """
    text = os.environ.get("ROBOT_DYNAMICS_MOST_OPERATIONS", "")
    if text.isdecimal():
        return int(text)
    if text:
        _logger.warning(
            "ROBOT_DYNAMICS_MOST_OPERATIONS is %r, expected a whole number: ignored.", text
        )
    return _MOST_OPERATIONS


def requested_opt_level() -> int:
    """Return the optimisation level of the environment variable ROBOT_DYNAMICS_OPT_LEVEL.

    With 0 compilation takes a third of the time, and the code two to five times as long: for code
    that is not called often.
    """
    text = os.environ.get("ROBOT_DYNAMICS_OPT_LEVEL", "")
    if text in ("0", "1", "2", "3"):
        return int(text)
    if text:
        _logger.warning("ROBOT_DYNAMICS_OPT_LEVEL is %r, expected 0 to 3: ignored.", text)
    return _OPT_LEVEL


@lru_cache(maxsize=1)
def find_host() -> Host | None:
    """Return the properties of this machine; None if there is no code generator for it."""
    if ctypes.sizeof(ctypes.c_ssize_t) != 8:
        return None  # The loops take NumPy's sizes and strides to be 64 bits wide.
    try:
        from llvmlite import binding

        binding.check_jit_execution()
    except (ImportError, OSError):
        return None  # not installed, or the system forbids code made at run time
    if binding.llvm_version_info[0] < _OLDEST_LLVM:
        _logger.warning(
            "llvmlite has LLVM %d, expected %d (llvmlite 0.45) or later: nothing is compiled.",
            binding.llvm_version_info[0],
            _OLDEST_LLVM,
        )
        return None
    triple = binding.get_process_triple()
    name, features = binding.get_host_cpu_name(), binding.get_host_cpu_features()
    if for_any_processor():
        name, features = "", binding.FeatureMap()
    if as_without_avx512():
        for feature in features:
            if feature.startswith("avx512"):
                features[feature] = False
    arm = triple.startswith(("aarch64", "arm64"))
    if features.get("avx512f"):
        lanes = 8
    elif features.get("avx2"):
        lanes = 4
    else:
        lanes = 2
    return Host(
        triple=triple,
        cpu=name,
        features=features.flatten(),
        lanes=lanes,
        fma=arm or bool(features.get("fma")),
        opt_level=requested_opt_level(),
    )
