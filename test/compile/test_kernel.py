# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled programs compute the interpreter's results, the same wherever a state stands."""

import gc
import threading

import numpy as np
import pytest
from waiting import wait_until

from robot_dynamics.compile import (
    CompilerError,
    Kernel,
    ShapeError,
    TunableKernel,
    compile_program,
    load_kernel,
    trace,
)
from robot_dynamics.compile import kernel as kernel_module
from robot_dynamics.compile.host import find_host
from robot_dynamics.scalar.functions import absolute, atan2, cos, maximum, minimum, sin, sqrt

needs_machine_code = pytest.mark.skipif(find_host() is None, reason="there is no llvmlite")
WIDTHS = (1, 2, 4, 8)


def everything(q, m, s, p):
    """One of each: all operations, zeros, constants, repeated and handed-through outputs."""
    t = [sin(x) * cos(2.0 * x) + p[0] for x in q]
    u = [
        m[i][j] * t[j] - t[i] * q[i] / (1.0 + m[i][j] * m[i][j])
        for i in range(2)
        for j in range(3)
    ]
    v = sqrt(absolute(u[0] * u[1] - s)) + minimum(u[2], s) - maximum(t[0], p[1])
    return {
        "dense": [*u, -v, atan2(u[3], u[4]), -(t[0] * t[1])],
        "sparse": [
            [1.0 if i == j else u[i] if j == 5 else 0.0 for j in range(6)] for i in range(6)
        ],
        "symmetric": [[u[min(i, j)] for j in range(3)] for i in range(3)],
        "scalar": v * p[2] - q[0],
        "same": [q[1], 2.0],
    }


@pytest.fixture(scope="module")
def program():
    return trace(everything, "everything", {"q": 3, "m": (2, 3), "s": ()}, parameters=3)


@pytest.fixture(scope="module", params=WIDTHS)
def kernel(program, request):
    return compile_program(program, lanes=request.param)


PARAMETERS = np.array([0.3, -0.2, 1.7])


def test_arrays_in_place(program, kernel):
    """Bound to arrays it reads and writes those, whatever they hold then."""
    q, m, s = np.zeros(3), np.zeros((2, 3)), np.zeros(())
    out = [np.zeros(shape) for shape in kernel.outputs.values()]
    run = kernel.bind_arrays(PARAMETERS, [q, m, s], out)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        q[:], m[:], s[...] = rng.normal(size=3), rng.normal(size=(2, 3)), rng.normal()
        run()
        for own, expected in zip(out, kernel.bind(PARAMETERS)(q, m, s), strict=True):
            assert np.array_equal(own, expected)
    with pytest.raises(ShapeError, match=r"m is .*, expected .* of shape \(2, 3\)"):
        kernel.bind_arrays(PARAMETERS, [q, m.T, s], out)


@pytest.mark.parametrize("how", ["compiled", "interpreted"])
def test_bound_functions_follow_a_tuned_kernel(program, kernel, how):
    """Both kinds of functions; other functions of the kernel keep their block."""
    chosen = kernel if how == "compiled" else Kernel.interpreted(program)
    q, m, s = (np.array(array[0]) for array in states(1))
    given, other = [q, m, s], 1.1 * PARAMETERS
    before, tuned = chosen.bind(PARAMETERS), TunableKernel(chosen, PARAMETERS)
    out = [np.zeros(shape) for shape in kernel.outputs.values()]
    function, run = tuned.bind(), tuned.bind_arrays(given, out)
    for block in (PARAMETERS, other):
        tuned.tune(block)
        run()
        for own, one, expected in zip(
            out, function(*given), chosen.bind(block)(*given), strict=True
        ):
            assert np.array_equal(own, expected)
            assert np.array_equal(one, expected)
    for own, expected in zip(before(*given), chosen.bind(PARAMETERS)(*given), strict=True):
        assert np.array_equal(own, expected)
    with pytest.raises(ShapeError):
        tuned.tune(other[:-1])


