# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The commands: output, files and exit status."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from waiting import PATIENCE_S, interrupted_when

from robot_dynamics import __version__
from robot_dynamics.app.command_line import main as command_line
from robot_dynamics.app.command_line.main import INTERRUPTED, main
from robot_dynamics.app.command_line.outputs import RunOutputs, names_recording
from robot_dynamics.app.output_files import OutputError, require_parent, whole_file
from robot_dynamics.app.pictures.figures import PlotError
from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.app.recordings.recording_files import load_recording, save_recording
from robot_dynamics.resources import share_directory

# Thresholds that any run keeps; those of the scenario need a run of full length.
EASY = ["--set", "acceptance.engine={object_position_error_max_m: 0.01}"]
SHORT = ["simulate", "--duration", "0.2", *EASY]
LONG = ["simulate", "gravity", "--duration", "100"]


def test_version(capsys):
    """`--version` prints the version."""
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"robot_dynamics {__version__}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["simulate", "-h"], ["demo", "-h"]])
def test_help(arguments, capsys):
    """Help names commands and options, and ends with status 0."""
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 0
    assert "--" in capsys.readouterr().out


def test_a_good_run(tmp_path, capsys):
    """A good run ends with 0; report, figure and recording are where they were asked for."""
    folder = tmp_path / "new" / "folder"
    report = folder / "r.json"
    assert main([*SHORT, "--output", str(folder), "--json", str(report)]) == 0
    assert json.loads(report.read_text())["ok"] is True
    # The folder holds this run alone: no report of an earlier one.
    names = {file.name for file in folder.iterdir()}
    assert names == {"report.json", "r.json", "run.png", "recording.npz"}
    assert (folder / "report.json").read_text() == report.read_text()
    assert "good" in capsys.readouterr().out


def test_a_refused_run_leaves_no_folder(tmp_path):
    """Folders made for a run that is refused are taken away; those of others stay."""
    for refused in (["--set", "control.object.bandwidth=500"], ["--json", "no/folder/r.json"]):
        for folder in (tmp_path / "new" / "folder", tmp_path):
            assert main([*SHORT, *refused, "--output", str(folder)]) == 2
            assert list(tmp_path.iterdir()) == []


def test_a_bad_run(tmp_path, capsys):
    """A run that misses a threshold ends with 1, says by how much, and still writes its report."""
    report = tmp_path / "r.json"
    threshold = "acceptance.engine={torque_fraction_of_limit_max: 0.01}"
    assert main([*SHORT, "--set", threshold, "--json", str(report)]) == 1
    assert "expected at most 0.01." in capsys.readouterr().err
    assert json.loads(report.read_text())["ok"] is False


def test_json_alone_on_standard_output(tmp_path, monkeypatch, capfd):
    """With `--json -` the standard output has the report alone, as another program reads it."""
    monkeypatch.chdir(tmp_path)
    assert main([*SHORT, "--json", "-", "--output", "run"]) == 0
    said = capfd.readouterr()
    assert json.loads(said.out) == json.loads(Path("run", "report.json").read_text())
    assert "lift_box with the plant 'engine': good" in said.err
    assert "written: " in said.err
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


