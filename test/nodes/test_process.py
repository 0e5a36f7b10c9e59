# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The process of a node: start, signals, errors, exit status, real-time priority."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from waiting import PATIENCE_S

from robot_dynamics.nodes import process
from robot_dynamics.nodes.process import PriorityError, set_realtime_priority

ROOT = Path(__file__).resolve().parents[2]
NODE = """
import os, sys, time
from rclpy.node import Node
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.topics import Inbox
from robot_dynamics.app.progress import seconds_since_process_start
from robot_dynamics.nodes.process import RunError, run

fate = sys.argv[1]
fates = []

class Mine:
    due = None
    incomplete = False
    beats = 0

    def __init__(self, reporter):
        reporter.enabled = True
        self.reporter = reporter
        if fate == "refused":
            raise RobotDynamicsError("the file is wrong.")
        if fate == "huge":
            raise OverflowError("out of range")
        if fate == "slow":
            reporter.report("starting")
            # A signal that comes just before a sleep begins does not end it.
            for _ in range(360000):
                time.sleep(0.01)
        self.node = Node("mine")
        self.inbox = Inbox(self.node)
        if fate == "timed":
            self.began = self.due = time.monotonic()
        reporter.report("made", age=seconds_since_process_start())

    def on_messages(self):
        pass

    def publish_diagnostics(self):
        pass

    def on_period(self):
        self.due += 0.01
        self.beats += 1
        if self.beats == 50:
            self.reporter.report("beats", seconds=time.monotonic() - self.began)

    def on_idle(self):
        if fate == "fails":
            raise RunError("the other side is gone.")
        if fate == "bug":
            raise KeyError("key")
        if fate == "survives":
            fates.append("again")
            raise KeyError(len(fates))

    def on_error(self, error):
        if fate != "survives":
            raise error
        self.reporter.report("survived", what=str(error))

    def close(self):
        self.reporter.report("closed")
        time.sleep(0.2)
        if fate in ("fails", "unsaved"):
            raise OSError("disk full")

sys.exit(run("mine", Mine, sys.argv[1:]))
"""