def states(count, seed=0):
    random = np.random.default_rng(seed)
    return (
        random.normal(size=(count, 3)),
        random.normal(size=(count, 2, 3)),
        random.normal(size=count),
    )


def close(found, expected):
    """Compare with the interpreter: fused operations round once where it rounds twice."""
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        # A few units in the last place of the largest intermediate value, which is below 100.
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


@needs_machine_code
@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 8, 9, 16, 23])
def test_agrees_with_the_interpreter(program, kernel, count):
    """Any number of states: none, one, less than a block, blocks and a rest."""
    arrays = states(count)
    close(kernel.bind(PARAMETERS)(*arrays), program.evaluate(*arrays, parameters=PARAMETERS))


@needs_machine_code
def test_does_not_depend_on_the_place_in_a_batch(program):
    """Every width, every length and every place give the same bits."""
    arrays = states(19)
    functions = [compile_program(program, lanes).bind(PARAMETERS) for lanes in WIDTHS]
    expected = [
        np.concatenate([o.ravel() for o in functions[0](*(a[i] for a in arrays))])
        for i in range(19)
    ]
    for function in functions:
        for start in range(0, 19, 3):
            for end in range(start, 20):
                outputs = function(*(a[start:end] for a in arrays))
                for place in range(end - start):
                    found = np.concatenate([o[place].ravel() for o in outputs])
                    np.testing.assert_array_equal(found, expected[start + place])


def _layouts():
    def steps(a):
        wide = np.full((3 * len(a), *a.shape[1:]), np.nan)
        wide[::3] = a
        return wide[::3]

    def inner(a):
        wide = np.full((*a.shape[:-1], 2 * a.shape[-1]), np.nan)
        wide[..., ::2] = a
        return wide[..., ::2]

    return {
        "backwards": lambda a: a[::-1].copy()[::-1],
        "steps": steps,
        "columns first": lambda a: np.asfortranarray(a),
        "inner steps": inner,
        "inner backwards": lambda a: a[..., ::-1].copy()[..., ::-1],
    }


@needs_machine_code
@pytest.mark.parametrize("layout", _layouts())
@pytest.mark.parametrize("count", [1, 5, 11])
def test_strides(kernel, layout, count):
    """Inputs and outputs of any strides, the same bits."""
    change = _layouts()[layout]
    arrays = states(count)
    function = kernel.bind(PARAMETERS)
    expected = function(*arrays)
    changed = [change(a) if a.ndim > 1 else a for a in arrays]
    outputs = tuple(
        change(np.full_like(e, np.nan)) if e.ndim > 1 else np.full_like(e, np.nan)
        for e in expected
    )
    for found in (
        function(*changed),
        function(*arrays, out=outputs),
        function(*changed, out=outputs),
    ):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)


@needs_machine_code
def test_broadcasts(kernel):
    """One state meets many, in several dimensions, and equals the copied arrays."""
    q, m, s = states(6)
    function = kernel.bind(PARAMETERS)
    found = function(q.reshape(2, 3, 1, 3), m[0], s[:4])
    expected = function(
        np.repeat(q, 4, axis=0).reshape(2, 3, 4, 3),
        np.tile(m[0], (2, 3, 4, 1, 1)),
        np.tile(s[:4], (2, 3, 1)),
    )
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


@needs_machine_code
@pytest.mark.parametrize("count", [1, 3, 20])
def test_output_may_be_an_input(count):
    """Writing over an input gives the result of separate memory, also shifted by one state."""
    program = trace(lambda x, p: {"y": [x[2], x[0] + x[1], x[1] * x[2]]}, "f", {"x": 3})
    for lanes in WIDTHS:
        function = compile_program(program, lanes).bind()
        memory = np.random.default_rng(0).normal(size=(count + 1, 3))
        expected = function(memory[:-1])
        over, shifted = memory.copy(), memory.copy()
        function(over[:-1], out=over[:-1])
        np.testing.assert_array_equal(over[:-1], expected)
        function(shifted[:-1], out=shifted[1:])
        np.testing.assert_array_equal(shifted[1:], expected)


