# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics come once a second and on change, with figures that are right."""

import ast
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("diagnostic_msgs", reason="ROS 2 is not installed")

from rclpy.time import Time
from waiting import wait_until

from robot_dynamics.nodes import control_report, diagnostics
from robot_dynamics.nodes.diagnostics import (
    ERROR,
    OK,
    WARN,
    Diagnostics,
    Durations,
    Latency,
    SentenceLog,
)

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "ros.md"


def test_durations_of_the_last_repetitions():
    """Median, 99th percentile, maximum and overruns; old values are forgotten, overruns not."""
    durations = Durations(limit_s=0.5e-3, window=100)
    assert durations.figures("step") == {}
    durations.add(1.0)
    for i in range(100):
        durations.add(1e-6 * (i + 1))
    figures = durations.figures("step")
    assert figures["step median [us]"] == pytest.approx(50.5)
    assert figures["step p99 [us]"] == pytest.approx(99.01)
    assert figures["step max [us]"] == pytest.approx(100.0)
    assert figures["step overruns"] == 1


def test_latency_since_the_last_report():
    """From the oldest sample to the command, mean and maximum; every report begins anew."""
    latency = Latency()
    latency.sampled("left", 0)  # a middleware that does not say
    latency.sent()
    assert latency.figures() == {}
    begin = time.time_ns()
    latency.sampled("left", begin - 3_000_000)
    latency.sampled("right", begin - 1_000_000)
    latency.sent()
    latency.sampled("left", begin - 1_000_000)
    latency.sent()
    passed = 1e-3 * (time.time_ns() - begin)
    figures = latency.figures()
    assert 3000.0 <= figures["latency max [us]"] <= 3000.0 + passed
    assert 2000.0 <= figures["latency mean [us]"] <= 2000.0 + passed
    assert latency.figures() == {}


def test_a_status_says_what_it_is_about(ros):
    """Name, level, message and figures arrive; a change is noticed."""
    from diagnostic_msgs.msg import DiagnosticArray

    node = ros.create_node("speaker")
    heard = []
    node.create_subscription(DiagnosticArray, "/diagnostics", heard.append, 10)
    diagnostics = Diagnostics(node, "lift_box")
    assert diagnostics.due

    def speak():
        figures = {"tick": 5, "scale": 0.123456789}
        diagnostics.update(OK, "running", lambda: figures, at_once=True)
        ros.spin_once(node, timeout_sec=0.1)

    wait_until(lambda: heard, speak)
    assert not diagnostics.due
    assert not diagnostics.update(OK, "running", lambda: pytest.fail("it is neither new nor due"))
    assert diagnostics.update(WARN, "running", dict)
    assert diagnostics.update(OK, "running", dict)
    (status,) = heard[0].status
    assert (status.name, status.hardware_id) == ("speaker: state", "lift_box")
    assert (status.level, status.message) == (OK, "running")
    assert {v.key: v.value for v in status.values} == {"tick": "5", "scale": "0.1235"}

    # A controller that is configured for another scenario.
    diagnostics.set_hardware("fold")
    wait_until(lambda: heard[-1].status[0].hardware_id == "fold", speak)
    node.destroy_node()


@pytest.mark.skipif(not PAGE.is_file(), reason="needs the checkout")
def test_every_key_is_documented():
    """Who watches a robot relies on keys: those in the source of the nodes are in the table."""
    text = PAGE.read_text(encoding="utf-8")
    sources = {"control_report": "figures", "guard": "_figures", "simulator": "_figures"}
    keys = set()
    for module, function in sources.items():
        path = ROOT / "robot_dynamics" / "nodes" / f"{module}.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name in (function, "_fault_figures"):
                keys |= {k.value for d in ast.walk(node) if isinstance(d, ast.Dict)
                         for k in d.keys if isinstance(k, ast.Constant)}  # fmt: skip
                keys |= {s.slice.value for s in ast.walk(node) if isinstance(s, ast.Subscript)
                         and isinstance(s.slice, ast.Constant)}  # fmt: skip
    keys |= {*control_report._SCALES, *control_report._MORE_SCALES}
    latency = Latency()
    latency.sampled("left", 1)
    latency.sent()
    keys |= latency.figures().keys()
    for name in ("control cycle", "latency"):
        durations = Durations(1.0)
        durations.add(0.5)
        keys |= durations.figures(name).keys()
    keys = {key for key in keys if isinstance(key, str)}
    assert len(keys) > 25
    assert {key for key in keys if f"`{key}`" not in text} == set()


def test_a_status_that_flickers_is_published_a_few_times_a_second(monkeypatch):
    """Numbers wait for the regular message, OK and warnings a second; errors come at once."""
    now, sent = [5.0], []
    monkeypatch.setattr(diagnostics, "time", SimpleNamespace(monotonic=lambda: now[0]))
    node = SimpleNamespace(
        create_publisher=lambda *_: SimpleNamespace(
            publish=lambda array: sent.append(array.status[0].message)
        ),
        get_fully_qualified_name=lambda: "/controller",
        get_clock=lambda: SimpleNamespace(now=lambda: Time(seconds=now[0])),
    )
    status = Diagnostics(node, "lift_box")
    for i in range(300):
        now[0] += 0.01
        if i % 2:
            status.update(OK, "running", dict)
        else:
            status.update(WARN, f"running: samples are {0.01 * i:.3g} ms apart.", dict)
    assert 6 <= len(sent) <= 9
    sent.clear()
    for i in range(300):
        now[0] += 0.01
        status.update(WARN, f"running: samples are {0.01 * i:.3g} ms apart.", dict)
    assert 3 <= len(sent) <= 4
    sent.clear()
    for fault in ("arm lost", "stopped", "arm lost"):
        now[0] += 0.01
        status.update(ERROR, f"fallback: {fault}", dict)
    assert len(sent) == 3


def test_sentences_that_differ_in_numbers_are_logged_once_a_second(monkeypatch):
    """Others at once; errors as errors."""
    now, logged = [5.0], []
    monkeypatch.setattr(diagnostics, "time", SimpleNamespace(monotonic=lambda: now[0]))
    logger = SimpleNamespace(
        error=lambda text: logged.append(("error", text)),
        warning=lambda text: logged.append(("warning", text)),
    )
    log = SentenceLog(SimpleNamespace(get_logger=lambda: logger))
    for i in range(24):
        log(WARN, f"samples are {1.5e-3 * i:.3g} ms apart at {i}.")
        now[0] += 0.125
    log(ERROR, "the arm is lost.")
    assert [text for _, text in logged] == [
        "samples are 0 ms apart at 0.",
        "samples are 0.012 ms apart at 8.",
        "samples are 0.024 ms apart at 16.",
        "the arm is lost.",
    ]
    assert [level for level, _ in logged] == ["warning"] * 3 + ["error"]
    for name in ("left_joint3", "left_joint4"):  # not the digits of names
        log(ERROR, f"joint {name!r} is at 3.1 rad.")
    assert [text for _, text in logged[-2:]] == [
        "joint 'left_joint3' is at 3.1 rad.",
        "joint 'left_joint4' is at 3.1 rad.",
    ]
    for i in range(1000):  # a flood of kinds is not remembered without end
        log(WARN, f"{'x' * i} is unknown.")
    assert len(log._limit._passed_at) <= 100
