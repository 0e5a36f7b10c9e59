# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Where results may go."""

from pathlib import Path

import pytest

from robot_dynamics.app.output_files import OutputError, require_parent, whole_file


def test_a_file_needs_a_folder_and_is_none(tmp_path):
    """A new file in a folder passes; one in no folder, and a folder itself, are refused."""
    require_parent(tmp_path / "r.json")
    assert not list(tmp_path.iterdir())
    with pytest.raises(OutputError, match="there is no folder"):
        require_parent(tmp_path / "no" / "r.json")
    with pytest.raises(OutputError, match="is a folder, expected the name of a file"):
        require_parent(tmp_path)


def test_a_folder_that_takes_no_files():
    """It is found out by trying; no trace of that is left."""
    with pytest.raises(OutputError, match="the folder /proc takes no files"):
        require_parent(Path("/proc/r.json"))


@pytest.mark.parametrize("end", [KeyboardInterrupt, OSError])
def test_a_file_that_is_broken_off_changes_nothing(tmp_path, end):
    """An older file stays as it was and no part of the new one is left, also after a signal."""
    path = tmp_path / "figure.png"
    path.write_text("old")

    def write():
        with whole_file(path) as part:
            assert part.suffix == ".png"
            part.write_text("ne")
            raise end

    with pytest.raises(end):
        write()
    assert [file.name for file in tmp_path.iterdir()] == ["figure.png"]
    assert path.read_text() == "old"
    with whole_file(path) as part:
        part.write_text("new")
    assert path.read_text() == "new"
    assert [file.name for file in tmp_path.iterdir()] == ["figure.png"]