@needs_machine_code
# As any ufunc, a kernel warns of what is invalid, unless told otherwise.
@pytest.mark.filterwarnings("ignore:invalid value")
def test_values_that_are_not_finite_stay_with_their_state(program, kernel):
    """A state with nan or infinity gives nan or infinity, and leaves its neighbours alone."""
    arrays = states(16)
    function = kernel.bind(PARAMETERS)
    expected = function(*arrays)
    for bad in (np.nan, np.inf, -np.inf):
        broken = [a.copy() for a in arrays]
        broken[0][5] = bad
        dense = function(*broken)[0]
        assert not np.isfinite(dense[5]).any()
        keep = np.arange(16) != 5
        for found, e in zip(function(*broken), expected, strict=True):
            np.testing.assert_array_equal(found[keep], e[keep])


@needs_machine_code
# As any ufunc, a kernel warns of what is invalid, unless told otherwise.
@pytest.mark.filterwarnings("ignore:invalid value")
def test_minimum_and_maximum_hand_on_nan():
    """Neither place of a minimum or maximum swallows nan: safety checks rely on it."""
    program = trace(lambda a, b, p: {"y": [minimum(a, b), maximum(a, b)]}, "f", {"a": (), "b": ()})
    values = np.array([1.0, -2.0, np.nan, np.inf, -np.inf, 0.0])
    a, b = (grid.ravel() for grid in np.meshgrid(values, values))
    for lanes in WIDTHS:
        y = compile_program(program, lanes).bind()(a, b)
        np.testing.assert_array_equal(y, np.stack([np.minimum(a, b), np.maximum(a, b)], axis=1))


@needs_machine_code
def test_shape_errors():
    """A wrong shape is a ValueError that tells the sizes, and too few arguments a TypeError."""
    program = trace(lambda q, qd, p: {"y": q[0] + qd[0]}, "f", {"q": 7, "qd": 7})
    function = compile_program(program).bind()
    with pytest.raises(ValueError, match=r"size 6.*7"):
        function(np.zeros(7), np.zeros(6))
    with pytest.raises(ValueError, match="dimension"):
        function(np.zeros(7), 0.0)
    with pytest.raises(ValueError, match="broadcast"):
        function(np.zeros((2, 7)), np.zeros((3, 7)))
    with pytest.raises(TypeError):
        function(np.zeros(7))


@needs_machine_code
def test_types_are_converted():
    """Integers and single precision are taken, complex numbers are not."""
    function = compile_program(trace(lambda x, p: {"y": x[0] / x[1]}, "f", {"x": 2})).bind()
    assert function([1, 2]) == 0.5
    assert function(np.array([1, 4], dtype=np.float32)) == 0.25
    assert function(np.array([1.0, 4.0], dtype=">f8")) == 0.25
    with pytest.raises(TypeError):
        function(np.array([1.0 + 0j, 2.0]))


@pytest.fixture(scope="module")
def line():
    return compile_program(trace(lambda x, p: {"y": x * p[0] + p[1]}, "f", {"x": ()}, 2))


class TestParameters:
    """One machine code, many blocks."""

    def test_blocks_are_independent_copies(self, line):
        """Each function has its block; changing the array given changes nothing."""
        block = np.array([2.0, 1.0])
        first = line.bind(block)
        block[:] = 5.0
        second = line.bind(block)
        assert first(3.0) == 7.0
        assert second(3.0) == 20.0

    def test_wrong_length_is_refused(self, line):
        """The error tells both shapes."""
        with pytest.raises(ShapeError, match=r"shape \(2,\), got \(3,\)"):
            line.bind([1.0, 2.0, 3.0])

    def test_function_outlives_its_kernel(self):
        """A function keeps its machine code and its block, whoever else forgets them."""
        kernel = compile_program(trace(lambda x, p: {"y": x * p[0]}, "f", {"x": ()}, 1))
        functions = [kernel.bind([float(i)]) for i in range(50)]
        del kernel
        gc.collect()
        junk = [np.full(3, 7.0) for _ in range(1000)]  # takes memory that was given back
        assert [f(2.0) for f in functions] == [2.0 * i for i in range(50)]
        assert junk

    def test_batch_over_parameters(self):
        """The variant with the block as an input takes one block for each state."""
        program = trace(lambda x, p: {"y": [x * p[0], p[1]]}, "f", {"x": ()}, 2)
        function = compile_program(program.with_parameters_as_input()).bind()
        y = function(np.arange(20.0), np.arange(40.0).reshape(20, 2))
        np.testing.assert_array_equal(y[:, 0], np.arange(20.0) * np.arange(0.0, 40.0, 2.0))
        np.testing.assert_array_equal(y[:, 1], np.arange(1.0, 41.0, 2.0))


