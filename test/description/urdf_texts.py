# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""URDF texts that several tests use."""

INERTIAL = (
    '<inertial><origin xyz="0 0 0.1"/><mass value="2"/>'
    '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.01"/></inertial>'
)
LIMIT = '<limit lower="-1" upper="2" velocity="3" effort="4"/>'

#: A clean arm: two movable joints, and a tool frame that is fixed to the last link.
ARM = f"""<robot name="arm">
<link name="base"/>
<link name="upper">{INERTIAL}</link>
<link name="lower">{INERTIAL}</link>
<link name="tool"/>
<joint name="shoulder" type="revolute">
<parent link="base"/><child link="upper"/>
<origin xyz="0 0 0.3" rpy="0.1 0.2 0.3"/><axis xyz="0 1 0"/>{LIMIT}
<dynamics damping="0.5" friction="0.25"/>
</joint>
<joint name="elbow" type="prismatic">
<parent link="upper"/><child link="lower"/><origin xyz="0.2 0 0"/><axis xyz="0 0.6 0.8"/>{LIMIT}
</joint>
<joint name="flange" type="fixed"><parent link="lower"/><child link="tool"/></joint>
</robot>
"""

#: A body that floats when it is placed.
BOX = """<robot name="box">
<link name="box">
<inertial><mass value="8"/>
<inertia ixx="0.2" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.2"/></inertial>
<visual><geometry><box size="0.4 0.3 0.3"/></geometry></visual>
</link>
</robot>
"""


def line_of(text: str, words: str) -> int:
    """Return the number, from 1, of the first line that contains `words`."""
    return text[: text.index(words)].count("\n") + 1
