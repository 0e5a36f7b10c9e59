# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Copies of the examples with other numbers at their top."""

import re
import shutil
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def copied(name: str, folder: Path, constants: dict[str, Any]) -> Path:
    """Copy an example, with some of its constants replaced, and return the copy.

    Args:
        name: Name of the program, without suffix.
        folder: Folder of the copy.
        constants: Values by the left side of their assignment, as "PAIRS, GENERATIONS".
    """
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    for left, value in constants.items():
        text, count = re.subn(
            rf"^{re.escape(left)} = .*$", f"{left} = {value!r}", text, flags=re.M
        )
        assert count == 1, left
    for model in EXAMPLES.glob("*.urdf"):
        shutil.copy(model, folder)
    copy = folder / f"{name}.py"
    copy.write_text(text, encoding="utf-8")
    return copy