@needs_machine_code
def test_large_ports():
    """Ports of hundreds of elements, dense and sparse, are copied by loops."""

    def f(x, p):
        return {
            "dense": [[x[i] * x[j] for j in range(23)] for i in range(23)],
            "sparse": [[x[i] if (i * j) % 11 == 1 else 0.0 for j in range(40)] for i in range(40)],
        }

    program = trace(f, "f", {"x": 41})
    x = np.random.default_rng(0).normal(size=(11, 41))
    for lanes in WIDTHS:
        function = compile_program(program, lanes).bind()
        for arrays in (x, x[0], np.asfortranarray(x)):
            for a, b in zip(function(arrays), program.evaluate(arrays), strict=True):
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("interpret", ["0", "1"])
@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [
        ({"x": 2, "none": 0}, lambda x: {"y": x[0], "empty": []}),
        ({"a": (2, 0)}, lambda x: {"y": 1.0}),
        ({}, lambda x: {"y": [x[0] * 2.0, 3.0], "z": x[0]}),
        ({"x": 2}, lambda x: {}),
    ],
    ids=["some", "only", "no inputs", "no outputs"],
)
def test_ports_that_ufuncs_cannot_have(monkeypatch, interpret, inputs, outputs):
    """Dimensions of length zero, no inputs, no outputs: a mechanism without loops has them."""
    monkeypatch.setenv("ROBOT_DYNAMICS_INTERPRET", interpret)
    program = trace(lambda *a: outputs(a[0]), "f", inputs, parameters=1)
    function = compile_program(program).bind([1.5])
    for count in ((), (1,), (5,)):
        arrays = [np.ones((*count, *shape)) for shape in program.inputs.values()]
        found = function(*arrays)
        found = found if isinstance(found, tuple) else (found,)
        for a, b in zip(found, program.evaluate(*arrays, parameters=[1.5]), strict=True):
            np.testing.assert_array_equal(a, b)


@needs_machine_code
def test_threads_may_share_a_function(program):
    """Calls from several threads do not disturb each other: the GIL is released, all is local."""
    function = compile_program(program).bind(PARAMETERS)
    arrays = states(500)
    expected = function(*arrays)
    wrong = []

    def work():
        for _ in range(20):
            for a, b in zip(function(*arrays), expected, strict=True):
                if not np.array_equal(a, b):
                    wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.fixture
def interpreted(monkeypatch, program):
    monkeypatch.setenv("ROBOT_DYNAMICS_INTERPRET", "1")
    return compile_program(program)


def test_interpreted_kernel_behaves_alike(program, interpreted):
    """Without machine code the same calls give the same, slowly."""
    assert interpreted.is_interpreted
    function = interpreted.bind(PARAMETERS)
    for count in (0, 1, 4):
        arrays = states(count)
        close(function(*arrays), program.evaluate(*arrays, parameters=PARAMETERS))
    q, m, s = states(4)
    assert function(q, m[0], s[0])[1].shape == (4, 6, 6)
    assert load_kernel(b"any", lambda: program).is_interpreted


