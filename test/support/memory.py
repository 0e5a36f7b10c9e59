# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Code that must not need more memory than it may: the system refuses more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_LIMITED = """
import resource, sys
{prepare}
pages = int(open("/proc/self/statm").read().split()[0])
most = pages * resource.getpagesize() + {mib} * 2**20
resource.setrlimit(resource.RLIMIT_AS, (most, most))
for given in sys.argv[1:]:
    try:
        print("accepted:", {call})
    except Exception as error:
        print(f"{{type(error).__name__}}:", " ".join(str(error).split()))
"""


def answers(prepare: str, call: str, given: list[str | Path], *, mib: int) -> list[str]:
    """Return a line for each argument: the result of a call, or its error with the type.

    Args:
        prepare: Imports, before the memory is limited.
        call: An expression of `given`.
        given: The arguments, one after the other.
        mib: Memory that the calls can need beyond that of the imports [MiB].
    """
    done = subprocess.run(
        [sys.executable, "-c", _LIMITED.format(prepare=prepare, call=call, mib=mib), *given],
        capture_output=True,
        encoding="utf-8",
        timeout=120.0,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": _path()},
        check=True,
    )
    return done.stdout.splitlines()


def _path() -> str:
    return os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
