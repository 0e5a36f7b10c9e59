# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Controllers of one's own: in `simulate`, by name, over topics, behind the safety layer."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import expm

import robot_dynamics as rd
from robot_dynamics.app.command_line.main import main
from robot_dynamics.app.runs.demo import demonstrate
from robot_dynamics.control.controller import ControllerError, ControlTask, as_controller
from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.errors import RobotDynamicsError

ROOT = Path(__file__).resolve().parents[3]
STILL = ["reference={}", "acceptance={}"]


class Hold(rd.Controller):
    """A servo of the joints."""

    def __init__(self, bandwidth=20.0):
        self.bandwidth = bandwidth

    def start(self, seen):
        self.q, self.H = seen.q, self.task.inertia(seen.q)

    def torque(self, seen):
        w = self.bandwidth
        return seen.support + self.H @ (w**2 * (self.q - seen.q) - 2.0 * w * seen.qd)


def block_of(path, language, containing):
    """Return the first block of code of a document that contains some words."""
    blocks = re.findall(rf"```{language}\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    return next(block for block in blocks if containing in block)


@pytest.fixture
def hold(tmp_path, monkeypatch):
    """Return the name of the controller of the page, from its file in the working directory."""
    code = block_of(ROOT / "docs" / "own_controller.md", "python", "class Hold(rd.Controller)")
    assert len([line for line in code.splitlines() if line.strip()]) <= 18
    (tmp_path / "hold.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    return "hold.py:Hold"


def test_a_class_in_simulate():
    """It holds box and arms, is recorded and reported as a law is, and the box stays."""
    run = rd.simulate("lift_box", controller=Hold(), overrides=STILL, duration=0.4)
    assert run.ok, run.report["failures"]
    assert run.report["object_position_error_max_m"] < 1e-6
    assert run.report["law"] == f"{__name__}:Hold"
    assert run.report["delay_margin_s"] is None  # that of a servo which is not used
    assert {"estimated_pose", "reference_pose", "commanded_torque"} <= set(run.recording.columns)


def test_a_servo_of_the_joints_answers_as_its_poles_say():
    """Arms without an object, after a step of the desired posture: e = (1 + w t) exp(-w t)."""
    w, step = 20.0, 0.01

    class Step(Hold):
        def torque(self, seen):
            moved = self.q.copy()
            moved[3] += step
            H = self.task.inertia(seen.q)
            return seen.support + H @ (w**2 * (moved - seen.q) - 2.0 * w * seen.qd)

    changes = [*STILL, "control.start.ramp_s=0.0", "plant.command_delay_periods=0"]
    changes += ["control.command_delay_periods=0", "plant.friction_scale=0"]
    run = rd.simulate("gravity", controller=Step, overrides=changes, duration=0.4)
    q = run.recording["joint_position"][:, 3]
    t = run.recording["time"] - run.recording.get("period_s")  # the first torque is the support
    expected = q[0] + step * (1.0 - (1.0 + w * t) * np.exp(-w * t))
    late = t > 0.05
    # A zero-order hold of 2 ms delays by half a period: 0.2 % of w period.
    np.testing.assert_allclose(q[late], expected[late], atol=0.03 * step)


def test_controller_inputs_equal_the_run():
    """Pose, twist and reference of a run of the hybrid law, seen by a controller beside it."""
    seen = []

    def watch(now):
        seen.append(now)
        return now.support

    run = rd.simulate("lift_box", controller=watch, overrides=STILL, duration=0.1)
    rows = seen[-len(run.recording) :]
    recorded = run.recording
    for name, column in (
        ("q", "joint_position"),
        ("qd", "joint_velocity"),
        ("object_pose", "estimated_pose"),
        ("object_twist", "estimated_twist"),
        ("reference_pose", "reference_pose"),
    ):
        np.testing.assert_array_equal([getattr(row, name) for row in rows], recorded[column])
    np.testing.assert_allclose([row.time for row in rows], recorded["time"], atol=1e-12)
    wrenches = np.array([row.wrenches for row in rows]).reshape(len(rows), -1)
    np.testing.assert_array_equal(wrenches, recorded["grasp_wrench"])
    np.testing.assert_allclose(rows[-1].object_pose, recorded["object_pose"][-1], atol=1e-9)


def test_a_task_has_names_limits_and_inertia():
    """Names, limits and inertia of the arms, in the order of torques."""
    tasks = []

    class Prepared(Hold):
        def prepare(self, task):
            tasks.append(task)

    rd.simulate("lift_box", controller=Prepared(), overrides=STILL, duration=0.05)
    (task,) = tasks
    assert isinstance(task, ControlTask)
    sim = rd.Simulation("lift_box")
    assert task.joint_names == sim.joint_names
    assert task.arm_names == sim.arm_names
    np.testing.assert_array_equal(task.effort_limits, sim.effort_limits)
    q = sim.observation.q
    at = np.zeros(task.arms.model.nq)
    at[task.joints] = q
    own = np.ix_(task.joints, task.joints)
    np.testing.assert_allclose(task.inertia(q), task.arms.inertia_matrix(at)[own], atol=1e-12)
    assert task.internal_force_names[0].startswith("squeeze")


@pytest.mark.parametrize(
    ("controller", "expected"),
    [
        (lambda seen: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda seen: "x", "returned str; expected 14 torques"),
        (lambda seen: None, "returned None, as a function without `return` does"),
        (lambda seen: np.zeros(3), r"shape \(3,\); expected 14 torques"),
        (3, "expected a function of what is seen"),
    ],
)
def test_controllers_that_are_refused(controller, expected):
    """Each is named in a sentence, with the line that failed."""
    with pytest.raises(ControllerError, match=expected):
        rd.simulate("lift_box", controller=controller, overrides=STILL, duration=0.05)


def test_an_error_while_it_runs_ends_in_the_fallback():
    """The arms are held, and the report has the sentence."""

    def late(seen):
        if seen.time > 0.1:
            raise ValueError("no more")
        return seen.support

    run = rd.simulate("lift_box", controller=late, overrides=STILL, duration=0.3)
    assert "ValueError: no more" in run.report["failures"][0]
    assert np.abs(run.recording["joint_velocity"][-1]).max() < 1e-3


def test_the_safety_layer_stands_between():
    """Torques beyond limits, and an object far from its reference, end in the fallback."""
    changes = [*STILL, "control.start.ramp_s=0.0"]
    run = rd.simulate(
        "lift_box", controller=lambda seen: 500.0 + seen.support, overrides=changes, duration=0.1
    )
    assert "expected a finite torque" in run.report["failures"][0]
    changes[-1] = "control.start.ramp_s=0.2"
    run = rd.simulate(
        "lift_box", controller=lambda seen: np.full(14, 1e9), overrides=changes, duration=0.1
    )
    assert "wants 1e+09 N m" in run.report["failures"][0]  # not what the ramp makes of it
    run = rd.simulate("lift_box", controller=Hold, overrides=["acceptance={}"], duration=2.0)
    assert "from its reference" in run.report["failures"][0]


def test_the_safety_layer_switched_off():
    """The same run continues to its end, and its report names the missing output."""
    run = rd.simulate(
        "lift_box", controller=Hold, overrides=["acceptance={}"], duration=2.0, safety=False
    )
    assert run.ok
    assert run.report["warnings"] == ["the safety layer was off: nothing was checked."]
    assert run.report["object_position_error_max_m"] > 0.1
    with pytest.raises(ControllerError, match="division"):
        rd.simulate("lift_box", controller=lambda seen: 1 / 0, duration=0.05, safety=False)


def test_without_faults_the_safety_layer_changes_nothing():
    """Shipped law: the same states with it and without it, to the last bit."""
    runs = [rd.simulate("lift_box", duration=0.3, safety=safety) for safety in (True, False)]
    assert runs[0].report["state_hash"] == runs[1].report["state_hash"]


def test_a_scenario_alone_imports_nothing(hold, tmp_path):
    """Code that a file names is refused with how to allow it, and is not run."""
    (tmp_path / "hold.py").write_text("raise SystemExit('it ran')\n")
    with pytest.raises(ControllerError, match="is not allowed; expected --allow-code"):
        rd.simulate("lift_box", overrides=[f"control.law={hold}"])
    scenario = rd.load_scenario("lift_box", [f"control.law={hold}"])
    with pytest.raises(RobotDynamicsError, match="is not allowed"):
        demonstrate(scenario)


def test_by_its_name(hold, tmp_path):
    """A file beside the scenario, with options; from another folder as well."""
    text = block_of(ROOT / "docs" / "own_controller.md", "yaml", "law:")
    (tmp_path / "hold.py").write_text(
        block_of(ROOT / "docs" / "own_controller.md", "python", "bandwidth=20.0")
    )
    (tmp_path / "hold.yaml").write_text(text)
    named = rd.simulate("hold.yaml", duration=0.1, allow_code=True)
    same = rd.simulate("hold.yaml", duration=0.1, controller=Hold(25.0))
    assert named.report["state_hash"] == same.report["state_hash"]
    assert named.report["law"] == f"{tmp_path}/hold.py:Hold"


def test_by_the_entry_point_of_a_package(hold, tmp_path, monkeypatch):
    """A distribution with the declaration of the page is found by the short name."""
    declared = block_of(ROOT / "docs" / "own_controller.md", "toml", "robot_dynamics.controllers")
    (group, entry) = declared.strip().splitlines()
    group = group.removeprefix('[project.entry-points."').removesuffix('"]')
    package, about = tmp_path / "mypackage", tmp_path / "mypackage-1.0.dist-info"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "mymodule.py").write_text(Path(hold.rpartition(":")[0]).read_text())
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mypackage\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{group}]\n{entry.replace(chr(34), '')}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    changes = ["reference={}", "control.law=hold"]
    named = rd.simulate("lift_box", overrides=changes, duration=0.1, allow_code=True)
    by_file = ["reference={}", f"control.law={hold}"]
    same = rd.simulate("lift_box", overrides=by_file, duration=0.1, allow_code=True)
    assert named.report["state_hash"] == same.report["state_hash"]
    with pytest.raises(ControllerError, match="is not allowed"):
        rd.simulate("lift_box", overrides=changes, duration=0.1)


