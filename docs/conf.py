# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Sphinx: `python -m sphinx docs docs/_build/html`."""

import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import robot_dynamics  # noqa: E402 - the checkout beside this file, installed or not

project = "robot_dynamics"
author = "The robot_dynamics authors"
copyright = f"2026, {author}"  # noqa: A001 - Sphinx' name
version = release = robot_dynamics.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

# Formulas are drawn by MathJax, of which a copy is put beside the pages: they are read without a
# network. Without the package that holds it browsers load it from its makers.
if (package := find_spec("mathjax")) is not None and package.origin is not None:
    html_static_path = [str(Path(package.origin).parent / "static/mathjax/es5/tex-svg.js")]
    mathjax_path = "tex-svg.js"

autodoc_member_order = "bysource"
autodoc_typehints = "description"
napoleon_numpy_docstring = False
napoleon_use_ivar = True  # attributes of dataclasses are listed once

html_theme = "furo"
html_title = f"robot_dynamics {version}"
