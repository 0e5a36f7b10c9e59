# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Xacro files, expanded by the xacro package if it is installed.

xacro evaluates the expressions of its files, which can take any time and memory: it runs in a
separate process with limits on both. xacro blocks Python's builtins in expressions, but treat a
file from an untrusted source like a program.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from robot_dynamics.description import xacro_child
from robot_dynamics.description.diagnosis import Diagnosis
from robot_dynamics.description.files import locate, read_bytes, refused

SUFFIX = ".xacro"
MAX_BYTES = 8 * 2**20
MAX_SECONDS = 10  # of the processor; the largest robots known take one
_PATIENCE = 30  # times as long by the clock: a busy machine gives a process a part of its time
MAX_MEMORY = 2**30
# Run it by its path: as a module it would import the whole package.
_RUN = "import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')"
_ARGUMENT = re.compile(r"<(?:\w+:)?arg\s[^>]*?name\s*=\s*[\"']([^\"']+)[\"']")
_WITHOUT = (
    "install the xacro package (pip install xacro), or expand it first: xacro FILE > robot.urdf"
)


def expand_xacro(path: str | Path, arguments: Mapping[str, object] | None = None) -> str:
    """Return the URDF text of a xacro file, formatted as by the program xacro.

    `$(find PACKAGE)` finds the checkout around the file, or the folder of `package://` addresses.

    Args:
        path: The file, or a `package://` address.
        arguments: Values of its `<xacro:arg>`, as on the command line of xacro.

    Raises:
        DescriptionError: If the file is missing or cannot be expanded, an argument is not
            declared in it, or xacro is not installed.
    """
    file = locate(path)
    given = {name: _as_text(value) for name, value in (arguments or {}).items()}
    # Read once for the errors of missing and hostile files; xacro reads it again.
    read_bytes(file, expected="a xacro file", limit=MAX_BYTES)
    if importlib.util.find_spec("xacro") is None:
        raise refused(path, "this is xacro, which needs the xacro package", _WITHOUT)
    answer = _expanded(file, given)
    if "text" not in answer:
        raise refused(answer["place"], answer["message"])
    _check_arguments([file, *map(Path, answer["includes"])], given)
    return str(answer["text"])


def _expanded(file: Path, arguments: Mapping[str, str]) -> dict[str, Any]:
    """Return the answer of a process that expands a file within limits.

    Raises:
        DescriptionError: If it does not end in time.
    """
    request = {
        "file": str(file),
        "arguments": arguments,
        "seconds": MAX_SECONDS,
        "bytes": MAX_MEMORY,
    }
    found = [str(Path(__file__).resolve().parents[2]), *filter(None, sys.path)]
    try:
        done = subprocess.run(
            [sys.executable, "-c", _RUN, xacro_child.__file__],
            input=json.dumps(request),
            capture_output=True,
            encoding="utf-8",
            timeout=_PATIENCE * MAX_SECONDS,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(found), "PYTHONUTF8": "1"},
            check=False,
        )
    except subprocess.TimeoutExpired:
        message = f"is not expanded after {_PATIENCE * MAX_SECONDS} s and is given up"
        raise refused(f"{file.name}:1", message, "its process was waiting") from None
    if done.returncode == -signal.SIGXCPU:
        hint = "its expressions or macros grow without bound"
        message = f"is not expanded after {MAX_SECONDS} s of processor time and is given up"
        raise refused(f"{file.name}:1", message, hint)
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError:  # the process was ended before it could answer
        message = "cannot be expanded within the limits of time and memory"
        raise refused(f"{file.name}:1", message) from None
    return answer


def _check_arguments(files: Iterable[Path], given: Mapping[str, str]) -> None:
    """Refuse arguments that no file declares: xacro ignores them without a message."""
    declared: set[str] = set()
    first = ""
    for file in files:
        first = first or file.name
        with contextlib.suppress(OSError):
            text = file.read_text(encoding="utf-8", errors="replace")
            declared.update(_ARGUMENT.findall(text))
    diagnosis = Diagnosis()
    for name in given:
        if name not in declared:
            diagnosis.unknown(first, "", "xacro argument", name, sorted(declared))
    diagnosis.raise_if_refused()


def _as_text(value: object) -> str:
    """Return a value as it would be written on a command line."""
    return str(value).lower() if isinstance(value, bool) else str(value)