@pytest.mark.parametrize(
    ("law", "expected"),
    [
        ("missing.py:Hold", "No such file"),
        ("no_such_module:Hold", "No module named 'no_such_module'"),
        ("math:no_such_name", "no_such_name"),
        ("math:pi", "expected a function of what is seen"),
    ],
)
def test_names_that_are_refused(law, expected):
    """The message names the missing item."""
    with pytest.raises(ControllerError, match=expected):
        rd.simulate("lift_box", overrides=[f"control.law={law}"], allow_code=True)


def test_options_that_a_controller_does_not_take_are_refused(tmp_path):
    """A class without options, one with others, and a shipped law."""
    code = "import robot_dynamics as rd\nclass Hold(rd.Controller):\n    pass\n"
    (tmp_path / "hold.py").write_text(code)
    changes = [f"control.law={tmp_path}/hold.py:Hold", "control.options.stiffness=3"]
    with pytest.raises(ControllerError, match=r"'stiffness'; expected no options"):
        rd.simulate("lift_box", overrides=changes, allow_code=True)
    expected = rf"'stiffness'; expected options bandwidth \({__file__}"
    with pytest.raises(ControllerError, match=expected):
        as_controller(Hold, {"stiffness": 3})
    with pytest.raises(DescriptionError, match="options are for controllers of one's own"):
        rd.load_scenario("lift_box", ["control.options.stiffness=3"])