def test_repeated_runs(capsys):
    """Repeated runs are compared to the last bit."""
    assert main([*SHORT, "--repeat", "2"]) == 0
    assert "2 runs with equal states" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulate", "lift_bix"], "unknown scenario 'lift_bix'; did you mean"),
        (["simulate", "no/file.yaml"], "no/file.yaml: there is no such file"),
        (["simulate", "--set", "plant.sed=1"], "unknown key 'sed'; did you mean 'seed'"),
        (["simulate", "--set", "cell.object.urdf=no.urdf"], "no.urdf: there is no such file"),
        (["simulate", "--json", "no/folder/r.json"], "there is no folder no/folder"),
        (["identify", "a.npz", "--noise", "force"], "force: expected KEY=VALUE"),
        (["identify", "a.npz", "--noise", "forse=1"], "unknown key 'forse'; did you mean"),
        (["identify", "a.npz", "--noise", "force=a"], "force is 'a', expected a number."),
        (
            ["identify", "a.npz", "--noise", "force=-1"],
            "force is -1.0; expected a positive",
        ),
        (["identify", "a.npz", "--noise", "position=0"], "position is 0.0; expected a positive"),
        (["identify", "a.npz", "--noise", "torque_fraction=-1"], "expected a number from 0 on"),
        (["identify", "a.npz", "b.npz", "./a.npz"], "a.npz: is given twice; expected every rec"),
        (["inspect", "no.urdf"], "no.urdf: there is no such file, expected a URDF or MJCF file"),
    ],
)
def test_bad_input(arguments, message, capsys):
    """A file or a value that is refused: one sentence on standard error and status 2."""
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert len(captured.err.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments",
    [[], ["nonsense"], ["simulate", "--plant", "x"], ["simulate", "--repeat", "0"],
     ["simulate", "--duration", "-1"], ["simulate", "--duration", "x"]],
)  # fmt: skip
def test_bad_arguments(arguments, capsys):
    """Arguments that mean nothing end with status 2 and a line about them."""
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert "error:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("plant.object_mass_scale=1e300", "expected at most 1000, not 1e300"),
        ("reference.segments.0.duration_s=1e9", "expected at most 3600 s, not 1e9"),
        ("control.rate_hz=1e9", "expected at most 100000 Hz"),
        ("cell.object.mass=1e300", "expected at most 100000 kg"),
        ("cell.gravity=[0, 0, -1e300]", ""),
        ("cell.object.xyz=[1e300, 0, 0]", ""),
        ("cell.arms.0.grasp.xyz=[1e200, 0, 0]", ""),
        ("control.object.damping_ratio=1e300", "expected at most 3"),
    ],
)
def test_numbers_out_of_all_proportion(override, message, capfd):
    """They end in a sentence and status 2: no traceback, no remarks of NumPy, no hunger."""
    status = main([*SHORT, "--duration", "0.02", "--set", override])
    errors = capfd.readouterr().err
    assert status == 2
    assert message in errors
    assert all(line.startswith("robot_dynamics: ") for line in errors.splitlines())


def test_a_delay_that_no_servo_bears(tmp_path, capsys):
    """A plant with more delay than the gains bear is simulated, and the reason is said before."""
    report = tmp_path / "r.json"
    delayed = ["--set", "plant.command_delay_periods=8", "--json", str(report)]
    main([*SHORT, *delayed])
    first = capsys.readouterr().err.splitlines()[0]
    sentence = "plant.command_delay_periods is 8, with which the servo control.object is unstable"
    assert first.startswith(f"robot_dynamics: warning: {sentence}")
    assert json.loads(report.read_text())["warnings"][0].startswith(sentence)
    assert main([*SHORT, "--json", str(report)]) == 0
    assert capsys.readouterr().err == ""
    assert json.loads(report.read_text())["warnings"] == []


