# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Object code: made, loaded, refused."""

import ctypes
import os
import signal
import subprocess
import sys
import weakref
from pathlib import Path

import pytest
from waiting import PATIENCE_S

import robot_dynamics
from robot_dynamics.compile import machine
from robot_dynamics.compile.emission import ENTRY, PREPARE
from robot_dynamics.compile.errors import CompilerError
from robot_dynamics.compile.host import find_host
from robot_dynamics.compile.machine import (
    MachineCode,
    compile_object,
    divided,
    expected_seconds,
    load_object,
)

pytestmark = pytest.mark.skipif(find_host() is None, reason="there is no llvmlite")

ANSWER = "".join(
    f"define i64 @{name}() {{\nentry:\n  ret i64 {value}\n}}\n"
    for name, value in ((ENTRY, 42), (PREPARE, 43))
)


def test_compiles_and_loads():
    """Object code, which could have come from a file, becomes a function."""
    code = compile_object(ANSWER, find_host())
    assert code[0][:4] == b"\x7fELF"
    loaded = MachineCode(code, find_host(), (ENTRY, PREPARE))
    for name, value in ((ENTRY, 42), (PREPARE, 43)):
        assert ctypes.CFUNCTYPE(ctypes.c_int64)(loaded.addresses[name])() == value


def test_the_same_code_is_linked_once():
    """Code that somebody has is shared; once nobody has it, it is let go and linked anew."""
    code = compile_object(ANSWER, find_host())
    loaded = load_object(code, find_host())
    assert load_object([bytes(bytearray(code[0]))], find_host()) is loaded
    other = compile_object(ANSWER.replace("42", "44"), find_host())
    assert load_object(other, find_host()).address != loaded.address
    gone = weakref.ref(loaded)
    del loaded
    assert gone() is None
    loaded = load_object(code, find_host())
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(loaded.address)() == 42


def test_code_is_deterministic():
    """The same text gives the same object code."""
    assert compile_object(ANSWER, find_host()) == compile_object(ANSWER, find_host())


def test_long_modules_are_compiled_in_another_process(monkeypatch):
    """Code and messages of LLVM are the same; without a process it is made here."""
    code = compile_object(ANSWER, find_host())
    monkeypatch.setattr(machine, "_LONG", 0)
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda process: {0})
    monkeypatch.setattr(machine.machine_child, "object_code", None)
    assert compile_object(ANSWER, find_host()) == code
    with pytest.raises(CompilerError, match=r"LLVM refused [\s\S]*nonsense"):
        compile_object("define nonsense", find_host())
    monkeypatch.undo()
    monkeypatch.setattr(machine, "_LONG", 0)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert compile_object(ANSWER, find_host()) == code


CALLS = f"""
declare double @llvm.sqrt.f64(double)
@table = internal unnamed_addr constant [3 x i64] [i64 3, i64 4, i64 5], align 64
define internal i64 @entry_of(i64 %at) {{
entry:
  %place = getelementptr i64, ptr @table, i64 %at
  %value = load i64, ptr %place
  ret i64 %value
}}
define internal i64 @sum(i64 %a, i64 %b) {{
entry:
  %x = call i64 @entry_of(i64 %a)
  %y = call i64 @entry_of(i64 %b)
  %sum = add i64 %x, %y
  ret i64 %sum
}}
define i64 @{ENTRY}() {{
entry:
  %x = call i64 @sum(i64 0, i64 2)
  %y = call i64 @entry_of(i64 1)
  %sum = add i64 %x, %y
  ret i64 %sum
}}
define i64 @{PREPARE}() {{
entry:
  ret i64 43
}}
"""


@pytest.mark.parametrize("count", [1, 2, 3, 4, 9])
def test_functions_of_divided_modules_call_each_other(monkeypatch, count):
    """However a module is divided, it computes the same; modules have the constants they use."""
    parts = divided(CALLS, count)
    assert len(parts) == min(count, 4)
    assert sum("define" in line for part in parts for line in part.splitlines()) == 4
    monkeypatch.setattr(machine, "_LONG", 1)
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda process: set(range(count)))
    objects = compile_object(CALLS, find_host())
    assert len(objects) == len(parts)
    loaded = load_object(objects, find_host())
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(loaded.address)() == 3 + 5 + 4
    if count > 1:
        with pytest.raises(CompilerError, match="could not be loaded"):
            MachineCode(objects[1:], find_host())


def test_the_pace_of_a_long_module_is_expected_of_the_next(monkeypatch):
    """Twice the text is expected to take twice as long as the last one took."""
    monkeypatch.setattr(machine, "_LONG", 1)
    monkeypatch.setattr(machine, "_pace", {})
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda process: {0})
    times = iter([10.0, 13.0])
    monkeypatch.setattr(machine.time, "monotonic", lambda: next(times))
    monkeypatch.setattr(machine, "_of_children", lambda texts, target: [b""])
    host = find_host()
    assert expected_seconds("x" * 2_000_000, host) == pytest.approx(2.0)
    compile_object(CALLS, host)
    assert expected_seconds(2 * CALLS, host) == pytest.approx(6.0)
    other = host._replace(opt_level=3 - host.opt_level)
    assert expected_seconds("x" * 2_000_000, other) == pytest.approx(2.0)


# LLVM, in a process of its own, that reads the module and never ends.
ENDLESS = "import sys, time; sys.stdin.buffer.read(); time.sleep(3600.0)"
ENDLESSLY = """
import sys
from robot_dynamics.compile import compile_program, machine, trace

machine._LONG, machine.machine_child.__file__ = 0, sys.argv[1]
compile_program(trace(lambda x, p: {"y": x}, inputs={"x": 1}, name="long"), lanes=1)
"""


def test_an_interrupt_ends_a_long_compilation(tmp_path):
    """Ctrl-C is answered while LLVM works, however long it would take; progress is said."""
    endless = tmp_path / "endless.py"
    endless.write_text(ENDLESS)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESSLY, str(endless)],
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        assert "Compiling long" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
    assert err.strip().endswith("KeyboardInterrupt")


def test_wrong_text_is_refused():
    """The message contains LLVM's error for wrong text."""
    with pytest.raises(CompilerError, match="LLVM refused"):
        compile_object("define nonsense", find_host())


@pytest.mark.parametrize("code", [b"", b"junk", b"\x7fELF" + bytes(100)])
def test_wrong_object_code_is_refused(code):
    """Bytes that are no object code raise an error instead of ending the process."""
    with pytest.raises(CompilerError, match="could not be loaded"):
        MachineCode([code], find_host())


@pytest.mark.parametrize("name", [ENTRY, PREPARE])
def test_object_code_of_something_else_is_refused(name):
    """Object code without one of the two functions is refused."""
    other = compile_object(ANSWER.replace(name, "another_function"), find_host())
    with pytest.raises(CompilerError, match="could not be loaded"):
        MachineCode(other, find_host(), (ENTRY, PREPARE))


def test_process_ends_cleanly():
    """Functions that live until the interpreter ends do no harm then."""
    script = (
        "from robot_dynamics.compile import compile_program, trace\n"
        "kernels = [compile_program(trace(lambda x, p: {'y': x * i}, 'f', {'x': ()}))"
        " for i in range(2, 6)]\n"
        "functions = [k.bind() for k in kernels]\n"
        "print(sum(f(1.0) for f in functions))\n"
    )
    root = Path(robot_dynamics.__file__).parents[1]
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=root, check=False
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "14.0\n", "")
