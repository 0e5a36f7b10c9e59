# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Machine code as ufuncs of NumPy's: the memory that they own and release."""

import gc
import subprocess
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest

import robot_dynamics
from robot_dynamics.compile import trace
from robot_dynamics.compile import ufunc as module
from robot_dynamics.compile.emission import emit_module
from robot_dynamics.compile.host import find_host
from robot_dynamics.compile.machine import MachineCode, compile_object
from robot_dynamics.compile.ports import Ports
from robot_dynamics.compile.preparation import prepare
from robot_dynamics.compile.ufunc import UfuncTemplate, can_be_ufunc, ufuncs_work

needs_machine_code = pytest.mark.skipif(find_host() is None, reason="there is no llvmlite")


def test_self_test_passes():
    """NumPy's interface is where its header files say."""
    assert ufuncs_work()


def test_self_test_notices_another_layout(monkeypatch):
    """If NumPy's objects were laid out otherwise, the plain way would be taken."""
    fields = [("new", module.ctypes.c_int * 2), *module._UfuncHead._fields_]
    shifted = type("Shifted", (module.ctypes.Structure,), {"_fields_": fields})
    monkeypatch.setattr(module, "_UfuncHead", shifted)
    ufuncs_work.cache_clear()
    try:
        assert not ufuncs_work()
    finally:
        ufuncs_work.cache_clear()


def test_which_ports_numpy_takes():
    """Ports without inputs, without outputs or with dimensions of length 0 go another way."""
    some = (("x", (2,)),)
    assert can_be_ufunc(Ports("f", some, some, 0))
    assert can_be_ufunc(Ports("f", (("x", ()),), some, 0))
    assert not can_be_ufunc(Ports("f", (), some, 0))
    assert not can_be_ufunc(Ports("f", some, (), 0))
    assert not can_be_ufunc(Ports("f", (("x", (0,)),), some, 0))
    assert not can_be_ufunc(Ports("f", some * 20, some * 20, 0))


class Owner:
    """Something to see the end of."""


@needs_machine_code
def test_ufunc_owns_what_it_points_to():
    """Objects that a ufunc needs live as long as the ufunc, and no longer."""
    program = trace(lambda x, p: {"y": x * p[0]}, "f", {"x": ()}, 1)
    host = find_host()
    machine = MachineCode(
        compile_object(emit_module(prepare(program), 1, host.fma)[0], host), host
    )
    owner = Owner()
    template = UfuncTemplate(program.ports, machine.address, (owner, machine))
    alive = weakref.ref(owner)
    function = template.bind(np.array([3.0]))
    del machine, owner, template
    gc.collect()
    assert alive() is not None
    assert function(2.0) == 6.0
    del function
    gc.collect()
    assert alive() is None


LEAK = """
import numpy as np
from robot_dynamics.compile import compile_program, trace

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

kernel = compile_program(trace(lambda x, p: {"y": [x[0] * p[0]]}, "f", {"x": 3}, 20))
block, x = np.ones(20), np.ones(3)
for _ in range(1000):
    kernel.bind(block)(x)
before = resident()
for _ in range(10000):
    kernel.bind(block)(x)
print(resident() - before)
"""


@needs_machine_code
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")
def test_binding_often_leaks_nothing():
    """Ten thousand functions, made, called and dropped, leave nothing behind."""
    root = Path(robot_dynamics.__file__).parents[1]
    result = subprocess.run(
        [sys.executable, "-c", LEAK], capture_output=True, text=True, cwd=root, check=True
    )
    # Measured: 0. A leak of one function each would be 8 MB.
    assert int(result.stdout) < 1_000_000
