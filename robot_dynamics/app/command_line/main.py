# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The command `robot_dynamics`."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import stat
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, TextIO, get_args

from robot_dynamics.app.command_line.arguments import (
    add_json,
    add_overrides,
    count,
    natural,
    place,
    positive,
)
from robot_dynamics.app.command_line.commission import add_commission
from robot_dynamics.app.command_line.convert import add_convert
from robot_dynamics.app.command_line.excite import add_excite
from robot_dynamics.app.command_line.identify import add_identify
from robot_dynamics.app.command_line.study import add_study
from robot_dynamics.app.command_line.view import add_render, add_view
from robot_dynamics.app.output_files import (
    OutputError,
    json_alone,
    require_parent,
    write_json,
)
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.resources import share_directory
from robot_dynamics.simulation import EngineName

GOOD, BAD_RUN, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
_ENDING = (signal.SIGTERM, signal.SIGHUP)  # besides Ctrl-C; SIGHUP: a terminal was lost

_DESCRIPTION = """\
Rigid-body dynamics with closed loops, and torque control of several arms that hold one object.

Exit status: 0 if all went well, 1 if a run was not good, 2 if a file or an argument was refused,
130 after Ctrl-C."""
_EXAMPLES = """\
examples:
  robot_dynamics demo                              two arms lift a box, on ROS 2 topics
  robot_dynamics simulate lift_box --plot lift.png the same in one process, without ROS
  robot_dynamics simulate lift_box --output run.mcap   for Foxglove, PlotJuggler, ros2 bag
  robot_dynamics plot run.mcap                     the figure of a recorded run
  robot_dynamics view run.mcap                     the arms in the browser
  robot_dynamics render run.mcap --output run.mp4      a film of it, without a display
  robot_dynamics simulate lift_box --set plant.object_mass_scale=1.2
  robot_dynamics inspect my_robot.urdf --loops loops.yaml --graph tree.png
  robot_dynamics inspect my_robot.urdf.xacro arm:=left gripper:=true
  robot_dynamics convert my_robot.urdf my_robot.xml    to MJCF, and back
  robot_dynamics posture my_cell.yaml --output my_cell.yaml   from the grasps alone
  robot_dynamics schema > scenario.schema.json     for completion in editors
  robot_dynamics study my_study.yaml               many runs with other values, and a report
  robot_dynamics excite pick_and_place --arm left --output motion.yaml   to identify the arm
  robot_dynamics excite lift_box --payload --output motion.yaml          or the held object
  robot_dynamics identify run.mcap --output corrected.yaml   mass and centre of the object
  robot_dynamics drill --json drill.json           fault injection on ROS 2 nodes
  robot_dynamics reproduce flexible-link --plot slew.png"""


#: Adds a command to the subparsers of a command line. Its default `run` takes the options and
#: returns the exit status.
AddCommand = Callable[[Any], object]


