# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Where results may go."""

import pytest

from robot_dynamics.app.output_files import OutputError, require_parent


def test_a_file_needs_a_folder_and_is_none(tmp_path):
    """A new file in a folder passes; one in no folder, and a folder itself, are refused."""
    require_parent(tmp_path / "r.json")
    with pytest.raises(OutputError, match="there is no folder"):
        require_parent(tmp_path / "no" / "r.json")
    with pytest.raises(OutputError, match="is a folder, expected the name of a file"):
        require_parent(tmp_path)