def test_an_observer_must_fit_the_object():
    """An object with a joint needs the law that knows it; arms without one the law gravity."""
    run = rd.simulate("fold", controller=lambda seen: seen.support, overrides=[], duration=0.1)
    assert run.report["failures"] is not None
    with pytest.raises(DescriptionError, match=r"control.observer is 'hybrid'.*'jointed'"):
        rd.load_scenario("fold", ["control.law=math:sin"])


def test_the_file_of_the_page_in_simulate_and_over_topics(hold):
    """The command line runs it, and the controller node: equal states, to the last bit."""
    shown = subprocess.run([sys.executable, "hold.py"], capture_output=True, text=True, check=True)
    assert float(shown.stdout) < 1e-6
    changes = [*STILL, f"control.law={hold}"]
    run = rd.simulate("lift_box", overrides=changes, allow_code=True, duration=0.1)
    assert run.ok
    pytest.importorskip("rclpy", reason="ROS 2 is not installed")
    over_topics = demonstrate(rd.load_scenario("lift_box", changes), duration=0.1, allow_code=True)
    assert over_topics.ok
    assert over_topics.report["state_hash"] == run.report["state_hash"]


def test_the_commands_of_the_page(hold, tmp_path, capsys):
    """`simulate` of the tutorial, as it is written there."""
    page = ROOT / "docs" / "own_controller.md"
    (tmp_path / "hold.py").write_text(block_of(page, "python", "bandwidth=20.0"))
    (tmp_path / "hold.yaml").write_text(block_of(page, "yaml", "law:"))
    (command, _) = block_of(page, "sh", "--allow-code").splitlines()
    words = command.split()
    assert words[0] == "robot_dynamics"
    assert main(words[1:]) == 0
    assert "hold with the plant 'engine': good" in capsys.readouterr().out


