# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Malformed files: each is answered by errors that say where, and nothing else.

That each is answered at all is ensured by the time limit of the tests.
"""

import contextlib
import os
import re
import socket

import pytest
from description.malformed import DOUBTFUL, URDF, YAML, chain_without_mass
from description.malformed_models import MASSLESS, MODELS
from description.urdf_texts import ARM, line_of

from robot_dynamics.app.command_line.main import main
from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.load import load_description


@pytest.fixture(autouse=True)
def _no_network(monkeypatch):
    """Make the test fail at every attempt to reach a network."""

    def refuse(*args, **kwargs):
        pytest.fail("a malformed file opened a connection")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def refused(path, *loops):
    """Return the errors that a file is refused with."""
    with pytest.raises(DescriptionError) as caught:
        load_description(path, *loops)
    text = str(caught.value)
    assert len(text) < 100_000
    assert "Traceback" not in text
    assert "root:" not in text  # nobody's password file
    return [p for p in caught.value.problems if p.severity == "error"]


def check(errors, file, contents, where, words):
    """Check that an error has the words, and that it stands where it should."""
    found = [p for p in errors if re.search(words, p.sentence())]
    assert found, [p.sentence()[:300] for p in errors[:5]]
    assert found[0].place.startswith(str(file)) or found[0].place.startswith(file.name)
    if where is None:
        return
    line = found[0].place.rpartition(":")[2]
    assert line.isdigit(), found[0].place
    if isinstance(where, int):
        assert int(line) == where
    elif where:
        assert int(line) == line_of(contents.decode(), where)


def test_the_corpus_is_large():
    """Twice the sixty files that are the claim."""
    assert len(URDF) + len(YAML) + len(MODELS) >= 120


@pytest.mark.parametrize("case", URDF)
def test_a_malformed_urdf_is_answered(tmp_path, case):
    """Each URDF of the corpus: in time, with its place, in sentences."""
    contents, where, words = URDF[case]
    path = tmp_path / "robot.urdf"
    path.write_bytes(contents)
    check(refused(path), path, contents, where, words)


@pytest.mark.parametrize("case", YAML)
def test_a_malformed_file_of_loops_is_answered(tmp_path, case):
    """Each file of loop joints of the corpus."""
    contents, where, words = YAML[case]
    path = tmp_path / "loops.yaml"
    path.write_bytes(contents)
    check(refused(ARM, path), path, contents, where, words)


@pytest.mark.parametrize("case", MODELS)
def test_a_malformed_model_is_answered(tmp_path, case):
    """Each model file and DH table of the corpus."""
    contents, where, words = MODELS[case]
    (tmp_path / case).write_bytes(contents)
    check(refused(tmp_path / case), tmp_path / case, contents, where, words)


@pytest.mark.parametrize("case", MASSLESS)
def test_a_model_without_mass_is_read_with_a_warning(tmp_path, case):
    """Each model file and DH table in which a joint moves nothing: the warning has its line."""
    contents, line = MASSLESS[case]
    (tmp_path / case).write_bytes(contents)
    found = load_description(tmp_path / case).diagnosis.warnings
    (warning,) = [p for p in found if "moves only links without inertia" in p.message]
    assert warning.place.endswith(f"{case}:{line}")
    with pytest.raises(DescriptionError):
        load_description(tmp_path / case, strict=True)


@pytest.mark.parametrize("case", [case for case in DOUBTFUL if DOUBTFUL[case][1] is None])
def test_a_strict_reading_refuses_doubtful_files(case):
    """Warnings become errors."""
    contents, _, words = DOUBTFUL[case]
    with pytest.raises(DescriptionError) as caught:
        load_description(contents.decode(), strict=True)
    words = words.replace("urdf:", "<text>:")
    assert any(re.search(words, p.sentence()) for p in caught.value.problems)


def test_a_chain_without_mass_is_read_in_time():
    """A thousand joints without mass are one warning, not a thousand."""
    (warning,) = [
        p
        for p in load_description(chain_without_mass(1000).decode()).diagnosis.warnings
        if "moves only links without inertia" in p.message
    ]
    assert "and 999 further joints" in warning.message


def test_the_command_line_shows_no_traceback(tmp_path, capsys):
    """`robot_dynamics inspect` leaves with status 2 and sentences on the error output."""
    for contents, _, _ in URDF.values():
        (tmp_path / "robot.urdf").write_bytes(contents)
        assert main(["inspect", str(tmp_path / "robot.urdf")]) == 2
        out, err = capsys.readouterr()
        assert "robot.urdf" in err
        assert "Traceback" not in out + err


@pytest.mark.parametrize("case", DOUBTFUL)
def test_doubtful_files_end_with_status_0_and_a_warning(tmp_path, capsys, case):
    """Likely mistakes of units and the like are said with their place, and the file is shown."""
    urdf, loops, words = DOUBTFUL[case]
    (tmp_path / "robot.urdf").write_bytes(urdf)
    options = []
    if loops is not None:
        (tmp_path / "loops.yaml").write_bytes(loops)
        options = ["--loops", str(tmp_path / "loops.yaml")]
    # Loops drawn across an arm at random need not close: the warning is what is looked at.
    status = main(["inspect", str(tmp_path / "robot.urdf"), *options])
    out, err = capsys.readouterr()
    found = [line for line in err.splitlines() if re.search(words, line)]
    assert found
    assert all(re.match(r"warning: \S+:\d+: ", line) for line in found)
    assert status == (2 if "cannot be closed" in err else 0)
    assert "upper" in out


def special_files(folder):
    """Make irregular files, and return the arguments and words of the error of each."""
    (folder / "folder.urdf").mkdir()
    os.mkfifo(folder / "pipe.urdf")
    (folder / "circle.urdf").symlink_to("circle.urdf")
    (folder / "nowhere.urdf").symlink_to("gone.urdf")
    (folder / "endless.urdf").symlink_to("/dev/zero")
    (folder / "nothing.urdf").symlink_to("/dev/null")
    (folder / "good.urdf").write_text(ARM)
    (folder / "secret.urdf").write_text(ARM)
    (folder / "secret.urdf").chmod(0)
    found = {
        "folder.urdf": "is a folder, expected a URDF or MJCF file",
        "pipe.urdf": "a pipe without a writer",
        "circle.urdf": "cannot be read",
        "nowhere.urdf": "there is no such file",
        "endless.urdf": "is larger than 8 MiB",
        "nothing.urdf": "is empty",
    }
    if not os.access(folder / "secret.urdf", os.R_OK):  # as for all but the superuser
        found["secret.urdf"] = "cannot be read (Permission denied)"
    found = {(str(folder / name),): words for name, words in found.items()}
    for name in ("pipe.urdf", "folder.urdf", "endless.urdf"):
        path = str(folder / name)
        found[(str(folder / "good.urdf"), "--loops", path)] = "expected a YAML file"
    found[(str(folder / "good.urdf"), "--loops", str(folder / "endless.urdf"))] = "larger than 1"
    return found


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs a Unix system")
def test_special_files_end_with_a_sentence(tmp_path, capsys):
    """Folders, pipes, circles of links, devices: the command ends, with a sentence."""
    for arguments, words in special_files(tmp_path).items():
        assert main(["inspect", *arguments]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        (line,) = said.err.splitlines()
        assert words in line
        assert os.path.basename(arguments[-1]) in line


def test_names_that_yaml_1_1_takes_for_truth_values_are_names(tmp_path):
    """Joints and links called y, n, on, off and no need no quotes."""
    robot = ARM.replace('"shoulder"', '"y"').replace('"elbow"', '"off"').replace('"base"', '"no"')
    (tmp_path / "l.yaml").write_text(
        "loops: [{name: on, type: point, predecessor: {link: no}, successor: {link: tool}}]\n"
        "couplings: [{name: n, joint: y, driver: off}]\n"
    )
    mechanism = load_description(robot, tmp_path / "l.yaml").mechanism
    assert (mechanism.loops[0].name, mechanism.loops[0].predecessor) == ("on", "no")
    assert mechanism.couplings[0].terms == (("y", 1.0), ("off", -1.0))


def test_every_prefix_of_a_file_is_answered(tmp_path):
    """Wherever a copy was cut off, it is refused with a line; never a crash."""
    for end in range(0, len(ARM) - len("</robot>\n"), 37):
        path = tmp_path / "cut.urdf"
        path.write_text(ARM[:end])
        errors = refused(path)
        assert re.fullmatch(r"cut\.urdf:\d+", errors[0].place), errors[0].place


def test_every_flipped_byte_is_answered(tmp_path, rng):
    """A file with a damaged byte is read or refused; nothing else happens."""
    for at in rng.integers(0, len(ARM), 150):
        contents = bytearray(ARM.encode())
        contents[at] ^= 1 << int(rng.integers(0, 8))
        path = tmp_path / "flipped.urdf"
        path.write_bytes(bytes(contents))
        with contextlib.suppress(DescriptionError):
            load_description(path)
