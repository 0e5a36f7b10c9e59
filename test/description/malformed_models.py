# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Model files and DH tables that are malformed, each with the line and words of its error."""

#: Files of whole models and DH tables, by their suffix.
MODELS: dict[str, tuple[bytes, int | str | None, str]] = {
    "neither.yaml": (b"robot: arm\n", 1, "unknown key 'robot'"),
    "truncated.json": (b'{"format": "robot_dynamics model",\n "version": 1, "na', "", "not YAML"),
    "no_links.json": (
        b'{"format": "robot_dynamics model", "version": 1, "name": "a"}',
        1,
        "links",
    ),
    "no_convention.yaml": (b"rows:\n- {name: a}\n", 1, "rows"),
    "dh_words.yaml": (b"dh: standard\nrows:\n- {name: a, d: long}\n", 3, "expected a number"),
}

_LINKS = (
    b'format: "robot_dynamics model"\nversion: 1\nname: m\nlinks:\n- {"name": "base"}\n'
    b'- {"name": "a", "mass": 2.0, '
    b'"inertia": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]}\n'
    b"joints:\n"
    b'- {"name": "j", "type": "revolute", "parent": "base", "child": "a"}\n'
)


def _model(old: str, new: str) -> bytes:
    """Return a small model file with a piece replaced."""
    assert old.encode() in _LINKS
    return _LINKS.replace(old.encode(), new.encode(), 1)


_END = '"child": "a"}'
_FAR = "[[1.0, 0.0, 0.0, 1e200], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]"
MODELS |= {
    "negative_mass.yaml": (_model("2.0", "-2.0"), 6, "mass is -2 kg"),
    "negative_moment.yaml": (_model("[[1.0", "[[-0.1"), 6, "negative principal moment"),
    "lopsided.yaml": (_model("[[1.0, 0.0", "[[1.0, 0.5"), 6, "inertia.*transpose"),
    "limits.yaml": (
        _model(_END, '"child": "a", "limits": {"lower": 2.0, "upper": 1.0}}'),
        8,
        "the lower limit 2 is above the upper 1",
    ),
    "damping.yaml": (_model(_END, '"child": "a", "damping": -1.0}'), 8, "damping is -1"),
    "far.yaml": (_model(_END, f'"child": "a", "placement": {_FAR}}}'), 8, "at most 1e"),
    "no_axis.yaml": (
        _model(_END, '"child": "a", "axis": [0.0, 0.0, 0.0]}'),
        8,
        "the axis is zero",
    ),
    "gear.yaml": (
        _LINKS + b'couplings:\n- {"name": "c", "terms": [["x", 1.0]]}\n',
        10,
        "unknown joint 'x'",
    ),
    "idle_gear.yaml": (
        _LINKS + b'couplings:\n- {"name": "c", "terms": [["j", 0.0]]}\n',
        10,
        "are zero",
    ),
}

#: Model files and DH tables that are read with a warning.
MASSLESS = {
    "massless.yaml": (
        _model(_END, _END + '\n- {"name": "k", "type": "revolute", "parent": "a", "child": "b"}')
        .replace(b'- {"name": "base"}', b'- {"name": "base"}\n- {"name": "b"}'),
        10,
    ),
    "dh_massless_tip.yaml": (
        b"dh: standard\nrows:\n- {name: a, mass: 1, inertia: [1, 1, 1, 0, 0, 0]}\n"
        b"- {name: b, d: 0.3}\n",
        4,
    ),
}  # fmt: skip
