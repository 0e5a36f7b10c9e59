# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""LLVM in a separate process: LLVM cannot be interrupted, but a process can be ended.

The process reads a line of JSON, [triple, cpu, features, optimisation level], from its input,
followed by the text of a module. It writes object code to its output. If LLVM refuses the text, it
ends with status 1 and writes the reason to its error output.
"""

from __future__ import annotations

import contextlib
import json
import signal
import sys
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=1)
def _initialize() -> None:
    from llvmlite import binding

    with contextlib.suppress(RuntimeError):  # newer versions initialise themselves
        binding.initialize()
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    # Without optimisation, LLVM selects instructions by a method that does not know fused products
    # and hands them to the other one: together they take twice as long.
    binding.set_option("", "-fast-isel=false")
    # In long functions LLVM merges thousands of loads into one list, with time that grows with the
    # square of their number. Code is the same with short lists.
    binding.set_option("", "-combiner-tokenfactor-inline-limit=4")


def target_machine(triple: str, cpu: str, features: str, opt_level: int) -> Any:
    """Return LLVM's description of a machine."""
    from llvmlite import binding

    _initialize()
    # Position-independent code reaches constants relative to the instruction pointer, in one
    # instruction; the loader keeps code and constants together.
    return binding.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=features, opt=opt_level, reloc="pic", codemodel="small"
    )


def object_code(
    text: str, triple: str, cpu: str, features: str, opt_level: int, optimised: bool = False
) -> bytes:
    """Return the object code of a module, after LLVM's passes over loops if it has any.

    Raises:
        RuntimeError: If LLVM refuses the module.
    """
    from llvmlite import binding

    machine = target_machine(triple, cpu, features, opt_level)
    module = binding.parse_assembly(text)
    module.triple = triple
    module.data_layout = str(machine.target_data)
    if optimised:
        options = binding.create_pipeline_tuning_options(speed_level=opt_level)
        options.loop_vectorization = options.slp_vectorization = True
        passes = binding.create_pass_builder(machine, options)
        passes.getModulePassManager().run(module, passes)
    return bytes(machine.emit_object(module))


def main() -> int:
    """Answer the request on the standard input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asked ends this process
    host = json.loads(sys.stdin.buffer.readline())
    text = sys.stdin.buffer.read().decode()
    try:
        code = object_code(text, *host)
    except RuntimeError as error:
        sys.stderr.write(str(error))
        return 1
    sys.stdout.buffer.write(code)
    return 0


if __name__ == "__main__":
    sys.exit(main())
