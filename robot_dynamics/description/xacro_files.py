# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Xacro files, expanded by the xacro package where it is installed.

xacro evaluates the expressions of its files. It keeps them from Python's builtins, but a file
from a stranger deserves the care that a program from a stranger does.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError

from robot_dynamics.description.diagnosis import Diagnosis
from robot_dynamics.description.files import locate, read_bytes, refused
from robot_dynamics.resources import SCHEME, resolve_package_uri

SUFFIX = ".xacro"
MAX_BYTES = 8 * 2**20
_ARGUMENT = re.compile(r"<(?:\w+:)?arg\s[^>]*?name\s*=\s*[\"']([^\"']+)[\"']")
_WITHOUT = (
    "install the xacro package (pip install xacro), or expand it first: xacro FILE > robot.urdf"
)


def expand_xacro(path: str | Path, arguments: Mapping[str, object] | None = None) -> str:
    """Return the URDF text that a xacro file stands for, formatted as the program xacro does.

    `$(find PACKAGE)` finds what `package://` addresses do.

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
    try:
        import xacro
    except ImportError:
        raise refused(path, "this is xacro, which needs the xacro package", _WITHOUT) from None
    try:
        with contextlib.redirect_stderr(io.StringIO()), _our_packages():
            document = xacro.process_file(str(file), mappings=given)
            text = document.toprettyxml(indent="  ")
    except ExpatError as error:
        raise refused(
            f"{_current(xacro, file)}:{error.lineno}",
            f"is not well-formed XML: {str(error).partition(':')[0]}",
        ) from None
    except Exception as error:  # xacro lets errors of all kinds through
        raise refused(_current(xacro, file), f"cannot be expanded: {_said(error)}") from None
    _check_arguments(xacro, file, given)
    return str(text)


def _check_arguments(xacro: Any, file: Path, given: Mapping[str, str]) -> None:
    """Refuse arguments that no file declares: xacro passes over them in silence."""
    declared: set[str] = set()
    for name in (file, *getattr(xacro, "all_includes", ())):
        with contextlib.suppress(OSError):
            text = Path(name).read_text(encoding="utf-8", errors="replace")
            declared.update(_ARGUMENT.findall(text))
    diagnosis = Diagnosis()
    for name in given:
        if name not in declared:
            diagnosis.unknown(file.name, "", "xacro argument", name, sorted(declared))
    diagnosis.raise_if_refused()


@contextlib.contextmanager
def _our_packages() -> Iterator[None]:
    """Let `$(find PACKAGE)` work without ROS; xacro has no hook for that."""

    def find(package: str) -> str:
        return str(resolve_package_uri(f"{SCHEME}{package}/"))

    module: Any = importlib.import_module("xacro.substitution_args")
    before = module._eval_find
    module._eval_find = find
    try:
        yield
    finally:
        module._eval_find = before


def _current(xacro: Any, file: Path) -> str:
    """Return the name of the file that xacro was reading."""
    stack = [name for name in getattr(xacro, "filestack", None) or [] if name]
    return Path(stack[-1]).name if stack else file.name


def _said(error: Exception) -> str:
    text = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    if isinstance(error, RecursionError):
        text = "its files or macros include each other without end"
    elif type(error).__name__ == "ArgException":
        text = f"argument {text!r} is not given and has no default"
    return text if len(text) < 400 else text[:397] + "..."


def _as_text(value: object) -> str:
    """Return a value as it would be written on a command line."""
    return str(value).lower() if isinstance(value, bool) else str(value)
