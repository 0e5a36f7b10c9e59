# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The errors of the compiler."""

from __future__ import annotations

from robot_dynamics.errors import RobotDynamicsError


class TraceError(RobotDynamicsError, TypeError):
    """A traced function used an unsupported operation, or returned undeclared outputs."""


class ShapeError(RobotDynamicsError, ValueError):
    """An array has another shape than the program declares."""


class CompilerError(RobotDynamicsError, RuntimeError):
    """Compilation to machine code failed; the message contains LLVM's."""
