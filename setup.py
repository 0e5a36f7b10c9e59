# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The one place of the build's metadata, for `pip install .` and for `colcon build` alike.

Name, version, description, licence and maintainer are read from package.xml, where ROS tools
look for them; dependencies from PyPI are listed here. pyproject.toml holds the settings of tools.
"""

from pathlib import Path
from xml.etree import ElementTree

from setuptools import find_packages, setup

ROOT = Path(__file__).resolve().parent
PACKAGE = ElementTree.parse(ROOT / "package.xml").getroot()
NAME = PACKAGE.findtext("name", "").strip()
MAINTAINER = PACKAGE.find("maintainer")

# ROS 2 Jazzy as wheels. Pinned: without the pin pip takes the wheels of another distribution.
# They exist for x86-64 Linux only; elsewhere rclpy comes from the ROS distribution.
ROS_WHEELS = 'sys_platform == "linux" and platform_machine == "x86_64"'
EXTRAS = {
    "ros": [
        f"ros-rclpy[fastrtps]==7.1.6; {ROS_WHEELS}",
        f"ros-common-interfaces==5.3.6; {ROS_WHEELS}",
    ],
    "bags": ["rosbags>=0.11"],
    "plot": ["matplotlib"],
    # Of SciPy 1.15 on, generators of samples take `rng`.
    "study": ["matplotlib", "pyarrow>=15", "scipy>=1.15"],
    "cluster": ["distributed>=2024.1"],
    "learn": ["gymnasium>=1.0"],
    "gpu": ["cupy-cuda13x[ctk]>=14"],  # with drivers of CUDA 12: cupy-cuda12x[ctk]
    # Before 3.17 MjSpec, which reads MJCF, and numbers of disabled forces had other names.
    "mujoco": ["mujoco>=3.17"],
    # Before 3.17 convex bodies that are apart had other points than those that touch.
    "collision": ["mujoco>=3.17", "trimesh>=4.4"],
    "view": [
        "imageio-ffmpeg>=0.5",
        "mujoco>=3.2",
        "pillow>=10.1",
        "pycollada>=0.8",
        "trimesh>=4.4",
        "viser>=1.1",
    ],
    "xacro": ["xacro>=2"],
    "completion": ["argcomplete>=3"],
    "docs": ["django-static-mathjax", "furo", "myst-parser", "sphinx>=7"],  # MathJax, no Django
    "test": [
        "argcomplete>=3",
        "colcon-ros",
        "distributed>=2024.1",
        "example-robot-data",
        "gymnasium>=1.0",
        "hypothesis",
        "jsonschema>=4.18",
        # The readers of those who define MCAP, against which bags are checked.
        "mcap>=1.3",
        "mcap-ros2-support>=0.5.7",
        "mujoco>=3.17",
        # Checkers and the formatter change their minds from one minor version to the next.
        "mypy==2.4.*",
        # Types of 2.2 and 2.3 have shapes that do not fit; Python 3.10 has nothing later.
        'numpy<2.2; python_version < "3.11"',
        "pin>=3",
        "pyarrow>=15",
        "pytest>=8.2,<10",
        "pytest-cov>=7",
        "pytest-timeout",
        "pytest-xdist>=3.7",
        "rosbags>=0.11",
        "ruff==0.17.*",
        "scipy>=1.15",
        # From 70.1 on it makes wheels alone, until 80 it can do `colcon build --symlink-install`.
        "setuptools>=70.1,<80",
        "xacro>=2",
    ],
}
EXTRAS["dev"] = [*EXTRAS["test"], *EXTRAS["docs"], *EXTRAS["plot"], "pre-commit"]


def share_files(*folders: str) -> list[tuple[str, list[str]]]:
    """Return every file of `folders`, with subfolders, as setuptools' `data_files`."""
    found: dict[str, list[str]] = {}
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            relative = path.relative_to(ROOT)
            hidden = any(part.startswith((".", "__")) for part in relative.parts)
            if path.is_file() and not hidden:
                target = f"share/{NAME}/{relative.parent.as_posix()}"
                found.setdefault(target, []).append(relative.as_posix())
    return list(found.items())


setup(
    name=NAME,
    version=PACKAGE.findtext("version", "").strip(),
    description=PACKAGE.findtext("description", "").strip(),
    long_description=(ROOT / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license=PACKAGE.findtext("license", "").strip(),
    author=PACKAGE.findtext("author", "").strip(),
    maintainer=MAINTAINER.text.strip(),
    maintainer_email=MAINTAINER.get("email"),
    classifiers=[
        "Development Status :: 3 - Alpha",
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3 :: Only",
        *(f"Programming Language :: Python :: 3.{minor}" for minor in range(10, 15)),
        "Topic :: Scientific/Engineering",
        "Topic :: Scientific/Engineering :: Physics",
        "Typing :: Typed",
    ],
    python_requires=">=3.10",
    # llvmlite 0.45 brings LLVM 20; code is written for pointers without types, from LLVM 16 on.
    install_requires=[
        "daqp>=0.7",
        "llvmlite>=0.45",
        "lxml",
        "numpy>=1.26",
        "pyyaml",
        "rich",
        "scipy",
    ],
    extras_require=EXTRAS,
    # Said so that an editable installation is the checkout on Python's path. By default setuptools
    # maps names instead, and beside a checkout called robot_dynamics that folder is imported.
    package_dir={"": "."},
    packages=find_packages(include=[NAME, f"{NAME}.*"]),
    package_data={NAME: ["py.typed"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        *share_files("launch", "config", "urdf", "rviz"),
    ],
    entry_points={
        "console_scripts": [
            f"{NAME} = robot_dynamics.__main__:main",
            "simulator = robot_dynamics.nodes.entry_points:simulator",
            "controller = robot_dynamics.nodes.entry_points:controller",
            "guard = robot_dynamics.nodes.entry_points:guard",
            "marker = robot_dynamics.nodes.entry_points:marker",
        ],
    },
    zip_safe=False,
)
