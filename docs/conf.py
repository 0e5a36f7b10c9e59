# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Sphinx: `python -m sphinx docs docs/_build/html`."""

import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "test")]

from sphinx.application import Sphinx  # noqa: E402

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


def show_results(app: object, docname: str, source: list[str]) -> None:
    """Add the results of the last run of the tests to the algorithms of the book."""
    if docname == "book":
        from support.book import page, recorded

        source[0] = page(recorded())


def setup(app: Sphinx) -> None:
    """Connect the functions of this file to Sphinx."""
    app.connect("source-read", show_results)