def test_the_function_of_the_page(tmp_path, monkeypatch, capsys):
    """It runs as it is written there."""
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    exec(block_of(ROOT / "docs" / "own_controller.md", "python", "def soft"), {"__name__": "soft"})
    assert capsys.readouterr().out.startswith("[")
    assert (tmp_path / "soft.png").is_file()


def test_the_law_of_the_page():
    """It runs as it is written there, and is refused where arms hold an object."""
    names = {}
    exec(block_of(ROOT / "docs" / "own_controller.md", "python", "rd.ControlLaw"), names)
    assert names["run"].ok
    with pytest.raises(rd.RobotDynamicsError, match=r"law: Stay .* 'lift_box' .* HoldsObject"):
        rd.simulate("lift_box", law=names["Stay"])


def test_a_linear_quadratic_regulator():
    """The example's small steps go as its linear model does, under torques held for a period."""
    LQR = runpy.run_path(str(ROOT / "examples" / "lqr.py"))["LQR"]
    controller = LQR(step=1e-3)
    ideal = ["plant.friction_scale=0", "plant.damping_scale=0", "control.start.ramp_s=0"]
    ideal += ["plant.command_delay_periods=0", "safety.torque_rate=.inf", *STILL]
    run = rd.simulate("gravity", controller=controller, overrides=ideal, duration=0.4)
    q, torque = run.recording["joint_position"], run.recording["commanded_torque"]
    n = q.shape[1]
    both = np.zeros((3 * n, 3 * n))
    both[: 2 * n] = np.hstack([controller.A, controller.B])
    held = expm(both * run.recording.get("period_s"))[: 2 * n]  # x[k+1] = held (x[k], u[k])
    x = np.concatenate([q[0] - controller.target, np.zeros(n)])
    u = torque[0] - controller.tau_0  # the ramp takes the first period
    for row in range(1, len(q)):
        x = held @ np.concatenate([x, u])
        u = -controller.K @ x
        np.testing.assert_allclose(
            q[row], controller.target + x[:n], rtol=0.0, atol=0.005 * controller.step
        )
