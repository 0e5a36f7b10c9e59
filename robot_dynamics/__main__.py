# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`python -m robot_dynamics`, and the command of that name."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from robot_dynamics.threads import use_one_thread


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status; Ctrl-C while it is being imported included.

    Args:
        arguments: Arguments after the command's name; by default those of the process.
    """
    use_one_thread()
    try:
        from robot_dynamics.app.command_line.main import main as command
        from robot_dynamics.reproductions.command import add_reproduce

        return command(arguments, [add_reproduce])
    except KeyboardInterrupt:
        print("robot_dynamics: interrupted.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
