# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The command `robot_dynamics inspect`."""

import json

import pytest

from robot_dynamics.app.command_line import main
from robot_dynamics.resources import share_directory

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


def test_help_tells_of_xacro_arguments(capsys):
    """The help has the form and an example."""
    with pytest.raises(SystemExit):
        main(["inspect", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "NAME:=VALUE" in text
    assert "gripper:=true" in text
