# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Detection of the machine."""

import sys

import numpy as np
import pytest

from robot_dynamics.compile import compile_program, trace
from robot_dynamics.compile.host import find_host, interpretation_forced, requested_opt_level
from robot_dynamics.scalar.functions import sin, sqrt


@pytest.fixture
def uncached():
    find_host.cache_clear()
    yield
    find_host.cache_clear()


def test_host_is_described(monkeypatch, uncached):
    """With llvmlite there is a target, with a width that the processor has."""
    pytest.importorskip("llvmlite")
    monkeypatch.delenv("ROBOT_DYNAMICS_NATIVE", raising=False)
    host = find_host()
    assert host.lanes in (2, 4, 8)
    assert host.cpu
    assert host.triple
    if host.triple.startswith("x86_64"):
        assert ("+avx512f" in host.features) == (host.lanes == 8)
        assert ("+fma" in host.features.split(",")) == host.fma


def test_no_llvmlite_no_host(monkeypatch, uncached):
    """Without llvmlite there is no code generator, and no error."""
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    assert find_host() is None


def test_forbidden_code_no_host(monkeypatch, uncached):
    """If the system forbids code made at run time, programs are interpreted."""
    binding = pytest.importorskip("llvmlite.binding")

    def forbid():
        raise OSError("cannot allocate executable memory")

    monkeypatch.setattr(binding, "check_jit_execution", forbid)
    assert find_host() is None


def test_old_llvm_no_host(monkeypatch, uncached):
    """Versions of LLVM that do not read our code are not used."""
    binding = pytest.importorskip("llvmlite.binding")
    monkeypatch.setattr(binding, "llvm_version_info", (15, 0, 7))
    assert find_host() is None


@pytest.mark.parametrize(("value", "forced"), [("1", True), ("", False), ("0", False)])
def test_environment_forces_interpretation(monkeypatch, value, forced):
    """ROBOT_DYNAMICS_INTERPRET=1 turns machine code off."""
    monkeypatch.setenv("ROBOT_DYNAMICS_INTERPRET", value)
    assert interpretation_forced() is forced


def test_code_for_any_processor(monkeypatch, uncached):
    """With ROBOT_DYNAMICS_NATIVE=0 nothing is used that some processors lack; results agree."""
    pytest.importorskip("llvmlite")

    def run(x, _):
        return {"y": [x[0] * x[1] + x[2], sin(x[0]) / sqrt(1.0 + x[1] * x[1])]}

    program, x = trace(run, "of_any", {"x": 3}), np.array([0.3, -1.7, 2.9])
    native = compile_program(program, lanes=1).bind()(x)
    monkeypatch.setenv("ROBOT_DYNAMICS_NATIVE", "0")
    find_host.cache_clear()
    host = find_host()
    assert host.lanes == 2
    assert host.features == host.cpu == ""
    assert host.fma == host.triple.startswith(("aarch64", "arm64"))
    portable = compile_program(program, lanes=1).bind()(x)
    np.testing.assert_allclose(portable, native, rtol=1e-14)


@pytest.mark.parametrize(("value", "level"), [("0", 0), ("3", 3), ("", 1), ("4", 1), ("low", 1)])
def test_environment_sets_the_optimisation_level(monkeypatch, uncached, caplog, value, level):
    """ROBOT_DYNAMICS_OPT_LEVEL is used if it is valid; otherwise a warning is logged."""
    monkeypatch.setenv("ROBOT_DYNAMICS_OPT_LEVEL", value)
    assert requested_opt_level() == level
    assert ("expected 0 to 3" in caplog.text) == (value in ("4", "low"))
    host = find_host()
    assert host is None or host.opt_level == level


def test_code_without_avx512(monkeypatch, uncached):
    """With ROBOT_DYNAMICS_NATIVE=avx2 batches have no more lanes than AVX2 has."""
    pytest.importorskip("llvmlite")
    monkeypatch.setenv("ROBOT_DYNAMICS_NATIVE", "avx2")
    host = find_host()
    assert host.lanes <= 4
    assert "+avx512" not in host.features