def start(fate, *arguments, **options):
    """Start a node with a fate."""
    return subprocess.Popen(
        [sys.executable, "-c", NODE, fate, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        **options,
    )


def line(process):
    """Return the next report."""
    return json.loads(process.stdout.readline())


def without_information(text):
    """Return the text on standard error, less lines of the log's level INFO."""
    return "".join(line for line in text.splitlines(True) if "[INFO]" not in line)


def end(process):
    """Return exit status, reports and words."""
    out, err = process.communicate(timeout=PATIENCE_S)
    words = without_information(err)
    return process.returncode, [json.loads(text)["event"] for text in out.splitlines()], words


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_it_cleanly(domain, number):
    """Two of them as well: the second changes nothing while it closes."""
    process = start("lives")
    assert [line(process)["event"] for _ in range(2)] == ["made", "ready"]
    process.send_signal(number)
    assert line(process)["event"] == "closed"
    process.send_signal(number)
    status, _, err = end(process)
    assert (status, err) == (0, "")


def test_an_interrupt_while_it_starts(domain):
    """Compiling takes seconds; nobody has to wait for it."""
    process = start("slow")
    assert line(process)["event"] == "starting"
    process.send_signal(signal.SIGINT)
    status, _, err = end(process)  # which waits far less than it takes to start
    assert (status, err) == (0, "")


def test_a_failure_to_save_ends_with_status_1(domain):
    """A node that was asked to end, and could not write its recording, ends with status 1."""
    process = start("unsaved")
    assert [line(process)["event"] for _ in range(2)] == ["made", "ready"]
    process.send_signal(signal.SIGTERM)
    status, _, err = end(process)
    assert (status, err) == (1, "mine: while ending: disk full\n")


def test_refused_input_ends_with_status_2(domain):
    """With one sentence for people and one report for the launcher."""
    status, events, err = end(start("refused"))
    assert (status, events, err) == (2, ["error"], "mine: the file is wrong.\n")


def test_numbers_out_of_proportion_end_with_status_2(domain):
    """Numbers too large to compute with are a sentence, not a traceback."""
    status, events, err = end(start("huge"))
    assert (status, events, len(err.splitlines())) == (2, ["error"], 1)
    assert "numbers are too large or too far apart (out of range)" in err


NO_SCENARIO = {"scenario": "lift_bx"}, "unknown scenario 'lift_bx'; did you mean 'lift_box'?"
SETTINGS = [
    (
        "controller",
        {"scenario": "lift_bx"},
        "unknown scenario 'lift_bx'; did you mean 'lift_box'?",
    ),
    ("controller", {"scenario": "no/such/file.yaml"}, "there is no such file"),
    ("controller", {"duration": -1}, "parameter 'duration' is -1; expected at least 0."),
    ("controller", {"mode": "lockstop"}, "'mode' is 'lockstop'; expected one of lockstep"),
    ("controller", {"scenaro": "lift_box"}, "'scenaro'; did you mean 'scenario'?"),
    ("simulator", *NO_SCENARIO),
    ("simulator", {"on_command_timeout": "fall"}, "'on_command_timeout' is 'fall'; expected one"),
    ("guard", *NO_SCENARIO),
    ("guard", {"heartbeat_timeout": 0.0}, "'heartbeat_timeout' is 0.0; expected at least"),
]
# One process for all of them: most of the time goes into imports.
REFUSED = """
import contextlib, io, json, sys
from functools import partial
from importlib import import_module
from robot_dynamics.nodes.lifecycle import SessionNode
from robot_dynamics.nodes.process import run

for name, file in zip(sys.argv[1::2], sys.argv[2::2]):
    module = import_module(f"robot_dynamics.nodes.{name}")
    if name == "controller":
        create = module.ControllerNode
    else:
        session = getattr(module, name.capitalize())
        create = partial(SessionNode, name, getattr(module, name.upper()), session)
    with contextlib.redirect_stderr(io.StringIO()) as said:
        status = run(name, create, ["--ros-args", "--params-file", file])
    print(json.dumps([status, said.getvalue()]))
"""


def test_bad_settings_of_nodes_end_with_status_2(domain, tmp_path):
    """One sentence, no traceback."""
    arguments = []
    for name, parameters, _ in SETTINGS:
        file = tmp_path / f"{len(arguments)}.yaml"
        file.write_text(json.dumps({"/**": {"ros__parameters": parameters}}))
        arguments += [name, str(file)]
    done = subprocess.run(
        [sys.executable, "-c", REFUSED, *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    for (name, _, words), text in zip(SETTINGS, done.stdout.splitlines(), strict=True):
        status, said = json.loads(text)
        assert status == 2, said
        assert said.startswith(f"{name}: ")
        assert words in said
        assert len(said.splitlines()) == 1


def test_bad_ros_arguments_are_refused(domain):
    """Also in one sentence."""
    status, _, err = end(start("lives", "--ros-args", "--params-file", "no-such-file.yaml"))
    assert status == 2
    assert "no-such-file.yaml" in err
    assert "Traceback" not in err


def test_a_failed_run_ends_with_status_1(domain):
    """Errors while it closes do not hide the reason of the failure."""
    status, events, err = end(start("fails"))
    assert (status, events) == (1, ["made", "ready", "error", "closed"])
    assert err == "mine: the other side is gone.\nmine: while ending: disk full\n"


def test_a_bug_is_shown_in_full_after_closing(domain):
    """A traceback helps to find it; the arms are looked after before."""
    status, events, err = end(start("bug"))
    assert (status, events) == (1, ["made", "ready", "error", "closed"])
    assert "KeyError" in err


def test_a_node_may_outlive_an_error(domain):
    """Arms may hang on it: its loop goes on, and ends as it is asked to."""
    process = start("survives")
    assert [line(process)["event"] for _ in range(2)] == ["made", "ready"]
    assert [line(process)["what"] for _ in range(3)] == ["1", "2", "3"]
    process.send_signal(signal.SIGTERM)
    status, events, err = end(process)
    assert (status, events[-1], err) == (0, "closed", "")


def test_a_launcher_that_stops_reading_does_no_harm(domain):
    """Reports that nobody reads are not worth an exception."""
    process = start("lives")
    assert [line(process)["event"] for _ in range(2)] == ["made", "ready"]
    process.stdout.close()
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_S) == 0
    assert without_information(process.stderr.read()) == ""


def test_the_period_is_kept_on_average(domain):
    """50 periods of 10 ms take half a second."""
    process = start("timed")
    age = line(process)["age"]
    assert line(process)["event"] == "ready"
    assert 0.05 < age < PATIENCE_S  # the interpreter has started and imported, some time ago
    # A busy machine may be late, and what is missed is not made up for; early it never is.
    assert 0.49 < line(process)["seconds"] < PATIENCE_S
    process.send_signal(signal.SIGINT)
    assert end(process)[0] == 0


TASKS_ROOT = Path(__file__).resolve().parents[2]
# Each thread says of itself what it is; a process of its own, which may not stay as it is.
PROGRAM = """
import json, os, threading
from robot_dynamics.nodes.process import PriorityError, set_realtime_priority

policies, done = {}, threading.Event()

def note(name):
    policies[name] = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK

def earlier():
    done.wait()
    note("earlier")

thread = threading.Thread(target=earlier)
thread.start()
try:
    set_realtime_priority(5)
except PriorityError as error:
    policies["refused"] = str(error)
else:
    note("main")
    policies["priority"] = os.sched_getparam(0).sched_priority
    later = threading.Thread(target=note, args=("later",))
    later.start()
    later.join()
done.set()
thread.join()
print(json.dumps(policies))
"""


@pytest.mark.skipif(not hasattr(os, "SCHED_FIFO"), reason="needs Linux")
def test_only_control_threads_get_the_priority():
    """The main thread does; threads that were there before, or come later, do not."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(TASKS_ROOT)},
    )
    found = json.loads(done.stdout)
    if "refused" in found:
        pytest.skip(found["refused"])
    assert found == {
        "main": os.SCHED_FIFO,
        "priority": 5,
        "earlier": os.SCHED_OTHER,
        "later": os.SCHED_OTHER,
    }


def test_a_priority_that_is_not_granted(monkeypatch):
    """One sentence has the expected value."""

    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(process.os, "sched_setscheduler", refuse, raising=False)
    with pytest.raises(PriorityError, match=r"priority 5 .*not permitted.*`rtprio`"):
        set_realtime_priority(5)
