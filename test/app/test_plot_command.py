# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`robot_dynamics plot` draws recordings of all formats."""

import pytest

from robot_dynamics.app.command_line import main
from robot_dynamics.app.recording import Recording, save_recording


@pytest.fixture(scope="module")
def controller(run):
    """Return what the controller alone knows of the first second of a run."""
    own = ("tick", "commanded", "estimated", "reference", "control", "step")
    columns = {n: v[:500] for n, v in run.recording.columns.items() if n.startswith(own)}
    return Recording(columns, run.recording.metadata)


@pytest.mark.parametrize("suffix", [".npz", ".mcap"])
def test_beside_the_recording(controller, tmp_path, capsys, suffix):
    """Estimates are drawn where there is no truth; the figure stands beside the recording."""
    pytest.importorskip("matplotlib")
    if suffix == ".mcap":
        pytest.importorskip("rosbags", reason="rosbags is not installed")
    path = save_recording(controller, tmp_path / f"run{suffix}")
    assert main(["plot", str(path)]) == 0
    figure = tmp_path / "run.png"
    assert figure.stat().st_size > 50_000  # an empty figure is far smaller
    assert capsys.readouterr().out == f"written: {figure}\n"


def test_several_files_and_a_place(run, controller, tmp_path):
    """Both sides of a run are merged; the figure goes where it is wanted."""
    pytest.importorskip("matplotlib")
    columns = {n: v[:500] for n, v in run.recording.columns.items()}
    plant = {n: v for n, v in columns.items() if n == "tick" or n not in controller}
    files = [
        str(save_recording(side, tmp_path / name))
        for name, side in (
            ("plant.npz", Recording(plant, run.recording.metadata)),
            ("control.npz", controller),
        )
    ]
    assert main(["plot", *files, "--output", str(tmp_path / "run.pdf")]) == 0
    assert (tmp_path / "run.pdf").read_bytes().startswith(b"%PDF")


def test_what_cannot_be_drawn(run, tmp_path, capsys):
    """A recording without what is drawn, or one that is none, ends with a sentence."""
    pytest.importorskip("matplotlib")
    columns = {name: run.recording[name][:9] for name in ("tick", "joint_position")}
    path = save_recording(Recording(columns, run.recording.metadata), tmp_path / "run.npz")
    assert main(["plot", str(path)]) == 2
    assert "there is no column 'object_pose'" in capsys.readouterr().err
    assert main(["plot", str(tmp_path / "none.npz")]) == 2
    assert "none.npz: cannot be read" in capsys.readouterr().err
    assert main(["plot", str(path), "--output", str(tmp_path / "no" / "x.png")]) == 2
    assert "there is no folder" in capsys.readouterr().err
