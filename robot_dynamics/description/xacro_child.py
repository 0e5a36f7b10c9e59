# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Expansion of a xacro file in a separate process, with limits on time and memory.

The process reads {"file", "arguments", "seconds", "bytes"} from its input as JSON and writes to
its output {"text", "includes"}, or {"place", "message"} of an error of xacro.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError

from robot_dynamics.resources import SCHEME, packages_around, resolve_package_uri

_LONG = 400
# Parts of a file that xacro quotes: expressions, macros, files.
_QUOTED = re.compile(
    r"when evaluating expression '(.*?)'(?= )|unknown macro name: ([\w:]+)|[/ ]([\w.-]+\.xacro)\W"
)
_NOT_FOUND = re.compile(r"ResourceNotFoundError'>: (.*?)(?= package://|$)")
_MEMORY = "needs too much memory to be expanded"


def main() -> None:
    """Answer the request on the standard input."""
    request = json.loads(sys.stdin.read())
    _limit(request["bytes"], request["seconds"])
    json.dump(expansion(request["file"], request["arguments"]), sys.stdout)


def expansion(file: str, arguments: Mapping[str, str]) -> dict[str, Any]:
    """Return the expanded text of a file and its includes, or the error and its place."""
    import xacro

    # xacro has no hook for `$(find PACKAGE)` without ROS.
    substitution: Any = importlib.import_module("xacro.substitution_args")
    folder = Path(file).resolve().parent
    substitution._eval_find = lambda package: _package(package, folder)
    try:
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            document = xacro.process_file(file, mappings=dict(arguments))
            text = document.toprettyxml(indent="  ")
    except ExpatError as error:
        reason = str(error).partition(":")[0]
        place = f"{_place(xacro, file, error).partition(':')[0]}:{error.lineno}"
        return {"place": place, "message": f"is not well-formed XML: {reason}"}
    except Exception as error:  # xacro lets errors of all kinds through
        out = any(isinstance(e, MemoryError) for e in (error, getattr(error, "exc", None)))
        message = _MEMORY if out else f"cannot be expanded: {_said(error)}"
        return {"place": _place(xacro, file, error), "message": message}
    return {"text": text, "includes": [str(name) for name in xacro.all_includes]}


def _package(name: str, folder: Path) -> str:
    """Return the folder of a package: a checkout around the file, or the installed one."""
    for found in packages_around(folder, name):
        return str(found)
    return str(resolve_package_uri(f"{SCHEME}{name}/"))


def _limit(size: int, seconds: int) -> None:
    """Bound the memory and the processor time of this process, where the system can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    for kind, most in ((resource.RLIMIT_AS, size), (resource.RLIMIT_CPU, seconds)):
        with contextlib.suppress(OSError, ValueError):
            hard = resource.getrlimit(kind)[1]
            bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (bound, hard))


def _place(xacro: Any, file: str, error: Exception) -> str:
    """Return the place of an error: the file that xacro read, and the line if it can be found.

    xacro reports no lines; the text that it quotes is searched for in the file.
    """
    stack = [name for name in getattr(xacro, "filestack", None) or [] if name]
    current = Path(stack[-1] if stack else file)
    with contextlib.suppress(OSError, UnicodeDecodeError):
        text = current.read_text(encoding="utf-8")
        for quoted in _QUOTED.findall(f"{error} "):
            words = next(filter(None, quoted))
            if words in text:
                return f"{current.name}:{text[: text.index(words)].count(chr(10)) + 1}"
    return current.name


def _said(error: Exception) -> str:
    """Return the error message, without repetition and names of Python classes."""
    cause = error
    while isinstance(getattr(cause, "exc", None), Exception):
        cause = cause.exc  # type: ignore[attr-defined]
    if isinstance(cause, RecursionError):
        return "its files or macros include each other without end"
    text = " ".join(str(error).split()).rstrip(".") or "xacro gives no reason"
    found = _NOT_FOUND.search(text)
    if found:
        text = found.group(1).rstrip(".")
    elif isinstance(cause, OSError) and cause.filename:
        text = f"{cause.filename}: {(cause.strerror or 'cannot be read').lower()}"
    elif type(cause).__name__ == "ArgException":
        text = f"argument {str(cause)!r} is not given and has no default"
    return text if len(text) < _LONG else text[: _LONG - 3] + "..."


if __name__ == "__main__":
    main()
