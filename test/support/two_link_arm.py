# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An arm of two links, with friction in its shoulder."""

ARM = """<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0 0.01 0.2"/><mass value="4"/>
    <inertia ixx="0.06" ixy="0" ixz="0" iyy="0.06" iyz="0" izz="0.01"/></inertial></link>
  <link name="fore"><inertial><origin xyz="0.02 0 0.15"/><mass value="2"/>
    <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.004"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit lower="-3" upper="3" velocity="3" effort="60"/>
    <dynamics damping="0.4" friction="0.8"/></joint>
  <joint name="elbow" type="revolute"><origin xyz="0 0 0.4"/><parent link="upper"/>
    <child link="fore"/><axis xyz="1 0 0"/>
    <limit lower="-3" upper="3" velocity="3" effort="30"/></joint>
</robot>"""
JOINTS = ("shoulder", "elbow")