@needs_machine_code
def test_kernel_tells_what_it_is(program):
    """Names, shapes and lanes are there for the user to see."""
    kernel = compile_program(program, lanes=4)
    assert kernel.name == "everything"
    assert kernel.inputs == program.inputs
    assert kernel.outputs == program.outputs
    assert kernel.parameters == 3
    assert not kernel.is_interpreted
    assert "4 lanes" in repr(kernel)
    function = kernel.bind(PARAMETERS)
    assert isinstance(function, np.ufunc)
    assert function.__name__ == "everything"
    assert "sparse (6, 6)" in function.__doc__
    assert function.signature == program.ports.signature


@needs_machine_code
@pytest.mark.parametrize("lanes", [0, 3, -1, 16])
def test_impossible_lanes_are_refused(program, lanes):
    """Only powers of two up to eight are lanes."""
    with pytest.raises(CompilerError, match=f"lanes is {lanes}, expected 1, 2, 4 or 8"):
        compile_program(program, lanes)


def test_interpreted_kernel_can_be_asked_for(program):
    """The interpreter is there beside machine code, as the oracle."""
    function = Kernel.interpreted(program).bind(PARAMETERS)
    arrays = states(3)
    for a, b in zip(
        function(*arrays), program.evaluate(*arrays, parameters=PARAMETERS), strict=True
    ):
        np.testing.assert_array_equal(a, b)


@needs_machine_code
def test_very_large_programs_are_interpreted(program, monkeypatch, caplog):
    """Beyond a number of operations nothing is compiled, and that is said."""
    monkeypatch.setenv("ROBOT_DYNAMICS_MOST_OPERATIONS", str(program.size - 1))
    inputs = states(3)
    for kernel in (compile_program(program), load_kernel(b"too large", lambda: program)):
        assert kernel.is_interpreted
        (said,) = {record.getMessage() for record in caplog.records}
        assert f"{program.name} has {program.size} operations, expected at most" in said
    monkeypatch.setenv("ROBOT_DYNAMICS_MOST_OPERATIONS", str(program.size))
    compiled = compile_program(program)
    assert not compiled.is_interpreted
    close(kernel.bind(PARAMETERS)(*inputs), compiled.bind(PARAMETERS)(*inputs))


@needs_machine_code
def test_a_long_compilation_is_announced(program, monkeypatch, caplog):
    """A short one is silent; one of more than a second is reported with name and size."""
    compile_program(program, 1)
    assert caplog.text == ""

    def slow(*args):
        wait_until(lambda: caplog.text)
        return quick(*args)

    quick = kernel_module._object_code
    monkeypatch.setattr(kernel_module, "_object_code", slow)
    monkeypatch.setenv("ROBOT_DYNAMICS_CACHE", "0")
    load_kernel(b"slow", lambda: program)
    assert f"Compiling {program.name}, {program.size} operations (1 s so far)" in caplog.text


def test_the_time_left_is_announced(monkeypatch):
    """As long as it is expected to be some, from when LLVM begins."""
    monkeypatch.setattr(kernel_module.time, "monotonic", lambda: 100.0)
    left = {None: "", 103.2: ", about 4 s left", 100.5: ", about 1 s left", 100.0: "", 90.0: ""}
    for end, words in left.items():
        found = kernel_module.Compilation("f", end).sentence(11)
        assert found == f"Compiling f (11 s so far{words}) ..."


@needs_machine_code
def test_quick_code_gives_the_same_results(program, monkeypatch):
    """It is made without optimisation, kept apart from the other, and computes the same bits."""
    levels = []
    whole = kernel_module.compile_object
    monkeypatch.setattr(
        kernel_module,
        "compile_object",
        lambda text, host: levels.append(host.opt_level) or whole(text, host),
    )
    kernels = [load_kernel(b"key", lambda: program, quick=quick) for quick in (False, True) * 2]
    assert levels == [1, 0]
    inputs = [np.random.default_rng(3).normal(size=(9, *x)) for x in program.inputs.values()]
    found = [kernel.bind(PARAMETERS)(*inputs) for kernel in kernels]
    for other in found[1:]:
        for one, value in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, value)
