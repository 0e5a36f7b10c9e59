# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Which internal forces of a recording are squeezes, which are moments, and how far off they were.

Rigid grasps have a wrench for each arm but the last, [mx my mz fx fy fz], whose squeeze is defined
for two arms. Other grasps name their internal forces in the metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.recording import Recording
from robot_dynamics.control.reference import SQUEEZE

Array = NDArray[np.float64]

_MOMENTS = ("twist", "bending", "moment")


def squeezes(recording: Recording) -> list[int]:
    """Return which internal forces are squeezes."""
    return squeezes_of(recording.metadata, recording["internal_force"].shape[1])


def squeezes_of(metadata: Mapping[str, Any], count: int) -> list[int]:
    """Return which internal forces of a law are squeezes.

    Args:
        metadata: Of the law, or of a recording of it.
        count: Number of internal forces.
    """
    names = metadata.get("internal_forces")
    if names is None:
        return [SQUEEZE] if count == 6 else []
    return [i for i, name in enumerate(names) if name.startswith("squeeze")]


def moments(recording: Recording) -> NDArray[np.bool_]:
    """Return which internal forces are moments (m,)."""
    names = recording.metadata.get("internal_forces")
    if names is None:
        return np.arange(recording["internal_force"].shape[1]) % 6 < 3
    return np.array([name.startswith(_MOMENTS) for name in names], dtype=bool)


def internal_force_errors(recording: Recording) -> tuple[Array, Array]:
    """Return what forces (ticks,) [N] and moments (ticks,) [N m] differ by from what was wanted.

    That is the reference, with what control has added to it; see `added_internal_forces` for how
    much that is. Of several wrenches the one that is off most; of named forces all together.
    """
    error = recording["internal_force"] - recording["reference_internal_force"]
    if "added_internal_force" in recording:
        error = error - recording["added_internal_force"]
    return _sizes(recording, error)


def added_internal_forces(recording: Recording) -> tuple[Array, Array] | None:
    """Return the size of forces (ticks,) [N] and moments (ticks,) [N m] that control has added.

    So that contacts hold, and torques stay within limits. Of several wrenches the largest; of
    named forces all together. None for laws that add nothing. After a fault nothing is added:
    rows without numbers are left out then.
    """
    if "added_internal_force" not in recording:
        return None
    added = recording["added_internal_force"]
    if recording.metadata.get("fault"):
        added = added[np.isfinite(added).all(axis=1)]
    return _sizes(recording, added)


def _sizes(recording: Recording, error: Array) -> tuple[Array, Array]:
    """Return the sizes of forces (ticks,) and moments (ticks,) among internal forces."""
    if "internal_forces" not in recording.metadata:
        parts = error.reshape(len(error), error.shape[1] // 6, 6)
        force, moment = (np.linalg.norm(parts[..., at], axis=2) for at in _FORCE_MOMENT)
        return force.max(axis=1, initial=0.0), moment.max(axis=1, initial=0.0)
    turning = moments(recording)
    force, moment = (np.linalg.norm(error[:, at], axis=1) for at in (~turning, turning))
    return force, moment


_FORCE_MOMENT = (slice(3, 6), slice(0, 3))