@pytest.mark.parametrize("seconds", ["1e5", "1e9"])
def test_a_run_that_cannot_be_kept(seconds, capsys):
    """A run of days is refused before it starts, with how long it may be."""
    assert main(["simulate", "--duration", seconds]) == 2
    assert "too long to be kept; expected at most 4000 s." in capsys.readouterr().err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk():
    """Output that cannot be written ends with status 1 and a sentence."""
    with open("/dev/full", "w") as full:
        process = subprocess.run(
            [sys.executable, "-m", "robot_dynamics.app.command_line.main", "schema"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE_S,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
    assert process.returncode == 1
    assert process.stderr == "robot_dynamics: No space left on device.\n"


@pytest.mark.parametrize("error", [MemoryError(), np.linalg.LinAlgError("Singular matrix.")])
def test_last_resorts(error, monkeypatch, capsys):
    """Unforeseen errors of numbers and memory are one sentence and status 2."""

    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr("robot_dynamics.app.runs.run.simulate", fail)
    assert main(SHORT) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_command_that_is_misspelt(capsys):
    """The one that was probably meant is named."""
    with pytest.raises(SystemExit):
        main(["simulat"])
    assert capsys.readouterr().err.endswith("; did you mean simulate?\n")


def test_inspect(capsys, tmp_path):
    """Inspecting shows the contents; one refused file among several ends with 2."""
    box = str(share_directory() / "urdf" / "box.urdf")
    assert main(["inspect", box]) == 0
    assert "10 kg" in capsys.readouterr().out
    assert main(["inspect", "--json", box, str(tmp_path / "no.urdf")]) == 2
    found = json.loads(capsys.readouterr().out)
    assert [entry["ok"] for entry in found] == [True, False]
    assert main(["inspect", "--json", box, "--graph", str(tmp_path / "tree.dot")]) == 0
    assert json.loads(capsys.readouterr().out)["total_mass_kg"] == 10.0
    assert (tmp_path / "tree.dot").read_text().startswith("digraph")
    assert main(["inspect", box, box, "--graph", str(tmp_path / "tree.dot")]) == 2
    assert "for one file" in capsys.readouterr().err
    loops = tmp_path / "loops.yaml"
    loops.write_text("loops: [{name: a, type: weld, predecessor: {link: a}}]")
    assert main(["inspect", box, "--loops", str(loops)]) == 2
    assert "loops.yaml:1" in capsys.readouterr().err


def test_benchmarks_need_a_checkout(tmp_path, monkeypatch, capsys):
    """A missing benchmark folder is reported."""
    monkeypatch.setattr("robot_dynamics.app.command_line.main.share_directory", lambda: tmp_path)
    assert main(["benchmark"]) == 2
    assert "expected a checkout" in capsys.readouterr().err


def test_benchmarks_are_run(tmp_path, monkeypatch):
    """The benchmarks of the checkout get all options, and say how it ended."""
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "__main__.py").write_text(
        "import sys; open('seen', 'w').write(' '.join(sys.argv[1:])); sys.exit(3)"
    )
    monkeypatch.setattr("robot_dynamics.app.command_line.main.share_directory", lambda: tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    for name in [name for name in sys.modules if name.partition(".")[0] == "benchmarks"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.chdir(tmp_path)
    options = "--json b.json --robots panda xarm7 --rounds 3 --limits"
    assert main(["benchmark", *options.split()]) == 3
    assert set((tmp_path / "seen").read_text().split()) == set(options.split())


def test_the_demo_names_its_requirements(monkeypatch, capsys):
    """Without ROS the demo is refused with a command that installs it."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["demo"]) == 2
    assert "robot_dynamics[ros]" in capsys.readouterr().err


def test_the_plot_is_left_out_without_matplotlib(monkeypatch, tmp_path, capsys):
    """A figure that was not asked for by name is left out, one that was is refused."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main([*SHORT, "--output", str(tmp_path)]) == 0
    assert "no plot" in capsys.readouterr().err
    assert not (tmp_path / "run.png").exists()
    assert main([*SHORT, "--plot", str(tmp_path / "run.png")]) == 2


def test_interrupted():
    """Ctrl-C ends a run with status 130 and no traceback."""
    code = (
        "import sys; from robot_dynamics.app.command_line.main import main;"
        "print('go', flush=True); sys.exit(main(sys.argv[1:]))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, *LONG],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert process.stdout.readline() == "go\n"
    process.stdout.readline()  # the first line of progress: it runs
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == command_line.INTERRUPTED
    assert errors == "robot_dynamics: interrupted.\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_interrupt(monkeypatch, capsys, number):
    """A signal to end it ends a run as Ctrl-C does."""
    heard = []
    monkeypatch.setattr("robot_dynamics.app.progress.display", lambda _: nullcontext(heard.append))
    with interrupted_when(lambda: heard, number=number):
        assert main(LONG) == INTERRUPTED
    assert capsys.readouterr().err == "robot_dynamics: interrupted.\n"


def test_a_lost_terminal(tmp_path):
    """The run is written although the terminal takes no text and sends another signal."""
    terminal, output = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "robot_dynamics", "simulate", "--output", str(tmp_path / "run")],
        stdin=output,
        stdout=output,
        stderr=output,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    os.close(output)
    text = b""
    while b"servo" not in text:
        text += os.read(terminal, 4096)
    os.close(terminal)
    process.send_signal(signal.SIGHUP)
    time.sleep(0.05)
    process.send_signal(signal.SIGHUP)
    assert process.wait(PATIENCE_S) == command_line.INTERRUPTED
    assert load_recording(tmp_path / "run" / "recording.npz").get("interrupted_s") > 0.0


BOX = str(share_directory() / "urdf" / "box.urdf")
XACRO = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:arg name="mass" default="1"/>
<link name="base"><inertial><mass value="$(arg mass)"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
</robot>
"""


def test_problems_are_counted_when_there_are_very_many(tmp_path, capsys):
    """A hundred of each kind are printed, the rest is counted; JSON has them all."""
    file = tmp_path / "many.urdf"
    link = '<link name="l{}"><inertial><mass value="x"/></inertial></link>\n'
    file.write_text("<robot name='r'>" + "".join(map(link.format, range(400))) + "</robot>")
    assert main(["inspect", str(file)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) < 110
    assert "error: ... and 701 more errors; --json lists all of them." in lines
    assert main(["inspect", "--json", str(file)]) == 2
    # Two for each link, and that none of them is the root.
    assert len(json.loads(capsys.readouterr().out)["errors"]) == 801


def test_xacro_arguments_are_words_among_the_files(tmp_path, capsys):
    """As those of xacro and ros2 launch: NAME:=VALUE; unknown ones are refused by name."""
    pytest.importorskip("xacro")
    file = tmp_path / "arm.urdf.xacro"
    file.write_text(XACRO)
    assert main(["inspect", "--json", str(file), "mass:=2.5"]) == 0
    assert json.loads(capsys.readouterr().out)["total_mass_kg"] == 2.5
    assert main(["inspect", "mass:=3", str(file), BOX]) == 0
    assert "3 kg" in capsys.readouterr().out
    assert main(["inspect", str(file), "mas:=2"]) == 2
    assert "unknown xacro argument 'mas'; did you mean 'mass'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([BOX, "mass:=1"], "mass:=1: only .xacro files take arguments"),
        (["mass:=1"], "there is no file to inspect"),
        ([BOX, ":=1"], "expected a name before :="),
        ([BOX, BOX, "--loops", "l.yaml"], "--loops and --graph are for one file"),
        ([BOX, "--graph", "no/folder/g.png"], "there is no folder no/folder"),
    ],
)
def test_arguments_that_mean_nothing(words, message, capsys):
    """One sentence and status 2."""
    assert main(["inspect", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def test_help_describes_xacro_arguments(capsys):
    """The help has the form and an example."""
    with pytest.raises(SystemExit):
        main(["inspect", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "NAME:=VALUE" in text
    assert "gripper:=true" in text


@pytest.fixture(scope="module")
def controller(run):
    """Return the controller's columns of the first second of a run."""
    own = ("tick", "commanded", "estimated", "reference", "control", "step")
    columns = {n: v[:500] for n, v in run.recording.columns.items() if n.startswith(own)}
    return Recording(columns, run.recording.metadata)


@pytest.mark.parametrize("suffix", [".npz", ".mcap"])
def test_the_default_place_of_a_figure(controller, tmp_path, capsys, suffix):
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


def test_recordings_that_cannot_be_drawn(run, tmp_path, capsys):
    """A file without the drawn columns, or that is no recording, ends with a sentence."""
    pytest.importorskip("matplotlib")
    columns = {name: run.recording[name][:9] for name in ("tick", "joint_position")}
    path = save_recording(Recording(columns, run.recording.metadata), tmp_path / "run.npz")
    assert main(["plot", str(path)]) == 2
    assert "there is no column 'object_pose'" in capsys.readouterr().err
    assert main(["plot", str(tmp_path / "none.npz")]) == 2
    assert "none.npz: cannot be read" in capsys.readouterr().err
    assert main(["plot", str(path), "--output", str(tmp_path / "no" / "x.png")]) == 2
    assert "there is no folder" in capsys.readouterr().err


def test_a_folder_gets_everything(tmp_path):
    """Report, figure and recording are written, and each file that an option names."""
    place, report = tmp_path / "run.1", tmp_path / "mine.json"
    with RunOutputs(place, report, None) as outputs:
        assert place.is_dir()
        assert outputs.reports == [place / "report.json", report]
        assert outputs.plots in ([place / "run.png"], [])  # without matplotlib none
        assert outputs.recording == place / "recording.npz"


def test_an_interrupt_before_a_run_leaves_no_empty_folder(tmp_path, monkeypatch):
    """Ctrl-C while the figure's library is imported removes the folder."""

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(RunOutputs, "_check_plot", interrupt)
    with pytest.raises(KeyboardInterrupt):
        RunOutputs(tmp_path / "a" / "b", None, None)
    assert not list(tmp_path.iterdir())


def test_a_run_that_fails_leaves_no_empty_folder(tmp_path, capsys):
    """Folders that were made are taken away again; those that were there stay."""
    with pytest.raises(KeyboardInterrupt), RunOutputs(tmp_path / "a", None, None):
        raise KeyboardInterrupt
    assert capsys.readouterr().err.endswith("nothing was written: no control period had ended.\n")
    with pytest.raises(ZeroDivisionError), RunOutputs(tmp_path / "a" / "b", None, None):
        raise ZeroDivisionError
    assert not (tmp_path / "a").exists()
    assert tmp_path.is_dir()


def test_ctrl_c_keeps_what_there_is_of_a_run(tmp_path, monkeypatch, capsys):
    """Recording and report up to there are written, and say that the run was interrupted."""

    def stop(progress):
        if progress.tick >= 20:
            raise KeyboardInterrupt

    monkeypatch.setattr("robot_dynamics.app.progress.display", lambda _: nullcontext(stop))
    status = main(["simulate", "gravity", "--duration", "0.1", "--output", str(tmp_path / "run")])
    assert status == INTERRUPTED
    said = capsys.readouterr()
    assert "NOT GOOD" in said.out
    assert "the run was interrupted after 0.04 of 0.1 s." in said.err
    kept = load_recording(tmp_path / "run" / "recording.npz")
    assert kept["tick"].tolist() == list(range(20))
    assert kept.get("interrupted_s") == pytest.approx(0.04)
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert report["failures"][0] == "the run was interrupted after 0.04 of 0.1 s."


@pytest.mark.parametrize(
    ("name", "expected"),
    [("run.npz", True), ("run.mcap", True), ("run", False), ("run.1", False), ("v1.25", False)],
)
def test_files_and_folders_are_distinguished(name, expected):
    """By their suffixes; one with a digit first is a part of a folder's name."""
    assert names_recording(Path(name)) is expected


def test_a_name_that_is_only_a_suffix_is_refused(tmp_path):
    """No hidden folder is made of it."""
    with pytest.raises(OutputError, match=r"expected a name before \.mcap"):
        RunOutputs(tmp_path / ".mcap", None, None)
    assert not list(tmp_path.iterdir())


def test_a_figure_that_cannot_be_written_is_refused_before_the_run(tmp_path):
    """Its format follows from the suffix."""
    pytest.importorskip("matplotlib")
    with pytest.raises(PlotError, match=r"x\.txt: expected a figure as .*\.png"):
        RunOutputs(None, None, tmp_path / "x.txt")
    RunOutputs(None, None, tmp_path / "x.PNG")


def test_other_files_are_refused(tmp_path):
    """Nobody wants a folder named run.csv, unless it is there."""
    place = tmp_path / "run.csv"
    with pytest.raises(OutputError, match=r"run\.csv: expected a recording as \.npz or \.mcap"):
        names_recording(place)
    assert not place.exists()
    place.mkdir()
    assert not names_recording(place)


def test_a_file_needs_a_folder_and_is_none(tmp_path):
    """A new file in a folder passes; one in no folder, and a folder itself, are refused."""
    require_parent(tmp_path / "r.json")
    assert not list(tmp_path.iterdir())
    with pytest.raises(OutputError, match="there is no folder"):
        require_parent(tmp_path / "no" / "r.json")
    with pytest.raises(OutputError, match="is a folder"):
        require_parent(tmp_path)


def test_a_folder_that_takes_no_files():
    """It is found out by trying; no trace of that is left."""
    with pytest.raises(OutputError, match="the folder /proc takes no files"):
        require_parent(Path("/proc/r.json"))


@pytest.mark.parametrize(
    ("end", "raised"), [(KeyboardInterrupt, KeyboardInterrupt), (OSError, OutputError)]
)
def test_an_interrupted_write_changes_nothing(tmp_path, end, raised):
    """An older file stays as it was and no part of the new one is left, also after a signal."""
    path = tmp_path / "figure.png"
    path.write_text("old")

    def write():
        with whole_file(path) as part:
            assert part.suffix == ".png"
            part.write_text("ne")
            raise end

    with pytest.raises(raised):
        write()
    assert [file.name for file in tmp_path.iterdir()] == ["figure.png"]
    assert path.read_text() == "old"
    with whole_file(path) as part:
        part.write_text("new")
    assert path.read_text() == "new"
    assert [file.name for file in tmp_path.iterdir()] == ["figure.png"]


def completions(line: str, folder: Path) -> list[str]:
    """Return the completions that a shell offers for a line."""
    pytest.importorskip("argcomplete")
    answer = folder / "answer"
    environment = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
        "_ARGCOMPLETE_IFS": "\n",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "COMP_TYPE": "9",
        "PYTHONPATH": str(share_directory()),
    }
    code = "from robot_dynamics.__main__ import main; main()"
    subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        cwd=folder,
        timeout=PATIENCE_S,
        check=True,
    )
    return [word.strip() for word in answer.read_text().split("\n") if word]


@pytest.mark.parametrize(
    ("line", "expected", "others"),
    [
        ("robot_dynamics si", {"simulate"}, {"demo"}),
        ("robot_dynamics simulate lift", {"lift_box", "lift_box_panda"}, {"tray"}),
        ("robot_dynamics simulate m", {"mine.yaml"}, {"mine.txt"}),
        ("robot_dynamics simulate --set plant.en", {"plant.engine="}, {"plant.seed="}),
        ("robot_dynamics simulate --plant ", {"engine", "mujoco"}, {"lift_box"}),
    ],
)
def test_completion(line, expected, others, tmp_path):
    """The shell is offered commands, scenarios, files, keys and choices, as far as they fit."""
    for name in ("mine.yaml", "mine.txt"):
        (tmp_path / name).touch()
    found = set(completions(line, tmp_path))
    assert expected <= found
    assert not others & found


def test_schema(capsys):
    """`schema` prints the JSON schema alone, which a program can read, or a page of Markdown."""
    assert main(["schema"]) == 0
    assert "cell" in json.loads(capsys.readouterr().out)["properties"]
    assert main(["schema", "--format", "markdown"]) == 0
    assert capsys.readouterr().out.startswith("# Scenario files")


def test_the_first_problem_of_a_reference_stands_alone(capsys):
    """One problem and the number of others; --verbose lists each of them."""
    assert main([*SHORT, "--set", "cell.object.mass=60"]) == 2
    first, how = capsys.readouterr().err.splitlines()[-2:]
    assert "would need" in first
    more = int(re.search(r"\(and (\d+) more problems\)", first)[1])
    assert "--verbose" in how
    assert main([*SHORT, "--set", "cell.object.mass=60", "--verbose"]) == 2
    found = [line for line in capsys.readouterr().err.splitlines() if "also at" in line]
    assert len(found) == more


def test_convert(tmp_path, capsys):
    """URDF to MJCF and back, with the loops in a file beside it, and to a model file."""
    pytest.importorskip("mujoco")
    arm = share_directory() / "urdf" / "parallelogram_arm.urdf"
    mjcf, urdf = tmp_path / "arm.xml", tmp_path / "arm.urdf"
    assert main(["convert", str(arm), str(mjcf)]) == 0
    assert main(["convert", str(mjcf), str(urdf)]) == 0
    loops = tmp_path / "arm_loops.yaml"
    assert f"written: {urdf}, {loops}" in capsys.readouterr().out
    model = tmp_path / "arm.json"
    assert main(["convert", str(urdf), str(model), "--loops", str(loops)]) == 0
    assert len(json.loads(model.read_text())["loops"]) == 2  # a hinge is two points of MJCF
    assert main(["convert", str(arm), str(tmp_path / "arm.sdf")]) == 2
    assert "ending in .urdf, .xml, .yaml or .json" in capsys.readouterr().err
    assert main(["convert", str(mjcf), str(urdf), "--loops", str(loops)]) == 2
    assert "arm_loops.yaml: is the file to convert" in capsys.readouterr().err
    assert main(["convert", str(mjcf), str(mjcf)]) == 2
    assert "is the file to convert, expected another output file" in capsys.readouterr().err