def main(arguments: Sequence[str] | None = None, more: Sequence[AddCommand] = ()) -> int:
    """Run the command and return its exit status.

    Args:
        arguments: Arguments after the name of the command; sys.argv by default.
        more: Further commands, of folders that this one must not import.
    """
    parser = _parser(more)
    if "_ARGCOMPLETE" in os.environ:  # a shell asks for words to complete a line with
        with contextlib.suppress(ImportError):
            from argcomplete import autocomplete

            autocomplete(parser)
    options = parser.parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = options.run
    # Like Ctrl-C, other signals leave no node running and keep the run until then.
    previous = _take_signals()
    try:
        with warnings.catch_warnings():
            # Numbers that grow without bound end in an error message; suppress NumPy's warnings
            # before it.
            warnings.simplefilter("ignore", RuntimeWarning)
            warnings.showwarning = _show_warning
            place = getattr(options, "json", None)
            with json_alone(place if isinstance(place, Path) else None):
                return run(options)
    except KeyboardInterrupt:
        print("robot_dynamics: interrupted.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # as from `robot_dynamics inspect x.urdf | head`
        _discard_output()
        return BAD_RUN
    except RobotDynamicsError as error:
        _complain(error, getattr(options, "verbose", True))
        return int(getattr(error, "exit_status", BAD_INPUT))
    except OSError as error:  # as a full disk
        _discard_output()
        what = f"{error.filename}: " if error.filename else ""
        print(f"robot_dynamics: {what}{error.strerror or error}.", file=sys.stderr)
        return BAD_RUN
    except MemoryError:
        print(
            "robot_dynamics: there is not enough memory; expected a shorter run or smaller files.",
            file=sys.stderr,
        )
        return BAD_INPUT
    except (ValueError, OverflowError) as error:
        # By its name: importing NumPy here would slow every start.
        if type(error).__name__ not in ("LinAlgError", "OverflowError"):
            raise
        reason = str(error.args[-1] if error.args else error).rstrip(".")
        print(
            f"robot_dynamics: numbers are too far apart to compute with ({reason}); expected "
            "masses, lengths and gains of a usual size.",
            file=sys.stderr,
        )
        return BAD_INPUT
    finally:
        _set_handlers(previous)


def _parser(more: Sequence[AddCommand]) -> argparse.ArgumentParser:
    parser = _Parser(
        prog="robot_dynamics",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    demo = commands.add_parser(
        "demo",
        help="run a scenario with simulator and controller as ROS 2 nodes",
        description="Start the simulator and the controller as two ROS 2 nodes, run a scenario in "
        "lockstep, and write a plot, a report and the recording.",
    )
    _add_run_options(demo)
    demo.set_defaults(run=_demo)

    simulate = commands.add_parser(
        "simulate",
        help="run a scenario in one process, without ROS",
        description="Run a scenario in one process, without ROS. Files are written where asked.",
    )
    _add_run_options(simulate)
    simulate.add_argument(
        "--repeat",
        type=count,
        default=1,
        metavar="N",
        help="run it N times; the run is good if all states are equal to the last bit",
    )
    simulate.add_argument(
        "--no-safety",
        action="store_true",
        help="let torques act without the checks of the safety layer; nodes cannot",
    )
    simulate.set_defaults(run=_simulate)

    benchmark = commands.add_parser(
        "benchmark",
        help="time the algorithms beside Pinocchio and MuJoCo (from a checkout)",
        description="Time the algorithms beside those of other libraries, in one run and after "
        "comparing their results. Needs a checkout and the extra `test`.",
    )
    add_json(benchmark, "the figures")
    benchmark.add_argument(
        "--robots", nargs="+", metavar="ROBOT", help="only these, as xarm7 panda"
    )
    benchmark.add_argument(
        "--rounds", type=count, metavar="N", help="turns of each function (default: 25)"
    )
    benchmark.add_argument(
        "--limits",
        action="store_true",
        help="print instead the operations of the algorithms, and their times beside those that "
        "this machine needs for them at its peak",
    )
    benchmark.set_defaults(run=_benchmark)

    _add_drill(commands)
    add_identify(commands)
    add_excite(commands)
    add_commission(commands)
    _add_inspect(commands)
    add_convert(commands)
    _add_plot(commands)
    _add_posture(commands)
    _add_schema(commands)
    add_study(commands)
    add_render(commands)
    add_view(commands)
    for add in more:
        add(commands)
    return parser


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    _add_scenario(parser)
    add_json(parser, "the report")
    parser.add_argument("--plot", type=place, metavar="FILE", help="write the figure (.png, .pdf)")
    parser.add_argument(
        "--output",
        type=place,
        metavar="PLACE",
        help="write the recording into this file (.npz, .mcap), or report.json, run.png and "
        "recording.npz into this folder"
        + (" (default: runs/SCENARIO)" if parser.prog.endswith("demo") else ""),
    )
    parser.add_argument(
        "--plant",
        choices=get_args(EngineName),
        help="engine of the simulated arms: our dynamics, or MuJoCo (extra `mujoco`)",
    )
    parser.add_argument(
        "--duration",
        type=positive,
        metavar="S",
        help="simulated seconds; beyond the reference the object is held at its end",
    )
    parser.add_argument(
        "--verbose",
        action="store_true",
        help="list all problems of a reference that is refused, not the first alone",
    )
    parser.add_argument(
        "--allow-code",
        action="store_true",
        help="import the controller that control.law names, MODULE:NAME or FILE.py:NAME",
    )


def _add_scenario(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _shipped()
    scenario = parser.add_argument(
        "scenario",
        nargs="?",
        default="lift_box",
        metavar="SCENARIO",
        help="a YAML file, the folder of a robot, or a name from below (default: %(default)s)",
    )
    if "_ARGCOMPLETE" in os.environ:
        scenario.completer = _complete_scenario  # type: ignore[attr-defined]
    add_overrides(parser)


def _add_drill(commands: Any) -> None:
    parser = commands.add_parser(
        "drill",
        help="inject faults into running nodes and check how they react",
        description="Start simulator, controller and guard as ROS 2 nodes, inject one fault after "
        "the other, and print the reported cause, the time until the fallback, and the largest "
        "torque. Ends with status 1 unless every reaction was as required.",
    )
    _add_scenario(parser)
    add_json(parser, "the results")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="HAZARD",
        help="only this, as 'controller killed with -9' (any other word lists all); "
        "may be repeated",
    )
    parser.add_argument(
        "--soak",
        type=positive,
        metavar="S",
        help="run for S simulated seconds instead, with random faults, and watch memory and open "
        "files",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the random faults")
    parser.set_defaults(run=_drill)


def _add_inspect(commands: Any) -> None:
    parser = commands.add_parser(
        "inspect",
        help="show the contents of a URDF or MJCF, its errors and its warnings",
        description="Show the tree, loops, masses, limits and mobility of descriptions, and "
        "all errors and warnings, each with its line. Ends with status 2 if "
        "one is refused.",
    )
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="URDF, MJCF, xacro file, DH table or saved model; NAME:=VALUE among the files is an "
        "argument of the xacro files, as gripper:=true",
    )
    parser.add_argument("--strict", action="store_true", help="refuse files with warnings")
    parser.add_argument("--loops", type=Path, metavar="FILE", help="YAML file with loop joints")
    parser.add_argument(
        "--json", action="store_true", help="print JSON: an object, or a list for several files"
    )
    parser.add_argument(
        "--graph",
        type=Path,
        metavar="FILE",
        help="write the connectivity graph (.png, .pdf, .dot)",
    )
    parser.set_defaults(run=_inspect)


def _add_plot(commands: Any) -> None:
    parser = commands.add_parser(
        "plot",
        help="draw a recorded run",
        description="Draw a run from its recording: .npz or .mcap as this package writes them, "
        "or a bag that `ros2 bag record` made of the controller's topics. Several files of one "
        "run, as of simulator and controller, are merged.",
    )
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="the recording, or the folder of a run"
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="the figure (.png, .pdf, .svg; default: beside the recording, as .png)",
    )
    parser.set_defaults(run=_plot)


def _add_posture(commands: Any) -> None:
    parser = commands.add_parser(
        "posture",
        help="find postures of the arms from the grasps alone",
        description="Find postures of the arms with which they hold the object at its grasps and "
        "can do the whole reference, or the path in the first grasp of a task, by random starts "
        "within the joint limits, and print the best with its margin to each limit. The posture "
        "in the file is used only as the first initial guess. Ctrl-C ends the search and keeps "
        "the results. If there is no posture, the exit status is 1 and the limiting factor is "
        "named.",
    )
    _add_scenario(parser)
    add_json(parser, "the results")
    parser.add_argument(
        "--starts", type=count, default=200, metavar="N", help="random starts (%(default)s)"
    )
    parser.add_argument(
        "--seed", type=natural, default=0, metavar="N", help="of the random starts (%(default)s)"
    )
    parser.add_argument(
        "--output",
        type=place,
        metavar="FILE",
        help="write the scenario with the postures there; it may be the scenario's own file "
        "if that lists the posture of every arm",
    )
    parser.set_defaults(run=_posture)


def _add_schema(commands: Any) -> None:
    parser = commands.add_parser(
        "schema",
        help="print the keys of scenario or study files, for editors and for reading",
        description="Print the JSON schema of scenario or study files, with which editors "
        "complete and check them, or the same as a page of Markdown.",
    )
    parser.add_argument(
        "--of",
        choices=("scenario", "study"),
        default="scenario",
        help="files of which kind (default: %(default)s)",
    )
    parser.add_argument(
        "--format",
        choices=("json", "markdown"),
        default="json",
        help="what to print (default: %(default)s)",
    )
    parser.set_defaults(run=_schema)


def _demo(options: argparse.Namespace) -> int:
    from robot_dynamics.app.command_line.outputs import RunOutputs
    from robot_dynamics.app.node_process import require_ros
    from robot_dynamics.app.progress import display
    from robot_dynamics.app.runs.demo import demonstrate

    require_ros()
    scenario = _scenario(options)
    folder = options.output or Path("runs") / scenario.name
    with RunOutputs(folder, options.json, options.plot) as outputs:
        with display(scenario.name) as progress:
            run = demonstrate(
                scenario,
                duration=options.duration,
                progress=progress,
                allow_code=options.allow_code,
            )
        return GOOD if outputs.finish(run, scenario.warnings()) else BAD_RUN


def _simulate(options: argparse.Namespace) -> int:
    from robot_dynamics.app.command_line.outputs import RunOutputs
    from robot_dynamics.app.progress import display, seconds_since_process_start
    from robot_dynamics.app.runs.run import simulate

    scenario = _scenario(options)
    started = time.perf_counter() - seconds_since_process_start()
    hashes = []
    with RunOutputs(options.output, options.json, options.plot) as outputs:
        for number in range(options.repeat):
            title = f"{scenario.name} {number + 1}" if options.repeat > 1 else scenario.name
            with display(title) as progress:
                run = simulate(
                    scenario,
                    duration=options.duration,
                    progress=progress,
                    started=started if number == 0 else None,
                    allow_code=options.allow_code,
                    safety=not options.no_safety,
                )
            hashes.append(run.report["state_hash"])
        different = len(set(hashes))
        if different > 1:
            run.report["failures"].append(f"{different} of {len(hashes)} runs were different.")
            run.report["ok"] = False
        elif options.repeat > 1:
            print(f"{options.repeat} runs with equal states: {hashes[0]}")
        return GOOD if outputs.finish(run, scenario.warnings()) else BAD_RUN


def _benchmark(options: argparse.Namespace) -> int:
    import runpy

    root = share_directory()
    if not (root / "benchmarks" / "__main__.py").is_file():
        raise OutputError(
            f"{root / 'benchmarks'}: there are no benchmarks, expected a checkout of the "
            "repository; they are not installed with the package."
        )
    sys.path.insert(0, str(root))
    sys.argv = ["robot_dynamics benchmark"]
    if options.robots:
        sys.argv += ["--robots", *options.robots]
    if options.rounds:
        sys.argv += ["--rounds", str(options.rounds)]
    if options.limits:
        sys.argv += ["--limits"]
    if options.json:
        require_parent(options.json)
        sys.argv += ["--json", str(options.json)]
    try:
        runpy.run_module("benchmarks", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else GOOD if end.code is None else BAD_RUN
    return GOOD


def _drill(options: argparse.Namespace) -> int:
    from robot_dynamics.app.node_process import require_ros
    from robot_dynamics.app.progress import display
    from robot_dynamics.app.runs.drill import (
        DrillInterrupted,
        drill,
        drill_report,
        drill_table,
        soak_lines,
    )
    from robot_dynamics.app.scenarios.scenario import load_scenario

    require_ros()
    scenario = load_scenario(options.scenario, options.overrides)
    scenario.refuse_task("the drill follows")
    if options.json:
        require_parent(options.json)
    title = "soak" if options.soak else "drill"
    arguments = [f"--only={name}" for name in options.only]
    if options.soak:
        arguments += [f"--soak={options.soak}", f"--seed={options.seed}"]
    interrupt: DrillInterrupted | None = None
    try:
        with display(title) as progress:
            results, hazards, soak = drill(scenario, arguments, progress)
    except DrillInterrupted as error:
        interrupt = error
        results, hazards, soak = error.found
    report = soak if options.soak else drill_report(results, hazards)
    if options.json:
        write_json(report, options.json)
    print("\n".join(soak_lines(soak)) if options.soak else drill_table(results))
    for result in results:
        for problem in result.problems:
            print(f"robot_dynamics: {result.hazard}: {problem}", file=sys.stderr)
    if interrupt is not None:
        print(f"robot_dynamics: {len(results)} of {hazards} hazards were tried.", file=sys.stderr)
        raise interrupt
    return GOOD if report["ok"] else BAD_RUN


def _inspect(options: argparse.Namespace) -> int:
    from robot_dynamics.app.command_line.inspection import inspect

    return GOOD if inspect(options) else BAD_INPUT


def _posture(options: argparse.Namespace) -> int:
    from robot_dynamics.app.progress import display
    from robot_dynamics.app.scenarios.posture import find_posture, require_place, write_postures
    from robot_dynamics.app.scenarios.scenario import load_scenario

    for file in (options.output, options.json):
        if file is not None:
            require_parent(file)
    scenario = load_scenario(options.scenario, options.overrides)
    if options.output is not None:
        require_place(scenario, options.output)
    with display(scenario.name) as listener:
        found = find_posture(scenario, starts=options.starts, seed=options.seed, listener=listener)
    print(f"{scenario.name}: {found}")
    if options.output is not None:
        kept = write_postures(scenario, found.joints, options.output)
        print(f"written: {options.output}{'' if kept else ', without the comments of the file'}")
    if options.json is not None:
        write_json(found.json, options.json)
    return GOOD


def _plot(options: argparse.Namespace) -> int:
    from robot_dynamics.app.pictures.figures import require_figure
    from robot_dynamics.app.pictures.plots import plot_run
    from robot_dynamics.app.recordings.recording_files import load_merged

    first: Path = options.files[0]
    # The figure of the bag "run.1" is "run.1.png", of the file "run.mcap" it is "run.png".
    beside = first.parent / f"{first.name}.png" if first.is_dir() else first.with_suffix(".png")
    place: Path = options.output or beside
    require_parent(place)
    require_figure(place)
    print(f"written: {plot_run(load_merged(options.files), place)}")
    return GOOD


def _schema(options: argparse.Namespace) -> int:
    from robot_dynamics.app.command_line.scenario_schema import reference_page, schema_text
    from robot_dynamics.app.scenarios.scenario import Scenario
    from robot_dynamics.app.studies.settings import StudySettings

    kind = Scenario if options.of == "scenario" else StudySettings
    print(schema_text(kind) if options.format == "json" else reference_page(kind), end="")
    return GOOD


class _Parser(argparse.ArgumentParser):
    """Suggests the most similar choice for an unknown word."""

    def error(self, message: str) -> NoReturn:
        wrong = re.search(r"invalid choice: '(.+?)' \(choose from (.*)\)", message)
        if wrong:
            from difflib import get_close_matches

            close = get_close_matches(wrong[1], re.findall(r"[\w-]+", wrong[2]), n=1)
            message += f"; did you mean {close[0]}?" if close else ""
        super().error(message)


class _Version(argparse.Action):
    """Prints the version; finding it takes time that no other use should spend."""

    def __init__(self, **options: Any) -> None:
        super().__init__(nargs=0, help="print the version and end", **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        from robot_dynamics.version import find_version

        print(f"robot_dynamics {find_version()}")
        parser.exit(GOOD)


def _scenario(options: argparse.Namespace) -> Any:
    from robot_dynamics.app.scenarios.scenario import load_scenario

    scenario = load_scenario(options.scenario, options.overrides, options.plant)
    for sentence in scenario.warnings():
        print(f"robot_dynamics: warning: {sentence}", file=sys.stderr)
    return scenario


def _complain(error: RobotDynamicsError, verbose: bool) -> None:
    """Print an error, each line with the program's name; all problems if `verbose`."""
    for line in getattr(error, "details", ()):
        print(f"  | {line}", file=sys.stderr)
    others: Sequence[str] = getattr(error, "others", ())
    if others and not verbose:
        others = ["--verbose lists all problems."]
    for line in [*str(error).splitlines(), *others]:
        print(f"robot_dynamics: {line}", file=sys.stderr)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    print(f"robot_dynamics: warning: {message}", file=sys.stderr)


def _discard_output() -> None:
    """Discard standard output from now on: Python flushes it again at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _shipped() -> str:
    """Return the names of the scenarios that come with the package; empty without its files."""
    names, robots = _shipped_names()
    if not names:
        return ""
    return f"shipped scenarios: {', '.join(names)}; of real arms: {', '.join(robots)}."


def _shipped_names() -> tuple[list[str], list[str]]:
    """Return names of shipped scenarios, and of robots that have one."""
    try:
        config = share_directory() / "config"
    except RobotDynamicsError:
        return [], []
    names = sorted(path.stem for path in (config / "scenarios").glob("*.yaml"))
    robots = sorted(path.parent.name for path in (config / "robots").glob("*/scenario.yaml"))
    return names, robots


def _complete_scenario(prefix: str, **_: Any) -> list[str]:
    """Return shipped scenarios, files and folders whose names begin with `prefix`."""
    from argcomplete.completers import FilesCompleter

    names, robots = _shipped_names()
    files: list[str] = FilesCompleter(("yaml", "yml"))(prefix)
    return [*names, *robots, *files]


def _raise_interrupt(number: int, frame: FrameType | None) -> None:
    if number == signal.SIGHUP:  # a lost terminal sends two, and takes no text
        signal.signal(number, signal.SIG_IGN)
        for output in (1, 2):
            if stat.S_ISCHR(os.fstat(output).st_mode):
                os.dup2(os.open(os.devnull, os.O_WRONLY), output)
    raise KeyboardInterrupt


def _take_signals() -> dict[int, Any]:
    """Have signals end a command as Ctrl-C does; return their handlers before.

    By `nohup` SIGHUP is ignored and stays so.
    """
    before: dict[int, Any] = {number: signal.getsignal(number) for number in _ENDING}
    if before[signal.SIGHUP] == signal.SIG_IGN:
        del before[signal.SIGHUP]
    _set_handlers(dict.fromkeys(before, _raise_interrupt))
    return before


def _set_handlers(handlers: Mapping[int, Any]) -> None:
    with contextlib.suppress(ValueError):  # not in the main thread
        for number, handler in handlers.items():
            signal.signal(number, handler)


if __name__ == "__main__":
    sys.exit(main())
